"""Installed plugins, read from the metadata of distributions; nothing of theirs is imported.

A distribution offers a plugin by an entry point in group `primax`, and states the API version that the plugin
was written for by an entry point of the same name in group `primax.api`, which is read and never loaded:

    [project.entry-points.primax]
    kepler = "primax_kepler"

    [project.entry-points."primax.api"]
    kepler = "v1_2"

`v1_2` is any version from 1.2 on and before 2.0. `v1_2:v3_0` is any version from 1.2 on and before 3.0. Both
are object references in form, so that every build backend accepts them.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

__all__ = ["ApiRange", "Found", "installed_plugins"]

GROUP = "primax"
API_GROUP = "primax.api"
_VERSION = r"v(\d+)(?:_(\d+))?"
_HEADER = r"(?im)^(name|version):(.*)$"
_RANGE = rf"{_VERSION}(?:\s*:\s*{_VERSION})?"

Version = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ApiRange:
    """The API versions a plugin can work with: `first` and later ones, before `end`."""

    first: Version
    end: Version

    @classmethod
    def parse(cls, text: str) -> ApiRange:
        """Read `v1_2` or `v1_2:v3_0`.

        Raises:
          ValueError: it is neither.
        """
        match = re.fullmatch(_RANGE, text.strip())
        if match is None:
            raise ValueError(f"an API range must look like 'v1_2' or 'v1_2:v3_0', got {text!r}")
        major, minor, end_major, end_minor = match.groups()
        first = (int(major), int(minor or 0))
        end = (first[0] + 1, 0) if end_major is None else (int(end_major), int(end_minor or 0))
        return cls(first, end)

    def __contains__(self, version: Version) -> bool:
        return self.first <= version < self.end

    def __str__(self) -> str:
        return f">={show_version(self.first)},<{show_version(self.end)}"


@dataclass(frozen=True, slots=True)
class Found:
    """One offered plugin.

    Attributes:
      name: the plugin's name, that of its entry point; the distribution's if its metadata cannot be read.
      distribution: the distribution that offers it.
      version: the distribution's version.
      entry_point: what to import: `module` or `module:attribute`.
      api: what it states in group `primax.api`, as written; None if it states nothing.
      error: what is wrong with the metadata, if anything.
    """

    name: str
    distribution: str
    version: str
    entry_point: str
    api: str | None = None
    error: str = ""


def show_version(version: Version) -> str:
    """`1.2`, for messages."""
    return ".".join(map(str, version))


def installed_plugins() -> list[Found]:
    """Every plugin that a distribution other than primax offers, by name and distribution."""
    metadata = importlib.import_module("importlib.metadata")  # 12 ms that `import primax` does not spend
    try:
        found = _offers(metadata.entry_points(group=GROUP))
    except Exception:  # one distribution's metadata is malformed: read the others one by one
        found = _one_by_one(metadata)
    return sorted(found, key=lambda each: (each.name, each.distribution, each.version, each.entry_point))


def _offers(points: Iterable[Any]) -> list[Found]:
    found = []
    offered: dict[tuple[str, str], list[Any]] = {}
    for point in points:
        offered.setdefault(_identity(point.dist), []).append(point)
    for (distribution, version), own in offered.items():
        if _normal(distribution) == "primax":
            continue
        names = {point.name for point in own}
        ranges = {point.name: point.value for point in own[0].dist.entry_points if point.group == API_GROUP}
        stray = sorted(ranges.keys() - names)
        for point in own:
            error = ""
            if stray and point.name not in ranges:
                error = (
                    f"its distribution states the API version of {stray[0]!r} in group {API_GROUP!r}, "
                    f"but offers {', '.join(map(repr, sorted(names)))}"
                )
            target = point.value.partition("[")[0].strip()
            found.append(Found(point.name, distribution, version, target, ranges.get(point.name), error))
    return found


def _one_by_one(metadata: Any) -> list[Found]:
    found = []
    seen = set()
    for distribution in metadata.distributions():
        name, version = _identity(distribution)
        if _normal(name) in seen:
            continue
        seen.add(_normal(name))
        try:
            found += _offers([point for point in distribution.entry_points if point.group == GROUP])
        except Exception as error:
            if GROUP in (distribution.read_text("entry_points.txt") or ""):
                problem = f"its entry_points.txt cannot be read: {error!r}"
                found.append(Found(name, name, version, "", None, problem))
    return found


def _identity(distribution: Any) -> tuple[str, str]:
    """Name and version, read off the lines that say so: parsing all metadata takes ten times as long."""
    try:
        text = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or ""
    except Exception:
        return "unknown", "unknown"
    found = {key.lower(): value.strip() for key, value in re.findall(_HEADER, text.partition("\n\n")[0])}
    return found.get("name") or "unknown", found.get("version") or "unknown"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
