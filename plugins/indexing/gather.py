"""Gather: windows of an array, at positions in arrays of integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.provisional.arguments import canonical_shape, inserted
from primax.extend.provisional.derivatives import Linearity
from primax.extend.provisional.dimensions import is_symbolic
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table
from primax.plugins.bitwise import bitwise_and
from primax.plugins.comparison import ge, le
from primax.plugins.indexing.dimensions import (
    GatherDimensionNumbers,
    GatherScatterMode,
    as_scatter,
    canonical_numbers,
    check_numbers,
    mapped_numbers,
    scatter_axes,
    window_axes,
)
from primax.plugins.indexing.positions import bounds, cast_indices, in_words
from primax.plugins.indexing.primitives import gather_p, scatter_add_p
from primax.plugins.reductions import reduce_and_p
from primax.plugins.structural import broadcast_in_dim_p, repeat, select, zero_of, zeros_of


def gather(
    operand: ArrayLike,
    start_indices: ArrayLike,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: str | GatherScatterMode | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Windows of an array at computed positions.

    Args:
      operand: an array.
      start_indices: integers; the last axis has index vectors, each of which is the start of a window.
      dimension_numbers: the correspondence of the axes.
      slice_sizes: the lengths of windows along all axes of `operand`.
      unique_indices: a promise that no two index vectors are equal.
      indices_are_sorted: a promise that they are sorted.
      mode: the behavior for windows that are not wholly inside: 'clip' moves them, 'fill' reads `fill_value`, and
        'promise_in_bounds' (the default) is a promise that there are none: values are those of 'clip', and derivatives
        leave such windows out.
      fill_value: a number; by default NaN, or the smallest signed or greatest unsigned integer, or True.

    Returns:
      An array of windows. `x[...]` and `x.at[...].get()` are easier to use.

    Raises:
      TypeError: the dimension numbers or sizes do not fit.
      ValueError: there is no such mode.

    >>> import primax as px
    >>> numbers = px.lax.GatherDimensionNumbers((), (0,), (0,))
    >>> px.lax.gather(px.numpy.array([1., 2., 3.]), px.numpy.array([[2], [9]]), numbers, (1,))
    Array([3., 3.], dtype=float32)
    """
    return gather_p.bind(
        operand,
        cast_indices("gather", "start_indices", start_indices),
        dimension_numbers=canonical_numbers("gather", dimension_numbers, GatherDimensionNumbers),
        slice_sizes=canonical_shape(slice_sizes, "gather", "slice_sizes"),
        unique_indices=bool(unique_indices),
        indices_are_sorted=bool(indices_are_sorted),
        mode=GatherScatterMode.PROMISE_IN_BOUNDS if mode is None else GatherScatterMode.from_any(mode),
        fill_value=fill_value,
    )


def _gather_abstract_eval(
    operand: ShapedArray,
    indices: ShapedArray,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    mode: GatherScatterMode,
    **params: Any,
) -> ShapedArray:
    offset, collapsed, _, batch, _ = dimension_numbers
    rank = len(offset) + len(indices.shape) - 1
    check_numbers("gather", dimension_numbers, operand, indices, rank, f"a result of rank {rank}")
    fill_value = params["fill_value"]
    if fill_value is not None and not isinstance(fill_value, int | float | complex):
        shape, dtype = getattr(fill_value, "shape", None), getattr(fill_value, "dtype", None)
        if shape != () or not (dtypes.is_numeric(dtype) or dtypes.is_bool(dtype)):
            raise TypeError(f"gather: fill_value must be a number, got {fill_value!r}")
    if mode is GatherScatterMode.ONE_HOT:
        raise NotImplementedError("gather: mode must be CLIP, FILL_OR_DROP or PROMISE_IN_BOUNDS, got ONE_HOT")
    if len(slice_sizes) != len(operand.shape):
        raise TypeError(
            f"gather: slice_sizes must have one entry per axis of operand, got {len(slice_sizes)} in {slice_sizes} "
            f"for {operand.str_short()}"
        )
    for d, (size, length) in enumerate(zip(slice_sizes, operand.shape, strict=True)):
        if not 0 <= size <= length:
            raise TypeError(
                f"gather: slice_sizes must be between 0 and {length} for axis {d} of operand, got {size} "
                f"for {operand.str_short()}"
            )
        if size > 1 and (d in collapsed or d in batch):
            raise TypeError(
                f"gather: slice_sizes must be at most 1 for axes in collapsed_slice_dims and operand_batching_dims, "
                f"got {size} for axis {d}"
            )
    shape = [0] * rank
    for place, size in zip(scatter_axes(dimension_numbers, rank), indices.shape, strict=False):
        shape[place] = size
    for place, d in zip(offset, window_axes(dimension_numbers, len(slice_sizes)), strict=True):
        shape[place] = slice_sizes[d]
    return ShapedArray(shape, operand.dtype, operand.weak_type)


def _gather_jvp(primals: Any, tangents: Any, *, fill_value: Any, **params: Any) -> tuple[Any, Any]:
    operand, indices = primals
    out = gather_p.bind(operand, indices, fill_value=fill_value, **params)
    t = tangents[0]
    if type(t) is ad.Zero:
        return out, ad.Zero.from_primal_value(out)
    return out, gather_p.bind(t, indices, fill_value=0, **params)


def _gather_linearity(*, fill_value: Any, **params: Any) -> Any:
    """A fill value other than zero or NaN is not linear: each device would add it to the sum."""
    return _IN_OPERAND if fill_value is None or fill_value == 0 or fill_value != fill_value else None


_IN_OPERAND = Linearity(True, (0,))
_gather_jvp.linearity = _gather_linearity  # type: ignore[attr-defined]


def _gather_transpose(
    ct: Any, operand: Any, indices: Any, *, dimension_numbers: Any, slice_sizes: Any, fill_value: Any, **params: Any
) -> tuple[Any, Any]:
    if type(ct) is ad.Zero:
        return ad.Zero(operand.aval), None
    zeros = zeros_of(operand.aval)
    return scatter_add_p.bind(zeros, indices, ct, dimension_numbers=as_scatter(dimension_numbers), **params), None


def _gather_batch(args: Any, dims: Any, *, dimension_numbers: Any, slice_sizes: Any, **params: Any) -> tuple[Any, Any]:
    (operand, indices), (dim, indices_dim) = args, dims
    shape, indices_rank = get_aval(operand).shape, len(get_aval(indices).shape)
    if indices_dim == indices_rank - 1:
        indices, indices_dim = batching.moveaxis(indices, indices_dim, 0), 0
    rank = len(shape) - (dim is not None)
    numbers, out_dim = mapped_numbers(
        dimension_numbers, rank, indices_rank - (indices_dim is not None), dim, indices_dim
    )
    if dim is not None:
        size = shape[dim]
        slice_sizes = inserted(slice_sizes, dim, size if indices_dim is None else min(1, size))
    out = gather_p.bind(operand, indices, dimension_numbers=numbers, slice_sizes=slice_sizes, **params)
    return out, out_dim


def _gather_lowering(
    ctx: mlir.LoweringRuleContext,
    operand: Any,
    indices: Any,
    *,
    dimension_numbers: Any,
    slice_sizes: Any,
    indices_are_sorted: bool,
    mode: GatherScatterMode,
    fill_value: Any,
    unique_indices: bool,
) -> list[Any] | Array:
    if mode is GatherScatterMode.FILL_OR_DROP:
        params = {"dimension_numbers": dimension_numbers, "slice_sizes": slice_sizes, "fill_value": fill_value}
        params |= {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices}
        return _with_fill(ctx, operand, indices, **params)
    hlo, ir = mlir.hlo, mlir.ir
    offset, collapsed, index_map, batch, indices_batch = map(list, dimension_numbers)
    last = len(ctx.avals_in[1].shape) - 1
    numbers = hlo.GatherDimensionNumbers.get(offset, collapsed, batch, indices_batch, index_map, last)
    if is_symbolic(slice_sizes):
        return hlo.DynamicGatherOp(
            operand,
            in_words(ctx.avals_in[1], indices),
            mlir.shape_tensor(slice_sizes),
            numbers,
            indices_are_sorted=ir.BoolAttr.get(indices_are_sorted),
        ).results
    return hlo.GatherOp(
        operand,
        in_words(ctx.avals_in[1], indices),
        numbers,
        ir.DenseI64ArrayAttr.get(slice_sizes),
        indices_are_sorted=ir.BoolAttr.get(indices_are_sorted),
    ).results


def _filled(operand: Any, indices: Any, *, fill_value: Any, **params: Any) -> Array:
    """Windows that are not wholly inside are read at a position inside, and then replaced."""
    windows = gather_p.bind(operand, indices, mode=GatherScatterMode.CLIP, fill_value=None, **params)
    numbers, aval = params["dimension_numbers"], get_aval(windows)
    starts = get_aval(indices)
    limits = bounds(get_aval(operand).shape, params["slice_sizes"], numbers, starts.dtype)
    if not limits.size:
        return windows
    inside = ge(indices, zero_of(starts.dtype))
    last = broadcast_in_dim_p.bind(limits, shape=starts.shape, broadcast_dimensions=(len(starts.shape) - 1,))
    inside = bitwise_and(inside, le(indices, last))
    inside = reduce_and_p.bind(inside, axes=(len(starts.shape) - 1,))
    along = tuple(scatter_axes(numbers, len(aval.shape)))
    inside = broadcast_in_dim_p.bind(inside, shape=aval.shape, broadcast_dimensions=along)
    return select(inside, windows, repeat(fill_of(aval.dtype, fill_value), aval.shape))


_with_fill = mlir.lower_fun(_filled, multiple_results=False)


def fill_of(dtype: Any, fill_value: Any) -> Any:
    """The value that is read out of range, as a NumPy scalar of a dtype; None stands for the default of the dtype."""
    return np.asarray(_default_fill(dtype) if fill_value is None else fill_value).astype(dtype)[()]


def _default_fill(dtype: Any) -> float | bool:
    if dtypes.is_inexact(dtype):
        return np.nan
    if dtypes.is_bool(dtype):
        return True
    limits = dtypes.iinfo(dtype)
    return limits.max if dtypes.is_unsigned_integer(dtype) else limits.min


RULES: Table = {
    gather_p: {
        "abstract_eval": _gather_abstract_eval,
        "jvp": _gather_jvp,
        "transpose": _gather_transpose,
        "batch": _gather_batch,
        "lowering": _gather_lowering,
    }
}
