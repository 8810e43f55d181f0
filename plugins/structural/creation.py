"""Arrays from a shape alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.interpreters import mlir
from primax.extend.provisional import runtime
from primax.extend.provisional.arguments import canonical_axis, canonical_shape, numpy_dtype, shape_or_size
from primax.extend.provisional.avals import ExtendedArray, array_of
from primax.extend.provisional.sharding import aval_sharding, match_placement, with_aval_sharding
from primax.extend.provisional.typing import ArrayLike, DTypeLike, Shape, ShapeLike, ShardingLike
from primax.extend.rule_types import Table
from primax.plugins.resharding import filled, place_of, placed, resharded
from primax.plugins.structural.conversion import convert, dtype_of, host_scalar
from primax.plugins.structural.shapes import broadcast_in_dim_p

iota_p = core.Primitive("iota")


def full(
    shape: ShapeLike, fill_value: ArrayLike, dtype: DTypeLike | None = None, *, sharding: ShardingLike | None = None
) -> Array:
    """An array of one value.

    Args:
      shape: its shape; an int for one axis.
      fill_value: a scalar.
      dtype: its dtype; by default that of `fill_value`.
      sharding: the sharding of the array.

    Raises:
      TypeError: `fill_value` is not a scalar, or `shape` is not a sequence of non-negative integers.

    >>> import primax as px
    >>> px.lax.full((2,), 7, "float32")
    Array([7., 7.], dtype=float32)
    """
    shape = shape_or_size(shape, "full")
    if dtype is not None:
        dtype = dtype_of(dtype, "full")
    out = _full("full", shape, fill_value, dtype, False)
    return out if sharding is None else placed("full", out, sharding)


def full_like(
    x: ArrayLike | core.ShapeDtypeStruct,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    sharding: ShardingLike | None = None,
) -> Array:
    """An array of one value, of the shape and dtype of another array.

    Args:
      x: an array, or an object with a shape and a dtype.
      fill_value: a scalar.
      dtype: the dtype of the result; by default that of `x`.
      shape: the shape of the result; by default that of `x`; an int for one axis.
      sharding: the sharding of the result; by default that of `x`, if it is a committed array of this shape outside of
        traces, and otherwise as types determine.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.full_like(np.array([1, 2]), 2.7), lax.full_like(np.array([1, 2]), 0, shape=(3,)).shape
      (Array([2, 2], dtype=int32), (3,))
    """
    aval = get_aval(x)
    weak = dtype is None and aval.weak_type
    shape = aval.shape if shape is None else shape_or_size(shape, "full_like")
    dtype = aval.dtype if dtype is None else dtype_of(dtype, "full_like")
    place = place_of(x, shape) if sharding is None else None
    if place is not None:
        return filled(place, shape, lambda part: _full("full_like", part, fill_value, dtype, weak))
    out = _full("full_like", shape, fill_value, dtype, weak)
    return match_placement(out, aval) if sharding is None else placed("full_like", out, sharding)


def empty(shape: ShapeLike, dtype: DTypeLike, *, out_sharding: ShardingLike | None = None) -> Array:
    """An array of unspecified values, which are zeros.

    Args:
      shape: a sequence of sizes, or one size.
      dtype: its dtype.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; by default as types determine.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.empty((2,), np.int8)
      Array([0, 0], dtype=int8)
    """
    out = full((shape,) if isinstance(shape, int) else shape, 0, dtype)
    return out if out_sharding is None else resharded("empty", out, out_sharding)


def shape_as_value(shape: Shape) -> Array:
    """A shape as an array of integers.

    Examples:
      >>> from primax import lax
      >>> lax.shape_as_value((2, 3)), lax.shape_as_value(())
      (Array([2, 3], dtype=int32), Array([], shape=(0,), dtype=int32))
    """
    sizes, dtype = canonical_shape(shape, "shape_as_value"), dtypes.default_int_dtype()
    try:
        return runtime.put_value(np.array(sizes, dtype))
    except OverflowError:
        raise OverflowError(f"shape_as_value: shape must consist of sizes that fit {dtype}, got {sizes}") from None


def zeros_like(x: ArrayLike | core.ShapeDtypeStruct) -> Array:
    """An array of zeros of the shape and dtype of another.

    Examples:
      >>> from primax import lax
      >>> import primax as px
      >>> import numpy as np
      >>> lax.zeros_like(px.ShapeDtypeStruct((2,), np.bool_))
      Array([False, False], dtype=bool)
    """
    aval = get_aval(x)
    return match_placement(zeros_of(aval), aval)


def ones_like(x: ArrayLike | core.ShapeDtypeStruct) -> Array:
    """An array of ones of the shape and dtype of another.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.ones_like(np.float16([3, 4]))
      Array([1., 1.], dtype=float16)
    """
    return full_like(x, 1)


def with_large_integer(value: Any, dtype: Any) -> Any:
    """A Python integer that int32 does not hold as a scalar of a dtype that does; other values unchanged."""
    if type(value) is not int or -(2**31) <= value < 2**31 or not isinstance(dtype, np.dtype):
        return value
    try:
        return np.asarray(value, dtype)[()]
    except OverflowError:  # the value fits neither; whoever reads it says so
        return value


def _full(function: str, shape: tuple[int, ...], fill_value: Any, dtype: Any, weak: bool) -> Array:
    fill_value = with_large_integer(fill_value, dtype)
    aval = get_aval(fill_value)
    if aval.shape:
        raise TypeError(f"{function}: fill_value must be a scalar, got {aval.str_short()}")
    if dtype is None:
        dtype, weak = aval.dtype, aval.weak_type
    value = fill_value
    if aval.dtype != dtype or aval.weak_type is not weak or not shape:
        value = None if weak or not shape else host_scalar(fill_value, dtype)
        if value is None:
            value = convert(fill_value, dtype, weak)
    return broadcast_in_dim_p.bind(value, shape=shape, broadcast_dimensions=()) if shape else value


_zeros: dict[Any, Any] = {}


def zero_of(dtype: DTypeLike) -> Any:
    """The zero of a dtype, for rules: a NumPy scalar, which programs contain as a literal.

    For an extended dtype it is the element of zeros.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.zero_of(np.float16), lax.zero_of(bool)
      (np.float16(0.0), np.False_)
    """
    try:
        known: Any = dtype
        zero = _zeros.get(known)
    except TypeError:
        raise TypeError(f"zero_of: dtype must be a dtype, got {dtype!r}") from None
    if zero is None:
        if dtypes.is_extended(dtype):
            return ExtendedArray.of_elements(np.zeros(known.element_shape, known.element_dtype), known)
        zero = _zeros[known] = np.zeros((), numpy_dtype("zero_of", "dtype", dtype))[()]
    return zero if dtypes.is_canonical(dtype) else array_of(zero, core.ShapedArray((), zero.dtype))


def zeros_of(aval: Any) -> Any:
    """An array of zeros of a given type."""
    dtype, explicit = aval.dtype, aval_sharding(aval)
    pending = explicit is not None and explicit.is_pending
    if aval.weak_type:
        zeros = _full("zeros", aval.shape, 0, dtype, True)
    elif not aval.shape and not pending and core.current_trace().tracing:
        return zero_of(dtype)
    else:
        zeros = broadcast_in_dim_p.bind(zero_of(dtype), shape=aval.shape, broadcast_dimensions=())
    return with_aval_sharding(zeros, explicit) if pending else zeros


def iota(dtype: DTypeLike, size: int) -> Array:
    """The numbers 0, 1, ..., size - 1.

    Args:
      dtype: an integer, floating or complex dtype.
      size: the number of elements.

    >>> import primax as px
    >>> px.lax.iota("int32", 3)
    Array([0, 1, 2], dtype=int32)
    """
    shape = canonical_shape((size,), "iota", "size")
    return iota_p.bind(dtype=dtype_of(dtype, "iota"), shape=shape, dimension=0)


def broadcasted_iota(
    dtype: DTypeLike, shape: ShapeLike, dimension: int, *, out_sharding: ShardingLike | None = None
) -> Array:
    """An array whose elements are their index along one axis.

    Args:
      dtype: an integer, floating or complex dtype.
      shape: the shape of the result; an int for one axis.
      dimension: the axis along which it counts.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; by default as types determine.

    Raises:
      TypeError: the dtype is boolean, or the shape has a negative size.
      ValueError: `dimension` is out of range.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.broadcasted_iota(np.int32, (2, 3), 1)
      Array([[0, 1, 2],
             [0, 1, 2]], dtype=int32)
    """
    if out_sharding is not None:
        return resharded("broadcasted_iota", broadcasted_iota(dtype, shape, dimension), out_sharding)
    shape = shape_or_size(shape, "broadcasted_iota")
    axis = canonical_axis(dimension, len(shape), "broadcasted_iota", "dimension")
    return iota_p.bind(dtype=dtype_of(dtype, "broadcasted_iota"), shape=shape, dimension=axis)


def _iota_abstract_eval(*, dtype: Any, shape: tuple[int, ...], dimension: int) -> ShapedArray:
    if not dtypes.is_numeric(dtype):
        raise TypeError(f"iota: dtype must be a number, got {dtype}")
    if not 0 <= dimension < len(shape):
        raise ValueError(f"iota: dimension must be in [0, {len(shape)}), got {dimension} for shape {shape}")
    return ShapedArray(shape, dtype)


def _iota_lowering(ctx: Any, *, dtype: Any, shape: Any, dimension: int) -> Sequence[mlir.ir.Value]:
    return [mlir.iota(ctx, ctx.avals_out[0], dimension=dimension)]


RULES: Table = {iota_p: {"abstract_eval": _iota_abstract_eval, "lowering": _iota_lowering}}
