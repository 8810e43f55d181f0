"""Operations on bits are those of jax for every dtype that has bits to operate on."""

from __future__ import annotations

import numpy as np
import pytest
from elementwise import DTYPES, check_against_jax_at_awkward_numbers, check_same_dtypes_as_jax, in_32_bits

import primax as px

UNARY = ("bitwise_not", "population_count", "clz")
LOGICAL = ("bitwise_and", "bitwise_or", "bitwise_xor")
SHIFTS = ("shift_left", "shift_right_arithmetic", "shift_right_logical")
CALLS = {
    **{name: (1, lambda lax, x, name=name: getattr(lax, name)(x)) for name in UNARY},
    **{name: (2, lambda lax, x, y, name=name: getattr(lax, name)(x, y)) for name in (*LOGICAL, *SHIFTS)},
}


@pytest.mark.parametrize("dtype", DTYPES)
def test_bits_are_of_the_dtypes_that_jax_takes(dtype):
    check_same_dtypes_as_jax(CALLS, dtype)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if "float" not in d and "complex" not in d])
def test_bits_have_the_values_of_jax(dtype):
    check_against_jax_at_awkward_numbers(CALLS, dtype)


def test_shifts_by_the_width_and_beyond_leave_nothing_but_the_sign():
    x, y = np.int32([5, -5, 5, -5]), np.int32([32, 32, 100, -1])
    np.testing.assert_array_equal(px.lax.shift_left(x, y), [0, 0, 0, 0])
    np.testing.assert_array_equal(px.lax.shift_right_logical(x, y), [0, 0, 0, 0])
    np.testing.assert_array_equal(px.lax.shift_right_arithmetic(x, y), [0, -1, 0, -1])


def test_operators_have_the_names_that_jaxprs_print():
    x = np.int32([1, 2])
    found = [
        px.make_jaxpr(call)(x, x).jaxpr.eqns[0].primitive.name
        for call in (px.lax.bitwise_and, px.lax.bitwise_or, px.lax.bitwise_xor)
    ]
    assert found == ["and", "or", "xor"]
    assert px.make_jaxpr(px.lax.bitwise_not)(x).jaxpr.eqns[0].primitive.name == "not"


@in_32_bits
def test_bits_have_no_tangent():
    x = np.int32([5, -6, 7])
    zero = np.zeros(3, px.float0)
    _, tangent = px.jvp(lambda x: px.lax.shift_left(x, 1), (x,), (zero,))
    assert np.asarray(tangent).dtype == px.float0


@in_32_bits
def test_bad_arguments_are_named():
    x = np.ones(2, np.float32)
    with pytest.raises(TypeError, match=r"and: argument 0 must be boolean or integer, got f32\[2\]"):
        px.lax.bitwise_and(x, x)
    with pytest.raises(TypeError, match=r"shift_left: argument 0 must be integer, got bool\[2\]"):
        px.lax.shift_left(x > 0, x > 0)
    with pytest.raises(TypeError, match=r"or: arguments must have the same dtype, got bool\[2\] and i32\[\]"):
        px.lax.bitwise_or(x > 0, 1)
