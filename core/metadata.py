"""What a package says of its plugin in a file, so that it need not be imported to be known."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["FILE", "awaited", "describe", "read", "unsaid"]

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


def awaited(metadata: dict[str, Any], package: str) -> list[tuple[str, str]] | None:
    """What a plugin can wait for: it is loaded when somebody imports its package, or asks for one of these.

    Args:
      metadata: the contents of its file.
      package: its name.

    Returns:
      Pairs of a name and a kind: of a primitive and a kind of rule, or of an operator and `"operator"`. None if it has
      something of which nobody could tell that it is asked for, so that it cannot wait.
    """
    found = []
    for entry in metadata["extends"]:
        name, _, kind = entry.rpartition(" ")
        if kind in _READ_DIRECTLY:
            return None
        if kind != "samples":
            found.append((name, kind))
    for entry in metadata["others"]:
        what, _, name = entry.partition(" ")
        if what == "operator":
            found.append((name, what))
        elif what == "function":  # `primax.contrib` loads the plugin by its name
            continue
        elif what not in _OF_CLASSES or name.partition(".")[0] != package:
            return None
    return found


# Kinds of rules that are looked up without asking for plugins, since most primitives have none.
_READ_DIRECTLY = frozenset(
    ("axis_batch", "check", "dce", "named_axes", "partial_eval", "partial_eval_jaxpr", "print", "staging", "variance")
)
_OF_CLASSES = ("aval", "effect", "protocol")  # whoever uses a class has imported its package


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
            others.add(f"{entry.what} {entry.home}{'.' if entry.home else ''}{entry.name}")
    return {
        "primitives": {name: sorted(kinds) for name, kinds in sorted(primitives.items())},
        "extends": sorted(extends),
        "others": sorted(others),
    }


def unsaid(found: dict[str, Any], entries: Iterable[Any]) -> list[str]:
    """What a plugin has entered for others to meet, without a word of it in its file."""
    want = describe(entries)
    return [entry for name in _LISTS for entry in want[name] if entry not in found[name]]
