"""Finding plugins in the metadata of distributions, and the API versions that they state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from distributions import REPORT, Site, states

from primax.core.discovery import ApiRange


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_a_plugin_may_be_an_attribute_of_its_module(site: Site) -> None:
    source = """
        from primax.core.hookspec import hookimpl
        from primax.core.primitive import Primitive
        p = Primitive("p")
        class Outer:
            class Plugin:
                @staticmethod
                @hookimpl
                def primax_register(registry):
                    registry.define(p, impl=lambda x: -x)
    """
    site.install("alpha", entry_points="[primax]\nalpha = alpha_plugin : Outer.Plugin", alpha_plugin=source)
    assert site.run("host.activate(); import alpha_plugin; print(alpha_plugin.p.bind(2))").lines == ["-2"]


@pytest.mark.parametrize("api, wanted", [("v2_0", ">=2.0,<3.0"), ("v0_9", ">=0.9,<1.0"), ("v1_1", ">=1.1,<2.0")])
def test_an_api_version_out_of_range_is_refused_before_import(site: Site, api: str, wanted: str) -> None:
    site.plugin("future", "print('imported')", api=api)
    run = site.run("host.activate()" + REPORT)
    assert run.lines == [
        "future|refused|plugin 'future' (future 1.0, future_plugin) is refused: "
        f"it needs plugin API {wanted}, but this primax has plugin API 1.0"
    ]
    assert len(run.warned) == 1


def test_an_api_version_in_range_is_accepted(site: Site) -> None:
    site.plugin("alpha", api="v1")
    site.plugin("beta", api="v0_5:v1_1")
    assert states(site.run("host.activate()" + REPORT).lines) == {"alpha": "active", "beta": "active"}


def test_an_api_version_that_cannot_be_read_is_refused(site: Site) -> None:
    site.plugin("alpha", api=">=1")
    line = site.run("host.activate()" + REPORT).lines[0]
    assert line.endswith("an API range must look like 'v1_2' or 'v1_2:v3_0', got '>=1'")


def test_an_api_version_stated_for_no_plugin_is_refused(site: Site) -> None:
    site.install("alpha", entry_points="[primax]\nalpha = alpha_plugin\n[primax.api]\nalhpa = v9\n")
    line = site.run("host.activate()" + REPORT).lines[0]
    assert "states the API version of 'alhpa' in group 'primax.api', but offers 'alpha'" in line


def test_a_distribution_with_unreadable_metadata_does_not_hide_the_others(site: Site) -> None:
    site.plugin("alpha")
    site.install("broken", entry_points="[primax]\nthis line has no equals sign\n")
    site.install("strange", entry_points="[other]\nthis line has no equals sign\n")
    lines = site.run("host.activate()" + REPORT).lines
    assert lines[0] == "alpha|active|"
    assert lines[1].startswith("broken|refused|")
    assert "its entry_points.txt cannot be read" in lines[1]
    assert len(lines) == 2


@pytest.mark.parametrize(
    "text, inside, outside",
    [
        ("v1", [(1, 0), (1, 9)], [(0, 9), (2, 0)]),
        ("v1_2", [(1, 2), (1, 3)], [(1, 1), (2, 0)]),
        ("v1_2:v3", [(1, 2), (2, 9)], [(1, 1), (3, 0)]),
        ("v1_2 : v1_4", [(1, 3)], [(1, 4)]),
    ],
)
def test_an_api_range_is_read_from_an_object_reference(text: str, inside: Any, outside: Any) -> None:
    found = ApiRange.parse(text)
    assert all(version in found for version in inside)
    assert not any(version in found for version in outside)


@pytest.mark.parametrize("text", ["", "1.0", "v", "v1.2", "v1_2:", "v1_2_3", ">=1"])
def test_an_api_range_of_another_form_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="an API range must look like"):
        ApiRange.parse(text)
