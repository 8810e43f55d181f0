"""Approximate samplers without loops."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import among
from primax.numpy.promotion import broadcast_to_shape, cast
from primax.numpy.ranges import counted
from primax.numpy.reductions import sum as reduce_sum
from primax.numpy.selection import where
from primax.numpy.shaping import reshaped
from primax.plugins.arithmetic import abs_p, max_p
from primax.plugins.exponential import exp_p, log_p, rsqrt_p, sqrt_p
from primax.plugins.random.keys import random_split
from primax.plugins.random.numbers import exponential_numbers, normal_numbers, sampler
from primax.plugins.rounding import ceil_p
from primax.plugins.special import erf_p, erfc_p

# The cube root of a gamma variable is nearly normal (E. B. Wilson and M. M. Hilferty, "The distribution of chi-square",
# 1931). Its series in the normal variable has these coefficients, each a polynomial in 1 / (2 a), lowest first.
_CUBE_ROOT = (
    (1.0, -0.2237368, -0.01513904),
    (0.4713941, 0.02607083, -0.008986007),
    (0.0001348028, 0.01128186, 0.02277679),
    (-0.008553069, -0.01153761, -0.01323293),
    (0.00312558, 0.005169654, -0.006950356),
    (-0.0008426812, 0.00253001, 0.001060438),
    (9.780499e-05, -0.001450117, 0.001565326),
)
_STEPS = 4  # the number of steps by which the parameter is raised first


def check_method(function: str, method: Any) -> bool:
    """Whether the method is "approximate".

    Raises:
      ValueError: `method` is neither "exact" nor "approximate".
    """
    if not among(method, ("exact", "approximate")):
        raise ValueError(f'{function}: method must be "exact" or "approximate", got {method!r}')
    return bool(method == "approximate")


def _horner(x: Any, coefficients: Any) -> Array:
    total = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total


@sampler
def gamma_numbers(key: Any, a: Any, shape: tuple[int, ...], dtype: Any, log_space: bool) -> Array:
    """Gamma variables, or their logarithms: those for a + 4, times powers of uniform numbers."""
    working = np.dtype(np.float32) if dtypes.itemsize_bits(dtype) < 32 else dtype
    a = broadcast_to_shape(cast(a, working), shape)
    first, second = random_split(key, (2,))
    raised = a + float(_STEPS)
    doubled = 2.0 * raised
    z = normal_numbers(first, shape, working) * rsqrt_p.bind(doubled, accuracy=None)
    root = _horner(z, [_horner(1.0 / doubled, row) for row in _CUBE_ROOT])
    least = working.type(dtypes.finfo(working).tiny)
    logarithm = log_p.bind(raised, accuracy=None) + 3.0 * log_p.bind(
        max_p.bind(root, broadcast_to_shape(least, shape)), accuracy=None
    )
    steps = reshaped(counted(_STEPS, 0, 1, working), (_STEPS, *(1,) * len(shape)))
    waits = exponential_numbers(second, (_STEPS, *shape), working)
    logarithm = logarithm + reduce_sum(-waits / (reshaped(a, (1, *shape)) + steps), 0)
    return cast(logarithm if log_space else exp_p.bind(logarithm, accuracy=None), dtype)


def _normal_cdf(z: Any) -> Array:
    """The distribution function of the normal distribution, accurate in both tails."""
    x = z * sqrt(0.5)
    size = abs_p.bind(x)
    tail = erfc_p.bind(size)
    return 0.5 * where(size < sqrt(0.5), 1.0 + erf_p.bind(x), where(x > 0.0, 2.0 - tail, tail))


def _by_counting(z: Any, mean: Any) -> Array:
    """For small means: the number of cumulative probabilities that the normal variable exceeds."""
    level = _normal_cdf(z)
    term = total = exp_p.bind(-mean, accuracy=None)
    count = cast(total < level, z.dtype)
    for k in range(1, 19):
        term = term * (mean / float(k))
        total = total + term
        count = count + cast(total < level, z.dtype)
    return count


def _normal_quantile(k: Any, mean: Any) -> Array:
    """The normal quantile of the probability that the count is at most k.

    Source: D. B. Peizer and J. W. Pratt, "A normal approximation for binomial, F, beta, and other common, related tail
    probabilities, I" (1968).
    """
    below = k < 0.0
    k = max_p.bind(k, broadcast_to_shape(k.dtype.type(0), k.shape))
    ratio = (k + 0.5) / mean
    away = ratio - 1.0
    near = abs_p.bind(away) < 0.25
    # (1 - r**2 + 2 r log(r)) / (1 - r)**2, by its series near 1
    series: Any = 0.0
    for n in range(10, 1, -1):
        series = (-1.0) ** (n - 1) * 2 / (n * (n + 1)) + away * series
    series = series * away
    r, d = where(near, 2.0, ratio), where(near, 1.0, away)
    direct = (1.0 - r * r + 2.0 * r * log_p.bind(r, accuracy=None)) / (d * d)
    spread = sqrt_p.bind((1.0 + where(near, series, direct)) / mean, accuracy=None)
    return where(below, -np.inf, (k - mean + 2 / 3 + 0.02 / (k + 1.0)) * spread)


def _by_quantiles(z: Any, mean: Any) -> Array:
    """For large means: the expansion of E. A. Cornish and R. A. Fisher (1938), corrected by two steps."""
    root = sqrt_p.bind(mean, accuracy=None)
    square = z * z
    start = mean + root * z - 2 / 3 + square / 6.0 + z * (1.0 - square) / (72.0 * root) + 0.6
    start = ceil_p.bind(start)
    count = start + 1.0
    for k in (start, start - 1.0):
        count = count - cast(_normal_quantile(k, mean) >= z, z.dtype)
    return max_p.bind(count, broadcast_to_shape(count.dtype.type(0), count.shape))


@sampler
def poisson_numbers(key: Any, mean: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """Poisson variables."""
    wide = dtypes.itemsize_bits(dtype) == 64 or get_aval(mean).dtype == np.float64
    working = np.dtype(np.float64 if wide else np.float32)
    mean = broadcast_to_shape(cast(mean, working), shape)
    z = normal_numbers(key, shape, working)
    return cast(where(mean < 7.0, _by_counting(z, mean), _by_quantiles(z, mean)), dtype)
