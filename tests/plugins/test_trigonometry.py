"""Trigonometric and hyperbolic functions are those of jax, and have its derivatives in few equations."""

from __future__ import annotations

import numpy as np
import pytest
from elementwise import DTYPES, check_against_jax_at_awkward_numbers, check_same_dtypes_as_jax, in_32_bits
from oracle import jax_does
from rulecheck import assert_close, equations

import primax as px

CIRCULAR = ("sin", "cos", "tan", "asin", "acos", "atan")
NAMES = (*CIRCULAR, "sinh", "cosh", "tanh", "asinh", "acosh", "atanh")
CALLS = {
    **{name: (1, lambda lax, x, name=name: getattr(lax, name)(x)) for name in NAMES},
    "atan2": (2, lambda lax, x, y: lax.atan2(x, y)),
}


@pytest.mark.parametrize("dtype", DTYPES)
def test_trigonometry_takes_the_dtypes_that_jax_takes(dtype):
    check_same_dtypes_as_jax(CALLS, dtype)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_trigonometry_has_the_values_of_jax(dtype):
    check_against_jax_at_awkward_numbers(CALLS, dtype)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_trigonometry_of_complex_numbers_has_the_values_of_jax(dtype):
    # The signs of zeros on the axes are numpy's instead; see below.
    entire = {name: CALLS[name] for name in ("sin", "cos", "sinh", "cosh")}
    check_against_jax_at_awkward_numbers(entire, dtype, domain=lambda z: (z.real != 0) & (z.imag != 0))
    # Some signs of atan on the axes are wrong in jax, and those of results of NaN are open.
    odd = {name: CALLS[name] for name in ("atan", "atanh")}
    check_against_jax_at_awkward_numbers(odd, dtype, domain=lambda z: (z.imag != 0) & (z.real != 0) & ~np.isnan(z))
    others = {name: call for name, call in CALLS.items() if name not in entire and name not in odd}
    check_against_jax_at_awkward_numbers(others, dtype, domain=_without_negative_zeros)


def _without_negative_zeros(*numbers):
    parts = [part for z in numbers for part in (z.real, z.imag)]
    return np.all([(part != 0) | ~np.signbit(part) for part in parts], axis=0)


@pytest.mark.parametrize("name", ["sqrt", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "tan", "tanh"])
def test_zeros_decide_on_the_side_of_a_branch_cut(name):
    numbers = [-7.5, -1.5, -0.5, -0.0, 0.0, 0.5, 1.5, 7.5]
    z = np.array([complex(*p) for x in numbers for s in (0.0, -0.0) for p in ((x, s), (s, x))], np.complex64)
    got, want = np.asarray(getattr(px.numpy, name)(z)), getattr(np, name)(z)
    assert_close(got, want)
    assert (np.signbit(got.imag) == np.signbit(want.imag)).all()
    assert (np.signbit(got.real) == np.signbit(want.real)).all()
    if name.startswith("arc") or name == "sqrt":  # the derivative is that of the same side
        inside = z[(np.abs(z) > 1) | (z.real * z.imag != 0)]
        near = inside + 1e-3 * (np.where(np.signbit(inside.imag), -1j, 1j) + np.where(np.signbit(inside.real), -1, 1))
        slope = px.vmap(px.grad(getattr(px.numpy, name), holomorphic=True))
        assert_close(slope(inside), slope(near.astype(np.complex64)), rtol=5e-2)


def test_sines_and_cosines_stay_on_the_axes():
    axis = [complex(a, b) for a in (0.0, -0.0) for b in (-2.0, -0.0, 0.0, 2.0)]
    z = np.array(axis + [complex(x.imag, x.real) for x in axis], np.complex64)
    for name in ("sin", "cos", "sinh", "cosh"):
        got, want = np.asarray(getattr(px.lax, name)(z)), getattr(np, name)(z)
        assert_close(got, want)
        np.testing.assert_array_equal(np.signbit(got.imag), np.signbit(want.imag))
        np.testing.assert_array_equal(np.signbit(got.real), np.signbit(want.real))
    far = np.array([complex(0, y) for y in (-np.inf, -1e10, -100, 100, 1e10, np.inf)], np.complex64)
    np.testing.assert_array_equal(np.asarray(px.lax.sin(far)).real, np.zeros(6))
    np.testing.assert_array_equal(np.asarray(px.lax.cos(far)).imag, np.zeros(6))


@pytest.mark.parametrize("x", [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, np.nan])
def test_awkward_derivatives_are_those_of_jax(x):
    jax = pytest.importorskip("jax")
    for name in NAMES:
        if name == "acosh" and x <= -1 and not jax_does("the derivative of acosh is NaN where acosh is"):
            continue
        got, want = px.grad(getattr(px.lax, name))(x), jax.grad(getattr(jax.lax, name))(x)
        np.testing.assert_allclose(got, want, rtol=1e-6, err_msg=name)


@in_32_bits
def test_the_derivative_of_acosh_is_accurate_near_one_and_nan_outside():
    x = np.float32([1 + 1e-6, 1.5, -1, -2])
    wide = x[:2].astype(np.float64)
    found = px.vmap(px.grad(px.lax.acosh))(x)
    np.testing.assert_allclose(found[:2], 1 / np.sqrt((wide - 1) * (wide + 1)), rtol=1e-6)
    assert np.isnan(found[2:]).all()


def test_derivatives_take_few_equations():
    x = np.float32([0.5, 0.25])
    expected = {
        "sin": ["sin", "cos", "mul"],
        "cos": ["cos", "sin", "neg", "mul"],
        "tan": ["tan", "square", "add", "mul"],
        "tanh": ["tanh", "sech_squared", "mul"],
        "sinh": ["sinh", "cosh", "mul"],
        "cosh": ["cosh", "sinh", "mul"],
        "asin": ["asin", "one_minus_square", "rsqrt", "mul"],
        "atan": ["atan", "rsqrt_one_plus_square", "square", "mul"],
        "asinh": ["asinh", "rsqrt_one_plus_square", "mul"],
        "atanh": ["atanh", "one_minus_square", "div"],
    }
    for name, names in expected.items():
        assert equations(lambda x, name=name: px.jvp(getattr(px.lax, name), (x,), (x,)), x) == names


@in_32_bits
def test_bad_arguments_are_named():
    with pytest.raises(TypeError, match=r"sin: its argument must be floating or complex, got i32\[\]"):
        px.lax.sin(1)
    with pytest.raises(TypeError, match=r"atan2: arguments must have the same dtype, got f32\[2\] and bf16\[\]"):
        px.lax.atan2(np.ones(2, np.float32), px.lax.convert_element_type(1, "bfloat16"))


def _two_derivatives(f, x):
    return px.jit(lambda x: [px.vmap(g)(x) for g in (px.grad(f), px.grad(px.grad(f)))])(x)


def test_derivatives_keep_their_digits_where_squares_overflow_or_terms_cancel():
    huge, tiny = np.float32([1e10, -1e12, 1e18, 1e30]), np.float32([1e-10, -1e-20])
    for name, x, first, second in (
        (
            "tanh",
            np.float32([-43, -10, 10, 43]),
            lambda x: np.cosh(x) ** -2,
            lambda x: -2 * np.tanh(x) * np.cosh(x) ** -2,
        ),
        ("tanh", tiny, np.ones_like, lambda x: -2 * x),
        ("atanh", tiny, np.ones_like, lambda x: 2 * x),
        ("asinh", huge, lambda x: 1 / np.abs(x), lambda x: -1 / (x * np.abs(x))),
        ("atan", huge[:2], lambda x: x**-2, lambda x: -2 * x**-3),
        ("sinh", np.float32([1e-30, 60, 89]), np.cosh, np.sinh),
    ):
        wide = x.astype(np.float64)
        for found, wanted in zip(_two_derivatives(getattr(px.lax, name), x), (first, second), strict=True):
            np.testing.assert_allclose(found, wanted(wide), rtol=2e-6, atol=np.finfo(np.float32).tiny, err_msg=name)


def test_derivatives_of_the_angle_do_not_overflow():
    x, y = np.float32([1e-25, 3e25, 1.0, -2e30]), np.float32([2e-25, -1e25, 1e-30, 1e-30])
    a, b = x.astype(np.float64), y.astype(np.float64)
    by_x, by_y = px.vmap(px.grad(px.lax.atan2, (0, 1)))(x, y)
    np.testing.assert_allclose(by_x, b / (a * a + b * b), rtol=1e-6, atol=1e-37)
    np.testing.assert_allclose(by_y, -a / (a * a + b * b), rtol=1e-6, atol=1e-37)
