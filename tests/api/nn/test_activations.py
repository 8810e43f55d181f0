"""Activations have jax's values and derivatives, at their corners too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primax as px

jax = pytest.importorskip("jax")

pytestmark = pytest.mark.usefixtures("in_32_bits")

ELEMENTWISE = """celu elu gelu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu log1mexp log_sigmoid mish
relu relu6 selu sigmoid silu soft_sign softplus sparse_plus sparse_sigmoid squareplus swish tanh""".split()
POINTS = np.float32([-100, -6, -3, -1, -0.5, -0.0, 0, 0.5, 1, 3, 6, 100, np.inf, -np.inf])


def values_and_derivatives(module: Any, points: Any) -> Any:
    """For each activation its values, first and second derivatives, by one program."""

    def program(points: Any) -> Any:
        def each(function: Any) -> Any:
            slope = module.grad(function)
            return [module.vmap(f)(points) for f in (function, slope, module.grad(slope))]

        exact = lambda x: module.nn.gelu(x, approximate=False)  # noqa: E731
        return [each(getattr(module.nn, name)) for name in ELEMENTWISE] + [each(exact)]

    return module.jit(program)(points)


def test_values_and_two_derivatives_are_those_of_jax() -> None:
    ours = values_and_derivatives(px, POINTS)
    with jax.enable_x64(True):  # in float32, jax loses the digits of some second derivatives
        theirs = values_and_derivatives(jax, POINTS.astype(np.float64))
    for name, found, wanted in zip([*ELEMENTWISE, "exact gelu"], ours, theirs, strict=True):
        for order, (x, y) in enumerate(zip(found, wanted, strict=True)):
            inside = ~(np.isnan(wanted[0]) | np.isnan(y))
            x, y = np.asarray(x)[inside], np.asarray(y)[inside]
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5, err_msg=f"derivative {order} of {name}")


@pytest.mark.parametrize("x", [1.0, 2, True, np.int8(2), np.ones(2, np.float16), np.ones(2, np.complex64)], ids=repr)
def test_types_are_those_of_jax(x: Any) -> None:
    def types(module: Any) -> Any:
        found = {}
        for name in set(ELEMENTWISE) - ({"log_sigmoid", "log1mexp", "squareplus"} if x is True else set()):
            try:
                (aval,) = module.make_jaxpr(getattr(module.nn, name))(x).out_avals
            except (TypeError, ValueError):
                continue
            found[name] = (aval.shape, aval.dtype, aval.weak_type)
        return found

    assert types(px) == types(jax)


def test_relu_of_nan_is_nan_with_derivative_zero() -> None:
    assert np.isnan(px.nn.relu(np.nan))
    assert np.isnan(px.nn.relu6(np.nan))
    assert px.grad(px.nn.relu)(np.nan) == px.grad(px.nn.relu6)(np.nan) == 0


def test_shape_parameters_broadcast() -> None:
    x, slopes = np.float32([[-1.0, 2.0], [-3.0, -4.0]]), np.float32([[0.1], [0.5]])
    np.testing.assert_allclose(px.nn.leaky_relu(x, slopes), np.where(x >= 0, x, slopes * x))
    np.testing.assert_allclose(px.nn.elu(x, slopes), np.where(x > 0, x, slopes * np.expm1(x)), rtol=1e-6)
    np.testing.assert_allclose(
        px.nn.celu(x, slopes), np.maximum(x, 0) + slopes * np.expm1(np.minimum(x, 0) / slopes), rtol=1e-6
    )
    wide = x.astype(np.float64)
    np.testing.assert_allclose(px.nn.squareplus(x, slopes), (x + np.sqrt(wide * wide + slopes)) / 2, rtol=1e-6)


def test_glu_gates_one_half_by_the_other() -> None:
    x = np.arange(12, dtype=np.float32).reshape(2, 6) / 6
    np.testing.assert_allclose(px.nn.glu(x), x[:, :3] / (1 + np.exp(-x[:, 3:])), rtol=1e-6)
    np.testing.assert_allclose(px.nn.glu(x, axis=0), x[:1] / (1 + np.exp(-x[1:])), rtol=1e-6)
    with pytest.raises(
        ValueError, match=r"glu: x must be of even length along the axis, got 5 for axis 1 of f32\[2,5\]"
    ):
        px.nn.glu(x[:, :5])
    with pytest.raises(ValueError, match=r"glu: axis must be"):
        px.nn.glu(x, axis=2)


def test_what_is_no_number_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"relu: argument x must be an array or a number: a value of type str"):
        px.nn.relu("one")
    with pytest.raises(TypeError, match=r"softmax: its argument must be an array or a number, got str"):
        px.nn.softmax("one")


def test_squareplus_promotes_both_arguments_and_hard_tanh_takes_unsigned_integers() -> None:
    assert px.nn.squareplus(np.int8([0, 1]), np.float16(4)).dtype == np.float16
    assert px.nn.squareplus(np.float16([0, 1]), 4).dtype == np.float16
    assert px.nn.hard_tanh(np.uint8([0, 1, 7])).tolist() == [0, 1, 1]
    assert px.nn.hard_tanh(np.int8([-7, -1, 7])).tolist() == [-1, -1, 1]


@pytest.mark.parametrize("name", ["relu", "hard_tanh", "soft_sign", "softplus"])
def test_values_without_bits_are_refused(name: str) -> None:
    with pytest.raises(TypeError, match=f"^{name}: its argument must be an array of numbers, got float0"):
        getattr(px.nn, name)(np.zeros(2, px.dtypes.float0))


def test_values_and_derivatives_keep_their_digits_in_the_tails() -> None:
    def check(f: Any, x: Any, *exact: Any) -> None:
        programs = [px.vmap(g) for g in (f, px.grad(f), px.grad(px.grad(f)))]
        for order, (got, want) in enumerate(zip(px.jit(lambda x: [g(x) for g in programs])(x), exact, strict=True)):
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-37, err_msg=f"derivative {order} of {f}")

    x = np.float32([-60.0, -25.0])
    e = np.exp(x.astype(np.float64))
    check(px.nn.elu, x, e - 1, e, e)
    check(px.nn.celu, x, e - 1, e, e)
    check(px.nn.silu, x, x * e, e * (1 + x), e * (2 + x))
    check(px.nn.soft_sign, np.float32([1e6, -1e6]), [1, -1], [1e-12, 1e-12], [-2e-18, 2e-18])
    far = np.array([-1e6, 1e6])
    check(px.nn.squareplus, np.float32(far), [1e-6, 1e6], [1e-12, 1], 2 / np.abs(far) ** 3)
    check(px.nn.log1mexp, np.float32([60.0]), [-np.exp(-60.0)], [np.exp(-60.0)], [-np.exp(-60.0)])
    huge = np.float32([-1e30, 1e30, 3e38])
    np.testing.assert_array_equal(px.vmap(px.grad(px.nn.gelu))(huge), [0, 1, 1])
    u = np.sqrt(8 / np.pi) * (-6 - 0.044715 * 216)
    np.testing.assert_allclose(px.nn.gelu(np.float32(-6)), -6 * np.exp(u), rtol=1e-5)
