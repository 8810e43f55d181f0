"""Distributions of integers."""

from __future__ import annotations

from math import log as _log
from math import pi
from typing import Any

import numpy as np

from primax.extend.core import Array, get_aval
from primax.numpy.rounding import floor
from primax.numpy.selection import where
from primax.numpy.ufuncs import exp, log, log1p
from primax.plugins.special.gamma import stirling
from primax.scipy.special.betas import betainc, betaln
from primax.scipy.special.entropies import deviance, xlog1py, xlogy
from primax.scipy.special.gammas import gammainc, gammaincc, gammaln
from primax.scipy.stats.families import Discrete, but_decayed

_HALF_LOG_TWO_PI = 0.5 * _log(2 * pi)

__all__ = ["bernoulli", "betabinom", "binom", "geom", "nbinom", "poisson"]


def _is_probability(p: Any) -> Array:
    return (p >= 0) & (p <= 1)


def _is_count(n: Any) -> Array:
    return (n >= 0) & (floor(n) == n)


def _log_choose(n: Any, k: Any) -> Array:
    return where(k == 0, 0.0, -log1p(n) - betaln(n - k + 1, k + 1))


def _stirling_error(k: Any) -> Array:
    """log(k!) - (k + 1/2) log(k) + k - log(2 pi) / 2, for positive k."""
    large = k >= 10
    u, v = where(large, k, 10.0), where(large, 1.0, k)
    return where(large, stirling(u), gammaln(v + 1) - (v + 0.5) * log(v) + v - _HALF_LOG_TWO_PI)


def _poisson_logpmf(k: Any, mu: Any) -> Array:
    """By Stirling's series and the deviance, in which the large terms are canceled analytically."""
    inside = (k > 0) & (mu > 0)
    u, v = where(inside, k, 1.0), where(inside, mu, 1.0)
    out = -_stirling_error(u) - deviance(u, v) - 0.5 * log(u) - _HALF_LOG_TWO_PI
    return where(inside, out, xlogy(k, mu) - mu)


def _binom_logpmf(k: Any, n: Any, p: Any) -> Array:
    """Like `_poisson_logpmf`; at both ends of the support, the logarithm of a power of a probability."""
    inside = (k > 0) & (k < n) & (p > 0) & (p < 1)
    k_, n_, p_ = where(inside, k, 1.0), where(inside, n, 2.0), where(inside, p, 0.5)
    rest = n_ - k_
    out = _stirling_error(n_) - _stirling_error(k_) - _stirling_error(rest)
    out = out - deviance(k_, n_ * p_) - deviance(rest, n_ * (1 - p_)) + 0.5 * log(n_ / k_ / rest) - _HALF_LOG_TWO_PI
    return where(inside, out, xlogy(k, p) + xlog1py(n - k, -p))


bernoulli = Discrete(
    "bernoulli",
    "p",
    valid=_is_probability,
    support=lambda p: (0, 1),
    logpmf=lambda k, p: xlogy(k, p) + xlog1py(1 - k, -p),
    cdf=lambda k, p: 1 - p + 0 * k,
    sf=lambda k, p: p + 0 * k,
    ppf=lambda q, p: where(q <= 1 - p, 0.0, 1.0),
)

binom = Discrete(
    "binom",
    "n p",
    valid=lambda n, p: _is_count(n) & _is_probability(p),
    support=lambda n, p: (0, n),
    logpmf=_binom_logpmf,
    cdf=lambda k, n, p: betainc(n - k, k + 1, 1 - p),
    sf=lambda k, n, p: betainc(k + 1, n - k, p),
)

betabinom = Discrete(
    "betabinom",
    "n a b",
    valid=lambda n, a, b: _is_count(n) & (a > 0) & (b > 0),
    support=lambda n, a, b: (0, n),
    logpmf=lambda k, n, a, b: _log_choose(n, k) + betaln(k + a, n - k + b) - betaln(a, b),
)

geom = Discrete(
    "geom",
    "p",
    valid=lambda p: (p > 0) & (p <= 1),
    support=lambda p: (1, np.inf),
    logpmf=lambda k, p: xlog1py(k - 1, -p) + xlogy(1.0, p),
    cdf=lambda k, p: but_decayed(-k * log1p(-p)),
    sf=lambda k, p: exp(k * log1p(-p)),
)

nbinom = Discrete(
    "nbinom",
    "n p",
    valid=lambda n, p: (n > 0) & (p > 0) & (p <= 1),
    support=lambda n, p: (0, np.inf),
    logpmf=lambda k, n, p: log(n / (n + k)) + _binom_logpmf(n, n + k, p),
    cdf=lambda k, n, p: betainc(n, k + 1, p),
    sf=lambda k, n, p: betainc(k + 1, n, 1 - p),
)


def _poisson_entropy(mu: Any) -> Array:
    """A sum over all likely counts, or, for large mu, the series in 1 / mu that follows from that of Stirling."""
    small = where(mu < 40, mu, 1.0)[..., None]
    k = np.arange(128, dtype=get_aval(small).dtype)
    of_factorial = np.cumsum(np.log(np.maximum(np.arange(128), 1))).astype(k.dtype)
    logarithm = xlogy(k, small) - of_factorial - small
    summed = (exp(logarithm) * where(logarithm > -np.inf, -logarithm, 0.0)).sum(-1)
    large = where(mu < 40, 40.0, mu)
    z = 1 / large
    series = z * (1 / 12 + z * (1 / 24 + z * (19 / 360 + z * (9 / 80 + z * 863 / 2520))))
    return where(mu < 40, summed, 0.5 * (log(large) + float(np.log(2 * np.pi * np.e))) - series)


poisson = Discrete(
    "poisson",
    "mu",
    valid=lambda mu: mu >= 0,
    support=lambda mu: (0, np.inf),
    logpmf=_poisson_logpmf,
    cdf=lambda k, mu: gammaincc(k + 1, mu),
    sf=lambda k, mu: gammainc(k + 1, mu),
    entropy=_poisson_entropy,
)
