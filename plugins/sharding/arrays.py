"""Arrays over several devices, made from their parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import tree
from primax.extend.provisional import runtime
from primax.extend.provisional.arguments import integer, numpy_dtype
from primax.extend.provisional.arguments import sequence as read_sequence
from primax.extend.provisional.avals import ExtendedArray
from primax.extend.provisional.sharding import canonical_sharding
from primax.extend.provisional.typing import BaseSharding, DTypeLike, ShapeLike, ShardingLike


def _shape(function: str, shape: Any) -> tuple[int, ...]:
    return tuple(integer(function, "each of shape", size) for size in read_sequence(function, "shape", shape))


def _sharding(function: str, sharding: Any) -> BaseSharding:
    canonical = canonical_sharding(function, "sharding", sharding)
    if canonical is None:
        raise TypeError(f"{function}: sharding must be given, got None")
    return canonical


def _refuse_summands(function: str, sharding: Any) -> None:
    """Raise an error for a sharding over summands: the index of a part does not determine its summand.

    Raises:
      ValueError: `sharding` is such a sharding.
    """
    if getattr(getattr(sharding, "spec", None), "unreduced", ()):
        raise ValueError(
            f"{function}: sharding must not be unreduced, got {sharding}; make_array_from_single_device_arrays takes "
            "each device's summand"
        )


def make_array_from_callback(
    shape: ShapeLike, sharding: ShardingLike, data_callback: Callable[[Any], Any], dtype: DTypeLike | None = None
) -> core.Array:
    """An array whose shards a function returns for their indices.

    Args:
      shape: the shape of the whole.
      sharding: the sharding of the array.
      data_callback: a function from a tuple of slices to that part of the array; called for the shards of this process.
      dtype: the dtype to which the parts are converted; None keeps theirs.

    Raises:
      ValueError: the sharding cannot divide the shape, or the parts have other shapes or several dtypes.

    >>> import numpy as np, primax as px
    >>> mesh = px.make_mesh((1,), ("i",))
    >>> x = np.arange(4.0)
    >>> px.make_array_from_callback((4,), px.NamedSharding(mesh, px.P("i")), lambda index: x[index]).tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    function = "make_array_from_callback"
    kind = None if dtype is None else numpy_dtype(function, "dtype", dtype)
    shape, sharding = _shape(function, shape), _sharding(function, sharding)
    sharding.check_shape(shape, function)
    _refuse_summands(function, sharding)
    data: dict[Any, Any] = {}
    parts = []
    for device, index in sharding.addressable_devices_indices_map(shape).items():
        key = tuple((part.start, part.stop) for part in index)
        if key not in data:
            part = data_callback(index)
            if type(part) is not ExtendedArray:
                part = np.asarray(part)
            data[key] = part if kind is None else part.astype(kind)
        parts.append(runtime.put_value(data[key], False, device))
    return _assembled(function, shape, sharding, parts)


def make_array_from_single_device_arrays(
    shape: ShapeLike, sharding: ShardingLike, arrays: Sequence[Any], *, dtype: DTypeLike | None = None
) -> core.Array:
    """An array from arrays on single devices of this process, without a copy.

    Args:
      shape: the shape of the whole.
      sharding: the sharding of the array.
      arrays: one array on each device of this process in the sharding, in any order.
      dtype: the dtype of the whole, if there are no parts; otherwise it must be theirs.

    Raises:
      TypeError: `arrays` holds something else than arrays.
      ValueError: a part is missing, is on several devices, or has another shape or dtype.

    Examples:
      >>> import primax as px
      >>> import numpy as np
      >>> mesh = px.make_mesh((1,), ("x",))
      >>> part = px.device_put(np.arange(4), mesh.devices[0])
      >>> px.make_array_from_single_device_arrays((4,), px.NamedSharding(mesh, px.P("x")), [part])
      Array([0, 1, 2, 3], dtype=int32)
      >>> px.make_array_from_single_device_arrays((5,), px.NamedSharding(mesh, px.P("x")), [part])
      Traceback (most recent call last):
          ...
      ValueError: make_array_from_single_device_arrays: parts must be of shape (5,), got (4,)
    """
    function = "make_array_from_single_device_arrays"
    shape, sharding = _shape(function, shape), _sharding(function, sharding)
    sharding.check_shape(shape, function)
    for x in arrays:
        if not isinstance(x, core.Array):
            raise TypeError(f"{function}: arrays must be arrays on one device each, got {x!r}")
        if type(x) not in (core.Array, ExtendedArray) or len(x.devices()) != 1:
            raise ValueError(f"{function}: arrays must be arrays on one device each, got {x!r}")
    by_device = {x.device: x for x in arrays}
    spans = sharding.addressable_devices_indices_map(shape)
    if set(by_device) != set(spans) or len(by_device) < len(arrays):
        raise ValueError(
            f"{function}: arrays must be one on each of {list(map(str, spans))}, got {[str(x.device) for x in arrays]}"
        )
    array: Any = _assembled(function, shape, sharding, [by_device[device] for device in spans])
    if dtype is not None and array.dtype != dtypes.check_user_dtype(dtype, "dtype", function):
        raise ValueError(f"{function}: dtype must be that of the parts, {array.dtype}, got {dtype}")
    if type(array) is ExtendedArray:
        array.base = runtime.shared(array.base)
        return array  # type: ignore[return-value]
    return runtime.shared(array)


def make_array_from_process_local_data(sharding: ShardingLike, local_data: object, global_shape: object = None) -> Any:
    """An array from the local data of each process.

    Args:
      sharding: the sharding of the whole array.
      local_data: the part of this process, or the whole array; or containers of these, for several arrays.
      global_shape: the shape of the whole. If it is None, or has None as the length of an axis, the parts of the
        processes are concatenated along that axis. For containers it is None, or has a tuple for each array.

    Raises:
      ValueError: the shape of the local part does not fit.

    Examples:
      >>> import primax as px
      >>> import numpy as np
      >>> mesh = px.make_mesh((1,), ("x",))
      >>> px.make_array_from_process_local_data(px.NamedSharding(mesh, px.P("x")), np.arange(4)).shape
      (4,)
    """
    function = "make_array_from_process_local_data"
    sharding = _sharding(function, sharding)
    _refuse_summands(function, sharding)
    leaves, structure = tree.flatten(local_data)
    shapes = [None] * len(leaves) if global_shape is None else structure.flatten_up_to(global_shape)
    arrays = [_from_local_data(function, sharding, x, shape) for x, shape in zip(leaves, shapes, strict=True)]
    return tree.unflatten(structure, arrays)


def _from_local_data(function: str, sharding: Any, local_data: Any, global_shape: Any) -> core.Array:
    local = np.asarray(local_data)
    spans = _process_spans(sharding, local.ndim)
    sizes = (
        (None,) * local.ndim if global_shape is None else tuple(read_sequence(function, "global_shape", global_shape))
    )
    if len(sizes) != local.ndim:
        raise ValueError(f"{function}: global_shape must have {local.ndim} axes, as local_data has, got {sizes}")
    shape = tuple(
        size * count if length is None else integer(function, "each of global_shape", length)
        for size, length, (count, _) in zip(local.shape, sizes, spans, strict=True)
    )
    for size, whole, (count, _) in zip(local.shape, shape, spans, strict=True):
        if size not in (whole, whole // count):
            raise ValueError(
                f"{function}: local_data of shape {local.shape} must be the part of one process, or all, of {shape}"
            )
    starts = [
        0 if size == whole else place * size for size, whole, (_, place) in zip(local.shape, shape, spans, strict=True)
    ]

    def part(index: Any) -> np.ndarray:
        return local[
            tuple(
                slice((s.start or 0) - start, (whole if s.stop is None else s.stop) - start)
                for s, start, whole in zip(index, starts, shape, strict=True)
            )
        ]

    return make_array_from_callback(shape, sharding, part)


def _process_spans(sharding: Any, ndim: int) -> list[tuple[int, int]]:
    """For each axis the number of processes that divide it, and the part of this process."""
    tiles, places = sharding.tiles(ndim), sharding.places(ndim)
    devices = list(sharding.devices_indices_map(tiles))
    own = sharding.addressable_devices
    mine = np.array([device in own for device in devices])
    spans = []
    for axis in range(ndim):
        numbers = sorted(set(places[mine, axis].tolist()))
        count = tiles[axis] // max(len(numbers), 1)
        spans.append((count, numbers[0] // max(len(numbers), 1) if numbers else 0))
    return spans


def _assembled(function: str, shape: tuple[int, ...], sharding: Any, parts: Sequence[Any]) -> Any:
    local = sharding.shard_shape(shape)
    dtypes = {str(x.dtype) for x in parts}
    if len(dtypes) > 1:
        raise ValueError(f"{function}: parts must be of the same dtype, got {sorted(dtypes)}")
    for x in parts:
        if x.shape != local:
            raise ValueError(f"{function}: parts must be of shape {local}, got {x.shape}")
    if type(parts[0]) is ExtendedArray:
        dtype = parts[0].dtype
        whole = _assembled(function, (*shape, *dtype.element_shape), sharding, [x.base for x in parts])
        return ExtendedArray(whole, dtype)
    aval = parts[0].aval.update(shape=shape)
    return runtime.of_parts(aval, sharding, parts)
