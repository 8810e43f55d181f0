"""The state of each thread."""

from __future__ import annotations

import threading

import pytest

from primax.core.trace_state import block_fast_path, shared, thread, thread_blockers, unblock_fast_path

pytestmark = [pytest.mark.any_word_size, pytest.mark.any_jaxlib]


def in_another_thread(look):
    seen = []
    other = threading.Thread(target=lambda: seen.append(look()))
    other.start()
    other.join()
    return seen[0]


def test_a_reason_against_direct_calls_is_of_one_thread_and_known_to_all():
    reason = object()
    block_fast_path(reason)
    block_fast_path(reason)
    try:
        assert thread.here.blockers[-2:] == thread_blockers[-2:] == [reason, reason]
        assert in_another_thread(lambda: (reason in thread.here.blockers, reason in thread_blockers)) == (False, True)
    finally:
        unblock_fast_path(reason)
        assert reason in thread_blockers
        unblock_fast_path(reason)
    assert reason not in thread.here.blockers
    assert reason not in thread_blockers
    with pytest.raises(ValueError, match="not in list"):
        unblock_fast_path(reason)


def test_a_thread_without_overrides_has_the_options_of_the_process():
    before = thread.here.config
    thread.here.config = "overridden"
    try:
        assert thread.config == "overridden"
        assert in_another_thread(lambda: thread.config) is shared.config
    finally:
        thread.here.config = before


def test_the_source_is_kept_where_traces_read_it():
    before = thread.source
    thread.source = "a line"
    try:
        assert thread.here.source == "a line"
        assert in_another_thread(lambda: thread.source) is None
    finally:
        thread.source = before


def test_a_new_thread_traces_nothing():
    assert in_another_thread(lambda: (thread.depth, thread.axes, thread.scope, thread.ended)) == (0, {}, "", ())
