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

import re
from typing import NamedTuple

from primax.interpreters.runtime.distributions import PRIMAX, Read, distributions, entry_points, identity, normalized

__all__ = ["ApiRange", "Found", "installed_plugins"]

GROUP = "primax"
API_GROUP = "primax.api"
_VERSION = r"v(\d+)(?:_(\d+))?"
_RANGE = rf"{_VERSION}(?:\s*:\s*{_VERSION})?"

Version = tuple[int, int]


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
    for read in distributions(version):
        offers = _offers(read)
        if offers and normalized(offers[0].distribution) == PRIMAX:
            own += offers if version is not None else []
        else:
            others += offers

    def order(plugin: Found) -> tuple[str, ...]:
        return plugin.name, plugin.distribution, plugin.version, plugin.entry_point

    return sorted(own, key=order), sorted(others, key=order)


def _offers(read: Read) -> list[Found]:
    """The plugins of one distribution."""
    text = read("entry_points.txt") or ""
    if GROUP not in text:
        return []
    try:
        groups = entry_points(text, GROUP, API_GROUP)
    except ValueError as error:
        name, version = identity(read)
        return [Found(name, name, version, "", None, f"its entry_points.txt cannot be read: {error}")]
    points, ranges = groups[GROUP], dict(groups[API_GROUP])
    if not points:
        return []
    distribution, version = identity(read)
    names = sorted({name for name, _ in points})
    stray = sorted(ranges.keys() - set(names))
    offers = []
    for name, value in points:
        problem = ""
        if stray and name not in ranges:
            problem = (
                f"its distribution states the API version of {stray[0]!r} in group {API_GROUP!r}, "
                f"but offers {', '.join(map(repr, names))}"
            )
        target = value.partition("[")[0].strip()
        offers.append(Found(name, distribution, version, target, ranges.get(name), problem))
    return offers
