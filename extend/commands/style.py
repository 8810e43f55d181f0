"""Colours of terminals, and short paths."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from functools import cache
from typing import TextIO

__all__ = ["has_colours", "paint", "short_paths", "visible_length", "without_colours"]

_CODES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "blue": 34, "magenta": 35, "cyan": 36}
_ESCAPE = re.compile(r"\x1b\[[\d;]*m")


def has_colours(stream: TextIO | None = None) -> bool:
    """Whether a stream, by default standard output, shows colours.

    As in Python's own tools: NO_COLOR, if not empty, forbids colours; otherwise FORCE_COLOR, if not empty, demands
    them; otherwise the stream must be a terminal, and TERM not `dumb`.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    stream = sys.stdout if stream is None else stream
    return os.environ.get("TERM") != "dumb" and stream.isatty()


def paint(text: str, *styles: str, stream: TextIO | None = None) -> str:
    """A text in a style such as `"bold"` or `"red"`, if the stream shows colours."""
    if not text or not has_colours(stream):
        return text
    return f"\x1b[{';'.join(str(_CODES[style]) for style in styles)}m{text}\x1b[0m"


def without_colours(text: str) -> str:
    """A text without codes for colours."""
    return _ESCAPE.sub("", text)


def visible_length(text: str) -> int:
    """The number of columns of a text, without codes for colours."""
    return len(without_colours(text)) if "\x1b" in text else len(text)


def short_paths(text: str) -> str:
    """A text whose paths of files are short.

    Files of primax and of installed packages begin with the name of the package, those below the current directory with
    the name in it, and those of the user with `~`.
    """
    try:
        here = os.getcwd()
    except OSError:  # it has been removed
        here = ""
    places = [(folder, "") for folder in _packages()]
    places += [(here, ""), (os.path.expanduser("~"), f"~{os.sep}")]
    for folder, short in places:
        if len(folder) > 1:
            text = re.sub(rf"(?<![\w./~-]){re.escape(folder + os.sep)}", short.replace("\\", r"\\"), text)
    return text


@cache
def _packages() -> list[str]:
    """The folders of installed packages: first that of primax, and each folder before those that contain it."""
    package = sys.modules[__name__.partition(".")[0]].__file__ or ""
    folders = {os.path.dirname(os.path.dirname(package)), *map(sysconfig.get_path, ("purelib", "platlib"))}
    return sorted(folders, key=len, reverse=True)
