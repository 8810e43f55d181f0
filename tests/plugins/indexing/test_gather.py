"""gather and dynamic slices against NumPy and jax: modes, batches, derivatives, and what is refused."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import primax as px
from primax import lax
from primax.extend import core

pytestmark = pytest.mark.usefixtures("in_32_bits")

X = np.linspace(0.5, 3, 24, dtype=np.float32).reshape(4, 6)
ROW = np.int32([[1]])
MODES = ("clip", "fill", "promise_in_bounds")


def refuses(text: str, function: Any, *args: Any, error: Any = TypeError, **kwargs: Any) -> None:
    with pytest.raises(error) as caught:
        function(*args, **kwargs)
    assert text in str(caught.value), str(caught.value)


def numbers(module: Any, *dims: Any) -> Any:
    return module.GatherDimensionNumbers(*dims)


# Dimension numbers, lengths of windows, and index vectors, some of them out of range.
GATHERS: list[Any] = [
    (((1,), (0,), (0,)), (1, 6), [[2], [0], [-1], [9]]),
    (((0,), (1,), (1,)), (4, 1), [[[2], [5]], [[6], [-3]]]),
    (((0, 2), (), (1, 0)), (2, 3), [[3, 0], [1, 1], [5, 3], [-1, 2]]),
    (((), (0, 1), (0, 1)), (1, 1), [[3, 5], [0, 1], [4, 5], [1, -7]]),
    (((), (1,), (1,), (0,), (0,)), (1, 1), [[2], [7], [0], [5]]),
    (((2,), (), (0,), (1,), (1,)), (3, 1), [[[0]] * 6, [[1]] * 6]),
    (((0, 1), (), ()), (4, 6), []),
    (((1,), (0,), (0,)), (1, 0), [[2], [9]]),
]


def test_windows_are_those_of_jax_in_all_modes() -> None:
    jax = pytest.importorskip("jax")

    def run(module: Any, x: Any, all_indices: Any) -> list[Any]:
        return [
            module.gather(x, i, numbers(module, *dims), sizes, mode=mode, fill_value=fill)
            for (dims, sizes, _), i in zip(GATHERS, all_indices, strict=True)
            for mode in MODES
            for fill in ((None, 7) if mode == "fill" else (None,))
        ]

    indices = [np.array(i, np.int32).reshape(np.shape(i) or (0,)) for _, _, i in GATHERS]
    ours, theirs = px.jit(lambda x, i: run(lax, x, i))(X, indices), jax.jit(lambda x, i: run(jax.lax, x, i))(X, indices)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


def test_fill_values_are_those_of_jax_for_each_kind_of_dtype() -> None:
    dims, outside = ((), (0,), (0,)), np.int32([[0], [9]])
    expected = {"int8": -128, "uint16": 65535, "bool": True, "int32": -(2**31)}
    found = px.jit(
        lambda: [
            lax.gather(np.ones(3, d), outside, numbers(lax, *dims), (1,), mode="fill")
            for d in (*expected, "float16", "complex64")
        ]
    )()
    for out, value in zip(found, [*expected.values(), np.nan, np.nan], strict=True):
        np.testing.assert_array_equal(out, np.array([1, value], out.dtype))


def test_indices_may_be_of_any_integer_dtype() -> None:
    x = np.arange(300, dtype=np.float32)
    dims = numbers(lax, (), (0,), (0,))
    found = px.jit(
        lambda: [
            lax.gather(x, np.array([[5], [200]]).astype(dtype), dims, (1,), mode=mode)
            for dtype in ("uint8", "int16", "uint32")
            for mode in MODES
        ]
    )()
    assert all(out.tolist() == [5, 200] for out in found)
    small = px.jit(lambda i: [lax.gather(x, i, dims, (1,), mode=mode) for mode in MODES])(np.int8([[5], [-3]]))
    np.testing.assert_array_equal(small, [[5, 0], [5, np.nan], [5, 0]])


def loops(function: Any, args: Any, dims: Any, size: int) -> Any:
    """What vmap should give, by a loop."""
    return np.stack(
        [
            np.asarray(function(*[x if d is None else np.take(x, i, d) for x, d in zip(args, dims, strict=True)]))
            for i in range(size)
        ]
    )


@pytest.mark.parametrize("case", range(len(GATHERS)))
def test_any_arguments_may_be_mapped_along_any_axis(case: int) -> None:
    dims, sizes, given = GATHERS[case]
    indices = np.array(given, np.int32).reshape(np.shape(given) or (0,))
    xs, all_indices = np.stack([X, X[::-1], 2 * X]), np.stack([indices, indices[::-1], indices])
    places = [*product((None, 0, 1, 2), (None, *range(all_indices.ndim)))][1:]

    def function(x: Any, i: Any) -> Any:
        return lax.gather(x, i, numbers(lax, *dims), sizes, fill_value=-1, mode="fill")

    def run() -> Any:
        out = []
        for x_dim, i_dim in places:
            x = X if x_dim is None else np.moveaxis(xs, 0, x_dim)
            i = indices if i_dim is None else np.moveaxis(all_indices, 0, i_dim)
            out.append(px.vmap(function, (x_dim, i_dim))(x, i))
        return out, [[function(x, i) for i in all_indices] for x in xs]

    mapped, table = px.jit(run)()
    for (x_dim, i_dim), out in zip(places, mapped, strict=True):
        expected = [table[0 if x_dim is None else k][0 if i_dim is None else k] for k in range(3)]
        np.testing.assert_array_equal(out, np.stack(expected), err_msg=str((x_dim, i_dim)))


def test_a_batch_of_nothing_is_nothing() -> None:
    dims = numbers(lax, (1,), (0,), (0,))
    out = px.vmap(lambda x, i: lax.gather(x, i, dims, (1, 6)))(np.ones((0, 4, 6)), np.ones((0, 2, 1), np.int32))
    assert out.shape == (0, 2, 6)
    assert px.vmap(lambda x, i: lax.dynamic_slice(x, (i, 0), (1, 2)))(
        np.ones((0, 4, 6)), np.ones(0, np.int32)
    ).shape == (0, 1, 2)


def test_elements_that_are_read_twice_have_twice_the_derivative() -> None:
    dims = numbers(lax, (), (0,), (0,))
    twice = np.int32([[1], [1], [9]])
    for mode, last in (("clip", 5.0), ("fill", 0.0), (None, 0.0)):
        slope = px.grad(
            lambda x, mode=mode: (
                lax.gather(x, twice, dims, (1,), mode=mode, fill_value=0) * np.float32([2, 3, 5])
            ).sum()
        )(X[0])
        assert slope.tolist() == [0, 5, 0, 0, 0, last]


def test_arrays_of_other_elements_than_numbers_pass_abstract_evaluation() -> None:
    key = px.random.key(0).aval
    keys = core.ShapeDtypeStruct((4, 6), key.dtype)

    def run(x: Any, i: Any) -> Any:
        dims = ((1,), (0,), (0,))
        part = lax.gather(x, i, numbers(lax, *dims), (1, 6))
        row = lax.dynamic_slice(x, (i[0, 0], 0), (1, 6))
        changed = lax.scatter(x, i, part, lax.ScatterDimensionNumbers(*dims))
        return part, row, changed, lax.dynamic_update_slice(x, row, (i[0, 0], 0))

    jaxpr = px.make_jaxpr(run)(keys, np.int32([[1], [2]]))
    assert [aval.shape for aval in jaxpr.out_avals] == [(2, 6), (1, 6), (4, 6), (4, 6)]
    assert {aval.dtype for aval in jaxpr.out_avals} == {key.dtype}


def test_gather_names_the_argument_that_does_not_fit() -> None:
    def bad(text: str, *dims: Any, sizes: Any = (1, 6), indices: Any = ROW, **kwargs: Any) -> None:
        refuses(text, lax.gather, X, indices, numbers(lax, *dims), sizes, **kwargs)

    good = ((1,), (0,), (0,))
    bad("indices must be integers, got f32[1,1]", *good, indices=np.ones((1, 1), np.float32))
    bad("indices must have an axis for index vectors, got i32[]", (0,), (0,), (0,), indices=np.int32(1))
    bad("offset_dims must be in [0, 2), the axes of a result of rank 2, got 2 in (2,)", (2,), (0,), (0,))
    bad("collapsed_slice_dims must be increasing, got (1, 0)", (), (1, 0), (0,))
    bad("start_index_map must be distinct, got (0, 0)", (1,), (0,), (0, 0), indices=np.int32([[1, 2]]))
    bad("must be as many as operand has axes, 2, got 1, 0 and 0", (1,), (), (0,))
    bad(
        "start_index_map must have one axis per entry of an index vector, got 1 in (0,) for index vectors of length 2",
        *good,
        indices=np.int32([[1, 2]]),
    )
    bad("slice_sizes must have one entry per axis of operand, got 1 in (1,)", *good, sizes=(1,))
    bad("slice_sizes must be between 0 and 6 for axis 1 of operand, got 7", *good, sizes=(1, 7))
    bad("slice_sizes must be at most 1 for axes in collapsed_slice_dims", *good, sizes=(2, 6))
    bad("operand_batching_dims must have no axis in common, got [0]", (1,), (), (0,), (0,), (0,))
    bad(
        "must have the same length, got 4 for axis 0 of operand f32[4,6] and 1 for axis 0 of indices",
        (1,),
        (),
        (),
        (0,),
        (0,),
        indices=np.zeros((1, 0), np.int32),
    )
    bad(
        "must have the same length, got 1 in (0,) and 0 in ()",
        (1,),
        (),
        (),
        (0,),
        (),
        indices=np.zeros((1, 0), np.int32),
    )
    refuses(
        "dimension_numbers must be GatherDimensionNumbers, got ((1,), (0,), (0,))",
        lax.gather,
        X,
        np.int32([[1]]),
        good,
        (1, 6),
    )
    refuses(
        "mode must be 'clip', 'fill'",
        lax.gather,
        X,
        np.int32([[1]]),
        numbers(lax, *good),
        (1, 6),
        mode="foo",
        error=ValueError,
    )
    refuses(
        "got ONE_HOT",
        lax.gather,
        X,
        np.int32([[1]]),
        numbers(lax, *good),
        (1, 6),
        mode="one_hot",
        error=NotImplementedError,
    )


def test_dynamic_slices_are_those_of_jax() -> None:
    jax = pytest.importorskip("jax")

    def run(m: Any, x: Any, i: Any) -> list[Any]:
        out = []
        for start in (0, 2, 3, 9, -1, -9):
            for at in (start, i * 0 + start):
                out += [
                    m.dynamic_slice(x, (at, 1), (2, 3)),
                    m.dynamic_slice_in_dim(x, at, 4, 1),
                    m.dynamic_index_in_dim(x, at, 1),
                    m.dynamic_index_in_dim(x, at, -1, False),
                    m.dynamic_update_slice(x, x[:2, :2] * 9, (at, at)),
                    m.dynamic_update_slice_in_dim(x, x[:3] * 9, at, 0),
                    m.dynamic_update_index_in_dim(x, x[0] * 9, at, 0),
                    m.dynamic_update_index_in_dim(x, x[:, :1] * 9, at, 1),
                    m.dynamic_slice(x, (i * 0 + start, 0), (1, 6), allow_negative_indices=False),
                    m.dynamic_slice(x, (at, 0), (1, 6), allow_negative_indices=[True, False]),
                ]
        return [*out, m.dynamic_slice(x, np.int32([1, 2]), (2, 2)), m.index_take(x, (i[None], i[None] - 50), (0, 1))]

    ours, theirs = px.jit(lambda x, i: run(lax, x, i))(X, 1), jax.jit(lambda x, i: run(jax.lax, x, i))(X, 1)
    for k, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        np.testing.assert_array_equal(one, other, err_msg=str(k))


def test_dynamic_slices_may_be_mapped_along_any_axis() -> None:
    xs, starts, updates = (
        np.stack([X, X[::-1], 2 * X]),
        np.int32([1, 7, -1]),
        np.stack([X[:2, :3] * k for k in (3, 5, 7)]),
    )

    def part(x: Any, i: Any) -> Any:
        return lax.dynamic_slice(x, (i, 2), (2, 3))

    def changed(x: Any, u: Any, i: Any) -> Any:
        return lax.dynamic_update_slice(x, u, (i, 2))

    places = [(a, b, c) for a, b, c in product((None, 0, 1, 2), (None, 0, 1, 2), (None, 0)) if (a, b, c) != (None,) * 3]

    def run() -> Any:
        out = []
        for a, b, c in places:
            x = X if a is None else np.moveaxis(xs, 0, a)
            u = updates[0] if b is None else np.moveaxis(updates, 0, b)
            i = starts[0] if c is None else starts
            out.append(px.vmap(changed, (a, b, c))(x, u, i))
            if b is None:
                out.append(px.vmap(part, (a, c))(x, i))
        singles = [[[changed(x, u, i) for i in starts] for u in updates] for x in xs]
        return out, singles, [[part(x, i) for i in starts] for x in xs]

    mapped, whole, parts = px.jit(run)()
    found = iter(mapped)
    for a, b, c in places:
        pick = [tuple(0 if d is None else k for d in (a, b, c)) for k in range(3)]
        np.testing.assert_array_equal(
            next(found), np.stack([whole[p][q][r] for p, q, r in pick]), err_msg=str((a, b, c))
        )
        if b is None:
            np.testing.assert_array_equal(next(found), np.stack([parts[p][r] for p, _, r in pick]))


def test_a_slice_whose_place_is_the_same_for_all_stays_a_slice() -> None:
    jaxpr = px.make_jaxpr(lambda xs, i: px.vmap(lambda x: lax.dynamic_slice(x, (i, 0), (1, 2)))(xs))(X[None], 1)
    assert "gather" not in str(jaxpr)


def test_dynamic_slices_name_the_argument_that_does_not_fit() -> None:
    refuses("indices must be integers, got f32[]", lax.dynamic_slice, X, (np.float32(1), 0), (1, 1))
    refuses("start_indices must have one entry per axis of operand, got 1", lax.dynamic_slice, X, (1,), (1, 1))
    refuses("start_indices must be of rank 1, got i32[1,2]", lax.dynamic_slice, X, np.int32([[1, 2]]), (1, 1))
    refuses(
        "allow_negative_indices must have one entry per axis of operand, got 1",
        lax.dynamic_slice,
        X,
        (1, 1),
        (1, 1),
        allow_negative_indices=[True],
    )
    refuses("slice_sizes must be between 0 and 4 for axis 0, got 5", lax.dynamic_slice, X, (1, 1), (5, 1))
    refuses("slice_sizes must have one entry per axis of operand, got 1 in (1,)", lax.dynamic_slice, X, (1, 1), (1,))
    refuses(
        "update must have the dtype of operand, got i32[1,1] for f32[4,6]",
        lax.dynamic_update_slice,
        X,
        np.int32([[1]]),
        (1, 1),
    )
    refuses("update must have the rank of operand, 2, got f32[6]", lax.dynamic_update_slice, X, X[0], (1, 1))
    refuses(
        "update must be at most 4 long along axis 0, got 5",
        lax.dynamic_update_slice,
        X,
        np.ones((5, 1), np.float32),
        (1, 1),
    )
    refuses("idxs must hold one array per axis, got 1", lax.index_take, X, (np.int32([1]),), (0, 1))


def test_without_a_mode_windows_are_moved_inside_as_in_jax() -> None:
    dims = numbers(lax, (), (0,), (0,))
    for x in (np.float32([3, 4, 5]), np.int32([3, 4, 5])):
        assert lax.gather(x, np.array([[1], [7], [-1]]), dims, (1,)).tolist() == [4, 5, 3]
    assert lax.gather(np.arange(4.0), np.array([[3]]), numbers(lax, (1,), (), (0,)), (2,)).tolist() == [[2, 3]]
