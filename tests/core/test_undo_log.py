"""Reversible writes: what is recorded, where, and in which order it is undone."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from primax.core import undo_log

pytestmark = [pytest.mark.any_word_size, pytest.mark.any_jaxlib]

entries = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), max_size=8)


@given(st.dictionaries(st.sampled_from("abc"), st.integers(0, 3)), entries)
def test_a_table_is_as_before_when_all_is_undone(table: dict[str, int], writes: list[tuple[str, int]]) -> None:
    before = dict(table)
    undos: list[undo_log.Undo] = []
    with undo_log.recording(undos):
        for key, value in writes:
            undo_log.put(table, key, value)
    assert table == {**before, **dict(writes)}
    assert len(undos) == len(writes)
    undo_log.undo_all(undos)
    assert (table, undos) == (before, [])


def test_without_a_recording_a_write_stays() -> None:
    table: dict[str, int] = {}
    undo_log.put(table, "a", 1)
    undos: list[undo_log.Undo] = []
    undo_log.undo_all(undos)
    assert table == {"a": 1}


def test_a_value_of_none_comes_back() -> None:
    table: dict[str, Any] = {"a": None}
    undos: list[undo_log.Undo] = []
    with undo_log.recording(undos):
        undo_log.put(table, "a", 1)
    undo_log.undo_all(undos)
    assert table == {"a": None}


def test_an_inner_recording_has_its_writes_alone_and_the_outer_one_goes_on() -> None:
    outer: list[undo_log.Undo] = []
    inner: list[undo_log.Undo] = []
    table: dict[str, int] = {}
    with undo_log.recording(outer):
        undo_log.put(table, "a", 1)
        with contextlib.suppress(KeyError), undo_log.recording(inner):
            undo_log.put(table, "b", 2)
            raise KeyError
        undo_log.put(table, "c", 3)
    undo_log.undo_all(inner)
    assert table == {"a": 1, "c": 3}
    undo_log.undo_all(outer)
    assert table == {}


def test_the_latest_write_is_undone_first_and_its_own_writes_are_not_recorded() -> None:
    order: list[int] = []
    undos: list[undo_log.Undo] = []

    def undo(number: int) -> None:
        undo_log.note(lambda: order.append(-1))
        order.append(number)

    with undo_log.recording(undos):
        undo_log.note(lambda: undo(0))
        undo_log.note(lambda: undo(1))
        undo_log.undo_all(undos)
        assert (order, undos) == ([1, 0], [])


def test_a_recording_is_of_its_thread() -> None:
    undos: list[undo_log.Undo] = []
    table: dict[str, int] = {}
    with undo_log.recording(undos):
        other = threading.Thread(target=undo_log.put, args=(table, "a", 1))
        other.start()
        other.join()
    assert (table, undos) == ({"a": 1}, [])
