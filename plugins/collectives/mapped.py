"""Collectives over an axis that `vmap` maps: operations on the stack of all values along it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import get_aval
from primax.extend.interpreters import batching
from primax.plugins.arithmetic import add, mul
from primax.plugins.collectives.names import Groups, axis_sizes
from primax.plugins.comparison import eq
from primax.plugins.indexing import GatherDimensionNumbers, gather
from primax.plugins.reductions import reduce_or, reduce_sum
from primax.plugins.structural import (
    broadcast_in_dim,
    concatenate,
    full,
    iota,
    reshape,
    select,
    slice_in_dim,
    zeros_like,
)

# These two are here because collectives over several axes use them.
all_gather_p = core.Primitive("all_gather")
axis_index_p = core.Primitive("axis_index")

Across = Callable[..., tuple[Any, int | None]]


def collective_batch(
    primitive: core.Primitive, across: Across, names: str = "axis_name", positions: Sequence[str] = ()
) -> Callable[..., Any]:
    """The axis-aware batch rule of a collective of one argument.

    Args:
      primitive: the collective.
      across: `(stack, **params) -> (stack or value, dim)`: maps the values of all elements, stacked along axis 0, to
        their results, stacked along `dim`, or to the common result of all if `dim` is None.
      names: the parameter with the names of axes.
      positions: the parameters that are positions of axes of the argument.
    """

    def batch(axis: batching.AxisData, args: Any, dims: Any, **params: Any) -> Any:
        (x,), (dim,) = args, dims
        if axis.name not in params[names]:
            if dim is None:
                return primitive.bind(x, **params), None
            if positions:
                x, dim = batching.moveaxis(x, dim, 0), 0
                params |= {name: params[name] + 1 for name in positions}
            return primitive.bind(x, **params), dim
        axes, groups = params.pop(names), params.pop("axis_index_groups", None)
        stack = batching.to_dim(x, axis.size, dim, 0)
        others = tuple(name for name in axes if name != axis.name)
        if not others:
            return _by_groups(across, stack, groups, params)
        out, out_dim = _by_groups(across, gathered(stack, axis, axes, others), groups, params)
        if out_dim is None:
            return out, None
        return own_part(batching.moveaxis(out, out_dim, 0), axis, axes, others), 0

    batch.__name__ = f"collective_batch({primitive})"
    batch.func = across  # type: ignore[attr-defined]
    return batch


def _by_groups(across: Across, stack: Any, groups: Groups, params: dict[str, Any]) -> tuple[Any, int | None]:
    if groups is None:
        return across(stack, **params)
    parts = []
    for group in groups:
        out, dim = across(rows(stack, group), **params)
        parts.append(batching.to_dim(out, len(group), dim, 0))
    order = [i for group in groups for i in group]
    return rows(concatenate(parts, 0), np.argsort(order).tolist()), 0


def gathered(stack: Any, axis: batching.AxisData, names: Sequence[Any], others: tuple[Any, ...]) -> Any:
    """The values along all axes, in the order of their names, from those along the axis that is mapped here."""
    sizes = axis_sizes(others)
    parts = all_gather_p.bind(
        stack,
        all_gather_dimension=0,
        axis_name=others,
        axis_index_groups=None,
        axis_size=prod(sizes),
        tiled=False,
    )
    shape = get_aval(parts).shape[2:]
    split = reshape(parts, (*sizes, axis.size, *shape))
    ordered = batching.moveaxis(split, len(others), names.index(axis.name))
    return reshape(ordered, (prod(sizes) * axis.size, *shape))


def own_part(stack: Any, axis: batching.AxisData, names: Sequence[Any], others: tuple[Any, ...]) -> Any:
    """Results for the axis that is mapped here, at the current index along the others, from those along all axes."""
    sizes = axis_sizes(others)
    place = names.index(axis.name)
    shape = get_aval(stack).shape[1:]
    split = reshape(stack, (*sizes[:place], axis.size, *sizes[place:], *shape))
    ordered = batching.moveaxis(split, place, len(others))
    parts = reshape(ordered, (prod(sizes), axis.size, *shape))
    full_shape = get_aval(parts).shape
    chosen = eq(iota(np.int32, prod(sizes)), broadcast_in_dim(index_along(others), (prod(sizes),), ()))
    part = select(broadcast_in_dim(chosen, full_shape, (0,)), parts, zeros_like(parts))
    return (reduce_or if dtypes.is_bool(get_aval(parts).dtype) else reduce_sum)(part, (0,))


def index_along(names: Sequence[Any]) -> Any:
    """The index along axes in scope; the last axis varies fastest."""
    index: Any = None
    for name, size in zip(names, axis_sizes(names), strict=True):
        own = axis_index_p.bind(axis_name=name)
        index = own if index is None else add(mul(index, np.int32(size)), own)
    return np.int32(0) if index is None else index


def bind_checked(primitive: core.Primitive, x: Any, **params: Any) -> Any:
    """Bind a collective after its abstract evaluation, which otherwise runs only in staging."""
    primitive.result_types((get_aval(x),), params)
    return primitive.bind(x, **params)


# More parts than these are gathered: concatenated slices take long to compile, a minute for a thousand.
_MOST_SLICES = 4


def rows(stack: Any, indices: Sequence[int | None]) -> Any:
    """The elements along axis 0 at some indices, zeros for None; if there are few, neighbors are copied together."""
    shape = get_aval(stack).shape
    runs: list[tuple[int | None, int]] = []
    for index in indices:
        if runs:
            start, length = runs[-1]
            if index is None if start is None else index == start + length:
                runs[-1] = start, length + 1
                continue
        runs.append((index, 1))
    if not runs or runs == [(0, shape[0])]:
        return stack
    if len(runs) > _MOST_SLICES and shape[0]:
        places = np.array([[shape[0] if index is None else index] for index in indices], np.int32)
        numbers = GatherDimensionNumbers(tuple(range(1, len(shape))), (0,), (0,))
        return gather(stack, places, numbers, (1, *shape[1:]), mode="fill", fill_value=0)
    parts = [
        full((length, *shape[1:]), 0, get_aval(stack).dtype)
        if start is None
        else slice_in_dim(stack, start, start + length)
        for start, length in runs
    ]
    return parts[0] if len(parts) == 1 else concatenate(parts, 0)


def axis_index_batch(axis: batching.AxisData, args: Any, dims: Any, *, axis_name: Any) -> tuple[Any, Any]:
    if axis.name != axis_name:
        return axis_index_p.bind(axis_name=axis_name), None
    return iota(np.int32, axis.size), 0
