"""Edits of a text at positions from a syntax tree."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from itertools import accumulate

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|\Z)")


@dataclass(slots=True)
class Edits:
    """A text and its pending changes.

    Positions are byte offsets in UTF-8 from the start of the text, as syntax trees count them within a line.
    """

    text: str
    _data: bytes = field(init=False)
    _starts: list[int] = field(init=False)
    _changes: dict[tuple[int, int], str] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._data = self.text.encode("utf-8")
        self._starts = [0, *accumulate(len(line) for line in _LINE.findall(self._data))]

    def start(self, node: ast.expr | ast.stmt | ast.alias) -> int:
        """The position at which a node begins."""
        return self._starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt | ast.alias) -> int:
        """The position at which a node ends."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.end_lineno - 1] + node.end_col_offset

    def between(self, start: int, end: int) -> str:
        """The text between two positions."""
        return self._data[start:end].decode("utf-8")

    def indentation(self, node: ast.stmt) -> str | None:
        """The white space before a statement on its line; None if there is other text."""
        before = self.between(self._starts[node.lineno - 1], self.start(node))
        return before if before.isspace() or not before else None

    def newline(self) -> str:
        """The line ending of the text."""
        match = re.search(r"\r\n|\r|\n", self.text)
        return match[0] if match else "\n"

    def replace(self, start: int, end: int, text: str) -> None:
        """Replace the text between two positions."""
        if self.between(start, end) != text:
            self._changes[start, end] = self._changes.get((start, end), "") + text if start == end else text

    def result(self) -> str:
        """The text with all edits."""
        data = self._data
        for (start, end), text in sorted(self._changes.items(), reverse=True):
            data = data[:start] + text.encode("utf-8") + data[end:]
        return data.decode("utf-8")
