"""Arrays as sets: as NumPy's where values are known, as jax's where a size is given instead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rulecheck import assert_close

import primax as px
import primax.numpy as pnp

pytestmark = [pytest.mark.usefixtures("in_32_bits"), pytest.mark.any_release]

X = np.array([4, 1, 2, 2, 3, 4], np.int32)
Y = np.array([2, 5, 2, 3], np.int32)
F = np.array([1.5, np.nan, 0.5, np.nan, 1.5], np.float32)


def lists(outs: Any) -> list[Any]:
    return list(outs) if isinstance(outs, tuple | list) else [outs]


def agree(got: Any, want: Any) -> None:
    for one, other in zip(lists(got), lists(want), strict=True):
        other = np.asarray(other)
        assert_close(one, other.astype(np.int32) if other.dtype == np.int64 else other)


@pytest.mark.parametrize("x", [X, F, X.reshape(2, 3), np.zeros(0, np.float32), F[:, None] + 1j * F, np.float32(3)])
def test_distinct_elements_are_those_of_numpy(x: Any) -> None:
    agree(pnp.unique(x, True, True, True), np.unique(x, True, True, True))
    agree(pnp.unique(x, equal_nan=False), np.unique(x, equal_nan=False))


def test_distinct_parts_are_those_of_numpy() -> None:
    x = np.random.default_rng(0).integers(0, 2, (5, 2, 2))
    for axis in (0, 1, -1):
        agree(pnp.unique(x, True, True, True, axis), np.unique(x, True, True, True, axis))


def test_functions_of_two_sets_are_those_of_numpy() -> None:
    for x, y in ((X, Y), (Y, X), (X[:0], Y), (F, F[:2])):
        for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d"):
            agree(getattr(pnp, name)(x, y), getattr(np, name)(x, y))
        agree(pnp.intersect1d(x, y, return_indices=True), np.intersect1d(x, y, return_indices=True))
    kept = np.array([9, 3, 7], np.int32)
    agree(pnp.setdiff1d(kept, Y, assume_unique=True), np.setdiff1d(kept, Y, assume_unique=True))


REPEATED = [([1, 1, 2], [1, 2, 2]), ([1, 1], [2, 2]), ([1, 1], [1, 1]), ([2, 3, 2], [3, 5]), ([2], []), ([], [])]


@pytest.mark.parametrize(("x", "y"), REPEATED, ids=repr)
def test_elements_that_are_not_distinct_though_said_to_be_give_what_jax_gives(x: Any, y: Any) -> None:
    jax = pytest.importorskip("jax")
    x, y = np.array(x, np.int32), np.array(y, np.int32)
    for name in ("intersect1d", "setxor1d", "setdiff1d"):
        agree(getattr(pnp, name)(x, y, assume_unique=True), getattr(np, name)(x, y, assume_unique=True))
    agree(pnp.intersect1d(x, y, True, True), np.intersect1d(x, y, True, True))
    for name, options in (("intersect1d", {"return_indices": True}), ("setxor1d", {})):
        for size in (1, 4):
            outs = [
                getattr(lib, name)(x, y, assume_unique=True, size=size, fill_value=9, **options)
                for lib in (pnp, jax.numpy)
            ]
            if x.size:
                agree(*outs)
            assert all(leaf.shape == (size,) for leaf in px.tree.leaves(outs[0]))


def test_results_of_a_given_size_are_those_of_jax() -> None:
    jax = pytest.importorskip("jax")

    def run(lib: Any) -> Any:
        def fun(x: Any, y: Any, f: Any) -> Any:
            outs = []
            outs += lib.setxor1d(x, y, size=8), lib.setdiff1d(x, y, size=8), lib.intersect1d(x, y, size=8)
            outs += lib.unique(x, True, True, True, size=3)
            options = {"size": 8, "fill_value": 7}
            outs += lib.unique(f, True, True, True, **options)
            outs += lib.unique(x.reshape(3, 2), True, True, True, axis=1, **options)
            outs += lib.intersect1d(x, y, return_indices=True, **options)
            outs.append(lib.setdiff1d(x[2:5:2], y[:3], assume_unique=True, **options))
            outs.append(lib.setxor1d(x, y, **options))
            return outs

        return fun

    outs, wants = px.jit(run(pnp))(X, Y, F), jax.jit(run(jax.numpy))(X, Y, F)
    for out, want in zip(outs, wants, strict=True):
        assert_close(out, np.asarray(want))


def test_the_array_apis_functions_tell_nan_from_nan() -> None:
    found = pnp.unique_all(F)
    agree(found.values, np.float32([0.5, 1.5, np.nan, np.nan]))
    agree(found.counts, np.int32([1, 2, 1, 1]))
    agree(pnp.unique_counts(F).counts, found.counts)
    agree(pnp.unique_inverse(F).inverse_indices, found.inverse_indices)
    agree(pnp.unique_values(F), found.values)


def test_distinct_elements_have_derivatives() -> None:
    weights = np.float32([1, 2])
    for options in ({}, {"size": 2}):
        grad = px.grad(lambda x, options=options: (pnp.unique(x, **options) * weights).sum())(np.float32([5, 3, 5]))
        agree(grad, np.float32([2, 1, 0]))


def test_arrays_without_elements() -> None:
    agree(pnp.unique(np.zeros(0, np.int32), size=2, fill_value=7), np.int32([7, 7]))
    with pytest.raises(ValueError, match="unique: fill_value must be given for an array without elements and size 2"):
        pnp.unique(np.zeros(0), size=2)
    agree(pnp.intersect1d(np.zeros(0, np.int32), Y, size=2), np.int32([0, 0]))
    agree(pnp.setxor1d(X[:0], X[:0], size=1), np.int32([0]))


def test_traced_values_need_a_size() -> None:
    for fun in (pnp.unique, lambda x: pnp.setxor1d(x, x), lambda x: pnp.union1d(x, x)):
        with pytest.raises(
            px.errors.ConcretizationTypeError, match=r"(?s)the shape of the result depends on the values of ar1?,.*size"
        ):
            px.jit(fun)(X)
    with pytest.raises(ValueError, match=r"unique: axis must be in \[-1, 1\), got 1"):
        pnp.unique(X, axis=1)
    with pytest.raises(TypeError, match="unique: ar must be an array or a number, got list"):
        pnp.unique([1, 2])


@pytest.mark.parametrize(
    ("one", "other"), [("uint8", "int8"), ("int8", "float32"), ("bool", "int8"), ("float16", "int32")]
)
def test_a_difference_has_the_dtype_of_the_first_set(one: str, other: str) -> None:
    x, y = np.array([1, 0, 1]).astype(one), np.array([0]).astype(other)
    for options in ({}, {"size": 2}, {"assume_unique": True, "size": 3}):
        assert pnp.setdiff1d(x, y, **options).dtype == np.dtype(one)
    assert pnp.setdiff1d(x, y).tolist() == [1]


@pytest.mark.parametrize("function", ["unique", "unique_values", "union1d", "setdiff1d"])
def test_elements_of_sets_are_weak_where_those_given_are(function):
    given = (1.0, 2.0) if function in ("union1d", "setdiff1d") else (1.0,)
    assert getattr(pnp, function)(*given).weak_type
    assert not getattr(pnp, function)(*map(np.float32, given)).weak_type
