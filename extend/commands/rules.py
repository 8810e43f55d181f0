"""Show which rules primitives have and which are missing."""

from __future__ import annotations

import argparse
from typing import Any

from primax.core.primitive import Primitive
from primax.extend.commands.common import add_examples, add_json, load_plugins, look_up, show_json, warn_of_inactive
from primax.extend.commands.coverage import KINDS, Coverage, all_primitives, coverage, kinds_of_rules, primitive_of
from primax.extend.commands.style import paint, visible_length
from primax.extend.commands.table import render, terminal_width, wrapped

__all__ = ["configure", "run"]

_MARKS = {"given": "+", "derived": "d", "overridden": "o", "unsupported": "x", "missing": "!", "not needed": "."}
_COLOURS = {"given": "green", "derived": "cyan", "overridden": "yellow", "missing": "red", "not needed": "dim"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("primitives", nargs="*", metavar="PRIMITIVE", help="show only these primitives")
    parser.add_argument("--plugin", metavar="NAME", help="show only the primitives of this plugin")
    parser.add_argument(
        "--missing", action="store_true", help="show only primitives that lack a rule; exit code 1 if there are any"
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
    records = load_plugins()
    warn_of_inactive(records)
    known = all_primitives()
    chosen = {name: primitive_of(name, known) for name in sorted(set(arguments.primitives))} or known
    if arguments.plugin is not None:
        look_up("plugin", arguments.plugin, {record.name: record for record in records})
        chosen = {name: primitive for name, primitive in chosen.items() if primitive.plugin == arguments.plugin}
    matrix = {p: {kind: coverage(p, kind) for kind in kinds_of_rules()} for p in chosen.values()}
    if arguments.missing:
        matrix = {p: row for p, row in matrix.items() if any(cell.status == "missing" for cell in row.values())}
    if arguments.json:
        show_json({primitive.name: _data(primitive, row) for primitive, row in matrix.items()})
    else:
        print(_text(matrix, detailed=bool(arguments.primitives)))
    return 1 if arguments.missing and matrix else 0


def _data(primitive: Primitive, row: dict[str, Coverage]) -> dict[str, Any]:
    return {"plugin": primitive.plugin, "rules": {kind: cell.as_dict() for kind, cell in row.items()}}


def _text(matrix: dict[Primitive, dict[str, Coverage]], *, detailed: bool) -> str:
    """A table of marks with its legend; `detailed` adds notes to each primitive."""
    if not matrix:
        return "no primitive matches"
    had = [kind for kind in kinds_of_rules() if any(row[kind].status != "not needed" for row in matrix.values())]
    hidden = [kind for kind in KINDS if kind not in had]
    rows = [
        [primitive.name, primitive.plugin or primitive.module, *(_mark(row[kind].status) for kind in had)]
        for primitive, row in matrix.items()
    ]
    notes = [_details(row) if detailed else "" for row in matrix.values()]
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


def _legend(width: int | None) -> list[str]:
    """The marks and their meanings, in lines that fit."""
    lines = [""]
    for status in _MARKS:
        item = f"{_mark(status)} {status}"
        if lines[-1] and width is not None and visible_length(f"{lines[-1]}   {item}") > width:
            lines.append("")
        lines[-1] += f"   {item}" if lines[-1] else item
    return lines


def _mark(status: str) -> str:
    styles = [_COLOURS[status]] if status in _COLOURS else []
    return paint(_MARKS[status], *styles) if styles else _MARKS[status]


def _details(row: dict[str, Coverage]) -> str:
    """The notes on one primitive: derived and replaced rules, and reasons for unsupported ones."""
    notes = []
    for kind, cell in row.items():
        if cell.status == "unsupported":
            notes.append(f"{kind}: {cell.reason}")
        for name, source in cell.sources.items():
            if source.replaced is not None or source.origin != "given" or name != kind:
                notes.append(f"{name}: {source.origin} by {source.plugin}")
    return "; ".join(notes)
