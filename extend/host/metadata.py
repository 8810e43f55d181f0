"""Files that describe the plugins of a package, so that the host need not import them."""

from __future__ import annotations

import importlib
import importlib.util
from functools import lru_cache
from pathlib import Path
from typing import Any

__all__ = ["FILE", "FLAGS", "LISTS", "OF_CLASSES", "manifest_triggers", "read"]

FILE = "primax.json"
LISTS = ("extends", "others")
FLAGS = ("essential", "deferred", "proven", "experimental")


def read(module: str, plugin: str = "") -> dict[str, Any] | None:
    """The file's description of a plugin; None if there is no file. Nothing is imported.

    The file is in the folder of the module, or of the nearest package around the module. If several plugins share one
    file, it is a mapping `{"plugins": {name: description}}`.

    Args:
      module: the module in the entry point.
      plugin: the name of the plugin.

    Raises:
      ValueError: the contents of the file are invalid; the message names the fault.
    """
    try:
        spec = importlib.util.find_spec(module.partition(".")[0])
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None or not spec.submodule_search_locations:
        return None
    folder = Path(next(iter(spec.submodule_search_locations)))
    folders = [folder]
    for part in module.split(".")[1:]:
        folders.append(folders[-1] / part)
    contents = next((data for folder in reversed(folders) if (data := _contents(folder / FILE)) is not None), None)
    return contents.get("plugins", {}).get(plugin) if contents is not None and "plugins" in contents else contents


def _contents(path: Path) -> dict[str, Any] | None:
    """The contents of a file, checked; None if the file does not exist."""
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        return None
    return _parsed(path, changed)


@lru_cache(maxsize=64)
def _parsed(path: Path, changed: int) -> dict[str, Any]:
    """The contents of a file at the time of its last change."""
    try:
        contents = importlib.import_module("json").loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
    several = contents.get("plugins") if isinstance(contents, dict) else None
    described = several.values() if isinstance(several, dict) else [contents]
    if not all(map(_is_description, described)):
        raise ValueError(
            f"{path} must have primitives, each with a list of kinds of rules, and lists extends and others; "
            "experimental, essential, deferred and proven must be true or false"
        )
    return contents  # type: ignore[no-any-return]


def _is_description(description: Any) -> bool:
    primitives = description.get("primitives") if isinstance(description, dict) else None
    if not isinstance(primitives, dict):
        return False
    texts = [*primitives.values(), *(description.get(name) for name in LISTS)]
    return all(isinstance(each, list) and all(isinstance(text, str) for text in each) for each in texts) and all(
        isinstance(description.get(name, False), bool) for name in FLAGS
    )


def manifest_triggers(metadata: dict[str, Any], package: str) -> list[tuple[str, str]] | None:
    """The entries that load a waiting plugin, besides the import of its package.

    Args:
      metadata: the contents of its file.
      package: the package of the plugin, whose classes do not count; of a family, its module.

    Returns:
      Pairs of an entry and its kind or owner: `"jvp rule"` and a primitive, `"operator"`, `"effect"` and a class,
      `"generator in mylib.solvers"` and a name there. None if the plugin cannot wait, because the use of one of its
      entries could not be noticed.
    """
    triggers = []
    for entry in metadata["extends"]:
        name, _, kind = entry.rpartition(" ")
        if kind != "samples":
            triggers.append((name, f"{kind} rule"))
    for entry in metadata["others"]:
        what, _, name = entry.partition(" ")
        name, _, home = name.partition(" in ")
        if home:
            triggers.append((name, f"{what} in {home}"))
        elif what in ("operator", *OF_CLASSES):
            if what not in OF_CLASSES or name.partition(".")[0] != package:
                triggers.append((name, what))
        elif what != "function":  # `primax.contrib` loads these by the name of the plugin
            return None
    return triggers


OF_CLASSES = ("aval", "effect", "protocol")  # programs that use a class of the package have imported the package
