"""Finding plugins in the metadata of distributions, and the API versions that they state."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from distributions import REPORT, Site, states

from primax.extend.host.discovery import ApiRange, installed_plugins

pytestmark = [pytest.mark.any_jaxlib, pytest.mark.any_word_size]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_a_plugin_may_be_an_attribute_of_its_module(site: Site) -> None:
    source = """
        from primax.extend.host.hookspec import hookimpl
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
    assert all(found.admits(version) for version in inside)
    assert not any(found.admits(version) for version in outside)


@pytest.mark.parametrize("text", ["", "1.0", "v", "v1.2", "v1_2:", "v1_2_3", ">=1"])
def test_an_api_range_of_another_form_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="an API range must look like"):
        ApiRange.parse(text)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A `sys.path` with two folders, in which nothing is installed."""
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    monkeypatch.setattr("sys.path", [str(folder) for folder in folders])
    return sys.path


def test_of_two_distributions_of_one_name_the_first_on_the_path_counts(path: list[str]) -> None:
    for folder, version in zip(path, ("2.0", "1.0"), strict=True):
        Site(Path(folder)).install("my-dist", version, entry_points="[primax]\nalpha = alpha_plugin\n")
    assert [(each.distribution, each.version) for each in installed_plugins()[1]] == [("my-dist", "2.0")]


@pytest.mark.parametrize("elsewhere", [False, True])
def test_plugins_are_found_alike_wherever_distributions_may_be(
    path: list[str], elsewhere: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (Site(Path(folder)) for folder in path)
    first.install("one", entry_points="[console_scripts]\nx = y:z\n\n[primax]\n# a comment\nalpha=a : B.c [extra]\n")
    second.install("two", entry_points="[primax]\nbeta = b\ngamma = g\n[primax.api]\nbeta = v1_0\ngamma = v2_0\n")
    second.install("primax-core", "9", entry_points="[primax]\nstructural = primax.plugins.structural\n")
    second.install("no-plugin", entry_points="[primax.api]\nbeta = v1_0\n")
    if elsewhere:
        with zipfile.ZipFile(Path(path[0], "archive.zip"), "w") as archive:
            archive.writestr("three-1.0.dist-info/METADATA", "Name: three\nVersion: 1.0\n\nName: nothing\n")
            archive.writestr("three-1.0.dist-info/entry_points.txt", "[primax]\ndelta = d\n")
        monkeypatch.setattr("sys.path", [*path, str(Path(path[0], "archive.zip"))])
    found = [
        (each.name, each.distribution, each.version, each.entry_point, each.api) for each in installed_plugins()[1]
    ]
    in_archive = [("delta", "three", "1.0", "d", None)] if elsewhere else []
    assert found == [
        ("alpha", "one", "1.0", "a : B.c", None),
        ("beta", "two", "1.0", "b", "v1_0"),
        *in_archive,
        ("gamma", "two", "1.0", "g", "v2_0"),
    ]


def test_bytes_that_are_no_text_hide_nothing(path: list[str]) -> None:
    site = Site(Path(path[0]))
    site.install("alpha", entry_points="[primax]\nalpha = a\n")
    for name in ("METADATA", "entry_points.txt"):
        (Path(path[0]) / f"odd{name}-1.0.dist-info").mkdir()
        (Path(path[0]) / f"odd{name}-1.0.dist-info" / name).write_bytes(b"\xff\xfe[primax]\x00\n")
    assert [each.name for each in installed_plugins()[1]] == ["alpha"]


@pytest.mark.parametrize("elsewhere", [False, True])
def test_the_plugins_of_primax_are_those_of_the_distribution_of_its_version(
    path: list[str], elsewhere: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (Site(Path(folder)) for folder in path)
    first.install("primax-core", "9", entry_points="[primax]\nlater = primax.plugins.later\n")
    second.install("Primax_Core", "1.5", entry_points="[primax]\nsums = primax.plugins.sums\n")
    second.install("other", entry_points="[primax]\nmine = mine\n")
    if elsewhere:
        Path(path[0], "archive.zip").write_bytes(b"")
        # Not `syspath_prepend`, which would put back the path of the fixture after that of the session.
        monkeypatch.setattr(sys, "path", [str(Path(path[0], "archive.zip")), *sys.path])
    own, others = installed_plugins("1.5")
    assert [(each.name, each.version) for each in own] == [("sums", "1.5")]
    assert [each.name for each in others] == ["mine"]
    assert installed_plugins("2")[0] == []
    assert [each.name for each in installed_plugins()[1]] == ["mine"]
