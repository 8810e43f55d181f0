"""Modules written for JAX, rewritten by `primax port`; and the tables of docs/reference/porting.md, made from the data.

As a program, this writes the tables into the page.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from pathlib import Path

from primax.porting.rewrite import rewrite
from primax.porting.table import Module, table

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "reference" / "porting.md"
_TABLE = re.compile(r"(<!-- made by tests/support/porting.py: (\w+) -->\n).*?(?=<!-- end -->)", re.DOTALL)


def ported(source: str) -> str:
    """A module's source, rewritten."""
    return rewrite(source).text


def load(path: Path, *, port: bool) -> types.ModuleType:
    """A module from its source, unchanged or ported."""
    source = path.read_text(encoding="utf-8")
    module = types.ModuleType(f"{'ported' if port else 'original'}.{path.stem}")
    exec(compile(ported(source) if port else source, str(path), "exec"), vars(module))
    return module


def page(text: str) -> str:
    """The text of docs/reference/porting.md with tables made from the data."""
    tables = {"rooms": _rooms, "names": _names}
    return _TABLE.sub(lambda found: "\n".join([found[1], *tables[found[2]](), ""]), text)


def _rooms() -> Iterator[str]:
    yield "| in JAX | in primax |"
    yield "|---|---|"
    for module in table().modules.values():
        if module.to is not None:
            yield f"| `{module.name}` | `{module.to}` |"


def _names() -> Iterator[str]:
    for module in table().modules.values():
        rows = list(_rows(module))
        if rows:
            yield from (f"### {module.name}", "", "| in JAX | in primax | note |", "|---|---|---|", *rows, "")


def _rows(module: Module) -> Iterator[str]:
    if module.why is not None:
        yield f"| (the whole module) | | {module.why} |"
    to = table().counterpart(module.name)
    for name in sorted({*module.names, *module.notes}):
        path = module.names.get(name, f"{to}.{name}")
        yield f"| `{name}` | `{path}` | {module.notes.get(name, '')} |".replace("|  |", "| |")
    same: dict[str, list[str]] = {}
    for name, path in sorted(module.renamed.items()):
        parent = path.rpartition(".")[0]
        same.setdefault(f"{parent}.*" if path == f"{parent}.{name}" else path, []).append(name)
    for path, names in same.items():
        path = path.replace("*", names[0]) if len(names) == 1 else path
        yield f"| {_listed(names)} | `{path}` | removed in JAX; `primax port` writes this |"
    reasons: dict[str, list[str]] = {}
    for name, why in sorted((name, why) for name, why in module.absent.items() if name not in module.renamed):
        reasons.setdefault(why, []).append(name)
    for why, names in sorted(reasons.items(), key=lambda row: row[1]):
        yield f"| {_listed(names)} | | {why} |"
    if module.later:
        yield f"| {_listed(sorted(module.later))} | | not in primax yet |"


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    DOCUMENT.write_text(page(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
