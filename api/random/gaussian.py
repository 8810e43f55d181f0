"""The normal distribution, and distributions derived from it."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from primax.extend.core import Array
from primax.numpy.creation import read_shape
from primax.numpy.promotion import broadcast, cast
from primax.numpy.reductions import sum as reduce_sum
from primax.numpy.selection import where
from primax.plugins.arithmetic import max_p, min_p
from primax.plugins.exponential import exp_p, sqrt_p
from primax.plugins.random.arguments import check_key
from primax.plugins.random.keys import random_split
from primax.plugins.random.numbers import normal_numbers, probit, sampler, unit
from primax.plugins.resharding import divided_call, resharded
from primax.plugins.rounding import nextafter_p
from primax.plugins.special import erf_p
from primax.plugins.structural import stop_gradient
from primax.random.integers import signs
from primax.random.interval import between
from primax.random.parameters import common_shape, drawn, float_dtype, inexact_dtype

__all__ = [
    "double_sided_maxwell",
    "lognormal",
    "maxwell",
    "normal",
    "truncated_normal",
    "wald",
]


def normal(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Draw from the standard normal distribution.

    Args:
      key: a random key.
      shape: the shape of the result.
      dtype: a float or complex dtype; the default float dtype if None. The parts of complex numbers are independent and
        have variance 1/2.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError: `key` is not a key, or `shape` is not a shape.
      ValueError: `key` is an array of keys, or `dtype` is of another kind.

    >>> import primax as px
    >>> px.random.normal(px.random.key(0), (2,))
    Array([1.6226422, 2.0252647], dtype=float32)
    """
    if out_sharding is not None:
        return resharded("normal", normal(key, shape, dtype), out_sharding)
    return normal_numbers(check_key(key, "normal"), read_shape(shape, "normal"), inexact_dtype("normal", dtype))


@sampler
def _truncated_normal(key: Any, lower: Any, upper: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    lower, upper = cast(lower, dtype), cast(upper, dtype)
    low, high = (erf_p.bind(x / dtype.type(sqrt(2))) for x in (lower, upper))
    numbers = probit(between(key, low, high, shape, dtype))
    # Both ends are left out, and rounding does not reach them.
    above = nextafter_p.bind(stop_gradient(lower), dtype.type(np.inf))
    below = nextafter_p.bind(stop_gradient(upper), dtype.type(-np.inf))
    numbers = max_p.bind(*broadcast("truncated_normal", [above, numbers]))
    return min_p.bind(*broadcast("truncated_normal", [below, numbers]))


def truncated_normal(
    key: Any, lower: Any, upper: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Array:
    """Draw from the standard normal distribution truncated to an interval.

    Args:
      key: a random key.
      lower: the lower bound of the interval.
      upper: the upper bound of the interval.
      shape: the shape of the result; that to which the bounds broadcast if None.
      dtype: a float dtype; the default one if None.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError: `key` is not a key, `shape` is not a shape, or a bound is not a real array or number.
      ValueError: `key` is an array of keys, `dtype` is not a float dtype, or the bounds do not broadcast to `shape`.
    """
    if out_sharding is not None:
        return divided_call(truncated_normal, (key, lower, upper, shape, dtype), {}, out_sharding)
    key, dtype = check_key(key, "truncated_normal"), float_dtype("truncated_normal", dtype)
    shape = common_shape("truncated_normal", shape, lower=lower, upper=upper)
    return _truncated_normal(key, lower, upper, shape, dtype)


@sampler
def _lognormal(key: Any, sigma: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    return exp_p.bind(normal_numbers(key, shape, dtype) * cast(sigma, dtype))


def lognormal(key: Any, sigma: Any = 1.0, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Draw numbers whose logarithms are normally distributed with mean 0.

    Args:
      key: a random key.
      sigma: the standard deviation of the logarithms, a number or an array.
      shape: the shape of the result; that of `sigma` if None.
      dtype: a float or complex dtype; the default float dtype if None.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError, ValueError: as for `truncated_normal`.
    """
    if out_sharding is not None:
        return divided_call(lognormal, (key, sigma, shape, dtype), {}, out_sharding)
    key, dtype = check_key(key, "lognormal"), inexact_dtype("lognormal", dtype)
    return _lognormal(key, sigma, common_shape("lognormal", shape, sigma=sigma), dtype)


@sampler
def _maxwell(key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    vectors = normal_numbers(key, (*shape, 3), dtype)
    return sqrt_p.bind(reduce_sum(vectors * vectors, -1))


def maxwell(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Draw from the Maxwell distribution: norms of vectors of three normal numbers.

    The arguments are those of `normal`; `dtype` must be a float dtype.
    """
    if out_sharding is not None:
        return divided_call(maxwell, (key, shape, dtype), {}, out_sharding)
    return _maxwell(*drawn("maxwell", key, shape, dtype))


@sampler
def _double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    first, second = random_split(key, (2,))
    numbers = signs(second, shape, dtype) * _maxwell(first, shape, dtype)
    return numbers * cast(scale, dtype) + cast(loc, dtype)


def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Any = (), dtype: Any = None) -> Array:
    """Draw from the Maxwell distribution and its mirror image, scaled and shifted.

    Args:
      key: a random key.
      loc: the center.
      scale: the factor.
      shape: the leading axes of the result, before the shape to which the parameters broadcast. If it is empty, that
        shape is repeated, as in JAX.
      dtype: a float dtype; the default one if None.

    Raises:
      TypeError, ValueError: as for `truncated_normal`.
    """
    key, dtype = check_key(key, "double_sided_maxwell"), float_dtype("double_sided_maxwell", dtype)
    of_parameters = common_shape("double_sided_maxwell", None, loc=loc, scale=scale)
    shape = (*(read_shape(shape, "double_sided_maxwell") or of_parameters), *of_parameters)
    return _double_sided_maxwell(key, loc, scale, shape, dtype)


@sampler
def _wald(key: Any, mean: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """The transformation with two roots of J. Michael, W. Schucany and R. Haas (1976), for unit scale."""
    first, second = random_split(key, (2,))
    mean = cast(mean, dtype)
    square = normal_numbers(first, shape, dtype) ** 2
    u = unit(second, shape, dtype)
    root = sqrt_p.bind(4.0 * mean * square + mean**2 * square**2)
    smaller = mean + mean**2 * square / 2.0 - mean / 2.0 * root
    return where(u <= mean / (mean + smaller), smaller, mean**2 / smaller)


def wald(key: Any, mean: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Draw from the Wald (inverse Gaussian) distribution of scale 1.

    Args:
      key: a random key.
      mean: the mean.
      shape: the shape of the result; that of `mean` if None.
      dtype: a float dtype; the default one if None.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError, ValueError: as for `truncated_normal`.
    """
    if out_sharding is not None:
        return divided_call(wald, (key, mean, shape, dtype), {}, out_sharding)
    key, dtype = check_key(key, "wald"), float_dtype("wald", dtype)
    return _wald(key, mean, common_shape("wald", shape, mean=mean), dtype)
