"""The current transformations, as an object that code written for JAX compares."""

from __future__ import annotations

from typing import Any

from primax.core.trace import thread

__all__ = ["OpaqueTraceState", "get_opaque_trace_state"]


class OpaqueTraceState:
    """The current transformations, for comparison with another such state."""

    __slots__ = ("_trace",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, trace: Any) -> None:
        self._trace = trace

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueTraceState) and self._trace is other._trace


def get_opaque_trace_state(convention: Any = None) -> OpaqueTraceState:
    """An opaque object for the active transformations, equal while they are the same.

    Args:
      convention: not used; there for code written for JAX.

    Examples:
      >>> import primax as px
      >>> from primax.extend.core import get_opaque_trace_state
      >>> outside = get_opaque_trace_state()
      >>> outside == get_opaque_trace_state()
      True
      >>> px.jit(lambda: print(outside == get_opaque_trace_state()))()
      False
    """
    return OpaqueTraceState(thread.trace)
