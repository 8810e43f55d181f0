"""The error function, and the distribution function of the normal distribution."""

from __future__ import annotations

from math import log as _log
from math import pi, sqrt
from typing import Any

import numpy as np

from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import integer
from primax.numpy.programs import one_program
from primax.numpy.selection import where
from primax.numpy.ufuncs import exp, log, log1p
from primax.numpy.ufuncs import sqrt as sqrt_
from primax.plugins.custom_derivatives import custom_jvp
from primax.plugins.special import erf_inv_p, erf_p, erfc_p
from primax.scipy.special.operands import bound, real

__all__ = ["erf", "erfc", "erfinv", "log_ndtr", "ndtr", "ndtri"]

erf = bound("erf", erf_p, "x", "The error function.")
erfc = bound("erfc", erfc_p, "x", "1 - erf(x), accurate where the result is small.")
erfinv = bound("erfinv", erf_inv_p, "x", "The inverse of the error function.")

_HALF_LOG_TWO_PI = 0.5 * _log(2 * pi)


@one_program("")
def ndtr(x: Any) -> Array:
    """The distribution function of the standard normal distribution.

    Args:
      x: real arrays or numbers.

    >>> import primax as px
    >>> px.scipy.special.ndtr(px.numpy.array([0.0]))
    Array([0.5], dtype=float32)
    """
    (x,) = real("ndtr", x)
    return (0.5 * erfc_p.bind(x * -sqrt(0.5))).astype(get_aval(x).dtype)


@one_program("series_order")
def log_ndtr(x: Any, series_order: int = 3) -> Array:
    """The logarithm of `ndtr`, accurate even where `ndtr` underflows.

    Args:
      x: real arrays or numbers.
      series_order: the number of terms of the asymptotic series, which is used far below zero.

    Raises:
      ValueError: `series_order` is not in [0, 30].
    """
    series_order = integer("log_ndtr", "series_order", series_order)
    if not 0 <= series_order <= 30:
        raise ValueError(f"log_ndtr: series_order must be from 0 to 30, got {series_order}")
    (x,) = real("log_ndtr", x)
    return _log_ndtr(series_order, x).astype(get_aval(x).dtype)


def _log_ndtr_of(order: int, x: Any) -> Array:
    """Above zero use the other tail, below it the logarithm, and far below it an asymptotic series."""
    below = -20.0 if get_aval(x).dtype == np.float64 else -10.0
    low = where(x < below, x, below)
    term: Any = 1.0
    total: Any = 1.0
    for n in range(1, order + 1):
        term = term * -(2 * n - 1) / (low * low)
        total = total + term
    tail = -0.5 * low * low - log(-low) - _HALF_LOG_TWO_PI + log(total)
    middle = log(ndtr(where(x < below, below, x)))
    return where(x > 0, log1p(-ndtr(-x)), where(x < below, tail, middle))


_log_ndtr = custom_jvp(_log_ndtr_of, nondiff_argnums=(0,))


@_log_ndtr.defjvp
def _(order: int, primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    out = _log_ndtr(order, x)
    return out, t * exp(-0.5 * x * x - _HALF_LOG_TWO_PI - out)


@one_program("")
def ndtri(p: Any) -> Array:
    """The inverse of `ndtr`, the quantiles of the standard normal distribution.

    Args:
      p: real arrays or numbers from 0 to 1.
    """
    (p,) = real("ndtri", p)
    return _ndtri(p).astype(get_aval(p).dtype)


@custom_jvp
def _ndtri(p: Any) -> Array:
    """In the middle use the inverse of the error function; in the tails, Newton's method on the logarithm."""
    smaller = where(p < 0.5, p, 1 - p)
    inside = (smaller > 0) & (smaller < 0.1)
    target = log(where(inside, smaller, 0.05))
    shifted = -2 * target - 2 * _HALF_LOG_TWO_PI
    x = -sqrt_(shifted - log(shifted))
    for _ in range(4):
        value = _log_ndtr_of(3, x)
        x = x - (value - target) * exp(value + 0.5 * x * x + _HALF_LOG_TWO_PI)
    middle = sqrt(2) * erf_inv_p.bind(2 * p - 1)
    return where(inside, where(p < 0.5, x, -x), middle)


@_ndtri.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (p,), (t,) = primals, tangents
    x = _ndtri(p)
    return x, t * exp(0.5 * x * x + _HALF_LOG_TWO_PI)
