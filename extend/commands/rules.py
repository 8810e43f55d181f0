"""Show which rules primitives have and which are missing."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Sequence
from typing import Any

from primax.core.primitive import Primitive
from primax.extend.commands.common import add_examples, add_json, load_plugins, look_up, show_json, warn_of_inactive
from primax.extend.commands.coverage import (
    KINDS,
    Coverage,
    all_primitives,
    coverage,
    kinds_of_rules,
    owed,
    primitive_of,
)
from primax.extend.commands.style import paint, visible_length
from primax.extend.commands.table import render, terminal_width, wrapped
from primax.extend.host.plugin_host import host

__all__ = ["MARKS", "Matrix", "configure", "details", "kinds_in", "matrix_of", "run", "text_of"]

MARKS = {"given": "+", "derived": "d", "overridden": "o", "unsupported": "x", "missing": "!", "not needed": "."}
_COLOURS = {"given": "green", "derived": "cyan", "overridden": "yellow", "missing": "red", "not needed": "dim"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("primitives", nargs="*", metavar="PRIMITIVE", help="show only these primitives")
    parser.add_argument("--plugin", metavar="NAME", help="show only the primitives of this plugin")
    parser.add_argument(
        "--missing",
        action="store_true",
        help="show only primitives that lack a rule of primax's kinds, or of kinds of their own package or one that it "
        "requires; exit code 1 if there are any",
    )
    add_json(parser)
    add_examples(
        parser,
        {
            "primax rules": "all primitives",
            "primax rules sin cumsum": "two primitives, with notes on their rules",
            "primax rules --plugin trigonometry --missing": "what a plugin lacks",
        },
    )


def run(arguments: argparse.Namespace) -> int:
    """Show the matrix of primitives and kinds of rules."""
    warn_of_inactive(load_plugins())
    matrix = matrix_of(arguments.primitives, arguments.plugin, arguments.missing)
    if arguments.json:
        show_json({primitive.name: _data(primitive, row) for primitive, row in matrix.items()})
    else:
        print(text_of(matrix, detailed=bool(arguments.primitives)))
    return 1 if arguments.missing and matrix else 0


Matrix = dict[Primitive, dict[str, Coverage]]


def matrix_of(primitives: Sequence[str] = (), plugin: str | None = None, missing: bool = False) -> Matrix:
    """The states of all kinds of rules of some primitives.

    Args:
      primitives: the names of the primitives; all if there are none.
      plugin: the plugin whose primitives are chosen; None for all.
      missing: whether only primitives that lack a rule are chosen, of a kind that their authors answer for.

    Raises:
      UsageError: there is no such primitive or plugin.
    """
    known = all_primitives()
    chosen = {name: primitive_of(name, known) for name in sorted(set(primitives))} or known
    if plugin is not None:
        look_up("plugin", plugin, {record.name: record for record in host.records()})
        chosen = {name: primitive for name, primitive in chosen.items() if primitive.plugin == plugin}
    matrix = {p: {kind: coverage(p, kind) for kind in kinds_of_rules()} for p in chosen.values()}
    if not missing:
        return matrix
    cached = functools.cache(owed)
    for primitive, row in matrix.items():
        for kind, cell in row.items():
            if cell.status == "missing" and not cached(primitive.module.partition(".")[0], primitive.plugin, kind):
                row[kind] = Coverage("not needed", {})
    return {p: row for p, row in matrix.items() if any(cell.status == "missing" for cell in row.values())}


def _data(primitive: Primitive, row: dict[str, Coverage]) -> dict[str, Any]:
    return {"plugin": primitive.plugin, "rules": {kind: cell.as_dict() for kind, cell in row.items()}}


def text_of(matrix: Matrix, *, detailed: bool) -> str:
    """A table of marks with its legend; `detailed` adds notes to each primitive."""
    if not matrix:
        return "no primitive matches"
    had = kinds_in(matrix)
    hidden = [kind for kind in KINDS if kind not in had]
    rows = [
        [primitive.name, primitive.plugin or primitive.module, *(_mark(row[kind].status) for kind in had)]
        for primitive, row in matrix.items()
    ]
    notes = [details(row) if detailed else "" for row in matrix.values()]
    missing = sum(cell.status == "missing" for row in matrix.values() for cell in row.values())
    return "\n".join(
        [
            render(["primitive", "plugin", *had], rows, terminal_width(), notes),
            "",
            *_legend(terminal_width()),
            *(
                wrapped(f"no rules of these kinds, and none needed: {', '.join(hidden)}", terminal_width())
                if hidden
                else []
            ),
            f"primitives: {len(matrix)}, missing rules: {missing}",
        ]
    )


def kinds_in(matrix: Matrix) -> list[str]:
    """The kinds of rules that some of the primitives have or need."""
    return [kind for kind in kinds_of_rules() if any(row[kind].status != "not needed" for row in matrix.values())]


def _legend(width: int | None) -> list[str]:
    """The marks and their meanings, in lines that fit."""
    lines = [""]
    for status in MARKS:
        item = f"{_mark(status)} {status}"
        if lines[-1] and width is not None and visible_length(f"{lines[-1]}   {item}") > width:
            lines.append("")
        lines[-1] += f"   {item}" if lines[-1] else item
    return lines


def _mark(status: str) -> str:
    styles = [_COLOURS[status]] if status in _COLOURS else []
    return paint(MARKS[status], *styles) if styles else MARKS[status]


def details(row: dict[str, Coverage]) -> str:
    """The notes on one primitive: derived and replaced rules, and reasons for unsupported ones."""
    notes = []
    for kind, cell in row.items():
        if cell.status == "unsupported":
            notes.append(f"{kind}: {cell.reason}")
        for name, source in cell.sources.items():
            if source.replaced is not None or source.origin != "given" or name != kind:
                notes.append(f"{name}: {source.origin} by {source.plugin}")
    return "; ".join(notes)
