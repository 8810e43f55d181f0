"""Exponentials, logarithms, powers and roots are those of jax, and have its derivatives in few equations."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from elementwise import DTYPES, check_against_jax_at_awkward_numbers, check_same_dtypes_as_jax, in_32_bits
from rulecheck import assert_close, equations

import primax as px

NAMES = ("exp", "exp2", "expm1", "log", "log1p", "logistic", "sqrt", "rsqrt", "cbrt")
CALLS = {
    **{name: (1, lambda lax, x, name=name: getattr(lax, name)(x)) for name in NAMES},
    "pow": (2, lambda lax, x, y: lax.pow(x, y)),
}


@pytest.mark.parametrize("dtype", DTYPES)
def test_exponentials_take_the_dtypes_that_jax_takes(dtype):
    check_same_dtypes_as_jax(CALLS, dtype)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if "float" in d or "complex" in d])
def test_exponentials_have_the_values_of_jax(dtype):
    if "complex" not in dtype:
        check_against_jax_at_awkward_numbers({n: c for n, c in CALLS.items() if n != "exp2"}, dtype)
    else:
        # A part of -0 counts as in numpy; in jax it is 0.
        calls = {name: call for name, call in CALLS.items() if name != "exp2"}
        check_against_jax_at_awkward_numbers(calls, dtype, domain=_without_negative_zeros)
        # 2 to a complex number with an infinite real part is 0 or infinite; in jax it is NaN.
        exp2 = {"exp2": CALLS["exp2"]}
        check_against_jax_at_awkward_numbers(
            exp2, dtype, domain=lambda x: np.isfinite(x.real) & _without_negative_zeros(x)
        )


def _without_negative_zeros(*numbers):
    parts = [part for z in numbers for part in (z.real, z.imag)]
    return np.all([(part != 0) | ~np.signbit(part) for part in parts], axis=0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_powers_of_two_have_all_digits_where_those_of_jax_do_not(dtype):
    with px.enable_x64(dtype == "float64"):
        x = px.numpy.array([-125.3, -100, -0.0, 0.7, 13.3, 100, np.inf, -np.inf, np.nan], dtype)
        got = np.asarray(px.lax.exp2(x)).astype(np.float64)
    want = np.exp2(np.asarray(x).astype(np.float64))
    range_ = px.numpy.finfo(dtype)
    want = np.where(want > float(range_.max), np.inf, np.where(want < float(range_.tiny), 0, want))
    np.testing.assert_allclose(got, want, rtol=2 * float(range_.eps), atol=float(range_.tiny))


def test_two_to_minus_infinity_is_zero_whatever_the_imaginary_part():
    x = np.array([-np.inf, complex(-np.inf, 1), complex(-np.inf, -7.5)], np.complex64)
    np.testing.assert_array_equal(px.lax.exp2(x), np.zeros(3))


@pytest.mark.parametrize("x", [0.0, -0.0, -1.0, 2.0, np.inf, np.nan])
def test_awkward_derivatives_of_powers_are_those_of_jax(x):
    jax = pytest.importorskip("jax")
    for y in (0, 1, 2, 3, -1):
        np.testing.assert_array_equal(
            px.grad(lambda x, y=y: px.lax.pow(x, y))(x), jax.grad(lambda x, y=y: jax.lax.pow(x, y))(x)
        )
    for y in (0.0, 1.0, 2.0, 0.5):
        got = px.grad(px.lax.pow, argnums=(0, 1))(x, y)
        want = jax.grad(jax.lax.pow, argnums=(0, 1))(x, y)
        if x == y == 0:  # x**0 is 1 there too: its derivative is 0, in jax NaN
            want = 0.0, want[1]
        np.testing.assert_allclose(got, want, rtol=1e-6, err_msg=f"{x}**{y}")


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint8", "uint32"])
def test_derivatives_of_powers_are_right_at_the_least_and_the_greatest_exponent(dtype):
    info = np.iinfo(dtype)
    y = np.array([info.min, info.min + 1, info.max, 0, 1], dtype)
    for base in (1.01, 1.0, 0.99, *[-1.0] * (info.bits < 32)):
        x = np.full(y.shape, base, np.float32)
        got = px.jvp(lambda x: px.lax.pow(x, y), (x,), (np.ones_like(x),))[1]
        wide = y.astype(np.float64)
        with np.errstate(over="ignore"):
            want = np.float32(wide * (base ** (wide - 1)))
        np.testing.assert_allclose(got, want, rtol=2e-3, err_msg=f"{base} ** {y}")


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "uint32"])
def test_integer_exponents_are_converted(dtype):
    jax = pytest.importorskip("jax")
    x = np.float32([-2, 0, 0.5, 3])
    y = np.array([3, 0, 2, 1], dtype)
    got, want = px.lax.pow(x, y), jax.lax.pow(x, y)
    assert_close(got, np.asarray(want))
    assert px.lax.pow(x, 2).dtype == np.float32
    assert_close(px.lax.pow(x, 2), np.asarray(jax.lax.pow(x, 2)))


def test_small_numbers_keep_their_digits():
    x = np.float32([1e-8, -1e-8])
    assert_close(px.lax.expm1(x), x)
    assert_close(px.lax.log1p(x), x)


def test_derivatives_take_few_equations():
    x = np.float32([1.0, 2.0])
    expected = {
        "exp": ["exp", "mul"],
        "log": ["log", "div"],
        "sqrt": ["sqrt", "div", "mul"],
        "exp2": ["exp2", "mul", "mul"],
        "expm1": ["expm1", "exp", "mul"],
        "log1p": ["log1p", "add", "div"],
        "logistic": ["logistic", "logistic_slope", "mul"],
        "rsqrt": ["rsqrt", "mul", "div", "mul"],
        "cbrt": ["cbrt", "div", "div", "mul"],
    }
    for name, names in expected.items():
        assert equations(lambda x, name=name: px.jvp(getattr(px.lax, name), (x,), (x,)), x) == names


@in_32_bits
def test_bad_arguments_are_named():
    x = np.arange(3, dtype=np.int32)
    with pytest.raises(TypeError, match=r"exp: its argument must be floating or complex, got i32\[3\]"):
        px.lax.exp(x)
    with pytest.raises(TypeError, match=r"pow: argument 0 must be floating or complex, got i32\[3\]"):
        px.lax.pow(x, x)
    with pytest.raises(TypeError, match=r"pow: arguments must have the same dtype, got c64.* and f32"):
        px.lax.pow(np.complex64(1), 2.0)


ACCURATE = (*NAMES, "sin", "cos", "tan", "tanh")


@pytest.mark.parametrize("name", ACCURATE)
def test_accuracy_is_written_into_the_module(name):
    x = np.float32([0.5, 1.0])
    call = getattr(px.lax, name)

    def text(accuracy):
        return px.jit(lambda x: call(x, accuracy=accuracy)).lower(x).as_text()

    assert "result_accuracy" not in text(None)
    assert "result_accuracy_mode<HIGHEST>" in text(px.lax.AccuracyMode.HIGHEST)
    assert "rtol = 1.000000e-03, mode = #stablehlo.result_accuracy_mode<TOLERANCE>" in text(px.lax.Tolerance(rtol=1e-3))
    highest = px.lax.AccuracyMode.HIGHEST
    assert_close(call(x, accuracy=highest), call(x), 1e-5)
    assert_close(px.vmap(px.grad(lambda x: call(x, accuracy=highest)))(x), px.vmap(px.grad(call))(x), 1e-5)


def test_bad_accuracies_are_named():
    with pytest.raises(TypeError, match="exp: accuracy must be an AccuracyMode, a Tolerance or None, got 1"):
        px.lax.exp(1.0, accuracy=1)
    with pytest.raises(ValueError, match="Tolerance: atol, rtol and ulps must not be negative, nor all 0"):
        px.lax.Tolerance()
    with pytest.raises(ValueError, match="Tolerance: atol, rtol and ulps must not be negative, nor all 0"):
        px.lax.Tolerance(atol=-1.0)


def test_the_second_derivative_of_cbrt_is_infinite_at_zero_and_vanishes_at_infinity():
    second = px.vmap(px.grad(px.grad(px.lax.cbrt)))
    found = second(np.float32([0, 8, np.inf]))
    np.testing.assert_allclose(found, [-np.inf, -1 / 144, 0], rtol=1e-5)


def test_derivatives_keep_their_digits_in_the_tails():
    x = np.float32([-80.0, -40.0, -20.0, 20.0, 40.0, 80.0])
    wide = x.astype(np.float64)
    slope = np.exp(-np.abs(wide)) / (1 + np.exp(-np.abs(wide))) ** 2
    close = functools.partial(np.testing.assert_allclose, rtol=2e-6)
    close(px.vmap(px.grad(px.lax.expm1))(x), np.exp(wide).astype(np.float32))
    close(px.vmap(px.grad(px.lax.logistic))(x), slope)
    close(px.vmap(px.grad(px.grad(px.lax.logistic)))(x), -slope * np.tanh(wide / 2))
    near = np.float32([1e-6, -1e-20])  # the second derivative is a difference of numbers near 1/8
    close(px.vmap(px.grad(px.grad(px.lax.logistic)))(near), -near / 8)
    accuracy = px.lax.AccuracyMode.HIGHEST
    close(px.vmap(px.grad(lambda x: px.lax.expm1(x, accuracy=accuracy)))(x), np.exp(wide).astype(np.float32))


def test_derivatives_of_powers_at_zero_by_the_exponent_zero():
    def slopes(x, y):
        return [float(s) for s in px.grad(px.lax.pow, (0, 1))(np.float32(x), np.float32(y))]

    assert slopes(0, 0)[0] == 0  # x**0 is 1 at 0 too
    assert float(px.grad(lambda x: x * px.numpy.power(x, 0.0))(0.0)) == 1
    mixed = px.grad(lambda y: px.grad(px.lax.pow)(np.float32(2), y))
    assert float(mixed(np.float32(0))) == 0.5  # of y x**(y - 1)
