"""Who may replace what another plugin has entered, on distributions that are installed for one test."""

from __future__ import annotations

from pathlib import Path

import pytest
from distributions import PLUGIN, REPORT, Site

pytestmark = [pytest.mark.any_jaxlib, pytest.mark.any_word_size]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


OVERRIDE = """
    from primax.extend.host.hookspec import hookimpl
    import alpha_plugin
    @hookimpl
    def primax_register(registry):
        registry.define(alpha_plugin.alpha_p, impl=lambda x: x * 100{flag})
"""


def test_a_rule_is_replaced_only_with_override(site: Site) -> None:
    site.plugin("alpha")
    site.plugin("beta", OVERRIDE.format(flag=""))
    program = "import alpha_plugin; print(alpha_plugin.alpha_p.bind(2))" + REPORT
    run = site.run(program)
    assert run.lines[0] == "3"
    assert "'beta' may not replace the impl rule of alpha, given by alpha (" in run.lines[2]
    assert "unless it passes override=True" in run.lines[2]
    site.write("beta_plugin", OVERRIDE.format(flag=", override=True"))
    assert site.run(program, PRIMAX_ALLOW_OVERRIDES="beta").lines == ["200", "alpha|active|", "beta|active|"]


def test_a_rule_of_another_plugin_is_replaced_only_with_consent(site: Site) -> None:
    site.plugin("alpha")
    site.plugin("beta", OVERRIDE.format(flag=", override=True"))
    program = "import alpha_plugin; print(alpha_plugin.alpha_p.bind(2))"
    run = site.run(program + REPORT)
    assert run.lines[0] == "3"
    assert "plugin 'beta' may not replace the impl rule of alpha, given by alpha (" in run.lines[2]
    assert "without consent: the user may call primax.plugins.allow_overrides('beta')" in run.lines[2]
    assert "plugin 'alpha' may call registry.allow_overrides('beta')" in run.lines[2]
    assert len(run.warned) == 1
    later = "; host.allow_overrides('beta'); host.activate(); print(alpha_plugin.alpha_p.bind(2))"
    assert site.run(program + later + REPORT).lines == ["3", "200", "alpha|active|", "beta|active|"]
    site.write("alpha_plugin", PLUGIN.format(name="alpha") + "    registry.allow_overrides('beta')\n")
    assert site.run(program).lines == ["200"]
    site.write("alpha_plugin", PLUGIN.format(name="alpha") + "    registry.allow_overrides('gamma')\n")
    assert site.run(program).lines == ["3"]


def test_tables_ask_for_consent_too(site: Site) -> None:
    site.plugin("alpha")
    site.plugin(
        "beta",
        """
        from primax.core import rules
        from primax.extend.host.hookspec import hookimpl
        import alpha_plugin
        @hookimpl
        def primax_register(registry):
            rules.impl_rules.register(alpha_plugin.alpha_p, lambda x: x * 100, override=True)
        """,
    )
    run = site.run("import alpha_plugin; print(alpha_plugin.alpha_p.bind(2))" + REPORT)
    assert run.lines[0] == "3"
    assert "'beta' may not replace the impl rule of alpha, given by alpha (" in run.lines[2]
    assert "without consent: the user may call" in run.lines[2]


@pytest.mark.parametrize(
    ("order", "result"), [("beta,gamma", "1000"), ("gamma,beta", "100"), ("beta", "100"), ("gamma", "1000"), ("", "2")]
)
def test_of_two_that_replace_a_rule_the_user_says_who_wins(site: Site, order: str, result: str) -> None:
    site.plugin("alpha")
    for name, factor in (("beta", 100), ("gamma", 1000)):
        site.plugin(name, OVERRIDE.format(flag=", override=True").replace("100", str(factor)))
    run = site.run("import alpha_plugin; print(alpha_plugin.alpha_p.bind(1))" + REPORT, PRIMAX_ALLOW_OVERRIDES=order)
    assert run.lines[0] == result


def test_two_that_a_plugin_lets_replace_its_rule_are_refused_unless_ordered(site: Site) -> None:
    site.plugin("alpha", PLUGIN.format(name="alpha") + "    registry.allow_overrides()\n")
    for name, factor in (("beta", 100), ("gamma", 1000)):
        site.plugin(name, OVERRIDE.format(flag=", override=True").replace("100", str(factor)))
    program = "import alpha_plugin; print(alpha_plugin.alpha_p.bind(1))" + REPORT
    run = site.run(program)
    assert run.lines[0] == "100"
    assert "since plugin 'beta' has replaced it already; the user may give the last of " in run.lines[3]
    assert site.run(program, PRIMAX_ALLOW_OVERRIDES="beta,gamma").lines[0] == "1000"


def test_consent_for_a_plugin_that_is_not_there_harms_no_program(site: Site) -> None:
    site.plugin("alpha")
    run = site.run(
        """
        warnings.simplefilter("error")
        print(host.activate(), host.idle_consents())
        print(attempt(host.allow_overrides, "alpa"))
        """,
        PRIMAX_ALLOW_OVERRIDES="alpa",
    )
    assert run.lines[0] == (
        "True [\"PRIMAX_ALLOW_OVERRIDES names 'alpa', which is not an installed plugin; did you mean 'alpha'?\"]"
    )
    assert "there is no plugin 'alpa'" in run.lines[1]
    for command in ("plugins", "env"):
        shown = site.command(command, PRIMAX_ALLOW_OVERRIDES="alpa")
        assert "PRIMAX_ALLOW_OVERRIDES names 'alpa', which is not an installed plugin" in " ".join(shown.out.split())
        assert shown.err == ""
