"""Batch rules: their arguments, and what is asked of their results."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import pytest
from pair_type import Pair

import primax as px
import primax.numpy as pnp
from primax.extend import core
from primax.extend.interpreters import ad, batching

X = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)


def test_an_output_that_is_not_batched_stays_so_inside_and_is_broadcast_at_the_end():
    seen = []

    def f(x):
        y = pnp.float32(2.0) * 3.0
        seen.append(isinstance(y, core.Tracer))
        return y

    assert px.vmap(f)(np.ones(4, np.float32)).tolist() == [6.0] * 4
    assert seen == [False]
    assert float(px.vmap(f, out_axes=None)(np.ones(4, np.float32))) == 6.0


@pytest.mark.parametrize("source, destination", [(0, -1), (1, -1), (-1, 0), (-2, -3), (2, 2), (-1, 2)])
def test_positions_of_axes_may_be_negative(source, destination):
    want = np.moveaxis(X, source, destination)
    np.testing.assert_array_equal(batching.moveaxis(X, source, destination), want)
    moved = batching.moveaxis(Pair(X, X), source, destination)
    np.testing.assert_array_equal(moved.b, want)
    assert core.get_aval(moved).shape == want.shape


@pytest.mark.parametrize("dim", [5, -1, "0", 1, False, 0.0])
def test_a_wrong_batch_dim_is_refused_by_name(dim):
    p = core.Primitive("badly_batched")
    p.def_impl(lambda x: x)
    p.def_abstract_eval(lambda x: x)
    batching.primitive_batchers[p] = lambda args, dims: (p.bind(*args), dim)
    with pytest.raises(px.errors.RuleError, match=r"the batch rule of badly_batched returned dim"):
        px.vmap(p.bind)(np.ones((2, 3), np.float32))


@pytest.mark.parametrize("dim", [np.int64(0), IntEnum("Dim", {"FIRST": 0}).FIRST])
def test_a_rule_may_answer_with_a_dim_that_is_another_integer(dim):
    p = core.Primitive("batched_by_numpy")
    p.def_impl(lambda x: x)
    p.def_abstract_eval(lambda x: x)
    batching.primitive_batchers[p] = lambda args, dims: (p.bind(*args), dim)
    np.testing.assert_array_equal(px.vmap(px.vmap(p.bind))(X), X)


def test_an_axis_aware_rule_gets_the_axis():
    seen = []
    p = core.Primitive("axis_aware")
    p.def_impl(lambda x: x)
    p.def_abstract_eval(lambda x: x)

    def rule(axis, args, dims):
        seen.append((axis.name, axis.size, tuple(dims)))
        return p.bind(*args), dims[0]

    batching.fancy_primitive_batchers[p] = rule
    px.vmap(p.bind, axis_name="i")(np.ones((2, 3), np.float32))
    assert seen == [("i", 2, (0,))]


class Holder:
    """An object that stands for an array, perhaps a tracer."""

    def __init__(self, value):
        self.value = value

    def __jax_array__(self):
        return self.value


def test_objects_that_stand_for_tracers_are_mapped_and_differentiated():
    def f(x):
        return pnp.mean(Holder(x)) + pnp.dot(Holder(x), x)

    x = np.float32([[1, 2, 3], [4, 5, 6]])
    np.testing.assert_allclose(px.vmap(f)(x), x.mean(1) + (x * x).sum(1), rtol=1e-6)
    np.testing.assert_allclose(px.grad(f)(x[0]), 1 / 3 + 2 * x[0], rtol=1e-6)
    np.testing.assert_allclose(px.vmap(px.grad(f))(x), 1 / 3 + 2 * x, rtol=1e-6)
    np.testing.assert_allclose(px.jit(px.grad(f))(x[0]), 1 / 3 + 2 * x[0], rtol=1e-6)


def test_rules_are_given_tuples():
    """Such as rules written for JAX compare, and put into parameters."""
    p = core.Primitive("given_tuples")
    seen = []

    def batch(args, dims):
        seen.append((type(args), dims))
        return p.bind(*args), dims[0]

    def jvp(primals, tangents):
        seen.append((type(primals), type(tangents)))
        return p.bind(*primals), tangents[0]

    p.def_impl(lambda x, y: x)
    p.def_abstract_eval(lambda x, y: x)
    ad.primitive_jvps[p] = jvp
    batching.primitive_batchers[p] = batch
    px.vmap(lambda x: px.jvp(lambda x: p.bind(x, 2.0), (x,), (x,))[1])(X)
    assert seen == [(tuple, tuple), (tuple, (0, None))]
