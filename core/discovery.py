"""Installed plugins, read from the metadata of distributions without importing them.

A distribution offers a plugin by an entry point in group `primax`. It states the API versions that the plugin
supports by an entry point of the same name in group `primax.api`, which is read and never loaded:

    [project.entry-points.primax]
    kepler = "primax_kepler"

    [project.entry-points."primax.api"]
    kepler = "v1_2"

`v1_2` means version 1.2 and later, before 2.0. `v1_2:v3_0` means version 1.2 and later, before 3.0. Both have
the form of object references, so that every build backend accepts them.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.machinery import PathFinder
from typing import Any, NamedTuple

__all__ = ["ApiRange", "Found", "installed_plugins", "installed_version", "offers_in"]

GROUP = "primax"
API_GROUP = "primax.api"
_VERSION = r"v(\d+)(?:_(\d+))?"
_HEADER = r"(?im)^(name|version):(.*)$"
_RANGE = rf"{_VERSION}(?:\s*:\s*{_VERSION})?"

Version = tuple[int, int]
Read = Callable[[str], str | None]


class ApiRange(NamedTuple):
    """The API versions that a plugin supports: `first` and later ones, before `end`."""

    first: Version
    end: Version

    @classmethod
    def parse(cls, text: str) -> ApiRange:
        """Read `v1_2` or `v1_2:v3_0`.

        Raises:
          ValueError: the text has neither form.
        """
        match = re.fullmatch(_RANGE, text.strip())
        if match is None:
            raise ValueError(f"an API range must look like 'v1_2' or 'v1_2:v3_0', got {text!r}")
        major, minor, end_major, end_minor = match.groups()
        first = (int(major), int(minor or 0))
        end = (first[0] + 1, 0) if end_major is None else (int(end_major), int(end_minor or 0))
        return cls(first, end)

    def admits(self, version: Version) -> bool:
        """Whether the range includes a version."""
        return self.first <= version < self.end

    def __str__(self) -> str:
        return f">={show_version(self.first)},<{show_version(self.end)}"


class Found(NamedTuple):
    """One offered plugin.

    Attributes:
      name: the name of the plugin's entry point; the distribution's name if its metadata cannot be read.
      distribution: the distribution that offers it.
      version: the distribution's version.
      entry_point: the object reference, `module` or `module:attribute`.
      api: its entry in group `primax.api`, as written; None without an entry.
      error: the fault in the metadata; empty if there is none.
    """

    name: str
    distribution: str
    version: str
    entry_point: str
    api: str | None = None
    error: str = ""


def show_version(version: Version) -> str:
    """A version as a text, such as `1.2`."""
    return ".".join(map(str, version))


def installed_plugins(version: str | None = None) -> tuple[list[Found], list[Found]]:
    """The plugins of primax itself, and those of all other distributions, each by name and distribution.

    Args:
      version: the version of the running primax; another version on `sys.path` offers nothing. None if the host takes
        no plugins of primax itself.
    """
    own, others = [], []
    for read in _distributions(version):
        found = _offers(read)
        if found and _is_primax(found[0].distribution):
            own += found if version is not None else []
        else:
            others += found

    def order(each: Found) -> tuple[str, ...]:
        return each.name, each.distribution, each.version, each.entry_point

    return sorted(own, key=order), sorted(others, key=order)


def _is_primax(distribution: str) -> bool:
    return _normal(distribution) == "primax"


def offers_in(group: str) -> list[Found]:
    """The entry points of all distributions in a group; distributions whose metadata cannot be read offer none."""
    found = []
    for read in _distributions():
        text = read("entry_points.txt") or ""
        if group in text:
            try:
                points = _entry_points(text, group)[group]
            except ValueError:
                continue
            distribution, version = _identity(read) if points else ("", "")
            found += [Found(name, distribution, version, value.partition("[")[0].strip()) for name, value in points]
    return sorted(found, key=lambda each: (each.name, each.distribution))


def installed_version(distribution: str) -> str | None:
    """The version of a distribution; None if it is not installed."""
    for read in _distributions():
        name, version = _identity(read)
        if _normal(name) == _normal(distribution):
            return version
    return None


def _offers(read: Read) -> list[Found]:
    """The plugins of one distribution."""
    text = read("entry_points.txt") or ""
    if GROUP not in text:
        return []
    try:
        groups = _entry_points(text, GROUP, API_GROUP)
    except ValueError as error:
        name, version = _identity(read)
        return [Found(name, name, version, "", None, f"its entry_points.txt cannot be read: {error}")]
    points, ranges = groups[GROUP], dict(groups[API_GROUP])
    if not points:
        return []
    distribution, version = _identity(read)
    names = sorted({name for name, _ in points})
    stray = sorted(ranges.keys() - set(names))
    found = []
    for name, value in points:
        problem = ""
        if stray and name not in ranges:
            problem = (
                f"its distribution states the API version of {stray[0]!r} in group {API_GROUP!r}, "
                f"but offers {', '.join(map(repr, names))}"
            )
        target = value.partition("[")[0].strip()
        found.append(Found(name, distribution, version, target, ranges.get(name), problem))
    return found


def _entry_points(text: str, *wanted: str) -> dict[str, list[tuple[str, str]]]:
    """Names and values in some groups.

    Raises:
      ValueError: a line in one of them is not of the form `name = value`.
    """
    groups: dict[str, list[tuple[str, str]]] = {group: [] for group in wanted}
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1]
        elif line and not line.startswith("#") and group in groups:
            name, equals, value = line.partition("=")
            if not equals:
                raise ValueError(f"a line must be of the form 'name = value', got {line!r}")
            groups[group].append((name.strip(), value.strip()))
    return groups


def _distributions(version: str | None = None) -> Iterator[Read]:
    """The readers of each distribution's metadata; of several distributions with one name, the first on `sys.path`.

    Distributions named primax count only if they have the given version.
    """
    seen = set()
    folders = _metadata_folders()
    if folders is not None:
        for folder in folders:
            name = _normal(os.path.basename(folder).rpartition(".")[0].partition("-")[0])
            read = partial(_read, folder)
            if name not in seen and not _is_another_primax(read, name, version):
                seen.add(name)
                yield read
        return
    for distribution in importlib.import_module("importlib.metadata").distributions():
        read = partial(_read_any, distribution)
        name = _normal(_identity(read)[0])
        if name not in seen and not _is_another_primax(read, name, version):
            seen.add(name)
            yield read


def _is_another_primax(read: Read, name: str, version: str | None) -> bool:
    return name == "primax" and version is not None and _identity(read)[1] != version


def _metadata_folders() -> list[str] | None:
    """The folders of metadata on `sys.path`; None if a distribution may be elsewhere, as in an archive.

    `importlib.metadata` finds all places, but takes five times as long, mostly for its import.
    """
    if any(hasattr(finder, "find_distributions") and finder is not PathFinder for finder in sys.meta_path):
        return None
    found = []
    for entry in sys.path:
        if entry.endswith(".egg") or os.path.isfile(entry):
            return None
        try:
            names = sorted(os.listdir(entry or "."))
        except OSError:
            continue
        found += [os.path.join(entry, name) for name in names if name.lower().endswith((".dist-info", ".egg-info"))]
    return found


def _read(folder: str, name: str) -> str | None:
    """The text of a file in a folder, whatever its bytes; None if it cannot be read."""
    try:
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return None


def _read_any(distribution: Any, name: str) -> str | None:
    """The text of a distribution's file, wherever it is; None if it cannot be read."""
    try:
        return distribution.read_text(name)  # type: ignore[no-any-return]
    except Exception:  # finders of other packages may raise anything
        return None


def _identity(read: Read) -> tuple[str, str]:
    """The name and version from their lines; parsing all metadata takes ten times as long."""
    text = read("METADATA") or read("PKG-INFO") or ""
    found = {key.lower(): value.strip() for key, value in re.findall(_HEADER, text.partition("\n\n")[0])}
    return found.get("name") or "unknown", found.get("version") or "unknown"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
