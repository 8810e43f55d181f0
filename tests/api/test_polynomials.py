"""Polynomials of arrays, by Horner's rule."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px


def test_coefficients_are_numbers_or_arrays_of_the_shape() -> None:
    x = np.float32([0.0, 1.0, 2.0])
    for coefficients in ([1.0, 2.0, 3.0], [1.0, 2.0 * np.ones_like(x), np.float32(3.0)], np.outer([1, 2, 3], x >= 0)):
        coefficients = [c if isinstance(c, float) else np.float32(c) for c in coefficients]
        np.testing.assert_array_equal(px.lax.polynomial(x, coefficients), [1.0, 6.0, 17.0])


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.complex64])
def test_without_coefficients_a_polynomial_is_zero(dtype: type) -> None:
    out = px.lax.polynomial(np.ones(3, dtype), [])
    assert out.dtype == dtype
    assert out.tolist() == [0, 0, 0]
    assert px.lax.polynomial(2.0, ()).weak_type


def test_the_constant_is_the_first_coefficient() -> None:
    assert float(px.lax.polynomial(2.0, [3.0, 4.0, 5.0])) == 31.0
    assert float(px.lax.polynomial(0.0, [3.0, 4.0, 5.0])) == 3.0
