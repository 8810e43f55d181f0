"""How arrays lie on devices, drawn with characters."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from primax.extend import core
from primax.extend.api_util import check_function, integer
from primax.extend.api_util import sequence as read_sequence
from primax.extend.sharding import canonical_sharding

__all__ = ["inspect_array_sharding", "visualize_array_sharding", "visualize_sharding"]


def visualize_sharding(shape: Sequence[int], sharding: Any) -> None:
    """Print which devices hold which part of an array of one or two axes.

    Args:
      shape: its shape.
      sharding: how it lies.

    Raises:
      ValueError: there are more axes, or none.

    >>> import primax as px
    >>> mesh = px.make_mesh((1,), ("i",))
    >>> px.debug.visualize_sharding((4, 2), px.NamedSharding(mesh, px.P("i")))
    +-------+
    | cpu 0 |
    +-------+
    """
    function = "visualize_sharding"
    sizes = tuple(integer(function, "each of shape", size) for size in read_sequence(function, "shape", shape))
    if len(sizes) not in (1, 2):
        raise ValueError(f"visualize_sharding: shape must have one or two axes, got {sizes}")
    placed = canonical_sharding("visualize_sharding", "sharding", sharding)
    if placed is None:
        raise TypeError("visualize_sharding: sharding must be given, got None")
    cells: dict[tuple[int, ...], list[int]] = {}
    for device, index in placed.devices_indices_map(sizes).items():
        starts = tuple(part.indices(size)[0] for part, size in zip(index, sizes, strict=True))
        cells.setdefault(starts if len(starts) == 2 else (0, *starts), []).append(device.id)
    rows = sorted({row for row, _ in cells})
    columns = sorted({column for _, column in cells})
    texts = {place: f"{placed.platform} {','.join(map(str, ids))}" for place, ids in cells.items()}
    width = max(map(len, texts.values())) + 2
    line = "+".join(["", *["-" * width] * len(columns), ""])
    builtins.print(line)
    for row in rows:
        builtins.print("|".join(["", *(texts[row, column].center(width) for column in columns), ""]))
        builtins.print(line)


def visualize_array_sharding(arr: Any) -> None:
    """Print which devices hold which part of an array; see `visualize_sharding`."""
    inspect_array_sharding(arr, callback=lambda sharding: visualize_sharding(arr.shape, sharding))


def inspect_array_sharding(value: Any, *, callback: Callable[[Any], None]) -> None:
    """Call a function with the sharding of an array.

    Raises:
      TypeError: `callback` is no function, or `value` is no array that has been computed. How a value inside of a
        program lies is known when it is compiled, and `Compiled.output_shardings` tells it.
    """
    check_function("inspect_array_sharding", "callback", callback)
    if type(value) is not core.Array:
        raise TypeError(
            "inspect_array_sharding: value must be an array that has been computed, got "
            f"{core.get_aval(value).str_short()} of type {type(value).__name__}; return it, and look at the result, "
            "or at jit(f).lower(...).compile().output_shardings"
        )
    callback(value.sharding)
