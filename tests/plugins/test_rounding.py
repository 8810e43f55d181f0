"""Rounding and the representation of numbers are those of jax, and have the derivatives that they should."""

from __future__ import annotations

import numpy as np
import pytest
from elementwise import DTYPES, check_against_jax_at_awkward_numbers, check_same_dtypes_as_jax, in_32_bits
from rulecheck import assert_close

import primax as px

CALLS = {
    "floor": (1, lambda lax, x: lax.floor(x)),
    "ceil": (1, lambda lax, x: lax.ceil(x)),
    "round": (1, lambda lax, x: lax.round(x)),
    "round to even": (1, lambda lax, x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)),
    "is_finite": (1, lambda lax, x: lax.is_finite(x)),
    "nextafter": (2, lambda lax, x, y: lax.nextafter(x, y)),
    "reduce_precision": (1, lambda lax, x: lax.reduce_precision(x, 5, 2)),
}


@pytest.mark.parametrize("dtype", DTYPES)
def test_rounding_takes_the_dtypes_that_jax_takes(dtype):
    check_same_dtypes_as_jax(CALLS, dtype)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if "float" in d])
def test_rounding_has_the_values_of_jax(dtype):
    check_against_jax_at_awkward_numbers(CALLS, dtype)


def test_halves_go_where_the_rounding_method_says():
    x = np.float32([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5])
    assert_close(px.lax.round(x), np.float32([-3, -2, -1, 1, 2, 3]))
    even = px.lax.round(x, px.lax.RoundingMethod.TO_NEAREST_EVEN)
    assert_close(even, np.float32([-2, -2, 0, 0, 2, 2]))
    np.testing.assert_array_equal(px.lax.round(x, 1), even)


def test_steps_have_no_slope():
    x = np.float32([0.25, 1.75])
    for call in (px.lax.floor, px.lax.ceil, px.lax.round):
        np.testing.assert_array_equal(px.grad(lambda x, call=call: call(x).sum())(x), [0, 0])
    _, tangent = px.jvp(px.lax.is_finite, (x,), (x,))
    assert np.asarray(tangent).dtype == px.float0


def test_reduced_precision_is_that_of_a_narrower_dtype():
    x = np.float32([1 / 3, -7.7, 65519.0, 1e-3])
    assert_close(px.lax.reduce_precision(x, 5, 10), x.astype(np.float16).astype(np.float32))


def test_reduced_precision_reduces_its_tangents_too():
    x = np.float32([1 / 3])
    _, tangent = px.jvp(lambda x: px.lax.reduce_precision(x, 5, 3), (x,), (x,))
    assert_close(tangent, px.lax.reduce_precision(x, 5, 3))


def test_nextafter_has_no_derivative():
    with pytest.raises(NotImplementedError, match=r"nextafter .* does not support jvp: it steps"):
        px.jvp(px.lax.nextafter, (1.0, 2.0), (1.0, 1.0))


@in_32_bits
def test_bad_arguments_are_named():
    x = np.ones(2, np.float32)
    with pytest.raises(ValueError, match="2 is not a valid RoundingMethod"):
        px.lax.round(x, 2)
    with pytest.raises(ValueError, match="reduce_precision: exponent_bits must be at least 1, got 0"):
        px.lax.reduce_precision(x, 0, 3)
    with pytest.raises(ValueError, match="reduce_precision: mantissa_bits must not be negative, got -1"):
        px.lax.reduce_precision(x, 5, -1)
    with pytest.raises(TypeError, match=r"floor: its argument must be floating, got i32\[\]"):
        px.lax.floor(1)
