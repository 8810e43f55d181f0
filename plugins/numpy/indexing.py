"""`x[...]` with static indices: integers, slices, None, Ellipsis and booleans."""

from __future__ import annotations

from collections.abc import Iterator
from operator import index as as_index
from typing import Any

import numpy as np

from primax.extend import backend, core
from primax.extend.core import Array, Tracer, dtypes, get_aval
from primax.plugins.structural import reshape_p, rev_p, slice_p, split_p, squeeze_p

__all__ = ["getitem", "iterate", "take_slice", "unstack"]

_NO_GATHER = (
    "indexing with arrays, masks and values that are traced needs gather and dynamic_slice, which no active plugin "
    "supplies; integers, slices, None, Ellipsis, True and False work"
)


def getitem(x: Any, index: Any) -> Any:
    """`x[index]` for a static index.

    Args:
      x: an array.
      index: an integer, a slice, None, Ellipsis, a Python bool, or a tuple of these. Integers that are out of range
        are clamped to it, as in jax.

    Raises:
      IndexError: there are more indices than axes, or two Ellipses, or an axis is empty.
      TypeError: an index is of another kind.
      NotImplementedError: an index is an array, a mask or a traced value.
    """
    return _of_host(x, index) if readable(x) else _carry_out(x, _plan(get_aval(x).shape, _entries(index)))


def readable(x: Any) -> bool:
    """Whether parts of an array can be copied out of it on the host at once, without compiling a program."""
    return type(x) is Array and not core.thread.trace.tracing and x._b.platform() == "cpu" and not x._b._committed


def _of_host(x: Array, index: Any) -> Any:
    host, weak = x._host(), x._b.aval.weak_type
    if type(index) is int and host.ndim and -len(host) <= index < len(host):
        return backend.put_value(host[index, ...], weak)
    return backend.put_value(_carry_out_on_host(host, _plan(host.shape, _entries(index))), weak)


def _entries(index: Any) -> tuple[Any, ...]:
    if type(index) is tuple:
        return tuple(map(_static, index))
    if isinstance(index, list):
        raise TypeError("an index must not be a list: make it an array, or a tuple for one index per axis")
    return (_static(index),)


def _static(entry: Any) -> Any:
    """An entry of an index as an int, a bool, a slice of ints, None or Ellipsis."""
    kind = type(entry)
    if kind is int or entry is None or entry is Ellipsis or kind is bool:
        return entry
    if kind is slice:
        return slice(*(None if part is None else _integer(part, "a bound of a slice") for part in _bounds(entry)))
    if isinstance(entry, np.bool_):
        return bool(entry)
    if isinstance(entry, Array | Tracer | np.ndarray):
        if not entry.shape and dtypes.is_integer(entry.dtype):
            return _integer(entry, "an index")
        if not dtypes.is_integer(entry.dtype) and not dtypes.is_bool(entry.dtype):
            raise TypeError(f"an index must be of an integer or boolean dtype, got {get_aval(entry).str_short()}")
        raise NotImplementedError(f"an index is {get_aval(entry).str_short()}: {_NO_GATHER}")
    if isinstance(entry, list):
        raise NotImplementedError(f"an index is a list: {_NO_GATHER}")
    try:
        return as_index(entry)
    except TypeError:
        raise TypeError(
            f"an index must be an integer, a slice, None, Ellipsis, a bool or an array of these, got {entry!r}"
        ) from None


def _bounds(entry: slice) -> tuple[Any, Any, Any]:
    return entry.start, entry.stop, entry.step


def _integer(entry: Any, what: str) -> int:
    if isinstance(entry, Tracer) and not entry.is_concrete:
        raise NotImplementedError(f"{what} is {entry.describe()} whose value is not known: {_NO_GATHER}")
    return as_index(entry)


class _Plan:
    """A static index, resolved for a shape.

    Attributes:
      starts, limits, steps: bounds of a slice with positive steps.
      reversed: axes to reverse after slicing.
      dropped: axes, of length 1 after slicing, that go.
      shape: the shape of the result.
      plain: whether the result has no new axes, so that dropping axes is all that is left.
    """

    __slots__ = ("dropped", "limits", "plain", "reversed", "shape", "starts", "steps")

    def __init__(self, starts: Any, limits: Any, steps: Any, reversed: Any, dropped: Any, shape: Any, plain: bool):
        self.starts = starts
        self.limits = limits
        self.steps = steps
        self.reversed = reversed
        self.dropped = dropped
        self.shape = shape
        self.plain = plain


def _plan(shape: tuple[int, ...], entries: tuple[Any, ...]) -> _Plan:
    used = sum(1 for entry in entries if entry is not None and entry is not Ellipsis and type(entry) is not bool)
    if used > len(shape):
        raise IndexError(f"an index must have at most one entry per axis, got {used} for an array of shape {shape}")
    if sum(1 for entry in entries if entry is Ellipsis) > 1:
        raise IndexError(f"an index must have at most one Ellipsis, got {entries}")
    if Ellipsis not in entries:
        entries = (*entries, Ellipsis)
    starts, limits, steps = [], [], []
    flipped, dropped = [], []
    out: list[int] = []
    place = _place_of_bools(entries)
    axis = 0
    for position, entry in enumerate(entries):
        if position == place[0]:
            out.insert(
                place[1] if place[1] is not None else len(out),
                int(all(e for e in entries if type(e) is bool)),
            )
        if entry is Ellipsis:
            for size in shape[axis : axis + len(shape) - used]:
                starts.append(0)
                limits.append(size)
                steps.append(1)
                out.append(size)
                axis += 1
        elif entry is None:
            out.append(1)
        elif type(entry) is int:
            size = shape[axis]
            if size == 0:
                raise IndexError(f"an index of axis {axis} must be in range, got {entry} for an array of shape {shape}")
            start = min(max(entry + size if entry < 0 else entry, 0), size - 1)
            starts.append(start)
            limits.append(start + 1)
            steps.append(1)
            dropped.append(axis)
            axis += 1
        elif type(entry) is slice:
            start, stop, step = entry.indices(shape[axis])
            count = len(range(start, stop, step))
            if count == 0:
                start, stop, step = 0, 0, 1
            elif step < 0:
                flipped.append(axis)
                start, stop, step = start + (count - 1) * step, start + 1, -step
            starts.append(start)
            limits.append(stop if step == 1 else start + (count - 1) * step + 1 if count else stop)
            steps.append(step)
            out.append(count)
            axis += 1
    plain = place[0] is None and None not in entries
    return _Plan(starts, limits, steps, flipped, dropped, tuple(out), plain)


def _place_of_bools(entries: tuple[Any, ...]) -> tuple[int | None, int | None]:
    """Where the one axis that bools make goes: before an entry, or in front if the advanced entries are apart.

    Integers next to bools count as advanced entries, as in NumPy.
    """
    if not any(type(entry) is bool for entry in entries):
        return None, None
    advanced = [i for i, entry in enumerate(entries) if type(entry) in (bool, int)]
    if advanced[-1] - advanced[0] + 1 == len(advanced):
        return advanced[0], None
    return 0, 0


def _carry_out(x: Any, plan: _Plan) -> Any:
    shape = get_aval(x).shape
    out = x
    if any(plan.starts) or tuple(plan.limits) != shape or any(step != 1 for step in plan.steps):
        steps = None if all(step == 1 for step in plan.steps) else tuple(plan.steps)
        out = slice_p.bind(out, start_indices=tuple(plan.starts), limit_indices=tuple(plan.limits), strides=steps)
    if plan.reversed:
        out = rev_p.bind(out, dimensions=tuple(plan.reversed))
    if plan.plain:
        return squeeze_p.bind(out, dimensions=tuple(plan.dropped)) if plan.dropped else out
    return _reshaped(out, plan.shape)


def _reshaped(out: Any, shape: tuple[int, ...]) -> Any:
    if 0 in shape and get_aval(out).size:
        empty = (0,) * len(get_aval(out).shape)
        if not empty:
            out, empty = reshape_p.bind(out, new_sizes=(1,), dimensions=None), (0,)
        out = slice_p.bind(out, start_indices=empty, limit_indices=empty, strides=None)
    return out if get_aval(out).shape == shape else reshape_p.bind(out, new_sizes=shape, dimensions=None)


def _carry_out_on_host(host: Any, plan: _Plan) -> Any:
    flipped = plan.reversed
    part = host[tuple([slice(*bounds) for bounds in zip(plan.starts, plan.limits, plan.steps, strict=True)])]
    if flipped:
        part = np.flip(part, flipped)
    if 0 in plan.shape and part.size:
        return np.empty(plan.shape, host.dtype)
    return part.reshape(plan.shape)


def take_slice(x: Any, start: int, limit: int, axis: int) -> Any:
    """The part of an array between two positions along one axis."""
    shape = get_aval(x).shape
    if start == 0 and limit == shape[axis]:
        return x
    starts, limits = [0] * len(shape), list(shape)
    starts[axis], limits[axis] = start, limit
    return slice_p.bind(x, start_indices=tuple(starts), limit_indices=tuple(limits), strides=None)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The arrays that lie along an axis of an array.

    Args:
      x: an array.
      axis: the axis, which the results do not have.

    Raises:
      ValueError: x is of rank 0, or the axis is out of range.

    >>> import primax as px
    >>> px.numpy.unstack(px.numpy.array([1, 2]))
    (Array(1, dtype=int32), Array(2, dtype=int32))
    """
    shape = get_aval(x).shape
    if not shape:
        raise ValueError("unstack: x must have an axis, got an array of rank 0")
    if not -len(shape) <= axis < len(shape):
        raise ValueError(f"unstack: axis must be in [{-len(shape)}, {len(shape)}), got {axis}")
    axis %= len(shape)
    if readable(x):
        host, weak = np.moveaxis(x._host(), axis, 0), x.weak_type
        return tuple([backend.put_value(host[i, ...], weak) for i in range(shape[axis])])
    if shape[axis] == 0:
        return ()
    parts = split_p.bind(x, sizes=(1,) * shape[axis], axis=axis)
    return tuple([squeeze_p.bind(part, dimensions=(axis,)) for part in parts])


def iterate(x: Any) -> Iterator[Any]:
    """The elements along the first axis, as `iter(x)` gives them."""
    if not x.aval.shape:
        raise TypeError(f"an array must have an axis to be iterated over, got {x.aval.str_short()}")
    return iter(unstack(x))
