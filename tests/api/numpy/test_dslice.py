"""`px.ds`: parts of axes with computed starts, against slices and dynamic slices."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp

X = np.arange(40, dtype=np.float32).reshape(10, 4)


@pytest.mark.parametrize("start", [0, 2, 7, -3, np.uint8(4), np.int16(-10)])
@pytest.mark.parametrize("stride", [None, 1, 2])
def test_reads_a_part_known_and_traced(start: Any, stride: int | None) -> None:
    first = int(start) % 10
    if stride == 2:
        first = min(first, 5)
    step = stride or 1
    expected = X[first : first + 3 * step : step][:3]

    def read(x: Any, i: Any) -> Any:
        return x[px.ds(i, 3, stride)]

    x = pnp.asarray(X)
    np.testing.assert_array_equal(px.jit(read)(x, start), expected)
    if first == int(start) % 10:
        np.testing.assert_array_equal(read(x, start), expected)
        np.testing.assert_array_equal(read(x, pnp.asarray(start)), expected)


def test_stands_beside_other_entries() -> None:
    x = pnp.asarray(X)

    def both(index: Any) -> tuple[Any, Any]:
        return px.jit(lambda i: x[index(i)])(2), x[index(2)]

    cases: list[tuple[Any, Any]] = [
        (lambda i: (px.ds(i, 3), px.ds(1, 2)), X[2:5, 1:3]),
        (lambda i: (..., px.ds(i, 2)), X[:, 2:4]),
        (lambda i: (px.ds(i, 3), 0), X[2:5, 0]),
        (lambda i: (None, px.ds(i, 3), slice(None, None, 2)), X[None, 2:5, ::2]),
        (lambda i: (px.ds(i, 3), np.array([1, 3])), X[2:5, [1, 3]]),
        (lambda i: (px.ds(i, 4), np.array([True, False, False, True])), X[2:6][:, [0, 3]]),
        (lambda i: (px.ds(i, 0), 1), X[2:2, 1]),
        (lambda i: (px.ds(i, 3), px.ds(i, 2)), X[2:5, 2:4]),
    ]
    for index, expected in cases:
        for found in both(index):
            np.testing.assert_array_equal(found, expected)


def test_reads_move_into_range_and_writes_are_dropped() -> None:
    x = pnp.arange(6)
    np.testing.assert_array_equal(px.jit(lambda i: x[px.ds(i, 3)])(5), [3, 4, 5])
    write = px.jit(lambda i, mode: x.at[px.ds(i, 3)].set(9, mode=mode), static_argnums=1)
    np.testing.assert_array_equal(write(1, None), [0, 9, 9, 9, 4, 5])
    np.testing.assert_array_equal(write(4, None), [0, 1, 2, 3, 4, 5])
    np.testing.assert_array_equal(write(-9, None), [0, 1, 2, 3, 4, 5])
    np.testing.assert_array_equal(write(4, "clip"), [0, 1, 2, 9, 9, 9])
    np.testing.assert_array_equal(px.jit(lambda i: x.at[px.ds(i, 3)].get(mode="clip"))(4), [3, 4, 5])
    filled = px.jit(lambda i: x.at[px.ds(i, 3)].get(mode="fill", fill_value=-1))
    np.testing.assert_array_equal(filled(4), [-1, -1, -1])
    np.testing.assert_array_equal(filled(3), [3, 4, 5])
    strided = px.jit(lambda i: x.at[px.ds(i, 2, 2)].set(9))
    np.testing.assert_array_equal(strided(4), [0, 1, 2, 3, 9, 5])


def test_writes_along_an_inner_axis() -> None:
    expected = X.copy()
    expected[:, 1:3] += 5
    x = pnp.asarray(X)
    np.testing.assert_array_equal(px.jit(lambda i: x.at[:, px.ds(i, 2)].add(5))(1), expected)
    np.testing.assert_array_equal(px.jit(lambda i: x.at[..., px.ds(i, 2)].add(5))(np.uint8(1)), expected)
    np.testing.assert_array_equal(x.at[:, px.ds(1, 2)].add(5), expected)


def test_is_mapped_and_differentiated() -> None:
    x = pnp.arange(6.0)
    np.testing.assert_array_equal(px.vmap(lambda i: x[px.ds(i, 2)])(pnp.array([0, 3])), [[0, 1], [3, 4]])
    gradient = px.jit(px.grad(lambda x, i: (x[px.ds(i, 2)] ** 2).sum()))(x, 2)
    np.testing.assert_array_equal(gradient, [0, 0, 4, 6, 0, 0])


def test_is_a_value_and_a_tree_of_its_start() -> None:
    part = px.ds(2, 3, 2)
    assert part == pickle.loads(pickle.dumps(part)) == px.dslice(2, 3, 2)
    assert part != px.ds(2, 3)
    assert repr(part) == "Slice(start=2, size=3, stride=2)"
    assert px.tree.leaves(part) == [2]
    assert px.ds(None) == slice(None)
    assert px.ds(4) == px.ds(0, 4) == px.ds(None, 4)
    moved = px.jit(lambda part: pnp.arange(9)[part])(px.ds(4, 2))
    np.testing.assert_array_equal(moved, [4, 5])


def test_refuses_what_is_no_part() -> None:
    with pytest.raises(TypeError, match=r"ds: start must be an integer of rank 0, got f\d+\[\]"):
        px.ds(2.5, 3)
    with pytest.raises(TypeError, match=r"ds: start must be an integer of rank 0, got i32\[2\]"):
        px.ds(np.zeros(2, np.int32), 3)
    with pytest.raises(TypeError, match=r"ds: size must be an integer, got 3\.0"):
        px.ds(2, 3.0)
    with pytest.raises(ValueError, match="ds: size must not be negative, got -1"):
        px.ds(2, -1)
    with pytest.raises(ValueError, match="ds: stride must be positive, got 0"):
        px.ds(2, 1, 0)
    x = pnp.asarray(X)
    for start in (1.5, np.array([1, 2])):
        part = px.tree.map(lambda _, start=start: start, px.ds(0, 2))
        for use in (lambda s: x[s], lambda s: x.at[s].set(0), px.jit(lambda s: x[s]), px.jit(lambda s: x.at[s].set(0))):
            with pytest.raises(TypeError, match="ds: start must be an integer of rank 0"):
                use(part)
    with pytest.raises(IndexError, match=r"must not be longer than the axis.*size=20.*axis 0 .*\(10, 4\)"):
        px.jit(lambda i: x[px.ds(i, 20)])(1)
    with pytest.raises(IndexError, match=r"x\.at\[\.\.\.\] takes a part with a traced start only beside slices"):
        px.jit(lambda i: x.at[px.ds(i, 2), 0].set(1))(1)
    with pytest.raises(IndexError, match="at most one entry per axis"):
        px.jit(lambda i: x[px.ds(i, 2), 0, 0])(1)
