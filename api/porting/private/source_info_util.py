"""The name stacks of JAX: `jax.extend.source_info_util` besides the names of `primax.extend.source_info_util`.

primax keeps the scopes of an equation as a text. Here it is a stack, as rules and tracers written for JAX read it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from primax.core.source_info import use
from primax.core.trace_state import thread
from primax.extend import source_info_util

__all__ = [
    "NameStack",
    "Scope",
    "SourceInfo",
    "Transform",
    "current",
    "current_name_stack",
    "extend_name_stack",
    "new_name_stack",
    "new_source_info",
    "reset_name_stack",
    "set_name_stack",
    "transform_name_stack",
]


@dataclass(frozen=True, slots=True)
class Scope:
    """A named part of a program."""

    name: str


@dataclass(frozen=True, slots=True)
class Transform:
    """A transformation of the scope that follows."""

    name: str


@dataclass(frozen=True, slots=True)
class NameStack:
    """The scopes of an equation, the outermost first.

    >>> str(NameStack().extend("a").transform("vmap").extend("b"))
    'a/vmap(b)'
    """

    stack: tuple[Scope | Transform, ...] = ()

    def extend(self, name: str) -> NameStack:
        """This stack with a scope inside."""
        return NameStack((*self.stack, Scope(name)))

    def transform(self, name: str) -> NameStack:
        """This stack with a transformation inside."""
        return NameStack((*self.stack, Transform(name)))

    def __getitem__(self, key: slice) -> NameStack:
        return NameStack(self.stack[key])

    def __len__(self) -> int:
        return len(self.stack)

    def __add__(self, other: NameStack) -> NameStack:
        return NameStack(self.stack + other.stack)

    def __str__(self) -> str:
        names: list[str] = []
        for part in reversed(self.stack):
            if isinstance(part, Scope):
                names.insert(0, part.name)
            else:
                names[:1] = [f"{part.name}({names[0] if names else ''})"]
        return "/".join(names)


class SourceInfo(NamedTuple):
    """The place of an equation: a traceback of jaxlib, or None, and the scopes."""

    traceback: Any
    name_stack: NameStack

    @property
    def frames(self) -> Any:
        """The lines of the traceback, which messages of primax read."""
        return () if self.traceback is None else self.traceback.frames

    def replace(self, **changes: Any) -> SourceInfo:
        """This object with another traceback or name stack."""
        return self._replace(**changes)


def new_source_info() -> SourceInfo:
    """A place without lines and scopes."""
    return SourceInfo(None, NameStack())


def current() -> SourceInfo:
    """The place of an equation that is created now."""
    source = source_info_util.current()
    return SourceInfo(getattr(source, "traceback", source), current_name_stack())


def new_name_stack(name: str = "") -> NameStack:
    """A stack of one scope, or of none if the name is empty."""
    return NameStack((Scope(name),) if name else ())


def current_name_stack() -> NameStack:
    """The scopes of an equation that is created now."""
    return NameStack(tuple(map(Scope, filter(None, thread.scope.split("/")))))


@contextmanager
def set_name_stack(name_stack: NameStack) -> Iterator[None]:
    """A `with` block, or a decorator, in which equations have these scopes."""
    before = thread.scope, thread.scope_trace
    use.begun = True
    thread.scope, thread.scope_trace = str(name_stack), thread.trace
    try:
        yield
    finally:
        thread.scope, thread.scope_trace = before


@contextmanager
def reset_name_stack() -> Iterator[None]:
    """A `with` block, or a decorator, in which equations have no scopes."""
    with set_name_stack(NameStack()):
        yield


@contextmanager
def extend_name_stack(name: str) -> Iterator[NameStack]:
    """A `with` block, or a decorator, in which equations have a further scope; it returns the stack."""
    stack = current_name_stack().extend(name) if name else current_name_stack()
    with set_name_stack(stack):
        yield stack


@contextmanager
def transform_name_stack(name: str) -> Iterator[NameStack]:
    """A `with` block, or a decorator, for a transformation; it returns the stack.

    The scopes of equations do not change: primax's transformations name themselves where a scope begins inside of them.
    """
    yield current_name_stack().transform(name)
