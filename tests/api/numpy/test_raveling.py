"""`ravel_pytree` is as in jax: the vector, and the function back."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.flatten_util import ravel_pytree


@pytest.mark.parametrize(
    "tree",
    [
        {"a": 1.0, "b": [2, np.arange(3)]},
        [],
        [True, np.bool_(False)],
        (np.ones((2, 0)), np.ones((2, 3), np.float16)),
        [np.ones(2, np.float32), np.ones(1, np.complex64)],
        None,
        3,
    ],
)
def test_vectors_and_trees_are_those_of_jax(tree, jax):
    expected, back = import_module("jax.flatten_util").ravel_pytree(tree)
    flat, unravel = ravel_pytree(tree)
    assert (flat.dtype, flat.shape, flat.weak_type) == (expected.dtype, expected.shape, expected.aval.weak_type)
    np.testing.assert_array_equal(flat, expected)
    ours, theirs = unravel(flat), back(expected)
    assert px.tree.structure(ours) == px.tree.structure(px.tree.map(lambda x: x, tree))
    for x, y in zip(px.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        np.testing.assert_array_equal(x, y)


def test_the_way_back_takes_other_dtypes_only_if_all_leaves_have_one():
    flat, unravel = ravel_pytree([pnp.ones(2), pnp.ones(3)])
    assert unravel(flat.astype(pnp.int32))[1].dtype == np.int32
    flat, unravel = ravel_pytree([pnp.ones(2), pnp.arange(3)])
    with pytest.raises(TypeError, match=f"flat must have the dtype {flat.dtype}, got int8"):
        unravel(flat.astype(pnp.int8))


def test_the_way_back_refuses_another_shape():
    _, unravel = ravel_pytree([pnp.ones(2), pnp.ones(3)])
    with pytest.raises(ValueError, match=r"flat must have the shape \(5,\), got \(2,\)"):
        unravel(pnp.ones(2))


def test_a_leaf_that_is_no_array_is_named():
    with pytest.raises(TypeError, match="ravel_pytree: leaf 1 must be an array or a number"):
        ravel_pytree([1.0, "a"])


def test_ways_back_of_equal_trees_are_equal_and_static_arguments():
    one, other = (ravel_pytree({"a": pnp.ones(2) * i})[1] for i in (1, 2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != ravel_pytree({"a": pnp.ones(3)})[1]
    f = px.jit(lambda x, unravel: unravel(x), static_argnums=1)
    assert f(pnp.arange(2.0), one)["a"].tolist() == [0.0, 1.0]


def test_vectors_are_differentiated_mapped_and_compiled():
    def loss(tree):
        flat, unravel = ravel_pytree(tree)
        return pnp.sum(unravel(flat**2)["a"])

    found = px.jit(px.grad(loss))({"a": pnp.arange(3.0), "b": 1.0})
    assert found["a"].tolist() == [0.0, 2.0, 4.0]
    assert float(found["b"]) == 0.0
    _, unravel = ravel_pytree([pnp.ones(2), pnp.ones(3)])
    assert px.vmap(unravel)(pnp.ones((4, 5)))[1].shape == (4, 3)
