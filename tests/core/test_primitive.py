"""Primitives: named, bound through the current trace, typed by their rules."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import primax as px
from primax import lax
from primax.core.cache_keys import params_key
from primax.core.trace import thread, tracing_flag
from primax.extend import core
from primax.extend.interpreters import mlir

X = np.float32(2.0)
F32 = core.ShapedArray((), np.float32)


def test_a_primitive_has_a_name_and_prints_as_it():
    p = core.Primitive("thing")
    assert (p.name, repr(p), str(p), p.multiple_results, p.plugin) == ("thing", "thing", "thing", False, None)
    assert p.module == __name__


@pytest.mark.parametrize("name", ["", None, 3])
def test_a_primitive_needs_a_name(name):
    with pytest.raises(TypeError, match="name must be a non-empty string"):
        core.Primitive(name)


def test_primitives_of_one_name_are_different():
    p, q = core.Primitive("thing"), core.Primitive("thing")
    assert p != q
    assert len({p, q}) == 2


def test_attributes_may_be_set_as_in_jax():
    p = core.Primitive("thing")
    p.multiple_results = True
    p.call_primitive = True
    p.def_impl(lambda x: [x, x])
    assert p.bind(X) == [X, X]


def test_bind_takes_arrays_by_position_and_parameters_by_name():
    p = core.Primitive("scale")
    seen = []
    p.def_impl(lambda x, y, *, factor, how: seen.append((x, y, factor, how)) or x)
    p.bind(X, 3, factor=2, how="fast")
    assert seen == [(X, 3, 2, "fast")]


def test_bind_with_trace_goes_to_that_trace():
    p = core.Primitive("thing")
    p.def_impl(lambda x: x + 1)
    p.def_abstract_eval(lambda x: x)
    seen = []

    def f(x):
        seen.append(p.bind_with_trace(core.eval_trace, (X,), {}))
        seen.append(p.bind_with_trace(core.eval_trace, (X,), (core.get_aval(X),), {}))
        return x

    px.make_jaxpr(f)(X)
    assert seen == [3.0, 3.0]


@pytest.mark.parametrize(
    "transform",
    [lambda f: px.jvp(f, (X,), (X,)), lambda f: px.vmap(f)(np.ones(2, np.float32)), lambda f: px.make_jaxpr(f)(X)],
)
def test_bind_with_trace_outside_of_the_trace_leaves_the_thread_as_it_was(transform):
    flags = []

    def f(x):
        with core.set_current_trace(core.eval_trace):
            y = lax.neg_p.bind_with_trace(x._trace, (x,), {})
            flags.append((tracing_flag.value, thread.trace))
        return y

    transform(f)
    assert flags == [(False, core.eval_trace)]
    assert not tracing_flag.value


def test_def_impl_and_its_kin_are_decorators():
    p = core.Primitive("thing")

    @p.def_impl
    def impl(x):
        return x

    @p.def_abstract_eval
    def abstract_eval(x):
        return x

    @p.def_effectful_abstract_eval
    def effectful(x):
        return x, set()

    assert all(map(callable, (impl, abstract_eval, effectful)))


def test_a_subclass_may_give_rules_as_methods_and_say_that_results_are_several():
    class Ends(core.Primitive):
        multiple_results = True

        def impl(self, x, *, weight):
            return [x[0] * weight, x[-1] * weight]

        def abstract_eval(self, x, *, weight):
            return [core.ShapedArray(x.shape[1:], x.dtype)] * 2, core.no_effects

    ends_p = Ends("ends")
    assert ends_p.multiple_results
    x = np.arange(3.0, dtype=np.float32)
    assert [float(y) for y in ends_p.bind(x, weight=2.0)] == [0.0, 4.0]
    assert [str(aval) for aval in px.make_jaxpr(lambda x: ends_p.bind(x, weight=2.0))(x).out_avals] == ["float32[]"] * 2
    outs, effects = ends_p.abstract_eval(core.get_aval(x), weight=2.0)
    assert (len(outs), effects) == (2, core.no_effects)
    assert Ends("one", multiple_results=False).multiple_results is False


def test_without_an_impl_the_lowering_computes():
    p = core.Primitive("negated")
    p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(p, mlir.nary("stablehlo.negate"))
    out = p.bind(X)
    assert isinstance(out, px.Array)
    assert float(out) == -2.0
    assert p.bind(np.arange(3.0, dtype=np.float32)).tolist() == [0.0, -1.0, -2.0]


def test_without_rules_every_use_says_which_one_is_missing():
    p = core.Primitive("bare")
    for run in (lambda: p.bind(X), lambda: px.jit(p.bind)(X), lambda: px.make_jaxpr(p.bind)(X)):
        with pytest.raises(px.errors.MissingRuleError, match="no abstract_eval rule for primitive 'bare'"):
            run()


@pytest.mark.parametrize("returned", [None, 3.0, [F32], (F32, F32), np.float32])
def test_an_abstract_eval_must_return_an_aval(returned):
    p = core.Primitive("mistyped")
    p.def_abstract_eval(lambda x: returned)
    with pytest.raises(px.errors.RuleError, match="the abstract_eval rule of mistyped must return"):
        px.make_jaxpr(p.bind)(X)


@pytest.mark.parametrize("returned", [None, F32, 3])
def test_with_multiple_results_it_must_return_a_list(returned):
    p = core.Primitive("mistyped", multiple_results=True)
    p.def_abstract_eval(lambda x: returned)
    with pytest.raises(px.errors.RuleError, match="must return a list of avals, since multiple_results"):
        px.make_jaxpr(p.bind)(X)


@pytest.mark.parametrize("returned", [None, F32, (F32,), [F32, set()]])
def test_an_effectful_abstract_eval_must_return_avals_and_effects(returned):
    p = core.Primitive("mistyped")
    p.def_effectful_abstract_eval(lambda x: returned)
    with pytest.raises(px.errors.RuleError, match=r"must return \(avals, effects\)"):
        px.make_jaxpr(p.bind)(X)


def test_types_are_worked_out_once_for_each_signature():
    calls = []
    p = core.Primitive("counted")
    p.def_abstract_eval(lambda x, *, n: calls.append((x, n)) or x)
    for _ in range(3):
        px.make_jaxpr(lambda x: p.bind(p.bind(x, n=1), n=2))(X)
    assert calls == [(F32, 1), (F32, 2)]


def test_parameters_that_cannot_be_hashed_are_refused():
    p = core.Primitive("unhashable")
    p.def_abstract_eval(lambda x, *, table: x)
    mlir.register_lowering(p, lambda ctx, x, *, table: [x])
    for bind in (p.bind, lambda x, table: px.jit(lambda x: p.bind(x, table=table))(x)):
        with pytest.raises(TypeError, match=r"unhashable: parameter table must be hashable, got \{'k': 3\}"):
            bind(X, table={"k": 3})


def test_caches_tell_parameters_apart_that_are_equal_but_not_the_same():
    assert len({params_key({"n": n}) for n in (1, True, 1.0, 1 + 0j)}) == 4
    assert params_key({"x": 0.0}) != params_key({"x": -0.0})
    assert params_key({"x": 0j}) != params_key({"x": complex(-0.0, 0.0)})
    assert params_key({"n": 1}) == params_key({"n": 1})


@pytest.mark.parametrize("values", [(0.0, -0.0), (1, True, 1.0)])
@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: (v,), lambda v: ((v,), "name")])
def test_programs_tell_them_apart_also_inside_tuples(values, wrap):
    p = core.Primitive("constant")
    p.def_abstract_eval(lambda *, value: F32)

    def innermost(value):
        while isinstance(value, tuple):
            value = value[0]
        return value

    def marked(value):
        value = innermost(value)
        return {bool: 10.0, int: 20.0, float: 30.0}[type(value)] + (np.signbit(value) * 5.0)

    mlir.register_lowering(p, lambda ctx, *, value: [mlir.ir_constant(np.float32(marked(value)))])
    for value in values:
        assert float(p.bind(value=wrap(value))) == marked(value)
        assert float(px.jit(lambda value=value: p.bind(value=wrap(value)))()) == marked(value)


def test_a_cached_type_keeps_no_program_alive():
    held = [px.make_jaxpr(lambda x: lax.sin(x))(X)]
    reference = weakref.ref(held[0])
    p = core.Primitive("holder")
    p.def_abstract_eval(lambda x, *, jaxpr, table: jaxpr.out_avals[0])
    px.make_jaxpr(lambda x: p.bind(x, jaxpr=held[0], table=((held[0],),)))(X)
    held.clear()
    gc.collect()
    assert reference() is None


def test_get_bind_params_returns_what_bind_takes():
    eqn = px.make_jaxpr(lambda x: lax.integer_pow(x, 3))(X).eqns[0]
    params = eqn.primitive.get_bind_params(eqn.params)
    assert float(eqn.primitive.bind(X, **params)) == 8.0


def test_impl_computes_regardless_of_the_trace_and_accepts_tracers():
    mine = core.Primitive("mine")
    mine.def_impl(lambda x: lax.sin(x))
    assert float(px.jit(mine.impl)(0.5)) == pytest.approx(np.sin(0.5))
    assert [eqn.primitive for eqn in px.make_jaxpr(mine.impl)(X).eqns] == [lax.sin_p]
    assert [eqn.primitive for eqn in px.make_jaxpr(lax.sin_p.impl)(X).eqns] == [lax.sin_p]
    assert px.make_jaxpr(lambda x: x + mine.impl(np.float32(0.5)))(X).eqns[0].primitive is lax.add_p
    assert float(px.grad(lax.sin_p.impl)(0.5)) == pytest.approx(np.cos(0.5))


def test_any_mixture_of_values_may_be_bound():
    for x in (2.0, 2, np.float32(2), np.array(2.0), px.numpy.float32(2.0)):
        assert float(lax.exp(lax.convert_element_type(x, np.float32))) == pytest.approx(np.exp(2.0), rel=1e-6)
    with pytest.raises(TypeError, match="not a valid primax type"):
        lax.sin_p.bind("text") if hasattr(lax, "sin_p") else lax.sin("text")


def test_a_rule_may_call_the_impl_that_it_replaces_which_restores_it():
    calls = []
    before = lax.sin_p.impl
    try:
        lax.sin_p.def_impl(lambda x, **params: calls.append(x) or before(x, **params))
        assert float(lax.sin(0.5)) == float(lax.sin(0.5)) == pytest.approx(np.sin(0.5))
        assert len(calls) == 2
    finally:
        lax.sin_p.def_impl(before)
    assert float(lax.sin(0.5)) == pytest.approx(np.sin(0.5))
    assert len(calls) == 2

    mine_p = core.Primitive("counted_by_a_rule")
    mine_p.def_abstract_eval(lambda x: x)
    mine_p.def_impl(lambda x: np.asarray(x) + np.float32(1))
    before = mine_p.impl
    mine_p.def_impl(lambda x: 2 * before(x))
    assert mine_p.bind(np.float32(1)) == mine_p.impl(np.float32(1)) == 4
    mine_p.def_impl(before)
    assert mine_p.bind(1.0) == 2
