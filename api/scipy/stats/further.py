"""The truncated normal distribution, distributions of angles, and the multinomial distribution."""

from __future__ import annotations

from math import log as _log
from math import pi
from typing import Any

import numpy as np

from primax import numpy as pnp
from primax.extend.core import Array
from primax.numpy.promotion import promote
from primax.numpy.ufuncs import to_inexact
from primax.scipy.special.bessel import i0e
from primax.scipy.special.entropies import xlogy
from primax.scipy.special.errors import log_ndtr, ndtr
from primax.scipy.special.gammas import gammaln
from primax.scipy.stats.families import Continuous

__all__ = ["multinomial", "truncnorm", "vonmises", "wrapcauchy"]

_HALF_LOG_TWO_PI = 0.5 * _log(2 * pi)


def _log_mass(a: Any, b: Any) -> Array:
    """The logarithm of the probability that a standard normal number is in [a, b], for a <= b."""
    right = a > 0
    low, high = pnp.where(right, -b, a), pnp.where(right, -a, b)
    empty = low >= high
    low, high = pnp.where(empty, -1.0, low), pnp.where(empty, 1.0, high)
    tail = high <= 0
    t_low, t_high = pnp.where(tail, low, -2.0), pnp.where(tail, high, -1.0)
    top = log_ndtr(t_high)
    nothing = t_low == -np.inf
    gap = pnp.where(nothing, -1.0, log_ndtr(pnp.where(nothing, -3.0, t_low)) - top)
    in_tail = top + pnp.where(nothing, 0.0, _log1mexp(gap))
    m_low, m_high = pnp.where(tail, -1.0, low), pnp.where(tail, 1.0, high)
    in_middle = pnp.log1p(-(ndtr(m_low) + ndtr(-m_high)))
    return pnp.where(empty, -np.inf, pnp.where(tail, in_tail, in_middle))


def _log1mexp(x: Any) -> Array:
    """log(1 - exp(x)) for x below 0."""
    small = x > -_log(2)
    u, v = pnp.where(small, x, -0.5), pnp.where(small, -1.0, x)
    return pnp.where(small, pnp.log(-pnp.expm1(u)), pnp.log1p(-pnp.exp(v)))


def _between(z: Any, a: Any, b: Any) -> Array:
    return pnp.clip(z, a, b)


def _log_part(a: Any, b: Any, whole: Any, rest: Any) -> Array:
    """The logarithm of the mass of [a, b] as a part of the whole; from the rest, another interval, if it is small."""
    part, missing = _log_mass(a, b) - whole, _log_mass(*rest) - whole
    nearly_all = part > -0.5
    return pnp.where(nearly_all, pnp.log1p(-pnp.exp(pnp.where(nearly_all, missing, -1.0))), part)


def _truncnorm_logcdf(z: Any, a: Any, b: Any) -> Array:
    z = _between(z, a, b)
    return _log_part(a, z, _log_mass(a, b), (z, b))


def _truncnorm_logsf(z: Any, a: Any, b: Any) -> Array:
    z = _between(z, a, b)
    return _log_part(z, b, _log_mass(a, b), (a, z))


def _truncnorm_logpdf(z: Any, a: Any, b: Any) -> Array:
    outside = (z < a) | (z > b)
    inside = pnp.where(outside, 0.0, z)
    return pnp.where(outside, -np.inf, -0.5 * inside * inside - _HALF_LOG_TWO_PI - _log_mass(a, b))


truncnorm = Continuous(
    "truncnorm",
    "a b",
    valid=lambda a, b: a < b,
    logpdf=_truncnorm_logpdf,
    cdf=lambda z, a, b: pnp.exp(_truncnorm_logcdf(z, a, b)),
    sf=lambda z, a, b: pnp.exp(_truncnorm_logsf(z, a, b)),
    logcdf=_truncnorm_logcdf,
    logsf=_truncnorm_logsf,
)

vonmises = Continuous(
    "vonmises",
    "kappa",
    valid=lambda kappa: kappa >= 0,
    # cos(z) - 1 as a square, so that sharp peaks are accurate
    logpdf=lambda z, kappa: -2 * kappa * pnp.square(pnp.sin(z / 2)) - _log(2 * pi) - pnp.log(i0e(kappa)),
)

wrapcauchy = Continuous(
    "wrapcauchy",
    "c",
    valid=lambda c: (c > 0) & (c < 1),
    # 1 + c**2 - 2 c cos(z), which cancels near 0
    logpdf=lambda z, c: (
        pnp.log1p(-c) + pnp.log1p(c) - _log(2 * pi) - pnp.log((1 - c) ** 2 + 4 * c * pnp.square(pnp.sin(z / 2)))
    ),
    support=lambda c: (0.0, 2 * pi),
)


class multinomial:
    """The multinomial distribution, of counts of several outcomes.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> pmf = px.scipy.stats.multinomial.pmf
      >>> pmf(pnp.array([1, 1]), 2, pnp.array([0.5, 0.5])).round(1), pmf(pnp.array([1, 2]), 2, pnp.array([0.5, 0.5]))
      (Array(0.5, dtype=float32), Array(0., dtype=float32))
    """

    @staticmethod
    def logpmf(x: Any, n: Any, p: Any) -> Array:
        """The logarithm of the probability of counts; minus infinity if their sum is not n.

        Args:
          x: counts along the last axis.
          n: the number of trials.
          p: probabilities along the last axis.

        Raises:
          TypeError: an argument is complex or not an array.
        """
        x, n, p = (pnp.asarray(promote("multinomial.logpmf", operand, to=to_inexact)[0]) for operand in (x, n, p))
        for operand in (x, n, p):
            if pnp.iscomplexobj(operand):
                raise TypeError(f"multinomial.logpmf: arguments must be real, got {operand.dtype}")
        x, n = x.astype(p.dtype), n.astype(p.dtype)
        possible = (pnp.sum(x, axis=-1) == n) & pnp.all((x >= 0) & (x == pnp.floor(x)), axis=-1)
        safe = pnp.where(x >= 0, x, 0.0)
        out = gammaln(n + 1) + pnp.sum(xlogy(safe, p) - gammaln(safe + 1), axis=-1)
        return pnp.where(possible, out, -np.inf)

    @staticmethod
    def pmf(x: Any, n: Any, p: Any) -> Array:
        """The probability of counts; arguments are those of `logpmf`."""
        return pnp.exp(multinomial.logpmf(x, n, p))
