"""Line breaking: groups of tokens stay on one line if they fit, and break otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_STEP: Final = 2


class Break:
    """A possible line break: a new line in a group that does not fit; `text` in a group that fits."""

    __slots__ = ("text", "width")

    def __init__(self, text: str) -> None:
        self.text = text
        self.width = len(text)


class Note:
    """A comment for the end of the line that it falls on."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class Mark:
    """A token without text; compared by identity."""

    __slots__ = ()


Token = str | Break | Note | Mark

BREAK: Final = Break(" ")
EMPTY_BREAK: Final = Break("")
EQUATION_BREAK: Final = Break("; ")
FILL: Final = Break(" ")  # breaks only beyond the last column, independently of its group
OPEN: Final = Mark()
CLOSE: Final = Mark()
INDENT: Final = Mark()
DEDENT: Final = Mark()


def lay_out(tokens: Sequence[Token], width: int) -> str:
    """The text of the tokens; a group stays on one line if the line fits into `width` columns."""
    sizes = iter(_group_sizes(tokens))
    lines: list[str] = []
    line: list[str] = []
    notes: list[tuple[int, str]] = []
    column = indent = flat = 0
    for token in tokens:
        if type(token) is str:
            line.append(token)
            column += len(token)
        elif type(token) is Break:
            if flat or (token is FILL and column < width):
                line.append(token.text)
                column += token.width
            else:
                lines.append("".join(line))
                line = [" " * indent]
                column = indent
        elif type(token) is Note:
            notes.append((len(lines), token.text))
        elif token is INDENT:
            indent += _STEP
        elif token is DEDENT:
            indent -= _STEP
        elif token is OPEN:
            size = next(sizes)
            if flat or column + size <= width:
                flat += 1
        elif flat:
            flat -= 1
    lines.append("".join(line))
    return "\n".join(_annotated(lines, notes) if notes else lines)


def _group_sizes(tokens: Sequence[Token]) -> list[int]:
    """The width of each group on one line, in the order in which the groups open."""
    sizes: list[int] = []
    still_open: list[int] = []
    total = 0
    for token in tokens:
        if type(token) is str:
            total += len(token)
        elif type(token) is Break:
            total += token.width
        elif token is OPEN:
            still_open.append(len(sizes))
            sizes.append(-total)
        elif token is CLOSE:
            sizes[still_open.pop()] += total
    return sizes


def _annotated(lines: Sequence[str], notes: Sequence[tuple[int, str]]) -> list[str]:
    """The lines with their notes in one column beside them; further notes of a line get lines of their own."""
    edge = max(map(len, lines))
    out: list[str] = []
    position = 0
    for number, line in enumerate(lines):
        first = position
        while position < len(notes) and notes[position][0] == number:
            text = line if position == first else ""
            out.append(f"{text:{edge}} # {notes[position][1]}")
            position += 1
        if position == first:
            out.append(line)
    return out
