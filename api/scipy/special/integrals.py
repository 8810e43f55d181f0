"""Exponential, sine, cosine and Fresnel integrals, and the dilogarithm."""

from __future__ import annotations

from math import factorial, pi
from typing import Any

import numpy as np

from primax import lax
from primax import numpy as pnp
from primax.extend.core import Array, get_aval
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.programs import one_program
from primax.numpy.promotion import cast
from primax.plugins.custom_derivatives import custom_jvp
from primax.plugins.special import digamma_p, lgamma_p
from primax.scipy.special.evaluation import chebyshev, compiled, evaluated, polynomial
from primax.scipy.special.operands import real as real_operands
from primax.scipy.special.tables import EXP1_TAIL, EXPI_6, EXPI_12, EXPI_24, FRESNEL_F, FRESNEL_G, SICI_F, SICI_G

__all__ = ["exp1", "expi", "expn", "fresnel", "sici", "spence"]

_EULER = 0.57721566490153286061
_INFINITY = np.inf

# The series of NIST DLMF 6.6 without the logarithm: powers of x over k k!.
_EIN = tuple(1 / (k * factorial(k)) for k in range(1, 36))
_SINE = tuple((-1) ** k / ((2 * k + 1) * factorial(2 * k + 1)) for k in range(16))
_COSINE = tuple((-1) ** k / ((2 * k) * factorial(2 * k)) for k in range(1, 17))
# NIST DLMF 7.6: powers of (pi x**2 / 2)**2, times x**3 pi / 2 and x.
_FRESNEL_SINE = tuple((-1) ** k / (factorial(2 * k + 1) * (4 * k + 3)) for k in range(14))
_FRESNEL_COSINE = tuple((-1) ** k / (factorial(2 * k) * (4 * k + 1)) for k in range(14))
# Bernoulli's numbers over (n + 1)!: the dilogarithm in powers of -log(1 - w); NIST DLMF 25.12, Debye's function.
_DEBYE = (
    *(1.0, -0.25, 1 / 36, 0.0, -1 / 3600, 0.0, 1 / 211680, 0.0, -1 / 10886400, 0.0, 1 / 526901760, 0.0),
    *(-691 / 2730 / factorial(13), 0.0, 7 / 6 / factorial(15), 0.0, -3617 / 510 / factorial(17), 0.0),
    *(43867 / 798 / factorial(19), 0.0, -174611 / 330 / factorial(21)),
)


@custom_jvp
def _exp_over(x: Any) -> Array:
    """exp(x) / x, where the exponential may overflow before the quotient, and its second derivative may underflow."""
    root = pnp.exp(0.5 * x)
    return root / x * root


def _exp_over_slope(x: Any) -> Array:
    """exp(x) / x * (1 - 1 / x), where exp(x) / x may be below the smallest normal number."""
    root, near = pnp.exp(0.5 * x), pnp.abs(x) < 2
    factor = pnp.where(near, (pnp.where(near, x, 1.0) - 1) / x, 1 - 1 / x)
    return root / x * factor * root


_exp_over.defjvps(lambda t, _, x: t * _exp_over_slope(x))


@custom_jvp
def _exp1(x: Any) -> Array:
    small = x <= 1
    u = pnp.where(small & (x > 0), x, 0.5)
    series = -_EULER - pnp.log(u) + u * polynomial([(-1) ** k * c for k, c in enumerate(_EIN[:20])], u)
    v = pnp.where(small | ~(x < _INFINITY), 2.0, x)
    tail = chebyshev(EXP1_TAIL, (v - 5) / (v + 3)) * pnp.exp(-v) / v
    out = pnp.where(small, pnp.where(x == 0, _INFINITY, series), tail)
    return pnp.where(x < 0, np.nan, pnp.where(x == _INFINITY, 0.0, pnp.where(x == x, out, np.nan)))


@_exp1.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    return _exp1(x), t * pnp.where(x < 0, np.nan, _exp_over(-x))


_exp1_program = compiled(_exp1)


def exp1(x: ArrayLike) -> Array:
    """The exponential integral E1, the integral of exp(-t) / t from x to infinity.

    Args:
      x: positive arrays or numbers; infinity at 0, NaN for negative numbers.

    Raises:
      TypeError: `x` is complex or not an array.

    Source: NIST DLMF 6.6.2 up to 1, a Chebyshev series above.

    >>> import primax as px
    >>> round(float(px.scipy.special.exp1(1.0)), 5)
    0.21938
    """
    return evaluated("exp1", _exp1_program, x)


@custom_jvp
def _expi(x: Any) -> Array:
    positive = x > 0
    u = pnp.where(positive & (x < 6), x, 1.0)
    series = _EULER + pnp.log(u) + u * polynomial(_EIN, u)
    a, b = pnp.clip(x, 6, 12), pnp.clip(x, 12, 24)
    c = pnp.clip(x, 24, 1e4)
    middle = pnp.where(x < 12, chebyshev(EXPI_6, (a - 9) / 3), chebyshev(EXPI_12, (b - 18) / 6))
    scaled = pnp.where(x < 24, middle, chebyshev(EXPI_24, 48 / c - 1))
    high = pnp.clip(x, 6, 1e4)
    half = pnp.exp(high / 2)
    large = half * (scaled / high) * half
    below = -_exp1(pnp.where(positive, 1.0, -x))
    out = pnp.where(x < 6, series, large)
    return pnp.where(positive, out, pnp.where(x == 0, -_INFINITY, pnp.where(x == x, below, np.nan)))


@_expi.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    return _expi(x), t * _exp_over(x)


_expi_program = compiled(_expi)


def expi(x: ArrayLike) -> Array:
    """The exponential integral Ei, the principal value of the integral of exp(t) / t from minus infinity to x.

    Args:
      x: real arrays or numbers.

    Raises:
      TypeError: `x` is complex or not an array.

    Source: NIST DLMF 6.6.1 up to 6, Chebyshev series above.

    Examples:
      >>> import primax as px
      >>> px.scipy.special.expi(0.0), px.scipy.special.expi(1.0) > 0
      (Array(-inf, dtype=float32), Array(True, dtype=bool))
    """
    return evaluated("expi", _expi_program, x)


def _expn_series(n: Any, x: Any) -> Array:
    """NIST DLMF 8.19.8, for x up to 1."""
    sign = pnp.where(n % 2 == 1, 1.0, -1.0)
    logarithm = pnp.log(x)
    power = sign * pnp.exp((n - 1) * logarithm - lgamma_p.bind(n))
    total = power * (digamma_p.bind(n) - logarithm)
    term = 1.0
    for k in range(20):
        below = k + 1 - n
        total = total - pnp.where(below == 0, 0.0, term / pnp.where(below == 0, 1.0, below))
        term = term * -x / (k + 1)
    return total


def _expn_fraction(n: Any, x: Any) -> Array:
    """The contracted continued fraction of NIST DLMF 8.19.17, for x from 1 on, from its end.

    Its error at x = 1 is about exp(-3.5 sqrt(last)).
    """
    last = 120 if x.dtype == np.float64 else 60

    def step(i: Any, below: Any) -> Array:
        k = pnp.asarray(last - i, x.dtype)
        return x + n + 2 * (k - 1) - k * (n + k - 1) / below

    below = lax.fori_loop(0, last, step, x + n + 2 * last)
    return pnp.exp(-x) / below


@custom_jvp
def _expn(n: Any, x: Any) -> Array:
    known = (n >= 0) & (x >= 0) & (x < _INFINITY)
    small = x <= 1
    m = pnp.where(known & (n > 0), n, 1.0)
    u = pnp.where(known & small & (x > 0), x, 0.5)
    v = pnp.where(known & ~small, x, 2.0)
    out = pnp.where(small, _expn_series(m, u), _expn_fraction(m, v))
    at_zero = pnp.where(n > 1, 1 / pnp.where(n > 1, n - 1, 1.0), _INFINITY)
    first = pnp.exp(-x) / x
    out = pnp.where(x == 0, at_zero, pnp.where(n == 0, first, out))
    refused = (n < 0) | (x < 0) | (x != x) | (n != n)
    return pnp.where(refused, np.nan, pnp.where(x == _INFINITY, 0.0, out))


def _expn_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (n, x), (_, t) = primals, tangents
    first = pnp.where(n == 0, x, 1.0)
    before = pnp.where(n == 0, -(1 + 1 / first) * pnp.exp(-first) / first, -_expn(pnp.maximum(n - 1, 0), x))
    return _expn(n, x), t * before


_expn.defjvp(_expn_jvp)
_expn_program = compiled(_expn)


@one_program("", named="expn")
def expn(n: ArrayLike, x: ArrayLike) -> Array:
    """The generalized exponential integral, the integral of exp(-x t) / t**n from 1 to infinity.

    Args:
      n: integers from 0 on; other numbers are rounded towards 0. There is no derivative with respect to n.
      x: arrays or numbers from 0 on.

    Raises:
      TypeError: an argument is complex or not an array, or the shapes do not broadcast.

    Source: NIST DLMF 8.19.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.special.expn(pnp.array([1, 2, 3]), 0.0)
      Array([inf, 1. , 0.5], dtype=float32)
    """
    (x,), (n,) = real_operands("expn", x), real_operands("expn", n)
    order = cast(lax.stop_gradient(pnp.trunc(n)), get_aval(x).dtype)
    return evaluated("expn", _expn_program, order, x)


@custom_jvp
def _sine_over(x: Any) -> Array:
    """sin(x) / x, and its derivative, by a series near zero."""
    zero = x == 0
    return pnp.where(zero, 1.0, pnp.sin(x) / pnp.where(zero, 1.0, x))


@_sine_over.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    out = _sine_over(x)
    small = pnp.abs(x) < 1.5
    u, v = pnp.where(small, x, 0.0), pnp.where(small, 2.0, x)
    near = u * polynomial([(-1) ** k * 2 * k / factorial(2 * k + 1) for k in range(1, 12)], u * u)
    return out, t * pnp.where(small, near, (pnp.cos(v) - out) / v)


@custom_jvp
def _cosine_over(x: Any) -> Array:
    return pnp.cos(x) / x


_cosine_over.defjvps(lambda t, out, x: t * (-(pnp.sin(x) + out) / x))


def _auxiliary(f: Any, g: Any, t: Any) -> tuple[Any, Any]:
    return chebyshev(f, t), chebyshev(g, t)


@custom_jvp
def _sici(x: Any) -> tuple[Any, Any]:
    size = pnp.abs(x)
    small = size < 4
    u = pnp.where(small & (size > 0), size, 1.0)
    square = u * u
    sine = u * polynomial(_SINE, square)
    cosine = _EULER + pnp.log(u) + square * polynomial(_COSINE, square)
    v = pnp.where(small | ~(size < _INFINITY), 4.0, size)
    f, g = _auxiliary(SICI_F, SICI_G, 8 / v - 1)
    f, g, s, c = f / v, g / v / v, pnp.sin(v), pnp.cos(v)
    si = pnp.where(size == _INFINITY, pi / 2, pnp.where(small, sine, pi / 2 - f * c - g * s))
    ci = pnp.where(small, cosine, f * s - g * c)
    ci = pnp.where(x == 0, -_INFINITY, pnp.where(x == _INFINITY, 0.0, pnp.where(x == -_INFINITY, np.nan, ci)))
    si = pnp.where(x == 0, x, pnp.where(x < 0, -si, si))
    return pnp.where(x == x, si, np.nan), pnp.where(x == x, ci, np.nan)


@_sici.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    return _sici(x), (t * _sine_over(x), t * _cosine_over(x))


_sici_program = compiled(_sici)


def sici(x: ArrayLike) -> tuple[Any, Any]:
    """The sine and cosine integrals, Si(x) and Ci(x).

    Args:
      x: real arrays or numbers. Ci of a negative number is the real part, Ci(-x).

    Raises:
      TypeError: `x` is complex or not an array.

    Source: NIST DLMF 6.6 up to 4, 6.5 with Chebyshev series above.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> sine, cosine = px.scipy.special.sici(pnp.array([0.0, np.inf]))
      >>> cosine, abs(sine[1] - np.pi / 2) < 1e-6
      (Array([-inf,   0.], dtype=float32), Array(True, dtype=bool))
    """
    return evaluated("sici", _sici_program, x)


def _half_turns(x: Any) -> tuple[Any, Any]:
    """Sine and cosine of pi x**2 / 2.

    The square is reduced modulo 4 in exact parts, from the parts of x. If x is large, it is even, and the result 0.
    """
    double = get_aval(x).dtype == np.float64
    small = pnp.abs(x) < (2.0**53 if double else 2.0**24)
    u = lax.stop_gradient(pnp.where(small, x, 0.0))
    head = lax.reduce_precision(u, 11 if double else 8, 25 if double else 11)
    rest = u - head
    turns = [part - 4 * pnp.round(part / 4) for part in (head * head, 2 * head * rest, rest * rest)]
    turn = turns[0] + turns[1] + turns[2]
    turn = turn - 4 * pnp.round(turn / 4)
    size = pnp.abs(turn)
    folded = pnp.where(size > 1, 2 - size, size)
    return pnp.sign(turn) * pnp.sin(pi / 2 * folded), pnp.sin(pi / 2 * (1 - size))


@custom_jvp
def _fresnel_slopes(x: Any) -> tuple[Any, ...]:
    return _half_turns(x)


@_fresnel_slopes.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    sine, cosine = _fresnel_slopes(x)
    return (sine, cosine), (t * (pi * x * cosine), t * (-pi * x * sine))


@custom_jvp
def _fresnel(x: Any) -> tuple[Any, ...]:
    size = pnp.abs(x)
    small = size < 1.5
    u = pnp.where(small, size, 1.0)
    half = pi / 2 * u * u
    sine = u * half * polynomial(_FRESNEL_SINE, half * half)
    cosine = u * polynomial(_FRESNEL_COSINE, half * half)
    far = ~(size < 1e17)
    v = pnp.where(small | far, 1.5, size)
    f, g = _auxiliary(FRESNEL_F, FRESNEL_G, 4.5 / (v * v) - 1)
    f, g = f / (pi * v), g / (pi * v) / (pi * v) / v
    s, c = _half_turns(v)
    sine = pnp.where(far, 0.5, pnp.where(small, sine, 0.5 - f * c - g * s))
    cosine = pnp.where(far, 0.5, pnp.where(small, cosine, 0.5 + f * s - g * c))
    return tuple(pnp.where(x == x, pnp.where(x < 0, -integral, integral), np.nan) for integral in (sine, cosine))


@_fresnel.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    s, c = _fresnel_slopes(x)
    return _fresnel(x), (t * s, t * c)


_fresnel_program = compiled(_fresnel)


def fresnel(x: ArrayLike) -> tuple[Any, Any]:
    """The Fresnel integrals S and C: the integrals of sin(pi t**2 / 2) and cos(pi t**2 / 2) from 0 to x.

    Args:
      x: real arrays or numbers.

    Raises:
      TypeError: `x` is complex or not an array.

    Source: NIST DLMF 7.6 up to 1.5, 7.5 with Chebyshev series above.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> px.scipy.special.fresnel(pnp.array([0.0, np.inf]))
      (Array([0. , 0.5], dtype=float32), Array([0. , 0.5], dtype=float32))
    """
    return evaluated("fresnel", _fresnel_program, x)


def _dilogarithm(w: Any) -> Array:
    """For w from -1 to 1/2, in powers of -log(1 - w)."""
    u = -pnp.log1p(-w)
    return u * polynomial(_DEBYE, u)


@custom_jvp
def _spence(x: Any) -> Array:
    inside = (x > 0) & (x < _INFINITY)
    low, high = x < 0.5, x > 2
    y = pnp.where(inside, x, 1.0)
    near = pnp.where(low | high, 1.0, y)
    middle = _dilogarithm(1 - near)
    a = pnp.where(low, y, 0.25)
    below = pi**2 / 6 - pnp.log(a) * pnp.log1p(-a) - _dilogarithm(a)
    b = pnp.where(high, y, 4.0)
    # Li2(1 - b) by 1 / b, which lies below 1/2.
    inner = pi**2 / 6 + pnp.log(b) * pnp.log1p(-1 / b) - _dilogarithm(1 / b)
    above = -0.5 * pnp.log(b) ** 2 - inner
    out = pnp.where(low, below, pnp.where(high, above, middle))
    return pnp.where(inside, out, pnp.where(x == 0, pi**2 / 6, np.nan))


@_spence.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    return _spence(x), t * _spence_slope(x)


def _spence_slope(x: Any) -> Array:
    """log(x) / (1 - x); near 1 by powers of r = (x - 1) / (x + 1), since log(x) = 2 artanh(r)."""
    near = pnp.abs(x - 1) < 0.25
    u, v = pnp.where(near, x, 1.0), pnp.where(near, 2.0, x)
    r = (u - 1) / (u + 1)
    series = -2 / (u + 1) * polynomial([1 / (2 * k + 1) for k in range(11)], r * r)
    return pnp.where(near, series, pnp.log(v) / (1 - v))


_spence_program = compiled(_spence)


def spence(x: ArrayLike) -> Array:
    """Spence's function, the integral of log(t) / (1 - t) from 1 to x, which is the dilogarithm of 1 - x.

    Args:
      x: real arrays or numbers from 0 on; NaN for negative numbers and for infinity.

    Raises:
      TypeError: `x` is complex or not an array.

    Source: NIST DLMF 25.12.

    Examples:
      >>> import primax as px
      >>> import numpy as np
      >>> px.scipy.special.spence(1.0), abs(px.scipy.special.spence(0.0) - np.pi**2 / 6) < 1e-5
      (Array(0., dtype=float32), Array(True, dtype=bool))
    """
    return evaluated("spence", _spence_program, x)
