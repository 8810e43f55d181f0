"""Reductions compute, differentiate and batch as jax's do, and name what they refuse."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from rulecheck import assert_close, check_against_jax, check_values, equations

import primax as px
from primax import lax
from primax.extend.provisional.programs import programs_of
from primax.plugins import reductions as R

EXTREMA = ["reduce_max", "reduce_min"]
BITWISE = ["reduce_and", "reduce_or", "reduce_xor"]
REDUCTIONS = [*EXTREMA, "reduce_prod", *BITWISE]
DTYPES = ["bool", "int8", "uint8", "int32", "float16", "bfloat16", "float32", "complex64"]


def jax_lax() -> Any:
    return pytest.importorskip("jax").lax


def named(dtype: str) -> Any:
    return np.dtype(getattr(ml_dtypes, dtype, dtype))


def numbers(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Any:
    """Numbers between -4 and 4, no two of them equal if they are floating."""
    random = np.random.default_rng(seed)
    values = random.uniform(-4, 4, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * random.uniform(-4, 4, shape)
    if np.dtype(dtype).kind in "ub":
        values = np.abs(values)
    return np.asarray(values).astype(dtype)


def accepts(name: str, dtype: str) -> bool:
    if name in BITWISE:
        return named(dtype).kind in "biu"
    return name in EXTREMA or dtype != "bool"


ALL = [(name, dtype) for name in REDUCTIONS for dtype in DTYPES]


@pytest.mark.parametrize("name, dtype", [pair for pair in ALL if accepts(*pair)])
def test_a_reduction_agrees_with_jax(name: str, dtype: str) -> None:
    x = numbers(3, 4, dtype=named(dtype))
    for axes in [(0,), (0, 1)]:
        check_against_jax(
            lambda x, axes=axes: getattr(R, name)(x, axes),
            lambda x, axes=axes: getattr(jax_lax(), name)(x, axes),
            x,
        )


@pytest.mark.parametrize("name, dtype", [pair for pair in ALL if not accepts(*pair)])
def test_a_reduction_refuses_dtypes_it_has_no_meaning_for(name: str, dtype: str) -> None:
    with pytest.raises(TypeError, match=f"{name}: operand must be .*, got .*\\[3\\]"):
        getattr(R, name)(numbers(3, dtype=named(dtype)), (0,))
    with pytest.raises(TypeError, match=f"{name}: operand must be"):
        getattr(R, name)(px.numpy.asarray(numbers(3, dtype=named(dtype))), ())


@pytest.mark.parametrize("name, dtype", [pair for pair in ALL if accepts(*pair)])
def test_a_reduction_of_nothing_is_its_identity(name: str, dtype: str) -> None:
    empty = np.zeros((0, 2), named(dtype))
    check_against_jax(lambda x: getattr(R, name)(x, (0,)), lambda x: getattr(jax_lax(), name)(x, (0,)), empty)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reducing_no_axes_changes_nothing(name: str) -> None:
    x = px.numpy.asarray(numbers(3, dtype=np.int32))
    assert getattr(R, name)(x, ()) is x
    assert_close(getattr(R, name)(np.int32(3), ()), np.int32(3))


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize(
    "axes, message",
    [
        ((2,), r"axes must be between 0 and the rank 2, got \(2,\) for i32\[2,3\]"),
        ((-1,), r"axes must be between 0 and the rank 2, got \(-1,\)"),
        ((0, 0), r"axes must be distinct, got \(0, 0\)"),
    ],
)
def test_axes_that_are_not_there_are_named(name: str, axes: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: {message}"):
        getattr(R, name)(np.ones((2, 3), np.int32), axes)
    if name in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min"):
        with pytest.raises(ValueError, match=f"{name}: axes must"):
            px.jvp(lambda x: getattr(R, name)(x, axes), (np.ones((2, 3), np.float32),), (np.ones((2, 3), np.float32),))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_axes_must_be_integers(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name}: axes must be a sequence of integers, got"):
        getattr(R, name)(np.ones(3, np.int32), ("0",))


@pytest.mark.parametrize("name", EXTREMA)
def test_extrema_are_nan_where_an_element_is(name: str) -> None:
    x = np.array([[1, np.nan, 3], [2, np.inf, -np.inf]], np.float32)
    got = getattr(R, name)(x, (1,))
    assert_close(got, np.array([np.nan, np.inf if name == "reduce_max" else -np.inf], np.float32))


def test_elements_that_are_all_greatest_share_the_cotangent() -> None:
    x = np.array([1, 3, 3, 2, 3, 0], np.float32)
    got = px.grad(lambda x: R.reduce_max(x, (0,)))(x)
    assert_close(got, np.array([0, 1, 1, 0, 1, 0], np.float32) / np.float32(3))


def test_the_greatest_of_no_elements_has_the_derivative_0() -> None:
    x = np.zeros((0, 3), np.float32)
    _, tangent = px.jvp(lambda x: px.numpy.max(x, axis=0, initial=0.0), (x,), (x,))
    assert tangent.tolist() == [0.0, 0.0, 0.0]


def test_the_gradient_of_a_product_is_right_where_factors_are_zero() -> None:
    x = np.array([[2, 0, 3], [0, 5, 0], [1, 2, 3]], np.float32)
    got = px.grad(lambda x: R.reduce_sum(R.reduce_prod(x, (1,)), (0,)))(x)
    assert_close(got, np.array([[0, 6, 0], [0, 0, 0], [6, 3, 2]], np.float32))
    curvature = px.jacfwd(px.jacrev(lambda x: R.reduce_prod(x, (0,))))(x[0])
    assert_close(curvature, np.array([[0, 3, 0], [3, 0, 2], [0, 2, 0]], np.float32))


@pytest.mark.parametrize("name", ["reduce_max", "reduce_prod"])
def test_derivatives_take_no_more_equations_than_in_jax(name: str) -> None:
    jax = pytest.importorskip("jax")
    for shape, axes in [((5,), (0,)), ((8, 2), (0,)), ((3, 4), (0, 1))]:
        x = numbers(*shape)
        ours = equations(lambda x, t, axes=axes: px.jvp(lambda x: getattr(R, name)(x, axes), (x,), (t,)), x, x)
        theirs = jax.make_jaxpr(lambda x, t, axes=axes: jax.jvp(lambda x: getattr(jax.lax, name)(x, axes), (x,), (t,)))(
            x, x
        )
        assert len(ours) <= len(theirs.eqns)


def test_reductions_of_integers_have_no_derivative() -> None:
    x = np.array([3, 1], np.int32)
    _, tangent = px.jvp(lambda x: R.reduce_max(x, (0,)), (x,), (np.zeros(2, px.float0),))
    assert tangent.dtype == px.float0


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "complex64"])
def test_positions_of_extrema_agree_with_jax(name: str, dtype: str) -> None:
    x = numbers(4, 5, dtype=named(dtype))
    for axis in (0, 1):
        check_against_jax(
            lambda x, axis=axis: getattr(R, name)(x, axis, np.dtype("int32")),
            lambda x, axis=axis: getattr(jax_lax(), name)(x, axis, np.int32),
            x,
        )


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_first_nan_is_the_extremum_and_then_the_first_of_equals(name: str) -> None:
    x = np.array(
        [[1, np.nan, 3, np.nan], [7, 7, 7, 7], [-0.0, 0.0, -0.0, 0.0], [np.inf, -np.inf, np.inf, -np.inf]],
        np.float32,
    )
    want = [1, 0, 0, 0 if name == "argmax" else 1]
    assert_close(getattr(R, name)(x, 1, "int32"), np.array(want, np.int32))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_what_has_no_position_is_refused(name: str) -> None:
    find = getattr(R, name)
    with pytest.raises(ValueError, match=rf"{name}: axis must have length 1 or more, got axis 1 of f32\[3,0\]"):
        find(np.zeros((3, 0), np.float32), 1, "int32")
    assert find(np.zeros((3, 0), np.float32), 0, "int32").shape == (0,)
    with pytest.raises(ValueError, match=f"{name}: index_dtype must hold positions up to 128, got int8"):
        find(np.zeros(129, np.float32), 0, "int8")
    assert int(find(np.zeros(128, np.float32), 0, "int8")) == 0
    with pytest.raises(TypeError, match=f"{name}: index_dtype must be an integer dtype, got float32"):
        find(np.zeros(3, np.float32), 0, "float32")
    with pytest.raises(TypeError, match=rf"{name}: operand must be real, got c64\[3\]"):
        find(np.zeros(3, np.complex64), 0, "int32")
    with pytest.raises(ValueError, match=rf"{name}: axis must be in \[-1, 1\), got 1"):
        find(np.zeros(3, np.float32), 1, "int32")


def blend(x: Any, y: Any) -> Any:
    """x * y + x + y: associative, and 0 is its identity."""
    return lax.add(lax.mul(x, y), lax.add(x, y))


def compose(f: Any, g: Any) -> Any:
    """First x -> f[0] x + f[1], then g: associative, but not commutative."""
    return lax.mul(f[0], g[0]), lax.add(lax.mul(f[1], g[0]), g[1])


ZERO, ONE = np.float32(0), np.float32(1)


def fold_left(function: Any, values: Any) -> Any:
    total = values[0]
    for value in values[1:]:
        total = function(total, value)
    return total


@pytest.mark.parametrize("dimensions", [(0,), (1,), (1, 0), (-1,), ()])
def test_reduce_folds_by_any_function(dimensions: Any) -> None:
    x = numbers(3, 2)
    total = x
    for axis in sorted((d % 2 for d in dimensions), reverse=True):
        total = fold_left(lambda a, b: a * b + a + b, np.moveaxis(total, axis, 0))
    check_values(lambda x: R.reduce(x, ZERO, blend, dimensions), lambda x: np.asarray(total), x, rtol=1e-5)


def test_reduce_folds_trees_of_arrays_together() -> None:
    x, y = numbers(4, 3), numbers(4, 3, dtype=np.int32)

    def step(a: Any, b: Any) -> Any:
        larger = lax.gt(a["value"], b["value"])
        return {name: lax.select(larger, a[name], b[name]) for name in ("value", "label")}

    got = R.reduce({"value": x, "label": y}, {"value": -np.inf, "label": 0}, step, (0,))
    assert_close(got["value"], x.max(0))
    assert_close(got["label"], np.take_along_axis(y, x.argmax(0)[None], 0)[0])


@pytest.mark.parametrize(
    "function, init, primitive",
    [
        (lax.add, 0.0, "reduce_sum"),
        (lax.mul, 1.0, "reduce_prod"),
        (lax.max, -np.inf, "reduce_max"),
        (lax.min, np.inf, "reduce_min"),
        (lax.bitwise_and, np.int32(-1), "reduce_and"),
        (lax.bitwise_or, np.int32(0), "reduce_or"),
        (lax.bitwise_xor, np.int32(0), "reduce_xor"),
    ],
)
def test_reduce_knows_the_functions_that_have_a_primitive(function: Any, init: Any, primitive: str) -> None:
    x = numbers(3, 4, dtype=np.asarray(init).dtype if isinstance(init, np.int32) else np.float32)
    assert equations(lambda x: R.reduce(x, init, function, (1,)), x) == [primitive]
    other = type(init)(2)
    assert equations(lambda x: R.reduce(x, other, function, (1,)), x) == ["reduce"]


def test_reduce_with_a_traced_initial_value_stays_general() -> None:
    x = numbers(3)
    assert equations(lambda x, init: R.reduce(x, init, lax.add, (0,)), x, ZERO) == ["reduce"]


def test_reduce_starts_from_its_initial_value() -> None:
    x = numbers(3)
    assert_close(R.reduce(x, np.float32(2), lax.add, (0,)), x.sum() + np.float32(2))
    assert_close(R.reduce(np.zeros((0, 2), np.float32), np.float32(2), blend, (0,)), np.full(2, 2, np.float32))


def test_derivatives_of_reduce_keep_the_order_of_elements() -> None:
    f = numbers(7), numbers(7, seed=1)
    want = fold_left(lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1]), list(zip(*f, strict=True)))
    for got in (
        R.reduce(f, (ONE, ZERO), compose, (0,)),
        px.jvp(lambda f: R.reduce(f, (ONE, ZERO), compose, (0,)), (f,), (f,))[0],
    ):
        assert_close(got[0], want[0], 1e-5)
        assert_close(got[1], want[1], 1e-5)


def test_reduce_of_nothing_has_the_derivative_of_its_initial_value() -> None:
    empty = np.zeros((0, 2), np.float32)
    out, tangent = px.jvp(lambda init: R.reduce(empty, init, blend, (0,)), (ZERO,), (ONE,))
    assert_close(out, np.zeros(2, np.float32))
    assert_close(tangent, np.ones(2, np.float32))


def test_reduce_compiles_once_for_each_function() -> None:
    x = numbers(3)
    R.reduce(x, ZERO, blend, (0,))
    before = len(R.reduce_p.programs)
    R.reduce(x, ZERO, blend, (0,))
    assert len(R.reduce_p.programs) == before

    def passing(x: Any, y: Any) -> Any:
        return blend(x, y)

    R.reduce(x, ZERO, passing, (0,))
    staged = weakref.ref(programs_of(passing))
    assert staged().held() == 1
    del passing
    gc.collect()
    gc.collect()
    assert staged() is None


ONES = np.ones(3, np.float32)


@pytest.mark.parametrize(
    "operands, inits, function, dimensions, message",
    [
        (ONES, np.int32(2**24 + 1), blend, (0,), r"scalars of the dtypes of operands, got i32\[\] for f32\[3\]"),
        (ONES, np.zeros(1, np.float32), blend, (0,), r"scalars of the dtypes of operands, got f32\[1\]"),
        (ONES, (ZERO,), blend, (0,), "init_values must be a tree like operands"),
        ((ONES, ONES[:2]), (ZERO, ZERO), compose, (0,), r"the same shape, got f32\[3\] and f32\[2\]"),
        ((), (), blend, (0,), "operands must hold an array"),
        (ONES, ZERO, blend, (1,), r"dimensions must be in \[-1, 1\), got 1"),
        (ONES, ZERO, blend, (0, 0), "dimensions must be distinct"),
        (ONES, ZERO, lambda x, y: (x, y), (0,), "computation must return a value for each operand"),
        (ONES, ZERO, lax.gt, (0,), r"the types it is given, got bool\[\] for f32\[\]"),
    ],
)
def test_what_reduce_cannot_fold_is_named(
    operands: Any, inits: Any, function: Any, dimensions: Any, message: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=f"reduce: .*{message}"):
        R.reduce(operands, inits, function, dimensions)


@pytest.mark.parametrize("kind", [list, tuple])
def test_results_of_reduce_have_the_structure_that_the_computation_returns(kind: Any) -> None:
    given = (R.reduce, lambda *args: lax.reduce_window(*args, window_strides=(1,), padding="VALID"))
    for reduce, last in zip(given, ((0,), (3,)), strict=True):
        out = reduce((ONES, 2 * ONES), (ZERO, ZERO), lambda a, b: kind(x + y for x, y in zip(a, b, strict=True)), last)
        assert type(out) is kind
        assert [x.item() for x in out] == [3.0, 6.0]


def test_reduce_refuses_computations_that_close_over_traced_values() -> None:
    def fold(x: Any, c: Any) -> Any:
        return R.reduce(x, ZERO, lambda a, b: lax.add(a, lax.mul(b, c)), (0,))

    with pytest.raises(TypeError, match="reduce: computation must not close over traced values"):
        px.jit(fold)(numbers(3), ONE)


def test_reduce_holds_constants_of_its_computation() -> None:
    c = px.numpy.asarray(np.float32(2))
    got = px.jit(lambda x: R.reduce(x, ZERO, lambda a, b: lax.add(a, lax.add(b, lax.mul(c, ZERO))), (0,)))(numbers(3))
    assert_close(got, numbers(3).sum(), 1e-5)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions_are_looked_for_in_the_numbers_that_the_extremum_is_of(name):
    """If XLA computed the operand twice, and rounded differently, the extremum could be nowhere."""
    program = (
        px.jit(lambda x: getattr(px.numpy, name)(x * 3.0 + 1.0, axis=1)).lower(np.ones((2, 3), np.float32)).as_text()
    )
    assert program.count("optimization_barrier") == 1
    whole = px.jit(lambda x: getattr(px.numpy, name)(x, axis=1)).lower(np.ones((2, 3), np.int32)).as_text()
    assert "optimization_barrier" not in whole
