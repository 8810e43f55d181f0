"""The error function, its complement and its inverse."""

from __future__ import annotations

import math
from typing import Any

from primax.extend import core
from primax.extend.core import Array
from primax.extend.provisional.elementwise import FLOATING, like, row
from primax.extend.rule_types import Table
from primax.plugins.arithmetic import mul, neg, square
from primax.plugins.exponential import exp

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
    """scale * exp(-x**2)."""
    return mul(exp(neg(square(x))), like(x, scale))


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
