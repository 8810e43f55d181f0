"""The names of `jax._src.core` that packages use, besides the names of `primax.extend.core`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.dimensions import is_symbolic_dim, max_dim, min_dim
from primax.extend.interpreters.batching import BatchTrace
from primax.extend.provisional.arguments import integers
from primax.extend.provisional.avals import physical_aval
from primax.extend.provisional.tracing import thread
from primax.interpreters.runtime.eval import EvalTrace
from primax.porting.private.calls import CallPrimitive, call, call_impl, call_p, closed_call_p

__all__ = [
    "CallPrimitive",
    "DimSize",
    "EvalTrace",
    "ParamDict",
    "Shape",
    "Value",
    "call",
    "call_impl",
    "call_p",
    "canonicalize_shape",
    "closed_call_p",
    "cur_qdd",
    "definitely_equal_shape",
    "full_lower",
    "is_concrete",
    "is_constant_dim",
    "is_constant_shape",
    "is_symbolic_dim",
    "max_dim",
    "min_dim",
    "nonempty_axis_env_DO_NOT_USE",
    "partial",
    "physical_aval",
    "safe_map",
    "safe_zip",
    "trace_ctx",
    "trace_state_clean",
    "unsafe_am_i_under_a_jit_DO_NOT_USE",
    "unsafe_am_i_under_a_vmap_DO_NOT_USE",
    "unsafe_get_axis_names_DO_NOT_USE",
]

partial = functools.partial

DimSize = int
Shape = Sequence[int]
ParamDict = dict[str, Any]
Value = Any


def trace_state_clean() -> bool:
    """Whether no transformation is active."""
    return core.current_trace() is core.eval_trace


class _TraceContext:
    """The state of tracing in this thread."""

    @property
    def trace(self) -> Any:
        """The current trace."""
        return core.current_trace()

    def is_top_level(self) -> bool:
        """Whether the current trace evaluates operations."""
        return trace_state_clean()


trace_ctx = _TraceContext()


def is_constant_dim(d: Any) -> bool:
    """Whether the size of an axis is a number."""
    return isinstance(d, int | np.integer)


def is_constant_shape(s: Shape) -> bool:
    """Whether the sizes of all axes are numbers."""
    return all(map(is_constant_dim, s))


def canonicalize_shape(shape: Any, context: str = "") -> tuple[int, ...]:
    """The sizes of axes as a tuple of integers of Python.

    Raises:
      TypeError: the shape is not a sequence of integers; the message ends with `context`.
    """
    return integers(shape, "canonicalize_shape", f"shape {context}".strip())


def definitely_equal_shape(s1: Shape, s2: Shape) -> bool:
    """Whether two shapes are equal."""
    return tuple(s1) == tuple(s2)


def unsafe_get_axis_names_DO_NOT_USE() -> list[Any]:
    """The names of the axes that are being mapped over."""
    return list(thread.axes)


def nonempty_axis_env_DO_NOT_USE() -> bool:
    """Whether an axis is being mapped over under a name."""
    return bool(thread.axes)


def _under(test: Callable[[Any], bool]) -> bool:
    trace: Any = core.current_trace()
    while trace is not None:
        if test(trace):
            return True
        trace = trace.parent
    return False


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:
    """Whether a program is being traced."""
    return _under(lambda trace: trace.stages)


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    """Whether an axis is being mapped over."""
    return _under(lambda trace: isinstance(trace, BatchTrace))


def is_concrete(x: Any) -> bool:
    """Whether the value of an argument is known: it is not a tracer, or a tracer that Python can test."""
    return bool(x.is_concrete) if isinstance(x, core.Tracer) else x is not None


def full_lower(x: Any) -> Any:
    """Return the value: tracers have no simpler form."""
    return x


def cur_qdd(x: Any) -> Any:
    """The state of a mutable value.

    Raises:
      TypeError: mutable values do not exist here.
    """
    raise TypeError(f"cur_qdd: x must be a value that is changed in place, got {type(x).__name__}")


def safe_map(f: Any, *args: Any) -> list[Any]:
    """`map` over arguments of the same length."""
    return [f(*operands) for operands in zip(*args, strict=True)]


def safe_zip(*args: Any) -> list[tuple[Any, ...]]:
    """`zip` of arguments of the same length."""
    return list(zip(*args, strict=True))
