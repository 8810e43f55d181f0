"""Lists that are split and joined by flags and by counts."""

from __future__ import annotations

import doctest
from itertools import compress

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from primax.core import list_utils


@for_all(st.lists(st.tuples(st.integers(), st.booleans())))
def test_merge_undoes_partition(pairs: list[tuple[int, bool]]) -> None:
    xs, flags = [x for x, _ in pairs], [flag for _, flag in pairs]
    those_false, those_true = list_utils.partition(xs, flags)
    assert those_true == list(compress(xs, flags))
    assert list_utils.merge(flags, those_false, those_true) == xs


def test_partition_refuses_flags_that_are_too_few() -> None:
    with pytest.raises(ValueError, match="shorter"):
        list_utils.partition([1, 2], [True])


@for_all(st.lists(st.integers(), max_size=9), st.lists(st.integers(0, 4), max_size=3))
def test_sections_lose_nothing(xs: list[int], counts: list[int]) -> None:
    found = list_utils.sections(xs, *counts)
    assert len(found) == len(counts) + 1
    assert [x for part in found for x in part] == xs


@for_all(st.lists(st.booleans(), min_size=1, max_size=6), st.permutations(range(6)))
def test_a_fixed_point_holds_what_it_began_with_and_does_not_widen(flags: list[bool], order: list[int]) -> None:
    def step(flags: list[bool]) -> tuple[int, list[bool]]:
        return sum(flags), [flags[order[i] % len(flags)] for i in range(len(flags))]

    result, found = list_utils.fixpoint(step, flags)
    assert result == sum(found)
    assert all(b or not a for a, b in zip(flags, found, strict=True))
    assert all(b or not a for a, b in zip(step(found)[1], found, strict=True))


def test_merge_refuses_elements_that_are_too_few() -> None:
    assert list_utils.merge([True], "ab", "cd") == ["c"]  # what is left over is ignored
    with pytest.raises(ValueError, match=r"^merge: there must be one element for each flag, got fewer$"):
        list_utils.merge([True, True, False], "a", "b")


def test_the_examples_are_true() -> None:
    tested = doctest.testmod(list_utils)
    assert tested.attempted == 4
    assert not tested.failed
