"""Events are recorded for listeners."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import primax as px
from primax.interpreters import events


@pytest.fixture
def heard() -> Iterator[list[Any]]:
    """What listeners of each kind are called with."""
    seen: list[Any] = []

    def listener(event: str, *values: Any, **metadata: Any) -> None:
        seen.append((event, len(values), metadata))

    kinds = events.events, events.durations, events.spans, events.scalars
    for kind in kinds:
        kind.append(listener)
    yield seen
    for kind in kinds:
        kind.remove(listener)


def test_each_step_of_a_first_call_is_timed(heard: list[Any]) -> None:
    px.jit(lambda x: x * 7 - 1)(np.ones(2, np.float32))
    steps = [event for event, count, _ in heard if count == 1 and event.endswith("_duration")]
    order = list(dict.fromkeys(steps))
    assert [event for event in order if "/compile/" in event] == [
        "/jax/core/compile/jaxpr_trace_duration",
        events.LOWER,
        events.COMPILE,
    ]
    names = {metadata.get("fun_name") for event, _, metadata in heard if event == events.COMPILE}
    assert names == {"jit(<lambda>)"}


def test_listeners_may_leave_while_they_are_called(heard: list[Any]) -> None:
    def once(event: str, **metadata: Any) -> None:
        events.events.remove(once)

    events.events.insert(0, once)
    for _ in range(2):
        events.record_event("/test", times=1)
    assert [event for event, *_ in heard] == ["/test", "/test"]


def test_nothing_is_timed_without_listeners() -> None:
    assert events.timed(events.LOWER, "f") is events.timed(events.COMPILE, "g")
