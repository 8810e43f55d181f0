"""Errors of callbacks in programs over several devices."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import primax as px
from primax.interpreters.runtime import callback_errors
from primax.interpreters.runtime.callback_errors import Failures


def fail() -> None:
    raise KeyError("missing")


def test_the_call_raises_the_error_and_later_callbacks_are_skipped() -> None:
    failures = Failures()
    ran: list[int] = []
    failing = failures.guarded(fail, lambda: "instead")
    other = failures.guarded(lambda: ran.append(1), lambda: "instead")
    with pytest.raises(px.errors.JaxRuntimeError, match="KeyError: 'missing'") as raised, failures.raised():
        assert [failing(), other(), failing()] == ["instead"] * 3
    assert type(raised.value.__cause__) is KeyError
    assert ran == []
    with failures.raised():
        other()
    assert ran == [1]


def test_all_calls_that_run_raise_the_error() -> None:
    failures = Failures()
    failing = failures.guarded(fail, lambda: None)

    def call(inner: Callable[[], object]) -> None:
        with failures.raised():
            inner()

    def both() -> None:
        with pytest.raises(px.errors.JaxRuntimeError):
            call(failing)

    with pytest.raises(px.errors.JaxRuntimeError):
        call(both)


def test_an_error_is_raised_at_once_if_no_call_runs() -> None:
    with pytest.raises(KeyError):
        Failures().guarded(fail, lambda: None)()


def test_an_error_is_raised_at_once_if_too_many_callbacks_were_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callback_errors, "_MOST_SKIPPED", 2)
    failures = Failures()
    failing = failures.guarded(fail, lambda: "instead")
    outcomes: list[object] = []

    def call() -> None:
        with failures.raised():
            outcomes.append(failing())
            failing()

    with pytest.raises(KeyError):
        call()
    assert outcomes == ["instead"]
