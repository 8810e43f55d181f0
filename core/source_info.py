"""Where in the user's program an equation was made."""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any, NamedTuple

__all__ = ["Frame", "register_exclusion", "summarize", "user_frame", "user_frames"]


class Frame(NamedTuple):
    """One line of a Python program."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} ({self.function})"


@cache
def internal_folders() -> tuple[str, ...]:
    """The folders whose lines are primax's own."""
    folders: list[str] = []
    for name in ("primax", "primax.core", "primax.interpreters", "primax.extend", "primax.plugins"):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations:
            folders += [f"{folder}/" for folder in spec.submodule_search_locations]
    return tuple(folders)


_excluded: set[str] = set()


def register_exclusion(path: str) -> None:
    """Take the lines of a file, or of all files below a folder, for no user's: those of a transformation, say.

    Args:
      path: as in `__file__`; a folder ends in a slash.
    """
    _excluded.add(path)


def is_internal(file: str) -> bool:
    """Whether a file belongs to primax itself, or to what has been excluded likewise."""
    return file.startswith(internal_folders()) or file.startswith("<frozen") or file.startswith(tuple(_excluded))


def user_frames(source: Any) -> list[Frame]:
    """The user's lines in a traceback object, innermost first; empty if there are none."""
    if source is None:
        return []
    return [
        Frame(frame.file_name, frame.line_num, frame.function_name)
        for frame in source.frames
        if not is_internal(frame.file_name)
    ]


def user_frame(source: Any) -> Frame | None:
    """The innermost of the user's lines in a traceback object."""
    frames = user_frames(source)
    return frames[0] if frames else None


def summarize(source: Any) -> str:
    """The innermost user line as text, or `an unknown line`."""
    frame = user_frame(source)
    return "an unknown line" if frame is None else str(frame)
