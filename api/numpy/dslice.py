"""`primax.ds`: a part of an axis with a known length and a start that may be traced."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, Tracer, get_aval, tree
from primax.extend.provisional.arguments import aval_of, index_dtype, read_size
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.brackets import expanded, read_entries
from primax.plugins.arithmetic import add
from primax.plugins.arithmetic import min as min_
from primax.plugins.indexing import GatherDimensionNumbers, GatherScatterMode, dynamic_slice, gather, scatter
from primax.plugins.indexing.dimensions import as_scatter
from primax.plugins.indexing.positions import from_the_end
from primax.plugins.structural import convert_element_type, reshape

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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Slice) and _parts(self) == _parts(other)

    def __repr__(self) -> str:
        return f"Slice(start={self.start!r}, size={self.size}, stride={self.stride})"


def _parts(part: Slice) -> tuple[Any, int, int]:
    return part.start, part.size, part.stride


tree.register_pytree_node(Slice, lambda part: ((part.start,), (part.size, part.stride)), lambda aux, x: Slice(*x, *aux))


def ds(start: ArrayLike | None, size: Any = _MISSING, stride: int | None = None) -> Slice | slice:
    """An index of `size` elements from `start` on, which may be traced; the length of the result is known.

    `ds(None)` is `:`, and `ds(n)` is `:n`. In `x[...]` a part that would extend beyond the axis is moved inside, as in
    `lax.dynamic_slice`. Updates by `x.at[...]` drop such a part, unless their mode says otherwise. If the stride is
    above 1, each position is moved inside or dropped separately.

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


def _placed(shape: tuple[int, ...], index: Any, wrap: bool) -> tuple[list[Any], list[tuple[int, int, Slice]]]:
    """The entries of an index, one for each axis; and the position, axis and part of each `Slice` in it.

    Each `Slice` is replaced by a slice. Those that are known to be in range are not returned.

    Raises:
      IndexError: a part is longer than its axis.
    """
    sliced_parts: dict[int, tuple[slice, Slice]] = {}
    read: list[Any] = []
    for entry in index if type(index) is tuple else (index,):
        if type(entry) is Slice:
            _check_start(entry.start)  # a function of trees may have replaced it
            part, entry = entry, slice(None, None, entry.stride)
            sliced_parts[id(entry)] = entry, part
        read.append(entry)
    entries = expanded(shape, read_entries(tuple(read)))
    parts: list[tuple[int, int, Slice]] = []
    axis = 0
    for position, entry in enumerate(entries):
        if id(entry) in sliced_parts:
            part = sliced_parts[id(entry)][1]
            _check_span(part, axis, shape)
            first = _first(part, shape[axis], wrap)
            if type(first) is int and 0 <= first <= shape[axis] - part.span:
                entries[position] = slice(first, first + part.span, part.stride)
            else:
                stride = part.stride if part.size > 1 else 1
                parts.append((position, axis, Slice(first, part.size, stride)))
        axis += entry is not None and type(entry) is not bool
    return entries, parts


def _first(part: Slice, size: int, wrap: bool) -> Any:
    """The first position of a part, an int if it is known; ints far out of range become ones just out of range."""
    start = part.start
    if not isinstance(start, Tracer) or start.is_concrete:
        first = int(start.concrete() if isinstance(start, Tracer) else start)
        return max(-part.span - 1, min(size, first + size if wrap and first < 0 else first))
    if dtypes.itemsize_bits(get_aval(start).dtype) < 32:
        start = convert_element_type(start, np.int32)
    return from_the_end(start, size) if wrap else start


def cut(x: Any, index: Any) -> tuple[Any, tuple[Any, ...]]:
    """Read the parts of an index that may be out of range; return the new array and the remaining index.

    These parts are moved into range; if the stride is above 1, each position is moved separately.
    """
    shape = get_aval(x).shape
    entries, parts = _placed(shape, index, wrap=True)
    if parts:
        starts: list[Any] = [0] * len(shape)
        sizes = list(shape)
        for position, axis, part in parts:
            if part.stride > 1:
                x = read_part(x, axis, part, GatherScatterMode.CLIP)
                entries[position] = slice(None)
                sizes[axis] = part.size
                continue
            starts[axis] = max(part.start, 0) if type(part.start) is int else part.start
            sizes[axis] = part.size
        x = dynamic_slice(x, starts, sizes, allow_negative_indices=False)
    return x, tuple(entries)


def first_part(shape: tuple[int, ...], index: Any, wrap: bool) -> tuple[tuple[int, Slice] | None, tuple[Any, ...]]:
    """The first part in an index that may be out of range, with its axis; and the index of elements within the part.

    Args:
      shape: the shape of the array.
      index: the index, for which `is_sliced` is true.
      wrap: whether negative starts count from the end.

    Returns:
      The axis and part, and the index; None and an index without parts if all parts are known to be in range. The start
      of the part does not count from the end.
    """
    entries, parts = _placed(shape, index, wrap)
    if not parts:
        return None, tuple(entries)
    (position, axis, part), *others = parts
    for i, _, other in others:
        entries[i] = other
    entries[position] = slice(None)
    return (axis, part), tuple(entries)


def read_part(x: Any, axis: int, part: Slice, mode: GatherScatterMode, fill_value: Any = None) -> Array:
    """A part of an array along an axis.

    The mode applies to a part that extends beyond the axis as a whole; if the stride is above 1, to each position.
    """
    numbers, starts = _windows(x, axis, part)
    sizes = list(get_aval(x).shape)
    sizes[axis] = part.size if part.stride == 1 else 1
    return gather(x, starts, numbers, sizes, mode=mode, fill_value=fill_value, indices_are_sorted=True)


def write_part(x: Any, values: Any, axis: int, part: Slice, mode: GatherScatterMode) -> Array:
    """A copy of an array with a part along an axis replaced. Modes are as for `read_part`."""
    numbers, starts = _windows(x, axis, part)
    unique = part.stride == 1 or mode is not GatherScatterMode.CLIP
    return scatter(x, starts, values, as_scatter(numbers), mode=mode, indices_are_sorted=True, unique_indices=unique)


def _windows(x: Any, axis: int, part: Slice) -> tuple[GatherDimensionNumbers, Any]:
    """The windows of a part, and their starts: one window, or for a stride above 1 one for each position."""
    shape = get_aval(x).shape
    axes = tuple(range(len(shape)))
    start = part.start
    if type(start) is int:
        start = index_dtype(shape[axis]).type(start)
    if part.stride == 1:
        return GatherDimensionNumbers(axes, (), (axis,)), reshape(start, (1,))
    dtype = get_aval(start).dtype
    start = min_(start, dtype.type(shape[axis]))  # the positions from here on are out of range; they must not overflow
    positions = add(start, np.arange(part.size, dtype=dtype) * dtype.type(part.stride))
    return GatherDimensionNumbers(axes[:axis] + axes[axis + 1 :], (axis,), (axis,)), reshape(positions, (part.size, 1))


def _check_span(part: Slice, axis: int, shape: tuple[int, ...]) -> None:
    if part.span > shape[axis]:
        raise IndexError(
            f"a part of an axis must not be longer than the axis, got {part} for axis {axis} of an array of shape "
            f"{shape}"
        )
