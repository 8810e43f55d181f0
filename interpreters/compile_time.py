"""Evaluation while a program is traced: what depends on no tracer is computed now."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from primax.core.trace import Trace, Tracer, enter, set_current_trace, thread
from primax.interpreters.evaluate import eval_trace

__all__ = ["OpaqueTraceState", "ensure_compile_time_eval", "get_opaque_trace_state"]


class CompileTimeTrace(Trace):
    """Computes what has no tracers among its arguments, and leaves the rest to the transformation around."""

    __slots__ = ()

    def process(self, primitive: Any, args: Any, params: dict[str, Any]) -> Any:
        if any(isinstance(x, Tracer) for x in args):
            return self.parent.process(primitive, args, params)
        before = enter(eval_trace)
        try:
            return eval_trace.process(primitive, args, params)
        finally:
            enter(before)


@contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """A `with` block in which operations on values that are known are computed, even while a program is traced.

    Their results are known too, so that Python may ask for them. Operations on tracers are traced as ever.

    >>> import primax as px
    >>> @px.jit
    ... def f(x):
    ...     with px.ensure_compile_time_eval():
    ...         count = px.numpy.sum(px.numpy.arange(4))
    ...     return x * int(count)
    >>> float(f(2.0))
    12.0
    """
    if not thread.trace.tracing:
        yield
        return
    trace = CompileTimeTrace(thread.trace)
    try:
        with set_current_trace(trace):
            yield
    finally:
        trace.end()


class OpaqueTraceState:
    """Which transformations are at work, to be compared with another such state."""

    __slots__ = ("_trace",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, trace: Any) -> None:
        self._trace = trace

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueTraceState) and self._trace is other._trace


def get_opaque_trace_state(convention: Any = None) -> OpaqueTraceState:
    """The transformations that are at work now, as something that equals itself as long as they are the same.

    Args:
      convention: not used; there for code written for JAX.
    """
    return OpaqueTraceState(thread.trace)
