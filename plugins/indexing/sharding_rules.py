"""The sharding rules of indexing: an indexed array must be whole along its indexed axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primax.extend.core import ShapedArray
from primax.extend.provisional.dividing import common_axes, cut_axes, refuse_divided
from primax.extend.provisional.sharding import aval_sharding, axes_of_dims
from primax.extend.provisional.sharding_rule import ShardingRule
from primax.plugins.indexing.primitives import (
    dynamic_slice_p,
    dynamic_update_slice_p,
    gather_p,
    scatter_add_p,
    scatter_apply_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
    scatter_sub_p,
)


def _dynamic_slice(x: ShapedArray, *starts: ShapedArray, slice_sizes: tuple[int, ...]) -> list[Any]:
    refuse_divided("positions", starts)
    return [cut_axes(x, slice_sizes)]


def _dynamic_update_slice(x: ShapedArray, update: ShapedArray, *starts: ShapedArray) -> list[Any]:
    refuse_divided("positions", starts)
    if aval_sharding(update) is not None:
        common_axes([x, update])
    return [axes_of_dims(x)]


def _index_axes(rank: int, batching: tuple[int, ...]) -> list[str]:
    """The names of the axes of indices; the last axis has index vectors, and batching axes have the operand's names."""
    return [*(f"b{i}" if i in batching else f"i{i}!" for i in range(rank - 1)), "_"]


def _gather(x: ShapedArray, indices: ShapedArray, *, dimension_numbers: Any, slice_sizes: Any, **params: Any) -> str:
    numbers = dimension_numbers
    of_indices = _index_axes(len(indices.shape), numbers.start_indices_batching_dims)
    along = dict(zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True))
    of_operand, windows = [], []
    for i, (size, part) in enumerate(zip(x.shape, slice_sizes, strict=True)):
        name = f"b{along[i]}" if i in along else f"w{i}" if size == part and size > 1 else "_"
        of_operand.append(name)
        if i not in numbers.collapsed_slice_dims and i not in along:
            windows.append(name)
    return f"{' '.join(of_operand)}, {' '.join(of_indices)} -> {_merged(of_indices[:-1], windows, numbers.offset_dims)}"


def _merged(batch: list[str], windows: list[str], places: tuple[int, ...]) -> str:
    """The axes of a gathered array, with the axes of windows at given positions."""
    rest, inside = iter(batch), iter(windows)
    return " ".join(next(inside) if i in places else next(rest) for i in range(len(batch) + len(windows)))


def _scatter(
    x: ShapedArray, indices: ShapedArray, updates: ShapedArray, *, dimension_numbers: Any, **params: Any
) -> str:
    numbers = dimension_numbers
    of_indices = _index_axes(len(indices.shape), numbers.scatter_indices_batching_dims)
    along = dict(zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True))
    parts = iter([updates.shape[i] for i in numbers.update_window_dims])
    of_operand, windows = [], []
    for i, size in enumerate(x.shape):
        if i in along:
            of_operand.append(f"b{along[i]}")
        elif i in numbers.inserted_window_dims:
            of_operand.append("_")
        else:
            name = f"w{i}" if next(parts) == size and size > 1 else "_"
            of_operand.append(name)
            windows.append(name)
    of_updates = _merged(of_indices[:-1], windows, numbers.update_window_dims)
    operand = " ".join(of_operand)
    return f"{operand}, {' '.join(of_indices)}, {of_updates} -> {operand}"


def _scatter_apply(
    x: ShapedArray, indices: ShapedArray, *, dimension_numbers: Any, slice_sizes: tuple[int, ...], **params: Any
) -> str:
    numbers = dimension_numbers
    of_indices = _index_axes(len(indices.shape), numbers.scatter_indices_batching_dims)
    along = dict(zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True))
    operand = " ".join(
        f"b{along[i]}" if i in along else f"w{i}" if part == size and size > 1 else "_"
        for i, (size, part) in enumerate(zip(x.shape, slice_sizes, strict=True))
    )
    return f"{operand}, {' '.join(of_indices)} -> {operand}"


_SCATTERS = (scatter_p, scatter_add_p, scatter_max_p, scatter_min_p, scatter_mul_p, scatter_sub_p)

SHARDING: dict[Any, Callable[..., Any]] = {
    dynamic_slice_p: _dynamic_slice,
    dynamic_update_slice_p: _dynamic_update_slice,
    gather_p: ShardingRule(_gather, types_only=True),  # the sizes of windows are parameters
    scatter_apply_p: ShardingRule(_scatter_apply, types_only=True),
    **dict.fromkeys(_SCATTERS, _scatter),
}
