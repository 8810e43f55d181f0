"""Comparisons are those of jax for every dtype, have no derivative, and name what is wrong."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from elementwise import DTYPES, awkward, check_against_jax_at_awkward_numbers, check_same_dtypes_as_jax, in_32_bits
from rulecheck import equations

import primax as px
from primax.extend.core import primitives

NAMES = ("eq", "ne", "ge", "gt", "le", "lt")
CALLS = {name: (2, lambda lax, x, y, name=name: getattr(lax, name)(x, y)) for name in NAMES}


@pytest.mark.parametrize("dtype", DTYPES)
def test_comparisons_take_the_dtypes_that_jax_takes(dtype):
    check_same_dtypes_as_jax(CALLS, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_comparisons_have_the_values_of_jax(dtype):
    check_against_jax_at_awkward_numbers(CALLS, dtype)


@pytest.mark.parametrize("name", NAMES)
def test_comparisons_are_those_of_python(name):
    x, y = (a.ravel() for a in np.meshgrid(awkward("float32"), awkward("float32")))
    want = getattr(operator, name)(x, y)
    got = getattr(px.lax, name)(x, y)
    assert got.dtype == np.bool_
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", ["int8", "uint32", "bfloat16", "float16", "float32"])
def test_the_total_order_puts_minus_zero_below_zero_and_nan_above_all(dtype):
    numbers = [0, 1, 2, 7] if dtype == "uint32" else [-3, -1, 0, 2]
    if "float" in dtype:
        numbers = [-np.inf, -2.5, -0.0, 0.0, 1.0, np.inf, np.nan]
    x = np.array(numbers, awkward(dtype).dtype)
    places = np.arange(len(x))
    for name in ("eq", "le", "lt"):
        got = px.vmap(lambda a, name=name: primitives[f"{name}_to"].bind(px.numpy.full_like(x, a), x))(x)
        np.testing.assert_array_equal(got, getattr(operator, name)(places[:, None], places), err_msg=name)


@pytest.mark.parametrize("name", NAMES)
@in_32_bits
def test_comparisons_take_scalars_on_either_side(name):
    x = np.arange(3.0, dtype=np.float32)
    compare = getattr(px.lax, name)
    np.testing.assert_array_equal(compare(x, 1.0), compare(x, np.float32([1, 1, 1])))
    np.testing.assert_array_equal(compare(1.0, x), compare(np.float32([1, 1, 1]), x))


@in_32_bits
def test_comparisons_have_no_tangent():
    x = np.arange(3.0, dtype=np.float32)
    out, tangent = px.jvp(lambda x: px.lax.gt(x, 1.0), (x,), (x,))
    assert np.asarray(tangent).dtype == px.float0
    assert out.shape == tangent.shape
    assert equations(lambda x: px.jvp(lambda x: px.lax.gt(x, 1.0), (x,), (x,))[0], x) == ["gt"]


@in_32_bits
def test_comparisons_refuse_mixed_dtypes_shapes_and_complex_order():
    x = np.arange(3.0, dtype=np.float32)
    with pytest.raises(TypeError, match=r"lt: arguments must have the same dtype, got f32\[3\] and i32\[\]"):
        px.lax.lt(x, 1)
    with pytest.raises(TypeError, match=r"eq got incompatible shapes for broadcasting: \(3,\), \(2,\)"):
        px.lax.eq(x, x[:2])
    with pytest.raises(TypeError, match=r"ge: argument 0 must be real, got c64\[3\]"):
        px.lax.ge(x + 1j, x + 1j)


def test_comparisons_of_weakly_typed_numbers_are_weakly_typed_and_reductions_of_bits_are_not() -> None:
    assert px.lax.eq(1, 1).weak_type
    assert px.lax.is_finite(1.0).weak_type
    assert px.numpy.less(1, 2).weak_type
    assert not px.lax.eq(np.float32(1), np.float32(1)).weak_type
    assert not px.numpy.isinf(1.0).weak_type
    assert not px.numpy.isclose(1.0, 1.0).weak_type
    assert not px.lax.reduce_or(px.lax.broadcast(px.lax.eq(1, 1), (2,)), (0,)).weak_type
