"""What vjp and linearize return is a pytree of what it remembers, and goes wherever pytrees go."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp

X, Y = np.arange(3.0, dtype=np.float32), np.arange(1.0, 4.0, dtype=np.float32)


def product(x, y):
    return pnp.sin(x * y) * y


def pulled(pull, ct):
    return pull(ct)


def close(found, wanted):
    for a, b in zip(px.tree.leaves(found), px.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_a_pullback_is_an_argument_of_compiled_functions_which_are_compiled_once():
    count = 0

    @px.jit
    def run(pull, ct):
        nonlocal count
        count += 1
        return pull(ct)

    out, pull = px.vjp(product, X, Y)
    close(run(pull, out), pull(out))
    close(run(px.tree.map(lambda r: 2 * r, pull), out), px.tree.map(lambda r: 2 * r, pull)(out))
    assert count == 1


def test_pullbacks_are_results_of_mapped_and_of_compiled_functions():
    out, pull = px.vjp(product, X, Y)
    pulls = px.vmap(lambda x, y: px.vjp(product, x, y)[1])(X, Y)
    close(px.vmap(pulled)(pulls, out), pull(out))
    close(px.jit(lambda x, y: px.vjp(product, x, y)[1])(X, Y)(out), pull(out))


def test_a_linear_function_of_a_compiled_function_leaves_no_tracers():
    _, push = px.linearize(product, X, Y)
    late = px.jit(lambda x, y: px.linearize(product, x, y)[1])(X, Y)
    close(late(X, Y), push(X, Y))
    assert px.tree.leaves(push)


def test_a_pullback_is_the_residual_of_a_custom_rule():
    custom = px.custom_vjp(product)
    custom.defvjp(lambda *args: px.vjp(product, *args), lambda pull, ct: pull(3 * ct))
    wanted = px.vmap(px.grad(product, (0, 1)))(X, Y)
    close(px.vmap(px.grad(custom, (0, 1)))(X, Y), px.tree.map(lambda g: 3 * g, wanted))
    close(px.jit(px.grad(lambda *args: custom(*args).sum(), (0, 1)))(X, Y), px.tree.map(lambda g: 3 * g, wanted))


def test_a_pullback_is_carried_by_a_loop_and_differentiated():
    def total(x):
        out, pull = px.vjp(product, x, Y)
        _, found = px.lax.scan(lambda carry, _: (carry, carry(out)[0]), pull, None, length=2)
        return found.sum()

    close(px.grad(total)(X), px.grad(lambda x: 2 * px.vjp(product, x, Y)[1](product(x, Y))[0].sum())(X))


def test_equal_residuals_are_one_leaf():
    _, pull = px.vjp(lambda x: px.lax.dot(x, x), pnp.asarray(X))
    assert len(px.tree.leaves(pull)) == 1
    assert px.tree.structure(pull) == px.tree.structure(px.tree.map(np.asarray, pull))


@pytest.mark.parametrize("wrong", [{"a": X}, (X, X)])
def test_a_pullback_that_was_taken_apart_still_checks_its_cotangent(wrong):
    pull = px.tree.map(lambda r: r, px.vjp(product, X, Y)[1])
    with pytest.raises(TypeError, match="vjp: the cotangent must have the structure"):
        pull(wrong)


def test_jacobians_of_python_scalars_are_of_weak_type_as_the_results_are():
    assert px.jacfwd(pnp.sin)(0.5).weak_type
    assert px.jacfwd(lambda x: pnp.stack([x, x]))(0.5).weak_type
    assert px.hessian(pnp.sin)(0.5).weak_type
    assert not px.jacfwd(lambda x: x * pnp.ones(2))(0.5).weak_type
    assert not px.jacfwd(pnp.sin)(np.float32(0.5)).weak_type


@pytest.mark.parametrize("transform", [px.jacfwd, px.jacrev])
def test_the_jacobian_of_the_identity_is_an_array(transform):
    assert isinstance(transform(lambda x: x)(pnp.asarray(X)), px.Array)
