"""Porting a module written for JAX: its imports are rewritten by the table in docs/porting.md, and nothing else."""

from __future__ import annotations

import re
import types
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "porting.md"
_ROW = re.compile(r"^\| `([\w.]+)` \| `([\w.]+)` \|", re.MULTILINE)


@cache
def replacements() -> dict[str, str]:
    """What each module of JAX is called in primax, from the document's section on imports."""
    text = DOCUMENT.read_text(encoding="utf-8")
    section = text.split("\n## Imports\n")[1].split("\n## ")[0]
    return dict(_ROW.findall(section))


def renamed(dotted: str) -> str:
    """The new name of a module or of a name within it: that of the longest part which the table has."""
    parts = dotted.split(".")
    for end in range(len(parts), 0, -1):
        found = replacements().get(".".join(parts[:end]))
        if found is not None:
            return ".".join([found, *parts[end:]])
    return dotted


def ported(source: str) -> str:
    """A module's source with its imports rewritten."""
    return "\n".join(_ported_line(line) for line in source.split("\n"))


def _ported_line(line: str) -> str:
    found = re.fullmatch(r"from ([\w.]+) import ([\w, ]+)", line)
    if found:
        lines = []
        for item in found[2].split(","):
            name, _, alias = item.strip().partition(" as ")
            module, _, new = renamed(f"{found[1]}.{name}").rpartition(".")
            lines.append(f"from {module} import {new} as {alias or name}")
        return "; ".join(lines)
    found = re.fullmatch(r"import ([\w.]+)(?: as (\w+))?", line)
    if found and (new := renamed(found[1])) != found[1]:
        return f"import {new} as {found[2] or found[1]}"
    return line


def load(path: Path, *, port: bool) -> types.ModuleType:
    """A module from its source, as it is or ported."""
    source = path.read_text(encoding="utf-8")
    module = types.ModuleType(f"{'ported' if port else 'original'}.{path.stem}")
    exec(compile(ported(source) if port else source, str(path), "exec"), vars(module))
    return module
