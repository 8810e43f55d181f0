"""The state of each thread: its current trace, its options, and the user's line."""

from __future__ import annotations

import threading
from typing import Any

__all__ = ["Here", "Thread", "shared", "thread"]


class Here:
    """What is read for every equation. A trace keeps that of its thread, since `thread` takes four times as long.

    Attributes:
      source: a traceback that equations made now are attributed to; None for the line that makes them.
      config: the options that tracing sees, if the thread overrides any; otherwise those of `shared` are in force.
    """

    __slots__ = ("config", "source")

    config: Any
    source: Any

    def __init__(self) -> None:
        self.config = None
        self.source = None


class _Shared:
    """State that all threads share.

    Attributes:
      config: the options that tracing sees in threads that override none of them; see `primax.core.config`.
    """

    __slots__ = ("config",)

    config: Any


shared = _Shared()


class Thread(threading.local):
    """The current trace, the source of the equation being applied, and the axes being mapped over.

    Attributes:
      trace: handles the binds of this thread.
      here: what hot paths read; `source` and `config` are there.
      depth: how many traces are nested.
      axes: the sizes of named axes; replaced, never changed in place.
      scope: the names of the scopes that it is in, within the program being traced; see `primax.core.scopes`.
      scope_trace: the trace in which the innermost of these scopes began.
      attributes: what XLA is told of the operations of equations that are made now, by name.
      ended: the traces that have ended, if `check_tracer_leaks` is on; weak references, those not looked at yet.
      opened: the axes of the mesh along which contractions leave their sums open, in order.
    """

    trace: Any = None
    depth: int = 0
    axes: dict[Any, int] = {}  # noqa: RUF012 - replaced, never changed in place
    scope: str = ""
    scope_trace: Any = None
    attributes: tuple[tuple[str, str], ...] = ()
    ended: tuple[Any, ...] = ()
    opened: tuple[Any, ...] = ()

    def __init__(self) -> None:
        self.here = Here()

    @property
    def source(self) -> Any:
        """A traceback that equations made now are attributed to; None for the line that makes them."""
        return self.here.source

    @source.setter
    def source(self, source: Any) -> None:
        self.here.source = source

    @property
    def config(self) -> Any:
        """The options that tracing sees, one object for equal values; see `primax.core.config`."""
        return self.here.config or shared.config


thread = Thread()
