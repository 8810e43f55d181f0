"""What packages use of `jax._src.core`, beside the names of `primax.extend.core`."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from primax.core.extended import physical_aval
from primax.extend import core
from primax.extend.core.primitives import call_p, closed_call_p

__all__ = [
    "Trace",
    "call_p",
    "closed_call_p",
    "cur_qdd",
    "full_lower",
    "is_constant_dim",
    "partial",
    "physical_aval",
    "safe_map",
    "safe_zip",
    "trace_ctx",
    "trace_state_clean",
]

partial = functools.partial


class _AnyTrace(type):
    """The type of `Trace`, of which every trace is an instance."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, core.Trace) if cls is Trace else super().__instancecheck__(instance)


class Trace(core.Trace, metaclass=_AnyTrace):
    """A trace with the methods that those written for JAX call on themselves."""

    def full_raise(self, x: Any) -> Any:
        """The value itself: one of another trace is no tracer of this."""
        return x

    def is_valid(self) -> bool:
        """Whether the transformation is at work."""
        return bool(self.alive)

    def invalidate(self) -> None:
        """End the transformation."""
        self.end()

    def requires_low(self) -> bool:
        """Whether programs of values of other types are wanted lowered: there are none."""
        return False


def trace_state_clean() -> bool:
    """Whether operations are evaluated now, under no transformation."""
    return core.current_trace() is core.eval_trace


class _TraceContext:
    """What this thread is tracing."""

    @property
    def trace(self) -> Any:
        """The trace at work."""
        return core.current_trace()

    def is_top_level(self) -> bool:
        """Whether it evaluates operations now."""
        return trace_state_clean()


trace_ctx = _TraceContext()


def is_constant_dim(d: Any) -> bool:
    """Whether the size of an axis is a number, as all sizes are here."""
    return isinstance(d, int | np.integer)


def full_lower(x: Any) -> Any:
    """The value itself: tracers are as simple as they get."""
    return x


def cur_qdd(x: Any) -> Any:
    """The state of a value that is changed in place.

    Raises:
      TypeError: there are no such values.
    """
    raise TypeError(f"cur_qdd: x must be a value that is changed in place, got {type(x).__name__}")


def safe_map(f: Any, *args: Any) -> list[Any]:
    """As `map`, of arguments of one length."""
    return [f(*each) for each in zip(*args, strict=True)]


def safe_zip(*args: Any) -> list[tuple[Any, ...]]:
    """As `zip`, of arguments of one length."""
    return list(zip(*args, strict=True))
