"""The source lines of equations in the user's program."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any, NamedTuple

from primax.core import undo_log
from primax.core.trace_state import thread


class Frame(NamedTuple):
    """One line of a Python program."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} ({self.function})"


class _Use:
    """Whether any scope has begun; until then no code looks for scopes."""

    __slots__ = ("begun",)

    begun: bool

    def __init__(self) -> None:
        self.begun = False


use = _Use()


class ScopedSource(NamedTuple):
    """The place of an equation: the names of its scopes, a traceback, and its attributes for XLA."""

    scope: str
    traceback: Any
    attributes: tuple[tuple[str, str], ...] = ()

    @property
    def name_stack(self) -> str:
        return self.scope

    @property
    def frames(self) -> Any:
        return self.traceback.frames

    def __str__(self) -> str:
        return f"{self.traceback}\nin the scope {self.scope}"


def scoped(source: Any) -> Any:
    """A source with the current scopes of this thread; a source that has scopes keeps them."""
    scope, attributes = thread.scope, thread.attributes
    if not (scope or attributes) or type(source) is ScopedSource:
        return source
    return ScopedSource(scope, source, attributes)


def scope_of(source: Any) -> str:
    """The names of the scopes of a source, as `outer/inner`; empty if there are none."""
    return source.scope if type(source) is ScopedSource else ""


def attributes_of(source: Any) -> tuple[tuple[str, str], ...]:
    """The attributes of an equation's operations for XLA."""
    return source.attributes if type(source) is ScopedSource else ()


def transposed(source: Any) -> Any:
    """The source of the transposed operations of an equation."""
    if type(source) is not ScopedSource or not source.scope or "transpose(" in source.scope:
        return source
    names = source.scope.split("/")
    place = next((i for i, name in enumerate(names) if "jvp(" in name), 0)
    before, jvp, name = names[place].partition("jvp(")
    names[place] = f"{before}transpose({jvp}{name})" if jvp else f"transpose({before})"
    return ScopedSource("/".join(names), source.traceback, source.attributes)


@functools.cache
def internal_folders() -> tuple[str, ...]:
    """The folders and files of primax itself."""
    folders: list[str] = []
    for name in ("primax", "primax.core", "primax.interpreters", "primax.extend", "primax.plugins"):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations:
            folders += [f"{folder}/" for folder in spec.submodule_search_locations]
    # The code of decorators and context managers is between the lines of primax.
    return (*folders, contextlib.__file__, functools.__file__)


_excluded: dict[str, None] = {}


def register_exclusion(path: str) -> None:
    """Exclude the lines of a file, or of all files in a folder, from the user's lines; for transformations.

    Args:
      path: as in `__file__`; a folder ends in a slash.

    Raises:
      TypeError: `path` is not a str.
      ValueError: `path` is empty, which would match all files.
    """
    if not isinstance(path, str):
        raise TypeError(f"register_exclusion: path must be a str, got {path!r}")
    if not path:
        raise ValueError("register_exclusion: path must not be empty, got ''")
    undo_log.put(_excluded, path, None)


def is_internal(file: str) -> bool:
    """Whether a file belongs to primax, or was registered by `register_exclusion`."""
    return file.startswith(internal_folders()) or file.startswith("<frozen") or file.startswith(tuple(_excluded))


_plugin_files: set[str] = set()


def register_plugin_files(path: str) -> None:
    """Exclude the lines of a plugin from the user's lines, unless there are no others.

    Args:
      path: as for `register_exclusion`.
    """
    _plugin_files.add(path)


def _is_plugins(file: str) -> bool:
    """Whether a file belongs to an installed plugin that is active."""
    return bool(_plugin_files) and file.startswith(tuple(_plugin_files))


def recorded_frames(source: Any) -> list[Frame]:
    """All lines in a traceback object, innermost first."""
    if source is None:
        return []
    return [Frame(frame.file_name, frame.line_num, frame.function_name) for frame in source.frames]


def user_frames(source: Any) -> list[Frame]:
    """The user's lines in a traceback object, innermost first; the lines of plugins if there are no others."""
    outside = [frame for frame in recorded_frames(source) if not is_internal(frame.file)]
    return [frame for frame in outside if not _is_plugins(frame.file)] or outside


def user_frame(source: Any) -> Frame | None:
    """The innermost line of the user in a traceback object."""
    frames = user_frames(source)
    return frames[0] if frames else None


def running_frames() -> Iterator[Frame]:
    """The lines of the program that is running, innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield Frame(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname)
        frame = frame.f_back


def called() -> str:
    """The function of primax that the innermost user line calls; empty if it is not known, as where NumPy converts."""
    frame: FrameType | None = sys._getframe(1)
    inside: list[FrameType] = []
    while frame is not None and is_internal(frame.f_code.co_filename):
        inside.append(frame)
        frame = frame.f_back
    if frame is None or inside[-1].f_code.co_name == "__array__":
        return ""
    return next(filter(None, map(_name_of_callee, reversed(inside))), "")


def _name_of_callee(callee: FrameType) -> str:
    """The user's name for the function of a frame; empty for one inside of another, such as that of a decorator.

    Factories name their functions by `arguments.rename`.
    """
    code = callee.f_code
    *classes, name = code.co_qualname.split(".")
    if "<locals>" in classes:
        return ""
    if classes and name in ("__call__", "bind"):  # of an object with a name, such as a primitive
        called = callee.f_locals[code.co_varnames[0]]
        name = str(getattr(called, "__name__", None) or getattr(called, "name", ""))
    elif classes and name in ("__new__", "__init__"):
        name = classes[-1]
    return name.strip("_")


def user_lines(frames: Iterable[Frame]) -> str:
    """The innermost user line among all lines; if it is in a rule, also the line for which the rule is applied.

    The lines of plugins are included if they are in a rule, or if there are no others.
    """
    inner = outer = None
    in_rule = False
    for frame in frames:
        if is_internal(frame.file):
            in_rule = in_rule or frame.function.endswith("Trace.process")
        elif inner is None:
            inner, in_rule = frame, False
        elif in_rule:
            outer, in_rule = frame, False
        elif outer is None and _is_plugins(inner.file):
            inner = frame  # the line that calls a function of the plugin
        elif outer is not None and _is_plugins(outer.file):
            outer = frame
    if inner is None:
        return ""
    return str(inner) if outer is None else f"{inner}, for {outer}"


def summarize(source: Any) -> str:
    """The innermost user line as text, or `an unknown line`."""
    frame = user_frame(source)
    return "an unknown line" if frame is None else str(frame)
