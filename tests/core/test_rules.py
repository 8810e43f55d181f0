"""Rule tables: what is missing is explained, what is replaced takes effect everywhere."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import primax as px
from primax.core import rules
from primax.core.rules import Provenance, RuleTable, rule_tables
from primax.extend import core
from primax.extend.interpreters import ad, batching, mlir

pytestmark = [pytest.mark.any_jaxlib, pytest.mark.any_word_size]

X = np.float32(3.0)


def identity(name="thing"):
    p = core.Primitive(name)
    p.def_impl(lambda x: x)
    p.def_abstract_eval(lambda x: x)
    return p


@pytest.fixture
def table():
    return RuleTable("jvp", "(primals, tangents) -> pair", "Or derive it.")


def a_rule(*args):
    return args


def another_rule(*args):
    return args[::-1]


def test_a_rule_is_entered_with_its_provenance(table):
    p = core.Primitive("thing")
    table.register(p, a_rule, plugin="mine")
    assert table[p] is a_rule
    assert table.provenance[p] == Provenance("mine", __file__, a_rule.__code__.co_firstlineno, "given")
    assert str(table.provenance[p]) == f"given by mine ({__file__}:{a_rule.__code__.co_firstlineno})"


def test_without_a_plugin_the_provenance_is_the_module_of_the_rule(table):
    p = core.Primitive("thing")
    table[p] = a_rule
    assert table.provenance[p].plugin == __name__


def test_a_rule_that_is_there_is_replaced_only_if_asked(table):
    p = core.Primitive("thing")
    table.register(p, a_rule)
    with pytest.raises(px.errors.PluginError, match=r"thing has a jvp rule already, given by .*override=True"):
        table.register(p, another_rule)
    table.register(p, another_rule, override=True)
    assert table[p] is another_rule
    assert table.provenance[p].origin == "overridden"


def test_a_registration_can_be_undone(table):
    p = core.Primitive("thing")
    first = table.register(p, a_rule)
    second = table.register(p, another_rule, override=True)
    table.restore(second)
    assert table[p] is a_rule
    assert table.provenance[p].origin == "given"
    table.restore(first)
    assert p not in table
    assert p not in table.provenance


@pytest.mark.parametrize("rule", [None, 3, "text", [a_rule]])
def test_what_is_not_callable_is_refused(table, rule):
    p = core.Primitive("thing")
    with pytest.raises(TypeError, match=r"jvp rule of thing: expected a function \(primals, tangents\)"):
        table.register(p, rule)


def test_a_table_is_a_mapping(table):
    p, q = core.Primitive("p"), core.Primitive("q")
    table[p] = a_rule
    table.update({q: another_rule})
    assert dict(table) == {p: a_rule, q: another_rule}
    assert len(table) == 2
    assert table.pop(p) is a_rule
    assert list(table) == [q]
    del table[q]
    assert table.get(q) is None
    with pytest.raises(KeyError):
        table[q]
    with pytest.raises(KeyError):
        del table[q]
    assert repr(table) == "<RuleTable jvp: 0 rules>"


def test_what_is_missing_is_explained(table):
    p = identity()
    with pytest.raises(px.errors.MissingRuleError, match="no jvp rule for primitive 'thing'") as error:
        table.find(p)
    text = str(error.value)
    assert "from no plugin" in text
    assert "It has these rules: impl, abstract_eval." in text
    assert "registry.define(thing_p, jvp=rule)" in text
    assert text.endswith("Or derive it.")
    assert table.get_or_load(p) is None


def test_the_reason_for_being_unsupported_is_given(table):
    p = core.Primitive("rounding")
    table.unsupported[p] = "it is piecewise constant"
    with pytest.raises(px.errors.MissingRuleError, match=r"does not support jvp: it is piecewise constant"):
        table.find(p)


def test_there_is_a_table_for_every_kind():
    assert all(table.kind == kind for kind, table in rule_tables.items())
    assert {"impl", "abstract_eval", "jvp", "transpose", "batch", "lowering"} <= rule_tables.keys()


def uses(p):
    """What a user does with a primitive, each with one number as its result."""

    def plain(x):
        return p.bind(x)

    jitted = px.jit(plain)
    inner = px.jit(lambda x: px.jit(plain)(x) * 1.0)
    gradient = px.jit(px.grad(jitted))
    mapped = px.jit(px.vmap(jitted))
    return {
        "eager": lambda: p.bind(X),
        "jit": lambda: jitted(X),
        "jit jit": lambda: inner(X),
        "vmap": lambda: px.vmap(plain)(X[None])[0],
        "jit vmap jit": lambda: mapped(X[None])[0],
        "jvp": lambda: px.jvp(plain, (X,), (X / X,))[1],
        "grad": lambda: px.grad(plain)(X),
        "grad jit": lambda: px.grad(jitted)(X),
        "jit grad jit": lambda: gradient(X),
        "linearize": lambda: px.linearize(jitted, X)[1](X / X),
    }


def scaled(factor):
    return lambda ctx, x: mlir.hlo.MulOp(x, mlir.ir_constant(np.float32(factor))).results


def doubled():
    """A primitive without impl that doubles, with all its rules."""
    p = core.Primitive("doubled")
    p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(p, lambda ctx, x: mlir.hlo.AddOp(x, x).results)
    ad.primitive_jvps[p] = lambda xs, ts: (p.bind(xs[0]), ts[0] * 2.0)
    batching.primitive_batchers[p] = lambda xs, ds: (p.bind(xs[0]), ds[0])
    return p


VALUES = {"eager", "jit", "jit jit", "vmap", "jit vmap jit"}
SLOPES = {"jvp", "grad", "grad jit", "jit grad jit", "linearize"}


def results(ways):
    return {name: float(way()) for name, way in ways.items()}


def test_overriding_a_lowering_takes_effect_wherever_it_was_used():
    p = doubled()
    ways = uses(p)
    assert results(ways) == {name: 6.0 if name in VALUES else 2.0 for name in ways}
    mlir.register_lowering(p, lambda ctx, x: mlir.hlo.MulOp(x, x).results)
    assert results(ways) == {name: 9.0 if name in VALUES else 2.0 for name in ways}
    del mlir.lowering_rules[p]
    for name in VALUES:
        with pytest.raises(px.errors.MissingRuleError, match="no lowering rule for primitive 'doubled'"):
            ways[name]()


def test_a_lowering_for_the_platform_takes_effect_wherever_the_default_was_used():
    p = doubled()
    ways = uses(p)
    results(ways)
    mlir.register_lowering(p, lambda ctx, x: mlir.hlo.MulOp(x, x).results, platform=px.default_backend())
    assert results(ways) == {name: 9.0 if name in VALUES else 2.0 for name in ways}
    del mlir.lowering_rules[p, px.default_backend()]
    assert results(ways) == {name: 6.0 if name in VALUES else 2.0 for name in ways}


def test_overriding_a_jvp_takes_effect_in_every_derivative():
    p = doubled()
    ways = uses(p)
    results(ways)
    ad.primitive_jvps[p] = lambda xs, ts: (p.bind(xs[0]), ts[0] * 5.0)
    assert results(ways) == {name: 6.0 if name in VALUES else 5.0 for name in ways}


def test_overriding_a_batch_rule_takes_effect_wherever_it_was_used():
    p = doubled()
    ways = uses(p)
    results(ways)
    batching.primitive_batchers[p] = lambda xs, ds: (p.bind(xs[0]) * 10.0, ds[0])
    found = results(ways)
    assert found["vmap"] == found["jit vmap jit"] == 60.0
    assert found["jit"] == 6.0


def test_overriding_a_transpose_takes_effect_in_reverse_mode_only():
    p = doubled()
    ad.deflinear(p, lambda ct: [ct * 2.0])
    ways = uses(p)
    results(ways)
    ad.primitive_transposes[p] = lambda ct, x: [ct * 7.0]
    found = results(ways)
    assert found["grad"] == found["grad jit"] == found["jit grad jit"] == 7.0
    assert found["jvp"] == found["linearize"] == 2.0


def test_an_impl_is_used_from_when_it_is_given_until_it_is_taken_back():
    p = doubled()
    ways = uses(p)
    results(ways)
    p.def_impl(lambda x: x * 100.0)
    assert float(ways["eager"]()) == 300.0
    assert float(ways["jit"]()) == 6.0
    del rules.impl_rules[p]
    assert float(ways["eager"]()) == 6.0


@pytest.mark.parametrize("eagerly", [True, False])
def test_overriding_an_abstract_eval_takes_effect_whether_the_primitive_ran_eagerly_or_not(eagerly):
    p = doubled()
    jitted = px.jit(lambda x: p.bind(x))
    if eagerly:
        p.bind(X)
    assert px.eval_shape(p.bind, X).dtype == np.float32
    assert jitted(X).dtype == np.float32
    p.def_abstract_eval(lambda x: core.ShapedArray(x.shape, np.float16))
    mlir.register_lowering(p, lambda ctx, x: mlir.hlo.ConvertOp(mlir.aval_to_ir_type(ctx.avals_out[0]), x).results)
    assert px.eval_shape(p.bind, X).dtype == np.float16
    assert jitted(X).dtype == np.float16
    assert p.bind(X).dtype == np.float16
    assert px.make_jaxpr(p.bind)(X).out_avals[0].dtype == np.float16


def test_a_program_made_before_is_compiled_anew_by_the_rules_there_are_now():
    p = doubled()
    closed = px.make_jaxpr(px.jit(lambda x: p.bind(x)))(X)
    run = core.jaxpr_as_fun(closed)
    assert float(run(X)[0]) == 6.0
    mlir.register_lowering(p, lambda ctx, x: mlir.hlo.MulOp(x, x).results)
    assert float(run(X)[0]) == 9.0
    kept = closed.eqns[0].params["jaxpr"].cache
    rules.epoch.bump()
    assert kept.held() == 0


def test_defining_another_primitive_leaves_compiled_programs_alone():
    traced = []

    @px.jit
    def f(x):
        traced.append(x)
        return x * 2.0

    f(X)
    before = rules.epoch.value
    p = doubled()
    p.bind(X)
    px.jit(p.bind)(X)
    ad.defjvp(q := identity("other"), lambda t, x: t)
    q.bind(X)
    batching.defvectorized(q)
    f(X)
    assert len(traced) == 1
    assert rules.epoch.value == before


def test_a_rule_that_was_missed_in_vain_changes_nothing_that_was_compiled():
    p = core.Primitive("late")
    p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(p, mlir.nary("stablehlo.negate"))
    jitted = px.jit(lambda x: p.bind(x))
    jitted(X)
    with pytest.raises(px.errors.MissingRuleError):
        px.grad(jitted)(X)
    before = rules.epoch.value
    ad.deflinear(p, lambda ct: [-ct])
    assert rules.epoch.value == before
    assert float(px.grad(jitted)(X)) == -1.0


def test_overriding_while_others_compute_ends_with_the_last_rule():
    p = doubled()
    jitted = px.jit(lambda x: p.bind(x) * 1.0)
    stop = threading.Event()
    errors = []

    def work():
        try:
            while not stop.is_set():
                value = float(jitted(X))
                assert value % 3.0 == 0.0
                p.bind(X)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for factor in range(2, 8):
            mlir.register_lowering(p, scaled(factor))
            jitted(X)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert errors == []
    assert float(jitted(X)) == 21.0
    assert float(p.bind(X)) == 21.0
