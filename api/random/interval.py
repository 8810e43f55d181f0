"""Uniform numbers from an interval, on which all other distributions are based."""

from __future__ import annotations

import math
from typing import Any

from primax.extend.core import Array
from primax.extend.provisional.typing import ArrayLike, DTypeLike, KeyLike, ShapeLike, ShardingLike
from primax.numpy.conversion import read_shape
from primax.numpy.promotion import broadcast, cast
from primax.numpy.shaping import reshaped
from primax.plugins.arithmetic import max_p
from primax.plugins.random.arguments import check_key
from primax.plugins.random.numbers import sampler, unit
from primax.plugins.resharding import resharded
from primax.random.parameters import broadcast_to, float_dtype, parameter_shape

__all__ = ["uniform"]


def between(key: Any, low: Any, high: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """Numbers in [low, high); the bounds have the dtype; rounding gives no number below `low`."""
    numbers = unit(key, shape, dtype) * (high - low) + low
    return max_p.bind(*broadcast("uniform", [low, numbers]))


@sampler
def _uniform(key: Any, minval: Any, maxval: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    return between(key, cast(minval, dtype), cast(maxval, dtype), shape, dtype)


def uniform(
    key: KeyLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    minval: ArrayLike = 0.0,
    maxval: ArrayLike = 1.0,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draw numbers uniformly from [minval, maxval).

    Args:
      key: a random key.
      shape: the shape of the result.
      dtype: a float dtype; the default one if None.
      minval: the lower bound, included; broadcast to `shape`.
      maxval: the upper bound, excluded except for rounding; broadcast to `shape`. With the shape () both
        bounds may be arrays of one element; the result has the shape of `minval`.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError: `key` is not a key, `shape` is not a shape, or a bound is not a real array or number.
      ValueError: `key` is an array of keys, `dtype` is not a float dtype, or a bound does not broadcast to `shape`.

    >>> import primax as px
    >>> px.random.uniform(px.random.key(0), (2,), minval=-1.0)
    Array([0.895334  , 0.95715976], dtype=float32)
    """
    if out_sharding is not None:
        return resharded("uniform", uniform(key, shape, dtype, minval, maxval), out_sharding)
    key, shape, dtype = check_key(key, "uniform"), read_shape(shape, "uniform"), float_dtype("uniform", dtype)
    if type(minval) is float and type(maxval) is float and minval == 0.0 and maxval == 1.0:
        return unit(key, shape, dtype)
    ends = {name: parameter_shape("uniform", x, name) for name, x in (("minval", minval), ("maxval", maxval))}
    if not shape and any(ends.values()) and all(math.prod(end) == 1 for end in ends.values()):
        return reshaped(_uniform(key, minval, maxval, shape, dtype), ends["minval"])
    broadcast_to("uniform", shape, ends)
    return _uniform(key, minval, maxval, shape, dtype)
