"""Events of this process and their listeners; see `primax.monitoring`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

Listener = Callable[..., Any]

events: list[Listener] = []
durations: list[Listener] = []
spans: list[Listener] = []
scalars: list[Listener] = []

TRACE = "/jax/core/compile/jaxpr_trace_duration"
LOWER = "/jax/core/compile/jaxpr_to_mlir_module_duration"
COMPILE = "/jax/core/compile/backend_compile_duration"

_silent = nullcontext()


def record_event(event: str, **metadata: str | int) -> None:
    """Record an event; listeners are called with `(event, **metadata)`.

    >>> seen = []
    >>> events.append(lambda event, **metadata: seen.append((event, metadata)))
    >>> record_event("/my/library/retry", times=2)
    >>> seen
    [('/my/library/retry', {'times': 2})]
    >>> events.clear()
    """
    for listener in tuple(events):
        listener(event, **metadata)


def record_event_duration_secs(event: str, duration: float, **metadata: str | int) -> None:
    """Record a duration in seconds; listeners are called with `(event, duration, **metadata)`."""
    for listener in tuple(durations):
        listener(event, duration, **metadata)


def record_event_time_span(event: str, start_time: float, end_time: float, **metadata: str | int) -> None:
    """Record a time span; listeners are called with `(event, start_time, end_time, **metadata)`."""
    for listener in tuple(spans):
        listener(event, start_time, end_time, **metadata)


def record_scalar(event: str, value: float, **metadata: str | int) -> None:
    """Record a number; listeners are called with `(event, value, **metadata)`."""
    for listener in tuple(scalars):
        listener(event, value, **metadata)


def timed(event: str, name: str) -> AbstractContextManager[None]:
    """A `with` block whose start and duration are recorded as events, with JAX's names and metadata.

    Args:
      event: `LOWER` or `COMPILE`.
      name: the name of the function.
    """
    return _timed(event, f"jit({name.removeprefix('jit_')})") if durations or spans or scalars else _silent


def timed_trace(name: str) -> AbstractContextManager[None]:
    """`timed`, for the trace of a function."""
    return _timed(TRACE, name) if durations or spans or scalars else _silent


@contextmanager
def _timed(event: str, name: str) -> Iterator[None]:
    start = time.time()
    record_scalar(event, start, fun_name=name)
    yield
    end = time.time()
    record_event_duration_secs(event, end - start, fun_name=name)
    record_event_time_span(event, start, end, fun_name=name)
