"""The array operations that interpreters need: zeros, sums, broadcasts, axes, conversion, elements and loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import core, hookimpl
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.provisional import runtime
from primax.extend.provisional.sharding import match_placement
from primax.extend.provisional.tracing import thread
from primax.plugins.arithmetic import add_any, add_p
from primax.plugins.comparison import eq_p
from primax.plugins.control_flow import scan
from primax.plugins.structural import (
    as_scalar,
    broadcast_in_dim,
    broadcast_in_dim_p,
    broadcasted_iota,
    concatenate_p,
    convert,
    reshape_p,
    select_n_p,
    slice_p,
    squeeze_p,
    transpose_p,
    zeros_of,
)

__all__: list[str] = []


def _broadcast(x: Any, size: int, dim: int) -> Array:
    shape = get_aval(x).shape
    axes = tuple([i if i < dim else i + 1 for i in range(len(shape))])
    return broadcast_in_dim_p.bind(x, shape=(*shape[:dim], size, *shape[dim:]), broadcast_dimensions=axes)


def _moveaxis(x: Any, source: int, destination: int) -> Array:
    order = list(range(len(get_aval(x).shape)))
    order.insert(destination % len(order), order.pop(source))
    return transpose_p.bind(x, permutation=tuple(order))


def _convert(x: Any, aval: ShapedArray) -> Array:
    return match_placement(convert(x, aval.dtype, aval.weak_type), aval)


def _is_on_host(xs: Sequence[Any]) -> bool:
    """Whether values can be split and joined without programs, which would be one for each position."""
    return not thread.trace.tracing and all(
        (x.platform() == "cpu" and not x.committed) if type(x) is Array else isinstance(x, np.ndarray | np.generic)
        for x in xs
    )


def _index(x: Any, i: int, dim: int) -> Array:
    if _is_on_host([x]):
        element = np.take(np.asarray(x), i, dim)  # a copy, because `x` may be donated
        return runtime.put_value(element, get_aval(x).weak_type)
    shape = get_aval(x).shape
    starts, limits = [0] * len(shape), list(shape)
    starts[dim], limits[dim] = i, i + 1
    part = slice_p.bind(x, start_indices=tuple(starts), limit_indices=tuple(limits), strides=None)
    return squeeze_p.bind(part, dimensions=(dim,))


def _stack(xs: Sequence[Any], dim: int) -> Array:
    if _is_on_host(xs):
        return runtime.put_value(np.stack([np.asarray(x) for x in xs], dim), get_aval(xs[0]).weak_type)
    parts = [_broadcast(x, 1, dim) for x in xs]
    return parts[0] if len(parts) == 1 else concatenate_p.bind(*parts, dimension=dim)


def _select(which: Any, xs: Sequence[Any]) -> Array:
    return select_n_p.bind(broadcast_in_dim(which, get_aval(xs[0]).shape, (0,)), *xs)


def _loop(fun: Callable[..., list[Any]], xs: Sequence[Any]) -> list[Any]:
    outs: list[Any] = scan(lambda _, elements: (None, fun(*elements)), None, tuple(xs))[1]
    return outs


def _units(aval: ShapedArray, start: Any, total: Any) -> Array:
    shape = (total, aval.size)
    rows, columns = (broadcasted_iota(np.int32, shape, axis) for axis in (0, 1))
    if start != 0:
        first = broadcast_in_dim_p.bind(as_scalar(start, np.dtype(np.int32)), shape=shape, broadcast_dimensions=())
        columns = add_p.bind(columns, first)
    units = convert(eq_p.bind(rows, columns), aval.dtype, aval.weak_type)
    return reshape_p.bind(units, new_sizes=(total, *aval.shape), dimensions=None)


@hookimpl
def primax_register(registry: core.Registry) -> None:
    registry.array_protocol(
        ShapedArray,
        zeros=zeros_of,
        add=add_any,
        broadcast=_broadcast,
        moveaxis=_moveaxis,
        convert=_convert,
        index=_index,
        stack=_stack,
        select=_select,
        loop=_loop,
        units=_units,
    )
