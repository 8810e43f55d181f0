"""Batch rules that are loops over the elements."""

from __future__ import annotations

import itertools
import logging

import numpy as np
import pytest
from derived import FROM_IMPL, Loud, X, Y, assert_same, sums, sums_p

import primax as px
import primax.numpy as pnp
from primax.extend import core, define_primitive, derive


def _each(f, args, dims, out):
    """`vmap` by hand, in NumPy."""
    size = next(x.shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
    rows = [f(*(x if d is None else np.take(x, i, d) for x, d in zip(args, dims, strict=True))) for i in range(size)]
    return np.stack(rows, out)


def _scan(x, y):
    return np.cumsum(x, -1) * y.sum()


def test_a_loop_maps_any_arguments_over_any_axes():
    p = define_primitive(
        "scanned",
        impl=lambda x, y: pnp.cumsum(x, -1) * y.sum(),
        abstract_eval=FROM_IMPL,
        batch=derive.loop,
        lowering=FROM_IMPL,
    )
    x = np.arange(4, dtype=np.float32).reshape(2, 2)
    y = x + 1
    chosen = [dims for dims in itertools.product([None, 0, 1], repeat=2) if dims != (None, None)]
    found = px.jit(lambda x, y: [px.vmap(p.bind, dims, out)(x, y) for dims in chosen for out in (0, -1)])(x, y)
    want = [_each(_scan, (x, y), dims, out) for dims in chosen for out in (0, -1)]
    assert_same(found, want)


@pytest.mark.parametrize("size", [0, 1])
def test_a_loop_of_no_elements_has_their_type(size):
    x = np.ones((2, size), np.float32)
    first, second = px.vmap(sums_p.bind, (1, None))(x, np.ones(2, np.float32))
    assert first.tolist() == [[2, 4]] * size
    assert second.tolist() == [[2, 2]] * size
    assert first.shape == second.shape == (size, 2)
    assert first.dtype == second.dtype == np.float32


def test_a_loop_keeps_gradients():
    def of(f):
        def total(x, y):
            return px.vmap(f, (0, None))(x, y)[0].sum() + px.vmap(px.vmap(f))(pnp.stack([x]), pnp.stack([x]))[1].sum()

        return px.jit(lambda x, y: (px.grad(total, (0, 1))(x, y), px.vmap(px.grad(lambda x: f(x, x)[0].sum()))(x)))

    x = np.stack([X, Y])
    assert_same(of(sums_p.bind)(x, X), of(sums)(x, X))


def test_a_long_loop_is_one_equation_and_keeps_gradients():
    x, y = np.sin(np.arange(120, dtype=np.float32)).reshape(2, 20, 3)
    mapped = px.vmap(sums_p.bind, (0, 1))
    assert "scan" in [eqn.primitive.name for eqn in px.make_jaxpr(mapped)(x, y.T).eqns]

    def of(f):
        def total(x, y):
            first, second = px.vmap(f, (0, 1))(x, y)
            return (first * first).sum() + (second * y.T).sum()

        return px.jit(lambda x, y: (px.vmap(f, (0, 1), 1)(x, y), px.grad(total, (0, 1))(x, y)))

    assert_same(of(sums_p.bind)(x, y.T), of(sums)(x, y.T))


@pytest.mark.parametrize("rules", [{"impl": np.sort}, {"lowering": lambda ctx, x: [x], "effects": {Loud()}}])
def test_a_long_loop_of_what_no_program_may_hold_is_copies(rules):
    effects = rules.get("effects", frozenset())
    p = define_primitive(
        "outsider",
        effectful_abstract_eval=lambda x: (x, effects),
        batch=derive.loop,
        **{kind: rule for kind, rule in rules.items() if kind != "effects"},
    )
    jaxpr = px.make_jaxpr(px.vmap(p.bind))(np.ones((20, 3), np.float32))
    assert [eqn.primitive for eqn in jaxpr.eqns].count(p) == 20
    assert jaxpr.effects == effects


def test_a_loop_says_that_it_was_used(caplog):
    assert core.rule_tables["batch"].provenance[sums_p].origin == "derived from a loop"
    with caplog.at_level(logging.INFO, logger="primax"):
        px.make_jaxpr(px.vmap(sums_p.bind))(np.ones((5, 3), np.float32), np.ones((5, 3), np.float32))
    assert [record.getMessage() for record in caplog.records if record.name == "primax.extend.derive"] == [
        "vmap binds sums 5 times, because its batch rule is derive.loop"
    ]
