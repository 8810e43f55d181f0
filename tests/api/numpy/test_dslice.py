"""`px.ds`: parts of axes with computed starts, against slices and dynamic slices."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp

pytestmark = pytest.mark.any_release

X = np.arange(40, dtype=np.float32).reshape(10, 4)


@pytest.mark.parametrize("start", [0, 2, 7, -3, np.uint8(4), np.int16(-10)])
@pytest.mark.parametrize("stride", [None, 1, 2])
def test_reads_a_part_known_and_traced(start: Any, stride: int | None) -> None:
    step = stride or 1
    expected = X[np.minimum(int(start) % 10 + np.arange(3) * step, 9)]

    def read(x: Any, i: Any) -> Any:
        return x[px.ds(i, 3, stride)]

    x = pnp.asarray(X)
    np.testing.assert_array_equal(px.jit(read)(x, start), expected)
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


_UPDATES: list[Any] = [
    ("set", lambda old, new: new),
    ("add", np.add),
    ("subtract", np.subtract),
    ("multiply", np.multiply),
    ("divide", np.divide),
    ("power", np.power),
    ("min", np.minimum),
    ("max", np.maximum),
]


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("start", [0, 3, 5, 9, 2**31 - 1, -1, -4, -6, -7, -(2**31)])
@pytest.mark.parametrize(("mode", "wrap"), [(None, True), ("drop", False), ("clip", True), ("clip", False)])
@pytest.mark.parametrize("stride", [1, 2])
def test_updates_beside_other_entries(traced: bool, start: int, mode: str | None, wrap: bool, stride: int) -> None:
    first = start + 6 if wrap and start < 0 else start
    if stride == 1 and mode == "clip":
        first = min(max(first, 0), 4)
    positions = first + np.arange(2) * stride
    inside = (positions >= 0) & (positions < 6)
    if mode == "clip":
        positions, inside = np.clip(positions, 0, 5), np.array([True, True])
    elif stride == 1:
        inside &= inside.all()
    x = np.arange(1, 25, dtype=np.float32).reshape(4, 6)
    values = np.array([[2.0, 3.0], [4.0, 5.0]], np.float32)
    options = {"mode": mode, "wrap_negative_indices": wrap}
    rows = np.array([3, 1])

    def updated(i: Any) -> list[Any]:
        array = pnp.asarray(x)
        at = array.at[rows, px.ds(i, 2, stride)]
        multiplied = array.at[2, px.ds(i, 2, stride)].apply(lambda e: e * 10, **options)
        return [*(getattr(at, name)(values, **options) for name, _ in _UPDATES), multiplied]

    *found, multiplied = px.jit(updated)(start) if traced else updated(start)
    for out, (_, combine) in zip(found, _UPDATES, strict=True):
        expected = x.copy()
        at = np.ix_(rows, positions[inside])
        expected[at] = combine(x[at], values[:, inside])
        if len(set(positions)) < 2:  # which value remains is not specified
            expected[rows, positions[0]] = out[rows, positions[0]]
        np.testing.assert_allclose(out, expected, rtol=1e-6)
    expected = x.copy()
    expected[2, positions[inside]] *= 10
    if len(set(positions)) < 2:
        expected[2, positions[0]] = multiplied[2, positions[0]]
    np.testing.assert_array_equal(multiplied, expected)


@pytest.mark.parametrize("start", [np.int32(2**31 - 1), np.uint32(2**32 - 1), np.uint8(255)])
@pytest.mark.parametrize("stride", [1, 2])
def test_positions_do_not_overflow(start: Any, stride: int) -> None:
    x = pnp.arange(6)
    for run in (px.jit, lambda f: f):
        np.testing.assert_array_equal(run(lambda i: x[px.ds(i, 2, stride)])(start), [4, 5] if stride == 1 else [5, 5])
        np.testing.assert_array_equal(run(lambda i: x.at[px.ds(i, 2, stride)].set(-1))(start), x)
        np.testing.assert_array_equal(
            run(lambda i: x.at[px.ds(i, 2, stride)].set(-1, mode="clip"))(start),
            [0, 1, 2, 3, -1, -1] if stride == 1 else [0, 1, 2, 3, 4, -1],
        )


def test_a_start_of_64_bits() -> None:
    with px.enable_x64(True):
        for start in (np.uint64(2**64 - 1), np.int64(2**63 - 1)):
            for run in (px.jit, lambda f: f):
                np.testing.assert_array_equal(run(lambda i: pnp.arange(6)[px.ds(i, 2, 2)])(start), [5, 5])
                np.testing.assert_array_equal(run(lambda i: pnp.arange(6)[px.ds(i, 2)])(start), [4, 5])
                np.testing.assert_array_equal(run(lambda i: pnp.arange(2).at[px.ds(i, 2)].set(7))(start), [0, 1])


@pytest.mark.parametrize("stride", [1, 2])
def test_empty_parts(stride: int) -> None:
    for x in (pnp.zeros((0, 2)), pnp.ones((3, 2))):
        for run in (px.jit, lambda f: f):
            for start in (0, 3, 5, -9):
                assert run(lambda i, x=x: x[px.ds(i, 0, stride)])(start).shape == (0, 2)
                np.testing.assert_array_equal(run(lambda i, x=x: x.at[px.ds(i, 0, stride)].set(7))(start), x)
    one = px.jit(lambda i: pnp.arange(3)[px.ds(i, 1, stride)])
    np.testing.assert_array_equal(one(9), [2])


def test_two_parts_are_updated_and_read_as_slices_are() -> None:
    x = pnp.asarray(X)
    expected = X.copy()
    expected[4:6, 1:3] -= 1
    both = px.jit(lambda i, j: x.at[px.ds(i, 2), px.ds(j, 2)].subtract(1))
    np.testing.assert_array_equal(both(4, 1), expected)
    np.testing.assert_array_equal(both(9, 1), X)
    np.testing.assert_array_equal(both(4, 3), X)
    np.testing.assert_array_equal(x.at[px.ds(4, 2), px.ds(3, 2)].subtract(1), X)
    read = px.jit(lambda i, j: x.at[px.ds(i, 2), px.ds(j, 2)].get(mode="fill", fill_value=-1))
    np.testing.assert_array_equal(read(4, 1), X[4:6, 1:3])
    np.testing.assert_array_equal(read(4, 3), [[-1, -1], [-1, -1]])
    twice = px.jit(lambda i: x.at[px.ds(i, 2), np.array([0, 0])].add(1))
    np.testing.assert_array_equal(twice(3)[3:5, 0], X[3:5, 0] + 2)


def test_updates_are_differentiated_and_mapped() -> None:
    x = pnp.arange(6.0)

    def updated(x: Any, v: Any, i: Any) -> Any:
        return (x.at[px.ds(i, 2)].multiply(v) ** 2).sum()

    for i, (dx, dv) in {1: ([0, 8, 16, 6, 8, 10], 20), 5: ([0, 2, 4, 6, 8, 10], 0)}.items():
        found = px.jit(px.grad(updated, (0, 1)))(x, 2.0, i)
        np.testing.assert_array_equal(found[0], dx)
        np.testing.assert_array_equal(found[1], dv)
    rows = px.vmap(lambda i: x.at[px.ds(i, 2)].set(-1.0))(pnp.array([0, 3, 5, -2]))
    kept = np.arange(6.0)
    expected = np.stack([kept] * 4)
    expected[0, :2] = expected[1, 3:5] = expected[3, 4:] = -1
    np.testing.assert_array_equal(rows, expected)


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
    for use in (lambda i: x[px.ds(i, 20)], lambda i: x.at[px.ds(i, 20)].set(0)):
        for run in (use, px.jit(use)):
            with pytest.raises(IndexError, match=r"must not be longer than the axis.*size=20.*axis 0 .*\(10, 4\)"):
                run(1)
    with pytest.raises(IndexError, match="at most one entry per axis"):
        px.jit(lambda i: x[px.ds(i, 2), 0, 0])(1)
