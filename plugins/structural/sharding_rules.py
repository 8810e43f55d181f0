"""The sharding rules of the structural primitives: the sharding of results, from that of operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primax.extend import dtypes
from primax.extend.core import ShapedArray
from primax.extend.provisional.dividing import (
    broadcast_axes,
    common_axes,
    cut_axes,
    dropped_axes,
    reshaped_axes,
    whole_along,
)
from primax.extend.provisional.sharding import aval_sharding, axes_of_dims
from primax.extend.provisional.sharding_rule import ShardingRule
from primax.plugins.structural.conversion import bitcast_convert_type_p
from primax.plugins.structural.identity import optimization_barrier_p
from primax.plugins.structural.selection import select_n_p
from primax.plugins.structural.shapes import broadcast_in_dim_p, reduce_sum_p, reshape_p, squeeze_p, tile_p, transpose_p
from primax.plugins.structural.slicing import concatenate_p, pad_p, rev_p, slice_p, split_p
from primax.plugins.structural.stacking import stack_p, unstack_p


def _letters(count: int) -> list[str]:
    return [f"d{i}" for i in range(count)]


def _bitcast(x: ShapedArray, *, new_dtype: Any) -> str:
    dtype: Any = x.dtype
    if dtype != new_dtype and dtypes.is_extended(dtype):
        return "... -> ..." + " _" * len(dtype.element_shape)
    if x.dtype != new_dtype and dtypes.is_extended(new_dtype):
        count = len(new_dtype.element_shape)
        whole_along(x, range(len(x.shape) - count, len(x.shape)))
        return "..." + " _" * count + " -> ..."
    old, new = x.dtype.itemsize, getattr(new_dtype, "itemsize", x.dtype.itemsize)
    if old == new:
        return "... -> ..."
    if old > new:
        return "... -> ... _"
    whole_along(x, [len(x.shape) - 1])
    return "... _ -> ..."


def _barrier(*avals: ShapedArray) -> list[Any]:
    return [aval_sharding(aval) for aval in avals]


def _select(which: ShapedArray, *cases: ShapedArray) -> str:
    return ", ".join(["..."] * (1 + len(cases))) + " -> ..."


def _transpose(x: ShapedArray, *, permutation: tuple[int, ...]) -> str:
    letters = _letters(len(x.shape))
    return f"{' '.join(letters)} -> {' '.join(letters[i] for i in permutation)}"


def _reshape(x: ShapedArray, *, new_sizes: tuple[int, ...], dimensions: None) -> list[Any]:
    return [reshaped_axes(x, new_sizes)]


def _squeeze(x: ShapedArray, *, dimensions: tuple[int, ...]) -> list[Any]:
    return [tuple([names for i, names in enumerate(axes_of_dims(x)) if i not in dimensions])]


def _tile(x: ShapedArray, *, reps: tuple[int, ...]) -> list[Any]:
    whole_along(x, [i for i, count in enumerate(reps) if count != 1])
    return [axes_of_dims(x)]


def _slice(x: ShapedArray, *, start_indices: Any, limit_indices: Any, strides: Any) -> list[Any]:
    steps = strides or (1,) * len(start_indices)
    sizes = [
        max(0, -((start - limit) // step))
        for start, limit, step in zip(start_indices, limit_indices, steps, strict=True)
    ]
    return [cut_axes(x, sizes)]


def _pad(x: ShapedArray, value: ShapedArray, *, padding_config: Any) -> list[Any]:
    return [axes_of_dims(x)]


def _concatenate(*operands: ShapedArray, dimension: int) -> list[Any]:
    return [common_axes(operands)]


def _split(x: ShapedArray, *, sizes: Sequence[int], axis: int) -> list[Any]:
    shapes = [(*x.shape[:axis], size, *x.shape[axis + 1 :]) for size in sizes]
    return [cut_axes(x, shape) for shape in shapes]


def _rev(x: ShapedArray, *, dimensions: Any) -> list[Any]:
    return [axes_of_dims(x)]


def _stack(*operands: ShapedArray, axis: int) -> list[Any]:
    axes = common_axes(operands)
    return [(*axes[:axis], (), *axes[axis:])]


def _unstack(x: ShapedArray, *, axis: int) -> list[Any]:
    whole_along(x, [axis])
    axes = axes_of_dims(x)
    return [(*axes[:axis], *axes[axis + 1 :])] * x.shape[axis]


SHARDING = {
    bitcast_convert_type_p: _bitcast,
    broadcast_in_dim_p: broadcast_axes,
    concatenate_p: _concatenate,
    optimization_barrier_p: ShardingRule(_barrier, whole_shardings=True),
    pad_p: _pad,
    reduce_sum_p: dropped_axes("axes", "sum"),
    reshape_p: _reshape,
    rev_p: _rev,
    select_n_p: _select,
    slice_p: _slice,
    split_p: _split,
    squeeze_p: _squeeze,
    stack_p: _stack,
    tile_p: _tile,
    transpose_p: _transpose,
    unstack_p: _unstack,
}
