"""Symbolic zeros, placeholders of transposition, and sums of tangents."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
from primax.core.avals import get_aval
from primax.interpreters.tangents import (
    UndefinedPrimal,
    Zero,
    add_tangents,
    instantiate_zeros,
    is_undefined_primal,
    zero_from_primal,
    zeros_like_aval,
)

X = np.ones(3, np.float32)


def test_a_zero_has_the_tangent_type_of_its_primal():
    assert Zero.from_primal_value(X).aval == get_aval(X)
    integer = Zero.from_primal_value(np.int32(3))
    assert integer.dtype == px.float0
    assert integer.shape == ()


def test_zeros_are_instantiated_with_their_types():
    np.testing.assert_array_equal(instantiate_zeros(Zero(get_aval(X))), 0 * X)
    assert instantiate_zeros(X) is X
    assert zeros_like_aval(get_aval(np.int32(1)).to_tangent_aval()).dtype == px.float0


def test_a_zero_is_neutral_in_sums():
    zero = Zero(get_aval(X))
    assert add_tangents(zero, X) is X
    assert add_tangents(X, zero) is X
    np.testing.assert_array_equal(add_tangents(X, X), 2 * X)


@pytest.mark.parametrize(
    ("x", "message"),
    [(Zero(get_aval(X)), "is a symbolic zero, not an array"), (UndefinedPrimal(get_aval(X)), "has no value")],
)
@pytest.mark.parametrize("use", [lambda x: x + 1, lambda x: 2 * x, lambda x: -x, np.asarray, lambda x: x[0]])
def test_what_is_no_array_is_not_computed_with(x, message, use):
    with pytest.raises(TypeError, match=message):
        use(x)


def test_attributes_of_arrays_are_refused_with_the_remedy():
    with pytest.raises(AttributeError, match=r"sum: .*instantiate_zeros"):
        _ = Zero(get_aval(X)).sum


def test_placeholders_are_recognized():
    assert is_undefined_primal(UndefinedPrimal(get_aval(X)))
    assert not is_undefined_primal(X)


def test_zeros_of_trees_have_their_structure():
    zeros = zero_from_primal({"x": X, "n": 2})
    np.testing.assert_array_equal(zeros["x"], 0 * X)
    assert zeros["n"].dtype == px.float0
    assert all(type(zero) is Zero for zero in zero_from_primal((X, 2), symbolic_zeros=True))
