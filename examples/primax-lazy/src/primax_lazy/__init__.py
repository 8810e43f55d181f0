"""Kronecker products as a type of primax: programs hold the two factors, and never form the product."""

from __future__ import annotations

from primax_lazy.functions import solve
from primax_lazy.product import (
    FactorTangents,
    FactorTangentsType,
    Kronecker,
    KroneckerType,
    factor_tangents_p,
    factors_p,
    kron,
    kron_p,
    primax_register,
)

__all__ = [
    "FactorTangents",
    "FactorTangentsType",
    "Kronecker",
    "KroneckerType",
    "factor_tangents_p",
    "factors_p",
    "kron",
    "kron_p",
    "primax_register",
    "solve",
]
