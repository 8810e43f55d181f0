"""Registering rules and the like: what is entered, what is refused, and that all of it can be undone."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import primax as px
from primax.core import array_protocol, avals, effects, operand, rules
from primax.core.avals import AbstractValue
from primax.core.derivation import DerivedRule
from primax.core.effects import Effect
from primax.core.errors import MissingRuleError, PluginError
from primax.core.primitive import Primitive
from primax.extend.host.registry import Registry, find_primitive
from primax.extend.interpreters import ad
from primax.interpreters.runtime import device_put

# What experimental warnings say is tested elsewhere.
pytestmark = [
    pytest.mark.filterwarnings("ignore::primax.errors.ExperimentalWarning"),
    pytest.mark.usefixtures("in_32_bits"),
]


def _state() -> list[Any]:
    """All that a registry can change, copied."""
    tables = rules.rule_tables.values()
    return [
        [(dict(t.functions), dict(t.provenance), dict(t.unsupported)) for t in tables],
        dict(operand._implementations),
        dict(array_protocol.protocols),
        dict(effects.effect_kinds),
        dict(avals.aval_handlers),
    ]


@pytest.fixture(autouse=True)
def _nothing_remains(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(rules, "loader", rules.NoPlugins())
    before = _state()
    yield
    assert _state() == before


@pytest.fixture
def shared() -> Any:
    """What the registries of one host share."""
    return {}, {}


@pytest.fixture
def make(shared: Any) -> Iterator[Any]:
    made: list[Registry] = []

    def make(plugin: str) -> Registry:
        made.append(Registry(plugin, *shared))
        return made[-1]

    yield make
    for registry in reversed(made):
        registry.roll_back()
    assert shared == ({}, {})


def _one(x: Any) -> Any:
    return x + 1


def _two(x: Any) -> Any:
    return x + 2


class Ghost(AbstractValue):
    """A type that only these tests know."""


class Spell(Effect):
    """An effect that only these tests know."""


PROTOCOL = dict.fromkeys(("zeros", "add", "broadcast", "moveaxis", "convert", "index", "stack"), _one)


def test_define_enters_the_primitive_and_its_rules_with_their_provenance(make: Any, shared: Any) -> None:
    p = Primitive("p")
    registry = make("alpha")
    registry.define(p, impl=_one, jvp=None)
    assert shared[0] == {"p": p}
    assert p.plugin == "alpha"
    assert rules.impl_rules[p] is _one
    assert p not in rules.jvp_rules
    found = rules.impl_rules.provenance[p]
    assert (found.plugin, found.file, found.line) == ("alpha", __file__, _one.__code__.co_firstlineno)
    assert [(entry.what, entry.name, entry.kind) for entry in registry.entries] == [
        ("primitive", "p", ""),
        ("rule", "p", "impl"),
    ]


def test_a_lowering_may_be_given_for_each_platform(make: Any) -> None:
    p = Primitive("p")
    registry = make("alpha")
    registry.define(p, lowering={None: _one, "cuda": _two, "rocm": None})
    assert rules.lowering_rules[p] is _one
    assert rules.lowering_rules[p, "cuda"] is _two
    assert (p, "rocm") not in rules.lowering_rules
    assert [entry.kind for entry in registry.entries if entry.what == "rule"] == [
        "lowering",
        "lowering[cuda]",
    ]


def test_an_unknown_kind_of_rule_is_refused_with_the_nearest_and_all_known_ones(make: Any) -> None:
    with pytest.raises(TypeError, match=r"define\(p\).*impl, .*transpose.*got 'tranpose'; did you mean 'transpose'\?"):
        make("alpha").define(Primitive("p"), tranpose=_one)
    with pytest.raises(TypeError, match="got 'batching'; did you mean"):
        make("alpha").define(Primitive("p"), unsupported={"batching": "no reason"})


@pytest.mark.parametrize("given", [{"jvp": 3}, {"lowering": {"cuda": 3}}])
def test_a_rule_that_is_not_callable_is_refused_by_primitive_and_kind(make: Any, given: Any) -> None:
    p = Primitive("p")
    with pytest.raises(TypeError, match=rf"define\(p\): the {next(iter(given))} rule.* must be a function .* got 3"):
        make("alpha").define(p, impl=_one, **given)
    assert p.plugin is None


def test_a_platform_that_is_no_string_is_refused(make: Any) -> None:
    with pytest.raises(TypeError, match="platforms of lowerings must be strings or None, got 7"):
        make("alpha").define(Primitive("p"), lowering={7: _one})


def test_what_is_not_a_primitive_is_refused(make: Any) -> None:
    with pytest.raises(TypeError, match="primitive must be a Primitive, got 'sin'"):
        make("alpha").define("sin", impl=_one)


def test_a_kind_both_given_and_declared_unsupported_is_refused(make: Any) -> None:
    with pytest.raises(TypeError, match="jvp is given and declared unsupported"):
        make("alpha").define(Primitive("p"), jvp=_one, unsupported={"jvp": "it jumps"})


def test_the_reason_why_a_kind_is_unsupported_reaches_the_user(make: Any) -> None:
    p = Primitive("p")
    make("alpha").define(p, impl=_one, unsupported={"jvp": "it jumps"})
    for error in (NotImplementedError, ValueError):
        with pytest.raises(error, match=r"p \(alpha\) does not support jvp: it jumps"):
            rules.jvp_rules.find(p)
    with pytest.raises(NotImplementedError) as caught:
        rules.batch_rules.find(p)
    assert not isinstance(caught.value, ValueError)


def test_two_plugins_may_have_primitives_of_one_name_which_are_told_apart(make: Any) -> None:
    first, second, third = Primitive("p"), Primitive("p"), Primitive("p")
    alpha, beta = make("alpha"), make("beta")
    alpha.define(first, impl=_one)
    assert str(first) == "p"
    beta.define(second, impl=_two, jvp=_two)
    assert (str(first), str(second)) == ("alpha::p", "beta::p")
    assert [(entry.what, entry.name) for entry in beta.entries] == [("primitive", "beta::p")] + [
        ("rule", "beta::p")
    ] * 2
    make("gamma").define(third, impl=_one)
    assert str(third) == "gamma::p"
    beta.define(second, batch=_two)  # further rules of the same one
    with pytest.raises(MissingRuleError, match=r"no lowering rule for primitive 'p' \(from beta\)"):
        rules.lowering_rules.find(second)
    beta.roll_back()
    assert (str(first), str(second), second.plugin) == ("p", "p", None)


def test_names_of_primax_stay_short(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("primax.extend.host.registry.built_in", {"house.made_up"})
    own, other = Primitive("p"), Primitive("p")
    own.module = "house.made_up"
    make("family").define(own, impl=_one)
    make("beta").define(other, impl=_two)
    assert (str(own), str(other)) == ("p", "beta::p")


def test_a_plugin_may_not_define_two_primitives_of_one_name(make: Any) -> None:
    make("alpha").define(Primitive("p"), impl=_one)
    beta = make("beta")
    beta.define(Primitive("p"), impl=_one)
    beta.define(Primitive("q"), impl=_one)
    for name in ("p", "q"):
        with pytest.raises(PluginError, match=f"plugin 'beta' may not define two primitives '{name}'"):
            beta.define(Primitive(name), impl=_two)


def test_primitives_are_found_by_short_and_full_names(make: Any, shared: Any) -> None:
    known: dict[str, Primitive] = shared[0]
    first, second, third = Primitive("p"), Primitive("p"), Primitive("q")
    make("alpha").define(first, impl=_one)
    assert find_primitive(known, "p") is find_primitive(known, "alpha::p") is first
    make("beta").define(second, impl=_two)
    make("beta").define(third, impl=_two)
    assert find_primitive(known, "alpha::p") is first
    assert find_primitive(known, "beta::p") is second
    assert find_primitive(known, "q") is find_primitive(known, "beta::q") is third
    assert find_primitive(known, "gamma::p") is None
    with pytest.raises(PluginError, match="primitive 'p' is ambiguous: use one of alpha::p, beta::p"):
        find_primitive(known, "p")


def test_a_plugin_may_give_a_rule_that_the_primitive_of_another_lacks(make: Any) -> None:
    p = Primitive("p")
    make("alpha").define(p, impl=_one)
    make("beta").define(p, jvp=_two)
    assert p.plugin == "alpha"
    assert rules.jvp_rules.provenance[p].plugin == "beta"


def test_a_rule_that_is_there_is_replaced_only_if_asked_and_comes_back(make: Any) -> None:
    p = Primitive("p")
    make("alpha").define(p, impl=_one)
    beta = make("beta")
    with pytest.raises(PluginError, match=r"'beta' may not replace the impl rule of p, given by alpha \(.*override"):
        beta.define(p, impl=_two)
    beta.define(p, impl=_two, override=True)
    assert rules.impl_rules[p] is _two
    assert rules.impl_rules.provenance[p].origin == "overridden"
    beta.roll_back()
    assert rules.impl_rules[p] is _one
    assert rules.impl_rules.provenance[p].plugin == "alpha"


def test_overriding_a_type_rule_forgets_the_types_found_before(make: Any) -> None:
    p = Primitive("p")
    small, large = avals.ShapedArray((), "float32"), avals.ShapedArray((9,), "float32")
    make("alpha").define(p, abstract_eval=lambda x: small)
    assert p.abstract_eval((small,), {})[0] == [small]
    beta = make("beta")
    beta.define(p, abstract_eval=lambda x: large, override=True)
    assert p.abstract_eval((small,), {})[0] == [large]
    beta.roll_back()
    assert p.abstract_eval((small,), {})[0] == [small]


def test_a_rule_of_a_factory_is_placed_where_it_was_asked_for(make: Any) -> None:
    p = Primitive("p")
    make("alpha").define(p, jvp=ad.zero_jvp(p))
    found = rules.jvp_rules.provenance[p]
    assert found.file == __file__
    assert found.line > test_a_rule_of_a_factory_is_placed_where_it_was_asked_for.__code__.co_firstlineno


def test_a_rule_that_was_derived_is_marked_so(make: Any) -> None:
    p = Primitive("p")
    make("alpha").define(p, impl=DerivedRule(partial(_one), "lowering"))
    assert str(rules.impl_rules.provenance[p]).startswith("derived from lowering by alpha (")


def test_operators_are_carried_out_and_then_put_back(make: Any) -> None:
    before, shown = dict(operand._implementations).get("ptp"), inspect.signature(operand.Operand.ptp)
    alpha = make("alpha")
    alpha.operators(override=True, ptp=_one)
    with pytest.raises(PluginError, match="'beta' may not replace the operator 'ptp', given by alpha"):
        make("beta").operators(ptp=_two)
    beta = make("gamma")
    beta.operators(ptp=_two, override=True)
    assert dict(operand._implementations)["ptp"] is _two
    assert inspect.signature(operand.Operand.ptp) == inspect.signature(_two)
    beta.roll_back()
    assert dict(operand._implementations)["ptp"] is _one
    alpha.roll_back()
    assert dict(operand._implementations).get("ptp") is before
    assert inspect.signature(operand.Operand.ptp) == shown


def test_programs_made_with_an_operator_are_made_again_when_it_is_replaced_and_when_it_is_back(make: Any) -> None:
    make("alpha").operators(override=True, ptp=lambda x: 1.0)
    spread = px.jit(lambda x: x.ptp())
    x = device_put.put_value(np.zeros(3, np.float32))
    assert [float(spread(x)) for _ in range(2)] == [1.0, 1.0]
    beta = make("beta")
    beta.operators(override=True, ptp=lambda x: 2.0)
    assert [float(spread(x)) for _ in range(2)] == [2.0, 2.0]
    beta.roll_back()
    assert [float(spread(x)) for _ in range(2)] == [1.0, 1.0]


def test_an_operator_that_arrays_do_not_have_is_refused(make: Any) -> None:
    with pytest.raises(TypeError, match="got 'matmull'; did you mean 'matmul'"):
        make("alpha").operators(matmull=_one)
    with pytest.raises(TypeError, match="ptp must be a function, got 3"):
        make("alpha").operators(ptp=3)


def test_an_array_protocol_is_supplied_once(make: Any) -> None:
    make("alpha").array_protocol(Ghost, **PROTOCOL)
    assert array_protocol.protocols[Ghost].zeros is _one
    with pytest.raises(PluginError, match="'beta' may not replace the protocol 'Ghost', given by alpha"):
        make("beta").array_protocol(Ghost, **PROTOCOL)
    make("beta").array_protocol(Ghost, override=True, **{**PROTOCOL, "zeros": _two})
    assert array_protocol.protocols[Ghost].zeros is _two


def test_an_array_protocol_must_be_complete_and_nothing_else(make: Any) -> None:
    some = {name: function for name, function in PROTOCOL.items() if name != "add"}
    with pytest.raises(TypeError, match=r"array_protocol\(Ghost\): add must be given"):
        make("alpha").array_protocol(Ghost, **some)
    with pytest.raises(TypeError, match="got 'zeroes'; did you mean 'zeros'"):
        make("alpha").array_protocol(Ghost, zeroes=_one, **PROTOCOL)
    with pytest.raises(TypeError, match="aval_type must be a subclass of AbstractValue, got <class 'int'>"):
        make("alpha").array_protocol(int, **PROTOCOL)


def test_an_effect_is_made_known_once(make: Any) -> None:
    make("alpha").effect(Spell, ordered=True)
    assert effects.kind_of(Spell()).ordered
    with pytest.raises(PluginError, match="'beta' may not replace the effect 'Spell', given by alpha"):
        make("beta").effect(Spell)
    with pytest.raises(TypeError, match="kind must be a subclass of Effect"):
        make("beta").effect(3)


def test_a_python_type_gets_its_aval(make: Any) -> None:
    class Value:
        pass

    ghost = Ghost()
    make("alpha").aval(Value, lambda value: ghost)
    assert avals.get_aval(Value()) is ghost
    with pytest.raises(PluginError, match="'beta' may not replace the aval 'Value', given by alpha"):
        make("beta").aval(Value, lambda value: ghost)
    with pytest.raises(TypeError, match="python_type must be a class, got 3"):
        make("beta").aval(3, lambda value: ghost)
    with pytest.raises(TypeError, match="handler must be a function, got None"):
        make("beta").aval(Value, None, override=True)


def test_rolling_back_undoes_everything_in_reverse(make: Any) -> None:
    before = _state()
    p, q = Primitive("p"), Primitive("q")
    registry = make("alpha")
    registry.define(p, impl=_one, lowering={None: _one, "cuda": _one}, unsupported={"jvp": "it jumps"})
    registry.define(p, impl=_two, override=True)
    registry.define(q, impl=_one)
    registry.operators(override=True, ptp=_one)
    registry.array_protocol(Ghost, **PROTOCOL)
    registry.effect(Spell)
    registry.aval(Ghost, lambda value: value)
    registry.roll_back()
    assert _state() == before
    assert (p.plugin, q.plugin) == (None, None)


def test_rolling_back_tells_those_who_cache_rules(make: Any) -> None:
    registry = make("alpha")
    registry.define(Primitive("p"), impl=_one)
    epoch = rules.epoch.value
    registry.roll_back()
    assert rules.epoch.value > epoch


def test_a_registry_cannot_be_used_after_its_time(make: Any) -> None:
    registry = make("alpha")
    registry.roll_back()
    for use in (
        lambda: registry.define(Primitive("p"), impl=_one),
        lambda: registry.operators(ptp=_one),
        lambda: registry.array_protocol(Ghost, **PROTOCOL),
        lambda: registry.effect(Spell),
        lambda: registry.aval(Ghost, _one),
    ):
        with pytest.raises(PluginError, match="must be used before its primax_register returns"):
            use()
