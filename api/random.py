"""Random numbers, from keys."""

from __future__ import annotations

from typing import NewType

from primax.core.array import Array
from primax.plugins.random import (
    PRNGKey,
    bits,
    clone,
    fold_in,
    key,
    key_data,
    key_dtype,
    key_impl,
    split,
    wrap_key_data,
)
from primax.plugins.random.choices import categorical, choice, permutation
from primax.plugins.random.counts import binomial, multinomial, poisson
from primax.plugins.random.gamma import random_gamma_p
from primax.plugins.random.gamma_family import (
    ball,
    beta,
    chisquare,
    dirichlet,
    f,
    gamma,
    generalized_normal,
    loggamma,
    t,
)
from primax.plugins.random.integers import bernoulli, rademacher, randint
from primax.plugins.random.inversion import (
    cauchy,
    exponential,
    geometric,
    gumbel,
    laplace,
    logistic,
    pareto,
    rayleigh,
    triangular,
    weibull_min,
)
from primax.plugins.random.normal import double_sided_maxwell, lognormal, maxwell, normal, truncated_normal, wald
from primax.plugins.random.uniform import uniform
from primax.plugins.random.vectors import multivariate_normal, orthogonal

Key = NewType("Key", Array)  # an array of keys of rank 0, for annotations

__all__ = [
    "Key",
    "PRNGKey",
    "ball",
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "chisquare",
    "choice",
    "clone",
    "dirichlet",
    "double_sided_maxwell",
    "exponential",
    "f",
    "fold_in",
    "gamma",
    "generalized_normal",
    "geometric",
    "gumbel",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "maxwell",
    "multinomial",
    "multivariate_normal",
    "normal",
    "orthogonal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "random_gamma_p",
    "rayleigh",
    "split",
    "t",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
    "wrap_key_data",
]
