"""Transposition of linear functions, and what is asked of transpose rules."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from heap import freeze_heap

import primax as px
from primax import lax
from primax.extend import core
from primax.extend.interpreters import ad


@pytest.mark.parametrize(
    "derive",
    [
        lambda f, x: px.grad(f)(x),
        lambda f, x: px.vjp(f, x)[1](1.0),
        lambda f, x: px.linearize(f, x)[1](x),
        lambda f, x: px.jacrev(f)(x),
        lambda f, x: px.linear_transpose(lambda y: 2.0 * y, x)(x),
    ],
    ids=["grad", "vjp", "linearize", "jacrev", "linear_transpose"],
)
def test_derivatives_leave_nothing_for_the_garbage_collector(derive):
    def f(x):
        return (lax.sin(x) * x).sum()

    x = px.numpy.ones(3)
    derive(f, x)  # compiles
    freeze_heap()
    gc.disable()
    try:
        derive(f, x)
        assert [each for each in gc.get_objects() if issubclass(type(each), core.Trace | core.Tracer)] == []
    finally:
        gc.enable()


def test_transposes_pass_in_and_out_of_jitted_functions():
    transpose = px.jit(lambda x: px.linear_transpose(lambda y: 2.0 * y, x))(1.0)
    (found,) = px.jit(lambda f, x: f(x))(transpose, 3.0)
    assert float(found) == 6.0


def test_linear_transpose():
    f_t = px.linear_transpose(lambda x, y: (2.0 * x - y, y), np.ones(2, np.float32), np.ones(2, np.float32))
    x, y = f_t((np.array([1.0, 2.0], np.float32), np.array([10.0, 20.0], np.float32)))
    assert x.tolist() == [2.0, 4.0]
    assert y.tolist() == [9.0, 18.0]


def test_linear_transpose_refuses_what_is_not_linear():
    with pytest.raises(px.errors.MissingRuleError, match="no transpose rule for primitive 'sin'"):
        px.linear_transpose(lax.sin, 1.0)(1.0)
    with pytest.raises(TypeError, match="primals must be numbers, got key"):
        px.linear_transpose(lambda x: x, px.random.key(0))


@pytest.mark.parametrize("transposed", ["shape", "count"])
def test_a_wrong_transpose_rule_is_refused_by_name(transposed):
    p = core.Primitive(f"wrongly_{transposed}")
    p.def_impl(lambda x: x)
    p.def_abstract_eval(lambda x: x)
    ad.primitive_jvps[p] = ad.linear_jvp(p)
    returned = {"shape": [np.ones(7, np.float32)], "count": [None, None]}[transposed]
    ad.primitive_transposes[p] = lambda ct, x: returned
    with pytest.raises(px.errors.RuleError, match=f"the transpose rule of wrongly_{transposed}"):
        px.grad(lambda x: p.bind(x).sum())(np.ones(3, np.float32))
