"""Every dotted name that a page, a message, a docstring or the porting table shows is there as it is written."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections import defaultdict
from collections.abc import Iterator

from checkout import ROOT, python_files
from resolves import unresolved

from primax.porting.lookup import ported_path
from primax.porting.table import public_names, table

PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES += sorted((ROOT / "examples").glob("**/README.md"))

# The names by which the documents import modules.
SHORT = {
    "px": "primax",
    "pnp": "primax.numpy",
    "checkify": "primax.experimental.checkify",
    "pe": "primax.extend.interpreters.partial_eval",
    **{name: f"primax.{name}" for name in ("config", "debug", "dtypes", "lax")},
    **{name: f"primax.extend.{name}" for name in ("core", "derive", "effects", "ffi", "source_info_util")},
    **{name: f"primax.extend.interpreters.{name}" for name in ("ad", "batching", "mlir", "partial_eval", "xla")},
}

FILE = r"(?!\w*\.(?:md|py|json|toml|in)\b)"
NAME = re.compile(rf"(?<![\w./:@-])(?:primax|px|pnp)(?:{FILE}\.[A-Za-z_]\w*)+")
CODE = re.compile(rf"(?<=`)(?:{'|'.join(SHORT)})(?:{FILE}\.[A-Za-z_]\w*)+")
IMPORTS = re.compile(r"^ *(?:from|import) .*$", re.MULTILINE)
# Where a name is the path of a module, which need not be an attribute of its package, or of a class in a traceback.
IMPORTED = re.compile(r"(?:\b(?:[Ii]mports?|from)|-m|entry point)\s+`?$|^ImportError: $|^$")

# What looks like a name of primax and is none.
OTHER = {"primax.api"}  # a group of entry points
FROM_PLUGINS = ("primax.contrib.", "primax.plugins.NAME", "primax.plugins.samples.NAME")  # of examples


def shown() -> Iterator[tuple[str, str, bool]]:
    """The names, where each is shown, and whether it is there as a path of modules."""
    for page in PAGES:
        for line in page.read_text(encoding="utf-8").splitlines():
            for found in (*NAME.finditer(line), *CODE.finditer(line)):
                is_code = found.start() == 0 and not found[0].startswith("primax")  # a line of a program
                yield found[0], page.name, bool(IMPORTED.search(line[: found.start()])) and not is_code
    for path in python_files():
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if NAME.search(IMPORTS.sub("", text)) else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                for line in map(str.strip, node.value.splitlines()):
                    for found in NAME.finditer(line):
                        place = f"{path.relative_to(ROOT)}:{node.lineno}"
                        yield found[0], place, bool(IMPORTED.search(line[: found.start()]))


def full(name: str) -> str:
    first, _, rest = name.partition(".")
    return f"{SHORT.get(first, first)}.{rest}"


def is_path(name: str) -> bool:
    """Whether a name is that of a module, or of an attribute of one."""
    module = name.rpartition(".")[0]
    try:
        if importlib.util.find_spec(name) is not None:
            return True
    except ModuleNotFoundError:
        pass
    return hasattr(importlib.import_module(module), name.rpartition(".")[2])


def test_shown_names_are_there() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for name, place, imported in shown():
        path = full(name)
        if path in OTHER or path.startswith(FROM_PLUGINS):
            continue
        if not imported:
            places[path].append(place)
        elif not is_path(path):
            places[path].append(f"{place}, as a path of modules")
    assert len(places) > 500
    names = [f"{module}.{name}" for module, names in public_names().items() for name in names]
    ported = {path: name for name in (*names, *public_names()) if (path := ported_path(name)) is not None}
    assert len(ported) > 2000
    for row in table().modules.values():
        ported.update(dict.fromkeys((*row.names.values(), *row.renamed.values(), *filter(None, [row.to])), row.name))
    for path, name in ported.items():
        if path.startswith("primax."):
            places[path].append(f"written by `primax port` for {name}")
    wrong = {line: places.get(line.partition(":")[0], "") for line in unresolved(places)}
    assert not wrong
