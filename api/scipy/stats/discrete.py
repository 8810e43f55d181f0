"""Distributions of integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend.core import Array, get_aval
from primax.numpy.rounding import floor
from primax.numpy.selection import where
from primax.numpy.ufuncs import exp, log, log1p
from primax.scipy.special.betas import betainc, betaln
from primax.scipy.special.entropies import xlog1py, xlogy
from primax.scipy.special.gammas import gammainc, gammaincc, gammaln
from primax.scipy.stats.families import Discrete, but_decayed

__all__ = ["bernoulli", "betabinom", "binom", "geom", "nbinom", "poisson"]


def _is_probability(p: Any) -> Array:
    return (p >= 0) & (p <= 1)


def _is_count(n: Any) -> Array:
    return (n >= 0) & (floor(n) == n)


def _log_choose(n: Any, k: Any) -> Array:
    return where(k == 0, 0.0, -log1p(n) - betaln(n - k + 1, k + 1))


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
    logpmf=lambda k, n, p: _log_choose(n, k) + xlogy(k, p) + xlog1py(n - k, -p),
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
    logpmf=lambda k, n, p: _log_choose(k + n - 1, k) + xlogy(n, p) + xlog1py(k, -p),
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
    logpmf=lambda k, mu: xlogy(k, mu) - gammaln(k + 1) - mu,
    cdf=lambda k, mu: gammaincc(k + 1, mu),
    sf=lambda k, mu: gammainc(k + 1, mu),
    entropy=_poisson_entropy,
)
