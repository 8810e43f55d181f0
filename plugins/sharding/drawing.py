"""Drawings of shardings, as text or as a picture."""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from primax.extend import backend, core
from primax.extend.interpreters import mlir
from primax.extend.provisional.arguments import check_function, integer
from primax.extend.provisional.arguments import sequence as read_sequence
from primax.extend.provisional.lowering import inspect_sharding, spmd_of
from primax.extend.provisional.sharding import canonical_sharding, named_from_hlo, sharding_of
from primax.extend.provisional.typing import ArrayLike, ShardingLike
from primax.extend.rule_types import Table
from primax.extend.sharding import NamedSharding, PartitionSpec
from primax.plugins.callbacks import DebugEffect

inspect_sharding_p = core.Primitive("inspect_sharding", multiple_results=True)


def visualize_sharding(
    shape: Sequence[int], sharding: ShardingLike, *, use_color: bool = True, picture: str | Path | None = None
) -> None:
    """Show the devices that hold each part of an array with one or two axes.

    Args:
      shape: the shape of the array.
      sharding: its sharding.
      use_color: whether each part has its own color; only on a terminal and in a picture.
      picture: the file for a picture as SVG; by default, text is printed instead.

    Raises:
      TypeError: `picture` is not a path.
      ValueError: the array has more axes, or none.

    >>> import primax as px
    >>> mesh = px.make_mesh((1,), ("i",))
    >>> px.debug.visualize_sharding((4, 2), px.NamedSharding(mesh, px.P("i")))
    +-------+
    | cpu 0 |
    +-------+
    """
    function = "visualize_sharding"
    if not (picture is None or isinstance(picture, str | os.PathLike)):
        raise TypeError(f"{function}: picture must be the path of a file or None, got {picture!r}")
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
    texts = [[f"{placed.platform} {','.join(map(str, cells[row, column]))}" for column in columns] for row in rows]
    if picture is None:
        _print(texts, use_color and sys.stdout.isatty())
    else:
        Path(picture).write_text(_svg(texts, sizes if len(sizes) == 2 else (1, *sizes), use_color), encoding="utf-8")


def _print(texts: list[list[str]], colored: bool) -> None:
    width = max(len(text) for row in texts for text in row) + 2
    line = "+".join(["", *["-" * width] * len(texts[0]), ""])
    builtins.print(line)
    for i, row in enumerate(texts):
        cells = [text.center(width) for text in row]
        if colored:
            cells = [f"\x1b[4{(i * len(row) + j) % 6 + 1}m{cell}\x1b[0m" for j, cell in enumerate(cells)]
        builtins.print("|".join(["", *cells, ""]))
        builtins.print(line)


def _svg(texts: list[list[str]], shape: tuple[int, ...], colored: bool) -> str:
    """A picture with the proportions of the array, within bounds that keep the texts legible."""
    rows, columns = len(texts), len(texts[0])
    width = max(8 * max(len(text) for row in texts for text in row) + 16, 480 // columns)
    height = min(max(width * columns * shape[0] // (max(shape[1], 1) * rows), 32), 480)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width * columns + 2}" height="{height * rows + 2}" '
        'font-family="monospace" font-size="13" text-anchor="middle">'
    ]
    for i, row in enumerate(texts):
        for j, text in enumerate(row):
            fill = f"hsl({360 * (i * columns + j) // (rows * columns)},60%,80%)" if colored else "white"
            x, y = j * width + 1, i * height + 1
            parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{fill}" stroke="black"/>')
            parts.append(f'<text x="{x + width // 2}" y="{y + height // 2 + 4}">{text}</text>')
    return "\n".join([*parts, "</svg>", ""])


def visualize_array_sharding(arr: ArrayLike, *, use_color: bool = True, picture: str | Path | None = None) -> None:
    """Show the devices that hold each part of an array, or of a value inside a program.

    Args:
      arr: the array, with one or two axes.
      use_color: as for `visualize_sharding`.
      picture: as for `visualize_sharding`.

    Raises:
      ValueError: the array has more axes, or none.
    """
    shape = core.get_aval(arr).shape
    inspect_array_sharding(
        arr, callback=lambda sharding: visualize_sharding(shape, sharding, use_color=use_color, picture=picture)
    )


def inspect_array_sharding(value: object, *, callback: Callable[[Any], None]) -> None:
    """Call a function with the sharding of an array, or of a value inside a program.

    The sharding of a value inside a program is determined at compilation, which calls `callback` once.

    Raises:
      TypeError: `callback` is not a function.
      ValueError: `value` is inside `shard_map`, where each device has its own part.
    """
    check_function("inspect_array_sharding", "callback", callback)
    inspect_sharding_p.bind(value, callback=callback)


def _impl(x: Any, *, callback: Callable[[Any], None]) -> list[Any]:
    callback(x.sharding if type(x) is core.Array else sharding_of(backend.get_default_device()))
    return []


def _abstract_eval(x: Any, *, callback: Callable[[Any], None]) -> tuple[Any, Any]:
    return [], {DebugEffect()}


def _jvp(primals: Any, tangents: Any, *, callback: Callable[[Any], None]) -> tuple[Any, Any]:
    return inspect_sharding_p.bind(*primals, callback=callback), []


def _batch(args: Any, dims: Any, *, callback: Callable[[Any], None]) -> tuple[Any, Any]:
    return inspect_sharding_p.bind(*args, callback=callback), []


def _lowering(ctx: mlir.LoweringRuleContext, x: Any, *, callback: Callable[[Any], None]) -> list[Any]:
    spmd = spmd_of(ctx.module_context)
    if spmd.manual is not None:
        raise ValueError(
            "inspect_array_sharding: value must not be inside of shard_map, where each device has a part of its own; "
            f"got {ctx.avals_in[0].str_short()}"
        )
    if spmd.mesh is None:
        callback(sharding_of(backend.get_default_device()))
        return []
    mesh, ndim = spmd.mesh, len(ctx.avals_in[0].shape)
    if spmd.partitions == 1:  # XLA divides nothing, and does not know the operation
        callback(NamedSharding(mesh, PartitionSpec()))
        return []

    def report(sharding: Any) -> None:
        named = named_from_hlo(sharding, mesh, ndim)
        callback(sharding if named is None else named)

    inspect_sharding(ctx.module_context, x, report)
    return []


RULES: Table = {
    inspect_sharding_p: {
        "impl": _impl,
        "effectful_abstract_eval": _abstract_eval,
        "jvp": _jvp,
        "batch": _batch,
        "lowering": _lowering,
        "sharding": lambda x, *, callback: [],
    },
}
