"""The normal distribution, and distributions derived from it."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from primax.extend.core import Array, get_aval
from primax.extend.provisional.typing import ArrayLike, DTypeLike, KeyLike, ShapeLike, ShardingLike
from primax.numpy.conversion import read_shape
from primax.numpy.promotion import broadcast, cast
from primax.numpy.reductions import is_half
from primax.numpy.reductions import sum as reduce_sum
from primax.numpy.selection import where
from primax.plugins.arithmetic import max_p, min_p
from primax.plugins.custom_derivatives import custom_jvp
from primax.plugins.exponential import exp_p, expm1_p, log1p_p, log_p, sqrt_p
from primax.plugins.random.arguments import check_key
from primax.plugins.random.keys import random_split
from primax.plugins.random.numbers import normal_numbers, probit, sampler, unit
from primax.plugins.resharding import divided_call, resharded
from primax.plugins.rounding import nextafter_p
from primax.plugins.special import erf_p
from primax.plugins.structural import stop_gradient
from primax.random.integers import signs
from primax.random.parameters import common_shape, drawn, float_dtype, inexact_dtype

__all__ = [
    "double_sided_maxwell",
    "lognormal",
    "maxwell",
    "normal",
    "truncated_normal",
    "wald",
]


def normal(
    key: KeyLike, shape: ShapeLike = (), dtype: DTypeLike | None = None, *, out_sharding: ShardingLike | None = None
) -> Array:
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


# From here on the error function is too close to 1 for its inverse; another method computes the tail.
_TAIL = 2.0


def _mills_ratio(x: Any) -> Array:
    """The upper tail of the normal distribution divided by its density, for x from 2 on; NIST DLMF 7.9.1."""
    below = x
    for k in range(30 if get_aval(x).dtype == np.float64 else 14, 0, -1):
        below = x + k / below
    return 1 / below


@custom_jvp
def _tail_number(u: Any, low: Any, high: Any) -> Array:
    """The quantile of u of the normal distribution truncated to [low, high], for low >= 2.

    Newton's method finds its distance from `low` by the logarithm of the tail.
    """
    ratio = _mills_ratio(low)
    both = -0.5 * (high - low) * (high + low) + log_p.bind(_mills_ratio(high) / ratio, accuracy=None)
    goal = log1p_p.bind(u * expm1_p.bind(both, accuracy=None), accuracy=None)
    distance = -2 * goal / low / (1 + sqrt_p.bind(1 - 2 * goal / low / low, accuracy=None))
    for _ in range(3):
        own = _mills_ratio(low + distance)
        value = -0.5 * distance * (low + (low + distance)) + log_p.bind(own / ratio, accuracy=None)
        distance = distance + (value - goal) * own
    return low + distance


@_tail_number.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (u, low, high), (_, dlow, dhigh) = primals, tangents
    x = _tail_number(u, low, high)
    by_low = (1 - u) * exp_p.bind(0.5 * (x - low) * (x + low), accuracy=None)
    by_high = u * exp_p.bind(-0.5 * (high - x) * (high + x), accuracy=None)
    return x, by_low * dlow + by_high * dhigh


@sampler
def _truncated_normal(key: Any, lower: Any, upper: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    lower, upper = cast(lower, dtype), cast(upper, dtype)
    wide = np.dtype(np.float32) if is_half(dtype) else dtype
    u = cast(unit(key, shape, dtype), wide)
    u, low, high = broadcast("truncated_normal", [u, cast(lower, wide), cast(upper, wide)], scalars=False)
    right, left = low > _TAIL, high < -_TAIL
    far = right | left
    near_tail, far_tail = where(far, where(right, low, -high), _TAIL), where(far, where(right, high, -low), np.inf)
    tail = _tail_number(u, max_p.bind(near_tail, 0 * u + _TAIL), far_tail)
    # The error function may round to -1 or 1, whose inverse is infinite.
    one = wide.type(1)
    ends = [erf_p.bind(where(far, 0.0, x) / wide.type(sqrt(2))) for x in (low, high)]
    part = max_p.bind(ends[0], u * (ends[1] - ends[0]) + ends[0])
    inner = np.nextafter(one, -one)
    middle = probit(where(part >= 1, inner, where(part <= -1, -inner, part)))
    numbers = cast(where(right, tail, where(left, -tail, middle)), dtype)
    # The result excludes both bounds, even after rounding.
    above = nextafter_p.bind(stop_gradient(lower), dtype.type(np.inf))
    below = nextafter_p.bind(stop_gradient(upper), dtype.type(-np.inf))
    below = max_p.bind(*broadcast("truncated_normal", [below, stop_gradient(lower)]))  # if no number is inside
    numbers = max_p.bind(*broadcast("truncated_normal", [above, numbers]))
    return min_p.bind(*broadcast("truncated_normal", [below, numbers]))


def truncated_normal(
    key: KeyLike,
    lower: ArrayLike,
    upper: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
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

    Examples:
      >>> import primax as px
      >>> x = px.random.truncated_normal(px.random.key(0), 5.0, 6.0, (100,))  # far in the tail
      >>> x.min() >= 5, x.max() <= 6
      (Array(True, dtype=bool), Array(True, dtype=bool))
    """
    if out_sharding is not None:
        return divided_call(truncated_normal, (key, lower, upper, shape, dtype), {}, out_sharding)
    key, dtype = check_key(key, "truncated_normal"), float_dtype("truncated_normal", dtype)
    shape = common_shape("truncated_normal", shape, lower=lower, upper=upper)
    return _truncated_normal(key, lower, upper, shape, dtype)


@sampler
def _lognormal(key: Any, sigma: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    return exp_p.bind(normal_numbers(key, shape, dtype) * cast(sigma, dtype))


def lognormal(
    key: KeyLike,
    sigma: ArrayLike = 1.0,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draw numbers whose logarithms are normally distributed with mean 0.

    Args:
      key: a random key.
      sigma: the standard deviation of the logarithms, a number or an array.
      shape: the shape of the result; that of `sigma` if None.
      dtype: a float or complex dtype; the default float dtype if None.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError, ValueError: as for `truncated_normal`.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> x = pnp.log(px.random.lognormal(px.random.key(0), sigma=2.0, shape=(1000,)))
      >>> abs(x.std() - 2) < 0.2
      Array(True, dtype=bool)
    """
    if out_sharding is not None:
        return divided_call(lognormal, (key, sigma, shape, dtype), {}, out_sharding)
    key, dtype = check_key(key, "lognormal"), inexact_dtype("lognormal", dtype)
    return _lognormal(key, sigma, common_shape("lognormal", shape, sigma=sigma), dtype)


@sampler
def _maxwell(key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    vectors = normal_numbers(key, (*shape, 3), dtype)
    return sqrt_p.bind(reduce_sum(vectors * vectors, -1))


def maxwell(
    key: KeyLike, shape: ShapeLike = (), dtype: DTypeLike | None = None, *, out_sharding: ShardingLike | None = None
) -> Array:
    """Draw from the Maxwell distribution: norms of vectors of three normal numbers.

    The arguments are those of `normal`; `dtype` must be a float dtype.

    Examples:
      >>> import primax as px
      >>> px.random.maxwell(px.random.key(0), (100,)).min() > 0
      Array(True, dtype=bool)
    """
    if out_sharding is not None:
        return divided_call(maxwell, (key, shape, dtype), {}, out_sharding)
    return _maxwell(*drawn("maxwell", key, shape, dtype))


@sampler
def _double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    first, second = random_split(key, (2,))
    numbers = signs(second, shape, dtype) * _maxwell(first, shape, dtype)
    return numbers * cast(scale, dtype) + cast(loc, dtype)


def double_sided_maxwell(
    key: KeyLike, loc: ArrayLike, scale: ArrayLike, shape: ShapeLike = (), dtype: DTypeLike | None = None
) -> Array:
    """Draw from the Maxwell distribution and its mirror image, scaled and shifted.

    Args:
      key: a random key.
      loc: the center.
      scale: the factor.
      shape: the leading axes of the result, before the shape to which the parameters broadcast. If it is empty, the
        result has the latter shape twice, as in JAX.
      dtype: a float dtype; the default one if None.

    Raises:
      TypeError, ValueError: as for `truncated_normal`.

    Examples:
      >>> import primax as px
      >>> x = px.random.double_sided_maxwell(px.random.key(0), 5.0, 2.0, (100,))
      >>> x.min() < 5, x.max() > 5
      (Array(True, dtype=bool), Array(True, dtype=bool))
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


def wald(
    key: KeyLike,
    mean: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draw from the Wald (inverse Gaussian) distribution of scale 1.

    Args:
      key: a random key.
      mean: the mean.
      shape: the shape of the result; that of `mean` if None.
      dtype: a float dtype; the default one if None.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError, ValueError: as for `truncated_normal`.

    Examples:
      >>> import primax as px
      >>> px.random.wald(px.random.key(0), 2.0, (3,)).shape
      (3,)
    """
    if out_sharding is not None:
        return divided_call(wald, (key, mean, shape, dtype), {}, out_sharding)
    key, dtype = check_key(key, "wald"), float_dtype("wald", dtype)
    return _wald(key, mean, common_shape("wald", shape, mean=mean), dtype)
