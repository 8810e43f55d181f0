"""Rewriting of Jupyter notebooks for primax; all code cells are one program."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

from primax.porting.rewrite import Remark, Rewritten, rewrite

_CELL = "# primax: cell "
_LINE = "pass  # primax: line "
_PYTHON_MAGICS = ("%%time", "%%timeit", "%%capture", "%%prun")
_MAGIC = re.compile(r"\s*(?:[%!?]|[\w, ]+=\s*[%!]|[\w.]+\?{1,2}\s*$)")


class _Cell:
    """A code cell in which lines that are not Python are replaced."""

    def __init__(self, number: int, cell: dict[str, Any]) -> None:
        self.number = number
        self.cell = cell
        source = cell["source"]
        self.source: str = source if isinstance(source, str) else "".join(source)
        self.aside: list[str] = []
        self.text = self.source
        if not _parses(self.text):
            self.text = "\n".join(self._line(i, line) for i, line in enumerate(self.source.split("\n")))

    def _line(self, i: int, line: str) -> str:
        cell_magic = i == 0 and line.startswith(_PYTHON_MAGICS)
        if not cell_magic and (line.startswith("%%") or not _MAGIC.match(line)):
            return line
        self.aside.append(line)
        return f"{line[: len(line) - len(line.lstrip())]}{_LINE}{len(self.aside) - 1}"

    def restored(self, text: str) -> str:
        """A text of the cell, with the original lines in place of the replacements."""
        return re.sub(
            rf"^[ \t]*{re.escape(_LINE)}(\d+)$", lambda match: self.aside[int(match[1])], text, flags=re.MULTILINE
        )

    def replace(self, source: str) -> None:
        """Replace the source of the cell, as a string or as lines, in its original form."""
        whole = isinstance(self.cell["source"], str)
        self.cell["source"] = source if whole else source.splitlines(keepends=True)


def rewrite_notebook(text: str) -> Rewritten:
    """Rewrite the code cells of a notebook, which see each other's imports. Outputs and other cells are unchanged.

    Args:
      text: the notebook, in JSON.

    Returns:
      The rewritten notebook. Line numbers of remarks count from the first line of the first code cell.

    Raises:
      SyntaxError: `text` is not a notebook in Python.
    """
    try:
        notebook = json.loads(text)
        codes = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        cells = [_Cell(i, cell) for i, cell in enumerate(codes)]
    except (ValueError, KeyError, TypeError) as error:
        raise SyntaxError(f"no notebook: {error}") from None
    left = [cell for cell in cells if not _parses(cell.text)]
    program = [cell for cell in cells if cell not in left]
    done = rewrite("\n".join(f"{_CELL}{cell.number}\n{cell.text}" for cell in program))
    for cell, source in zip(program, _split(done.text), strict=True):
        cell.replace(cell.restored(source))
    starts = _starts(program)
    absent, notes = ([_moved(remark, starts) for remark in remarks] for remarks in (done.absent, done.notes))
    notes += [Remark(0, f"cell {cell.number + 1}", "a cell that is not Python is left as it is") for cell in left]
    changed = any(cell.restored(cell.text) != _text_of(cell.cell) for cell in program)
    return Rewritten(_dumped(notebook, text) if changed else text, absent, notes)


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def _text_of(cell: dict[str, Any]) -> str:
    return cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])


def _split(text: str) -> Iterator[str]:
    """The texts of a program's cells. Imports added in front belong to the first cell."""
    parts = re.split(rf"^{re.escape(_CELL)}\d+\n", text, flags=re.MULTILINE)
    for i, part in enumerate(parts[1:]):
        body = part.removesuffix("\n") if i < len(parts) - 2 else part
        yield f"{parts[0]}{body}" if i == 0 else body


def _starts(cells: list[_Cell]) -> list[int]:
    """For each cell, the number of the program's lines before it."""
    starts, line = [], 0
    for cell in cells:
        line += 1
        starts.append(line)
        line += cell.text.count("\n") + 1
    return starts


def _moved(remark: Remark, starts: list[int]) -> Remark:
    """Convert a remark's line from the program's to the notebook's numbers, which count lines of all code cells."""
    markers = sum(start < remark.line for start in starts)
    return Remark(remark.line - markers, remark.name, remark.text)


def _dumped(notebook: Any, text: str) -> str:
    """A notebook as JSON, with its original indentation."""
    indented = re.search(r"\n([ \t]+)\"", text)
    end = "\n" if text.endswith("\n") else ""
    return json.dumps(notebook, indent=indented[1] if indented else None, ensure_ascii=text.isascii()) + end
