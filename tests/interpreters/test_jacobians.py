"""Jacobians and Hessians."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax

X = np.arange(3.0, dtype=np.float32)


def test_jacobians_and_hessian():
    x = np.arange(3.0, dtype=np.float32)
    want = np.diag(np.cos(x))
    np.testing.assert_allclose(px.jacfwd(lax.sin)(x), want, rtol=1e-6)
    np.testing.assert_allclose(px.jacrev(lax.sin)(x), want, rtol=1e-6)
    hessian = px.hessian(lambda x: (lax.sin(x) * x).sum())(x)
    np.testing.assert_allclose(hessian, np.diag(2 * np.cos(x) - x * np.sin(x)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("jacobian", [px.jacfwd, px.jacrev])
def test_jacobians_of_pytrees(jacobian):
    jax = pytest.importorskip("jax")

    def g(d, y):
        return {"p": d["a"] * y, "q": (d["a"] * d["b"]).sum()}

    point = {"a": np.ones((2, 3), np.float32), "b": np.full((2, 3), 2.0, np.float32)}
    y = np.float32(3.0)
    want = jax.jacrev(g, argnums=(0, 1))(point, y)
    found = jacobian(g, argnums=(0, 1))(point, y)
    assert px.tree.structure(found) == px.tree.structure(px.tree.map(np.asarray, want))
    for a, b in zip(px.tree.leaves(found), px.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_jacobians_of_python_scalars_are_of_weak_type_as_the_results_are():
    assert px.jacfwd(pnp.sin)(0.5).weak_type
    assert px.jacfwd(lambda x: pnp.stack([x, x]))(0.5).weak_type
    assert px.hessian(pnp.sin)(0.5).weak_type
    assert not px.jacfwd(lambda x: x * pnp.ones(2))(0.5).weak_type
    assert not px.jacfwd(pnp.sin)(np.float32(0.5)).weak_type


@pytest.mark.parametrize("transform", [px.jacfwd, px.jacrev])
def test_the_jacobian_of_the_identity_is_an_array(transform):
    assert isinstance(transform(lambda x: x)(pnp.asarray(X)), px.Array)
