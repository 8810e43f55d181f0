"""`x[...]`: reading elements and parts of arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from primax.extend import backend
from primax.extend.core import Array, ShapedArray, Tracer, config, get_aval
from primax.extend.dimensions import max_dim, min_dim
from primax.extend.interpreters.partial_eval import StagingTrace
from primax.extend.provisional.arguments import canonical_axis, of_call
from primax.extend.provisional.avals import ExtendedArray, array_of, arrays_of
from primax.extend.provisional.tracing import thread
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.brackets import ADVANCED, NEW, Index, expanded, read_entries, resolve
from primax.numpy.creation import constant
from primax.numpy.dslice import cut, is_sliced
from primax.numpy.vectors import common_dtype, windows_of
from primax.plugins.indexing import GatherScatterMode, dynamic_slice_p, gather_p
from primax.plugins.indexing.gather import fill_of
from primax.plugins.indexing.positions import clipped, from_the_end
from primax.plugins.structural import (
    broadcast_in_dim_p,
    convert_element_type_p,
    reshape_p,
    rev_p,
    slice_p,
    squeeze_p,
    unstack_p,
    zeros_of,
)

__all__ = ["unstack"]

_FILL, _PROMISE = GatherScatterMode.FILL_OR_DROP, GatherScatterMode.PROMISE_IN_BOUNDS

_OFTEN = 32  # splits of arrays of the same type after which a program is compiled for them
_MANY = 64  # more elements are always copied one by one, since compiling would take long
_splits: dict[Any, int] = {}  # how often arrays of a type were split along an axis


def getitem(x: Any, index: Any) -> Array:
    """`x[index]`.

    Args:
      x: an array.
      index: an integer, a slice, None, Ellipsis, a bool, an array of integers, a mask, or a tuple of these. Integers
        may be traced. An integer out of range reads the nearest element, as in JAX; `x.at[index].get(mode=...)` has
        other modes. `primax.ds` makes a part of an axis with a traced start.

    Raises:
      IndexError: there are more entries than axes, or two Ellipses; an axis is empty; a mask does not fit or is traced.
      TypeError: an entry has another type.
    """
    if is_sliced(index):
        x, index = cut(x, index)
    if _is_readable(x):
        element = _of_host(x, index)
        if element is not None:
            return element
    return read(x, resolve(x.aval.shape, read_entries(index)))


def readable(x: Any) -> bool:
    """Whether parts of an array can be copied on the host at once, without compiling a program."""
    return type(x) is Array and not thread.trace.tracing and x.platform() == "cpu" and not x._b._committed


def _is_readable(x: Any) -> bool:
    """`readable`, also for arrays of extended dtypes, unless uses of random keys are checked."""
    if type(x) is ExtendedArray:
        return x.size > 0 and readable(x.base) and not config.debug_key_reuse.value
    return readable(x)


def _on_host(x: Any) -> np.ndarray:
    """The value on the host; elements of an extended dtype as bytes."""
    if type(x) is Array:
        return backend.host_value(x)
    base = np.ascontiguousarray(backend.host_value(x.base))
    return np.ndarray(x.shape, f"V{base.nbytes // x.size}", base.data)


def _from_host(part: np.ndarray, x: Any) -> Any:
    """Convert a part of a result of `_on_host` to an array like `x`."""
    if type(x) is Array:
        # jaxlib keeps the part for a while, and with it the buffer of `x`, which a donation could not take.
        return array_of(part.copy() if part.nbytes < 1 << 16 else part, x.aval)
    base = x.base.aval
    elements = np.frombuffer(part.tobytes(), base.dtype).reshape((*part.shape, *x.dtype.element_shape))
    return ExtendedArray(array_of(elements, base), x.dtype)


def _of_host(x: Any, index: Any) -> Array | None:
    """The part, copied on the host; None if the index is not known on the host."""
    host = _on_host(x)
    if type(index) is int and host.ndim and -len(host) <= index < len(host):
        return _from_host(host[index, ...], x)
    axis = 0
    within = expanded(host.shape, read_entries(index))
    for i, entry in enumerate(within):
        kind = type(entry)
        if entry is not None and kind is not bool:
            if kind is not slice:
                if kind is not int and kind is not np.ndarray:
                    return None
                size = host.shape[axis]
                if kind is int or entry.size:
                    _require_elements(size, axis, host.shape)
                    within[i] = min(max(entry, -size), size - 1) if kind is int else clipped(entry, -size, size - 1)
            axis += 1
    try:
        part = host[tuple(within)]
    except (IndexError, ValueError) as error:  # a step of 0, or more axes than NumPy allows
        raise type(error)(f"{error}{of_call()}") from None
    return _from_host(part, x)


def _require_elements(size: int, axis: int, shape: tuple[int, ...]) -> None:
    if not size:
        raise IndexError(f"an axis that is indexed must hold elements, got axis {axis} of an array of shape {shape}")


def indexed_shape(index: Index) -> tuple[int, ...]:
    """The shape of the elements that an index reads."""
    shape: list[int] = []
    for place in index.places:
        if place is NEW:
            shape.append(1)
        elif place is ADVANCED:
            shape += index.advanced
        else:
            shape.append(index.axes[place][1])
    return tuple(shape)


def read(
    x: Any,
    index: Index,
    mode: GatherScatterMode = _PROMISE,
    fill_value: Any = None,
    unique: bool = False,
    in_order: bool = False,
    wrap: bool = True,
) -> Array:
    """The elements at an index.

    Args:
      x: an array.
      index: resolved for its shape.
      mode: how to read integers out of range.
      fill_value: the value for windows out of range with `FILL_OR_DROP`, such as all windows along an empty axis.
      unique: a promise that no element is read twice.
      in_order: a promise that integers are in ascending order.
      wrap: whether negative integers count from the end.
    """
    aval = get_aval(x)
    shape = indexed_shape(index)
    if index.shape != aval.shape:
        x = reshape_p.bind(x, new_sizes=index.shape, dimensions=None)
    if not index.simple and 0 in shape:
        return zeros_of(ShapedArray(shape, aval.dtype, aval.weak_type))
    if 0 in index.shape:
        empty = [axis for axis, size in enumerate(index.shape) if not size and type(index.axes[axis]) is not tuple]
        if empty and mode is _FILL and 0 not in shape:
            return constant(fill_of(aval.dtype, fill_value), shape, aval.dtype, aval.weak_type)
        for axis in empty:
            _require_elements(0, axis, aval.shape)
    outside = mode is _PROMISE and _has_int_out_of_range(index, wrap)
    if index.advanced is None and (mode is not _FILL or _is_inside(index, wrap)):
        at_once = index.simple and (int not in map(type, index.axes) or (not outside and _staged()))
        out = _sliced(x, index, wrap) if at_once else _dynamic_part(x, index, wrap)
        dropped = tuple([axis for axis, entry in enumerate(index.axes) if type(entry) is not tuple])
        if dropped:
            out = squeeze_p.bind(out, dimensions=dropped)
        kept = tuple([position for position, place in enumerate(index.places) if place is not NEW])
        return broadcast_in_dim_p.bind(out, shape=shape, broadcast_dimensions=kept) if NEW in index.places else out
    else:
        if mode is not _FILL and wrap and not outside:
            x, index = _without_slices(x, index, with_ints=True)
        else:
            x, index = _without_slices(x, index, with_ints=False)
        windows = windows_of(index, wrap)
        out = gather_p.bind(
            x,
            windows.indices,
            dimension_numbers=windows.numbers,
            slice_sizes=windows.sizes,
            fill_value=fill_value,
            unique_indices=unique or windows.unique,
            indices_are_sorted=in_order or windows.sorted,
            mode=mode,
        )
    return out if get_aval(out).shape == shape else reshape_p.bind(out, new_sizes=shape, dimensions=None)


def _staged() -> bool:
    """Whether a program is being traced, so that operations on positions compile nothing of their own."""
    trace = thread.trace
    while trace.tracing:
        if isinstance(trace, StagingTrace):
            return True
        trace = trace.parent
    return False


def is_checkable(index: Index, wrap: bool) -> bool:
    """Whether an int is out of range in a program, whose transformations may check for that."""
    return _has_int_out_of_range(index, wrap) and _staged()


def _has_int_out_of_range(index: Index, wrap: bool) -> bool:
    """Whether an int is out of range, but not so far that index vectors cannot hold it."""
    return any(
        type(entry) is int and not (-size if wrap else 0) <= entry < size and -(2**30) < entry < 2**30
        for entry, size in zip(index.axes, index.shape, strict=True)
    )


def _is_inside(index: Index, wrap: bool) -> bool:
    """Whether all positions are known, and in range."""
    if not index.simple:
        return False
    return all(
        type(entry) is tuple or (-size if wrap else 0) <= entry < size
        for entry, size in zip(index.axes, index.shape, strict=True)
    )


def nearest(position: int, size: int, wrap: bool = True) -> int:
    """Clamp a position to an axis of a given length."""
    return min_dim(max_dim(position + size if wrap and position < 0 else position, 0), size - 1)


def _sliced(x: Any, index: Index, wrap: bool = True) -> Array:
    """The elements at ints and slices, before axes are removed."""
    starts, limits, steps, flipped = [], [], [], []
    for axis, (entry, size) in enumerate(zip(index.axes, index.shape, strict=True)):
        if type(entry) is tuple:
            start, count, step = entry
            last = start + (count - 1) * step
            if step < 0:
                flipped.append(axis)
                start, last, step = last, start, -step
            starts.append(start)
            limits.append(last + 1 if count else start)
            steps.append(1 if count == 1 or count == 0 else step)
        else:
            position = 0 if type(entry) is not int else nearest(entry, size, wrap)
            starts.append(position)
            limits.append(position + 1)
            steps.append(1)
    if any(starts) or tuple(limits) != index.shape or any(step != 1 for step in steps):
        strides = tuple(steps) if any(step != 1 for step in steps) else None
        x = slice_p.bind(x, start_indices=tuple(starts), limit_indices=tuple(limits), strides=strides)
    return rev_p.bind(x, dimensions=tuple(flipped)) if flipped else x


def _without_slices(x: Any, index: Index, with_ints: bool) -> tuple[Any, Index]:
    """The array after slices, and ints if `with_ints`, are applied, and the index that remains."""
    axes: list[Any] = []
    rest: list[Any] = []
    for entry, size in zip(index.axes, index.shape, strict=True):
        if type(entry) is tuple:
            axes.append(entry)
            rest.append((0, entry[1], 1))
        elif type(entry) is int and with_ints:
            axes.append((nearest(entry, size), 1, 1))
            rest.append(0)
        else:
            axes.append((0, size, 1))
            rest.append(entry)
    cut = _sliced(x, Index(index.shape, axes, [], None, True))
    return cut, Index(get_aval(cut).shape, rest, index.places, index.advanced, False)


def _dynamic_part(x: Any, index: Index, wrap: bool) -> Array:
    """The elements at ints, slices and traced integers, before axes are removed."""
    if any(type(entry) is tuple and entry[2] != 1 for entry in index.axes):
        x, index = _without_slices(x, index, with_ints=False)
    starts: list[Any] = []
    sizes = []
    traced = []
    for entry, size in zip(index.axes, index.shape, strict=True):
        if type(entry) is tuple:
            starts.append(entry[0])
            sizes.append(entry[1])
            continue
        if type(entry) is int:
            starts.append(entry + size if wrap and entry < 0 else entry)
        else:
            position = from_the_end(entry, size) if wrap else entry
            starts.append(position)
            traced.append(position.aval.dtype)
        sizes.append(1)
    dtype = common_dtype(traced)
    limits = np.iinfo(dtype)  # the slice itself clamps to the axis, which can be checked
    for i, start in enumerate(starts):
        if isinstance(start, Tracer | Array):
            if start.aval.dtype != dtype:
                starts[i] = convert_element_type_p.bind(start, new_dtype=dtype, weak_type=False)
        else:
            starts[i] = dtype.type(min(max(start, int(limits.min)), int(limits.max)))
    return dynamic_slice_p.bind(x, *starts, slice_sizes=tuple(sizes))


def take_slice(x: Any, start: int, limit: int, axis: int) -> Array:
    """The part of an array between two positions along one axis."""
    shape = get_aval(x).shape
    if start == 0 and limit == shape[axis]:
        return x
    starts, limits = [0] * len(shape), list(shape)
    starts[axis], limits[axis] = start, limit
    return slice_p.bind(x, start_indices=tuple(starts), limit_indices=tuple(limits), strides=None)


def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Any, ...]:
    """Split an array along an axis into arrays without that axis.

    Args:
      x: an array.
      axis: the axis.

    Raises:
      TypeError: the axis is not an integer.
      ValueError: `x` is of rank 0, or `axis` is out of range.

    >>> import primax as px
    >>> px.numpy.unstack(px.numpy.array([1, 2]))
    (Array(1, dtype=int32), Array(2, dtype=int32))
    """
    shape = get_aval(x).shape
    if not shape:
        raise ValueError("unstack: x must have an axis, got an array of rank 0")
    axis = canonical_axis(axis, len(shape), "unstack")
    if _is_readable(x) and not _deserves_program(x, axis):
        host = np.moveaxis(_on_host(x), axis, 0)
        if type(x) is Array:
            return tuple(arrays_of(host, x.weak_type))
        return tuple([_from_host(host[i, ...], x) for i in range(shape[axis])])
    if shape[axis] == 0:
        return ()
    return tuple(unstack_p.bind(x, axis=axis))


def _deserves_program(x: Any, axis: int) -> bool:
    """Whether arrays of a type were split so often that a compiled program saves time: each copy takes 4 µs."""
    key = x.aval, axis
    count = _splits.get(key, 0)
    if count < _OFTEN:
        if len(_splits) >= 1024:
            _splits.clear()
        _splits[key] = count + 1
    return count >= _OFTEN and 0 < x.shape[axis] <= _MANY


def iterate(x: Any) -> Iterator[Any]:
    """The elements along the first axis, as `iter(x)` returns them."""
    if not x.aval.shape:
        raise TypeError(f"an array must have an axis to be iterated over, got {x.aval.str_short()}")
    if type(x) is Array and x.shape[0] > _MANY and readable(x):
        return _in_chunks(x, _on_host(x))  # an error of the computation is raised here, before `list` needs memory
    return iter(unstack(x))


def _in_chunks(x: Array, host: np.ndarray) -> Iterator[Any]:
    """The elements of a concrete array, created on request: `numpy.iterable` requests none."""
    for start in range(0, x.shape[0], _MANY):
        if x.is_deleted():
            _on_host(x)  # raises an error that says why
        yield from arrays_of(host[start : start + _MANY], x.weak_type)
