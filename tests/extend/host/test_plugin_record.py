"""Records of plugins: what they show, and where a failure of a plugin is."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from primax.extend.host.plugin_record import PluginRecord, one_line

pytestmark = [pytest.mark.any_word_size, pytest.mark.any_jaxlib]

EMPTY: dict[str, Any] = {"primitives": {}, "extends": [], "others": []}


def record(
    source: str = "installed", entry_point: str = "kepler.plugin:register", manifest: Any = None
) -> PluginRecord:
    made = PluginRecord("kepler", source, "primax-kepler", "1.2", entry_point)
    made.manifest = manifest
    return made


def test_a_record_describes_its_plugin() -> None:
    plugin = record()
    assert repr(plugin) == "<plugin 'kepler' (primax-kepler 1.2, kepler.plugin:register), discovered>"
    assert (plugin.module, plugin.home) == ("kepler.plugin", "kepler")
    assert record("built-in", "primax.plugins.dot").home == "primax.plugins.dot"
    assert PluginRecord("kepler", "explicit").describe() == "'kepler' (explicit)"
    assert plugin.as_dict() == {
        "name": "kepler",
        "source": "installed",
        "distribution": "primax-kepler",
        "version": "1.2",
        "entry_point": "kepler.plugin:register",
        "api": "",
        "state": "discovered",
        "reason": "",
        "traceback": "",
        "primitives": [],
        "rules": [],
        "unsupported": [],
    }


@pytest.mark.parametrize(
    "source, module, length",
    [
        ("installed", "kepler.plugin", 2),
        ("installed", "kepler.other", 1),
        ("installed", "kepler_two", 0),
        ("built-in", "kepler.plugin.rules", 2),
        ("built-in", "kepler.other", 0),
    ],
)
def test_modules_belong_to_a_plugin_by_their_packages(source: str, module: str, length: int) -> None:
    assert record(source).match(module) == length


def test_a_plugin_waits_if_its_file_says_what_it_has_until_it_is_needed() -> None:
    assert not record().waits
    assert record(manifest=EMPTY).waits
    assert not record(manifest={**EMPTY, "deferred": False}).waits
    assert not record("built-in", "primax.plugins.none", EMPTY).waits
    assert record("built-in", "primax.plugins.none", {**EMPTY, "deferred": True}).waits
    assert not record(entry_point="sys", manifest=EMPTY).waits  # its package is imported
    assert not record(manifest={**EMPTY, "others": ["listener all"]}).waits
    requested = record(manifest=EMPTY)
    requested.requested = True
    assert not requested.waits
    assert (record(manifest={**EMPTY, "essential": True}).essential, record().essential) == (True, False)


def test_a_failure_is_placed_in_the_innermost_line_of_the_plugin() -> None:
    names: dict[str, Any] = {"__name__": "kepler.rules"}
    exec(compile("\n\ndef fail():\n    raise KeyError('orbit')", "rules.py", "exec"), names)
    plugin = record()
    with pytest.raises(KeyError) as error:
        names["fail"]()
    plugin.give_up("failed", "raises KeyError", error.value)
    assert plugin.reason == f"plugin {plugin.describe()} raises KeyError, at rules.py:4"
    assert (plugin.state, plugin.error) == ("failed", error.value)
    assert "raise KeyError" not in plugin.reason
    assert plugin.traceback.startswith("Traceback")


def test_a_failure_outside_of_the_plugin_has_the_line_there() -> None:
    plugin = record()
    try:
        line = sys._getframe().f_lineno + 1
        raise ValueError
    except ValueError as error:
        plugin.give_up("failed", "fails", error)
    assert plugin.reason.endswith(f"fails, at {__file__}:{line}")
    plugin.give_up("failed", "is wrong", SyntaxError("invalid syntax", ("kepler.py", 7, 1, "x x")))
    assert plugin.reason.endswith("is wrong, at kepler.py:7")
    plugin.give_up("refused", "is refused")
    assert plugin.reason.endswith("is refused")


def test_an_exception_is_shown_in_one_line() -> None:
    assert one_line(ValueError("first\nsecond")) == "ValueError: first"
    assert one_line(ValueError()) == "ValueError"
