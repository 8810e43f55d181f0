"""Products along groups agree with a loop over groups, under all transformations."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from rulecheck import assert_close

import primax as px
from primax import lax

pytestmark = pytest.mark.usefixtures("in_32_bits")


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def looped(lhs: Any, rhs: Any, sizes: Any) -> Any:
    out, start = np.zeros((lhs.shape[0], rhs.shape[-1]), np.float32), 0
    for i, size in enumerate(sizes):
        rows = slice(start, min(start + size, lhs.shape[0]))
        out[rows] = lhs[rows] @ rhs[i]
        start += size
    return out


LHS, RHS, SIZES = numbers(6, 3), numbers(3, 3, 2, seed=1), np.int32([2, 0, 3])


def test_each_group_of_rows_has_a_matrix() -> None:
    for sizes in (SIZES, np.int32([0, 6, 0]), np.int32([4, 4, 4])):
        assert_close(lax.ragged_dot(LHS, RHS, sizes), looped(LHS, RHS, sizes), 1e-5)


def test_groups_are_differentiated_and_mapped() -> None:
    weights = numbers(6, 2, seed=2)
    grads = px.grad(lambda x, y: (lax.ragged_dot(x, y, SIZES) * weights).sum(), (0, 1))(LHS, RHS)
    assert_close(grads[0], looped(weights, RHS.transpose(0, 2, 1), SIZES), 1e-5)
    edges = np.concatenate([[0], np.cumsum(SIZES)])
    want = np.stack([LHS[a:b].T @ weights[a:b] for a, b in pairwise(edges)])
    assert_close(grads[1], want, 1e-5)
    mapped = px.vmap(lax.ragged_dot, (None, None, 0))(LHS, RHS, np.stack([SIZES, SIZES[::-1]]))
    assert_close(mapped[1], looped(LHS, RHS, SIZES[::-1]), 1e-5)


def test_contracted_groups_make_a_product_each() -> None:
    x, y, sizes = numbers(2, 4, 5), numbers(2, 5, 3, seed=1), np.int32([[1, 3], [2, 2]])
    dims = lax.RaggedDotDimensionNumbers((((2,), (1,)), ((0,), (0,))), (2,), ())
    got = np.asarray(lax.ragged_dot_general(x, y, sizes, dims))
    assert got.shape == (2, 2, 4, 3)
    for b, (first, second) in enumerate(sizes):
        assert_close(got[0, b], x[b, :, :first] @ y[b, :first], 1e-5)
        assert_close(got[1, b], x[b, :, first : first + second] @ y[b, first : first + second], 1e-5)


def test_groups_of_a_batch_dimension_make_no_difference() -> None:
    x, y = numbers(4, 2, 3), numbers(4, 3, 2, seed=1)
    dims = lax.RaggedDotDimensionNumbers((((2,), (1,)), ((0,), (0,))), (0,), ())
    assert_close(lax.ragged_dot_general(x, y, np.int32([1, 2]), dims), x @ y, 1e-5)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((LHS, RHS, np.float32([2, 4])), r"group_sizes must be integers of rank 1 or more, got f32\[2\]"),
        ((LHS, RHS, SIZES[:2]), r"rhs must have one part per group, 2, got 3 in dimension 0 of f32\[3,3,2\]"),
        ((LHS, RHS[0], SIZES), r"rhs must have rank 3, got f32\[3,2\]"),
        ((LHS, RHS, np.int32([[1, 2, 3]])), r"group_sizes must be of shape \(g,\) or \(g\), got i32\[1,3\]"),
        ((LHS[:, :2], RHS, SIZES), "contracting dimensions must have equal sizes"),
    ],
)
def test_bad_groups_are_named(arguments: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        lax.ragged_dot(*arguments)


def test_dimension_numbers_of_lists_are_hashable() -> None:
    numbers = px.lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0])
    assert hash(numbers) == hash(px.lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,)))
