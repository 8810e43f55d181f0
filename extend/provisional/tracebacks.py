"""Tracebacks without primax's own frames: the effect of the option `traceback_filtering` at the API's boundaries."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
from importlib.util import find_spec
from types import FrameType, TracebackType
from typing import Any

from primax.core.errors import XlaError
from primax.core.source_info import internal_folders, is_internal
from primax.extend.options import traceback_filtering

__all__ = ["leave", "shorten"]

_BRIDGES = (contextlib.__file__, functools.__file__, "<frozen")
_TOOLS = tuple([f"{find_spec(name).submodule_search_locations[0]}/" for name in ("jaxlib", "numpy", "pluggy")])  # type: ignore[union-attr,index]
_NOTE = "primax hides its own frames; PRIMAX_TRACEBACK_FILTERING=off shows them (said once)."
_FRAME = re.compile(r'^  File "(.*)", line \d+, in .*\n', re.MULTILINE)
_OWN, _BRIDGE, _TOOL, _USER = range(4)
_said: list[str] = []


def _kind(frame: FrameType) -> int:
    """Whose line a frame is: primax's, one between others' lines, one of a library that primax calls, or the user's."""
    file = frame.f_code.co_filename
    if file.startswith(_BRIDGES):
        return _BRIDGE
    if is_internal(file):
        return _OWN
    if file == "<string>":  # code that a dataclass made
        return _OWN if str(frame.f_globals.get("__name__")).startswith("primax.") else _USER
    return _TOOL if file.startswith(_TOOLS) else _USER


def leave(boundary: FrameType) -> None:
    """Hide frames of the exception that is handled, if it leaves primax.

    Args:
      boundary: the frame of a function of the API, which has raised it.
    """
    caller = boundary.f_back
    while caller is not None and caller.f_code.co_filename.startswith(_BRIDGES):
        caller = caller.f_back
    error = sys.exception()
    if error is not None and (caller is None or not caller.f_code.co_filename.startswith(internal_folders())):
        shorten(error)


def shorten(error: BaseException) -> None:
    """Hide the frames of primax in the traceback of an exception, as the option `traceback_filtering` says.

    Args:
      error: the exception; those that it was raised from, and those of a group, are shortened as well.
    """
    mode = traceback_filtering.value
    if mode == "off":
        return
    pending, seen = [error], set()
    changed = False
    while pending:
        one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        changed |= _shorten_one(one, mode)
        pending += [other for other in (one.__cause__, one.__context__) if other is not None]
        if isinstance(one, BaseExceptionGroup):
            pending += one.exceptions
    if changed and mode in ("auto", "remove_frames") and not (_said or _under_pytest() or _in_ipython()):
        _said.append(_NOTE)
        error.add_note(_NOTE)


def _under_pytest() -> bool:
    """Whether a test of pytest runs, which may compare notes with a pattern."""
    return "PYTEST_CURRENT_TEST" in os.environ


def _in_ipython() -> bool:
    """Whether IPython runs the program, which shows how many frames it has hidden, and finds them in its debugger."""
    module: Any = sys.modules.get("IPython")
    return module is not None and module.get_ipython() is not None


def _hidden(traceback: TracebackType | None) -> tuple[list[TracebackType], list[bool]]:
    """The lines of a traceback, and which of them are hidden.

    Those of the decorators and context managers of Python are hidden next to lines of primax, and those of libraries
    if primax calls them.
    """
    lines = []
    while traceback is not None:
        lines.append(traceback)
        traceback = traceback.tb_next
    kinds = [_kind(line.tb_frame) for line in lines]
    hidden = [kind == _OWN for kind in kinds]
    for i in range(1, len(kinds)):
        if kinds[i] in (_BRIDGE, _TOOL) and hidden[i - 1]:
            hidden[i] = True
    for i in reversed(range(len(kinds) - 1)):
        if kinds[i] == _BRIDGE and hidden[i + 1]:
            hidden[i] = True
    return lines, hidden


def _shorten_one(error: BaseException, mode: str) -> bool:
    """Hide lines in the traceback of one exception; return whether there were some."""
    if type(error) is XlaError and _FRAME.search(str(error)):
        error.args = (_FRAME.sub(_unless_internal, str(error)),)
        error.__class__ = _ShortXlaError
    lines, hidden = _hidden(error.__traceback__)
    if not any(hidden):
        return False
    # IPython shows the innermost line even if it is marked, so those within the user's innermost line are removed.
    last = hidden[::-1].index(False) if False in hidden else len(hidden)
    keeps = len(hidden) - last if mode == "auto" and _in_ipython() else len(hidden) if mode == "tracebackhide" else 0
    shown: TracebackType | None = None
    for i, line in reversed(list(enumerate(lines))):
        if hidden[i] and i < keeps:
            line.tb_frame.f_locals["__tracebackhide__"] = True
        if not hidden[i] or i < keeps:
            shown = TracebackType(shown, line.tb_frame, line.tb_lasti, line.tb_lineno)
    error.__traceback__ = shown
    context = error.__context__
    if context is not None and context.__traceback__ is not None and all(_hidden(context.__traceback__)[1]):
        error.__suppress_context__ = True  # primax has raised it, and has handled it
    return True


def _unless_internal(line: re.Match[str]) -> str:
    return "" if is_internal(line[1]) else line[0]


class _ShortXlaError(XlaError):  # type: ignore[misc]
    """An error of XLA with another message: a text with the frames of a callback, without those of primax."""

    def __str__(self) -> str:
        return str(self.args[0])


_ShortXlaError.__name__, _ShortXlaError.__qualname__ = XlaError.__name__, XlaError.__qualname__
_ShortXlaError.__module__ = XlaError.__module__
