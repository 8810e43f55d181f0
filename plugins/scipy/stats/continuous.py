"""Distributions of real numbers."""

from __future__ import annotations

from math import log as _log
from math import pi
from typing import Any

import numpy as np

from primax.plugins.exponential import logistic as _sigmoid
from primax.plugins.nn.activations import softplus
from primax.plugins.numpy.division import power
from primax.plugins.numpy.selection import where
from primax.plugins.numpy.ufuncs import absolute, arctan, exp, expm1, log, log1p, sign, tan
from primax.plugins.scipy.special.entropies import logit, xlog1py, xlogy
from primax.plugins.scipy.special.errors import log_ndtr, ndtr, ndtri
from primax.plugins.scipy.special.gamma import betainc, betaln, gammainc, gammaincc, gammaln
from primax.plugins.scipy.stats.families import Continuous

__all__ = [
    "beta",
    "cauchy",
    "chi2",
    "expon",
    "gamma",
    "gennorm",
    "gumbel_l",
    "gumbel_r",
    "laplace",
    "logistic",
    "norm",
    "pareto",
    "t",
    "uniform",
]

_HALF_LOG_TWO_PI = 0.5 * _log(2 * pi)


def _above_zero(*shapes: Any) -> tuple[float, float]:
    return 0.0, np.inf


def _upper_gennorm(z: Any, beta: Any) -> Any:
    tail = 0.5 * gammaincc(1 / beta, power(absolute(z), beta))
    return where(z > 0, tail, 1 - tail)


norm = Continuous(
    "norm",
    logpdf=lambda z: -0.5 * z * z - _HALF_LOG_TWO_PI,
    cdf=ndtr,
    sf=lambda z: ndtr(-z),
    logcdf=log_ndtr,
    logsf=lambda z: log_ndtr(-z),
    ppf=ndtri,
    isf=lambda q: -ndtri(q),
)

uniform = Continuous(
    "uniform",
    logpdf=lambda z: 0 * z,
    cdf=lambda z: z,
    ppf=lambda q: q,
    support=lambda: (0.0, 1.0),
)

expon = Continuous(
    "expon",
    logpdf=lambda z: -z,
    cdf=lambda z: -expm1(-z),
    sf=lambda z: exp(-z),
    logsf=lambda z: -z,
    ppf=lambda q: -log1p(-q),
    isf=lambda q: -log(q),
    support=_above_zero,
)

gamma = Continuous(
    "gamma",
    "a",
    logpdf=lambda z, a: xlogy(a - 1, z) - z - gammaln(a),
    cdf=lambda z, a: gammainc(a, z),
    sf=lambda z, a: gammaincc(a, z),
    support=_above_zero,
)

chi2 = Continuous(
    "chi2",
    "df",
    logpdf=lambda z, df: xlogy(df / 2 - 1, z) - z / 2 - gammaln(df / 2) - df / 2 * _log(2),
    cdf=lambda z, df: gammainc(df / 2, z / 2),
    sf=lambda z, df: gammaincc(df / 2, z / 2),
    support=_above_zero,
)

beta = Continuous(
    "beta",
    "a b",
    logpdf=lambda z, a, b: xlogy(a - 1, z) + xlog1py(b - 1, -z) - betaln(a, b),
    cdf=lambda z, a, b: betainc(a, b, z),
    sf=lambda z, a, b: betainc(b, a, 1 - z),
    support=lambda a, b: (0.0, 1.0),
)

cauchy = Continuous(
    "cauchy",
    logpdf=lambda z: -_log(pi) - log1p(z * z),
    cdf=lambda z: 0.5 + arctan(z) / pi,
    sf=lambda z: 0.5 - arctan(z) / pi,
    ppf=lambda q: tan(pi * (q - 0.5)),
    isf=lambda q: tan(pi * (0.5 - q)),
)

laplace = Continuous(
    "laplace",
    logpdf=lambda z: -absolute(z) - _log(2),
    cdf=lambda z: 0.5 - 0.5 * sign(z) * expm1(-absolute(z)),
    ppf=lambda q: -sign(q - 0.5) * log1p(-2 * absolute(q - 0.5)),
)

logistic = Continuous(
    "logistic",
    logpdf=lambda z: -z - 2 * softplus(-z),
    cdf=_sigmoid,
    sf=lambda z: _sigmoid(-z),
    logcdf=lambda z: -softplus(-z),
    logsf=lambda z: -softplus(z),
    ppf=logit,
    isf=lambda q: -logit(q),
)

pareto = Continuous(
    "pareto",
    "b",
    logpdf=lambda z, b: log(b) - (b + 1) * log(z),
    cdf=lambda z, b: -expm1(-b * log(z)),
    sf=lambda z, b: power(z, -b),
    logsf=lambda z, b: -b * log(z),
    ppf=lambda q, b: power(1 - q, -1 / b),
    support=lambda b: (1.0, np.inf),
)

t = Continuous(
    "t",
    "df",
    logpdf=lambda z, df: (
        gammaln((df + 1) / 2) - gammaln(df / 2) - 0.5 * log(df * pi) - (df + 1) / 2 * log1p(z * z / df)
    ),
)

gennorm = Continuous(
    "gennorm",
    "beta",
    logpdf=lambda z, beta: log(beta / 2) - gammaln(1 / beta) - power(absolute(z), beta),
    cdf=lambda z, beta: _upper_gennorm(-z, beta),
    sf=lambda z, beta: _upper_gennorm(z, beta),
)

gumbel_r = Continuous(
    "gumbel_r",
    logpdf=lambda z: -z - exp(-z),
    cdf=lambda z: exp(-exp(-z)),
    sf=lambda z: -expm1(-exp(-z)),
    logcdf=lambda z: -exp(-z),
    ppf=lambda q: -log(-log(q)),
)

gumbel_l = Continuous(
    "gumbel_l",
    logpdf=lambda z: z - exp(z),
    cdf=lambda z: -expm1(-exp(z)),
    sf=lambda z: exp(-exp(z)),
    logsf=lambda z: -exp(z),
    ppf=lambda q: log(-log1p(-q)),
)
