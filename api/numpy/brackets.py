"""The index of `x[...]`, parsed and resolved for an array's shape."""

from __future__ import annotations

from operator import index as as_index
from typing import Any

import numpy as np

from primax.core.errors import NonConcreteBooleanIndexError
from primax.extend import backend, dtypes
from primax.extend.core import Array, Tracer, get_aval
from primax.extend.dimensions import InconclusiveDimensionOperation
from primax.extend.provisional.avals import unwrap
from primax.extend.provisional.dimensions import sliced
from primax.numpy.promotion import joint_shape


class _Token:
    """An entry in the order of the result's axes that is not an axis of the array."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


NEW, ADVANCED = _Token("NEW"), _Token("ADVANCED")


def read_entries(index: Any) -> list[Any]:
    """The entries of an index: ints, slices, None, Ellipsis, bools, and arrays of integers or booleans.

    An array with a known value and rank 0 becomes an int or a bool; a list becomes an array.

    Raises:
      TypeError: an entry has another type.
    """
    if type(index) is tuple:
        return list(map(_entry, index))
    if isinstance(index, list | range):
        raise TypeError("an index must not be a list: make it an array, or a tuple for one index per axis")
    return [_entry(index)]


def _entry(entry: Any) -> Any:
    kind = type(entry)
    if kind is int or entry is None or entry is Ellipsis or kind is slice or kind is bool:
        return entry
    if isinstance(entry, Tracer) and entry.is_concrete:
        entry = entry.concrete()
    if type(entry) is Array and entry.shape and entry.platform() == "cpu":
        return _entry(backend.host_value(entry))
    if isinstance(entry, list):
        entry = np.asarray(entry) if entry else np.empty(0, np.int32)
    if isinstance(entry, Array | Tracer | np.ndarray | np.generic):
        number: Any = entry
        dtype = entry.dtype
        if not dtypes.is_integer(dtype) and not dtypes.is_bool(dtype):
            raise TypeError(f"an index must be of an integer or boolean dtype, got {get_aval(entry).str_short()}")
        if entry.shape or isinstance(entry, Tracer):
            return entry
        return bool(number) if dtypes.is_bool(dtype) else as_index(number)
    array = unwrap(entry)
    if array is not entry:
        return _entry(array)
    try:
        return as_index(entry)
    except TypeError:
        raise TypeError(
            f"an index must be an integer, a slice, None, Ellipsis, a bool or an array of these, got {entry!r}"
        ) from None


class Index:
    """An index resolved for a shape.

    Attributes:
      shape: the shape of the array, with an axis of length 1 for each bool of the index.
      axes: for each axis an int, `(start, count, step)`, or an array of integers.
      places: the result's axes in order: axes of the array, `NEW` or, at most once, `ADVANCED`, which stands for the
        axes of the integer arrays, broadcast together.
      advanced: the broadcast shape of all integer arrays; None if all have rank 0.
      simple: whether all axes are ints and slices.
    """

    __slots__ = ("advanced", "axes", "places", "shape", "simple")

    def __init__(self, shape: Any, axes: list[Any], places: list[Any], advanced: Any, simple: bool) -> None:
        self.shape = shape
        self.axes = axes
        self.places = places
        self.advanced = advanced
        self.simple = simple


def resolve(shape: tuple[int, ...], entries: list[Any]) -> Index:
    """Resolve each entry for the axes of an array.

    Raises:
      IndexError: there are more entries than axes, or two Ellipses; a mask does not have the shape of its axes, or its
        value is unknown; arrays do not broadcast together.
    """
    entries = expanded(shape, entries)
    axes: list[Any] = []
    places: list[Any] = []
    arrays: list[Any] = []
    first, last, apart = -1, -1, False  # first and last ints, bools and arrays, and whether other entries separate them
    insert = 0
    simple = True
    sizes = shape
    for position, entry in enumerate(entries):
        kind = type(entry)
        if kind is slice:
            size = sizes[len(axes)]
            start, count, step = _part(entry, size)
            places.append(len(axes))
            axes.append((start, count, step) if count else (0, 0, 1))
        elif entry is None:
            places.append(NEW)
        else:
            if first < 0:
                first, insert = position, len(places)
            elif position != last + 1:
                apart = True
            last = position
            if kind is bool:
                sizes = (*sizes[: len(axes)], 1, *sizes[len(axes) :])
                entry = np.zeros(int(entry), np.int32)
            if kind is not int:
                simple = False
                arrays.append(entry)
            axes.append(entry)
    advanced = None
    if arrays:
        shapes = [x.shape for x in arrays]
        if any(shapes):
            advanced = joint_shape(shapes)
            if advanced is None:
                raise IndexError(
                    f"arrays in an index must broadcast together, got shapes {', '.join(map(str, shapes))}"
                )
            places.insert(0 if apart else insert, ADVANCED)
    return Index(sizes, axes, places, advanced, simple)


_ALL = slice(None)


def expanded(shape: tuple[int, ...], entries: list[Any]) -> list[Any]:
    """Replace Ellipsis by slices, and masks by arrays of positions."""
    used = 0
    ellipsis = -1
    for i, entry in enumerate(entries):
        if entry is Ellipsis:
            if ellipsis >= 0:
                raise IndexError(f"an index must have at most one Ellipsis, got {tuple(entries)}")
            ellipsis = i
        elif entry is not None and type(entry) is not bool:
            used += 1
            if type(entry) is not int and type(entry) is not slice and dtypes.is_bool(entry.dtype):
                used += len(entry.shape) - 1
    if used > len(shape):
        raise IndexError(f"an index must have at most one entry per axis, got {used} for an array of shape {shape}")
    rest = [_ALL] * (len(shape) - used)
    if ellipsis >= 0:
        entries = [*entries[:ellipsis], *rest, *entries[ellipsis + 1 :]]
    elif rest:
        entries = [*entries, *rest]
    for entry in entries:
        if isinstance(entry, np.ndarray | Array) and dtypes.is_bool(entry.dtype):
            return _without_masks(shape, entries)
    return entries


def _fits(size: int, of_axis: int) -> bool:
    """Whether an axis of a mask fits an axis of an array; an empty one fits any, as in NumPy."""
    return size in (of_axis, 0)


def _without_masks(shape: tuple[int, ...], entries: list[Any]) -> list[Any]:
    out: list[Any] = []
    axis = 0
    for entry in entries:
        if isinstance(entry, np.ndarray | Array) and dtypes.is_bool(entry.dtype):
            covered = shape[axis : axis + len(entry.shape)]
            mask: Any = entry
            if isinstance(mask, Tracer):
                raise NonConcreteBooleanIndexError(
                    "Array boolean indices must be concrete: a mask must have a known value, got "
                    f"{mask.describe()}: the number of elements that it selects determines a shape. To choose between "
                    "values use where(mask, x, y), or nonzero(mask, size=...)"
                )
            if len(entry.shape) != len(covered) or not all(map(_fits, entry.shape, covered)):
                raise IndexError(f"a mask must have the shape of the axes it is for, {covered}, got {entry.shape}")
            out += np.nonzero(np.asarray(entry))
            axis += len(entry.shape)
        else:
            out.append(entry)
            axis += entry is not None and type(entry) is not bool
    return out


def _part(entry: slice, size: int) -> tuple[int, int, int]:
    """The start, the number of elements and the step of a slice of an axis."""
    try:
        start, stop, step = entry.indices(size)
    except TypeError:
        parts = [_bound(part) for part in (entry.start, entry.stop, entry.step)]
        start, stop, step = slice(*parts).indices(size)
    except InconclusiveDimensionOperation:
        return sliced(entry, size)
    return start, len(range(start, stop, step)), step


def _bound(part: Any) -> int | None:
    if part is None:
        return None
    if isinstance(part, Tracer) and not part.is_concrete:
        raise IndexError(
            f"a bound of a slice must have a known value, got {part.describe()}: use lax.dynamic_slice for a "
            f"computed start; the length of a slice must be known"
        )
    try:
        return as_index(part)
    except TypeError:
        raise TypeError(f"a bound of a slice must be an integer or None, got {part!r}") from None
