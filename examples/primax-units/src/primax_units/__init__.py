"""Physical dimensions as a type of primax: a program in which metres and seconds are added cannot be traced."""

from __future__ import annotations

from primax_units.dimensions import A, Dimension, DimensionError, K, kg, m, mol, s
from primax_units.functions import cos, dot, exp, grad, log, sin, sqrt, square, stack, sum, tan, where
from primax_units.quantity import Quantity, QuantityType, magnitude_p, primax_register, quantity, quantity_p

__all__ = [
    "A",
    "Dimension",
    "DimensionError",
    "K",
    "Quantity",
    "QuantityType",
    "cos",
    "dot",
    "exp",
    "grad",
    "kg",
    "log",
    "m",
    "magnitude_p",
    "mol",
    "primax_register",
    "quantity",
    "quantity_p",
    "s",
    "sin",
    "sqrt",
    "square",
    "stack",
    "sum",
    "tan",
    "where",
]
