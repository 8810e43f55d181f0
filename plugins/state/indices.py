"""Indices of references: a static part, which is a parameter of equations, and operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from primax.extend import core
from primax.extend.core import Array, ShapedArray, Tracer, get_aval
from primax.extend.provisional.tracing import Cache


class Operand(NamedTuple):
    """The place of an operand in an index."""

    number: int


class StaticSlice(NamedTuple):
    """A slice, which has no hash before Python 3.12."""

    start: Any
    stop: Any
    step: Any


class Level(NamedTuple):
    """One index: `ref.at[i][j]` has two.

    Attributes:
      entries: its entries: None, an ellipsis, ints, slices and operands.
      single: whether it was not a tuple.
    """

    entries: tuple[Any, ...]
    single: bool


class Indices:
    """The indices of an access, from the outermost to the innermost; none for all elements.

    Equal ones are one object, so that keys with them are cheap.
    """

    __slots__ = ("__weakref__", "levels", "types")

    levels: tuple[Level, ...]
    types: Cache  # the types of the elements, by those of the contents and of the operands

    def __new__(cls, levels: tuple[Level, ...]) -> Indices:
        known = _known.get(levels)
        if known is None:
            known = object.__new__(cls)
            known.levels = levels
            known.types = Cache(256)
            known = _known.setdefault(levels, known)
        return known

    def __reduce__(self) -> Any:
        return Indices, (self.levels,)

    def text(self, operands: Sequence[str]) -> str:
        """The indices as Python's source, with the texts of the operands."""
        return "".join(f"[{_text(level, operands)}]" for level in self.levels) or "[...]"

    def __repr__(self) -> str:
        return self.text([f"<{i}>" for i in range(64)])


_known: WeakValueDictionary[Any, Indices] = WeakValueDictionary()
WHOLE = Indices(())


def _text(level: Level, operands: Sequence[str]) -> str:
    """A level as Python's source, with names of operands."""

    def entry(x: Any) -> str:
        if x is Ellipsis:
            return "..."
        if type(x) is Operand:
            return operands[x.number]
        if type(x) is StaticSlice:
            start, stop, step = ("" if part is None else entry(part) for part in x)
            return f"{start}:{stop}" + (f":{step}" if step else "")
        if type(x) is tuple:
            _, start, size, stride = x
            return f"ds({entry(start)}, {size}{'' if stride == 1 else f', {stride}'})"
        return repr(x)

    return ", ".join(map(entry, level.entries))


def split(indices: Sequence[Any]) -> tuple[Indices, list[Any]]:
    """The static part and the operands of some indices.

    Raises:
      TypeError: an entry is not an index.
      ValueError: a mask is not known while a program is traced.
    """
    operands: list[Any] = []

    def entry(x: Any) -> Any:
        if x is None or x is Ellipsis or type(x) is int:
            return x
        if type(x) is slice:
            return StaticSlice(*map(entry, (x.start, x.stop, x.step)))
        operands.append(x)
        return Operand(len(operands) - 1)

    levels = []
    for index in indices:
        if index is Ellipsis or (type(index) is slice and index == slice(None)):
            continue
        single = not isinstance(index, tuple)
        entries: list[Any] = []
        for x in (index,) if single else index:
            if hasattr(x, "start") and hasattr(x, "size") and hasattr(x, "stride"):  # px.ds
                entries.append((type(x), entry(x.start), x.size, x.stride))
            else:
                for part in _without_mask(x):
                    entries.append(entry(part))
        levels.append(Level(tuple(entries), single and len(entries) == 1))
    return Indices(tuple(levels)), operands


def _without_mask(x: Any) -> Sequence[Any]:
    """The integer indices of the elements that a mask selects; other entries as they are."""
    if isinstance(x, bool | np.bool_):
        raise TypeError(f"an index of a reference must not be a bool, got {x}")
    if not isinstance(x, np.ndarray | Array | Tracer | list):
        return [x]
    if isinstance(x, list):
        try:
            x = np.asarray(x)
        except ValueError as error:
            raise TypeError(f"an index of a reference must be an array or a list of one, got a list: {error}") from None
    if x.dtype != np.bool_:
        return [x]
    if isinstance(x, Tracer) and not x.is_concrete:
        raise ValueError(
            "a reference must not be indexed by a mask that is not known while the program is traced, since the shape "
            "of the elements would not be known either; write ref[...] = px.numpy.where(mask, x, ref[...])"
        )
    return np.nonzero(np.asarray(x))


def _joined(level: Level, operands: Sequence[Any]) -> Any:
    """The index of a level."""

    def whole(x: Any) -> Any:
        if type(x) is Operand:
            return operands[x.number]
        if type(x) is StaticSlice:
            return slice(*map(whole, x))
        if type(x) is tuple:
            kind, start, size, stride = x
            return kind(whole(start), size, stride)
        return x

    entries = tuple(map(whole, level.entries))
    return entries[0] if level.single else entries


def take(value: Any, indices: Indices, operands: Sequence[Any]) -> Any:
    """The elements of an array."""
    for level in indices.levels:
        value = value[_joined(level, operands)]
    return value


def put(value: Any, indices: Indices, operands: Sequence[Any], new: Any, add: bool = False) -> Any:
    """A copy of an array with other elements, or with something added to them."""
    if not indices.levels:
        return value + new if add else new
    level, rest = indices.levels[0], Indices(indices.levels[1:])
    index = _joined(level, operands)
    if rest.levels:
        return value.at[index].set(put(value[index], rest, operands, new, add))
    return value.at[index].add(new) if add else value.at[index].set(new)


def type_of_elements(contents: ShapedArray, indices: Indices, operands: Sequence[Any]) -> ShapedArray:
    """The type of the elements of a reference, for operands or their types."""
    if not indices.levels:
        return contents
    avals = [x if isinstance(x, core.AbstractValue) else get_aval(x) for x in operands]

    def run(value: Any, *xs: Any) -> list[Any]:
        return [take(value, indices, xs)]

    def make() -> Any:
        return core.trace_to_jaxpr(run, [contents, *avals], "get").out_avals[0]

    return indices.types.get_or_make((contents, *avals), make)
