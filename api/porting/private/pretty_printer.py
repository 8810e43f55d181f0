"""The documents of `jax._src.pretty_printer`: texts with places where lines may be broken.

The layout is that of Wadler, A prettier printer (2003), in Lindig's strict form: a group whose content fits into the
rest of the line is printed without breaks; in any other, each break begins a new line.
"""

from __future__ import annotations

import enum
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

__all__ = [
    "CAN_USE_COLOR",
    "Color",
    "Doc",
    "Intensity",
    "brk",
    "color",
    "concat",
    "group",
    "join",
    "keyword",
    "nest",
    "nil",
    "source_map",
    "text",
    "type_annotation",
]

CAN_USE_COLOR = hasattr(sys.stdout, "isatty") and sys.stdout.isatty()


class Color(enum.Enum):
    """A color of text, as the last digit of its code."""

    BLACK = 0
    RED = 1
    GREEN = 2
    YELLOW = 3
    BLUE = 4
    MAGENTA = 5
    CYAN = 6
    WHITE = 7
    RESET = 9


class Intensity(enum.Enum):
    """The brightness of text, as its code."""

    NORMAL = 22
    DIM = 2
    BRIGHT = 1


class Doc:
    """A document; `format` prints it."""

    def __add__(self, other: Doc) -> Doc:
        return concat([self, other])

    def __str__(self) -> str:
        return self.format()

    def format(
        self,
        width: int = 80,
        *,
        use_color: bool | None = None,
        annotation_prefix: str = " # ",
        source_map: list[list[tuple[int, int, Any]]] | None = None,
        **_: Any,
    ) -> str:
        """The document as text.

        Args:
          width: the maximal length of lines, if breaks allow it.
          use_color: whether the text has codes for colors; by default if it goes to a terminal.
          annotation_prefix: the text between a line and the annotations of its texts.
          source_map: a list that gets, for each line, its parts with sources: the first column, the column after the
            last, and the source.
        """
        return _Layout(width, use_color, annotation_prefix, source_map).text_of(self)


@dataclass(frozen=True)
class _Text(Doc):
    text: str
    annotation: str | None = None


@dataclass(frozen=True)
class _Concat(Doc):
    children: tuple[Doc, ...]


@dataclass(frozen=True)
class _Break(Doc):
    text: str


@dataclass(frozen=True)
class _Group(Doc):
    child: Doc


@dataclass(frozen=True)
class _Nest(Doc):
    indent: int
    child: Doc


@dataclass(frozen=True)
class _Colored(Doc):
    child: Doc
    foreground: Color | None
    background: Color | None
    intensity: Intensity | None


@dataclass(frozen=True)
class _Sourced(Doc):
    child: Doc
    source: Any


def nil() -> Doc:
    """The empty document."""
    return _Text("")


def text(text: str, annotation: str | None = None, anchor: str | None = None, href: str | None = None) -> Doc:
    """A text; its annotation stands at the end of the line. `anchor` and `href` are for HTML, and not used."""
    return _Text(text, annotation)


def concat(children: Sequence[Doc]) -> Doc:
    """Documents, one after the other."""
    return _Concat(tuple(children))


def brk(text: str = " ") -> Doc:
    """A place where a new line may begin; otherwise, `text` is printed there."""
    return _Break(text)


def group(doc: Doc) -> Doc:
    """A document whose breaks are all new lines, or none."""
    return _Group(doc)


def nest(n: int, doc: Doc) -> Doc:
    """A document whose new lines are indented by `n` more."""
    return _Nest(n, doc)


def color(
    child: Doc,
    foreground: Color | None = None,
    background: Color | None = None,
    intensity: Intensity | None = None,
) -> Doc:
    """A document in a color."""
    return _Colored(child, foreground, background, intensity)


def source_map(doc: Doc, source: Any) -> Doc:
    """A document that comes from a source."""
    return _Sourced(doc, source)


def join(sep: Doc, docs: Iterable[Doc]) -> Doc:
    """Documents with a separator between them."""
    parts: list[Doc] = []
    for doc in docs:
        parts += [sep, doc] if parts else [doc]
    return concat(parts)


type_annotation = partial(color, intensity=Intensity.NORMAL, foreground=Color.MAGENTA)
keyword = partial(color, intensity=Intensity.BRIGHT, foreground=Color.BLUE)

_Style = tuple[Color, Color, Intensity]
_PLAIN: _Style = (Color.RESET, Color.RESET, Intensity.NORMAL)


@dataclass(frozen=True)
class _Place:
    """The position of a part of a document."""

    indent: int
    broken: bool
    style: _Style
    source: Any

    def change(self, **changes: Any) -> _Place:
        return _Place(**{**vars(self), **changes})


class _Layout:
    """One print of a document."""

    def __init__(self, width: int, use_color: bool | None, prefix: str, source_map: Any) -> None:
        self.width = width
        self.colored = (CAN_USE_COLOR and "NO_COLOR" not in os.environ) if use_color is None else use_color
        self.prefix = prefix
        self.source_map = source_map
        self.lines: list[str] = []
        self.style = _PLAIN
        self._begin(0)

    def _begin(self, indent: int) -> None:
        self.line = [" " * indent]
        self.column = indent
        self.notes: list[str] = []
        self.sources: list[tuple[int, int, Any]] = []

    def _end(self) -> None:
        note = f"{self.prefix}{self.prefix.join(self.notes)}" if self.notes else ""
        self.lines.append("".join(self.line) + note)
        if self.source_map is not None:
            self.source_map.append(self.sources)

    def text_of(self, doc: Doc) -> str:
        """The text of a document."""
        place = _Place(0, True, _PLAIN, None)
        pending: list[tuple[Doc, _Place]] = [(doc, place.change(broken=not self._fits([(doc, place)])))]
        while pending:
            part, place = pending.pop()
            if isinstance(part, _Text):
                self._write(part.text, place)
                if part.annotation is not None:
                    self.notes.append(part.annotation)
            elif isinstance(part, _Break) and place.broken:
                self._end()
                self._begin(place.indent)
            elif isinstance(part, _Break):
                self._write(part.text, place)
            elif isinstance(part, _Group):
                flat = place.change(broken=False)
                fits = not place.broken or self._fits([*pending, (part.child, flat)])
                pending.append((part.child, flat if fits else place))
            else:
                pending += _children(part, place)
        if self.style != _PLAIN:
            self._paint(_PLAIN)
        self._end()
        return "\n".join(self.lines)

    def _write(self, text: str, place: _Place) -> None:
        if self.colored and place.style != self.style and text:
            self._paint(place.style)
        self.line.append(text)
        if place.source is not None:
            start = self.column
            if self.sources and self.sources[-1][1:] == (start, place.source):
                start = self.sources.pop()[0]
            self.sources.append((start, self.column + len(text), place.source))
        self.column += len(text)

    def _paint(self, style: _Style) -> None:
        foreground, background, intensity = style
        codes = (f"3{foreground.value}", f"4{background.value}", f"{intensity.value}")
        changed = [code for code, new, old in zip(codes, style, self.style, strict=True) if new is not old]
        self.line.append(f"\033[{';'.join(changed)}m")
        self.style = style

    def _fits(self, pending: list[tuple[Doc, _Place]]) -> bool:
        """Whether the rest of the line fits, with the last part without breaks, up to the next new line."""
        room = self.width - self.column
        pending = list(pending)
        pending[-1] = (pending[-1][0], pending[-1][1].change(broken=False))
        while pending and room >= 0:
            part, place = pending.pop()
            if isinstance(part, _Break) and place.broken:
                return True
            if isinstance(part, _Text | _Break):
                room -= len(part.text)
            elif isinstance(part, _Group):
                pending.append((part.child, place.change(broken=False)))
            else:
                pending += _children(part, place)
        return room >= 0


def _children(part: Doc, place: _Place) -> list[tuple[Doc, _Place]]:
    """The parts of a document with their places, the last first."""
    if isinstance(part, _Concat):
        return [(child, place) for child in reversed(part.children)]
    if isinstance(part, _Nest):
        return [(part.child, place.change(indent=place.indent + part.indent))]
    if isinstance(part, _Sourced):
        return [(part.child, place.change(source=part.source))]
    if isinstance(part, _Colored):
        own = (part.foreground, part.background, part.intensity)
        style = tuple(old if new is None else new for new, old in zip(own, place.style, strict=True))
        return [(part.child, place.change(style=style))]
    raise TypeError(f"format: a document must have parts of this module, got {part!r}")
