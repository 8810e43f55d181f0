"""Slices of static size at computed positions, and arrays with such slices replaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import Array, ShapedArray, Tracer, get_aval
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.interpreters.ad import linear_together
from primax.extend.provisional.arguments import (
    canonical_axis,
    canonical_shape,
    index_dtype,
    inserted,
    integer,
    renumbered,
    sequence,
)
from primax.extend.provisional.typing import ArrayLike, Arrays
from primax.extend.rule_types import Table
from primax.plugins.indexing.dimensions import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers
from primax.plugins.indexing.positions import from_the_end, in_words
from primax.plugins.indexing.primitives import dynamic_slice_p, dynamic_update_slice_p, gather_p, scatter_p
from primax.plugins.structural import (
    broadcast_in_dim_p,
    concatenate_p,
    convert_element_type_p,
    reshape_p,
    slice_p,
    squeeze_p,
    zeros_of,
)


def dynamic_slice(
    operand: ArrayLike,
    start_indices: Arrays,
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """A slice of an array with a computed start.

    A slice that would extend beyond the array is moved inside.

    Args:
      operand: an array.
      start_indices: for each axis the first index: integers of rank 0, or an array of them. Negative ones count from
        the end.
      slice_sizes: the shape of the result.
      allow_negative_indices: whether indices may be negative, for all axes or for each; without them, programs are
        smaller.

    Raises:
      TypeError: an index is not an integer of rank 0, the number of indices is not that of axes, or a size is out of
        range.

    >>> import primax as px
    >>> px.lax.dynamic_slice(px.numpy.arange(5), (3,), (2,))
    Array([3, 4], dtype=int32)
    """
    shape = get_aval(operand).shape
    starts = _starts("dynamic_slice", start_indices, shape, allow_negative_indices)
    return dynamic_slice_p.bind(
        operand, *starts, slice_sizes=canonical_shape(slice_sizes, "dynamic_slice", "slice_sizes")
    )


def dynamic_update_slice(
    operand: ArrayLike,
    update: ArrayLike,
    start_indices: Arrays,
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """An array with a part at a computed start replaced.

    A part that would extend beyond the array is moved inside.

    Args:
      operand: an array.
      update: the new part: an array of the same dtype and rank.
      start_indices: for each axis the first index: integers of rank 0, or an array of them. Negative ones count from
        the end.
      allow_negative_indices: whether indices may be negative, for all axes or for each.

    Raises:
      TypeError: an index is not an integer of rank 0, the number of indices is not that of axes, or `update` does not
        fit.

    >>> import primax as px
    >>> px.lax.dynamic_update_slice(px.numpy.zeros(4), px.numpy.ones(2), (1,))
    Array([0., 1., 1., 0.], dtype=float32)
    """
    shape = get_aval(operand).shape
    starts = _starts("dynamic_update_slice", start_indices, shape, allow_negative_indices)
    return dynamic_update_slice_p.bind(operand, update, *starts)


def dynamic_slice_in_dim(
    operand: ArrayLike, start_index: ArrayLike, slice_size: int, axis: int = 0, *, allow_negative_indices: bool = True
) -> Array:
    """A slice of an array along one axis with a computed start; see `dynamic_slice`.

    Raises:
      ValueError: `axis` is out of range.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.dynamic_slice_in_dim(np.arange(5), 4, 3)  # moved inside
      Array([2, 3, 4], dtype=int32)
    """
    shape = get_aval(operand).shape
    axis = canonical_axis(axis, len(shape), "dynamic_slice_in_dim")
    starts = _along(start_index, axis, shape, allow_negative_indices)
    sizes = (*shape[:axis], integer("dynamic_slice_in_dim", "slice_size", slice_size), *shape[axis + 1 :])
    return dynamic_slice_p.bind(operand, *starts, slice_sizes=sizes)


def dynamic_index_in_dim(
    operand: ArrayLike, index: ArrayLike, axis: int = 0, keepdims: bool = True, *, allow_negative_indices: bool = True
) -> Array:
    """One element along an axis, at a computed position; see `dynamic_slice`.

    Raises:
      ValueError: `axis` is out of range.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> x = np.arange(6).reshape(3, 2)
      >>> lax.dynamic_index_in_dim(x, -1), lax.dynamic_index_in_dim(x, 9, keepdims=False)  # 9 becomes the last position
      (Array([[4, 5]], dtype=int32), Array([4, 5], dtype=int32))
    """
    shape = get_aval(operand).shape
    axis = canonical_axis(axis, len(shape), "dynamic_index_in_dim")
    starts = _along(index, axis, shape, allow_negative_indices)
    part = dynamic_slice_p.bind(operand, *starts, slice_sizes=(*shape[:axis], 1, *shape[axis + 1 :]))
    return part if keepdims else squeeze_p.bind(part, dimensions=(axis,))


def dynamic_update_slice_in_dim(
    operand: ArrayLike, update: ArrayLike, start_index: ArrayLike, axis: int, *, allow_negative_indices: bool = True
) -> Array:
    """An array with a part along one axis replaced; see `dynamic_update_slice`.

    Raises:
      ValueError: `axis` is out of range.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.dynamic_update_slice_in_dim(np.arange(5), np.array([10, 20]), 9, 0)  # moved inside
      Array([ 0,  1,  2, 10, 20], dtype=int32)
    """
    shape = get_aval(operand).shape
    axis = canonical_axis(axis, len(shape), "dynamic_update_slice_in_dim")
    return dynamic_update_slice_p.bind(operand, update, *_along(start_index, axis, shape, allow_negative_indices))


def dynamic_update_index_in_dim(
    operand: ArrayLike, update: ArrayLike, index: ArrayLike, axis: int, *, allow_negative_indices: bool = True
) -> Array:
    """An array with one element along an axis replaced; see `dynamic_update_slice`.

    Args:
      operand: an array.
      update: the element, with the axis of length 1 or without it.
      index: its position, an integer of rank 0.
      axis: the axis.
      allow_negative_indices: whether the index may be negative.

    Raises:
      ValueError: `axis` is out of range.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.dynamic_update_index_in_dim(np.zeros((2, 2), np.int32), np.array([7, 8]), 1, 0)
      Array([[0, 0],
             [7, 8]], dtype=int32)
    """
    shape = get_aval(operand).shape
    axis = canonical_axis(axis, len(shape), "dynamic_update_index_in_dim")
    part = get_aval(update).shape
    if len(part) == len(shape) - 1:
        update = reshape_p.bind(update, new_sizes=inserted(part, axis, 1), dimensions=None)
    return dynamic_update_slice_p.bind(operand, update, *_along(index, axis, shape, allow_negative_indices))


def _along(start: Any, axis: int, shape: tuple[int, ...], negative: bool) -> list[Any]:
    """Starts that are zero except along one axis."""
    dtype = _dtype_of_starts("dynamic_slice", [start])
    index = from_the_end(start, shape[axis]) if negative else start
    dtype = dtype if type(start) is int else get_aval(index).dtype
    if type(index) is int:
        index = dtype.type(index)
    starts: list[Any] = [dtype.type(0)] * len(shape)
    starts[axis] = index
    return starts


def _starts(function: str, indices: Any, shape: tuple[int, ...], negative: bool | Sequence[bool]) -> list[Any]:
    """For each axis the start of a slice, all of the same dtype."""
    if hasattr(indices, "shape"):
        count = get_aval(indices).shape
        if len(count) != 1:
            raise TypeError(f"{function}: start_indices must be of rank 1, got {get_aval(indices).str_short()}")
        indices = [_element(indices, i) for i in range(count[0])]
    starts = sequence(function, "start_indices", indices)
    if len(starts) != len(shape):
        raise core.ShapeError(
            f"{function}: start_indices must have one entry per axis of operand, got {len(starts)} for shape {shape}"
        )
    if isinstance(negative, bool):
        allowed = [negative] * len(shape)
    else:
        allowed = sequence(function, "allow_negative_indices", negative)
    if len(allowed) != len(shape):
        raise TypeError(
            f"{function}: allow_negative_indices must have one entry per axis of operand, got {len(allowed)} "
            f"for shape {shape}"
        )
    _dtype_of_starts(function, starts)
    wrapped = [from_the_end(x, size) if wrap else x for x, size, wrap in zip(starts, shape, allowed, strict=True)]
    dtype = _dtype_of_starts(function, wrapped)
    return [_in_dtype(x, dtype) for x in wrapped]


def _element(x: Any, i: int) -> Array:
    part = slice_p.bind(x, start_indices=(i,), limit_indices=(i + 1,), strides=None)
    return squeeze_p.bind(part, dimensions=(0,))


def _dtype_of_starts(function: str, starts: Sequence[Any]) -> Any:
    """The dtype of the starts that are traced, which known starts take."""
    dtype = None
    for x in starts:
        aval = get_aval(x)
        if not dtypes.is_integer(aval.dtype):
            raise TypeError(f"{function}: indices must be integers, got {aval.str_short()}")
        if isinstance(x, Tracer | core.Array):
            dtype = aval.dtype if dtype is None else dtypes.promote_types(dtype, aval.dtype)
    return index_dtype(0) if dtype is None else dtype


def _in_dtype(x: Any, dtype: Any) -> Array | np.ndarray | np.dtype[Any]:
    aval = get_aval(x)
    if aval.dtype == dtype:
        return x
    if isinstance(x, Tracer | core.Array):
        return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)
    return np.asarray(x).astype(dtype)[()]


def _check_starts(name: str, operand: ShapedArray, starts: Sequence[ShapedArray]) -> None:
    if len(starts) != len(operand.shape):
        raise core.ShapeError(
            f"{name}: start_indices must have one entry per axis of operand, got {len(starts)} "
            f"for {operand.str_short()}"
        )
    for start in starts:
        if start.shape or not dtypes.is_integer(start.dtype):
            raise TypeError(f"{name}: start_indices must be integers of rank 0, got {start.str_short()}")
        if start.dtype != starts[0].dtype:
            raise TypeError(
                f"{name}: start_indices must have the same dtype, got {starts[0].str_short()} and {start.str_short()}"
            )


def _slice_abstract_eval(operand: ShapedArray, *starts: ShapedArray, slice_sizes: tuple[int, ...]) -> ShapedArray:
    _check_starts("dynamic_slice", operand, starts)
    if len(slice_sizes) != len(operand.shape):
        raise core.ShapeError(
            f"dynamic_slice: slice_sizes must have one entry per axis of operand, got {len(slice_sizes)} in "
            f"{slice_sizes} for {operand.str_short()}"
        )
    for axis, (size, length) in enumerate(zip(slice_sizes, operand.shape, strict=True)):
        if not 0 <= size <= length:
            raise TypeError(
                f"dynamic_slice: slice_sizes must be between 0 and {length} for axis {axis}, got {size} "
                f"for {operand.str_short()}"
            )
    return ShapedArray(slice_sizes, operand.dtype, operand.weak_type)


def _slice_jvp(primals: Any, tangents: Any, *, slice_sizes: Any) -> tuple[Any, Any]:
    out = dynamic_slice_p.bind(*primals, slice_sizes=slice_sizes)
    t = tangents[0]
    if type(t) is ad.Zero:
        return out, ad.Zero.from_primal_value(out)
    return out, dynamic_slice_p.bind(t, *primals[1:], slice_sizes=slice_sizes)


linear_together(_slice_jvp, 0)


def _slice_transpose(ct: Any, operand: Any, *starts: Any, slice_sizes: Any) -> list[Any]:
    others = [None] * len(starts)
    if type(ct) is ad.Zero:
        return [ad.Zero(operand.aval), *others]
    return [dynamic_update_slice_p.bind(zeros_of(operand.aval), ct, *starts), *others]


def _slice_batch(args: Any, dims: Any, *, slice_sizes: Any) -> tuple[Any, Any]:
    operand, *starts = args
    dim, *start_dims = dims
    shape = get_aval(operand).shape
    if all(d is None for d in start_dims):
        sizes = inserted(slice_sizes, dim, shape[dim])
        return dynamic_slice_p.bind(operand, *_with_zero(starts, dim), slice_sizes=sizes), dim
    sizes = shape if dim is None else (*shape[:dim], *shape[dim + 1 :])
    indices, axes = _index_vectors(starts, start_dims, sizes, slice_sizes)
    if indices is None:
        return operand, dim
    numbers = GatherDimensionNumbers(tuple(range(1, len(sizes) + 1)), (), axes)
    if dim is not None:
        numbers = GatherDimensionNumbers(numbers.offset_dims, (), renumbered(axes, dim), (dim,), (0,))
        slice_sizes = inserted(slice_sizes, dim, min(1, shape[dim]))
    out = gather_p.bind(
        operand,
        indices,
        dimension_numbers=numbers,
        slice_sizes=slice_sizes,
        indices_are_sorted=False,
        unique_indices=False,
        mode=GatherScatterMode.CLIP,
        fill_value=None,
    )
    return out, 0


def _with_zero(starts: Sequence[Any], dim: int) -> list[Any]:
    zero = get_aval(starts[0]).dtype.type(0) if starts else np.int32(0)
    return [*starts[:dim], zero, *starts[dim:]]


def _index_vectors(
    starts: Sequence[Any], dims: Sequence[int | None], shape: Sequence[int], sizes: Sequence[int]
) -> tuple[Any, tuple[int, ...]]:
    """The starts along axes that slices do not cover, as index vectors, one for each element of the batch."""
    axes = tuple([d for d in range(len(shape)) if sizes[d] < shape[d]])
    if not axes:
        return None, ()
    size = next(get_aval(x).shape[0] for x, dim in zip(starts, dims, strict=True) if dim is not None)
    columns = [
        broadcast_in_dim_p.bind(starts[d], shape=(size, 1), broadcast_dimensions=() if dims[d] is None else (0,))
        for d in axes
    ]
    return columns[0] if len(columns) == 1 else concatenate_p.bind(*columns, dimension=1), axes


def _slice_lowering(ctx: mlir.LoweringRuleContext, operand: Any, *starts: Any, slice_sizes: Any) -> list[Any]:
    return [mlir.dynamic_slice(ctx, ctx.avals_out[0], operand, start_indices=_words(ctx.avals_in[1:], starts))]


def _words(avals: Sequence[ShapedArray], starts: Sequence[Any]) -> list[Any]:
    return [in_words(aval, x) for aval, x in zip(avals, starts, strict=True)]


def _update_abstract_eval(operand: ShapedArray, update: ShapedArray, *starts: ShapedArray) -> ShapedArray:
    _check_starts("dynamic_update_slice", operand, starts)
    if update.dtype != operand.dtype:
        raise TypeError(
            f"dynamic_update_slice: update must have the dtype of operand, got {update.str_short()} "
            f"for {operand.str_short()}"
        )
    if len(update.shape) != len(operand.shape):
        raise TypeError(
            f"dynamic_update_slice: update must have the rank of operand, {len(operand.shape)}, "
            f"got {update.str_short()} for {operand.str_short()}"
        )
    for axis, (size, length) in enumerate(zip(update.shape, operand.shape, strict=True)):
        if size > length:
            raise TypeError(
                f"dynamic_update_slice: update must be at most {length} long along axis {axis}, got {size} in "
                f"{update.str_short()} for {operand.str_short()}"
            )
    return ShapedArray(operand.shape, operand.dtype, operand.weak_type and update.weak_type)


def _update_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    out = dynamic_update_slice_p.bind(*primals)
    t, t_update, *_ = tangents
    if type(t) is ad.Zero and type(t_update) is ad.Zero:
        return out, ad.Zero.from_primal_value(out)
    t, t_update = ad.instantiate_zeros(t), ad.instantiate_zeros(t_update)
    return out, dynamic_update_slice_p.bind(t, t_update, *primals[2:])


linear_together(_update_jvp, 0, 1)


def _update_transpose(ct: Any, operand: Any, update: Any, *starts: Any) -> list[Any]:
    others = [None] * len(starts)
    of_operand, of_update = type(operand) is ad.UndefinedPrimal, type(update) is ad.UndefinedPrimal
    if type(ct) is ad.Zero:
        return [ad.Zero(operand.aval) if of_operand else None, ad.Zero(update.aval) if of_update else None, *others]
    aval = update.aval if of_update else get_aval(update)
    bar = bar_update = None
    if of_operand:
        bar = dynamic_update_slice_p.bind(ct, zeros_of(ShapedArray(aval.shape, get_aval(ct).dtype)), *starts)
    if of_update:
        bar_update = dynamic_slice_p.bind(ct, *starts, slice_sizes=aval.shape)
    return [bar, bar_update, *others]


def _update_batch(args: Any, dims: Any) -> tuple[Any, Any]:
    operand, update, *starts = args
    dim, update_dim, *start_dims = dims
    size = next(get_aval(x).shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
    if dim is None:
        operand, dim = batching.broadcast(operand, size, 0), 0
    update = batching.to_dim(update, size, update_dim, dim)
    if all(d is None for d in start_dims):
        return dynamic_update_slice_p.bind(operand, update, *_with_zero(starts, dim)), dim
    shape, sizes = get_aval(operand).shape, get_aval(update).shape
    rank = len(shape) - 1
    others = [d for d in range(rank + 1) if d != dim]
    indices, axes = _index_vectors(starts, start_dims, [shape[d] for d in others], [sizes[d] for d in others])
    if indices is None:
        return update, dim
    out = scatter_p.bind(
        operand,
        indices,
        batching.moveaxis(update, dim, 0),
        dimension_numbers=ScatterDimensionNumbers(
            tuple(range(1, rank + 1)), (), tuple([others[d] for d in axes]), (dim,), (0,)
        ),
        indices_are_sorted=True,
        unique_indices=True,
        mode=GatherScatterMode.CLIP,
    )
    return out, dim


def _update_lowering(ctx: mlir.LoweringRuleContext, operand: Any, update: Any, *starts: Any) -> list[Any]:
    return [mlir.hlo.dynamic_update_slice(operand, update, _words(ctx.avals_in[2:], starts))]


RULES: Table = {
    dynamic_slice_p: {
        "abstract_eval": _slice_abstract_eval,
        "jvp": _slice_jvp,
        "transpose": _slice_transpose,
        "batch": _slice_batch,
        "lowering": _slice_lowering,
        "key_use": lambda uses, eqn, walk: walk.row(uses[1:]),
    },
    dynamic_update_slice_p: {
        "abstract_eval": _update_abstract_eval,
        "jvp": _update_jvp,
        "transpose": _update_transpose,
        "batch": _update_batch,
        "lowering": _update_lowering,
    },
}
