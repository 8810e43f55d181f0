"""exp(x**2) erfc(x) and Dawson's integral, whose derivatives keep their digits far from zero, and the normal density.

Far from zero both are 1 / x times a series in r = 1 / (2 x**2), NIST DLMF 7.12.1. Their derivatives begin with later
terms of it: the first and second derivative have formulas of their own, in which the earlier terms do not cancel out.
"""

from __future__ import annotations

from functools import partial
from math import pi, sqrt
from typing import Any

import numpy as np

from primax import numpy as pnp
from primax.extend.core import Array, get_aval
from primax.plugins.custom_derivatives import custom_jvp
from primax.plugins.rounding import reduce_precision
from primax.plugins.special.error import ERFCX
from primax.scipy.special.evaluation import chebyshev
from primax.scipy.special.operands import epsilon
from primax.scipy.special.tables import DAWSN, DAWSN_TAIL, ERFCX_TAIL

TWO_OVER_ROOT_PI = 2 / sqrt(pi)


@partial(custom_jvp, nondiff_argnums=(0,))
def exp_square(factor: float, x: Any) -> Array:
    """exp(factor * x**2), by a number of fewer digits, whose square is exact, and the rest.

    The exponential function of the rest is a polynomial, since XLA would merge the product of two exponentials.
    """
    double = get_aval(x).dtype == np.float64
    size = pnp.minimum(pnp.abs(x), 40.0 if double else 16.0)
    head = reduce_precision(size, *((11, 25) if double else (8, 11)))
    rest = factor * (size - head) * (size + head)
    return pnp.exp(factor * head * head) * (1 + rest * (1 + rest / 2 * (1 + rest / 3 * (1 + rest / 4))))


@exp_square.defjvp
def _(factor: float, primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    out = exp_square(factor, x)
    return out, t * (2 * factor * pnp.where(out == 0, 0.0, x) * out)


def bell(x: Any) -> Array:
    """exp(-x**2 / 2)."""
    return exp_square(-0.5, x)


@custom_jvp
def _erfcx_curve(x: Any) -> Array:
    far = x > 1
    u, v = pnp.where(far, 1.0, x), pnp.where(far, x, 1.0)
    r = 0.5 / v / v
    tail = r / v * TWO_OVER_ROOT_PI * (3 * (1 + r) * _erfcx_tail(v) - 1)
    return pnp.where(far, tail, 2 * erfcx_of_positive(u) + 2 * u * _erfcx_slope(u))


@custom_jvp
def _erfcx_slope(x: Any) -> Array:
    far = x > 1
    u, v = pnp.where(far, 1.0, x), pnp.where(far, x, 1.0)
    r = 0.5 / v / v
    tail = r * (3 * r * _erfcx_tail(v) - 1) * TWO_OVER_ROOT_PI
    return pnp.where(far, tail, 2 * u * erfcx_of_positive(u) - TWO_OVER_ROOT_PI)


_erfcx_curve.defjvps(lambda t, out, x: t * (4 * _erfcx_slope(x) + 2 * x * out))
_erfcx_slope.defjvps(lambda t, out, x: t * _erfcx_curve(x))


def _erfcx_tail(v: Any) -> Array:
    return chebyshev(ERFCX_TAIL, 1 - 8 / (v + 3))


@custom_jvp
def erfcx_of_positive(x: Any) -> Array:
    """exp(x**2) erfc(x) for x from 0 on."""
    return chebyshev(ERFCX, 1 - 8 / (x + 4)) / (1 + 2 * x)


erfcx_of_positive.defjvps(lambda t, out, x: t * _erfcx_slope(x))


def _dawsn_parts(x: Any) -> tuple[Any, Any, Any, Any]:
    far = pnp.abs(x) > 2.5
    v = pnp.where(far, x, 2.5)
    r = 0.5 / v / v
    return far, v, r, chebyshev(DAWSN_TAIL, 25 * r - 1)


@custom_jvp
def _dawsn_curve(x: Any) -> Array:
    far, v, r, series = _dawsn_parts(x)
    u = pnp.where(far, 1.0, x)
    tail = r / v * (3 * (1 - r) * series - 1)
    return pnp.where(far, tail, -2 * dawsn_of(u) - 2 * u * _dawsn_slope(u))


@custom_jvp
def _dawsn_slope(x: Any) -> Array:
    far, _, r, series = _dawsn_parts(x)
    u = pnp.where(far, 1.0, x)
    return pnp.where(far, -r * (1 + 3 * r * series), 1 - 2 * u * dawsn_of(u))


_dawsn_curve.defjvps(lambda t, out, x: t * (-4 * _dawsn_slope(x) - 2 * x * out))
_dawsn_slope.defjvps(lambda t, out, x: t * _dawsn_curve(x))


@custom_jvp
def dawsn_of(x: Any) -> Array:
    """exp(-x**2) times the integral of exp(t**2) from 0 to x."""
    far, v, r, series = _dawsn_parts(x)
    u = pnp.where(far, 1.0, x)
    square = u * u
    near = pnp.where(square < epsilon(x), u, u * chebyshev(DAWSN, square / 8 - 1))
    return pnp.where(far, 0.5 / v * (1 + r * (1 + 3 * r * series)), pnp.where(x == x, near, np.nan))


dawsn_of.defjvps(lambda t, out, x: t * _dawsn_slope(x))
