"""Files that describe the plugins of a package."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from primax.extend import manifests
from primax.extend.host import metadata
from primax.extend.host.registry import Entry

pytestmark = [pytest.mark.any_word_size, pytest.mark.any_jaxlib]

EMPTY: dict[str, Any] = {"primitives": {}, "extends": [], "others": []}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a package that cannot be imported."""
    folder = tmp_path / "described_by_file"
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise ImportError('it was imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


def write(folder: Path, contents: Any) -> None:
    (folder / metadata.FILE).write_text(contents if isinstance(contents, str) else json.dumps(contents))


def test_the_file_of_the_nearest_package_is_read_and_nothing_is_imported(package: Path) -> None:
    assert metadata.read("described_by_file") is None
    write(package, {**EMPTY, "extends": ["sin jvp"]})
    write(package / "inner", {**EMPTY, "others": ["operator invert"]})
    assert metadata.read("described_by_file.rules") == {**EMPTY, "extends": ["sin jvp"]}
    assert metadata.read("described_by_file.inner.rules") == {**EMPTY, "others": ["operator invert"]}
    assert metadata.read("no_such_package") is None
    assert metadata.read("json.decoder") is None


def test_one_file_describes_several_plugins(package: Path) -> None:
    write(package, {"plugins": {"one": EMPTY, "two": {**EMPTY, "proven": True}}})
    assert metadata.read("described_by_file", "two") == {**EMPTY, "proven": True}
    assert metadata.read("described_by_file", "three") is None


def test_a_file_that_changed_is_read_again(package: Path) -> None:
    for second, contents in enumerate((EMPTY, {**EMPTY, "deferred": False})):
        write(package, contents)
        os.utime(package / metadata.FILE, (second, second))
        assert metadata.read("described_by_file") == contents


@pytest.mark.parametrize(
    "contents, message",
    [
        ("{", r"primax\.json cannot be read: Expecting"),
        ("[" * 100_000, r"primax\.json cannot be read: "),
        ([], "must have primitives, each with a list of kinds of rules, and lists extends and others"),
        ({**EMPTY, "primitives": {"sin": "jvp"}}, "must have primitives"),
        ({**EMPTY, "extends": "sin jvp"}, "and lists extends and others"),
        ({**EMPTY, "extends": [1]}, "and lists extends and others"),
        ({**EMPTY, "primitives": {"sin": [None]}}, "must have primitives"),
        ({**EMPTY, "deferred": "yes"}, "essential, deferred and proven must be true or false$"),
        ({"plugins": {"one": EMPTY, "two": {}}}, "must have primitives"),
    ],
)
def test_a_file_of_other_contents_is_an_error(package: Path, contents: Any, message: str) -> None:
    write(package, contents)
    with pytest.raises(ValueError, match=message):
        metadata.read("described_by_file")


def test_entries_are_described_and_what_a_file_leaves_out_is_told() -> None:
    entries = [
        Entry("primitive", "kepler::orbit", "", None),
        Entry("rule", "kepler::orbit", "jvp", None),
        Entry("rule", "kepler::orbit", "batch", None),
        Entry("samples", "kepler::orbit", "", None),
        Entry("rule", "sin", "jvp", None),
        Entry("unsupported", "cos", "transpose", None),
        Entry("operator", "invert", "", None),
        Entry("aval", "Star", "", None, "kepler.types"),
        Entry("solver", "cg", "", None, "mylib"),
    ]
    described = manifests.describe(entries)
    assert described == {
        "primitives": {"orbit": ["batch", "jvp"]},
        "extends": ["cos transpose", "sin jvp"],
        "others": ["aval kepler.types.Star", "operator invert", "solver cg in mylib"],
    }
    assert manifests.unlisted(described, entries) == []
    assert manifests.unlisted({**described, "extends": ["sin jvp"]}, entries) == ["cos transpose"]


def test_a_plugin_waits_for_uses_of_what_it_says_unless_one_could_not_be_noticed() -> None:
    others = ["operator invert", "aval kepler.Star", "effect mylib.Log", "solver cg in mylib", "function fly"]
    found = {**EMPTY, "extends": ["sin jvp", "sin samples", "cos lowering[cuda]"], "others": others}
    assert metadata.manifest_triggers(found, "kepler") == [
        ("sin", "jvp rule"),
        ("cos", "lowering[cuda] rule"),
        ("invert", "operator"),
        ("mylib.Log", "effect"),
        ("cg", "solver in mylib"),
    ]
    assert metadata.manifest_triggers({**EMPTY, "others": ["listener all"]}, "kepler") is None
    assert metadata.manifest_triggers(EMPTY, "kepler") == []


def test_flags_are_those_that_the_file_has() -> None:
    assert manifests.flags({**EMPTY, "proven": True, "deferred": False}) == {"deferred": False, "proven": True}
    assert manifests.flags(EMPTY) == {}
