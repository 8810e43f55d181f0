"""The error function, its complement and its inverse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import Array
from primax.extend.provisional.elementwise import FLOATING, like, row
from primax.extend.rule_types import Table
from primax.plugins.arithmetic import abs_p, add, div, min_p, mul, neg, square, sub
from primax.plugins.comparison import lt
from primax.plugins.exponential import exp
from primax.plugins.rounding import reduce_precision
from primax.plugins.structural import broadcast_in_dim, select_n_p, stop_gradient

erf_inv_p = core.Primitive("erf_inv")
erf_p = core.Primitive("erf")
erfc_p = core.Primitive("erfc")


def erf(x: Any) -> Array:
    """Elementwise error function, for real floating arrays."""
    return erf_p.bind(x)


def erfc(x: Any) -> Array:
    """Elementwise 1 - erf(x), accurate for small results, for real floating arrays."""
    return erfc_p.bind(x)


def erf_inv(x: Any) -> Array:
    """Elementwise inverse of the error function, for real floating arrays."""
    return erf_inv_p.bind(x)


def _bell(x: Any, scale: float) -> Array:
    """scale * exp(-x**2); in float64 by a number of fewer digits, whose square is exact, and a series in the rest."""
    if core.get_aval(x).dtype != np.float64:
        return mul(exp(neg(square(x))), like(x, scale))
    size = min_p.bind(abs_p.bind(x), like(x, 40.0))
    one = broadcast_in_dim(like(x, 1.0), core.get_aval(x).shape, ())
    head = stop_gradient(select_n_p.bind(lt(size, one), reduce_precision(size, 11, 25), size))
    rest = mul(sub(head, size), add(head, size))
    total = like(x, 1.0)
    for k in (3.0, 2.0, 1.0):
        total = add(mul(total, div(rest, like(x, k))), like(x, 1.0))
    return mul(mul(exp(neg(square(head))), total), like(x, scale))


_SLOPE = 2 / math.sqrt(math.pi)

RULES: Table = dict(
    (
        row(erf_p, FLOATING, "chlo.erf", lambda t, x: mul(t, _bell(x, _SLOPE)), makes_nan=True),
        row(erfc_p, FLOATING, "chlo.erfc", lambda t, x: mul(t, _bell(x, -_SLOPE)), makes_nan=True),
        row(
            erf_inv_p,
            FLOATING,
            "chlo.erf_inv",
            lambda t, out, x: mul(t, mul(exp(square(out)), like(x, 1 / _SLOPE))),
            uses_result=True,
            at=((0.3, -0.6, 0.8),),
            makes_nan=True,
        ),
    )
)
