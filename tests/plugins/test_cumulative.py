"""Cumulative operations compute, differentiate and batch as jax's do, by linear recurrences."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from rulecheck import assert_close, check_against_jax, check_grad, equations

import primax as px
from primax.interpreters.runtime.compile import module_text
from primax.interpreters.runtime.pipeline import Target, compile, lower
from primax.interpreters.runtime.sharding.device_assignment import one_device
from primax.plugins import cumulative as C
from primax.plugins.cumulative.recurrence import linear_recurrence, linear_recurrence_p
from primax.plugins.reductions import scan_along as scan

NAMES = ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"]
DTYPES = ["int8", "uint8", "float16", "bfloat16", "float32", "complex64"]
REFERENCES = {
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "cummax": np.maximum.accumulate,
    "cummin": np.minimum.accumulate,
    "cumlogsumexp": np.logaddexp.accumulate,
}


def numbers(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    values = random.uniform(-2, 2, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 0.5j * random.uniform(-2, 2, shape)
    if np.dtype(dtype).kind == "u":
        values = np.abs(values)
    return np.asarray(values).astype(dtype)


def named(dtype: str) -> Any:
    return np.dtype(getattr(ml_dtypes, dtype, dtype))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_cumulative_operations_agree_with_jax(name: str, dtype: str) -> None:
    jax = pytest.importorskip("jax")
    if name == "cumlogsumexp" and named(dtype).kind in "iu":
        pytest.skip("logarithms are no integers")
    x = numbers(6, dtype=named(dtype))
    # sums of more than one number in 16 bits differ by how they are grouped
    rtol = {"bfloat16": 3e-2, "float16": 4e-3, "complex64": 1e-5, "float32": 1e-5}.get(dtype)
    check_against_jax(getattr(C, name), getattr(jax.lax, name), x, rtol=rtol)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(1,), (0,), (0, 3), (3, 0)])
def test_cumulative_operations_take_axes_of_any_length(name: str, shape: Any) -> None:
    x = numbers(*shape)
    assert_close(getattr(C, name)(x), REFERENCES[name](x, 0) if x.size else x)
    check_grad(getattr(C, name), x)


@pytest.mark.parametrize("name", NAMES)
def test_values_that_are_not_finite_are_as_in_jax(name: str) -> None:
    jax = pytest.importorskip("jax")
    for values in ([-np.inf, -np.inf, 3, np.inf, -np.inf], [1, np.nan, 3, -np.inf], [np.inf, 2, 3]):
        check_against_jax(getattr(C, name), getattr(jax.lax, name), np.array(values, np.float32))


@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_equal_elements_share_cotangents_as_in_jax(name: str) -> None:
    jax = pytest.importorskip("jax")
    x = np.array([1, 1, 1, 2, 2, 1], np.float32)
    got = px.grad(lambda x: px.lax.reduce_sum(getattr(C, name)(x), (0,)))(x)
    assert_close(got, jax.grad(lambda x: getattr(jax.lax, name)(x).sum())(x))


def test_the_gradient_of_products_is_right_where_factors_are_zero() -> None:
    x = np.array([2, 0, 3, 0, 5], np.float32)
    got = px.grad(lambda x: px.lax.reduce_sum(C.cumprod(x), (0,)))(x)
    assert_close(got, np.array([1, 2 + 6, 0, 0, 0], np.float32))


def test_derivatives_pass_over_elements_of_probability_zero() -> None:
    x = np.array([-np.inf, -np.inf, 1, -np.inf, 2], np.float32)
    got = px.grad(lambda x: px.lax.reduce_sum(C.cumlogsumexp(x), (0,)))(x)
    finite = px.grad(lambda x: px.lax.reduce_sum(C.cumlogsumexp(x), (0,)))(np.array([1, -1e9, 2], np.float32))
    assert_close(got, np.array([0, 0, finite[0], 0, finite[2]], np.float32))


def test_the_derivative_of_the_greatest_element_ignores_a_later_nan() -> None:
    x = np.array([1, 3, np.nan, 2], np.float32)
    _, pull = px.vjp(C.cummax, x)
    assert_close(pull(np.array([1, 1, 0, 0], np.float32))[0], np.array([1, 1, 0, 0], np.float32))


def test_many_numbers_are_added_without_losing_precision() -> None:
    ones = np.full(100_000, 0.1, np.float32)
    assert abs(float(np.asarray(C.cumsum(ones))[-1]) - 10_000) < 0.01
    ones = np.ones(2000, ml_dtypes.bfloat16)
    assert float(np.asarray(C.cumsum(ones))[-1]) == 2000


def test_logarithms_of_sums_of_complex_exponentials_are_principal() -> None:
    x = np.array([1 + 3.8j, 2 - 40j, -1 + 5j], np.complex64)
    assert_close(C.cumlogsumexp(x), np.log(np.cumsum(np.exp(x))), 1e-5)
    assert_close(C.cumlogsumexp(x, reverse=True), np.log(np.cumsum(np.exp(x)[::-1])[::-1]), 1e-5)


def test_integers_wrap_around() -> None:
    x = np.array([100, 100, 100], np.int8)
    assert_close(C.cumsum(x), np.cumsum(x, dtype=np.int8))


def test_sums_are_linear_and_transposed_to_sums_from_the_other_end() -> None:
    x = numbers(4)
    assert equations(lambda x: px.vjp(C.cumsum, x)[1](x), x) == ["cumsum", "cumsum"]
    assert_close(px.linear_transpose(C.cumsum, x)(x)[0], np.cumsum(x[::-1])[::-1], 1e-5)


def test_derivatives_are_short_programs() -> None:
    x = numbers(50)
    lengths = {name: len(equations(lambda x, name=name: px.vjp(getattr(C, name), x)[1](x), x)) for name in NAMES}
    assert lengths["cumprod"] <= 6
    assert lengths["cummax"] <= 14
    assert lengths["cumlogsumexp"] <= 34


@pytest.mark.parametrize("name", NAMES)
def test_what_cannot_be_cumulated_is_named(name: str) -> None:
    function = getattr(C, name)
    with pytest.raises(TypeError, match=rf"{name}: operand must be .*, got bool\[3\]"):
        function(np.ones(3, bool))
    with pytest.raises(ValueError, match=rf"{name}: axis must be in \[-2, 2\), got 2"):
        function(numbers(3, 2), 2)
    with pytest.raises(ValueError, match=f"{name}: an array of rank 0 has no axes"):
        function(np.float32(1))
    with pytest.raises(TypeError, match=f"{name}: axis must be an integer"):
        function(numbers(3), 0.5)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("reverse", [False, True])
def test_accelerators_have_programs_without_loops(name: str, reverse: bool) -> None:
    x = numbers(3, 5)
    program = px.make_jaxpr(lambda x: getattr(C, name)(x, 1, reverse))(x)
    lowered = lower(program, Target(name, one_device(px.devices()[0])), "cuda")
    text = module_text(lowered.module)
    assert "stablehlo.while" not in text
    assert "stablehlo.reduce_window" in text
    (got,) = compile(lowered)([x])
    assert_close(got, getattr(C, name)(x, 1, reverse), 1e-5)


def solve(a: Any, b: Any) -> Any:
    h = np.zeros_like(b)
    for i in range(len(b)):
        h[i] = b[i] if i == 0 else a[i] * h[i - 1] + b[i]
    return h


def flipped(a: Any, b: Any) -> Any:
    return solve(a[::-1], b[::-1])[::-1]


def test_linear_recurrence_names_what_does_not_fit() -> None:
    with pytest.raises(TypeError, match=r"linear_recurrence: a and b .* got f32\[3\] and f32\[2\]"):
        linear_recurrence(numbers(3), numbers(2))
    with pytest.raises(TypeError, match=r"same floating or complex dtype, got i32\[3\] and i32\[3\]"):
        linear_recurrence(np.ones(3, np.int32), np.ones(3, np.int32))


def test_linear_recurrence_is_not_linear_in_its_factors() -> None:
    b = numbers(3)
    with pytest.raises(TypeError, match="linear in its terms, but not in its factors"):
        px.linear_transpose(lambda a: linear_recurrence_p.bind(a, b, axis=0, reverse=False), b)(b)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 8])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_tree_of_compositions_is_the_recurrence(size: int, reverse: bool) -> None:
    a, b = numbers(size), numbers(size, seed=1)
    mul, add = px.lax.mul, px.lax.add

    @px.jit
    def tree(a: Any, b: Any) -> Any:
        def compose(f: Any, g: Any) -> Any:
            return [mul(g[0], f[0]), add(mul(g[0], f[1]), g[1])]

        return scan(compose, [a, b], (0, 0), reverse)[1]

    assert_close(tree(a, b), flipped(a, b) if reverse else solve(a, b), 1e-5)


# One slab, several with a rest, and rows of a few elements after the axis.
@pytest.mark.parametrize(("shape", "axis"), [((20, 7), 1), ((4, 5, 70), 2), ((16, 64, 3), 1)])
@pytest.mark.parametrize("reverse", [False, True])
def test_scans_along_short_rows_bring_elements_together(shape: tuple[int, ...], axis: int, reverse: bool) -> None:
    x = np.random.default_rng(0).integers(-9, 9, shape).astype(np.int32)
    run = px.jit(lambda x: [px.lax.cumsum(x, axis, reverse), px.lax.cummax(x, axis, reverse)])
    for out, name in zip(run(x), ("cumsum", "cummax"), strict=True):
        over = np.flip(x, axis) if reverse else x
        wanted = REFERENCES[name](over, axis=axis)
        np.testing.assert_array_equal(out, np.flip(wanted, axis) if reverse else wanted)
    if px.default_backend() == "cpu":
        assert "stablehlo.transpose" in run.lower(x).as_text()


# Blocks without a rest and with one.
@pytest.mark.parametrize("shape", [(1024, 8), (32, 32, 30)])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", [np.int32, np.float16, np.float32])
def test_short_last_axes_need_no_loop(shape: tuple[int, ...], reverse: bool, dtype: Any) -> None:
    x = np.random.default_rng(0).integers(-1, 2, shape).astype(dtype)
    axis = len(shape) - 1
    run = px.jit(lambda x: [getattr(px.lax, name)(x, axis, reverse) for name in ("cumsum", "cumprod", "cummax")])
    for out, name in zip(run(x), ("cumsum", "cumprod", "cummax"), strict=True):
        over = np.flip(x, axis) if reverse else x
        wanted = REFERENCES[name](over, axis=axis)
        assert out.dtype == dtype
        np.testing.assert_array_equal(out, np.flip(wanted, axis) if reverse else wanted)
    if px.default_backend() == "cpu":
        assert "stablehlo.while" not in run.lower(x).as_text()


def test_products_of_short_rows_leave_the_range_no_sooner_than_one_after_the_other() -> None:
    row = np.float32([1e-30, 1e30, 1e30, 1e30, 1e-30, 1e-30, 1e30, 1e-30])
    x = np.tile(row, (1024, 1))
    wanted = np.float32([1e-30, 1, 1e30, np.inf, 1e30, 1, 1e30, 1])
    np.testing.assert_allclose(px.lax.cumprod(x, 1)[7], wanted, rtol=1e-5)


@pytest.mark.parametrize("shape", [(3, 16), (1024, 16)])
def test_sums_of_negative_zeros_are_negative_zeros(shape: tuple[int, ...]) -> None:
    for dtype in (np.float32, np.complex64):
        x = -np.zeros(shape, dtype)
        for part in (np.real, np.imag):
            np.testing.assert_array_equal(np.signbit(part(px.lax.cumsum(x, 1))), np.signbit(part(np.cumsum(x, 1))))


def test_sums_of_bfloat16_are_not_converted_at_each_step() -> None:
    x = np.ones((300, 40), ml_dtypes.bfloat16)
    text = px.jit(lambda x: px.lax.cumsum(x, 0)).lower(x).as_text()
    assert "bf16" not in text[text.index("stablehlo.while") :][:-200] or px.default_backend() != "cpu"
