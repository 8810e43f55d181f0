"""Reductions of windows agree with NumPy's and jax's over their options, and have derivatives where jax has none."""

from __future__ import annotations

import random
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from rulecheck import assert_close, equations

import primax as px
from primax import lax
from primax.extend.interpreter import Interpreter, replay
from primax.nn import avg_pool, max_pool, min_pool, pool

pytestmark = pytest.mark.usefixtures("in_32_bits")

STARTS = {"add": 0.0, "max": -np.inf, "min": np.inf}
UFUNCS = {"add": np.add, "max": np.maximum, "min": np.minimum}


def numbers(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(-4, 4, shape).astype(dtype)


def drawn(count: int, seed: int) -> list[tuple[Any, ...]]:
    """Window sizes, strides, paddings and dilations for arrays of two axes."""
    rng = random.Random(seed)

    def pair(low: int, high: int) -> tuple[int, int]:
        return rng.randint(low, high), rng.randint(low, high)

    return [
        (pair(1, 3), pair(1, 3), rng.choice(["SAME", "VALID", (pair(-1, 2), pair(0, 2))]), pair(1, 2), pair(1, 2))
        for _ in range(count)
    ]


def in_numpy(name: str, x: Any, window: Any, strides: Any, padding: Any, base: Any, dilation: Any) -> Any:
    """Every window as a view of an array with margins and gaps."""
    reach = [(length - 1) * step + 1 for length, step in zip(window, dilation, strict=True)]
    if isinstance(padding, str):
        padding = lax.padtype_to_pads(x.shape, reach, strides, padding)
    start = STARTS[name]
    spread = np.full([(size - 1) * step + 1 for size, step in zip(x.shape, base, strict=True)], start, x.dtype)
    spread[tuple(slice(None, None, step) for step in base)] = x
    spread = np.pad(spread, [(max(low, 0), max(high, 0)) for low, high in padding], constant_values=start)
    kept = [slice(max(-low, 0), size - max(-high, 0)) for (low, high), size in zip(padding, spread.shape, strict=True)]
    spread = spread[tuple(kept)]
    shape = lax.reduce_window_shape_tuple(x.shape, window, strides, padding, base, dilation)
    if 0 in shape:
        return np.zeros(shape, x.dtype)
    views = np.lib.stride_tricks.sliding_window_view(spread, reach)
    steps = [slice(None, None, step) for step in (*strides, *dilation)]
    return UFUNCS[name].reduce(views[tuple(steps)], axis=(2, 3))


def test_sums_and_extrema_of_windows_are_numpys() -> None:
    x, ways = numbers(4, 5), drawn(24, 0)
    cases = [(name, way) for i, way in enumerate(ways) for name in [list(STARTS)[i % 3]]]
    outs = px.jit(lambda x: [lax.reduce_window(x, STARTS[n], getattr(lax, n), *way) for n, way in cases])(x)
    for (name, way), out in zip(cases, outs, strict=True):
        assert_close(out, in_numpy(name, x, *way), 1e-5, str((name, way)))


def test_derivatives_of_windows_are_jaxs() -> None:
    jax = pytest.importorskip("jax")
    x, t = numbers(4, 5), numbers(4, 5, seed=1)
    # In jax, dilated windows and those of cropped arrays have no derivatives in reverse mode.
    ways = [(window, strides, padding) for window, strides, padding, _, _ in drawn(9, 1) if str(padding).find("-") < 0]
    ways[0] = (9, 8), (1, 1), "SAME"
    cases = [(name, way) for i, way in enumerate(ways) for name in (["add"] if i % 3 else ["max", "min"])]

    def both(module: Any, lib: Any) -> Any:
        def fun(x: Any, t: Any) -> Any:
            outs = []
            for name, way in cases:

                def total(x: Any, name: str = name, way: Any = way) -> Any:
                    windows = lib.reduce_window(x, STARTS[name], getattr(lib, name), *way)
                    return module.numpy.sum(module.numpy.sin(windows))

                outs.append(module.grad(total)(x))
                outs.append(module.jvp(module.grad(total), (x,), (t,))[1])
            return outs

        return module.jit(fun)(x, t)

    for got, want in zip(both(px, lax), both(jax, jax.lax), strict=True):
        assert_close(got, want, 1e-5)


def test_tangents_and_cotangents_of_dilated_extrema_belong_together() -> None:
    x, t = numbers(4, 5), numbers(4, 5, seed=1)
    for way in [((2, 3), (1, 2), "SAME", (2, 1), (1, 2)), ((2, 2), (2, 1), ((3, 0), (0, -1)), (1, 1), (2, 1))]:
        fun = px.jit(lambda x, way=way: lax.reduce_window(x, -np.inf, lax.max, *way))
        _, tangent = px.jvp(fun, (x,), (t,))
        out, pull = px.vjp(fun, x)
        ct = numbers(*out.shape, seed=2)
        assert_close(np.vdot(pull(ct)[0], t), np.vdot(ct, tangent), 1e-4)


def test_the_first_of_equal_elements_has_the_derivative() -> None:
    (ct,) = px.vjp(lambda x: max_pool(x, (2,)), np.ones((1, 3, 1), np.float32))[1](np.ones((1, 2, 1), np.float32))
    assert np.asarray(ct).ravel().tolist() == [1, 1, 0]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "bool", "float16", "bfloat16", "complex64"])
def test_extrema_and_sums_of_any_dtype(dtype: str) -> None:
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x = np.arange(10).astype(dtype)[::-1]
    limits = np.iinfo(dtype) if dtype.kind in "iu" else None
    low, high = (limits.min, limits.max) if limits else (False, True) if dtype.kind == "b" else (-np.inf, np.inf)
    low, high = np.asarray(low, dtype), np.asarray(high, dtype)

    def windows(x: Any) -> Any:
        outs = [lax.reduce_window(x, low, lax.max, (3,)), lax.reduce_window(x, high, lax.min, (3,))]
        return outs if dtype.kind == "b" else [*outs, lax.reduce_window(x, np.zeros((), dtype), lax.add, (3,))]

    views = np.lib.stride_tricks.sliding_window_view(x, 3)
    wants = [np.sort(views, -1)[:, -1], np.sort(views, -1)[:, 0], views.sum(-1).astype(dtype)]
    for out, want in zip(px.jit(windows)(x), wants, strict=False):
        assert out.dtype == dtype
        assert_close(out, want)


@pytest.mark.parametrize(
    "init, computation, primitive",
    [
        (0.0, lax.add, "reduce_window_sum"),
        (0, lambda x, y: x + y, "reduce_window_sum"),
        (-np.inf, lax.max, "reduce_window_max"),
        (np.inf, lambda x, y: px.numpy.minimum(y, x), "reduce_window_min"),
        (1.0, lax.add, "reduce_window"),
        (0.0, lax.max, "reduce_window"),
        (1.0, lax.mul, "reduce_window"),
        (0.0, lambda x, y: x + x, "reduce_window"),
        (0.0, lambda x, y: x + y + 0.0, "reduce_window"),
    ],
)
def test_known_computations_have_primitives(init: Any, computation: Any, primitive: str) -> None:
    assert equations(lambda x: lax.reduce_window(x, init, computation, (2,)), numbers(3)) == [primitive]


def test_a_traced_initial_value_stays_general() -> None:
    made = equations(lambda x, init: lax.reduce_window(x, init, lax.add, (2,)), numbers(3), np.float32(0))
    assert made == ["reduce_window"]


def test_trees_are_reduced_together() -> None:
    x, y = numbers(6), np.arange(6, dtype=np.int32)

    def later(a: Any, b: Any) -> Any:
        first = a["value"] >= b["value"]
        return {name: px.numpy.where(first, a[name], b[name]) for name in a}

    got = lax.reduce_window({"value": x, "place": y}, {"value": -np.inf, "place": -1}, later, (3,), (2,))
    views = np.lib.stride_tricks.sliding_window_view(x, 3)[::2]
    assert_close(got["value"], views.max(-1))
    assert_close(got["place"], np.int32(views.argmax(-1) + np.array([0, 2])))


def test_an_initial_value_counts_once_in_each_window() -> None:
    x = np.arange(1.0, 4.0, dtype=np.float32)

    def windows(x: Any, init: Any) -> Any:
        return lax.reduce_window(x, init, lax.add, (2,), (1,), ((2, 2),))

    want = np.float32([0, 1, 3, 5, 3, 0])
    assert_close(windows(x, np.float32(10)), 10 + want)
    mapped = px.vmap(windows, (None, 0))(x, np.float32([10, 20]))
    assert_close(mapped, np.float32([10, 20])[:, None] + want)
    out, pull = px.vjp(windows, x, np.float32(10))
    assert_close(out, 10 + want)
    assert_close(pull(np.ones(6, np.float32))[1], np.float32(6))


def test_products_of_windows_have_derivatives() -> None:
    x = np.float32([2, 3, 0, 5])
    grad = px.grad(lambda x: lax.reduce_window(x, 1.0, lax.mul, (2,)).sum())(x)
    assert_close(grad, np.float32([3, 2, 8, 0]))


def test_windows_of_nothing_hold_the_initial_value() -> None:
    empty = np.zeros((0, 2), np.float32)
    around = ((1, 1), (0, 0))
    assert_close(lax.reduce_window(empty, 0.0, lax.add, (2, 1), None, around), np.zeros((1, 2), np.float32))
    assert_close(lax.reduce_window(empty, 3.0, lax.mul, (1, 1), None, around), np.full((2, 2), 3, np.float32))
    assert lax.reduce_window(empty, -np.inf, lax.max, (2, 2)).shape == (0, 1)
    grad = px.grad(lambda x: lax.reduce_window(x, -np.inf, lax.max, (1, 2), None, around).sum())(empty)
    assert grad.shape == (0, 2)


class Plain(Interpreter):
    def default(self, eqn: Any, *values: Any) -> Any:
        outs = replay(eqn, values)
        return outs if eqn.primitive.multiple_results else outs[0]


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: lax.reduce_window(x, 0.0, lambda a, b: a + b + a * b, (2, 2), (1, 2), "SAME"),
        lambda x: lax.reduce(x, 0.0, lambda a, b: a + b + a * b, (1,)),
    ],
)
def test_interpreters_go_through_the_computation(fun: Any) -> None:
    x = numbers(3, 4)
    closed = px.make_jaxpr(fun)(x)
    (got,) = Plain().interpret(closed, x)
    assert_close(got, fun(x), 1e-4)


ONES = np.ones((3, 4), np.float32)


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        (((2,),), TypeError, r"window_dimensions must have one entry per axis, 2, got \(2,\)"),
        (((2, 0),), TypeError, r"window_dimensions must be positive, got \(2, 0\)"),
        (((2, 2), (1,)), TypeError, r"window_strides must have one entry per axis, 2, got \(1,\)"),
        (((2, 2), (0, 1)), TypeError, r"window_strides must be positive, got \(0, 1\)"),
        (((2, 2), None, "FULL"), ValueError, "padding must be .*'SAME'.*got 'FULL'"),
        (((2, 2), None, ((1, 1),)), TypeError, r"padding must have one pair per axis, 2, got \(\(1, 1\),\)"),
        (((2, 2), None, (1, 1)), TypeError, "padding must be .* pairs"),
        (((2, 2), None, "VALID", (0, 1)), TypeError, r"base_dilation must be positive, got \(0, 1\)"),
        (((2, 2), None, "VALID", None, (1, -1)), TypeError, r"window_dilation must be positive, got \(1, -1\)"),
        ((2,), TypeError, "window_dimensions must be a sequence of integers, got 2"),
    ],
)
def test_reduce_window_names_what_it_refuses(arguments: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=f"reduce_window.*{message}"):
        lax.reduce_window(ONES, 0.0, lax.add, *arguments)


def test_reduce_window_refuses_trees_and_dtypes_that_differ() -> None:
    with pytest.raises(TypeError, match="init_values must be a tree like operands"):
        lax.reduce_window(ONES, (0.0,), lax.add, (2, 2))
    with pytest.raises(TypeError, match=r"the same shape, got f32\[3,4\] and f32\[3\]"):
        lax.reduce_window((ONES, ONES[:, 0]), (0.0, 0.0), lambda a, b: a, (2, 2))
    with pytest.raises(TypeError, match=r"scalars of the dtypes of operands, got f32\[\] for i32\[3,4\]"):
        lax.reduce_window(ONES.astype(np.int32), np.float32(0.5), lax.add, (2, 2))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "uint8", "complex64"])
def test_initial_values_may_have_any_dtype_that_is_exact(dtype: str, jax: Any) -> None:
    x = ONES.astype(dtype)
    for init in (np.int32(0), np.float32(0), np.float64(0), 0j, np.int8(0), 0.0):
        for call in (
            lambda lib, init=init: lib.reduce(x, init, lib.add, (0,)),
            lambda lib, init=init: lib.reduce_window(x, init, lib.add, (2, 2), (1, 1), "VALID"),
        ):
            ours = call(lax)
            assert ours.dtype == x.dtype
            assert np.array_equal(ours, call(jax.lax))
    seven = lax.reduce(x, np.float32(7), lambda x, y: x + y, (0, 1))
    assert (seven.dtype, seven) == (x.dtype, 19)
    if dtype in ("int32", "uint8"):
        with px.numpy_dtype_promotion("strict"):
            assert lax.reduce(x, -np.inf, lax.max, (0, 1)) == 1
        assert (
            lax.reduce_window(x[:, :0], np.inf, lax.min, (1, 1), (1, 1), ((0, 0), (1, 0)))[0, 0] == np.iinfo(dtype).max
        )
        with pytest.raises(TypeError, match=r"scalars of the dtypes of operands, got f32\[\]"):
            lax.reduce(x, -np.inf, lax.add, (0,))
    for init in (np.array([0]), "bfloat16" in dtype and np.float32(0.1)):
        if init is not False:
            with pytest.raises(TypeError, match="init_values must be scalars of the dtypes of operands"):
                lax.reduce(x, init, lax.add, (0,))


IMAGES = numbers(2, 5, 6, 3)


def test_pools_are_those_of_numpy() -> None:
    views = np.lib.stride_tricks.sliding_window_view(IMAGES, (2, 3), (1, 2))[:, ::2, ::1]
    for function, want in ((max_pool, views.max), (min_pool, views.min), (avg_pool, views.mean)):
        assert_close(function(IMAGES, (2, 3), (2, 1)), want((-2, -1)), 1e-5)
        assert_close(function(IMAGES[0], (2, 3), (2, 1)), want((-2, -1))[0], 1e-5)
    assert_close(pool(IMAGES, 1.0, lax.mul, (2, 3), (2, 1)), views.prod((-2, -1)), 1e-4)


def test_a_mean_counts_margins_or_not() -> None:
    x = np.ones((1, 3, 3, 1), np.float32)
    counted = np.asarray(avg_pool(x, (3, 3), (2, 2), "SAME"))[0, ..., 0]
    assert_close(counted, np.full((2, 2), 4 / 9, np.float32), 1e-6)
    alone = avg_pool(x, (3, 3), (2, 2), "SAME", count_include_pad=False)
    assert_close(alone, np.ones((1, 2, 2, 1), np.float32), 1e-6)
    far = avg_pool(x, (1, 1), None, ((2, 0), (0, 0)), count_include_pad=False)
    assert np.asarray(far)[0, :, 0, 0].tolist() == [0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: max_pool(np.ones((3, 3), np.float32), (2, 2)), "max_pool: inputs must have 2 spatial axes"),
        (
            lambda: min_pool(IMAGES, (2, 2), (1,)),
            r"min_pool: strides must have one entry per spatial axis, 2, got \(1,\)",
        ),
        (
            lambda: max_pool(IMAGES, (2, 2), padding=((0, 0),)),
            "max_pool: padding must have one pair per spatial axis, 2",
        ),
        (lambda: avg_pool(IMAGES.astype(int), (2, 2)), "avg_pool: inputs must be floating or complex, got i32"),
    ],
)
def test_pools_name_what_they_refuse(call: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize("padding", [3, None, 1.5])
def test_padding_that_is_no_sequence_is_refused(padding):
    with pytest.raises(TypeError, match=r"^max_pool: padding must be a sequence, got"):
        px.nn.max_pool(np.ones((1, 4, 4, 1), np.float32), (2, 2), padding=padding)
