"""Sorting orders elements as jax's does to the last bit, and tangents follow the elements."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from rulecheck import assert_close, check_against_jax, equations

import primax as px
from primax.interpreters.runtime.compile import module_text
from primax.interpreters.runtime.pipeline import Target, compile, lower
from primax.interpreters.runtime.sharding.device_assignment import one_device
from primax.plugins import sorting as S

DTYPES = ["bool", "int8", "uint8", "int32", "uint32", "float16", "bfloat16", "float32", "complex64"]
SHAPES = [(7,), (3, 5), (40, 60), (3000,), (0, 3)]


def named(dtype: str) -> Any:
    return np.dtype(getattr(ml_dtypes, dtype, dtype))


def jax_lax() -> Any:
    return pytest.importorskip("jax").lax


def numbers(shape: Any, dtype: str = "float32", seed: int = 0) -> Any:
    """Numbers among which there are equal ones, both zeros, infinities, and NaN of both signs."""
    random = np.random.default_rng(seed)
    kind = named(dtype).kind
    if kind in "iu":
        return random.integers(0, 2**64, shape, np.uint64).astype(dtype)
    values = np.round(random.uniform(-8, 8, shape), 1)
    if kind != "b":
        for start, value in enumerate([np.nan, np.inf, -np.inf, 0.0, -0.0, -np.nan]):
            values.flat[start + 1 :: 11] = value
    return values.astype(named(dtype))


def distinct(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).permutation(int(np.prod(shape))).reshape(shape).astype(np.float32) / 8


def positions(shape: Any, axis: int) -> Any:
    return np.indices(shape, np.int32)[axis]


def assert_same_bits(got: Any, want: Any) -> None:
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_elements_are_ordered_as_in_jax(dtype: str, shape: Any) -> None:
    x = numbers(shape, dtype)
    for axis in {0, len(shape) - 1}:
        assert_same_bits(S.sort(x, axis), jax_lax().sort(x, axis))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(7,), (40, 60)])
def test_equal_elements_keep_their_order(dtype: str, shape: Any) -> None:
    x, places = numbers(shape, dtype), positions(shape, 0)
    for got, want in zip(S.sort((x, places), 0), jax_lax().sort((x, places), 0), strict=True):
        assert_same_bits(got, want)


@pytest.mark.parametrize("dtype", ["int8", "float32", "complex64"])
def test_later_keys_decide_between_equal_elements(dtype: str) -> None:
    first = numbers((40, 60), "int8") % 3
    second, places = numbers((40, 60), dtype), positions((40, 60), 1)
    for keys in (1, 2, 3):
        got = S.sort([first, second, places], num_keys=keys)
        for one, want in zip(got, jax_lax().sort([first, second, places], num_keys=keys), strict=True):
            assert_same_bits(one, want)


# Compiled programs take numbers below the normal ones for zeros.
FLOATS = st.floats(width=32, allow_subnormal=False)


@given(hnp.arrays(np.float32, st.sampled_from([5, 1100]), elements=FLOATS))
def test_any_floats_are_ordered_with_nan_last(x: Any) -> None:
    got = np.asarray(S.sort(x))
    np.testing.assert_array_equal(got, np.sort(x))
    zeros = x[x == 0]
    np.testing.assert_array_equal(np.signbit(got[got == 0]), np.signbit(zeros))


def test_the_program_for_other_platforms_orders_alike() -> None:
    x = numbers((2000,))
    program = px.make_jaxpr(lambda x: S.sort(x))(x)
    lowered = lower(program, Target("sort", one_device(px.devices()[0])), "cuda")
    assert "TOTALORDER" in module_text(lowered.module)
    (got,) = compile(lowered)([x])
    assert_same_bits(got, S.sort(x))


def test_sort_returns_what_it_is_given() -> None:
    x = numbers((5,))
    assert isinstance(S.sort(x), px.Array)
    assert isinstance(S.sort([x]), tuple)
    assert len(S.sort((x, x, x))) == 3
    assert px.make_jaxpr(lambda: S.sort(px.lax.broadcast(1.0, (3,))))().out_avals[0].weak_type


def test_tangents_follow_equal_elements_in_their_order() -> None:
    x = np.array([2, 1, 2, 1], np.float32)
    t = np.array([1, 2, 3, 4], np.float32)
    out, tangent = px.jvp(S.sort, (x,), (t,))
    assert_close(out, np.array([1, 1, 2, 2], np.float32))
    assert_close(tangent, np.array([2, 4, 1, 3], np.float32))
    _, pull = px.vjp(S.sort, x)
    assert_close(pull(t)[0], np.array([3, 1, 4, 2], np.float32))


def test_only_the_operands_that_move_are_differentiated() -> None:
    x, y = distinct(5), np.arange(5, dtype=np.int32)
    names = equations(lambda x, t: px.jvp(lambda x: S.sort((x, y)), (x,), (t,)), x, x)
    assert names == ["iota", "sort", "broadcast_in_dim", "gather"]
    out, tangents = px.jvp(lambda x: S.sort((x, y)), (x,), (x,))
    assert_close(tangents[0], out[0])
    assert tangents[1].dtype == px.float0


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "complex64"])
@pytest.mark.parametrize("k", [0, 1, 3, 5])
def test_the_greatest_elements_are_those_of_jax(dtype: str, k: int) -> None:
    x = numbers((5, 5), dtype)
    for axis in (0, -1):
        got, want = S.top_k(x, k, axis=axis), jax_lax().top_k(x, k, axis=axis)
        for one, other in zip(got, want, strict=True):
            assert_same_bits(one, other)


def test_weak_types_are_those_of_jax() -> None:
    jax = pytest.importorskip("jax")
    check_against_jax(S.sort, jax.lax.sort, distinct(4))
    check_against_jax(lambda x: S.top_k(x, 2)[1], lambda x: jax.lax.top_k(x, 2)[1], distinct(4))


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda x: S.sort(()), "sort: operand must hold an array"),
        (lambda x: S.sort((x, x[0])), r"sort: arrays must have the same shape, got f32\[2,3\] and f32\[3\]"),
        (lambda x: S.sort(x, 2), r"sort: dimension must be in \[-2, 2\), got 2"),
        (lambda x: S.sort(x[0, 0]), "sort: an array of rank 0 has no axes, got dimension -1"),
        (lambda x: S.sort((x, x), num_keys=0), "sort: num_keys must be between 1 and the number of arrays, 2"),
        (lambda x: S.sort((x, x), num_keys=3), "got 3"),
        (lambda x: S.top_k(x, 4), r"top_k: k must be between 0 and the length of the axis, 3, got 4 for axis 1"),
        (lambda x: S.top_k(x, -1), "got -1 for axis 1 of f32"),
        (lambda x: S.top_k(x, 1, axis=2), r"top_k: axis must be in \[-2, 2\), got 2"),
        (lambda x: S.top_k(x.astype(np.complex64), 1), r"top_k: operand must be real, got c64\[2,3\]"),
    ],
)
def test_what_cannot_be_sorted_is_named(call: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        call(np.ones((2, 3), np.float32))


def test_values_follow_keys() -> None:
    keys, values = distinct(3, 5), numbers((3, 5), "complex64", 1)
    for axis in (0, -1):
        got = px.lax.sort_key_val(keys, values, axis)
        order = np.argsort(keys, axis)
        assert_close(got[0], np.sort(keys, axis))
        assert_close(got[1], np.take_along_axis(values, order, axis))


def test_approximate_extrema_are_exact() -> None:
    x = distinct(3, 40)
    for function, sign in ((px.lax.approx_max_k, -1), (px.lax.approx_min_k, 1)):
        values, places = function(x, 4, reduction_dimension=-1)
        order = np.argsort(sign * x, -1)[:, :4]
        assert_close(places, order.astype(np.int32))
        assert_close(values, np.take_along_axis(x, order, -1))


@pytest.mark.parametrize(
    "length, recall, override", [(100, 0.9, -1), (1000, 0.95, -1), (5000, 0.99, 40000), (900, 1.0, -1)]
)
def test_candidates_are_as_many_as_in_jax(length: int, recall: float, override: int) -> None:
    x = np.zeros((2, length), np.float32)
    options = {"recall_target": recall, "reduction_input_size_override": override, "aggregate_to_topk": False}
    want = pytest.importorskip("jax").eval_shape(lambda x: jax_lax().approx_max_k(x, 3, **options), x)
    assert px.eval_shape(lambda x: px.lax.approx_max_k(x, 3, **options), x)[0].shape == want[0].shape


@pytest.mark.parametrize(
    "arguments, options, message",
    [
        ((np.arange(4, dtype=np.int32), 2), {}, "operand must be floating, got i32"),
        ((np.ones(4, np.float32), 5), {}, "k must be between 1 and the length of the axis, 4, got 5"),
        ((np.ones(4, np.float32), 0), {}, "k must be between 1 and the length of the axis, 4, got 0"),
        ((np.ones(4, np.float32), 2, 1), {}, "reduction_dimension must be in"),
        ((np.ones(4, np.float32), 2), {"recall_target": 2.0}, r"recall_target must be in \(0, 1\], got 2.0"),
        ((np.ones(4, np.float32), 2), {"reduction_input_size_override": 3}, "the length of the axis or more, 4, got 3"),
    ],
)
def test_approx_max_k_names_what_it_refuses(arguments: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"approx_max_k: .*{message}"):
        px.lax.approx_max_k(*arguments, **options)


def test_many_keys_lower_without_recursion() -> None:
    keys = [np.zeros(2, np.float32)] * 1500
    lowered = px.jit(lambda *keys: S.sort(keys, num_keys=len(keys))).lower(*keys)
    assert len(re.findall("stablehlo.compare +LT", lowered.as_text())) == len(keys)
