"""`primax.ds`: a part of an axis with a known length and a start that may be traced."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend.api_util import aval_of, read_size
from primax.extend.core import Tracer, dtypes, get_aval, tree
from primax.numpy.brackets import expanded, read_entries
from primax.plugins.arithmetic import add, clamp
from primax.plugins.bitwise import bitwise_and
from primax.plugins.comparison import ge, le
from primax.plugins.indexing import GatherScatterMode, dynamic_slice
from primax.plugins.indexing.positions import from_the_end
from primax.plugins.structural import convert_element_type, full_like, select

__all__ = ["Slice", "cut", "ds", "dslice", "is_sliced", "with_positions"]

_MISSING: Any = object()


class Slice:
    """A part of an axis, as `ds` returns it.

    Attributes:
      start: the first position, an integer of rank 0; it may be traced.
      size: the number of positions.
      stride: the distance between positions.
    """

    __slots__ = ("size", "start", "stride")

    def __init__(self, start: Any, size: int, stride: int = 1) -> None:
        self.start = start
        self.size = size
        self.stride = stride

    @property
    def span(self) -> int:
        """The length of the range that the positions cover."""
        return (self.size - 1) * self.stride + 1 if self.size else 0

    def known(self) -> slice | None:
        """The slice with the same positions; None if the start is traced."""
        start = self.start
        if isinstance(start, Tracer):
            if not start.is_concrete:
                return None
            start = start.concrete()
        first = int(start)
        end = first + self.span
        return slice(first, None if first < 0 <= end else end, self.stride)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Slice) and _parts(self) == _parts(other)

    def __repr__(self) -> str:
        return f"Slice(start={self.start!r}, size={self.size}, stride={self.stride})"


def _parts(part: Slice) -> tuple[Any, int, int]:
    return part.start, part.size, part.stride


tree.register_pytree_node(Slice, lambda part: ((part.start,), (part.size, part.stride)), lambda aux, x: Slice(*x, *aux))


def ds(start: Any, size: Any = _MISSING, stride: int | None = None) -> Slice | slice:
    """An index of `size` elements from `start` on, which may be traced; the length of the result is known.

    `ds(None)` is `:`, and `ds(n)` is `:n`. In `x[...]` a part that would extend beyond the axis is moved inside if its
    start is traced, as in `lax.dynamic_slice`, and cut off if it is known. `x.at[...]` drops it, unless its mode says
    otherwise.

    Args:
      start: an integer of rank 0; negative ones count from the end.
      size: the number of elements.
      stride: the distance between elements; 1 if None.

    Raises:
      TypeError: `start` is not an integer of rank 0, or `size` or `stride` is not an integer.
      ValueError: `size` is negative, or `stride` is not positive.

    >>> import primax as px
    >>> x = px.numpy.arange(10)
    >>> px.jit(lambda i: x[px.ds(i, 3)])(4)
    Array([4, 5, 6], dtype=int32)
    """
    if size is _MISSING:
        if start is None:
            return slice(None)
        start, size = 0, start
    if start is None:
        start = 0
    _check_start(start)
    step = 1 if stride is None else read_size("ds", "stride", stride)
    if not step:
        raise ValueError("ds: stride must be positive, got 0")
    return Slice(start, read_size("ds", "size", size), step)


dslice = ds


def _check_start(start: Any) -> None:
    aval = aval_of("ds", "start", start)
    if aval.shape or not dtypes.is_integer(aval.dtype):
        raise TypeError(f"ds: start must be an integer of rank 0, got {aval.str_short()}")


def is_sliced(index: Any) -> bool:
    """Whether an index has an entry that `ds` made."""
    return type(index) is Slice or (type(index) is tuple and Slice in map(type, index))


def _placed(shape: tuple[int, ...], index: Any) -> tuple[list[Any], list[tuple[int, int, Slice]]]:
    """The entries of an index, one for each axis; and the position, axis and part of each traced `Slice` in it.

    Each traced `Slice` is replaced by a slice.
    """
    entries = index if type(index) is tuple else (index,)
    found: dict[int, tuple[slice, Slice]] = {}
    read: list[Any] = []
    for entry in entries:
        if type(entry) is Slice:
            _check_start(entry.start)  # a function of trees may have replaced it
            part, entry = entry, entry.known()
            if entry is None:
                entry = slice(None, None, part.stride)
                found[id(entry)] = entry, part
        read.append(entry)
    within = expanded(shape, read_entries(tuple(read)))
    parts: list[tuple[int, int, Slice]] = []
    axis = 0
    for position, entry in enumerate(within):
        if id(entry) in found:
            parts.append((position, axis, found[id(entry)][1]))
        axis += entry is not None and type(entry) is not bool
    return within, parts


def cut(x: Any, index: Any) -> tuple[Any, tuple[Any, ...]]:
    """An array after all traced parts of an index are read, and the index that remains."""
    shape = get_aval(x).shape
    entries, parts = _placed(shape, index)
    if parts:
        starts: list[Any] = [0] * len(shape)
        sizes = list(shape)
        for _, axis, part in parts:
            _check_span(part, axis, shape)
            starts[axis] = part.start
            sizes[axis] = part.span
        x = dynamic_slice(x, starts, sizes)
    return x, tuple(entries)


def with_positions(shape: tuple[int, ...], index: Any, mode: GatherScatterMode) -> tuple[Any, ...]:
    """An index with an array of positions for a traced part.

    A part that extends beyond its axis is moved inside for the modes that clip; otherwise all its positions are out of
    range, or for a stride above 1 each that is.

    Raises:
      IndexError: there are entries beside it that are not slices, None or Ellipsis.
    """
    entries, parts = _placed(shape, index)
    if not parts:
        return tuple(entries)
    ((position, axis, part), *others) = parts
    if others or any(
        i != position and entry is not None and type(entry) is not slice for i, entry in enumerate(entries)
    ):
        raise IndexError(
            "x.at[...] takes a part with a traced start only beside slices, None and Ellipsis; "
            "use lax.dynamic_update_slice for more of them"
        )
    _check_span(part, axis, shape)
    size = shape[axis]
    start = part.start
    if dtypes.itemsize_bits(get_aval(start).dtype) < 32:
        start = convert_element_type(start, np.int32)
    start = from_the_end(start, size)
    dtype = get_aval(start).dtype
    first, last = dtype.type(0), dtype.type(size - part.span)
    if mode in (GatherScatterMode.CLIP, GatherScatterMode.PROMISE_IN_BOUNDS):
        start = clamp(first, start, last)
    elif part.stride == 1:
        start = select(bitwise_and(ge(start, first), le(start, last)), start, full_like(start, size))
    entries[position] = add(start, np.arange(part.size, dtype=dtype) * dtype.type(part.stride))
    return tuple(entries)


def _check_span(part: Slice, axis: int, shape: tuple[int, ...]) -> None:
    if part.span > shape[axis]:
        raise IndexError(
            f"a part of an axis must not be longer than the axis, got {part} for axis {axis} of an array of shape "
            f"{shape}"
        )
