"""The kit runs the checks of other authors' kinds of rules, and checks what a plugin gives to primitives of others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import primax.numpy as pnp
from primax.core.errors import PluginError
from primax.core.rules import new_rule_table, rule_tables
from primax.extend import core, define_primitive, derive, hookimpl
from primax.extend.core.primitives import cos_p, exp2_p
from primax.extend.host.plugin_host import host
from primax.extend.interpreters import mlir
from primax.extend.testing import Report, Sample, check_plugin, check_primitive, iter_checks

FILE = __file__
FROM_IMPL = derive.from_impl
X = np.array([0.3, 1.2])


def _check_bounds(rule: Any, primitive: Any, args: Any, params: Any) -> None:
    low, high = rule(*[(x - 0.1, x + 0.1) for x in args], **params)
    value = np.asarray(primitive.bind(*args, **params))
    assert np.all((low <= value) & (value <= high)), f"expected bounds of {value}, got {low} and {high}"


@pytest.fixture
def bounds() -> Iterator[Any]:
    yield new_rule_table("bounds", "(*intervals, **params) -> interval", check=_check_bounds)
    del rule_tables["bounds"]


def _plugin(name: str, register: Any) -> Any:
    module = ModuleType(name)
    module.primax_register = hookimpl(register)  # type: ignore[attr-defined]
    host.register_module(module, name=name)
    return name


def right(x: Any, **params: Any) -> Any:
    return np.exp2(x[0]), np.exp2(x[1])


def wrong(x: Any, **params: Any) -> Any:
    return np.exp2(x[1]), np.exp2(x[1])


def test_a_kind_of_another_author_brings_its_check(bounds: Any) -> None:
    rules = {
        "impl": pnp.exp2,
        "abstract_eval": FROM_IMPL,
        "jvp": FROM_IMPL,
        "batch": derive.loop,
        "lowering": FROM_IMPL,
    }
    report = check_primitive(define_primitive("power_of_two", bounds=right, **rules), X)
    assert [outcome.status for outcome in report if outcome.check == "bounds"] == ["passed"]
    p = define_primitive("power_of_two", bounds=wrong, **rules)
    with pytest.raises(AssertionError) as error:
        check_primitive(p, X)
    (outcome,) = error.value.report.failed  # type: ignore[attr-defined]
    assert (outcome.primitive, outcome.check, outcome.rules) == ("power_of_two", "bounds", ("bounds",))
    assert "AssertionError: expected bounds of" in outcome.message
    assert f"look at its bounds rule, given by {__name__} ({FILE}:{wrong.__code__.co_firstlineno})" in outcome.message


@pytest.mark.parametrize("rule", [right, wrong])
def test_a_plugin_that_only_extends_others_is_checked_for_what_it_gives(bounds: Any, rule: Any) -> None:
    name = _plugin("extension", lambda registry: registry.define(exp2_p, bounds=rule))
    try:
        report = check_plugin(name)
    finally:
        host.unregister(name)
    of_samples = [outcome for outcome in report if outcome.sample]
    assert {(outcome.primitive, outcome.check) for outcome in of_samples} == {("exp2", "bounds")}
    assert bool(report.failed) == (rule is wrong)


def test_a_kind_without_a_check_is_listed_with_the_remedy() -> None:
    new_rule_table("unchecked", "(x) -> y")
    name = _plugin("extension", lambda registry: registry.define(exp2_p, unchecked=right))
    try:
        report = check_plugin(name)
    finally:
        host.unregister(name)
        del rule_tables["unchecked"]
    messages = {outcome.message for outcome in report.not_run if outcome.check == "unchecked"}
    assert messages == {"unchecked rules have no check; new_rule_table('unchecked', ..., check=function) gives one"}


def test_checks_of_further_kinds_can_be_chosen_and_skipped(bounds: Any) -> None:
    p = define_primitive("power_of_two", impl=pnp.exp2, abstract_eval=FROM_IMPL, lowering=FROM_IMPL, bounds=wrong)
    sample = Sample([X], skip={"bounds": "it has none"})
    define = core.Registry("kit", {}).samples
    define(p, sample)
    report = Report(check.run() for check in iter_checks(p, only=["bounds"]))
    assert [outcome.message for outcome in report] == ["skipped by the sample: it has none"]


@pytest.mark.parametrize("check", [3, "units"])
def test_a_check_of_a_kind_must_be_a_function(check: Any) -> None:
    with pytest.raises(TypeError, match=r"new_rule_table: check must be a function \(rule, primitive, args, params\)"):
        new_rule_table("bounds", "(x) -> y", check=check)
    assert "bounds" not in rule_tables


def _slightly_off(x: Any, **params: Any) -> Any:
    return pnp.sin(x + np.pi / 2) * 1.001


def _as_before(x: Any, **params: Any) -> Any:
    return pnp.sin(x + 0.5 * np.pi)


OVERRIDES = {
    "impl": (lambda x, **params: np.asarray(np.cos(x)), lambda x, **params: np.asarray(np.cos(x) * 1.001)),
    "lowering": (mlir.lower_fun(_as_before, False), mlir.lower_fun(_slightly_off, False)),
    "jvp": (
        lambda primals, tangents, **params: (pnp.cos(primals[0]), -pnp.sin(primals[0]) * tangents[0]),
        lambda primals, tangents, **params: (pnp.cos(primals[0]), pnp.sin(primals[0]) * tangents[0]),
    ),
    "batch": (
        lambda args, dims, **params: (cos_p.bind(*args, **params), dims[0]),
        lambda args, dims, **params: (cos_p.bind(2 * args[0], **params), dims[0]),
    ),
    "abstract_eval": (lambda x, **params: x, lambda x, **params: x.update(weak_type=True)),
}


def _of_override(kind: str, rule: Any, **options: Any) -> Report:
    """The outcomes of the check `override` for a plugin that replaces one rule of the cosine."""
    if kind == "impl":  # an impl that there was before
        cos_p.def_impl(lambda x, **params: np.asarray(np.cos(x)))
    name = _plugin("better", lambda registry: registry.define(cos_p, override=True, **{kind: rule}, **options))
    try:
        return Report(check.run() for check in iter_checks(name, only=["override"]))
    finally:
        host.unregister(name)
        if kind == "impl":
            rule_tables["impl"].remove(cos_p, override=True)


@pytest.mark.parametrize("kind", OVERRIDES)
def test_an_override_is_compared_with_what_it_replaces(kind: str) -> None:
    same, other = OVERRIDES[kind]
    assert _of_override(kind, same).ok
    report = _of_override(kind, other)
    message = report.failed[0].message
    assert f"the {kind} rule differs from the one that it replaces, " in message
    assert f"differs={{'{kind}': reason}}" in message
    declared = _of_override(kind, other, differs={kind: "it is faster"})
    assert not declared.failed
    assert {outcome.message for outcome in declared.not_run} == {f"the {kind} rule is declared to differ: it is faster"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"override": True, "differs": {"jpv": "r"}}, "differs: rule kinds must be among"),
        ({"override": True, "differs": {"jvp": ""}}, "differs must give the reason for jvp as text, got ''"),
        ({"override": True, "differs": "it does"}, "differs must be a mapping from kinds of rules to reasons"),
        ({"override": True, "differs": {"batch": "r"}}, "differs must be for rules that are given with override=True"),
        ({"differs": {"jvp": "r"}}, "differs must be for rules that are given with override=True"),
    ],
)
def test_declared_differences_that_are_wrong_are_refused(given: Any, said: str) -> None:
    with pytest.raises(PluginError, match=re.escape(said)):
        _plugin("better", lambda registry: registry.define(cos_p, jvp=OVERRIDES["jvp"][0], **given))
