"""`define_primitive`: one call gives a primitive with its rules, or nothing; a plugin's are the host's."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from distributions import Site

import primax as px
from primax.extend import Definitions, core, define_primitive, derive, hookimpl
from primax.extend.host.contributions import sample_sources
from primax.extend.interpreters import ad, batching, mlir

F32 = core.ShapedArray((), np.float32)
ONE = np.float32(1)


def _state():
    """All that a definition can change, copied."""
    tables = core.rule_tables.values()
    return [(dict(t.functions), dict(t.unsupported)) for t in tables], dict(sample_sources)


def _same(*avals, **params):
    return avals[0]


def _double(x):
    return x * 2


def test_one_call_gives_a_primitive_with_its_rules_samples_and_documentation():
    sample = core.Sample((ONE,))
    p = define_primitive(
        "double",
        impl=_double,
        abstract_eval=_same,
        jvp=lambda xs, ts: (p.bind(*xs), p.bind(*ts)),
        transpose=lambda ct, x: [p.bind(ct)],
        batch=lambda xs, dims: (p.bind(*xs), dims[0]),
        lowering=lambda ctx, x: [mlir.hlo.add(x, x)],
        samples=[sample],
        doc="Twice its argument.",
    )
    assert p.bind(ONE) == 2
    assert px.vmap(px.jit(px.grad(p.bind)))(np.ones(3, np.float32)).tolist() == [2, 2, 2]
    assert inspect.getdoc(p) == "Twice its argument."
    assert sample_sources[p] == [sample]
    assert p.module == __name__
    assert p.plugin is None
    for kind in ("impl", "abstract_eval", "jvp", "transpose", "batch", "lowering"):
        found = core.rule_tables[kind].provenance[p]
        assert (found.origin, found.plugin, found.file) == ("given", __name__, __file__)


def test_a_primitive_without_rules_says_what_it_lacks():
    p = define_primitive("bare")
    with pytest.raises(NotImplementedError, match="no abstract_eval rule for primitive 'bare'"):
        p.bind(ONE)


def test_a_primitive_with_several_results_takes_rules_of_further_kinds():
    def rule(x):
        return [x, x], frozenset()

    p = define_primitive("twin", multiple_results=True, impl=lambda x: [x, -x], effectful_abstract_eval=rule)
    assert p.bind(3) == [3, -3]
    assert [v.aval for v in px.make_jaxpr(p.bind)(ONE).eqns[0].outvars] == [F32, F32]


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("", {}, "define_primitive: name must be a non-empty string, got ''"),
        (3, {}, "define_primitive: name must be a non-empty string, got 3"),
        ("p", {"impl": 3}, r"define_primitive\(p\): the impl rule must be a function .*, got 3"),
        ("p", {"lowring": _double}, "rule kinds must be among .*, got 'lowring'; did you mean 'lowering'"),
        ("p", {"lowering": {"cpu": 3}}, "the lowering rule for platform 'cpu' must be a function"),
        ("p", {"lowering": {3: _double}}, "platforms of lowerings must be strings or None, got 3"),
        ("p", {"unsupported": {"btch": "no"}}, "rule kinds must be among .*, got 'btch'; did you mean 'batch'"),
        ("p", {"unsupported": {"impl": "no"}}, "impl is given and declared unsupported"),
        ("p", {"unsupported": {"batch": ""}}, "the reason why batch is unsupported must be text, got ''"),
        ("p", {"samples": core.Sample((1.0,))}, "samples must be a list or a tuple, got Sample"),
        ("p", {"samples": "where.they:ARE"}, "samples must be a list or a tuple, got 'where.they:ARE'"),
        (
            "p",
            {"samples": ["where.they.are"]},
            "samples must say where they are as 'module:attribute'",
        ),
        ("p", {"samples": [3]}, "samples must be Samples or functions that return some, got 3"),
        ("p", {"doc": 3}, "doc must be text, got 3"),
        ("p", {"registry": "here"}, "registry must be a Registry, Definitions or None, got 'here'"),
        ("p", {"batch": derive.linear}, "batch cannot be derive.linear, which derives only rules of kind jvp"),
        ("p", {"impl": derive.from_lowering}, "impl can be derive.from_lowering only together with the lowering rule"),
        (
            "p",
            {"impl": derive.from_lowering, "lowering": derive.from_impl},
            "impl cannot be derive.from_lowering, since the lowering rule is derived itself",
        ),
        ("p", {"jvp": derive.by(lambda p: 3)}, "the factory of jvp=derive.by.* must return a rule, got 3"),
    ],
)
def test_nothing_is_entered_if_anything_is_wrong(name, arguments, message):
    definitions = Definitions()
    for registry in (None, definitions, core.Registry("wrong", {})):
        before = _state()
        with pytest.raises(TypeError, match=message):
            define_primitive(name, **{"impl": _double, "jvp": _double, "registry": registry, **arguments})
        assert _state() == before
    definitions.enter(core.Registry("empty", {}))
    assert repr(definitions) == "<Definitions: none>"


@pytest.mark.parametrize(
    ("kind", "use"),
    [
        ("impl", lambda p: p.bind(ONE)),
        ("abstract_eval", lambda p: px.make_jaxpr(p.bind)(ONE)),
        ("lowering", lambda p: px.jit(p.bind)(ONE)),
        ("jvp", lambda p: px.jvp(p.bind, (ONE,), (ONE,))),
        ("jvp", lambda p: px.jit(px.grad(p.bind))(ONE)),
        ("transpose", lambda p: px.linear_transpose(p.bind, ONE)(ONE)),
        ("transpose", lambda p: px.make_jaxpr(px.grad(p.bind))(ONE)),
        ("batch", lambda p: px.vmap(p.bind)(np.ones(2, np.float32))),
        ("batch", lambda p: px.make_jaxpr(px.vmap(px.jit(p.bind)))(np.ones(2, np.float32))),
    ],
)
def test_what_is_unsupported_says_so_with_the_reason_wherever_it_is_used(kind, use):
    rules = {"impl": _double, "abstract_eval": _same, "jvp": derive.linear}
    rules.pop(kind, None)
    p = define_primitive("stubborn", **rules, unsupported={kind: "nobody knows how"})
    with pytest.raises(core.MissingRuleError, match=f"stubborn .* does not support {kind}: nobody knows how"):
        use(p)


def test_lowerings_may_be_for_platforms_that_are_absent():
    def squared(ctx, x):
        return [mlir.hlo.multiply(x, x)]

    everywhere = define_primitive(
        "everywhere",
        impl=_double,
        abstract_eval=_same,
        lowering={"cuda": squared, "tpu": squared, None: derive.from_impl},
    )
    table = core.rule_tables["lowering"]
    assert table.provenance[everywhere].origin == "derived from impl"
    assert table[everywhere, "tpu"] is squared
    assert px.jit(everywhere.bind)(np.float32(3)) == 6
    exported = px.export.export(px.jit(everywhere.bind), platforms=["cpu", "cuda"])(ONE)
    assert "%arg0, %arg0" in exported.mlir_module("cuda")
    assert "%arg0, %arg0" not in exported.mlir_module("cpu")
    nowhere = define_primitive("nowhere", abstract_eval=_same, lowering={"tpu": squared})
    mlir.register_lowering(nowhere, squared, platform="cuda")
    with pytest.raises(
        core.MissingRuleError, match=r"lowerings for \['cuda', 'tpu'\], but the program is built for 'cpu'"
    ):
        nowhere.bind(ONE)


def test_a_registry_enters_it_for_its_plugin_and_can_take_it_back():
    before = _state()
    primitives = {}
    registry = core.Registry("blend", primitives)
    p = define_primitive(
        "blend",
        impl=_double,
        batch=derive.loop,
        samples=[core.Sample((ONE,))],
        unsupported={"jvp": "no"},
        registry=registry,
    )
    assert p.bind(ONE) == 2
    assert p.plugin == "blend"
    assert primitives == {"blend": p}
    found = core.rule_tables["batch"].provenance[p]
    assert (found.plugin, found.origin, found.file) == ("blend", "derived from a loop", __file__)
    assert [(entry.what, entry.kind) for entry in registry.entries] == [
        ("primitive", ""),
        ("rule", "impl"),
        ("rule", "batch"),
        ("unsupported", "jvp"),
        ("samples", ""),
    ]
    other = core.Registry("other", primitives)
    assert str(define_primitive("blend", impl=_double, registry=other)) == "other::blend"
    assert str(p) == "blend::blend"
    other.roll_back()
    registry.roll_back()
    assert _state() == before
    assert p.plugin is None


def test_definitions_wait_for_the_host_and_are_the_plugins():
    before = _state()
    definitions = Definitions()
    line = inspect.currentframe().f_lineno + 1
    p = define_primitive("waiting", impl=_double, batch=derive.loop, registry=definitions)
    q = define_primitive("idle", impl=_double, samples=[core.Sample((ONE,))], registry=definitions)
    assert repr(definitions) == "<Definitions: waiting, idle>"
    assert _state() == before

    @hookimpl
    def primax_register(registry):
        definitions.enter(registry)

    for _ in range(2):  # a plugin may be withdrawn and come back
        registry = core.Registry("patience", {})
        primax_register(registry)
        assert p.bind(ONE) == q.bind(ONE) == 2
        assert p.plugin == "patience"
        found = core.rule_tables["batch"].provenance[p]
        assert (found.plugin, found.file, found.line) == ("patience", __file__, line)
        assert q in sample_sources
        registry.roll_back()
        assert _state() == before


MODULE = """
from primax.extend import Definitions, define_primitive, hookimpl

definitions = Definitions()
{name}_p = define_primitive("{name}", impl=lambda x: x * 2, registry=definitions)

def {name}(x):
    return {name}_p.bind(x)

@hookimpl
def primax_register(registry):
    definitions.enter(registry)
    {afterwards}
"""


def test_the_definitions_of_a_plugin_are_there_only_while_it_is_active(tmp_path):
    site = Site(tmp_path)
    for name, afterwards in (("active", ""), ("blocked", ""), ("failing", "1 / 0")):
        site.plugin(name, MODULE.format(name=name, afterwards=afterwards))
    run = site.run(
        """
        from primax.core.rules import impl_rules
        from active_plugin import active, active_p
        from blocked_plugin import blocked
        from failing_plugin import failing
        print(active(3), active_p.plugin, impl_rules.provenance[active_p].plugin, len(impl_rules))
        print(attempt(blocked, 3).splitlines()[3])
        print(attempt(failing, 3).splitlines()[3])
        """,
        PRIMAX_DISABLE_PLUGINS="blocked",
    )
    assert run.lines[0] == "6 active active 1"
    assert "plugin 'blocked' (blocked 1.0, blocked_plugin) is blocked: PRIMAX_DISABLE_PLUGINS names it" in run.lines[1]
    assert "plugin 'failing' (failing 1.0, failing_plugin) failed" in run.lines[2]
    assert "ZeroDivisionError" in run.lines[2]


def test_definitions_are_entered_through_a_registry_only():
    with pytest.raises(TypeError, match="registry must be what primax_register is given, got None"):
        Definitions().enter(None)


def test_definitions_that_are_refused_leave_nothing_once_the_host_rolls_back():
    before = _state()
    definitions = Definitions()
    define_primitive("fine", impl=_double, registry=definitions)
    define_primitive("taken", impl=_double, registry=definitions)
    define_primitive("taken", impl=_double, registry=definitions)
    registry = core.Registry("late", {})
    with pytest.raises(RuntimeError, match="may not define two primitives 'taken'"):
        definitions.enter(registry)
    registry.roll_back()
    assert _state() == before


def test_factories_of_rules_are_given_the_primitive():
    p = define_primitive(
        "reciprocal",
        impl=lambda x: 1 / x,
        abstract_eval=_same,
        jvp=derive.by(ad.standard_jvp2, lambda t, out, x: -t * out * out),
        batch=derive.by(batching.vectorized),
    )
    assert px.grad(p.bind)(np.float32(2)) == -0.25
    assert px.vmap(p.bind)(np.float32([1, 2])).tolist() == [1, 0.5]
    for kind in ("jvp", "batch"):
        found = core.rule_tables[kind].provenance[p]
        assert (found.origin, found.file) == ("given", __file__)
    with pytest.raises(TypeError, match=r"derive\.by: factory must be a function, got 3"):
        derive.by(3)


def test_a_table_takes_derivations_as_a_registry_does():
    p = core.Primitive("by_tables")
    p.def_impl(_double)
    p.def_abstract_eval(_same)
    assert mlir.register_lowering(p, derive.from_impl) is derive.from_impl
    batching.primitive_batchers[p] = derive.loop
    ad.primitive_jvps[p] = derive.linear
    assert px.jit(px.vmap(lambda x: px.jvp(p.bind, (x,), (x,))[1]))(np.float32([1, 2])).tolist() == [2, 4]
    assert mlir.lowering_rules.provenance[p].origin == "derived from impl"
    assert (
        batching.primitive_batchers.provenance[p].line
        == inspect.getsourcelines(test_a_table_takes_derivations_as_a_registry_does)[1] + 5
    )
    q = core.Primitive("by_registry")
    with pytest.raises(
        TypeError, match=r"lowering rule of by_registry: lowering can be derive.from_impl only together"
    ):
        mlir.register_lowering(q, derive.from_impl)
    registry = core.Registry("tables", {})
    registry.define(q, impl=_double, abstract_eval=derive.from_impl)
    registry.define(q, lowering=derive.from_impl)
    assert px.jit(q.bind)(ONE) == 2
    registry.roll_back()
