"""Arithmetic is that of jax for every dtype and awkward number, and has its derivatives where they are awkward."""

from __future__ import annotations

import numpy as np
import pytest
from elementwise import (
    COMPLEX,
    DTYPES,
    awkward,
    check_against_jax_at_awkward_numbers,
    check_same_dtypes_as_jax,
    in_32_bits,
)
from oracle import jax_does
from rulecheck import assert_close, equations

import primax as px

UNARY = ("neg", "sign", "abs", "square", "real", "imag", "conj")
BINARY = ("add", "sub", "mul", "div", "rem", "max", "min", "complex", "mulhi")
POWERS = (0, 1, 2, 3, 7, -1, -3)
CALLS = {
    **{name: (1, lambda lax, x, name=name: getattr(lax, name)(x)) for name in UNARY},
    **{name: (2, lambda lax, x, y, name=name: getattr(lax, name)(x, y)) for name in BINARY},
    **{f"integer_pow[{n}]": (1, lambda lax, x, n=n: lax.integer_pow(x, n)) for n in POWERS},
    "clamp": (3, lambda lax, x, y, z: lax.clamp(x, y, z)),
    "reciprocal": (1, lambda lax, x: lax.reciprocal(x)),
}
# Of these dtypes XLA knows clamp only where it folds it away, and so does jax.
ODD_TO_CLAMP = ("bool", "complex64", "complex128")


@pytest.mark.parametrize("dtype", DTYPES)
def test_arithmetic_takes_the_dtypes_that_jax_takes(dtype):
    check_same_dtypes_as_jax(CALLS, dtype)


def _finite_but_zero(x):
    return np.isfinite(x) & (x != 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_arithmetic_has_the_values_of_jax(dtype):
    calls = {name: call for name, call in CALLS.items() if name != "clamp" or dtype not in ODD_TO_CLAMP}
    if dtype in COMPLEX and not jax_does("the modulus of a complex number with an infinite part is infinite"):
        del calls["abs"]
    if dtype in COMPLEX:  # in jax the sign of a number with an infinite part is NaN; signs of zeros vary by release
        check_against_jax_at_awkward_numbers({"sign": calls.pop("sign")}, dtype, domain=_finite_but_zero)
    check_against_jax_at_awkward_numbers(calls, dtype)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_the_direction_of_complex_numbers_is_that_of_their_infinite_parts(dtype):
    inf, half = np.inf, np.sqrt(0.5)
    with px.enable_x64(True):
        x = np.array([complex(inf, 1), complex(-1, -inf), complex(inf, -inf), 1e38 + 1e38j, 2e-38j, 0], dtype)
        assert_close(px.lax.sign(x), np.array([1, -1j, complex(half, -half), complex(half, half), 1j, 0], dtype))
        zeros = px.lax.sign(np.array([complex(-0.0, 0.0), complex(0.0, -0.0)], dtype))
        assert np.signbit(np.real(zeros)).tolist() == [True, False]
        assert np.signbit(np.imag(zeros)).tolist() == [False, True]
        slope = px.vmap(px.grad(px.lax.abs))(x)
        assert_close(slope, np.array([1, 1j, complex(half, half), complex(half, -half), -1j, 0], dtype))


@pytest.mark.parametrize("dtype", COMPLEX)
def test_the_modulus_is_that_of_numpy(dtype):
    with px.enable_x64(True), np.errstate(invalid="ignore", over="ignore"):
        x = awkward(dtype)
        np.testing.assert_allclose(px.jit(px.lax.abs)(x), np.abs(x), rtol=1e-6 if dtype == "complex64" else 1e-15)


def _clamped(lax, lower, x, upper):
    return lax.clamp(lower, x, upper) if lax is px.lax else lax.min(upper, lax.max(lower, x))


@pytest.mark.parametrize("dtype", ODD_TO_CLAMP)
def test_clamp_of_any_dtype_has_the_values_of_max_and_min_of_jax(dtype):
    check_against_jax_at_awkward_numbers({"clamp": (3, _clamped)}, dtype)


def test_linear_functions_are_transposed_as_they_are():
    with px.enable_x64(True):
        ct = np.array([1.0, -2.0, 3.0])
        scalar, array = np.float64(2), np.ones(3)
        (out,) = px.linear_transpose(lambda x: px.lax.add(x, array), scalar)(ct)
        assert (out.shape, float(out)) == ((), 2.0)
        (out,) = px.linear_transpose(lambda x: px.lax.sub(array, x), scalar)(ct)
        assert float(out) == -2.0
        (out,) = px.linear_transpose(lambda x: px.lax.mul(x, array * 2), scalar)(ct)
        assert float(out) == 4.0
        (out,) = px.linear_transpose(lambda x: px.lax.div(x, array * 2), scalar)(ct)
        assert float(out) == 1.0


@pytest.mark.parametrize("x, y", [(1.0, 1.0), (2.0, 1.0), (1.0, 2.0), (np.nan, 1.0), (1.0, np.nan)])
@pytest.mark.parametrize("name", ["max", "min"])
def test_ties_and_nans_of_extrema_have_the_tangents_of_jax(name, x, y):
    jax = pytest.importorskip("jax")
    x, y, one, zero = np.float32([x, y, 1, 0])
    for tangents in ((one, zero), (zero, one)):
        _, got = px.jvp(getattr(px.lax, name), (x, y), tangents)
        _, want = jax.jvp(getattr(jax.lax, name), (x, y), tangents)
        np.testing.assert_array_equal(got, want)


def test_the_derivative_of_a_quotient_does_not_square_the_divisor_when_compiled():
    slope = px.jit(px.grad(px.lax.div, 1))
    for y in (np.float32(3e33), np.float32(3e-33)):
        np.testing.assert_allclose(slope(y, y), -1 / y, rtol=1e-6)


@pytest.mark.parametrize("x", [0.0, -0.0, np.inf, -np.inf, np.nan, -2.0])
def test_awkward_derivatives_are_those_of_jax(x):
    jax = pytest.importorskip("jax")
    calls = [
        lambda lax: lax.abs,
        lambda lax: lax.sign,
        lambda lax: lax.square,
        lambda lax: lambda x: lax.integer_pow(x, 0),
        lambda lax: lambda x: lax.integer_pow(x, 1),
        lambda lax: lambda x: lax.integer_pow(x, -2),
        lambda lax: lambda x: lax.rem(x, 2.0),
        lambda lax: lambda x: lax.clamp(0.0, x, 1.0),
        lambda lax: lambda x: lax.clamp(x, 0.0, 1.0),
        lambda lax: lambda x: lax.clamp(0.0, 2.0, x),
    ]
    for call in calls:
        np.testing.assert_array_equal(px.grad(call(px.lax))(x), jax.grad(call(jax.lax))(x))


@in_32_bits
def test_derivatives_of_complex_moduli_are_those_of_jax():
    jax = pytest.importorskip("jax")
    parts = [-np.inf, -3.0, -0.0, 0.0, 4.0, np.inf, np.nan]
    z = np.array([complex(x, y) for x in parts for y in parts], np.complex64)
    z = z[~np.isinf(z)]  # for those, primax has the direction of the infinite parts, and jax NaN
    got, want = (library.jit(library.vmap(library.grad(library.lax.abs)))(z) for library in (px, jax))
    np.testing.assert_allclose(got, want, rtol=1e-6)


@in_32_bits
def test_derivatives_of_complex_moduli_are_directions_and_zero_at_zero():
    points = np.complex64([3 + 4j, -3 + 4j, 3 - 4j, -5, 5j, 0, -0.0, 1e-30 + 0j])
    slopes = px.vmap(px.grad(px.lax.abs))(points)
    want = [0.6 - 0.8j, -0.6 - 0.8j, 0.6 + 0.8j, -1, -1j, 0, 0, 1]
    np.testing.assert_allclose(slopes, want, rtol=1e-6)
    # Only the part of a step across the direction turns it.
    turns = px.vmap(lambda z: px.jvp(px.lax.sign, (z,), (np.complex64(1j),))[1])(points[:5])
    want = [0.12j * (0.6 + 0.8j), -0.12j * (-0.6 + 0.8j), 0.12j * (0.6 - 0.8j), 0.2j, 0]
    np.testing.assert_allclose(turns, want, atol=1e-7)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1, 1)])
@in_32_bits
def test_shapes_without_or_with_one_element(shape):
    x = np.ones(shape, np.float32)
    for out in (px.lax.add(x, 1.0), px.lax.mul(2.0, x), px.lax.neg(x), px.lax.max(x, x)):
        assert (out.shape, out.dtype) == (shape, np.float32)
    out, pull = px.vjp(px.lax.mul, x, np.float32(3))
    dx, dy = pull(out)
    assert (dx.shape, dy.shape) == (shape, ())
    assert float(dy) == 3.0 * x.size


@in_32_bits
def test_derivatives_take_few_equations():
    x = np.float32([1.0, 2.0])

    def of_jvp(call, *args):
        return equations(lambda *xs: px.jvp(call, xs, xs), *args)

    assert of_jvp(lambda x: px.lax.mul(x, x), x) == ["mul", "mul", "mul", "add_any"]
    assert of_jvp(px.lax.add, x, x) == ["add", "add"]
    assert of_jvp(px.lax.square, x) == ["square", "mul", "mul"]
    assert of_jvp(lambda x: px.lax.integer_pow(x, 2), x) == ["integer_pow", "mul", "mul"]
    assert of_jvp(lambda x: px.lax.div(x, 2.0), x) == ["div", "div"]
    assert len(of_jvp(px.lax.div, x, x)) == 6
    assert len(of_jvp(px.lax.max, x, x)) <= 12


def test_the_sign_of_a_complex_number_turns_with_it():
    z = np.complex64([3 + 4j, -1j, 0])
    out, tangent = px.jvp(px.lax.sign, (z,), (1j * z,))
    assert_close(tangent, 1j * np.asarray(out))
    _, tangent = px.jvp(px.lax.sign, (z,), (z,))
    np.testing.assert_allclose(tangent, np.zeros(3), atol=1e-7)


def test_integer_powers_are_products():
    for n in range(8):
        got = px.lax.integer_pow(np.arange(-3, 4, dtype=np.int32), n)
        np.testing.assert_array_equal(got, np.arange(-3, 4) ** n)
    text = px.jit(lambda x: px.lax.integer_pow(x, 10)).lower(np.float32(2)).as_text()
    assert text.count("stablehlo.multiply") == 4


SCALARS = (1, 1.5, True, 1j, np.float32(1), np.float64(1), np.int32(1))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int32", "uint8", "bool", "complex64"])
@pytest.mark.parametrize("name", ["add", "mul", "max"])
def test_scalars_mix_with_arrays_as_in_jax(name, dtype):
    jax = pytest.importorskip("jax")
    x = awkward(dtype)[:2]
    for scalar in SCALARS:
        for pair in ((x, scalar), (scalar, x)):
            found = []
            for make_jaxpr, lax in ((px.make_jaxpr, px.lax), (jax.make_jaxpr, jax.lax)):
                call = getattr(lax, name)
                try:
                    (aval,) = make_jaxpr(lambda pair=pair, call=call: call(*pair))().out_avals
                except TypeError:
                    found.append(TypeError)
                else:
                    found.append((aval.shape, aval.dtype, aval.weak_type))
            assert found[0] == found[1], f"{name}{pair}: {found[0]}, in jax {found[1]}"


@in_32_bits
def test_python_scalars_give_weakly_typed_results_only_among_themselves():
    assert px.lax.add(1.0, 2.0).weak_type
    assert not px.lax.add(np.float32(1), 2.0).weak_type
    assert px.lax.neg(1).weak_type
    assert px.grad(px.lax.square)(3.0).weak_type


def test_integer_division_follows_stablehlo():
    minimum = np.iinfo(np.int32).min
    x = np.array([7, -7, 7, -7, 5, minimum], np.int32)
    y = np.array([2, 2, -2, -2, 0, -1], np.int32)
    np.testing.assert_array_equal(px.lax.div(x, y), [3, -3, -3, 3, -1, minimum])
    np.testing.assert_array_equal(px.lax.rem(x, y), [1, -1, 1, -1, 5, 0])


def test_complex_extrema_compare_real_then_imaginary_parts():
    x = np.complex64([1 + 2j, 1 - 2j, 3])
    y = np.complex64([2 - 9j, 1 + 1j, 3 + 1j])
    assert_close(px.lax.max(x, y), np.complex64([2 - 9j, 1 + 1j, 3 + 1j]))
    assert_close(px.lax.min(x, y), np.complex64([1 + 2j, 1 - 2j, 3]))


REFUSED = [
    (lambda x: px.lax.add(x, 1), r"add: arguments must have the same dtype, got f32\[3\] and i32\[\]"),
    (lambda x: px.lax.mul(x, x[:2]), r"mul got incompatible shapes for broadcasting: \(3,\), \(2,\)"),
    (lambda x: px.lax.add(x > 0, x > 0), r"add: argument 0 must be a number, got bool\[3\]"),
    (lambda x: px.lax.neg(x > 0), r"neg: its argument must be a number, got bool\[3\]"),
    (lambda x: px.lax.abs(x.astype(np.uint8)), r"abs: its argument must be a signed number, got u8\[3\]"),
    (lambda x: px.lax.rem(x + 1j, x + 1j), r"rem: argument 0 must be a real number, got c64\[3\]"),
    (lambda x: px.lax.real(x), r"real: its argument must be complex, got f32\[3\]"),
    (lambda x: px.lax.complex(x.astype(np.float16), x), "complex: argument 0 must be float32 or float64"),
    (lambda x: px.lax.integer_pow(x.astype(np.int32), -1), "integer_pow: y must not be negative .* got -1"),
    (lambda x: px.lax.integer_pow(x, 2.5), "integer_pow: y must be a whole number, got 2.5"),
    (lambda x: px.lax.clamp(x, 1.0, x), r"clamp: min must have the shape of x, \(\), or rank 0, got \(3,\)"),
    (lambda x: px.lax.clamp(0, x, 1.0), r"clamp: arguments must have the same dtype, got i32\[\] and f32\[3\]"),
    (lambda x: px.lax.add([1.0, 2.0], x[:2]), "list is not a valid primax type"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
@in_32_bits
def test_bad_arguments_are_named(number):
    call, message = REFUSED[number]
    with pytest.raises(TypeError, match=message):
        call(np.ones(3, np.float32))


@pytest.mark.parametrize("y", [2**70, -(2**70), 10**5000], ids=["up", "down", "far"])
def test_an_exponent_of_more_than_64_bits_is_refused_at_once(y):
    with pytest.raises(OverflowError, match=r"^integer_pow: y must fit 64 bits, got an integer of \d+ bits"):
        px.lax.integer_pow(np.float32(1.5), y)
    assert px.lax.integer_pow(np.float32(1.0), 2**63) == 1.0


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int4", "uint4"])
def test_constant_integers_are_divided_by_zero_as_others_are(dtype: str) -> None:
    x, zero = np.array([3, 0]).astype(dtype)
    most = -1 if dtype.startswith("int") else 2 ** int(dtype.removeprefix("uint")) - 1
    constants = px.jit(lambda: (px.lax.div(x, zero), px.lax.rem(x, zero)))()
    assert [int(value) for value in constants] == [most, 3]
    others = px.lax.div(np.array([x, x]), zero), px.lax.rem(x, np.array([zero, x]))
    assert [np.asarray(value).astype(int).tolist() for value in others] == [[most, most], [3, 0]]
