"""The recursion limit follows the nesting of traces."""

from __future__ import annotations

import sys
from contextlib import ExitStack

import pytest

from primax.core.recursion import raised_recursion_limit
from primax.core.trace import thread

pytestmark = [pytest.mark.any_word_size, pytest.mark.any_jaxlib]


def enter(levels: int, error: type[Exception] | None = None) -> None:
    """Enter levels, one in the other, and raise an error there."""
    with ExitStack() as stack:
        for _ in range(levels):
            stack.enter_context(raised_recursion_limit())
        if error is not None:
            raise error


def test_the_limit_rises_beyond_a_few_levels_and_is_restored() -> None:
    before, depth = sys.getrecursionlimit(), thread.depth
    limits = []
    with ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(raised_recursion_limit())
            limits.append(sys.getrecursionlimit())
        assert thread.depth == depth + 20
    assert limits[0] == before
    assert limits == sorted(limits)
    assert limits[-1] - limits[-2] == limits[-2] - limits[-3] > 0
    assert (sys.getrecursionlimit(), thread.depth) == (before, depth)


def test_an_error_in_a_level_ends_it() -> None:
    before, depth = sys.getrecursionlimit(), thread.depth
    with pytest.raises(KeyError):
        enter(12, KeyError)
    assert (sys.getrecursionlimit(), thread.depth) == (before, depth)


def test_too_many_levels_raise_and_leave_nothing() -> None:
    before, depth = sys.getrecursionlimit(), thread.depth
    with pytest.raises(RecursionError, match=r"^more than 450 transformations .*; does a function call itself\?$"):
        enter(500)
    assert (sys.getrecursionlimit(), thread.depth) == (before, depth)
