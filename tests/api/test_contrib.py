"""Plugins offer functions in namespaces of their own, by the hook; asking for one loads its plugin."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributions import Site

import primax as px
from primax.extend import hookimpl


def _plugin(**functions: Any) -> Any:
    class plugin:
        @staticmethod
        @hookimpl
        def primax_register(registry: Any) -> None:
            registry.functions(**functions)

    return plugin


@pytest.fixture
def waves() -> Iterator[None]:
    px.plugins.register(_plugin(double=lambda x: 2 * x, half=lambda x: x / 2), name="waves")
    yield
    if "waves" in {record.name for record in px.extend.plugins()}:
        px.plugins.unregister("waves")


def test_functions_of_a_plugin_are_in_its_namespace(waves: None) -> None:
    assert dir(px.contrib.waves) == ["double", "half"]
    assert float(px.jit(px.contrib.waves.double)(3.0)) == 6.0
    assert "waves" in dir(px.contrib)


def test_a_plugin_that_goes_takes_its_functions_with_it(waves: None) -> None:
    namespace = px.contrib.waves
    px.plugins.unregister("waves")
    with pytest.raises(AttributeError, match=r"plugin 'waves' has no function 'double' \(it has none\)"):
        _ = namespace.double
    with pytest.raises(AttributeError, match="there is no plugin 'waves'"):
        _ = px.contrib.waves


def test_underscores_stand_for_hyphens() -> None:
    names = ["my-waves", "my_tides", "my-tides", "a-b.c", "a.b-c"]
    for name in names:
        px.plugins.register(_plugin(own=lambda name=name: name), name=name)
    try:
        assert px.contrib.my_waves.own() == getattr(px.contrib, "my-waves").own() == "my-waves"
        assert px.contrib.my_tides.own() == "my_tides"
        with pytest.raises(
            AttributeError, match=r"'a-b\.c' and 'a\.b-c' have it; use getattr\(px\.contrib, 'a-b\.c'\)"
        ):
            _ = px.contrib.a_b_c
        assert {"my_waves", "my_tides", "a_b_c"} <= set(dir(px.contrib))
    finally:
        for name in names:
            px.plugins.unregister(name)


def test_a_name_that_no_plugin_has_is_told_with_those_there_are(waves: None) -> None:
    with pytest.raises(AttributeError, match=r"plugin 'waves' has no function 'triple' \(it has double, half\)"):
        _ = px.contrib.waves.triple
    with pytest.raises(AttributeError, match="there is no plugin 'wave'; did you mean 'waves'"):
        _ = px.contrib.wave


@pytest.mark.parametrize(
    "functions, error, message",
    [({"f": 3}, TypeError, "f must be a function, got 3"), ({"_f": abs}, ValueError, "must not begin with an under")],
)
def test_what_is_no_function_with_a_public_name_is_refused(functions: Any, error: Any, message: str) -> None:
    with pytest.raises(px.errors.PluginError, match=message):
        px.plugins.register(_plugin(**functions), name="wrong")
    assert not hasattr(px.contrib, "wrong")


def test_an_installed_plugin_waits_until_its_namespace_is_asked_for(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.install("orbits", entry_points="[primax]\norbits = orbits\n")
    (tmp_path / "orbits").mkdir()
    (tmp_path / "orbits" / "__init__.py").write_text(
        "from primax.extend import hookimpl\n\n\n@hookimpl\ndef primax_register(registry):\n"
        "    registry.functions(period=lambda a: a**1.5)\n"
    )
    (tmp_path / "orbits" / "primax.json").write_text('{"primitives": {}, "extends": [], "others": ["function period"]}')
    program = (
        "import sys, primax as px; px.jit(lambda x: x + 1)(1.0); print('orbits' in sys.modules, "
        "px.contrib.orbits.period(4.0), 'orbits' in sys.modules)"
    )
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    run = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, env=env)
    assert run.stdout.split() == ["False", "8.0", "True"], run.stderr
