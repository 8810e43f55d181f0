"""Distributions of integers."""

from __future__ import annotations

import numpy as np

from primax.plugins.numpy.division import power
from primax.plugins.scipy.special.entropies import xlog1py, xlogy
from primax.plugins.scipy.special.gamma import betainc, betaln, gammaincc, gammaln
from primax.plugins.scipy.stats.families import Discrete

__all__ = ["bernoulli", "betabinom", "binom", "geom", "nbinom", "poisson"]

bernoulli = Discrete(
    "bernoulli",
    "p",
    logpmf=lambda k, p: xlogy(k, p) + xlog1py(1 - k, -p),
    cdf=lambda k, p: 1 - p + 0 * k,
    support=lambda p: (0, 1),
)

binom = Discrete(
    "binom",
    "n p",
    logpmf=lambda k, n, p: gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + xlogy(k, p) + xlog1py(n - k, -p),
    cdf=lambda k, n, p: betainc(n - k, k + 1, 1 - p),
    support=lambda n, p: (0, n),
)

betabinom = Discrete(
    "betabinom",
    "n a b",
    logpmf=lambda k, n, a, b: (
        gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + betaln(k + a, n - k + b) - betaln(a, b)
    ),
    support=lambda n, a, b: (0, n),
)

geom = Discrete(
    "geom",
    "p",
    logpmf=lambda k, p: xlog1py(k - 1, -p) + xlogy(1.0, p),
    cdf=lambda k, p: 1 - power(1 - p, k),
    support=lambda p: (1, np.inf),
)

nbinom = Discrete(
    "nbinom",
    "n p",
    logpmf=lambda k, n, p: gammaln(k + n) - gammaln(k + 1) - gammaln(n) + xlogy(n, p) + xlog1py(k, -p),
    cdf=lambda k, n, p: betainc(n, k + 1, p),
    support=lambda n, p: (0, np.inf),
)

poisson = Discrete(
    "poisson",
    "mu",
    logpmf=lambda k, mu: xlogy(k, mu) - gammaln(k + 1) - mu,
    cdf=lambda k, mu: gammaincc(k + 1, mu),
    support=lambda mu: (0, np.inf),
)
