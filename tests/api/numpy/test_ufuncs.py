"""Elementwise functions against jax.numpy, over dtypes, scalars, weak types and shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpycheck import DTYPES, compare, sample
from oracle import jax_does

import primax as px
import primax.numpy as pnp

UNARY = [
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "sqrt",
    "cbrt",
    "rint",
    "floor",
    "ceil",
    "trunc",
    "negative",
    "positive",
    "square",
    "reciprocal",
    "absolute",
    "fabs",
    "sign",
    "conjugate",
    "real",
    "imag",
    "angle",
    "deg2rad",
    "rad2deg",
    "invert",
    "isfinite",
    "isnan",
    "isinf",
    "isposinf",
    "isneginf",
    "signbit",
    "logical_not",
    "nan_to_num",
    "round",
    "sinc",
    "i0",
    "spacing",
    "bitwise_count",
    "modf",
    "frexp",
    "iscomplex",
    "isreal",
]
BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "floor_divide",
    "remainder",
    "fmod",
    "divmod",
    "power",
    "float_power",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "logaddexp",
    "logaddexp2",
    "arctan2",
    "hypot",
    "copysign",
    "nextafter",
    "heaviside",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "left_shift",
    "right_shift",
    "isclose",
]

# Of which jax gives strong results for an array and a scalar that are both weak.
LOSES_WEAK = [p + name for p in ("", "r") for name in ("power", "logaddexp", "logaddexp2", "hypot", "heaviside")]


def named(names: list[str]) -> dict[str, Callable[..., Any]]:
    """Functions of a module and arrays, by the names they have there."""
    return {name: lambda m, *args, name=name: getattr(m, name)(*args) for name in names}


@pytest.mark.parametrize("dtype", [x for x in DTYPES if x not in ("int8", "uint32")])
def test_functions_of_one_argument_agree_with_jax(dtype: str) -> None:
    # Of half precision jax says that -inf is infinitely far from its neighbour; NumPy says NaN.
    other = {("spacing", "float16")} | (set() if jax_does("sinc is zero at infinity") else {("sinc", dtype)})
    calls = named([name for name in UNARY if (name, dtype) not in other])
    if dtype in ("bfloat16", "float16", "float32"):  # jax and NumPy say that i0 of an infinity is NaN
        calls["i0"] = lambda m, x: m.i0(m.where(m.isinf(x), 3, x))
        assert pnp.i0(pnp.array([-np.inf, np.inf], dtype)).tolist() == [np.inf, np.inf]
    compare(calls, sample(dtype, special=True))


@pytest.mark.parametrize("scalar", [3, 2.5, 1 + 2j])
def test_functions_of_one_scalar_agree_with_jax(scalar: Any) -> None:
    any_weak = () if jax_does("log2 of weak types is of weak type") else ("log2",)
    compare({name: lambda m, name=name: getattr(m, name)(scalar) for name in UNARY}, any_weak=any_weak)


def test_sinc_is_zero_at_infinity_with_its_derivatives() -> None:
    x = np.float32([np.inf, -np.inf, 3e38, 0])
    np.testing.assert_array_equal(pnp.sinc(x), [0, 0, 0, 1])
    np.testing.assert_array_equal(px.vmap(px.grad(pnp.sinc))(x), [0, 0, 0, 0])


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("bool", "bool"),
        ("int32", "int32"),
        ("uint8", "uint8"),
        ("float32", "float32"),
        ("complex64", "complex64"),
        ("int8", "uint8"),
        ("uint32", "int32"),
        ("bfloat16", "float16"),
        ("int32", "bfloat16"),
        ("bool", "float32"),
        ("float32", "complex64"),
    ],
)
def test_functions_of_two_arguments_agree_with_jax(left: str, right: str) -> None:
    compare(named(BINARY), sample(left), sample(right, seed=1, nonzero=True))


@pytest.mark.parametrize(
    ("dtype", "scalar"),
    [
        ("bool", 2),
        ("uint8", 2),
        ("uint8", 1.5),
        ("int32", True),
        ("float16", 1.5),
        ("int32", 1j),
        ("complex64", 2),
    ],
)
def test_functions_of_an_array_and_a_scalar_agree_with_jax(dtype: str, scalar: Any) -> None:
    after = {name: lambda m, x, name=name: getattr(m, name)(x, scalar) for name in BINARY}
    before = {"r" + name: lambda m, x, name=name: getattr(m, name)(scalar, x) for name in BINARY}
    compare(after | before, sample(dtype, nonzero=True), any_weak=LOSES_WEAK)


def test_functions_of_two_scalars_agree_with_jax() -> None:
    scalars = (3, 2.5)
    compare(
        {
            f"{name}({x}, {y})": lambda m, name=name, x=x, y=y: getattr(m, name)(x, y)
            for name in BINARY
            for x in scalars
            for y in scalars
        }
    )


def test_special_values_agree_with_jax() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.5], np.float32)
    one, other = np.repeat(x, len(x)), np.tile(x, len(x))
    quotients = ["divmod", "floor_divide"]
    compare(named([name for name in BINARY if name not in quotients]), one, other)
    # As the array API standard has it, infinity divided by a number is infinity, and a number divided by the infinity
    # of the other sign is -0; in JAX they are NaN and -1.
    one = np.where(np.isinf(one) | (np.isinf(other) & (np.signbit(one) != np.signbit(other))), 0, one)
    compare(named([name for name in BINARY if name in quotients]), one, other)


def test_integers_divided_by_zero_agree_with_jax() -> None:
    x = np.array([-(2**31), -7, -1, 0, 1, 8, 2**31 - 1], np.int32)
    one, other = np.repeat(x, len(x)), np.tile(x, len(x))
    quotients = named(["divmod", "floor_divide", "remainder", "fmod"])
    compare(quotients, one, other)
    compare({f"{name} by 0": lambda m, x, name=name: getattr(m, name)(x, 0) for name in quotients}, x)


def test_spacings_of_tiny_numbers_are_not_zero() -> None:
    x = np.ldexp(np.float32(1.5), np.arange(-149, 128)).astype(np.float32)
    compare(named(["spacing"]), np.concatenate([x, -x, np.zeros(1, np.float32), -np.zeros(1, np.float32)]))
    for dtype in (ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn, ml_dtypes.bfloat16):
        y = np.arange(1, 100, dtype=f"uint{8 * np.dtype(dtype).itemsize}").view(dtype)
        np.testing.assert_array_equal(np.asarray(pnp.spacing(y)), np.spacing(y))


def test_ldexp_agrees_with_jax() -> None:
    for dtype in ("int8", "int32", "bfloat16", "float16", "float32"):
        compare(named(["ldexp"]), sample(dtype), sample("int32", seed=1))
    compare(named(["ldexp"]), np.float32(1.5), np.arange(-120, 120, 7))


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_powers_of_complex_numbers_that_are_zero_have_a_sum_of_zero(name: str) -> None:
    function, low = getattr(pnp, name), -np.inf
    phases = np.array([0, -1e-30, 1, 3], np.float32)
    x = np.array([complex(low, phase) for phase in phases], np.complex64)
    assert np.all(np.real(function(x[:, None], x)) == low)
    pair = np.array([x[1], 3 - 1j], np.complex64)
    np.testing.assert_array_equal(function.reduce(pair), pair[1])
    assert np.isnan(function(complex(np.inf, 1), complex(np.inf, 2)))


def test_logaddexp_of_complex_numbers_stays_on_the_principal_branch() -> None:
    calls = {"natural": lambda m, z: m.logaddexp(z, 0.0), "binary": lambda m, z: m.logaddexp2(z, 1.0)}
    compare(calls, np.array([3 - 5j, -1 + 2j, 1 + 9j, 2 - 30j], np.complex64), rtol=1e-5)


def test_rounding_keeps_infinite_parts_apart():
    x = pnp.asarray(np.array([complex(-np.inf, 1.234), complex(0.555, np.inf)], np.complex64))
    for out in (pnp.round(x, 2), px.jit(lambda x: pnp.round(x, 2))(x)):
        np.testing.assert_allclose(out.real, np.array([-np.inf, 0.56], np.float32))
        np.testing.assert_allclose(out.imag, np.array([1.23, np.inf], np.float32))


def test_derivatives_of_hypot_do_not_overflow_and_its_second_ones_do_not_cancel() -> None:
    x, y = np.float32([3e-30, 3e30, 1.0, 1e5]), np.float32([4e-30, -4e30, -1.0, 1.0])
    slopes = px.vmap(px.grad(pnp.hypot, (0, 1)))(x, y)
    modulus = np.hypot(x.astype(np.float64), y)
    np.testing.assert_allclose(slopes, [x / modulus, y / modulus], rtol=1e-6)
    second = px.vmap(px.hessian(pnp.hypot, (0, 1)))(x[2:], y[2:])
    wide, height, cube = x[2:].astype(np.float64), y[2:].astype(np.float64), modulus[2:] ** 3
    np.testing.assert_allclose(second[0][0], height**2 / cube, rtol=1e-6)
    np.testing.assert_allclose(second[0][1], -wide * height / cube, rtol=1e-6)


def test_sinc_has_all_digits_far_from_zero_and_beside_integers() -> None:
    x = np.float32([0.49, 0.51, 1e4 + 1 / 1024, -3 - 2**-20, 4194303.5, 1e30])
    wide = x.astype(np.float64)
    exact = np.where(wide == np.rint(wide), 0, np.sinc(wide))
    np.testing.assert_allclose(pnp.sinc(x), exact, rtol=1e-6)
    slope = (np.cos(np.pi * (wide % 2)) - exact) / wide
    np.testing.assert_allclose(px.vmap(px.grad(pnp.sinc))(x), slope, rtol=2e-6, atol=1e-13)
