"""The garbage collector is left as it was found."""

from __future__ import annotations

import gc

import pytest

import primax as px
from primax.core.gc_pause import gc_paused

pytestmark = pytest.mark.any_word_size


@pytest.fixture
def thresholds():
    before = gc.get_threshold()
    yield before
    gc.set_threshold(*before)


def test_the_collector_is_sparing_in_the_block_and_as_it_was_afterwards(thresholds):
    with gc_paused():
        inside = gc.get_threshold()
        with gc_paused():
            assert gc.get_threshold() == inside
        assert gc.get_threshold() == inside
    assert inside[0] > thresholds[0]
    assert min(inside[1:]) > 10**6
    assert gc.get_threshold() == thresholds


def test_it_is_given_back_after_an_error(thresholds):
    def fail(x):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        px.make_jaxpr(fail)(1.0)
    assert gc.get_threshold() == thresholds


def test_it_is_left_alone_by_those_who_have_turned_it_off(thresholds):
    gc.set_threshold(0)
    with gc_paused():
        assert gc.get_threshold()[0] == 0


def test_what_a_traced_function_sets_stays(thresholds):
    px.make_jaxpr(lambda x: gc.set_threshold(123, 4, 5) or x)(1.0)
    assert gc.get_threshold() == (123, 4, 5)


def test_staging_is_sparing(thresholds):
    seen = []
    px.make_jaxpr(lambda x: seen.append(gc.get_threshold()) or x)(1.0)
    assert min(seen[0][1:]) > 10**6
    assert gc.get_threshold() == thresholds
