"""`pmap`: a function mapped over an axis of its arguments, one element for each device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, ParamSpec, TypeVar

import numpy as np

from primax.extend import core
from primax.extend.backend import devices as all_devices
from primax.extend.core import tree
from primax.extend.provisional.arguments import check_function, check_hashable, one_or_several, wraps
from primax.extend.provisional.typing import AxisNames, Device
from primax.extend.sharding import Mesh, PartitionSpec
from primax.plugins.calls import jit
from primax.plugins.sharding.shard_map import shard_map

_UNNAMED = "<pmap>"
_MOST_AXES = 1024

_P = ParamSpec("_P")
_R = TypeVar("_R")


def pmap(
    fun: Callable[_P, _R],
    axis_name: AxisNames | None = None,
    *,
    in_axes: object = 0,
    out_axes: object = 0,
    static_broadcasted_argnums: int | Sequence[int] = (),
    devices: Sequence[Device] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Sequence[int] = (),
) -> Callable[_P, _R]:
    """A function that maps `fun` over an axis of its arguments, each element on its own device.

    It is `jit` of `shard_map` over a mesh of one axis.

    Args:
      fun: a function of one element of each argument.
      axis_name: the name of the axis for collectives inside `fun`.
      in_axes: the axis of each positional argument to map over, or None; an int, or a tuple with one per argument.
        Negative axes count from the last axis of each array.
      out_axes: the mapped axis of results, or None for results that are the same for all elements; a prefix of them.
        Negative axes count from the last axis of each result.
      static_broadcasted_argnums: positions of arguments that are part of the program by value.
      devices: the devices; by default the first ones, one for each element of the axis.
      backend: the platform of the devices.
      axis_size: the length of the mapped axis, needed if no argument is mapped.
      donate_argnums: positions of arguments whose buffers results may reuse.

    Returns:
      A function of whole arrays. The arguments and results are divided among the devices.

    Raises:
      ValueError: mapped axes differ in length or are out of range, or there are too few devices.

    >>> import primax as px
    >>> px.pmap(lambda x: x + 1.0)(px.numpy.zeros((1, 2))).tolist()
    [[1.0, 1.0]]
    """
    check_function("pmap", "fun", fun)
    name = _UNNAMED if axis_name is None else axis_name
    check_hashable("pmap", "axis_name", name)
    static = _positions("static_broadcasted_argnums", static_broadcasted_argnums)
    donated = _positions("donate_argnums", donate_argnums)
    jitted = _jitted(fun, name, in_axes, out_axes, static, devices, backend, axis_size, donated)
    return wraps(fun)(jitted)


def _positions(argument: str, value: Any) -> tuple[int, ...]:
    """Positions as plain integers; an instance of a subclass of `int` may have no hash."""
    return tuple(int.__index__(i) for i in one_or_several("pmap", argument, value, int))


def _jitted(
    fun: Callable[_P, _R],
    name: Any,
    in_axes: Any,
    out_axes: Any,
    static: tuple[int, ...],
    devices: Any,
    platform: Any,
    axis_size: int | None,
    donated: tuple[int, ...],
) -> Callable[..., Any]:
    # Elements are stacked along axis 0 where the axis is negative: ranks of results are known only after tracing.
    out_specs = tree.tree_map(
        lambda axis: _spec(_stacking_axis(_checked("out_axes", axis)), name), out_axes, is_leaf=lambda x: x is None
    )

    def whole(*args: Any, **kwargs: Any) -> Any:
        dynamic = tuple(x for i, x in enumerate(args) if i not in static)
        axes = in_axes
        if isinstance(in_axes, tuple | list):
            if len(in_axes) != len(args):
                raise ValueError(f"pmap: in_axes must have one entry per argument, got {in_axes} for {len(args)}")
            axes = tuple(axis for i, axis in enumerate(in_axes) if i not in static)
        leaves, structure = tree.flatten((dynamic, kwargs))
        flat_axes = list(map(_of_leaf, count(), leaves, tree.flatten_axes("pmap in_axes", structure, (axes, 0))))
        places: list[Any] = []
        mesh = _mesh(devices, platform, _size(leaves, flat_axes, axis_size), name)

        def part(*flat: Any) -> Any:
            own = [x if axis is None else _element(x, axis) for x, axis in zip(flat, flat_axes, strict=True)]
            rest, keywords = tree.unflatten(structure, own)
            mapped = iter(rest)
            positional = [args[i] if i in static else next(mapped) for i in range(len(args))]
            outs, out_tree = tree.flatten(fun(*positional, **keywords))
            places[:] = tree.flatten_axes("pmap out_axes", out_tree, out_axes)
            return tree.unflatten(out_tree, map(_stacked, outs, map(_stacking_axis, places)))

        specs = tuple(_spec(axis, name) for axis in flat_axes)
        stacked = shard_map(part, mesh=mesh, in_specs=specs, out_specs=out_specs, check_vma=False)(*leaves)
        if not any(axis is not None and axis < 0 for axis in places):
            return stacked
        outs, out_tree = tree.flatten(stacked)
        return tree.unflatten(out_tree, map(_in_place, count(), outs, places))

    return jit(whole, static_argnums=static or None, donate_argnums=donated or None)


def _checked(argument: str, axis: Any) -> Any:
    """An axis, or None, that was given."""
    if axis is None:
        return axis
    if not isinstance(axis, int) or isinstance(axis, bool):
        raise TypeError(f"pmap: {argument} must consist of None and of ints, got {axis!r}")
    if not -_MOST_AXES <= axis < _MOST_AXES:
        raise ValueError(
            f"pmap: {argument} must consist of None and of axes from {-_MOST_AXES} to {_MOST_AXES - 1}, got {axis!r}"
        )
    return axis


def _of_leaf(i: int, x: Any, axis: Any) -> Any:
    """The mapped axis of a leaf of the arguments, counted from the first; None if it has none."""
    axis = _checked("in_axes", axis)
    if axis is None:
        return axis
    aval = core.get_aval(x)
    rank = len(aval.shape)
    if not -rank <= axis < rank:
        raise ValueError(f"pmap: in_axes has axis {axis} for leaf {i} of type {aval.str_short()}")
    return axis % rank


def _stacking_axis(axis: Any) -> Any:
    """The axis along which the elements of a result are stacked; see `_in_place`."""
    return axis if axis is None else max(axis, 0)


def _in_place(i: int, x: Any, axis: Any) -> Any:
    """A result with its mapped axis where a negative axis of `out_axes` has it."""
    if axis is None or axis >= 0:
        return x
    aval = core.get_aval(x)
    rank = len(aval.shape)
    if axis < -rank:
        raise ValueError(f"pmap: out_axes has axis {axis} for result {i}, whose type is {aval.str_short()}")
    return core.protocol_of(aval).moveaxis(x, 0, axis + rank)


def _spec(axis: Any, name: Any) -> PartitionSpec:
    return PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, name)


def _size(leaves: list[Any], axes: list[Any], axis_size: int | None) -> int:
    """The number of mapped elements.

    Raises:
      ValueError: arguments differ in it, or no argument determines it.
    """
    sizes = set() if axis_size is None else {axis_size}
    for x, axis in zip(leaves, axes, strict=True):
        if axis is not None:
            sizes.add(core.get_aval(x).shape[axis])
    if len(sizes) != 1:
        if not sizes:
            raise ValueError("pmap: an argument must be mapped (in_axes not None), or axis_size given")
        shapes = ", ".join(
            [str(core.get_aval(x).shape) for x, axis in zip(leaves, axes, strict=True) if axis is not None]
        )
        raise ValueError(
            f"pmap: the mapped axes must have the same size, got {sorted(sizes)} for arguments of shapes {shapes}"
        )
    return sizes.pop()


def _mesh(devices: Any, platform: Any, size: int, name: Any) -> Mesh:
    available = list(all_devices(platform) if devices is None else devices)
    if size > len(available):
        raise ValueError(
            f"pmap: the mapped axis must not be longer than there are devices, {len(available)}, got {size}; "
            "PRIMAX_NUM_CPU_DEVICES sets the number of CPU devices"
        )
    grid = np.empty(size, object)
    grid[:] = available[:size]
    return Mesh(grid, (name,))


def _element(x: Any, axis: int) -> Any:
    if core.get_aval(x).mutable:
        return x.at[(*[slice(None)] * axis, 0)]  # a view, which is read and written as a reference
    return core.protocol_of(core.get_aval(x)).index(x, 0, axis)


def _stacked(x: Any, axis: Any) -> Any:
    return x if axis is None else core.protocol_of(core.get_aval(x)).broadcast(x, 1, axis)
