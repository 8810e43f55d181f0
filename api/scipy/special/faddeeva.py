"""The complex error function and related functions: Dawson, Faddeeva, scaled and inverse complements."""

from __future__ import annotations

from functools import cache
from math import pi, sqrt
from typing import Any

import numpy as np

from primax import lax
from primax import numpy as pnp
from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.numpy.promotion import cast, strong
from primax.plugins.custom_derivatives import custom_jvp
from primax.scipy.special.errors import ndtri
from primax.scipy.special.evaluation import chebyshev, compiled, evaluated
from primax.scipy.special.operands import inexact
from primax.scipy.special.tables import DAWSN, DAWSN_TAIL, ERFCX

__all__ = ["dawsn", "erfcinv", "erfcx", "wofz"]

_TWO_OVER_ROOT_PI = 2 / sqrt(pi)


@custom_jvp
def _dawsn(x: Any) -> Array:
    size = pnp.abs(x)
    small = size <= 4
    u = pnp.where(small, x, 1.0)
    near = u * chebyshev(DAWSN, u * u / 8 - 1)
    v = pnp.where(small | (x != x), 4.0, x)
    far = chebyshev(DAWSN_TAIL, 32 / v / v - 1) / (2 * v)
    return pnp.where(small, near, pnp.where(x == x, far, np.nan))


@_dawsn.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    out = _dawsn(x)
    far = pnp.abs(x) > 30
    v = pnp.where(far, x, 30.0)
    tail = -(1 + 3 / (2 * v * v) * (1 + 5 / (2 * v * v))) / (2 * v * v)  # 1 - 2 x D(x), which cancels
    return out, t * pnp.where(far, tail, 1 - 2 * pnp.where(far, 0.0, x) * out)


_dawsn_program = compiled(_dawsn)


def dawsn(x: Any) -> Array:
    """Dawson's integral, exp(-x**2) times the integral of exp(t**2) from 0 to x.

    Args:
      x: real arrays or numbers.

    Raises:
      TypeError: `x` is complex or not an array.

    Source: Chebyshev series up to 4 and above; NIST DLMF 7.2.
    """
    return evaluated("dawsn", _dawsn_program, x)


@custom_jvp
def _erfcx(x: Any) -> Array:
    size = pnp.abs(x)
    u = pnp.where(size < np.inf, size, 4.0)
    scaled = chebyshev(ERFCX, (u - 4) / (u + 4)) / (1 + 2 * u)
    positive = pnp.where(size == np.inf, 0.0, scaled)
    below = 2 * pnp.exp(pnp.square(pnp.where(x < 0, x, 0.0))) - positive
    return pnp.where(x < 0, below, pnp.where(x == x, positive, np.nan))


@_erfcx.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    out = _erfcx(x)
    far = x > 30
    v = pnp.where(far, x, 30.0)
    tail = -(1 - 3 / (2 * v * v) * (1 - 5 / (2 * v * v))) / (sqrt(pi) * v * v)  # of 2 x erfcx(x) - 2 / sqrt(pi)
    return out, t * pnp.where(far, tail, 2 * pnp.where(far, 0.0, x) * out - _TWO_OVER_ROOT_PI)


_erfcx_program = compiled(_erfcx)


def erfcx(x: Any) -> Array:
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
def _erfcinv(y: Any) -> Array:
    return -ndtri(y / 2) * sqrt(0.5)


@_erfcinv.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (y,), (t,) = primals, tangents
    x = _erfcinv(y)
    return x, t * -pnp.exp(x * x) / _TWO_OVER_ROOT_PI


_erfcinv_program = compiled(_erfcinv)


def erfcinv(y: Any) -> Array:
    """The inverse of the complementary error function.

    Args:
      y: real arrays or numbers from 0 to 2; NaN elsewhere.

    Raises:
      TypeError: `y` is complex or not an array.
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
    axis = lax.complex(pnp.exp(-real_x * real_x), _TWO_OVER_ROOT_PI * _dawsn(real_x))
    out = pnp.where(on_axis, axis, out)
    return pnp.where((x == x) & (y == y), out, complex(np.nan, np.nan))


@_wofz.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (z,), (t,) = primals, tangents
    out = _wofz(z)
    return out, t * (1j * _TWO_OVER_ROOT_PI - 2 * z * out)


_wofz_program = compiled(_wofz)


def wofz(z: Any) -> Array:
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
