"""The catalog of plugins: their order, their names, and those that the environment blocks."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from primax.core.errors import PluginError
from primax.extend.host import plugin_catalog
from primax.extend.host.discovery import Found
from primax.extend.host.plugin_catalog import PluginCatalog
from primax.extend.host.plugin_record import PluginRecord

pytestmark = [pytest.mark.any_word_size, pytest.mark.any_jaxlib]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[..., PluginCatalog]:
    """A catalog with installed plugins, before these are listed."""
    monkeypatch.delenv("PRIMAX_PLUGINS", raising=False)
    monkeypatch.delenv("PRIMAX_DISABLE_PLUGINS", raising=False)

    def install(*names: str, **more: Any) -> PluginCatalog:
        rest = more.get("api"), more.get("error", "")
        found = [Found(name, f"the-{name}", "1.0", f"{name}_module", *rest) for name in names]
        monkeypatch.setattr(plugin_catalog, "installed_plugins", lambda version: ([], found))
        return PluginCatalog()

    return install


def states(catalog: PluginCatalog) -> dict[str, str]:
    return {record.name: record.state for record in catalog.all()}


def test_plugins_are_listed_once_and_all_are_taken(install: Callable[..., PluginCatalog]) -> None:
    catalog = install("alpha", "beta")
    taken: list[Any] = []
    assert catalog.discover(taken.extend)
    assert not catalog.discover(taken.extend)
    assert [record.name for record in taken] == ["alpha", "beta"]
    catalog.explicit.append(PluginRecord("zeta", "explicit"))
    catalog.builtins.append(PluginRecord("dot", "built-in"))
    assert list(states(catalog)) == ["dot", "zeta", "alpha", "beta"]
    assert catalog.find("beta") is taken[1]
    assert catalog.find("gamma") is None
    assert catalog.hint("alpa") == "; did you mean 'alpha'? (there are alpha, beta, dot, zeta)"


@pytest.mark.parametrize(
    "variable, names, wanted, reason",
    [
        ("PRIMAX_PLUGINS", "alpha", ["discovered", "blocked"], "PRIMAX_PLUGINS does not name it"),
        ("PRIMAX_DISABLE_PLUGINS", " beta ,", ["discovered", "blocked"], "PRIMAX_DISABLE_PLUGINS names it"),
    ],
)
def test_the_environment_blocks_plugins(
    install: Callable[..., PluginCatalog],
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    names: str,
    wanted: list[str],
    reason: str,
) -> None:
    catalog = install("alpha", "beta")
    monkeypatch.setenv(variable, names)
    catalog.discover(lambda records: None)
    assert list(states(catalog).values()) == wanted
    assert catalog.all()[1].reason == f"plugin 'beta' (the-beta 1.0, beta_module) is blocked: {reason}"


def test_an_empty_list_allows_no_installed_plugin_and_every_other_one(
    install: Callable[..., PluginCatalog], monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = install("alpha")
    catalog.builtins.append(PluginRecord("dot", "built-in", entry_point="no.module"))
    catalog.explicit.append(PluginRecord("zeta", "explicit"))
    monkeypatch.setenv("PRIMAX_PLUGINS", "")
    catalog.discover(lambda records: None)
    assert states(catalog) == {"dot": "discovered", "zeta": "discovered", "alpha": "blocked"}


def test_names_in_the_environment_must_be_of_plugins_that_can_be_blocked(
    install: Callable[..., PluginCatalog], monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = install("alpha")
    essential = PluginRecord("dot", "built-in", entry_point="no.module")
    essential.manifest = {"essential": True}
    catalog.builtins.append(essential)
    monkeypatch.setenv("PRIMAX_DISABLE_PLUGINS", "beta")
    with pytest.raises(PluginError, match=r"^PRIMAX_DISABLE_PLUGINS names 'beta', which is not a plugin \(there are"):
        catalog.discover(lambda records: None)
    monkeypatch.setenv("PRIMAX_DISABLE_PLUGINS", "dot")
    with pytest.raises(PluginError, match=r"names 'dot', which cannot be disabled: other plugins depend on it$"):
        catalog.discover(lambda records: None)


def test_the_home_of_a_primitive_is_its_plugin_or_that_of_its_module(install: Callable[..., PluginCatalog]) -> None:
    catalog = install("alpha", "beta")
    catalog.discover(lambda records: None)
    alpha, beta = catalog.all()
    assert catalog.home(SimpleNamespace(plugin="beta", module="alpha_module")) is beta
    assert catalog.home(SimpleNamespace(plugin=None, module="alpha_module.rules")) is alpha
    assert catalog.home(SimpleNamespace(plugin=None, module="gamma")) is None


@pytest.mark.parametrize(
    "names, more, reason",
    [
        (["alpha"], {}, ""),
        (["alpha"], {"error": "its metadata cannot be read"}, "its metadata cannot be read"),
        (["alpha"], {"api": "v99"}, "it needs plugin API >=99.0,<100.0, but this primax has plugin API 1.0"),
        (["alpha"], {"api": "new"}, "new"),
        (["alpha", "alpha"], {}, "its name is taken by plugin 'alpha' (the-alpha 1.0, alpha_module), installed"),
    ],
)
def test_a_plugin_is_refused_before_its_import_for_a_reason(
    install: Callable[..., PluginCatalog], names: list[str], more: dict[str, str], reason: str
) -> None:
    catalog = install(*names, **more)
    catalog.discover(lambda records: None)
    refusal = catalog.refusal(catalog.all()[-1])
    assert reason in refusal if reason else refusal == ""


def test_primax_without_its_own_metadata_says_how_to_install_it(install: Callable[..., PluginCatalog]) -> None:
    catalog = install()
    catalog.own_version = "1.0"
    with pytest.raises(PluginError, match=r"^primax 1\.0 finds no plugins, because the metadata of its distribution"):
        catalog.discover(lambda records: None)
