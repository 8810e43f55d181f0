"""The state of each thread: its current trace, its options, and the user's line."""

from __future__ import annotations

import threading
from typing import Any

# The reasons why compiled programs are not called directly in any thread: options whose value for the process requires
# that calls are examined, a profile that is recorded, and a fork.
fast_path_blockers: list[Any] = []

# The reasons of all threads why they do not call compiled programs directly: overrides of options, and axes along which
# sums are pending. While the list is empty, no code reads `thread`, which is slow; see `TraceState.blockers`.
thread_blockers: list[Any] = []

# One item for each thread that traces a function, for the same purpose.
tracing: list[None] = []


class TraceState:
    """State read for every equation. A trace keeps its thread's `TraceState`: reading `thread` is four times slower.

    Attributes:
      blockers: the reasons why this thread does not call compiled programs directly.
      source: a traceback that becomes the source of new equations; None for the line that makes them.
      config: the options that affect tracing, if the thread overrides any; otherwise those of `shared` apply.
    """

    __slots__ = ("blockers", "config", "source")

    blockers: list[Any]
    config: Any
    source: Any

    def __init__(self) -> None:
        self.blockers = []
        self.config = None
        self.source = None


class _Shared:
    """State that all threads share.

    Attributes:
      config: the options that affect tracing in threads without overrides; see `primax.core.config`.
    """

    __slots__ = ("config",)

    config: Any


shared = _Shared()


class Thread(threading.local):
    """The state of the current thread.

    Attributes:
      trace: the trace that handles the binds of this thread.
      here: the state for hot paths, with `source` and `config`.
      depth: how many traces are nested.
      axes: the sizes of named axes; replaced, never changed in place.
      scope: the names of the current scopes, within the program being traced; see `interpreters/scopes.py`.
      scope_trace: the trace in which the innermost of these scopes began.
      attributes: attributes for XLA on the operations of new equations, by name.
      ended: weak references to traces that have ended and were not examined yet, if `check_tracer_leaks` is on.
    """

    trace: Any = None
    depth: int = 0
    axes: dict[Any, int] = {}  # noqa: RUF012 - replaced, never changed in place
    scope: str = ""
    scope_trace: Any = None
    attributes: tuple[tuple[str, str], ...] = ()
    ended: tuple[Any, ...] = ()

    def __init__(self) -> None:
        self.here = TraceState()

    @property
    def source(self) -> Any:
        """A traceback that becomes the source of new equations; None for the line that makes them."""
        return self.here.source

    @source.setter
    def source(self, source: Any) -> None:
        self.here.source = source

    @property
    def config(self) -> Any:
        """The options that affect tracing, one object for equal values; see `primax.core.config`."""
        return self.here.config or shared.config


thread = Thread()


def block_fast_path(reason: Any) -> None:
    """Leave the calls of compiled programs in this thread to jaxlib's dispatcher."""
    thread.here.blockers.append(reason)
    thread_blockers.append(reason)


def unblock_fast_path(reason: Any) -> None:
    """Undo `block_fast_path` with the same reason."""
    thread.here.blockers.remove(reason)
    thread_blockers.remove(reason)
