"""The zeta function, the derivatives of the digamma function, and Bernoulli's numbers."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from math import comb as _comb
from math import factorial, pi
from math import log as _log
from typing import Any

import numpy as np

from primax.extend.core import Array
from primax.extend.provisional.arguments import integer, naming
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.conversion import asarray
from primax.numpy.division import power
from primax.numpy.programs import one_program
from primax.numpy.rounding import floor, round
from primax.numpy.selection import where
from primax.numpy.ufuncs import exp, expm1, log, sin
from primax.plugins.custom_derivatives import custom_jvp
from primax.plugins.special import lgamma_p, polygamma_p, zeta_p
from primax.scipy.special.operands import real, tangent_of

__all__ = ["bernoulli", "polygamma", "zeta"]


@one_program("")
def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """The derivative of order n of `digamma`.

    Args:
      n: orders, integers from 0 on.
      x: real arrays or numbers.

    Raises:
      TypeError: an argument is complex, or the shapes do not broadcast.

    Examples:
      >>> import primax as px
      >>> import numpy as np
      >>> abs(px.scipy.special.polygamma(1, 1.0) - np.pi**2 / 6) < 1e-5
      Array(True, dtype=bool, weak_type=True)
    """
    n, x = real("polygamma", n, x)
    order_is_even, at_zero = n % 2 == 0, (n == 0) & (x == 0)
    pole = (n > 0) & (x <= 0) & (floor(x) == x)
    out = polygamma_p.bind(n, where(pole | at_zero, 1, x))
    return where(pole, where(order_is_even, -np.inf, np.inf), where(at_zero, -1 / where(at_zero, x, 1.0), out))


@one_program("")
def zeta(x: ArrayLike, q: ArrayLike | None = None) -> Array:
    """Hurwitz's zeta function, the sum of (k + q)**-x over k = 0, 1, ...; Riemann's zeta function if q is None.

    Args:
      x: real arrays or numbers.
      q: real arrays or numbers; 1 if None.

    Raises:
      TypeError: an argument is complex, or the shapes do not broadcast.

    Examples:
      >>> import primax as px
      >>> import numpy as np
      >>> abs(px.scipy.special.zeta(2.0) - np.pi**2 / 6) < 1e-5, px.scipy.special.zeta(1.0)
      (Array(True, dtype=bool, weak_type=True), Array(inf, dtype=float32, weak_type=True))
      >>> (px.scipy.special.zeta(2.0) - px.scipy.special.zeta(2.0, 2.0)).round()  # the first term
      Array(1., dtype=float32, weak_type=True)
    """
    if q is None:
        return _riemann(*real("zeta", x))
    return _hurwitz(*real("zeta", x, q))


@custom_jvp
def _hurwitz(x: Any, q: Any) -> Array:
    out = zeta_p.bind(x, q)
    overflown = (out != out) & (x > 1) & (q > 0) & ((q <= 1) | (x < 1e30))  # all terms but the first vanish
    out = where(overflown, power(where(overflown, q, 1.0), -where(overflown, x, 1.0)), out)
    pole = (x > 1) & (q <= 0) & (floor(q) == q)
    return where((x < 1) & (q == q), np.nan, where((x == 1) & (q == q) | pole, np.inf, out))


def _hurwitz_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    x, q = primals
    slopes = (lambda: _slope(x, q)), (lambda: -x * _hurwitz(x + 1, q))
    return _hurwitz(x, q), tangent_of(tangents, *slopes)


_hurwitz.defjvp(_hurwitz_jvp, symbolic_zeros=True)


def _slope(x: Any, q: Any, terms: int = 10, corrections: int = 10) -> Array:
    """The derivative with respect to x, by the formula of Euler and Maclaurin (DLMF 25.11.5)."""
    total: Any = 0.0
    for k in range(terms):
        total = total - log(q + k) * power(q + k, -x)
    u = q + terms
    last = power(u, -x)
    total = total - u * last / (x - 1) * (log(u) + 1 / (x - 1)) - log(u) * last / 2
    product, harmonic = x * last / u, 1 / x
    numbers = _bernoulli_numbers(2 * corrections)
    for j in range(1, corrections + 1):
        total = total + float(numbers[2 * j] / factorial(2 * j)) * product * (harmonic - log(u))
        for i in (2 * j - 1, 2 * j):
            product, harmonic = product * (x + i) / u, harmonic + 1 / (x + i)
    return total


def _riemann(x: Any) -> Array:
    """Below -1 by the functional equation (DLMF 25.4.1), from -1 to 1 by the alternating series of P. Borwein."""
    negative, middle = x <= -1, (x > -1) & (x < 1)
    right = zeta_p.bind(where(negative, 1 - x, where(middle, 2.0, x)), where(x == x, 1.0, x))
    y = where(negative, x, -2.0)
    turned = y - 4 * round(y / 4)
    wave = where(turned % 2 == 0, 0.0, sin(pi / 2 * turned))
    left = 2 * wave * exp((y - 1) * _log(2 * pi) + lgamma_p.bind(1 - y)) * right
    s = where(middle, x, 0.5)
    total = sum(c * exp(-s * _log(k + 1)) for k, c in enumerate(_alternating()))
    return where(negative, left, where(middle, total / (-expm1((1 - s) * _log(2))), right))


def _alternating(n: int = 24) -> list[float]:
    """The coefficients of (k + 1)**-s for Dirichlet's eta, those of Borwein's second algorithm."""
    terms = [Fraction(n * factorial(n + i - 1) * 4**i, factorial(n - i) * factorial(2 * i)) for i in range(n + 1)]
    sums = list(accumulate(terms))
    return [float((-1) ** k * (1 - sums[k] / sums[n])) for k in range(n)]


# The order of the last Bernoulli number below the largest of float64.
_LAST_BERNOULLI = 258


def bernoulli(n: int) -> Array:
    """The Bernoulli numbers of orders 0 to n.

    Args:
      n: an integer from 0 on.

    Raises:
      ValueError: `n` is negative.

    Examples:
      >>> import primax as px
      >>> px.scipy.special.bernoulli(4)[:2], px.scipy.special.bernoulli(4).shape
      (Array([ 1. , -0.5], dtype=float32), (5,))
    """
    n = integer("bernoulli", "n", n)
    if n < 0:
        raise ValueError(f"bernoulli: n must not be negative, got {n}")
    exact = list(map(float, _bernoulli_numbers(min(n, _LAST_BERNOULLI))))
    with naming("bernoulli"):
        numbers = np.zeros(n + 1)
    numbers[: n + 1][: len(exact)] = exact
    numbers[_LAST_BERNOULLI + 2 :: 4], numbers[_LAST_BERNOULLI + 4 :: 4] = -np.inf, np.inf
    return asarray(numbers, float)


def _bernoulli_numbers(n: int) -> list[Fraction]:
    numbers = [Fraction(1)]
    for m in range(1, n + 1):
        numbers.append(-sum((_comb(m + 1, k) * numbers[k] for k in range(m)), Fraction(0)) / (m + 1))
    return numbers
