"""The pages on plugins, their registry and the kinds of rules name everything that they are the reference of."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from checkout import python_files

from primax.core.array_protocol import ArrayProtocol
from primax.core.operand import operator_names
from primax.core.rules import rule_tables
from primax.extend import options as config
from primax.extend.host import discovery, hookspec
from primax.extend.host.plugin_host import PluginHost, PluginRecord
from primax.extend.host.registry import Registry

AUTHORS = Path(__file__).parents[2] / "docs" / "authors"
PLUGINS, REGISTRY, RULES, KINDS = (
    (AUTHORS / f"{name}.md").read_text(encoding="utf-8") for name in ("plugins", "registry", "rules", "kinds")
)
HOOKS = {name: spec for name, spec in vars(hookspec).items() if hasattr(spec, "primax_spec")}
METHODS = [name for name, member in vars(Registry).items() if inspect.isfunction(member) and not name.startswith("_")]
STATES = ("discovered", "active", "blocked", "failed", "refused")


def parameters(function) -> list[str]:
    found = inspect.signature(function).parameters.values()
    return [parameter.name for parameter in found if parameter.name != "self"]


def section(heading: str) -> str:
    """The text under a heading of second order."""
    return PLUGINS.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def options() -> set[str]:
    """The variables of options, which the generated page of options has."""
    return {option.env for option in vars(config).values() if isinstance(option, config.Option) and option.env}


def variables() -> set[str]:
    """All variables of the environment that primax reads."""
    sources = "\n".join(path.read_text(encoding="utf-8") for path in python_files())
    return options() | set(re.findall(r'"(PRIMAX_[A-Z0-9_]+)"', sources))


def test_there_is_something_to_look_for():
    assert "primax_register" in HOOKS
    assert {"define", "samples", "roll_back"} <= set(METHODS)
    assert {"PRIMAX_PLUGINS", "PRIMAX_ENABLE_X64", "PRIMAX_PLATFORM"} <= variables()


@pytest.mark.parametrize("name", HOOKS)
def test_every_hook_is_there_with_its_arguments(name):
    assert f"`{name}({', '.join(parameters(HOOKS[name]))})`" in section("Hooks")


@pytest.mark.parametrize("name", METHODS)
def test_every_method_of_the_registry_is_there_with_its_arguments(name):
    method = getattr(Registry, name)
    written = REGISTRY.partition(f"**`registry.{name}(")[2].partition("\n**`registry.")[0]
    header, _, text = written.partition(")`**")
    assert text, f"registry.{name} is missing"
    assert re.findall(r"\w+", header) == parameters(method)
    assert [argument for argument in parameters(method) if f"- `{argument}`: " not in text] == []


@pytest.mark.parametrize("kind", rule_tables)
def test_every_kind_of_rule_is_there_with_its_signature(kind):
    assert f"| `{kind}` | `{rule_tables[kind].signature}` |" in RULES + KINDS


@pytest.mark.parametrize("name", sorted(variables() - options()))
def test_every_variable_of_the_environment_is_there(name):
    assert f"| `{name}` |" in section("The environment")


def test_every_entry_point_group_is_there():
    for group in (discovery.GROUP, discovery.API_GROUP):
        assert f"| `{group}` |" in section("From an entry point to a rule")


def test_every_state_is_there():
    told = section("States")
    assert [state for state in STATES if f"| `{state}` |" not in told] == []
    sources = inspect.getsource(PluginHost) + inspect.getsource(PluginRecord)
    assert set(STATES) == set(re.findall(r'"(discovered|active|blocked|failed|refused)"', sources))
    assert set(re.findall(r'\bstate(?:: str)? = "(\w+)"', sources)) <= set(STATES)


def test_every_operator_and_function_of_the_array_protocol_is_there():
    told = REGISTRY
    reflected = {name for name in operator_names if name.startswith("r") and name[1:] in operator_names}
    assert [name for name in sorted(operator_names - reflected) if f"`{name}`" not in told] == []
    assert [name for name in ArrayProtocol._fields if f"| `{name}` |" not in told] == []


def test_the_pages_name_nothing_that_is_not_there():
    named = set(re.findall(r"`registry\.(\w+)", PLUGINS + REGISTRY))
    assert named <= set(METHODS)
    assert set(re.findall(r"`(PRIMAX_\w+)`", PLUGINS)) <= variables()
