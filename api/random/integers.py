"""Random integers, booleans and signs."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, config, get_aval
from primax.extend.provisional.arguments import among
from primax.extend.provisional.typing import ArrayLike, DTypeLike, KeyLike, ShapeLike, ShardingLike
from primax.numpy.conversion import read_shape
from primax.numpy.promotion import aval_of, broadcast_to_shape, cast
from primax.numpy.selection import where
from primax.plugins.arithmetic import clamp_p, div_p, rem_p
from primax.plugins.comparison import gt_p
from primax.plugins.random.arguments import check_key
from primax.plugins.random.keys import random_bits, random_split
from primax.plugins.random.numbers import sampler, unit
from primax.plugins.resharding import divided_call, resharded
from primax.random.parameters import broadcast_to, common_shape, integer_dtype, parameter_shape

__all__ = ["bernoulli", "rademacher", "randint"]

_INT32 = np.dtype(np.int32)


@sampler
def integers_between(key: Any, minval: Any, maxval: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """Integers of 32 or 64 bits: two draws form a number of twice as many bits, which is reduced modulo the length."""
    lowest, highest = dtypes.iinfo(dtype).min, dtypes.iinfo(dtype).max
    unsigned = np.dtype(f"uint{dtype.itemsize * 8}")
    beyond = _exceeds(maxval, highest)
    low, high = (_saturated(x, lowest, highest, dtype) for x in (minval, maxval))
    some = high > low
    length = where(some, cast(high - low, unsigned), unsigned.type(1))
    # If the upper bound exceeds the dtype by one, the length is 2**bits, which wraps to 0; `remainder` accepts 0.
    length = where(beyond & some, length + unsigned.type(1), length)
    length = broadcast_to_shape(length, (*(1,) * (len(shape) - len(length.shape)), *length.shape))
    base = rem_p.bind(unsigned.type(2 ** (dtype.itemsize * 4)), length)
    base = rem_p.bind(base * base, length)
    upper, lower = (remainder(random_bits(part, dtype.itemsize * 8, shape), length) for part in random_split(key, (2,)))
    return low + cast(remainder(upper * base + lower, length), dtype)


def remainder(x: Any, length: Any) -> Array:
    """Unsigned integers modulo a length; x for length 0.

    Integers of 32 bits are divided as floats of 64 bits, whose quotients are never rounded up to the next integer. CPUs
    have no vector division of integers, and XLA would fuse the mixing of bits into the same scalar loop.
    """
    length = broadcast_to_shape(length, get_aval(x).shape)
    if get_aval(x).dtype != np.uint32:
        return rem_p.bind(x, length)
    with config.enable_x64(True):
        quotient = cast(div_p.bind(*(cast(n, np.dtype(np.float64)) for n in (x, length))), np.dtype(np.uint32))
    return where(length == np.uint32(0), x, x - quotient * length)


def _bounds(dtype: Any, lowest: int, highest: int) -> tuple[Any, Any]:
    """The numbers of a dtype that are nearest to two bounds."""
    info = dtypes.iinfo(dtype)
    return dtype.type(max(lowest, int(info.min))), dtype.type(min(highest, int(info.max)))


def _exceeds(x: Any, highest: int) -> Array:
    dtype = get_aval(x).dtype
    return gt_p.bind(x, _bounds(dtype, 0, highest)[1])


def _saturated(x: Any, lowest: int, highest: int, dtype: Any) -> Array:
    """Clip a number to two bounds, and convert it to a dtype."""
    low, high = _bounds(get_aval(x).dtype, lowest, highest)
    return cast(clamp_p.bind(low, x, high), dtype)


@sampler
def _small_integers(key: Any, minval: Any, maxval: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """Integers of a dtype that is too narrow for intermediate results."""
    lowest, highest = int(dtypes.iinfo(dtype).min), int(dtypes.iinfo(dtype).max)
    low, high = (_saturated(x, lowest, end, _INT32) for x, end in ((minval, highest), (maxval, highest + 1)))
    return cast(integers_between(key, low, high, shape, _INT32), dtype)


def randint(
    key: KeyLike,
    shape: ShapeLike,
    minval: ArrayLike,
    maxval: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draw integers uniformly from [minval, maxval).

    Bounds outside of the dtype's range are clipped; `maxval` may be the largest number plus 1. If `maxval` is not above
    `minval`, the result is `minval`.

    Args:
      key: a random key.
      shape: the shape of the result.
      minval: the smallest number; broadcast to `shape`.
      maxval: the upper bound, excluded; broadcast to `shape`.
      dtype: the dtype of the result, an integer dtype; the default one if None.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError: `key` is not a key, `shape` is not a shape, `dtype` is not an integer dtype, or a bound is not a real
        number.
      ValueError: `key` is an array of keys, or a bound does not broadcast to `shape`.

    >>> import primax as px
    >>> px.random.randint(px.random.key(0), (3,), 0, 100).tolist()
    [89, 0, 12]
    """
    if out_sharding is not None:
        return divided_call(randint, (key, shape, minval, maxval, dtype), {}, out_sharding)
    key, shape = check_key(key, "randint"), read_shape(shape, "randint")
    dtype = integer_dtype("randint", dtype, TypeError)
    ends = {name: parameter_shape("randint", x, name) for name, x in (("minval", minval), ("maxval", maxval))}
    broadcast_to("randint", shape, ends)
    minval, maxval = (_as_integer(x) for x in (minval, maxval))
    draw = integers_between if dtypes.itemsize_bits(dtype) >= 32 else _small_integers
    return draw(key, minval, maxval, shape, dtype)


def _as_integer(x: Any) -> Any:
    return x if dtypes.is_integer(get_aval(x).dtype) else cast(x, dtypes.default_int_dtype())


@sampler
def truths(key: Any, p: Any, shape: tuple[int, ...], dtype: Any, precise: bool) -> Array:
    """True with probability p, to the precision of a dtype, or with twice as many bits if `precise`."""
    p = cast(p, dtype)
    if not precise:
        return unit(key, shape, dtype) < broadcast_to_shape(p, shape)
    upper, lower = unit(key, (2, *shape), dtype)
    return lower * 2.0 ** -dtypes.finfo(dtype).nmant < broadcast_to_shape(p, shape) - upper


def bernoulli(
    key: KeyLike,
    p: ArrayLike = 0.5,
    shape: ShapeLike | None = None,
    mode: str = "low",
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draw booleans that are True with probability p.

    Args:
      key: a random key.
      p: the probability of True, a float or an array of a float dtype.
      shape: the shape of the result; that of `p` if None.
      mode: "low", or "high" to draw twice as many bits, so that small probabilities are precise.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError: `key` is not a key, `shape` is not a shape, or `p` does not have a float dtype.
      ValueError: `key` is an array of keys, `p` does not broadcast to `shape`, or `mode` is unknown.

    >>> import primax as px
    >>> px.random.bernoulli(px.random.key(0), 0.25, (4,)).tolist()
    [False, False, False, False]
    """
    if out_sharding is not None:
        return resharded("bernoulli", bernoulli(key, p, shape, mode), out_sharding)
    key = check_key(key, "bernoulli")
    aval = aval_of("bernoulli", p, "p")
    if not dtypes.is_floating(aval.dtype):
        raise TypeError(f"bernoulli: p must be of a float dtype, got {aval.str_short()}")
    if not among(mode, ("high", "low")):
        raise ValueError(f"bernoulli: mode must be 'high' or 'low', got {mode!r}")
    return truths(key, p, common_shape("bernoulli", shape, p=p), aval.dtype, mode == "high")


@sampler
def signs(key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """The numbers 1 and -1."""
    positive = unit(key, shape, dtypes.default_float_dtype()) < 0.5
    return cast(where(positive, np.int8(1), np.int8(-1)), dtype)


def rademacher(
    key: KeyLike, shape: ShapeLike = (), dtype: DTypeLike | None = None, *, out_sharding: ShardingLike | None = None
) -> Array:
    """Draw the numbers 1 and -1 with equal probability.

    Args:
      key: a random key.
      shape: the shape of the result.
      dtype: a dtype of signed numbers; the default integer dtype if None.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError: `key` is not a key, `shape` is not a shape, or `dtype` is not a dtype of signed numbers.
      ValueError: `key` is an array of keys.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> pnp.unique(px.random.rademacher(px.random.key(0), (100,)))
      Array([-1,  1], dtype=int32)
    """
    if out_sharding is not None:
        return divided_call(rademacher, (key, shape, dtype), {}, out_sharding)
    key, shape = check_key(key, "rademacher"), read_shape(shape, "rademacher")
    if dtype is None:
        dtype = dtypes.default_int_dtype()
    else:
        dtype = dtypes.check_user_dtype(dtype, "dtype", "rademacher")
        if not dtypes.is_numeric(dtype) or dtypes.is_unsigned_integer(dtype):
            raise TypeError(f"rademacher: dtype must be one of signed numbers, got {dtype}")
    return signs(key, shape, dtype)
