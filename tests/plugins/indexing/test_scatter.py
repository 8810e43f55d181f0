"""Scatters against NumPy and jax: modes, batches, derivatives where windows overlap, and what is refused."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import primax as px
from primax import lax

pytestmark = pytest.mark.usefixtures("in_32_bits")

X = np.linspace(0.5, 3, 24, dtype=np.float32).reshape(4, 6)
MODES = ("clip", "drop", "promise_in_bounds", "one_hot")
NAMES = ("scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max")
# Dimension numbers, index vectors, some of them out of range, and the shape of updates.
SCATTERS: list[Any] = [
    (((1,), (0,), (0,)), [[2], [0], [-1], [9]], (4, 6)),
    (((0,), (1,), (1,)), [[[2], [5]], [[6], [-3]]], (4, 2, 2)),
    (((1, 2), (), (1, 0)), [[3, 0], [5, 3], [-1, 2]], (3, 2, 3)),
    (((), (1,), (1,), (0,), (0,)), [[2], [7], [0], [5]], (4,)),
    (((2,), (), (0,), (1,), (1,)), [[[0]] * 6, [[2]] * 6], (2, 6, 2)),
    (((0, 1), (), ()), [], (4, 6)),
]


def refuses(text: str, function: Any, *args: Any, error: Any = TypeError, **kwargs: Any) -> None:
    with pytest.raises(error) as caught:
        function(*args, **kwargs)
    assert text in str(caught.value), str(caught.value)


def indices_of(case: int) -> Any:
    given = SCATTERS[case][1]
    return np.array(given, np.int32).reshape(np.shape(given) or (0,))


def updates_of(case: int, scale: float = 1.0) -> Any:
    shape = SCATTERS[case][2]
    return (scale * np.linspace(0.3, 4, int(np.prod(shape)))).astype(np.float32).reshape(shape)


def test_scatters_are_those_of_jax_in_all_modes() -> None:
    jax = pytest.importorskip("jax")

    def run(m: Any, x: Any, all_indices: Any, all_updates: Any) -> list[Any]:
        out = []
        for (dims, _, shape), i, u in zip(SCATTERS, all_indices, all_updates, strict=True):
            numbers = m.ScatterDimensionNumbers(*dims)
            few = ((name, mode) for name in NAMES for mode in (MODES if name == "scatter_add" else MODES[:2]))
            out += [getattr(m, name)(x, i, u, numbers, mode=mode) for name, mode in few]
            out.append(m.scatter_apply(x, i, lambda y: y * y, numbers, update_shape=shape, mode="clip"))
        return out

    cases = range(len(SCATTERS))
    args = X, [indices_of(case) for case in cases], [updates_of(case) for case in cases]
    ours = px.jit(lambda *args: run(lax, *args))(*args)
    theirs = jax.jit(lambda *args: run(jax.lax, *args))(*args)
    for k, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        np.testing.assert_allclose(one, other, rtol=1e-6, err_msg=str(k))


@pytest.mark.parametrize(
    ("name", "case"), [*(("scatter_add", case) for case in range(len(SCATTERS))), ("scatter", 0), ("scatter_apply", 3)]
)
def test_any_arguments_may_be_mapped_along_any_axis(name: str, case: int) -> None:
    dims, _, shape = SCATTERS[case]
    numbers = lax.ScatterDimensionNumbers(*dims)
    xs, updates = np.stack([X, X[::-1]]), np.stack([updates_of(case), updates_of(case, -2.0)])
    rows = indices_of(case)
    indices = np.stack([rows, rows[::-1]])

    def function(x: Any, i: Any, u: Any) -> Any:
        if name == "scatter_apply":
            return lax.scatter_apply(x, i, lambda y: y * y, numbers, update_shape=shape)
        return getattr(lax, name)(x, i, u, numbers)

    places = [*product((None, 0, 2), (None, 0, rows.ndim), (None, 0, len(shape)))][1:]

    def run() -> Any:
        out = []
        for a, b, c in places:
            x = X if a is None else np.moveaxis(xs, 0, a)
            i = rows if b is None else np.moveaxis(indices, 0, b)
            u = updates[0] if c is None else np.moveaxis(updates, 0, c)
            out.append(px.vmap(function, (a, b, c))(x, i, u))
        return out, [[[function(x, i, u) for u in updates] for i in indices] for x in xs]

    mapped, table = px.jit(run)()
    for (a, b, c), found in zip(places, mapped, strict=True):
        each = [table[0 if a is None else k][0 if b is None else k][0 if c is None else k] for k in range(2)]
        np.testing.assert_allclose(found, np.stack(each), rtol=1e-6, err_msg=str((a, b, c)))


def test_of_several_windows_on_one_place_the_one_that_remains_has_the_derivative() -> None:
    rows, numbers = np.int32([[1], [1], [3], [7]]), lax.ScatterDimensionNumbers((), (0,), (0,))
    x, u = X[0, :5], np.float32([10, 20, 30, 40])

    def put(x: Any, u: Any) -> Any:
        return lax.scatter(x, rows, u, numbers)

    out, tangent = px.jvp(put, (x, u), (x, u))
    np.testing.assert_array_equal(out, tangent)
    weights = np.float32([1, 2, 3, 4, 5])
    for slopes in (
        px.grad(lambda *a: (put(*a) * weights).sum(), (0, 1)),
        px.jit(px.grad(lambda *a: (put(*a) * weights).sum(), (0, 1))),
    ):
        of_x, of_u = slopes(x, u)
        assert of_x.tolist() == [1, 0, 3, 0, 5]
        assert sorted(of_u.tolist()) == [0, 0, 2, 4]
        assert of_u[2] == 4
    transposed = px.linear_transpose(put, x, u)(weights)
    np.testing.assert_array_equal(transposed[1], of_u)
    np.testing.assert_array_equal(transposed[0], of_x)


def test_factors_of_one_place_have_derivatives() -> None:
    rows, numbers = np.int32([[1], [1], [3], [9]]), lax.ScatterDimensionNumbers((), (0,), (0,))
    x, u = X[0, :5], np.float32([2, 0, 5, 7])
    jac_x, jac_u = px.jacfwd(lambda x, u: lax.scatter_mul(x, rows, u, numbers), (0, 1))(x, u)
    np.testing.assert_allclose(jac_x, np.diag([1, 0, 1, 5, 1]))
    expected = np.zeros((5, 4))
    expected[1, :2], expected[3, 2] = (0, 2 * x[1]), x[3]
    np.testing.assert_allclose(jac_u, expected)
    reverse = px.jacrev(lambda u: lax.scatter_mul(x, rows, u, numbers))(u)
    np.testing.assert_allclose(reverse, expected)


def test_equal_elements_share_the_derivative_of_an_extremum() -> None:
    jax = pytest.importorskip("jax")
    rows = np.int32([[1], [1], [3], [9]])
    u = np.float32([X[0, 1], X[0, 1], 0, 9])
    weights = np.float32([1, 2, 3, 4, 5, 6])

    def slopes(m: Any, grad: Any) -> list[Any]:
        numbers = m.ScatterDimensionNumbers((), (0,), (0,))
        return [
            grad(lambda x, u, f=f: (f(x, rows, u, numbers) * weights).sum(), (0, 1))(X[0], u)
            for f in (m.scatter_max, m.scatter_min)
        ]

    ours, theirs = px.jit(lambda: slopes(lax, px.grad))(), jax.jit(lambda: slopes(jax.lax, jax.grad))()
    for one, other in zip(px.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_a_function_is_applied_as_often_as_an_element_is_named() -> None:
    rows, numbers = np.int32([[1], [1], [3], [9]]), lax.ScatterDimensionNumbers((), (0,), (0,))
    x = X[0]

    def apply(x: Any, scale: Any) -> Any:
        return lax.scatter_apply(x, rows, lambda y: lax.sin(y) * scale, numbers, update_shape=(4,))

    def meant(x: Any, scale: Any) -> Any:
        twice, once = np.sin(np.sin(x[1]) * scale) * scale, np.sin(x[3]) * scale
        return np.stack([x[0], twice, x[2], once, x[4], x[5]])

    np.testing.assert_allclose(apply(x, 2.0), meant(x, 2.0), rtol=1e-6)
    np.testing.assert_allclose(px.jit(apply)(x, 2.0), meant(x, 2.0), rtol=1e-6)
    step = 1e-6
    wide = x.astype(np.float64)
    with px.enable_x64(True):
        diagonal, of_scale = px.jacrev(apply, (0, 1))(wide, 2.0)
        np.testing.assert_allclose(px.jacfwd(apply)(wide, 2.0), diagonal, rtol=1e-6)
        np.testing.assert_allclose(
            np.diag(diagonal), (meant(wide + step, 2.0) - meant(wide - step, 2.0)) / (2 * step), rtol=1e-5
        )
        np.testing.assert_allclose(
            of_scale, (meant(wide, 2.0 + step) - meant(wide, 2.0 - step)) / (2 * step), rtol=1e-5
        )


def test_scatters_name_the_argument_that_does_not_fit() -> None:
    good = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    row = np.int32([[1]])

    def bad(text: str, updates: Any, numbers: Any = good, indices: Any = row) -> None:
        refuses(text, lax.scatter_add, X, indices, updates, numbers)

    bad("updates must have the dtype of operand, got i32[1,6] for f32[4,6]", np.ones((1, 6), np.int32))
    bad("updates must have 2 axes, 1 of windows and 1 of index vectors, got f32[6]", X[0])
    bad("must not be longer than operand, got 7 for axis 1 of f32[1,7] and 6 for axis 1", np.ones((1, 7), np.float32))
    bad("got 2 for axis 0 of f32[2,6] and 1 in i32[1,1]", X[:2])
    bad("scatter_indices must be integers, got f32[1,1]", X[:1], indices=np.ones((1, 1), np.float32))
    bad("dimension_numbers must be ScatterDimensionNumbers, got None", X[:1], None)
    bad("update_window_dims must be in [0, 2)", X[:1], lax.ScatterDimensionNumbers((2,), (0,), (0,)))
    refuses("operand must be a number, got bool[4,6]", lax.scatter_add, X > 1, row, X[:1] > 1, good)
    refuses(
        "func must return an element of the dtype it is given, got i32[]",
        lax.scatter_apply,
        X,
        row,
        lambda y: 1,
        good,
        update_shape=(1, 6),
    )
    refuses("updates must have 2 axes", lax.scatter_apply, X, row, lambda y: y, good, update_shape=(6,))
