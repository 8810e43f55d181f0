"""The beta function, binomial coefficients and rising factorials."""

from __future__ import annotations

from math import log as _log
from math import pi
from typing import Any

import numpy as np

from primax.extend.core import Array, get_aval
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.programs import one_program
from primax.numpy.promotion import cast
from primax.numpy.rounding import floor, round
from primax.numpy.selection import where
from primax.numpy.ufuncs import absolute, exp, log, log1p, maximum, minimum
from primax.plugins.custom_derivatives import custom_jvp
from primax.plugins.special import digamma_p, lgamma_p, regularized_incomplete_beta_p
from primax.plugins.special.gamma import stirling
from primax.plugins.structural import stop_gradient
from primax.scipy.special.gammas import digamma_difference, gamma, gammasgn, log_ratio, times_log1p
from primax.scipy.special.operands import real, tangent_of

__all__ = ["beta", "betainc", "betaln", "comb", "poch"]

_HALF_LOG_TWO_PI = 0.5 * _log(2 * pi)


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The regularized incomplete beta function.

    Args:
      a, b: positive arrays or numbers.
      x: arrays or numbers from 0 to 1.

    Raises:
      TypeError: an argument is complex, or the shapes do not broadcast.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.special.betainc(2.0, 3.0, pnp.array([0.0, 1.0]))
      Array([0., 1.], dtype=float32)
    """
    return regularized_incomplete_beta_p.bind(*real("betainc", a, b, x))


@one_program("")
def betaln(a: ArrayLike, b: ArrayLike) -> Array:
    """The logarithm of the absolute value of the beta function.

    Args:
      a, b: real arrays or numbers, of shapes that broadcast together.

    Raises:
      TypeError: an argument is complex, or the shapes do not broadcast.

    Examples:
      >>> import primax as px
      >>> px.scipy.special.betaln(1.0, 1.0), px.scipy.special.betaln(1e3, 1e3) < -1000  # the function underflows
      (Array(0., dtype=float32, weak_type=True), Array(True, dtype=bool, weak_type=True))
    """
    return _betaln(*_reflected(*real("betaln", a, b))[:2])


def _is_pole(x: Any) -> Array:
    return (x <= 0) & (floor(x) == x)


def _reflected(a: Any, b: Any) -> tuple[Any, Any, Any]:
    """Arguments at which the beta function has the same absolute value as at a and b, and its sign there.

    One of a and b may be a pole of the gamma function, if the other one is a positive integer that is small enough. If
    both are poles, the value is infinite.
    """
    total = where(absolute(a + b) < np.inf, 1 - a - b, 0.0)
    swap_a = _is_pole(a) & (b > 0) & (floor(b) == b) & (total > 0)
    swap_b = _is_pole(b) & (a > 0) & (floor(a) == a) & (total > 0)
    whole = where(swap_a, b, a)
    reflected = where(swap_a | swap_b, where(whole % 2 == 0, 1.0, -1.0), 1.0)
    odd = _is_pole(a) & _is_pole(b) & (a + b > -np.inf) & (b % 2 != 0)  # an infinity of the sign that SciPy gives it
    reflected = where(odd, -1.0, reflected)
    a, b = where(swap_a, total, a), where(swap_b, total, b)
    return a, b, reflected


@custom_jvp
def _betaln(a: Any, b: Any) -> Array:
    """By Stirling's series for large arguments, in which the large terms are canceled analytically."""
    least, most = minimum(a, b), maximum(a, b)
    two_large = (least >= 10) & (most < np.inf)
    u, v = where(two_large, least, 10.0), where(two_large, most, 10.0)
    corrections = stirling(u) + stirling(v) - stirling(u + v)
    two = _HALF_LOG_TWO_PI - 0.5 * log(u) - u * log1p(v / u) - times_log1p(v - 0.5, u, v) + corrections
    out = where(two_large, two, lgamma_p.bind(least) - log_ratio(most, least))
    out = where(least == np.inf, -np.inf, out)
    return where(_is_pole(a) | _is_pole(b), where((a == a) & (b == b), np.inf, np.nan), out)


def _betaln_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    a, b = primals
    slopes = (lambda: -digamma_difference(a, b)), (lambda: -digamma_difference(b, a))
    return _betaln(a, b), tangent_of(tangents, *slopes)


_betaln.defjvp(_betaln_jvp, symbolic_zeros=True)


@custom_jvp
def _beta_size(a: Any, b: Any) -> Array:
    """exp(_betaln(a, b)); small positive arguments are first increased by 1, where the logarithm is small."""
    least, most = minimum(a, b), maximum(a, b)
    small = (least > 0) & (least < 0.5) & (most < np.inf)
    u, v = where(small, least, 0.5), where(small, most, 0.5)
    near = exp(lgamma_p.bind(1 + u) - log_ratio(v, u)) / u
    return where(small, near, exp(_betaln(where(small, 1.0, a), where(small, 1.0, b))))


def _beta_size_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    a, b = primals
    out = _beta_size(a, b)
    slopes = (lambda: -out * digamma_difference(a, b)), (lambda: -out * digamma_difference(b, a))
    return out, tangent_of(tangents, *slopes)


_beta_size.defjvp(_beta_size_jvp, symbolic_zeros=True)


@one_program("")
def beta(a: ArrayLike, b: ArrayLike) -> Array:
    """The beta function, gamma(a) gamma(b) / gamma(a + b).

    Args:
      a, b: real arrays or numbers, of shapes that broadcast together.

    Raises:
      TypeError: an argument is complex, or the shapes do not broadcast.

    Examples:
      >>> import primax as px
      >>> abs(px.scipy.special.beta(2.0, 3.0) - 1 / 12) < 1e-6, px.scipy.special.beta(1.0, 0.0)
      (Array(True, dtype=bool), Array(inf, dtype=float32))
    """
    a, b, reflected = _reflected(*real("beta", a, b))
    sign = gammasgn(a) * gammasgn(b) * gammasgn(a + b)
    plain = _is_pole(a) | _is_pole(b) | _is_pole(a + b)
    size = _beta_size(a, b)
    return (cast(reflected * where(plain, 1.0, sign), get_aval(size).dtype) * size).astype(get_aval(sign).dtype)


@one_program("", named="poch")
def poch(z: ArrayLike, m: ArrayLike) -> Array:
    """Pochhammer's symbol, gamma(z + m) / gamma(z).

    Args:
      z, m: real arrays or numbers, of shapes that broadcast together.

    Raises:
      TypeError: an argument is complex, or the shapes do not broadcast.

    Examples:
      >>> import primax as px
      >>> px.scipy.special.poch(3.0, 2.0).round(), px.scipy.special.poch(3.0, 0.0)
      (Array(12., dtype=float32), Array(1., dtype=float32))
    """
    z, m = real("poch", z, m)
    return _poch(z, m).astype(get_aval(z).dtype)


def _near_pole(z: Any, m: Any, at_pole: Any) -> Array:
    """gamma(z + m) / gamma(z) where z + m is rounded to a pole of gamma: the residue divided by the rounding error."""
    total = z + m
    part = total - z
    lost = (z - (total - part)) + (m - part)
    order = where(at_pole, -total, 0.0)
    residue = where(order % 2 == 0, 1.0, -1.0) * exp(-lgamma_p.bind(order + 1))
    by_next = gamma(where(at_pole, z + 1, 1.0)) / where(at_pole, z, 1.0)
    pole = floor(lost) == lost  # without rounding too
    return where(pole, np.inf, residue / (where(pole, 1.0, lost) * by_next))


@custom_jvp
def _poch(z: Any, m: Any) -> Array:
    """gamma(z + m) / gamma(z), 0 where only gamma(z) has a pole, and a ratio of factorials where both have one."""
    above, below = _is_pole(z + m), _is_pole(z)
    both = above & below & (floor(m) == m)  # otherwise z + m is a pole only after rounding
    factorials = where(m % 2 == 0, 1.0, -1.0) * exp(log_ratio(where(both, 1 - z - m, 1.0), where(both, m, 1.0)))
    u, v = where(above | below, 1.0, z), where(above | below, 1.0, m)
    short = (u > 0) & (u < 34) & (u + v > 0) & (u + v < 34)
    start, steps = where(short, u, 1.0), where(short, v, 1.0)
    total = start + steps
    part = total - start
    lost = (start - (total - part)) + (steps - part)
    by_gamma = gamma(total) / gamma(start) * (1 + lost * log(total))
    ratio = gammasgn(u + v) * gammasgn(u) * exp(log_ratio(u, v))
    ratio = where(short, by_gamma, ratio)
    out = where(both, factorials, where(below, 0.0, where(above, _near_pole(z, m, above & ~below), ratio)))
    return where(m == 0, 1.0, where((z > -np.inf) & (m == m), out, np.nan))


def _poch_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    z, m = primals
    out = _poch(z, m)
    slopes = (lambda: out * digamma_difference(z, m)), (lambda: out * digamma_p.bind(z + m))
    return out, tangent_of(tangents, *slopes)


_poch.defjvp(_poch_jvp, symbolic_zeros=True)


@one_program("repetition", named="comb")
def comb(N: ArrayLike, k: ArrayLike, *, repetition: bool = False) -> Array:
    """The number of ways to choose k of N things.

    Args:
      N, k: real arrays or numbers, of shapes that broadcast together.
      repetition: whether a thing may be chosen several times.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.special.comb(pnp.array([5, 3]), 2).round(), px.scipy.special.comb(2, 5)
      (Array([10.,  3.], dtype=float32), Array(0., dtype=float32, weak_type=True))
    """
    N, k = real("comb", N, k)
    if repetition:
        N = where((N == 0) & (k == 0), 0.0, N + k - 1)  # there is one way to choose nothing from nothing
    valid = (k >= 0) & (N >= 0) & (k <= N)
    total, chosen = where(valid & (np.inf > N), N, 1.0), where(valid & (np.inf > N), k, 1.0)
    ways = exp(-log1p(total) - _betaln(total - chosen + 1, chosen + 1))
    whole = (floor(N) == N) & (floor(k) == k)
    ways = ways + where(whole & (ways < np.inf), stop_gradient(round(ways) - ways), 0.0)
    ways = where(np.inf == N, where(k == 0, 1.0, np.inf), ways)
    return where(valid, ways, 0.0)
