"""Distributions of real numbers."""

from __future__ import annotations

from math import log as _log
from math import pi
from typing import Any

import numpy as np

from primax.extend.core import Array
from primax.nn.activations import softplus
from primax.numpy.division import power
from primax.numpy.selection import where
from primax.numpy.ufuncs import absolute, arctan2, exp, log, log1p, minimum, sqrt, tan, tanh
from primax.plugins.custom_derivatives import custom_jvp
from primax.plugins.exponential import logistic as _sigmoid
from primax.scipy.special.betas import betainc, betaln
from primax.scipy.special.entropies import logit, xlog1py, xlogy
from primax.scipy.special.errors import log_ndtr, ndtr, ndtri
from primax.scipy.special.gammas import gammainc, gammaincc, gammaln
from primax.scipy.stats.families import Continuous, but_decayed

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


def _log1p_square(z: Any) -> Array:
    """log(1 + z**2), also where the square overflows."""
    large = absolute(z) > 1
    small = where(large, 1 / where(large, z, 1.0), z)
    return log1p(small * small) + 2 * log(where(large, absolute(z), 1.0))


def _log_power(base: Any, exponent: Any, logarithm: Any = None) -> Array:
    """The logarithm of a power, with derivative 0 for base 0, where the result is infinite or the exponent 0."""
    edge = base == 0
    at_edge = where(exponent > 0, -np.inf, where(exponent < 0, np.inf, 0 * exponent))
    out = xlogy(exponent, where(edge, 1.0, base)) if logarithm is None else logarithm
    return where(edge, at_edge, out)


def _gamma_logpdf(z: Any, a: Any) -> Array:
    """At infinity the exponential wins over the power."""
    far = z == np.inf
    u = where(far, 1.0, z)
    return where(far, -np.inf, _log_power(u, a - 1) - u - gammaln(a))


def _log_upper_gamma(a: Any, z: Any) -> Array:
    """log(gammaincc(a, z)); where this underflows by the continued fraction of NIST DLMF 8.9.2, from its end."""
    q, p = gammaincc(a, z), gammainc(a, z)
    far = (q < _TINY) & (z > a) & (z < np.inf)
    u, v = where(far, a, 1.0), where(far, z, 100.0)
    below = v + 61 - u
    for n in range(30, 0, -1):
        below = v + (2 * n - 1) - u + n * (u - n) / below
    tail = u * log(v) - v - gammaln(u) - log(below)
    return where(far, tail, _log_of_part(where(far, 0.5, q), where(far, 0.5, p)))


def _log_lower_gamma(a: Any, z: Any) -> Array:
    """log(gammainc(a, z)); where this underflows by the series of NIST DLMF 8.7.1, from its end."""
    q, p = gammaincc(a, z), gammainc(a, z)
    far = (p < _TINY) & (z < a) & (z > 0)
    u, v = where(far, a, 2.0), where(far, z, 1.0)
    total: Any = 1.0
    for n in range(60, 0, -1):
        total = 1 + total * v / (u + n)
    tail = u * log(v) - v - gammaln(u + 1) + log(total)
    return where(far, tail, _log_of_part(where(far, 0.5, p), where(far, 0.5, q)))


def _log_of_part(part: Any, rest: Any) -> Array:
    small = part < 0.5
    return where(small, log(where(small, part, 0.5)), log1p(-where(small, 0.5, rest)))


# Above the smallest normal number of float32; smaller probabilities are computed as logarithms.
_TINY = 1e-36


def _upper_gennorm(z: Any, beta: Any) -> Array:
    """At z = 0 use the tangent, since the derivative of the incomplete gamma function is infinite there."""
    middle = z == 0
    tail = 0.5 * gammaincc(1 / beta, power(absolute(where(middle, 1.0, z)), beta))
    tangent = 0.5 - 0.5 * z * beta * exp(-gammaln(1 / beta))
    return where(middle, tangent, where(z > 0, tail, 1 - tail))


def _log_upper_gennorm(z: Any, beta: Any) -> Array:
    """Above 1 by the logarithm of the incomplete gamma function, which may underflow."""
    far = z > 1
    tail = _log_upper_gamma(1 / beta, power(where(far, z, 2.0), beta)) - _log(2)
    part, rest = (_upper_gennorm(where(far, 0.0, side), beta) for side in (z, -z))
    return where(far, tail, _log_of_part(part, rest))


def _laplace_upper(z: Any) -> Array:
    tail = 0.5 * exp(-absolute(z))
    return where(z >= 0, tail, 1 - tail)


def _laplace_log_upper(z: Any) -> Array:
    tail = 0.5 * exp(-absolute(z))
    return where(z >= 0, -z - _log(2), log1p(-tail))


def _laplace_quantile(q: Any) -> Array:
    return where(q < 0.5, log(2 * where(q < 0.5, q, 0.5)), -log(2 * where(q < 0.5, 0.5, 1 - q)))


def _cauchy_quantile(q: Any) -> Array:
    """tan(pi (q - 1 / 2)), accurate near 0 and 1."""
    low, high = q < 0.25, q > 0.75
    tail = absolute(where(low, q, where(high, 1 - q, 0.25)))
    return where(low | high, where(low, -1.0, 1.0) / tan(pi * tail), tan(pi * (where(low | high, 0.5, q) - 0.5)))


def _gumbel_logpdf(z: Any) -> Array:
    """z - exp(z), which is -inf at infinity; the derivative is 0 where the exponential overflows."""
    far = exp(z) == np.inf
    return where(z == np.inf, np.nan, where(far, -np.inf, z - exp(where(far, 0.0, z))))


def _gumbel_rate(z: Any) -> Array:
    """exp(z), limited so that exp(-exp(z)) is not 0 in every dtype."""
    return exp(minimum(z, 7.0))


def _gumbel_log_tail(z: Any) -> Array:
    """log(1 - exp(-exp(z))), which is close to z far below zero, and to -exp(-exp(z)) far above."""
    u = _gumbel_rate(z)
    small, large = u < 1e-5, u > _log(2)
    middle = log(but_decayed(where(small | large, 0.5, u)))
    return where(small, z - 0.5 * u, where(large, log1p(-exp(-where(large, u, 1.0))), middle))


@custom_jvp
def _logistic_logpdf(z: Any) -> Array:
    """-abs(z) - 2 log(1 + exp(-abs(z))), with a derivative without the cancellation of both terms at zero."""
    return -absolute(z) - 2 * softplus(-absolute(z))


_logistic_logpdf.defjvps(lambda t, out, z: -t * tanh(0.5 * z))


def _t_logpdf(z: Any, df: Any) -> Array:
    """For infinitely many degrees of freedom this is the density of the normal distribution."""
    many = df == np.inf
    df = where(many, 1.0, df)
    # Far out z**2 / df is split, as derivatives by df divide by its square.
    far = absolute(z) > 1e10 * sqrt(df)
    power_far = 2 * log(absolute(where(far, z, 1.0))) - log(where(far, df, 1.0))
    log_power = where(far, power_far, _log1p_square(where(far, 0.0, z) / sqrt(df)))
    out = -betaln(df / 2, 0.5) - 0.5 * log(df) - (df + 1) / 2 * log_power
    return where(many, -0.5 * z * z - _HALF_LOG_TWO_PI, out)


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
    sf=lambda z: 1 - z,
    ppf=lambda q: q,
    isf=lambda q: 1 - q,
    support=lambda: (0.0, 1.0),
)

expon = Continuous(
    "expon",
    logpdf=lambda z: -z,
    cdf=but_decayed,
    sf=lambda z: exp(-z),
    logsf=lambda z: -z,
    ppf=lambda q: -log1p(-q),
    isf=lambda q: -log(q),
    support=_above_zero,
)

gamma = Continuous(
    "gamma",
    "a",
    logpdf=_gamma_logpdf,
    cdf=lambda z, a: gammainc(a, z),
    sf=lambda z, a: gammaincc(a, z),
    logcdf=lambda z, a: _log_lower_gamma(a, z),
    logsf=lambda z, a: _log_upper_gamma(a, z),
    support=_above_zero,
)

chi2 = Continuous(
    "chi2",
    "df",
    logpdf=lambda z, df: _gamma_logpdf(z / 2, df / 2) - _log(2),
    cdf=lambda z, df: gammainc(df / 2, z / 2),
    sf=lambda z, df: gammaincc(df / 2, z / 2),
    logcdf=lambda z, df: _log_lower_gamma(df / 2, z / 2),
    logsf=lambda z, df: _log_upper_gamma(df / 2, z / 2),
    support=_above_zero,
)

beta = Continuous(
    "beta",
    "a b",
    logpdf=lambda z, a, b: (
        _log_power(z, a - 1) + _log_power(1 - z, b - 1, xlog1py(b - 1, -where(z == 1, 0, z))) - betaln(a, b)
    ),
    cdf=lambda z, a, b: betainc(a, b, z),
    sf=lambda z, a, b: betainc(b, a, 1 - z),
    support=lambda a, b: (0.0, 1.0),
)

cauchy = Continuous(
    "cauchy",
    logpdf=lambda z: -_log(pi) - _log1p_square(z),
    cdf=lambda z: arctan2(1.0, -z) / pi,
    sf=lambda z: arctan2(1.0, z) / pi,
    ppf=_cauchy_quantile,
    isf=lambda q: -_cauchy_quantile(q),
)

laplace = Continuous(
    "laplace",
    logpdf=lambda z: -absolute(z) - _log(2),
    cdf=lambda z: _laplace_upper(-z),
    sf=_laplace_upper,
    logcdf=lambda z: _laplace_log_upper(-z),
    logsf=_laplace_log_upper,
    ppf=_laplace_quantile,
    isf=lambda q: -_laplace_quantile(q),
)

logistic = Continuous(
    "logistic",
    probability="x",
    logpdf=_logistic_logpdf,
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
    cdf=lambda z, b: but_decayed(b * log(z)),
    sf=lambda z, b: exp(-b * log(z)),
    logsf=lambda z, b: -b * log(z),
    ppf=lambda q, b: exp(-log1p(-q) / b),
    isf=lambda q, b: exp(-log(q) / b),
    support=lambda b: (1.0, np.inf),
)

t = Continuous(
    "t",
    "df",
    logpdf=_t_logpdf,
)

gennorm = Continuous(
    "gennorm",
    "beta",
    logpdf=lambda z, beta: log(beta / 2) - gammaln(1 / beta) - power(absolute(z), beta),
    cdf=lambda z, beta: _upper_gennorm(-z, beta),
    sf=lambda z, beta: _upper_gennorm(z, beta),
    logcdf=lambda z, beta: _log_upper_gennorm(-z, beta),
    logsf=lambda z, beta: _log_upper_gennorm(z, beta),
)

gumbel_r = Continuous(
    "gumbel_r",
    probability="p",
    logpdf=lambda z: _gumbel_logpdf(-z),
    cdf=lambda z: exp(-_gumbel_rate(-z)),
    sf=lambda z: but_decayed(_gumbel_rate(-z)),
    logcdf=lambda z: -exp(-z),
    logsf=lambda z: _gumbel_log_tail(-z),
    ppf=lambda q: -log(-log(q)),
    isf=lambda q: -log(-log1p(-q)),
)

gumbel_l = Continuous(
    "gumbel_l",
    probability="p",
    logpdf=_gumbel_logpdf,
    cdf=lambda z: but_decayed(_gumbel_rate(z)),
    sf=lambda z: exp(-_gumbel_rate(z)),
    logcdf=_gumbel_log_tail,
    logsf=lambda z: -exp(z),
    ppf=lambda q: log(-log1p(-q)),
    isf=lambda q: log(-log(q)),
)
