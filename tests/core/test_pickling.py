"""Pickles name what makes an object, and the version of their format."""

from __future__ import annotations

import fractions
import pickle

import pytest

from primax.core.pickling import VERSION, pickled, restore

pytestmark = [pytest.mark.any_word_size, pytest.mark.any_jaxlib]


class Ratio:
    """An object whose pickle is a fraction."""

    def __reduce__(self):
        return pickled("fractions:Fraction.from_float", 0.5)


def test_a_pickle_calls_what_its_name_says_with_the_fields():
    assert pickle.loads(pickle.dumps(Ratio())) == fractions.Fraction(1, 2)
    assert pickled("m:a.b", 1, 2) == (restore, (VERSION, "m:a.b", 1, 2))


def test_a_pickle_of_another_version_is_refused():
    message = rf"^a pickle of m:a has version {VERSION + 1}, and this primax reads version {VERSION}: load it with the"
    with pytest.raises(ValueError, match=message):
        restore(VERSION + 1, "m:a", 1)


def test_a_name_that_is_not_there_is_an_error():
    with pytest.raises(AttributeError, match="Lost"):
        restore(VERSION, "fractions:Lost")
