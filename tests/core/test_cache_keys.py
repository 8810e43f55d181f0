"""Keys tell apart what is equal but not the same."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import primax as px
from primax import tree
from primax.core.cache_keys import equal_is_same, exact, is_hashable, params_key


class Pair(NamedTuple):
    a: Any
    b: Any


class Colour(enum.IntEnum):
    RED = 1


@dataclass(frozen=True)
class Options:
    scale: Any


class Scalar(float):
    pass


DIFFERENT = [
    (0.0, -0.0),
    (1, True),
    (1, 1.0),
    (1, Colour.RED),
    (1.0, Scalar(1.0)),
    (1, np.int32(1)),
    (np.int32(1), np.int64(1)),
    (np.float32(0.0), np.float32(-0.0)),
    (0j, complex(0.0, -0.0)),
    ((1, 2), (True, 2)),
    ((0.0,), (-0.0,)),
    ((0.0, "-0.0"), (-0.0, "-0.0")),
    ((len, 1, (2.0,)), (len, 1, (2,))),
    ((1, (1,)), (1, (True,))),
    (Pair(1, 2), (1, 2)),
    (Pair(0.0, 1), Pair(-0.0, 1)),
    (Options(0.0), Options(-0.0)),
    (frozenset({1}), frozenset({True})),
    (frozenset({0.0}), frozenset({-0.0})),
]


@pytest.mark.parametrize("one, other", DIFFERENT)
def test_values_that_are_equal_but_not_the_same_have_different_keys(one, other):
    assert one == other
    assert params_key({"x": one}) != params_key({"x": other})
    assert params_key({"x": one}) == params_key({"x": one})


VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-2, 2),
        st.sampled_from([0.0, -0.0, 1.0, math.nan, math.inf]),
        st.sampled_from([0j, complex(-0.0, 0.0), 1 + 0j]),
        st.sampled_from([np.float32(0), np.float32(-0.0), np.float64(1), np.int8(1), np.bool_(True)]),
        st.sampled_from(["a", "b"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple), st.tuples(inner, inner).map(lambda x: Pair(*x)), inner.map(Options)
    ),
    max_leaves=4,
)


@given(VALUES, VALUES)
def test_keys_are_equal_exactly_where_values_print_alike(one, other):
    same = (type(one), repr(one)) == (type(other), repr(other))
    assert ((type(one), exact(one)) == (type(other), exact(other))) is same
    if type(one) is type(other) and equal_is_same(one) and equal_is_same(other) and one == other:
        assert same


@pytest.mark.parametrize(
    "value", [3, "a", None, 0.5, (2, 3), (2, None, "a"), np.dtype("float32"), True, len, (len, exact)]
)
def test_equal_values_of_common_types_are_the_same(value):
    assert equal_is_same(value)


@pytest.mark.parametrize(
    "value", [0.0, -0.0, 1j, (1.0,), (True,), (len, (1.0,)), Pair(1, 2), np.float32(0), Options(1.0)]
)
def test_equal_values_of_some_types_may_differ(value):
    assert not equal_is_same(value)


def test_structures_and_functions_of_jit_are_unlike_other_values():
    structure = tree.structure({"a": 1})
    assert equal_is_same((structure, px.jit(abs), (None, "a")))
    one, other = exact((tree.structure({"a": 1}), 0.5)), exact((structure, 0.5))
    assert one == other
    assert hash(one) == hash(other)


def test_a_tuple_with_no_number_equals_itself():
    nan = (1, math.nan)
    assert exact(nan) == exact((1, -math.nan * -1))


def test_the_names_of_parameters_belong_to_the_key():
    assert params_key({"a": 1, "b": 2}) != params_key({"b": 1, "a": 2})
    assert params_key({"a": 1}) != params_key({"b": 1})


def test_a_value_without_hash_makes_a_key_without_hash():
    assert not is_hashable(params_key({"x": [1]}))
    assert not is_hashable(params_key({"x": ([1],)}))
    assert is_hashable(params_key({"x": (1.0, "a")}))


def test_a_dataclass_that_says_itself_what_is_equal_is_believed():
    @dataclass
    class Named:
        name: str
        table: dict[str, int]

        def __eq__(self, other):
            return self.name == other.name

        def __hash__(self):
            return hash(self.name)

    one, other = Named("a", {}), Named("a", {"x": 1})
    assert exact(one) is one
    assert params_key({"x": one}) == params_key({"x": other})
    assert equal_is_same(one)
    seen = []
    f = px.jit(lambda x, s: [x, seen.append(s)][0], static_argnums=1)
    f(1.0, one), f(1.0, other)
    assert seen == [one]
