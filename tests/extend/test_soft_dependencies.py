"""Rules of kinds that other plugins make wait for these plugins, which need not be installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributions import Site

from primax.core.errors import PluginWarning
from primax.core.rules import rule_tables
from primax.extend import core, define_primitive, hookimpl, manifests
from primax.extend.commands import plugins as command
from primax.extend.core import Primitive
from primax.extend.core.primitives import sin_p
from primax.extend.host.plugin_host import host

lambert_p = Primitive("lambert")


def of_lambert(interpreter: Any, eqn: Any, x: Any) -> Any:
    return x


class Giver:
    @staticmethod
    @hookimpl
    def primax_register(registry: core.Registry) -> None:
        registry.define(lambert_p, impl=abs, with_plugins={"tester_bounds": {"bounds": of_lambert}})
        registry.define(sin_p, with_plugins={"tester_bounds": {"bounds": of_lambert}, "cotrol_flow": {"x": len}})


class Bounds:
    @staticmethod
    @hookimpl
    def primax_register(registry: core.Registry) -> None:
        core.new_rule_table("bounds", "(interpreter, eqn, *values) -> value", optional=True)


@pytest.fixture
def plugins() -> Iterator[dict[str, Any]]:
    names = {"tester_giver": Giver, "tester_bounds": Bounds}
    yield names
    for name in names:
        if host.catalog.find(name) is not None:
            host.unregister(name)


@pytest.mark.parametrize("giver_first", [True, False])
def test_a_rule_enters_when_the_plugin_with_its_kind_is_active(plugins: dict[str, Any], giver_first: bool) -> None:
    for name in sorted(plugins, reverse=giver_first):
        host.register_module(plugins[name], name=name)
    assert rule_tables["bounds"][lambert_p] is of_lambert
    assert rule_tables["bounds"].provenance[sin_p].plugin == "tester_giver"
    host.unregister("tester_bounds")
    assert "bounds" not in rule_tables
    host.register_module(Bounds, name="tester_bounds")
    assert rule_tables["bounds"][sin_p] is of_lambert
    rules = [(rule.name, rule.kind) for rule in host.record("tester_giver").rules]
    assert sorted(rules) == [("lambert", "bounds"), ("lambert", "impl"), ("sin", "bounds")]
    host.unregister("tester_giver")
    assert lambert_p not in rule_tables["bounds"]


def test_the_list_of_plugins_says_what_waits(plugins: dict[str, Any]) -> None:
    host.register_module(Giver, name="tester_giver")
    record = host.record("tester_giver")
    shown = command._waiting(record)
    assert "waiting for package 'tester_bounds' (not installed): bounds of lambert, bounds of sin" in shown
    assert "'cotrol_flow' (not installed; did you mean 'control_flow'?): x of sin" in shown
    assert record.as_dict()["waiting"][0] == {"primitive": "lambert", "kind": "bounds", "plugin": "tester_bounds"}
    file = manifests.describe(record.entries)  # the same with and without the other plugin
    assert file["primitives"] == {"lambert": ["bounds", "impl"]}
    assert file["extends"] == ["sin bounds", "sin x"]
    host.register_module(Bounds, name="tester_bounds")
    assert manifests.describe(record.entries) == file


def test_a_kind_that_the_plugin_lacks_is_told_of(plugins: dict[str, Any]) -> None:
    class Typo:
        @staticmethod
        @hookimpl
        def primax_register(registry: core.Registry) -> None:
            registry.define(lambert_p, impl=abs, with_plugins={"tester_bounds": {"bound": of_lambert}})

    plugins["tester_giver"] = Typo
    host.register_module(Bounds, name="tester_bounds")
    with pytest.warns(
        PluginWarning, match=r"kinds of rules of plugin 'tester_bounds', got 'bound'; did you mean 'bounds'"
    ):
        host.register_module(Typo, name="tester_giver")
    assert "did you mean 'bounds'" in command._waiting(host.record("tester_giver"))


def test_primitives_of_scripts_may_wait_too(plugins: dict[str, Any]) -> None:
    p = define_primitive("scripted", impl=abs, with_plugins={"tester_bounds": {"bounds": of_lambert}})
    host.register_module(Bounds, name="tester_bounds")
    assert rule_tables["bounds"][p] is of_lambert
    for wrong in (["bounds"], {"bounds": of_lambert}, {"bounds": {"bounds": 1}}):
        with pytest.raises(TypeError, match=r"define_primitive\(scripted\): with_plugins must map"):
            define_primitive("scripted", impl=abs, with_plugins=wrong)  # type: ignore[arg-type]


_GIVER = """
from primax.extend.host.hookspec import hookimpl
from primax.core.primitive import Primitive

giver_p = Primitive("giver")

@hookimpl
def primax_register(registry):
    registry.define(giver_p, impl=abs, with_plugins={"ranges": {"range": lambda x: x + 1}})
"""
_RANGES = """
from primax.extend.host.hookspec import hookimpl
from primax.core.rules import new_rule_table

ranges = new_rule_table("range", "(x) -> range", optional=True)

@hookimpl
def primax_register(registry):
    pass
"""


def test_an_installed_plugin_works_with_and_without_the_other(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.plugin("giver", _GIVER)
    program = (
        "import giver_plugin; print(giver_plugin.giver_p.bind(-2), [str(r.kind) for r in host.record('giver').waiting])"
    )
    run = site.run(program)
    assert run.lines == ["2 ['range']"]
    site.plugin("ranges", _RANGES)
    more = "import ranges_plugin; print(ranges_plugin.ranges.find(giver_plugin.giver_p)(1))"
    for both in ("import giver_plugin; " + more, program + "\n" + more):
        run = site.run(both)
        assert run.lines[-1] == "2"
        assert run.warned == []
