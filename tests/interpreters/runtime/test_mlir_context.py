"""Each thread has an MLIR context, which is replaced after many modules."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from processes import HANG

from primax.interpreters.runtime import mlir_context
from primax.interpreters.runtime.mlir_context import shared_context


def test_a_thread_keeps_its_context_and_others_have_their_own() -> None:
    mine = shared_context()
    if mine.modules + 2 < mlir_context._MODULES_PER_CONTEXT:
        assert shared_context() is mine
    others: list[Any] = []
    thread = threading.Thread(target=lambda: others.append(shared_context()))
    thread.start()
    thread.join(HANG)
    assert others[0] is not mine


def test_a_context_is_replaced_after_many_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mlir_context, "_MODULES_PER_CONTEXT", 0)
    assert shared_context() is not shared_context()


def test_another_thread_waits_until_a_context_is_left() -> None:
    shared = shared_context()
    entered = threading.Event()

    def enter() -> None:
        with shared:
            entered.set()

    with shared:
        thread = threading.Thread(target=enter)
        thread.start()
        assert not entered.wait(0.1)
    thread.join(HANG)
    assert entered.is_set()
