"""The dimension numbers of gather and scatter: the indexed axes of an array, and the axes of windows."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple, TypeAlias, cast

from primax.extend import dtypes
from primax.extend.core import ShapedArray
from primax.extend.provisional.arguments import inserted, integers, renumbered


class GatherDimensionNumbers(NamedTuple):
    """The correspondence of the axes of the operand, the indices and the result of a gather.

    Attributes:
      offset_dims: axes of the result that correspond to axes of windows, increasing.
      collapsed_slice_dims: axes of the operand along which windows have length 1 and which the result lacks.
      start_index_map: for each entry of an index vector, the axis of the operand along which it is a position.
      operand_batching_dims: axes of the operand that correspond to axes of the indices.
      start_indices_batching_dims: those axes of the indices, in the same order.
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class ScatterDimensionNumbers(NamedTuple):
    """The correspondence of the axes of the operand, the indices and the updates of a scatter.

    Attributes:
      update_window_dims: axes of the updates that correspond to axes of windows, increasing.
      inserted_window_dims: axes of the operand along which windows have length 1 and which the updates lack.
      scatter_dims_to_operand_dims: for each entry of an index vector, the axis of the operand of which it is a
        position.
      operand_batching_dims: axes of the operand that correspond to axes of the indices.
      scatter_indices_batching_dims: those axes of the indices, in the same order.
    """

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()


# The two correspond: the updates of a scatter have the shape of the result of a gather.
Numbers: TypeAlias = GatherDimensionNumbers | ScatterDimensionNumbers


class GatherScatterMode(Enum):
    """The behavior for windows that are partly or wholly out of range.

    Attributes:
      CLIP: they are moved to the nearest position inside.
      FILL_OR_DROP: they are read as a fill value, and not written.
      PROMISE_IN_BOUNDS: the caller promises that there are none. Such a window is read as with `CLIP`, and not written.
      ONE_HOT: writes are those of `FILL_OR_DROP`; gathers do not have this mode.
    """

    CLIP = 1
    FILL_OR_DROP = 2
    PROMISE_IN_BOUNDS = 3
    ONE_HOT = 4

    @staticmethod
    def from_any(mode: str | GatherScatterMode | None) -> GatherScatterMode:
        """The mode with a given name; `FILL_OR_DROP` for None.

        Raises:
          ValueError: there is no such mode.
        """
        if type(mode) is GatherScatterMode:
            return mode
        try:
            known = _MODES.get(cast(str, mode))
        except TypeError:  # a value that is not hashable
            known = None
        if known is None:
            raise ValueError(
                "mode must be 'clip', 'fill', 'drop', 'promise_in_bounds', 'one_hot', a GatherScatterMode or None, "
                f"got {mode!r}"
            )
        return known


_MODES = {
    None: GatherScatterMode.FILL_OR_DROP,
    "clip": GatherScatterMode.CLIP,
    "fill": GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
    "one_hot": GatherScatterMode.ONE_HOT,
}


def canonical_numbers(function: str, numbers: Any, kind: type[Any]) -> Any:
    """Dimension numbers with tuples of ints.

    Raises:
      TypeError: `numbers` has another type.
    """
    if type(numbers) is not kind:
        raise TypeError(f"{function}: dimension_numbers must be {kind.__name__}, got {numbers!r}")
    return kind(*[integers(dims, function, name) for name, dims in zip(kind._fields, numbers, strict=True)])


def as_gather(numbers: ScatterDimensionNumbers) -> GatherDimensionNumbers:
    """The gather that reads the windows of a scatter."""
    return GatherDimensionNumbers(*numbers)


def as_scatter(numbers: GatherDimensionNumbers) -> ScatterDimensionNumbers:
    """The scatter that writes the windows of a gather."""
    return ScatterDimensionNumbers(*numbers)


def window_axes(numbers: Numbers, rank: int) -> list[int]:
    """The axes of an operand of a given rank that windows keep."""
    _, collapsed, _, batching, _ = numbers
    return [d for d in range(rank) if d not in collapsed and d not in batching]


def scatter_axes(numbers: Numbers, rank: int) -> list[int]:
    """The axes of a result (or of updates) of a given rank that correspond to axes of the indices."""
    offset, *_ = numbers
    return [d for d in range(rank) if d not in offset]


def window_sizes(numbers: Numbers, operand: Sequence[int], updates: Sequence[int]) -> tuple[int, ...]:
    """The lengths of windows along all axes of an operand, from the shape of updates."""
    offset, _, _, batching, _ = numbers
    sizes = [min(1, size) if d in batching else 1 for d, size in enumerate(operand)]
    for d, place in zip(window_axes(numbers, len(operand)), offset, strict=True):
        sizes[d] = updates[place]
    return tuple(sizes)


def mapped_numbers(
    numbers: Any, operand_rank: int, indices_rank: int, operand_dim: int | None, indices_dim: int | None
) -> tuple[Any, int]:
    """Dimension numbers after the insertion of an axis, and the position of this axis in the result.

    Args:
      numbers: the dimension numbers before.
      operand_rank: the rank of the operand before.
      indices_rank: the rank of the indices before.
      operand_dim: the position of the new axis in the operand; None if the operand does not have it.
      indices_dim: the position of the new axis in the indices, before the last; None if they do not have it.
    """
    offset, collapsed, index_map, batching, indices_batching = numbers
    if operand_dim is not None:
        collapsed, index_map, batching = [renumbered(dims, operand_dim) for dims in (collapsed, index_map, batching)]
    if indices_dim is None:
        kept = window_axes(numbers, operand_rank)
        place = sum([d < cast(int, operand_dim) for d in kept])
        if place < len(offset):
            out_dim = offset[place]
        else:
            out_dim = offset[-1] + 1 if offset else 0
        offset = (*offset[:place], out_dim, *[d + 1 for d in offset[place:]])
    else:
        rank = len(offset) + indices_rank - 1
        out_dim = [*scatter_axes(numbers, rank), rank][indices_dim]
        offset = renumbered(offset, out_dim)
        indices_batching = renumbered(indices_batching, indices_dim)
        if operand_dim is not None:
            place = sum([d < operand_dim for d in batching])
            batching = inserted(batching, place, operand_dim)
            indices_batching = inserted(indices_batching, place, indices_dim)
    return type(numbers)(offset, collapsed, index_map, batching, indices_batching), out_dim


def check_numbers(
    function: str, numbers: Numbers, operand: ShapedArray, indices: ShapedArray, rank: int, what: str
) -> None:
    """Check dimension numbers against operand and indices.

    Args:
      function: the name of the function, for messages.
      numbers: the dimension numbers.
      operand: the type of the array that is read or written to.
      indices: the type of the index vectors.
      rank: the rank of the result or of the updates.
      what: the name of the result or updates, for messages.

    Raises:
      TypeError: they do not fit.
    """
    offset, collapsed, index_map, batching, indices_batching = numbers
    names = numbers._fields
    if not dtypes.is_integer(indices.dtype):
        raise TypeError(f"{function}: indices must be integers, got {indices.str_short()}")
    if not indices.shape:
        raise TypeError(f"{function}: indices must have an axis for index vectors, got {indices.str_short()}")
    ndim, count = len(operand.shape), len(indices.shape) - 1
    _check_dims(function, names[0], offset, rank, what, increasing=True)
    _check_dims(function, names[1], collapsed, ndim, operand.str_short(), increasing=True)
    _check_dims(function, names[2], index_map, ndim, operand.str_short())
    _check_dims(function, names[3], batching, ndim, operand.str_short(), increasing=True)
    _check_dims(function, names[4], indices_batching, count, f"the index vectors in {indices.str_short()}")
    if len(offset) + len(collapsed) + len(batching) != ndim:
        raise TypeError(
            f"{function}: {names[0]}, {names[1]} and {names[3]} must be as many as operand has axes, {ndim}, "
            f"got {len(offset)}, {len(collapsed)} and {len(batching)} for {operand.str_short()}"
        )
    if len(index_map) != indices.shape[-1]:
        raise TypeError(
            f"{function}: {names[2]} must have one axis per entry of an index vector, got {len(index_map)} in "
            f"{index_map} for index vectors of length {indices.shape[-1]} in {indices.str_short()}"
        )
    for name, dims in ((names[1], collapsed), (names[2], index_map)):
        common = sorted(set(dims) & set(batching))
        if common:
            raise TypeError(f"{function}: {name} and {names[3]} must have no axis in common, got {common}")
    if len(batching) != len(indices_batching):
        raise TypeError(
            f"{function}: {names[3]} and {names[4]} must have the same length, got {len(batching)} in {batching} and "
            f"{len(indices_batching)} in {indices_batching}"
        )
    for d, e in zip(batching, indices_batching, strict=True):
        if operand.shape[d] != indices.shape[e]:
            raise TypeError(
                f"{function}: axes of {names[3]} and {names[4]} must have the same length, got {operand.shape[d]} "
                "for axis "
                f"{d} of operand {operand.str_short()} and {indices.shape[e]} for axis {e} of indices "
                f"{indices.str_short()}"
            )


def _check_dims(function: str, name: str, dims: Any, rank: int, of: str, increasing: bool = False) -> None:
    for d in dims:
        if not 0 <= d < rank:
            raise TypeError(f"{function}: {name} must be in [0, {rank}), the axes of {of}, got {d} in {dims}")
    if len(set(dims)) != len(dims) or (increasing and list(dims) != sorted(dims)):
        raise TypeError(f"{function}: {name} must be {'increasing' if increasing else 'distinct'}, got {dims}")
