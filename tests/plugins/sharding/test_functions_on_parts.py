"""Branches that devices choose differently and rules of users on parts, which both use what all devices have."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.sharding import Mesh

pytestmark = pytest.mark.any_word_size

P = px.P
X = np.sin(np.arange(64, dtype=np.float32) ** 2).reshape(8, 8)
W = np.cos(np.arange(64, dtype=np.float32) * 1.3).reshape(8, 8)


@pytest.fixture
def mesh() -> Mesh:
    return px.make_mesh((4, 2), ("a", "b"))


def over_parts(mesh, f):
    """The sum of what a function of a part and of what all have gives on each device along `a`."""
    return px.shard_map(lambda v, w: lax.psum(f(v, w).sum(), "a"), mesh=mesh, in_specs=(P("a"), P()), out_specs=P())


def one_by_one(f):
    return lambda x, w: sum(f(part, w).sum() for part in np.split(x, 4))


def _other(v, w):
    return pnp.sin(v @ w) * 2


BRANCHES = {
    "a product": lambda v, w: v @ w,
    "a call": lambda v, w: v @ px.jit(lambda w: w * 2)(w),
    "a custom derivative": lambda v, w: v @ px.nn.relu(w),
    "a checkpoint": lambda v, w: v @ px.checkpoint(pnp.sin)(w),
    "a loop": lambda v, w: lax.scan(lambda c, _: (pnp.tanh(c @ w), None), v, None, length=2)[0],
    "a loop that begins with it": lambda v, w: v @ lax.scan(lambda c, _: (c * w, None), w, None, length=2)[0],
    "a loop over it": lambda v, w: v * lax.scan(lambda c, row: (c + row, row), pnp.zeros(8, np.float32), w)[0],
    "branches": lambda v, w: lax.cond(w[0, 0] > 0, lambda v, w: v @ w, _other, v, w),
    "branches that devices choose": lambda v, w: lax.cond(v[0, 0] > 0, lambda v, w: v @ w, _other, v, w),
    "nothing of the part": lambda v, w: w[:2] * 1.0,
    "a bounded loop": lambda v, w: lax.fori_loop(0, 2, lambda i, c: pnp.tanh(c @ w), v),
}


@pytest.mark.parametrize("kind", BRANCHES)
def test_branches_that_devices_choose_differently_are_differentiated(mesh, kind):
    branch = BRANCHES[kind]

    def operand(v, w):
        return lax.cond(v.sum() > 0, branch, _other, v, w)

    def closed_over(v, w):
        return lax.cond(v.sum() > 0, lambda v: branch(v, w), lambda v: _other(v, w), v)

    assert {bool(part.sum() > 0) for part in np.split(X, 4)} == {False, True}
    wanted = px.jit(px.grad(one_by_one(operand), (0, 1)))(X, W)
    for f in (operand, closed_over):
        gradient = px.jit(px.grad(over_parts(mesh, f), (0, 1)))
        for found, expected in zip(gradient(X, W), wanted, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
        # The sum of the result has a constant as its derivative; that of what all have is one sum, outside of the
        # branches.
        only = px.jit(px.grad(over_parts(mesh, f), 1)).lower(X, W).as_text()
        assert only.count("stablehlo.all_reduce") == 1


def test_second_derivatives_of_such_branches_are_those_of_the_parts(mesh):
    def f(v, w):
        return lax.cond(v.sum() > 0, lambda v: pnp.tanh(v @ w), lambda v: _other(v, w), v)

    def second(g):
        return px.jit(px.grad(lambda w: (px.grad(g, 1)(X, w) ** 2).sum()))(W)

    np.testing.assert_allclose(second(over_parts(mesh, f)), second(one_by_one(f)), rtol=1e-3, atol=1e-3)


def _product(backward):
    f = px.custom_vjp(lambda v, w: v * w)
    f.defvjp(lambda v, w: (v * w, (v, w)), backward)
    return f


RULES = {
    "that sums itself": lambda r, g: (g * r[1], lax.psum((g * r[0]).sum(), "a")),
    "that leaves the sum": lambda r, g: (g * r[1], (g * r[0]).sum()),
}
USES = {
    "alone": lambda f, v, w: f(v, w),
    "in a call": lambda f, v, w: px.jit(f)(v, w),
    "in a loop": lambda f, v, w: lax.scan(lambda c, _: (f(c, w), None), v, None, length=3)[0],
    "in a checkpoint": lambda f, v, w: px.checkpoint(f)(v, w),
    "mapped": lambda f, v, w: px.vmap(f, (0, None))(v, w),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("rule", RULES)
def test_a_backward_rule_gets_what_all_have_as_such(mesh, rule, use):
    f = _product(RULES[rule])
    found = px.grad(over_parts(mesh, lambda v, w: USES[use](f, v, w)), 1)(X, np.float32(1.5))
    expected = px.grad(one_by_one(lambda v, w: USES[use](lambda v, w: v * w, v, w)), 1)(X, np.float32(1.5))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


IMPLICIT = {
    "linear, of a call": lambda v, w: lax.custom_linear_solve(
        px.jit(lambda u: u * w), v, lambda mv, b: b / w, symmetric=True
    ),
    "linear": lambda v, w: lax.custom_linear_solve(lambda u: u * w, v, lambda mv, b: b / w, symmetric=True),
    "root": lambda v, w: lax.custom_root(
        lambda u: u - v / w, v, lambda f, u: v / w, lambda g, y: y / g(pnp.ones_like(y))
    ),
}


@pytest.mark.parametrize("kind", IMPLICIT)
def test_solutions_are_differentiated_in_what_all_have(mesh, kind):
    found = px.grad(over_parts(mesh, IMPLICIT[kind]), (0, 1))(X, np.float32(1.5))
    expected = px.grad(one_by_one(lambda v, w: v / w), (0, 1))(X, np.float32(1.5))
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-5)


def test_a_tangent_that_does_not_vary_is_summed_as_one_of_a_result_that_does(mesh):
    f = px.custom_jvp(lambda v, w: v * 0 + w)
    f.defjvp(lambda primals, tangents: (f(*primals), pnp.broadcast_to(tangents[1], primals[0].shape)))
    assert px.grad(over_parts(mesh, f), 1)(X, np.float32(1.5)) == X.size


def test_backward_rules_that_sum_are_those_of_jax(mesh):
    jax = pytest.importorskip("jax")
    if len(jax.devices()) < 8:
        pytest.skip("jax has fewer than eight devices")

    def gradient(p):
        f = p.custom_vjp(lambda v, w: v * w)
        f.defvjp(lambda v, w: (v * w, (v, w)), lambda r, g: (g * r[1], p.lax.psum((g * r[0]).sum(), "a")))
        devices = p.make_mesh((4, 2), ("a", "b"), (p.sharding.AxisType.Auto,) * 2)
        specs = {"in_specs": (p.P("a"), p.P()), "out_specs": p.P()}
        total = p.shard_map(lambda v, w: p.lax.psum(f(v, w).sum(), "a"), mesh=devices, **specs)
        return p.grad(total, 1)(X, np.float32(1.5))

    np.testing.assert_allclose(gradient(px), gradient(jax), rtol=1e-4)
