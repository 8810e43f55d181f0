"""Events of a process: libraries record events, and programs register listeners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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

Listener = Callable[..., Any]

_events: list[Listener] = []
_durations: list[Listener] = []
_spans: list[Listener] = []
_scalars: list[Listener] = []


def record_event(event: str, **metadata: str | int) -> None:
    """Record an event; listeners are called with `(event, **metadata)`.

    >>> seen = []
    >>> register_event_listener(lambda event, **metadata: seen.append((event, metadata)))
    >>> record_event("/my/library/retry", times=2)
    >>> seen
    [('/my/library/retry', {'times': 2})]
    >>> clear_event_listeners()
    """
    for listener in tuple(_events):
        listener(event, **metadata)


def record_event_duration_secs(event: str, duration: float, **metadata: str | int) -> None:
    """Record a duration in seconds; listeners are called with `(event, duration, **metadata)`."""
    for listener in tuple(_durations):
        listener(event, duration, **metadata)


def record_event_time_span(event: str, start_time: float, end_time: float, **metadata: str | int) -> None:
    """Record a time span; listeners are called with `(event, start_time, end_time, **metadata)`."""
    for listener in tuple(_spans):
        listener(event, start_time, end_time, **metadata)


def record_scalar(event: str, value: float, **metadata: str | int) -> None:
    """Record a number; listeners are called with `(event, value, **metadata)`."""
    for listener in tuple(_scalars):
        listener(event, value, **metadata)


def _register(where: str, listeners: list[Listener], callback: Listener) -> None:
    if not callable(callback):
        raise TypeError(f"{where}: callback must be callable, got {callback!r}")
    listeners.append(callback)


def register_event_listener(callback: Listener) -> None:
    """Call a function at every `record_event`.

    Raises:
      TypeError: it is not callable; of the other functions likewise.
    """
    _register("register_event_listener", _events, callback)


def register_event_duration_secs_listener(callback: Listener) -> None:
    """Call a function at every `record_event_duration_secs`."""
    _register("register_event_duration_secs_listener", _durations, callback)


def register_event_time_span_listener(callback: Listener) -> None:
    """Call a function at every `record_event_time_span`."""
    _register("register_event_time_span_listener", _spans, callback)


def register_scalar_listener(callback: Listener) -> None:
    """Call a function at every `record_scalar`."""
    _register("register_scalar_listener", _scalars, callback)


def _unregister(where: str, listeners: list[Listener], callback: Listener) -> None:
    if callback not in listeners:
        raise ValueError(f"{where}: callback must be registered, got {callback!r}")
    listeners.remove(callback)


def unregister_event_listener(callback: Listener) -> None:
    """Stop calling a function at `record_event`.

    Raises:
      ValueError: it was not registered; of the other functions likewise.
    """
    _unregister("unregister_event_listener", _events, callback)


def unregister_event_duration_listener(callback: Listener) -> None:
    """Stop calling a function at `record_event_duration_secs`."""
    _unregister("unregister_event_duration_listener", _durations, callback)


def unregister_event_time_span_listener(callback: Listener) -> None:
    """Stop calling a function at `record_event_time_span`."""
    _unregister("unregister_event_time_span_listener", _spans, callback)


def unregister_scalar_listener(callback: Listener) -> None:
    """Stop calling a function at `record_scalar`."""
    _unregister("unregister_scalar_listener", _scalars, callback)


def clear_event_listeners() -> None:
    """Remove all listeners of all kinds."""
    for listeners in (_events, _durations, _spans, _scalars):
        listeners.clear()
