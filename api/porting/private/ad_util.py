"""The names of `jax._src.ad_util` that packages use."""

from __future__ import annotations

from typing import Any

from primax.custom_derivatives import SymbolicZero
from primax.extend.core import AbstractValue, Primitive
from primax.extend.core.primitives import add_any_p, add_jaxvals_p
from primax.extend.interpreters.ad import Zero, instantiate_zeros

__all__ = [
    "SymbolicZero",
    "Zero",
    "a2tz",
    "add_any_p",
    "add_jaxvals_p",
    "instantiate_zeros",
    "p2cz",
    "p2tz",
    "stop_gradient_p",
]

# No program contains this primitive, in JAX neither; packages define rules for it.
stop_gradient_p = Primitive("stop_gradient")


def a2tz(primal_aval: AbstractValue) -> Zero:
    """The zero tangent of values of a type."""
    return Zero(primal_aval.to_tangent_aval())


def p2tz(primal_value: Any) -> Zero:
    """The zero tangent of a value."""
    return Zero.from_primal_value(primal_value)


def p2cz(primal_value: Any) -> Zero:
    """The zero cotangent of a value; it has the type of a tangent."""
    return p2tz(primal_value)
