"""The error function, and the distribution function of the normal distribution."""

from __future__ import annotations

from math import log as _log
from math import pi, sqrt
from typing import Any

import numpy as np

from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import integer
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.programs import one_program
from primax.numpy.rounding import clip
from primax.numpy.selection import where
from primax.numpy.ufuncs import absolute, log, log1p
from primax.numpy.ufuncs import sqrt as sqrt_
from primax.plugins.custom_derivatives import custom_jvp
from primax.plugins.special import erf_inv_p, erf_inv_precise, erf_p, erfc_p
from primax.scipy.special.evaluation import evaluated
from primax.scipy.special.operands import bound
from primax.scipy.special.scaled_errors import bell, erfcx_of_positive

__all__ = ["erf", "erfc", "erfinv", "log_ndtr", "ndtr", "ndtri"]

erf = bound(
    "erf",
    erf_p.bind,
    "x",
    "The error function.",
    ">>> special.erf(pnp.array([0, 10, -10]))\nArray([ 0.,  1., -1.], dtype=float32)",
)
erfc = bound(
    "erfc",
    erfc_p.bind,
    "x",
    "1 - erf(x), accurate where the result is small.",
    ">>> special.erfc(5.0) > 0, 1 - special.erf(5.0)\n"
    "(Array(True, dtype=bool, weak_type=True), Array(0., dtype=float32, weak_type=True))",
)
erfinv = bound(
    "erfinv",
    erf_inv_precise,
    "x",
    "The inverse of the error function.",
    ">>> special.erfinv(pnp.array([0.0, 1.0, 2.0]))\nArray([ 0., inf, nan], dtype=float32)",
)

_LOG_TWO_PI = _log(2 * pi)
_DENSITY_AT_ZERO = 1 / sqrt(2 * pi)


@one_program("")
def ndtr(x: ArrayLike) -> Array:
    """The distribution function of the standard normal distribution.

    Args:
      x: real arrays or numbers.

    >>> import primax as px
    >>> px.scipy.special.ndtr(px.numpy.array([0.0]))
    Array([0.5], dtype=float32)
    """
    return evaluated("ndtr", _ndtr, x)


@custom_jvp
def _ndtr(x: Any) -> Array:
    """Far from zero by the density times erfcx, whose errors do not grow with the square of x."""
    far = absolute(x) > 1
    tail = 0.5 * bell(x) * erfcx_of_positive(absolute(where(far, x, 1.0)) * sqrt(0.5))
    near = 0.5 + 0.5 * erf_p.bind(where(far, 0.0, x) * sqrt(0.5))
    return where(far, where(x < 0, tail, 1 - tail), near)


_ndtr.defjvps(lambda t, out, x: t * bell(x) * _DENSITY_AT_ZERO)


@one_program("series_order")
def log_ndtr(x: ArrayLike, series_order: int = 3) -> Array:
    """The logarithm of `ndtr`, accurate even where `ndtr` underflows.

    Args:
      x: real arrays or numbers.
      series_order: an integer from 0 to 30, as in JAX. It has no effect: no asymptotic series is used.

    Raises:
      ValueError: `series_order` is not in [0, 30].

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.special.log_ndtr(pnp.array([-40.0, 40.0])) > -1000, px.scipy.special.ndtr(-40.0)
      (Array([ True,  True], dtype=bool), Array(0., dtype=float32))
    """
    series_order = integer("log_ndtr", "series_order", series_order)
    if not 0 <= series_order <= 30:
        raise ValueError(f"log_ndtr: series_order must be from 0 to 30, got {series_order}")
    return evaluated("log_ndtr", _log_ndtr, x)


@custom_jvp
def _log_ndtr(x: Any) -> Array:
    """Below -1, -x**2 / 2 + log(erfcx(-x / sqrt(2)) / 2); above zero by the other tail."""
    low, high = where(x < -1, x, -1.0), where(x > 0, x, 0.0)
    tail = -0.5 * low * low + log(0.5 * erfcx_of_positive(low * -sqrt(0.5)))
    middle = log(_ndtr(where((x < -1) | (x > 0), -1.0, x)))
    return where(x > 0, log1p(-_ndtr(-high)), where(x < -1, tail, middle))


@custom_jvp
def _inverse_mills_ratio(x: Any) -> Array:
    """The density of the normal distribution divided by its distribution function; -x far below zero."""
    far, low = x < -1e10, x < 0
    tail = 2 * _DENSITY_AT_ZERO / erfcx_of_positive(where(low & ~far, x, 0.0) * -sqrt(0.5))
    high = where(low, 0.0, x)
    return where(far, -x, where(low, tail, _DENSITY_AT_ZERO * bell(high) / _ndtr(high)))


@_inverse_mills_ratio.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """-ratio (ratio + x), where the sum is that of a continued fraction below -4, and the product is near 1 there."""
    (x,), (t,) = primals, tangents
    ratio = _inverse_mills_ratio(x)
    y = clip(-x, 4.0, np.inf)
    rest: Any = 0.0  # 2 / (y + 3 / (y + 4 / (y + ...))), DLMF 7.9.4
    for n in range(40 if get_aval(x).dtype == np.float64 else 16, 1, -1):
        rest = n / (y + rest)
    excess = 1 / (y + rest)
    near = clip(x, -4.0, np.inf)
    product = where(near == np.inf, 0.0, ratio * (ratio + near))
    return ratio, -t * where(x < -4, 1 + (excess - rest) * excess, product)


_log_ndtr.defjvps(lambda t, out, x: t * _inverse_mills_ratio(x))


@one_program("")
def ndtri(p: ArrayLike) -> Array:
    """The inverse of `ndtr`, the quantiles of the standard normal distribution.

    Args:
      p: real arrays or numbers from 0 to 1.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.special.ndtri(pnp.array([0.5, 0.0, 1.0, 2.0]))
      Array([  0., -inf,  inf,  nan], dtype=float32)
    """
    return evaluated("ndtri", _ndtri, p)


def normal_quantile(target: Any) -> Array:
    """The number at which the logarithm of `ndtr` is `target`, from log(0.1) downwards, by Newton's method."""
    shifted = -2 * target - _LOG_TWO_PI
    x = -sqrt_(shifted - log(shifted))
    for _ in range(3):
        scaled = erfcx_of_positive(x * -sqrt(0.5))
        x = x - (log(0.5 * scaled) - 0.5 * x * x - target) * scaled / (2 * _DENSITY_AT_ZERO)
    return x


@custom_jvp
def _ndtri(p: Any) -> Array:
    """In the middle use the inverse of the error function."""
    smaller = where(p < 0.5, p, 1 - p)
    inside = (smaller > 0) & (smaller < 0.1)
    x = normal_quantile(log(where(inside, smaller, 0.05)))
    middle = sqrt(2) * erf_inv_p.bind(where((p < 0) | (p > 1), np.nan, 2 * p - 1))
    return where(inside, where(p < 0.5, x, -x), middle)


@custom_jvp
def _ndtri_slope(p: Any) -> Array:
    """1 / density(x), by density(x) = p density(0) 2 / erfcx(-x / sqrt(2)) for p < 1/2."""
    x = _ndtri(p)
    scaled = erfcx_of_positive(absolute(x) * sqrt(0.5))
    smaller = where(p < 0.5, p, 1 - p)
    return where(smaller == 0, np.inf, scaled / (2 * _DENSITY_AT_ZERO) / smaller)


_ndtri.defjvps(lambda t, out, p: t * _ndtri_slope(p))
_ndtri_slope.defjvps(lambda t, out, p: t * _ndtri(p) * out * out)
