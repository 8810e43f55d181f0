"""What a package says of its plugin in a file, so that it need not be imported to be known."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["FILE", "describe", "read", "stands_alone"]

FILE = "primax.json"
_LISTS = ("extends", "others")


def read(module: str) -> dict[str, Any] | None:
    """The contents of the file beside a plugin's package; None if there is none. Nothing is imported.

    Args:
      module: that the entry point names.

    Raises:
      ValueError: the file is not as it must be; the message says what is wrong.
    """
    try:
        spec = importlib.util.find_spec(module.partition(".")[0])
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None or not spec.submodule_search_locations:
        return None
    path = Path(next(iter(spec.submodule_search_locations)), FILE)
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
    primitives = found.get("primitives") if isinstance(found, dict) else None
    right = isinstance(primitives, dict) and all(isinstance(kinds, list) for kinds in primitives.values())
    if not right or not all(isinstance(found.get(name), list) for name in _LISTS):
        raise ValueError(
            f"{path} must have primitives, each with a list of kinds of rules, and lists extends and others"
        )
    return found  # type: ignore[no-any-return]


def stands_alone(metadata: dict[str, Any]) -> bool:
    """Whether a plugin has nothing but primitives of its own: a program that binds none of them can do without it."""
    return not any(metadata[name] for name in _LISTS)


def describe(entries: Iterable[Any]) -> dict[str, Any]:
    """What the file should say of a plugin that has entered these."""
    entries = list(entries)
    own = {entry.name: entry.name.rpartition("::")[2] for entry in entries if entry.what == "primitive"}
    primitives: dict[str, list[str]] = {short: [] for short in own.values()}
    extends, others = set(), set()
    for entry in entries:
        if entry.what == "rule" and entry.name in own:
            primitives[own[entry.name]].append(entry.kind)
        elif entry.what in ("rule", "unsupported", "samples"):
            if entry.name not in own:
                extends.add(f"{entry.name} {entry.kind or entry.what}")
        elif entry.what != "primitive":
            others.add(f"{entry.what} {entry.name}")
    return {
        "primitives": {name: sorted(kinds) for name, kinds in sorted(primitives.items())},
        "extends": sorted(extends),
        "others": sorted(others),
    }
