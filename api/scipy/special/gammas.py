"""The gamma function and related functions."""

from __future__ import annotations

from math import log as _log
from math import pi, sqrt
from typing import Any, SupportsIndex

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import integer
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.creation import full_like, zeros_like
from primax.numpy.division import power
from primax.numpy.formulas import copysign
from primax.numpy.predicates import signbit
from primax.numpy.programs import one_program
from primax.numpy.promotion import cast, strong
from primax.numpy.ranges import counted
from primax.numpy.rounding import floor, rint
from primax.numpy.selection import where
from primax.numpy.ufuncs import absolute, cos, exp, expm1, imag, log, log1p, minimum, sin
from primax.numpy.ufuncs import real as real_part
from primax.plugins.arithmetic import complex_p
from primax.plugins.custom_derivatives import custom_jvp
from primax.plugins.special import digamma_p, igamma_p, igammac_p, lgamma_p, polygamma_p
from primax.plugins.special.gamma import stirling
from primax.plugins.structural import stop_gradient
from primax.scipy.special.operands import bound, inexact, real, tangent_of

__all__ = ["digamma", "factorial", "gamma", "gammainc", "gammaincc", "gammaln", "gammasgn", "multigammaln"]

gammaln = bound(
    "gammaln",
    lgamma_p.bind,
    "x",
    "The logarithm of the absolute value of the gamma function.",
    ">>> special.gammaln(pnp.array([1.0, 0.0, -1.0])), special.gammaln(100.0) > 300\n"
    "(Array([ 0., inf, inf], dtype=float32), Array(True, dtype=bool, weak_type=True))",
)
gammainc = bound(
    "gammainc",
    igamma_p.bind,
    "a, x",
    "The regularized lower incomplete gamma function.",
    ">>> special.gammainc(pnp.array([[1.0], [2.0]]), pnp.array([0.0, pnp.inf]))\n"
    "Array([[0., 1.],\n       [0., 1.]], dtype=float32)",
)
gammaincc = bound(
    "gammaincc",
    igammac_p.bind,
    "a, x",
    "The regularized upper incomplete gamma function, 1 - gammainc(a, x).",
    ">>> special.gammaincc(1.0, 50.0) > 0, 1 - special.gammainc(1.0, 50.0)\n"
    "(Array(True, dtype=bool, weak_type=True), Array(0., dtype=float32, weak_type=True))",
)


@one_program("")
def digamma(x: ArrayLike) -> Array:
    """The derivative of `gammaln`.

    Args:
      x: real arrays or numbers; integers are converted to a floating dtype.

    Raises:
      TypeError: `x` is complex.

    Examples:
      >>> import primax as px
      >>> import numpy as np
      >>> abs(px.scipy.special.digamma(1.0) + np.euler_gamma) < 1e-6, px.scipy.special.digamma(0.0)
      (Array(True, dtype=bool, weak_type=True), Array(-inf, dtype=float32, weak_type=True))
    """
    (x,) = real("digamma", x)
    zero = x == 0
    return where(zero, -1 / where(zero, x, 1), digamma_p.bind(where(zero, 1, x)))


@one_program("", named="gammasgn")
def gammasgn(x: ArrayLike) -> Array:
    """The sign of the gamma function; NaN at negative integers.

    Args:
      x: real arrays or numbers.

    Raises:
      TypeError: `x` is complex.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.special.gammasgn(pnp.array([2.5, -0.5, -1.5, -1.0]))
      Array([ 1., -1.,  1., nan], dtype=float32)
    """
    (x,) = real("gammasgn", x)
    whole = floor(x)
    sign = where(whole % 2 == 0, 1.0, -1.0)
    at_zero = 1 / x  # keeps the sign of a zero
    below = where(whole == x, where(x == 0, where(at_zero > 0, 1.0, -1.0), np.nan), sign)
    return where(x > 0, 1.0, where(x == x, below, np.nan)).astype(get_aval(x).dtype)


@one_program("")
def gamma(x: ArrayLike) -> Array:
    """The gamma function.

    Args:
      x: arrays or numbers; integers are converted to a floating dtype.

    >>> import primax as px
    >>> px.numpy.round(px.scipy.special.gamma(px.numpy.array([1.0, 5.0])), 2)
    Array([ 1., 24.], dtype=float32)
    """
    (x,) = inexact("gamma", x)
    if dtypes.is_complex(get_aval(x).dtype):
        return _complex_gamma(x)
    dtype = get_aval(x).dtype
    return strong(cast(_gamma(cast(x, np.dtype(np.float32)) if dtype.itemsize < 4 else x), dtype))


@custom_jvp
def _gamma(x: Any) -> Array:
    """Stirling's series from 10 on, below after ten steps to the right, for negative numbers by reflection."""
    size = absolute(x)
    steps = size < 10
    u = where(steps, size + 10, minimum(size, 180.0 if get_aval(x).dtype == np.float64 else 38.0))
    lost = where(steps, (u - size) - 10, 0.0)  # the rounding error of u
    half = power(u, 0.5 * u - 0.25)
    value = half * exp(-u) * half * (sqrt(2 * pi) * exp(stirling(u) - lost * log(u)))
    product = where(steps, size, 1.0)
    for k in range(1, 10):
        product = product * where(steps, size + k, 1.0)
    positive = value / product
    turn = x - rint(x)
    pole = (turn == 0) & (x <= 0)
    sine = sin(pi * where(pole, 0.5, turn)) * where(rint(x) % 2 == 0, 1.0, -1.0)
    small = size < 1
    negative = pi / sine / where(small, 1.0, size) / where(small, where(x < 0, size, 1.0) * positive, positive)
    at_pole = where(x == 0, 1 / where(x == 0, x, 1.0), np.nan)
    return where(pole | (x == -np.inf), at_pole, where(x < 0, negative, positive))


_gamma.defjvps(lambda t, out, x: t * where(out == 0, 0.0, out * digamma_p.bind(x)))


# The approximation of C. Lanczos (SIAM Journal on Numerical Analysis 1, 1964, p. 86), of nine terms.
_LANCZOS = (
    0.99999999999980993,
    676.5203681218851,
    -1259.1392167224028,
    771.32342877765313,
    -176.61502916214059,
    12.507343278686905,
    -0.13857109526572012,
    9.9843695780195716e-6,
    1.5056327351493116e-7,
)


def _complex_gamma(z: Any) -> Array:
    """Use the approximation of Lanczos in the right half plane and reflection in the left one; NaN at the poles.

    There, the growth of the sine with the imaginary part cancels the decay of the function on the right.
    """
    x, y = real_part(z), imag(z)
    left = x < 0.5
    pole = (floor(x) == x) & (x <= 0) & (y == 0)
    w = where(left, -z, z - 1)
    total: Any = _LANCZOS[0]
    for i, coefficient in enumerate(_LANCZOS[1:], 1):
        total = total + coefficient / (w + i)
    t = w + 7.5
    exponent = (w + 0.5) * log(t) - t + log(sqrt(2 * pi) * total)
    value = exp(where(left, 0, exponent))
    # Real values stay real on overflow: the product of zero and infinity is NaN.
    right = where((y == 0) & (real_part(value) == np.inf), _as_complex(real_part(value)), value)
    usual = left & ~pole
    sine, growth = sine_and_growth(where(usual, x, 0.5), where(usual, y, 0.0))
    half = exp(-0.5 * where(usual, exponent + growth, 0))
    return where(pole, complex(np.nan, np.nan), where(left, half * (pi / sine) * half, right))


def sine_and_growth(x: Any, y: Any) -> tuple[Array, Array]:
    """sin(pi (x + i y)) as a factor and the exponent of another, which grows with y; both complex."""
    size = pi * where(signbit(y), -y, y)
    turn = x - 2 * rint(x / 2)
    angle = pi * turn
    decay = exp(-2 * size)
    odd = -expm1(-2 * size) * copysign(0.5, y)
    cosine = cos(angle)  # exactly 0 at half a turn, where its sign decides on which side of a branch the sine is
    cosine = cosine - stop_gradient(where(absolute(turn) == 0.5, cosine, 0.0))
    return complex_p.bind(0.5 * sin(angle) * (1 + decay), cosine * odd), _as_complex(size)


def _as_complex(x: Any) -> Array:
    return complex_p.bind(x, zeros_like(x))


def log_ratio(z: Any, m: Any) -> Array:
    """lgamma(z + m) - lgamma(z); for large z by Stirling's series, in which the large terms are canceled.

    If z and m are small, z is first increased by 1, since two large logarithms would cancel out.
    """
    large, finite = (z >= 10) & (z + m >= 10), z < np.inf
    u, v = where(large & finite, z, 10.0), where(large & finite, m, 1.0)
    by_series = times_log1p(u - 0.5, v, u) + v * (log(u + v) - 1) + (stirling(u + v) - stirling(u))
    at_infinity = where(m == 0, 0.0, where(m > 0, np.inf, -np.inf))
    small = (z > 0) & (z < 0.5) & (m > 0) & (m < 0.5)
    step = where(small, 1.0, 0.0)
    plain = lgamma_p.bind(z + m + step) - lgamma_p.bind(z + step)
    plain = plain - log1p(where(small, m, 0.0) / where(small, z, 1.0))
    return where(large, where(finite, by_series, at_infinity), plain)


def times_log1p(factor: Any, x: Any, y: Any) -> Any:
    """factor * log(1 + x / y), where the quotient may be below the smallest normal number."""
    tiny = absolute(x) < 1e-20 * absolute(y)
    return where(tiny, factor / y * x, factor * log1p(where(tiny, 0.0, x) / y))


# The coefficients of powers of 1 / x**2 in digamma(x) = log(x) - 1 / (2 x) - ... and polygamma(1, x) =
# 1 / x + 1 / (2 x**2) + ..., from the first power and from 1 / x**3 on. Source: DLMF 5.11.2.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
_DIGAMMA_SERIES = tuple(b / (2 * k) for k, b in enumerate(_BERNOULLI, 1))


def _divided(coefficients: tuple[float, ...], s: Any, t: Any) -> tuple[Any, Any]:
    """The value at t of a polynomial, and its divided difference between s and t."""
    value, difference = coefficients[-1] + 0.0 * t, 0.0 * t
    for coefficient in coefficients[-2::-1]:
        value, difference = value * t + coefficient, difference * s + value
    return value, difference


def _steps(a: Any, b: Any) -> tuple[Any, ...]:
    """The common part of the two functions below: ten steps that increase a and a + b by 1 if one of them is below 10.

    Returns whether a and a + b are positive and finite; a factor, and b times it, whose quotients do not underflow; the
    increased a, its inverse and that of the increased a + b; and pairs of 1 / (a + k), or 0 without steps, and
    b / (a + b + k) for each step, then for the increased numbers.
    """
    total = a + b
    known = (a > 0) & (total > 0) & (a < np.inf) & (total < np.inf)
    a, b, total = where(known, a, 10.0), where(known, b, 0.0), where(known, total, 10.0)
    large = 2.0 ** (-dtypes.finfo(get_aval(a).dtype).minexp // 2)
    factor = where(absolute(b) < 0.01 / large * a, large, 1.0)
    b = b * factor
    near = minimum(a, total) < 10
    pairs = [(where(near, 1 / (a + k), 0.0), b / (total + k)) for k in range(10)]
    far, far_total = where(near, a + 10, a), where(near, total + 10, total)
    return known, factor, b, far, 1 / far, 1 / far_total, [*pairs, (1 / far, b / far_total)]


def _wide(difference: Any) -> Any:
    """A `custom_jvp` function that computes a difference in at least 32 bits."""

    @custom_jvp
    def function(a: Any, b: Any) -> Array:
        dtype = get_aval(a).dtype
        narrow = dtypes.finfo(dtype).bits < 32
        a, b = (cast(x, np.dtype(np.float32)) for x in (a, b)) if narrow else (a, b)
        return cast(difference(a, b), dtype)

    function.__doc__ = difference.__doc__
    return function


@_wide
def digamma_difference(a: Any, b: Any) -> Array:
    """digamma(a + b) - digamma(a); for positive a and a + b, by ten steps of the recurrence and divided differences.

    All terms have the sign of b, and none cancel out.
    """
    known, factor, rest, far, u, v, pairs = _steps(a, b)
    value, slope = _divided(_DIGAMMA_SERIES, u * u, v * v)
    linear = factor > 1
    logarithm = where(linear, rest * u, log1p(where(linear, 0.0, rest) / far))
    r, s = pairs.pop()
    out = logarithm + s * r * (0.5 + (u + v) * (value + u * u * slope))
    for r, s in pairs:
        out = out + s * r
    total, beyond = a + b, (a > 1) & (a + b == np.inf)
    plain = digamma_p.bind(where(known, 1.0, total)) - digamma_p.bind(where(known, 1.0, a))
    plain = where(beyond, log1p(where(beyond, b, 0.0) / where(beyond, a, 1.0)), plain)
    return where(known, out / factor, where(a == np.inf, 0.0, plain))


@_wide
def trigamma_difference(a: Any, b: Any) -> Array:
    """polygamma(1, a + b) - polygamma(1, a), like `digamma_difference`."""
    known, factor, _, _, u, v, pairs = _steps(a, b)
    value, slope = _divided(_BERNOULLI, u * u, v * v)
    cubes = (u * u + u * v + v * v) * value + u * u * u * (u + v) * slope
    r, s = pairs.pop()
    out = s * r * (1 + 0.5 * (u + v) + cubes)
    total = a + b
    for k, (r, s) in enumerate(pairs):
        out = out + s * r * (r + where(known, 1 / (total + k), 0.0))
    plain = _polygamma(1, where(known, 1.0, total)) - _polygamma(1, where(known, 1.0, a))
    return where(known, -(out / factor), where(a == np.inf, 0.0, plain))


def _polygamma(n: int, x: Any) -> Any:
    return polygamma_p.bind(full_like(x, n), x)


digamma_difference.defjvp(
    lambda primals, tangents: (
        digamma_difference(*primals),
        tangent_of(tangents, lambda: trigamma_difference(*primals), lambda: _polygamma(1, sum(primals))),
    ),
    symbolic_zeros=True,
)
trigamma_difference.defjvp(
    lambda primals, tangents: (
        trigamma_difference(*primals),
        tangent_of(
            tangents,
            lambda: _polygamma(2, sum(primals)) - _polygamma(2, primals[0]),
            lambda: _polygamma(2, sum(primals)),
        ),
    ),
    symbolic_zeros=True,
)


def multigammaln(a: ArrayLike, d: SupportsIndex) -> Array:
    """The logarithm of the multivariate gamma function.

    Args:
      a: real arrays or numbers above (d - 1) / 2.
      d: the dimension, an integer.

    Raises:
      TypeError: `a` is complex.

    Examples:
      >>> import primax as px
      >>> abs(px.scipy.special.multigammaln(3.0, 1) - px.scipy.special.gammaln(3.0)) < 1e-6
      Array(True, dtype=bool)
    """
    d = integer("multigammaln", "d", d)
    (a,) = real("multigammaln", a)
    dtype = get_aval(a).dtype
    halves = counted(d, 0, 0.5, dtype)
    return d * (d - 1) / 4 * _log(pi) + lgamma_p.bind(a[..., None] - halves).sum(-1)


@one_program("exact")
def factorial(n: ArrayLike, exact: bool = False) -> Array:
    """The factorial, gamma(n + 1); 0 for negative numbers.

    Args:
      n: real arrays or numbers.
      exact: False.

    Raises:
      NotImplementedError: `exact` is true.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.special.factorial(pnp.array([5, 0, -1])).round()
      Array([120.,   1.,   0.], dtype=float32)
    """
    if exact:
        raise NotImplementedError("factorial: exact must be False")
    (n,) = real("factorial", n)
    large = n >= 1
    return where(n < 0, 0.0, where(large, n, 1.0) * gamma(where(large, n, where(n < 0, 0.0, n) + 1)))
