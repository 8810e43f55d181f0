"""The modules of built-in plugins, and of plugins whose rules are proven."""

from __future__ import annotations

import pytest

from primax.core import trusted_modules
from primax.core.trusted_modules import belongs, is_proven

pytestmark = [pytest.mark.any_word_size, pytest.mark.any_jaxlib]


def test_a_module_belongs_to_itself_and_to_the_packages_around_it() -> None:
    homes = {"kepler.rules", "galilei"}
    inside = ("kepler.rules", "kepler.rules.orbit", "galilei.moons.io")
    outside = ("kepler", "kepler.rules_two", "galileo", "")
    assert [belongs(name, homes) for name in inside] == [True] * 3
    assert [belongs(name, homes) for name in outside] == [False] * 4


def test_rules_need_no_check_in_the_interface_and_in_proven_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trusted_modules, "proven", {"kepler"})
    names = ("primax.extend.derive", "kepler.rules", "keplers", "primax.plugins.dot")
    assert [is_proven(name) for name in names] == [True, True, False, False]
