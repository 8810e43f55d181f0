"""Installed distributions and their entry points, read from metadata without importing them."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.machinery import PathFinder
from typing import Any, NamedTuple

PRIMAX = "primax-core"  # the distribution of primax; the one named primax is another project's
_HEADER = r"(?im)^(name|version):(.*)$"

Read = Callable[[str], str | None]


class Offer(NamedTuple):
    """One entry point.

    Attributes:
      name: its name.
      distribution: the distribution that has it.
      version: the distribution's version.
      entry_point: the object reference, `module` or `module:attribute`.
    """

    name: str
    distribution: str
    version: str
    entry_point: str


def offers_in(group: str) -> list[Offer]:
    """The entry points of all distributions in a group; distributions whose metadata cannot be read offer none."""
    offers = []
    for read in distributions():
        text = read("entry_points.txt") or ""
        if group in text:
            try:
                points = entry_points(text, group)[group]
            except ValueError:
                continue
            distribution, version = identity(read) if points else ("", "")
            offers += [Offer(name, distribution, version, value.partition("[")[0].strip()) for name, value in points]
    return sorted(offers, key=lambda offer: (offer.name, offer.distribution))


def installed_version(distribution: str) -> str | None:
    """The version of a distribution; None if it is not installed."""
    for read in distributions():
        name, version = identity(read)
        if normalized(name) == normalized(distribution):
            return version
    return None


def entry_points(text: str, *sections: str) -> dict[str, list[tuple[str, str]]]:
    """Names and values in some sections of a text, by section.

    Raises:
      ValueError: a line in one of them is not of the form `name = value`.
    """
    groups: dict[str, list[tuple[str, str]]] = {section: [] for section in sections}
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


def distributions(version: str | None = None) -> Iterator[Read]:
    """The readers of each distribution's metadata; of those with the same name, the first on `sys.path`.

    Distributions of primax itself count only if they have the given version.
    """
    seen = set()
    for name, read in _readers():
        is_another = name == PRIMAX and version is not None and identity(read)[1] != version
        if name not in seen and not is_another:
            seen.add(name)
            yield read


def _readers() -> Iterator[tuple[str, Read]]:
    folders = _metadata_folders()
    if folders is not None:
        for folder in folders:
            yield normalized(os.path.basename(folder).rpartition(".")[0].partition("-")[0]), partial(_read, folder)
        return
    for distribution in importlib.import_module("importlib.metadata").distributions():
        read = partial(_read_any, distribution)
        yield normalized(identity(read)[0]), read


def _metadata_folders() -> list[str] | None:
    """The folders of metadata on `sys.path`; None if a distribution may be elsewhere, as in an archive.

    `importlib.metadata` finds all places, but takes five times as long, mostly for its import.
    """
    if any(hasattr(finder, "find_distributions") and finder is not PathFinder for finder in sys.meta_path):
        return None
    folders = []
    for entry in sys.path:
        if entry.endswith(".egg") or os.path.isfile(entry):
            return None
        try:
            names = sorted(os.listdir(entry or "."))
        except OSError:
            continue
        folders += [os.path.join(entry, name) for name in names if name.lower().endswith((".dist-info", ".egg-info"))]
    return folders


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


def identity(read: Read) -> tuple[str, str]:
    """The name and version from their lines; parsing all metadata takes ten times as long."""
    text = read("METADATA") or read("PKG-INFO") or ""
    fields = {key.lower(): value.strip() for key, value in re.findall(_HEADER, text.partition("\n\n")[0])}
    return fields.get("name") or "unknown", fields.get("version") or "unknown"


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
