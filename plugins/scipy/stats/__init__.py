"""Distributions under scipy.stats's names."""

from __future__ import annotations

from primax.plugins.scipy.stats.continuous import (
    beta,
    cauchy,
    chi2,
    expon,
    gamma,
    gennorm,
    gumbel_l,
    gumbel_r,
    laplace,
    logistic,
    norm,
    pareto,
    t,
    uniform,
)
from primax.plugins.scipy.stats.discrete import (
    bernoulli,
    betabinom,
    binom,
    geom,
    nbinom,
    poisson,
)
from primax.plugins.scipy.stats.multivariate import (
    dirichlet,
    multivariate_normal,
)

__all__ = [
    "bernoulli",
    "beta",
    "betabinom",
    "binom",
    "cauchy",
    "chi2",
    "dirichlet",
    "expon",
    "gamma",
    "gennorm",
    "geom",
    "gumbel_l",
    "gumbel_r",
    "laplace",
    "logistic",
    "multivariate_normal",
    "nbinom",
    "norm",
    "pareto",
    "poisson",
    "t",
    "uniform",
]
