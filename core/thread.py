"""The state of each thread: its current trace, its options, and the user's line."""

from __future__ import annotations

import threading
from typing import Any

__all__ = ["Thread", "thread"]


class Thread(threading.local):
    """The current trace, the source of the equation being applied, and the axes being mapped over.

    Attributes:
      trace: handles the binds of this thread.
      source: a traceback that equations made now are attributed to; None for the line that makes them.
      depth: how many traces are nested.
      axes: the sizes of named axes; replaced, never changed in place.
      scope: the names of the scopes that it is in, within the program being traced; see `primax.core.scopes`.
      scope_trace: the trace in which the innermost of these scopes began.
      attributes: what XLA is told of the operations of equations that are made now, by name.
      ended: the traces that have ended, if `check_tracer_leaks` is on; weak references, those not looked at yet.
      opened: the axes of the mesh along which contractions leave their sums open, in order.
      config: the options that tracing sees, one object for equal values; see `primax.core.config`.
    """

    trace: Any = None
    source: Any = None
    depth: int = 0
    axes: dict[Any, int] = {}  # noqa: RUF012 - replaced, never changed in place
    scope: str = ""
    scope_trace: Any = None
    attributes: tuple[tuple[str, str], ...] = ()
    ended: tuple[Any, ...] = ()
    opened: tuple[Any, ...] = ()
    config: Any = None


thread = Thread()
