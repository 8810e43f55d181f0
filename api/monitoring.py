"""Events of a process: libraries record events, and programs register listeners.

primax records how long tracing, lowering and compiling a function of `jit` takes, under JAX's names:
`/jax/core/compile/jaxpr_trace_duration`, `.../jaxpr_to_mlir_module_duration` and `.../backend_compile_duration`, each
with `fun_name`. It also records whether the compilation cache had a program: `/jax/compilation_cache/cache_hits` and
`.../cache_misses`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primax.core import undo_log
from primax.interpreters.events import (
    durations,
    events,
    record_event,
    record_event_duration_secs,
    record_event_time_span,
    record_scalar,
    scalars,
    spans,
)

__all__ = [
    "clear_event_listeners",
    "record_event",
    "record_event_duration_secs",
    "record_event_time_span",
    "record_scalar",
    "register_event_duration_secs_listener",
    "register_event_listener",
    "register_event_time_span_listener",
    "register_scalar_listener",
    "unregister_event_duration_listener",
    "unregister_event_listener",
    "unregister_event_time_span_listener",
    "unregister_scalar_listener",
]
__dir__ = __all__.copy

Listener = Callable[..., Any]


def _register(where: str, listeners: list[Listener], callback: Listener) -> None:
    if not callable(callback):
        raise TypeError(f"{where}: callback must be callable, got {callback!r}")
    listeners.append(callback)
    undo_log.note(lambda: listeners.remove(callback) if callback in listeners else None)


def register_event_listener(callback: Listener) -> None:
    """Call a function at every `record_event`.

    Raises:
      TypeError: the listener is not callable. The other `register_` functions raise it too.
    """
    _register("register_event_listener", events, callback)


def register_event_duration_secs_listener(callback: Listener) -> None:
    """Call a function at every `record_event_duration_secs`."""
    _register("register_event_duration_secs_listener", durations, callback)


def register_event_time_span_listener(callback: Listener) -> None:
    """Call a function at every `record_event_time_span`."""
    _register("register_event_time_span_listener", spans, callback)


def register_scalar_listener(callback: Listener) -> None:
    """Call a function at every `record_scalar`."""
    _register("register_scalar_listener", scalars, callback)


def _unregister(where: str, listeners: list[Listener], callback: Listener) -> None:
    if callback not in listeners:
        raise ValueError(f"{where}: callback must be registered, got {callback!r}")
    listeners.remove(callback)


def unregister_event_listener(callback: Listener) -> None:
    """Stop calling a function at `record_event`.

    Raises:
      ValueError: the listener is not registered. The other `unregister_` functions raise it too.
    """
    _unregister("unregister_event_listener", events, callback)


def unregister_event_duration_listener(callback: Listener) -> None:
    """Stop calling a function at `record_event_duration_secs`."""
    _unregister("unregister_event_duration_listener", durations, callback)


def unregister_event_time_span_listener(callback: Listener) -> None:
    """Stop calling a function at `record_event_time_span`."""
    _unregister("unregister_event_time_span_listener", spans, callback)


def unregister_scalar_listener(callback: Listener) -> None:
    """Stop calling a function at `record_scalar`."""
    _unregister("unregister_scalar_listener", scalars, callback)


def clear_event_listeners() -> None:
    """Remove all listeners of all kinds."""
    for listeners in (events, durations, spans, scalars):
        listeners.clear()
