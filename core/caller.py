"""The caller: the innermost line outside primax, in a plugin or a user's program."""

from __future__ import annotations

import sys
import warnings
from typing import NamedTuple

_SURFACE = ("primax.core", "primax.interpreters", "primax.extend")
_HELPERS = frozenset(("_collections_abc", "collections.abc", "contextlib", "functools"))


class Author(NamedTuple):
    """A line of a user's or a plugin's code.

    Attributes:
      module: the name of the module it is in.
      file: that module's file.
      line: its number.
      level: the `stacklevel` with which a warning by the caller of `author` points at it.
      top: whether it is at the top level of a module, or of a cell of a notebook.
    """

    module: str
    file: str
    line: int
    level: int
    top: bool


def is_surface(module: str) -> bool:
    """Whether a module is part of the interface that plugins and users call."""
    return module.startswith(_SURFACE)


def author(inside: tuple[str, ...] = _SURFACE) -> Author:
    """The line of the caller: the innermost one outside the modules whose names begin with these prefixes."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None:
        module = frame.f_globals.get("__name__", "")
        if not (module.startswith(inside) or module in _HELPERS):
            break
        frame, level = frame.f_back, level + 1
    code = frame.f_code
    module = frame.f_globals.get("__name__", "")
    return Author(module, code.co_filename, frame.f_lineno, level, code.co_name == "<module>")


def warn_caller(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn the innermost line outside primax."""
    warnings.warn(text, category, stacklevel=author(inside=("primax.",)).level)
