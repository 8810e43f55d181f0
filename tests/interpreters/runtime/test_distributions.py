"""The metadata of distributions is read from their files."""

from __future__ import annotations

from pathlib import Path

import pytest

from primax.interpreters.runtime.distributions import (
    entry_points,
    identity,
    installed_version,
    normalized,
    offers_in,
)

TEXT = """
[first]
# a remark
a = module:name
b= other
[second]
c = third
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two distributions, the only one on `sys.path`."""
    for name, version, points in (
        ("One_Pack", "1.2", "[group]\nx = one:x [extra]\n"),
        ("two", "3", "no section = 1\n"),
    ):
        folder = tmp_path / f"{name}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n\nVersion: of the text\n")
        (folder / "entry_points.txt").write_text(points)
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    return tmp_path


def test_the_entries_of_some_groups_are_read() -> None:
    assert entry_points(TEXT, "first", "absent") == {"first": [("a", "module:name"), ("b", "other")], "absent": []}
    with pytest.raises(ValueError, match="a line must be of the form 'name = value', got 'wrong'"):
        entry_points("[first]\nwrong", "first")


def test_distributions_offer_entry_points(installed: Path) -> None:
    (offer,) = offers_in("group")
    assert offer == ("x", "One_Pack", "1.2", "one:x")
    assert offers_in("another") == []


def test_versions_are_found_by_normalized_names(installed: Path) -> None:
    assert normalized("One_Pack") == "one-pack"
    assert installed_version("one.pack") == "1.2"
    assert installed_version("absent") is None


def test_a_distribution_without_metadata_is_unknown() -> None:
    assert identity(lambda name: None) == ("unknown", "unknown")
