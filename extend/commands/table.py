"""Tables of plain text that fit a terminal without truncation."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Sequence

from primax.extend.commands.style import paint, visible_length

__all__ = ["columns", "facts", "render", "terminal_width", "wrapped"]

_GAP = "  "


def columns() -> int:
    """The width of the terminal in columns; `shutil` would take 8 ms to import."""
    width = os.environ.get("COLUMNS", "")
    if width.isdigit() and int(width):
        return int(width)
    try:
        return os.get_terminal_size().columns or 80
    except (OSError, ValueError):
        return 80


def terminal_width() -> int | None:
    """The width of the terminal in columns; None for a file or a pipe."""
    return columns() if sys.stdout.isatty() else None


def render(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int | None = None,
    notes: Sequence[str] = (),
    keys: int = 1,
) -> str:
    """The text of a table. A table that is too wide is split into several, each of which begins with the first columns.

    Args:
      headers: the names of the columns.
      rows: the cells of each row.
      width: the maximal width of a line; None for no limit.
      notes: for each row the text below it, or "".
      keys: how many columns each part begins with.
    """
    cells = [[_plain(cell) for cell in row] for row in (headers, *rows)]
    cells[0] = [paint(cell, "bold") for cell in cells[0]]
    widths = [max(visible_length(row[column]) for row in cells) for column in range(len(headers))]
    blocks: list[str] = []
    for columns in _blocks(widths, width, keys):
        lines = [_GAP.join(_padded(row[column], widths[column]) for column in columns).rstrip() for row in cells]
        if notes and not blocks:
            texts = ["", *notes]
            lines = [
                part for line, text in zip(lines, texts, strict=True) for part in (line, *_wrap(text, "    ", width))
            ]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def facts(pairs: Sequence[tuple[str, str]], width: int | None = None) -> str:
    """Indented lines, each with a name and a text; pairs without a text are omitted."""
    kept = [(name, _plain(text)) for name, text in pairs if text.strip()]
    margin = max((len(name) for name, _ in kept), default=0)
    lines = []
    for name, text in kept:
        first, *others = _wrap(text, " " * (margin + 4), width)
        lines += [f"  {_padded(paint(name, 'cyan'), margin)}{_GAP}{first.lstrip()}", *others]
    return "\n".join(lines)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - visible_length(text))


def _plain(text: str) -> str:
    """A text on one line."""
    return " ".join(text.split())


def wrapped(text: str, width: int | None) -> list[str]:
    """The lines of a text."""
    return [text] if width is None else _wrap(text, "", width)


def _wrap(text: str, indent: str, width: int | None) -> list[str]:
    """A text as indented lines; words longer than a line stay whole, so that paths can be copied."""
    if not text or width is None:
        return [indent + _plain(text)] if text else []
    room = max(width, len(indent) + 20)
    return textwrap.wrap(
        _plain(text),
        room,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _blocks(widths: Sequence[int], width: int | None, keys: int) -> list[list[int]]:
    """The columns of each part of the table: the first ones, and as many others as fit."""
    first = list(range(keys))
    start = sum(widths[:keys]) + len(_GAP) * (keys - 1)
    blocks = [[*first]]
    used = start
    for column in range(keys, len(widths)):
        used += len(_GAP) + widths[column]
        if width is not None and used > width and len(blocks[-1]) > keys:
            blocks.append([*first])
            used = start + len(_GAP) + widths[column]
        blocks[-1].append(column)
    return blocks
