"""Functions along axes and over stacks, against jax.numpy."""

from __future__ import annotations

import numpy as np
import pytest
from numpycheck import compare, refuses, sample

import primax as px
import primax.numpy as pnp


def test_mapping_agrees_with_jax() -> None:
    calls = {
        "scalars": lambda m, x: m.vectorize(lambda a, b: m.where(a > b, a, -b))(x, x[0]),
        "column": lambda m, x: m.vectorize(lambda a, b: a * b)(x[0, :, :1], x[0, 0]),
        "vectors": lambda m, x: m.vectorize(m.dot, signature="(n),(n)->()")(x, x[:1]),
        "matrices": lambda m, x: m.vectorize(m.dot, signature="(m,n),(n)->(m)")(x[0], x),
        "several": lambda m, x: m.vectorize(lambda a: (a.sum(), a * 2), signature="(n)->(),(n)")(x),
        "excluded": lambda m, x: m.vectorize(lambda a, n, k=1: a * n + k, excluded={1, "k"})(x, 3, k=2),
        "lengths": lambda m, x: m.vectorize(m.dot, signature="(n),(n)->()")(x, x[:, :, :2]),
        "ranks": lambda m, x: m.vectorize(m.dot, signature="(n),(n)->()")(x, 2.0),
        "malformed": lambda m, x: m.vectorize(m.dot, signature="(n)(n)->()")(x, x),
        "along": lambda m, x: [m.apply_along_axis(m.sum, axis, x) for axis in (0, 1, -1)],
        "along more": lambda m, x: [m.apply_along_axis(lambda v: m.outer(v, v[:2]), axis, x) for axis in (0, 1, 2)],
        "arguments": lambda m, x: m.apply_along_axis(lambda v, n, k: v * n + k, 1, x, 2, k=1),
        "over": lambda m, x: (
            m.apply_over_axes(m.sum, x, (0, 2)),
            m.apply_over_axes(lambda y, i: m.cumsum(y, i), x, (1,)),
        ),
    }
    compare(calls, sample("float32", (2, 3, 4)))


def test_vectorized_functions_are_transformed() -> None:
    f = pnp.vectorize(lambda v: (v**2).sum(), signature="(n)->()")
    x = pnp.asarray(sample("float32", (2, 3)))
    assert np.allclose(px.grad(lambda x: f(x).sum())(x), 2 * np.asarray(x))
    assert np.allclose(px.jit(px.vmap(f))(x), (np.asarray(x) ** 2).sum(1), rtol=1e-5)


def test_results_of_vectorized_functions_may_be_structures_with_a_shape() -> None:
    @px.tree_util.register_pytree_node_class
    class Doubled:
        def __init__(self, half):
            self.half = half

        @property
        def shape(self):
            return self.half.shape

        def tree_flatten(self):
            return (self.half,), None

        @classmethod
        def tree_unflatten(cls, _, children):
            return cls(*children)

    out = pnp.vectorize(lambda v: (Doubled(v / 2), v.sum()), signature="(n)->(n),()")(pnp.ones((3, 2)))
    assert isinstance(out[0], Doubled)
    assert out[0].half.tolist() == [[0.5, 0.5]] * 3
    with pytest.raises(TypeError, match=r"must return an array with the axes \(\), got shape \(2,\)"):
        pnp.vectorize(Doubled, signature="(n)->()")(pnp.ones((3, 2)))


@pytest.mark.parametrize("signature", ["(2)->()", "(2)->(3)", "(n)->(n)", "(n)->(k),(k)"])
def test_lengths_of_axes_in_signatures_are_compared_as_in_numpy(signature: str) -> None:
    functions = {"()": lambda x: x.sum(), "(3)": lambda x: x, "(n)": lambda x: x[:2]}
    f = functions.get(signature.partition("->")[2], lambda x: (x[:2], x[:1]))
    x = np.ones((3, 4), np.float32)
    try:
        want = np.vectorize(f, signature=signature)(x)
    except ValueError:
        with pytest.raises(ValueError, match=r"vectorize: axis '[nk]' must have the same length in all arguments, got"):
            pnp.vectorize(f, signature=signature)(x)
    else:
        np.testing.assert_array_equal(pnp.vectorize(f, signature=signature)(x), want)


def test_vectorize_says_what_does_not_fit() -> None:
    refuses(ValueError, "vectorize: signature must be like", pnp.vectorize, pnp.dot, signature="n->n")
    refuses(TypeError, "excluded must consist of", pnp.vectorize, pnp.dot, excluded={1.5})
    with pytest.raises(TypeError, match=r"there must be 2 arguments"):
        pnp.vectorize(pnp.dot, signature="(n),(n)->()")(pnp.ones(3))
    with pytest.raises(TypeError, match=r"must return an array with the axes \(\)"):
        pnp.vectorize(lambda x: x, signature="(n)->()")(pnp.ones(3))
