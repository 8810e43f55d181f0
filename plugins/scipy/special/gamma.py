"""The gamma function and its relatives."""

from __future__ import annotations

from fractions import Fraction
from math import comb as _comb
from operator import index
from typing import Any

import numpy as np

from primax.extend.core import get_aval
from primax.plugins.numpy.creation import asarray
from primax.plugins.numpy.rounding import floor, round
from primax.plugins.numpy.selection import where
from primax.plugins.numpy.ufuncs import exp
from primax.plugins.scipy.special.operands import bound, real
from primax.plugins.special import (
    digamma_p,
    igamma_p,
    igammac_p,
    lgamma_p,
    polygamma_p,
    regularized_incomplete_beta_p,
    zeta_p,
)

__all__ = [
    "bernoulli",
    "beta",
    "betainc",
    "betaln",
    "comb",
    "digamma",
    "factorial",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "multigammaln",
    "poch",
    "polygamma",
    "zeta",
]

gammaln = bound("gammaln", lgamma_p, "x", "The logarithm of the absolute value of the gamma function.")
digamma = bound("digamma", digamma_p, "x", "The derivative of `gammaln`.")
gammainc = bound("gammainc", igamma_p, "a, x", "The regularized lower incomplete gamma function.")
gammaincc = bound(
    "gammaincc", igammac_p, "a, x", "The regularized upper incomplete gamma function, 1 - gammainc(a, x)."
)


def polygamma(n: Any, x: Any) -> Any:
    """The derivative of order n of `digamma`.

    Args:
      n: orders, integers from 0 on.
      x: real arrays or numbers.

    Raises:
      TypeError: an argument is complex, or shapes do not broadcast.
    """
    return polygamma_p.bind(*real("polygamma", n, x))


def zeta(x: Any, q: Any = None) -> Any:
    """Hurwitz's zeta function, the sum of (k + q)**-x over k = 0, 1, ...; without q that of Riemann.

    Args:
      x: real arrays or numbers.
      q: likewise; 1 if None.

    Raises:
      TypeError: an argument is complex, or shapes do not broadcast.
    """
    return zeta_p.bind(*real("zeta", x, 1.0 if q is None else q))


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function.

    Args:
      a, b: positive arrays or numbers.
      x: arrays or numbers from 0 to 1.

    Raises:
      TypeError: an argument is complex, or shapes do not broadcast.
    """
    return regularized_incomplete_beta_p.bind(*real("betainc", a, b, x))


def gammasgn(x: Any) -> Any:
    """The sign of the gamma function; NaN at negative integers.

    Args:
      x: real arrays or numbers.

    Raises:
      TypeError: `x` is complex.
    """
    (x,) = real("gammasgn", x)
    whole = floor(x)
    sign = where(whole % 2 == 0, 1.0, -1.0).astype(get_aval(x).dtype)
    at_zero = np.float32(1) / x  # which says the sign of a zero
    below = where(whole == x, where(x == 0, where(at_zero > 0, 1.0, -1.0), np.nan), sign)
    return where(x > 0, 1.0, below).astype(get_aval(x).dtype)


def gamma(x: Any) -> Any:
    """The gamma function.

    Args:
      x: real arrays or numbers; integers are converted to a floating dtype.

    Raises:
      TypeError: `x` is complex.

    >>> import primax as px
    >>> px.numpy.round(px.scipy.special.gamma(px.numpy.array([1.0, 5.0])), 2)
    Array([ 1., 24.], dtype=float32)
    """
    (x,) = real("gamma", x)
    return gammasgn(x) * exp(lgamma_p.bind(x))


def betaln(a: Any, b: Any) -> Any:
    """The logarithm of the absolute value of the beta function.

    Args:
      a, b: real arrays or numbers, of shapes that broadcast together.

    Raises:
      TypeError: an argument is complex, or shapes do not broadcast.
    """
    a, b = real("betaln", a, b)
    return lgamma_p.bind(a) + lgamma_p.bind(b) - lgamma_p.bind(a + b)


def beta(a: Any, b: Any) -> Any:
    """The beta function, gamma(a) gamma(b) / gamma(a + b).

    Args:
      a, b: real arrays or numbers, of shapes that broadcast together.

    Raises:
      TypeError: an argument is complex, or shapes do not broadcast.
    """
    a, b = real("beta", a, b)
    return gammasgn(a) * gammasgn(b) * gammasgn(a + b) * exp(betaln(a, b))


def poch(z: Any, m: Any) -> Any:
    """Pochhammer's symbol, gamma(z + m) / gamma(z).

    Args:
      z, m: real arrays or numbers, of shapes that broadcast together.

    Raises:
      TypeError: an argument is complex, or shapes do not broadcast.
    """
    z, m = real("poch", z, m)
    ratio = gammasgn(z + m) * gammasgn(z) * exp(lgamma_p.bind(z + m) - lgamma_p.bind(z))
    return where(m == 0, 1.0, ratio).astype(get_aval(ratio).dtype)


def multigammaln(a: Any, d: Any) -> Any:
    """The logarithm of the multivariate gamma function.

    Args:
      a: real arrays or numbers above (d - 1) / 2.
      d: the dimension, an integer.

    Raises:
      TypeError: `a` is complex.
    """
    d = index(d)
    (a,) = real("multigammaln", a)
    total = a * 0 + d * (d - 1) / 4 * float(np.log(np.pi))
    for i in range(d):
        total = total + lgamma_p.bind(a - i / 2)
    return total


def factorial(n: Any, exact: bool = False) -> Any:
    """The factorial, gamma(n + 1); 0 for negative numbers.

    Args:
      n: real arrays or numbers.
      exact: False.

    Raises:
      NotImplementedError: `exact` is true.
    """
    if exact:
        raise NotImplementedError("factorial: exact must be False")
    (n,) = real("factorial", n)
    return where(n < 0, 0.0, exp(lgamma_p.bind(n + 1))).astype(get_aval(n).dtype)


def comb(N: Any, k: Any, *, repetition: bool = False) -> Any:
    """How many ways there are to choose k of N things.

    Args:
      N, k: real arrays or numbers, of shapes that broadcast together.
      repetition: whether a thing may be chosen several times.
    """
    N, k = real("comb", N, k)
    if repetition:
        N = N + k - 1
    valid = (k >= 0) & (N >= 0) & (k <= N)
    ways = exp(lgamma_p.bind(N + 1) - lgamma_p.bind(k + 1) - lgamma_p.bind(where(valid, N - k, 0) + 1))
    whole = (floor(N) == N) & (floor(k) == k)
    return where(valid, where(whole, round(ways), ways), 0.0).astype(get_aval(ways).dtype)


def bernoulli(n: int) -> Any:
    """The Bernoulli numbers from that of order 0 to that of order n.

    Args:
      n: an integer from 0 on.

    Raises:
      ValueError: `n` is negative.
    """
    n = index(n)
    if n < 0:
        raise ValueError(f"bernoulli: n must not be negative, got {n}")
    found = [Fraction(1)]
    for m in range(1, n + 1):
        found.append(-sum(_comb(m + 1, k) * found[k] for k in range(m)) / (m + 1))
    return asarray(np.array([float(x) for x in found]), float)
