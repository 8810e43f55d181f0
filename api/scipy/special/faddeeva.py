"""The complex error function and related functions: Dawson, Faddeeva, scaled and inverse complements."""

from __future__ import annotations

from functools import cache
from math import log, pi, sqrt
from typing import Any

import numpy as np

from primax import lax
from primax import numpy as pnp
from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.promotion import cast, strong
from primax.plugins.custom_derivatives import custom_jvp
from primax.plugins.special import erf_inv_p
from primax.scipy.special.errors import normal_quantile
from primax.scipy.special.evaluation import compiled, evaluated
from primax.scipy.special.operands import inexact
from primax.scipy.special.scaled_errors import TWO_OVER_ROOT_PI, dawsn_of, erfcx_of_positive, exp_square

__all__ = ["dawsn", "erfcinv", "erfcx", "wofz"]


def _dawsn(x: Any) -> Array:
    return dawsn_of(x)


_dawsn_program = compiled(_dawsn)


def dawsn(x: ArrayLike) -> Array:
    """Dawson's integral, exp(-x**2) times the integral of exp(t**2) from 0 to x.

    Args:
      x: real arrays or numbers.

    Raises:
      TypeError: `x` is complex or not an array.

    Source: Chebyshev series up to 4 and above; NIST DLMF 7.2.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> px.scipy.special.dawsn(pnp.array([0.0, np.inf])), px.grad(px.scipy.special.dawsn)(0.0)
      (Array([0., 0.], dtype=float32), Array(1., dtype=float32, weak_type=True))
    """
    return evaluated("dawsn", _dawsn_program, x)


def _erfcx(x: Any) -> Array:
    negative = x < 0
    positive = erfcx_of_positive(pnp.abs(x))
    growth = exp_square(1.0, pnp.where(negative, x, 0.0))
    return pnp.where(negative, 2 * growth - positive, positive)


_erfcx_program = compiled(_erfcx)


def erfcx(x: ArrayLike) -> Array:
    """exp(x**2) times the complementary error function.

    Args:
      x: arrays or numbers, which may be complex.

    Raises:
      TypeError: `x` is not an array.

    Source: M. Shepherd and J. Laframboise, "Chebyshev approximation of (1 + 2x) exp(x**2) erfc(x)" (1981).

    >>> import primax as px
    >>> round(float(px.scipy.special.erfcx(100.0)), 6)
    0.005642
    """
    (x,) = inexact("erfcx", x)
    if dtypes.is_complex(get_aval(x).dtype):
        return wofz(1j * x)
    return evaluated("erfcx", _erfcx_program, x)


@custom_jvp
def _erfcinv_slope(y: Any) -> Array:
    """-sqrt(pi) / 2 exp(x**2), by exp(x**2) = erfcx(x) / y for positive x."""
    x = _erfcinv(y)
    smaller = pnp.minimum(y, 2 - y)
    return pnp.where(smaller == 0, -np.inf, -0.5 * sqrt(pi) * erfcx_of_positive(pnp.abs(x)) / smaller)


@custom_jvp
def _erfcinv(y: Any) -> Array:
    smaller = pnp.minimum(y, 2 - y)
    tail = (smaller > 0) & (smaller < 0.2)
    x = normal_quantile(pnp.log(pnp.where(tail, smaller, 0.1)) - log(2)) * -sqrt(0.5)
    return pnp.where(
        tail, pnp.where(y < 1, x, -x), erf_inv_p.bind(pnp.where(tail, 0.0, pnp.where(smaller < 0, np.nan, 1 - y)))
    )


_erfcinv_slope.defjvps(lambda t, out, y: t * 2 * _erfcinv(y) * out * out)
_erfcinv.defjvps(lambda t, out, y: t * _erfcinv_slope(y))
_erfcinv_program = compiled(_erfcinv)


def erfcinv(y: ArrayLike) -> Array:
    """The inverse of the complementary error function.

    Args:
      y: real arrays or numbers from 0 to 2; NaN elsewhere.

    Raises:
      TypeError: `y` is complex or not an array.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.special.erfcinv(pnp.array([1.0, 0.0, 2.0])), px.scipy.special.erfcinv(pnp.float32(1e-30)) < 9
      (Array([  0.,  inf, -inf], dtype=float32), Array(True, dtype=bool))
    """
    return evaluated("erfcinv", _erfcinv_program, y)


_TERMS = 44


@cache
def _weideman() -> tuple[float, list[float]]:
    """The scale and coefficients of the rational expansion of the Faddeeva function in the upper half plane.

    Source: J. A. C. Weideman, "Computation of the complex error function" (1994).
    """
    scale = sqrt(_TERMS / sqrt(2))
    count = 2 * _TERMS
    t = scale * np.tan(np.arange(-count + 1, count) * pi / (2 * count))
    f = np.concatenate([[0.0], np.exp(-t * t) * (scale * scale + t * t)])
    coefficients = np.fft.fft(np.fft.fftshift(f)).real / (2 * count)
    return scale, coefficients[1 : _TERMS + 1].tolist()


def _upper(z: Any) -> Array:
    """The Faddeeva function for imaginary parts from 0 on; by Laplace's continued fraction far from the origin."""
    scale, coefficients = _weideman()
    x, y = pnp.real(z), pnp.imag(z)
    far = pnp.abs(x) + y > 9
    near = pnp.where(far, 1j, z)
    below = scale - 1j * near
    ratio = (scale + 1j * near) / below
    total: Any = 0.0
    for coefficient in reversed(coefficients):
        total = total * ratio + coefficient
    inner = 2 * total / (below * below) + 1 / (sqrt(pi) * below)
    v = pnp.where(far & pnp.isfinite(x) & pnp.isfinite(y), z, 10j)
    fraction = v
    for k in range(18, 0, -1):
        fraction = v - (k / 2) / fraction
    outer = 1j / (sqrt(pi) * fraction)
    infinite = (pnp.abs(x) == np.inf) | (y == np.inf)
    return pnp.where(infinite, 0.0, pnp.where(far, outer, inner))


@custom_jvp
def _wofz(z: Any) -> Array:
    x, y = pnp.real(z), pnp.imag(z)
    lower = y < 0
    up = _upper(pnp.where(lower, -z, z))
    square = pnp.where(lower, lax.complex((y - x) * (y + x), -2 * x * y), 0.0)
    out = pnp.where(lower, 2 * pnp.exp(square) - up, up)
    on_axis = y == 0
    real_x = pnp.where(on_axis, x, 0.0)
    axis = lax.complex(pnp.exp(-real_x * real_x), TWO_OVER_ROOT_PI * dawsn_of(real_x))
    out = pnp.where(on_axis, axis, out)
    return pnp.where((x == x) & (y == y), out, complex(np.nan, np.nan))


@_wofz.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (z,), (t,) = primals, tangents
    out = _wofz(z)
    return out, t * (1j * TWO_OVER_ROOT_PI - 2 * z * out)


_wofz_program = compiled(_wofz)


def wofz(z: ArrayLike) -> Array:
    """The Faddeeva function, exp(-z**2) erfc(-i z).

    Args:
      z: arrays or numbers, which may be complex.

    Returns:
      Complex numbers, of 64 bits or more.

    Raises:
      TypeError: `z` is not an array.

    Source: J. A. C. Weideman, "Computation of the complex error function" (1994); NIST DLMF 7.9 far from 0.

    >>> import primax as px
    >>> px.numpy.round(px.scipy.special.wofz(1j), 4)
    Array(0.4276+0.j, dtype=complex64)
    """
    (z,) = inexact("wofz", z)
    wide = dtypes.finfo(get_aval(z).dtype).bits == 64
    return _wofz_program(strong(cast(z, np.dtype(np.complex128 if wide else np.complex64))))
