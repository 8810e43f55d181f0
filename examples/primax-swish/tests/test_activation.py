"""The activation as its users see it."""

from __future__ import annotations

import numpy as np
import pytest
from primax_swish import swish

import primax as px
import primax.numpy as pnp
from primax.ad_checkpoint import print_saved_residuals

X = np.linspace(-4, 4, 24, dtype=np.float32).reshape(2, 3, 4)
BETA = np.float32([0.0, 0.5, 1.0, 8.0])


def by_formula(x, beta):
    return x / (1 + pnp.exp(-beta * x))


def assert_close(found, wanted):
    for x, y in zip(px.tree.leaves(found), px.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


def test_values_and_derivatives_are_those_of_the_formula():
    assert_close(swish(X, BETA), by_formula(X, BETA))
    for transform in (px.grad, px.jacfwd, px.hessian):
        found, wanted = (
            px.jit(transform(lambda x, beta, f=f: pnp.sum(pnp.sin(f(x, beta))), argnums=(0, 1)))(X[0, 0], BETA)
            for f in (swish, by_formula)
        )
        assert_close(found, wanted)


def test_reverse_mode_keeps_the_arguments_alone(capsys):
    beta = np.broadcast_to(BETA, X.shape)
    print_saved_residuals(swish, X, beta)
    kept = capsys.readouterr().out.splitlines()
    assert kept == ["f32[2,3,4] from the argument x", "f32[2,3,4] from the argument beta"]
    print_saved_residuals(by_formula, X, beta)
    assert len(capsys.readouterr().out.splitlines()) > 2


def test_every_transformation_agrees_with_the_plain_call():
    np.testing.assert_allclose(px.jit(swish)(X, BETA), swish(X, BETA), rtol=1e-6)
    np.testing.assert_allclose(px.vmap(swish, in_axes=(1, None), out_axes=1)(X, BETA), swish(X, BETA), rtol=1e-6)


def test_great_slopes_and_arguments_do_not_overflow():
    x = np.float32([-1e4, -100, 0, 100, 1e4])
    np.testing.assert_array_equal(swish(x, 10.0), np.maximum(x, 0))
    assert np.isfinite(px.grad(lambda x: swish(x, 10.0).sum())(x)).all()


def test_integers_become_floating_and_others_are_refused():
    assert swish(2).dtype == np.float32
    with pytest.raises(TypeError, match="swish: x and beta must be real, got complex64 and float32"):
        swish(1j)
    with pytest.raises(ValueError, match="shapes"):
        swish(X, np.ones(3))
