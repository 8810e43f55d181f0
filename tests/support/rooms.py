"""The drawing of the rooms in docs/images/rooms.svg, from the imports of the sources; `make surface` writes it."""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from functools import cache
from html import escape
from pathlib import Path
from textwrap import wrap

from checkout import ROOT

FILE = ROOT / "docs" / "images" / "rooms.svg"

# From top to bottom: the folder, what it contains, and the package that it is installed as.
ROOMS = {
    "api": ("what users call", "primax"),
    "plugins": ("the primitives, a family each, with their rules", "primax.plugins"),
    "extend": ("what authors of plugins and interpreters call; the plugin host", "primax.extend"),
    "interpreters/runtime": (
        "lowering, compilation, execution; arrays, meshes and devices",
        "primax.interpreters.runtime",
    ),
    "interpreters": ("the transformations", "primax.interpreters"),
    "core": ("programs, types, traces and rule tables", "primax.core"),
}
_WIDTH, _LEFT, _RIGHT, _LINE, _SHOWN = 1060, 20, 760, 15, 104


@cache
def room_of(path: Path) -> str:
    """The room of a source file."""
    inside = path.relative_to(ROOT).as_posix()
    return max((room for room in ROOMS if inside.startswith(f"{room}/")), key=len)


@cache
def files_of(room: str) -> list[Path]:
    """The sources of a room, with those of its folders."""
    return [path for path in sorted((ROOT / room).rglob("*.py")) if room_of(path) == room]


# The examples of a docstring, which are at its end, with the lines that a docstring without them does not need; and
# strings of examples.
_EXAMPLES = re.compile(r'\n\n +Examples:\n.*?\n +(?=""")|(?<=""")\n>>> .*?\n(?=""")', re.DOTALL)


def without_examples(path: Path) -> str:
    """The text of a source without the examples in its docstrings."""
    return _EXAMPLES.sub("", path.read_text(encoding="utf-8"))


def lines_of(paths: list[Path]) -> int:
    """The number of lines of sources, without the examples in docstrings."""
    return sum(len(without_examples(path).splitlines()) for path in paths)


def contents(room: str) -> list[str]:
    """The names of the files and folders of a room."""
    folder = ROOT / room
    inner = {path.relative_to(folder).parts[0] + "/" for path in files_of(room) if path.parent != folder}
    return sorted(inner | {path.stem for path in files_of(room) if path.parent == folder and path.stem[0] != "_"})


@cache
def imports() -> Counter[tuple[str, str]]:
    """How many imports one room has of another."""
    packages = {package: room for room, (_, package) in ROOMS.items()}
    found: Counter[tuple[str, str]] = Counter()
    for room in ROOMS:
        for path in files_of(room):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "primax":
                    for alias in node.names:
                        name = f"{node.module}.{alias.name}."
                        other = packages[max((p for p in packages if name.startswith(f"{p}.")), key=len)]
                        if other != room:
                            found[room, other] += 1
    return found


def drawing() -> str:
    """The drawing as SVG: a box for each room, and a line for each pair of rooms of which one imports the other."""
    boxes, places, top = [], {}, 20
    for room, (what, package) in ROOMS.items():
        rows = wrap(", ".join(contents(room)), _SHOWN)
        height = 54 + _LINE * len(rows)
        places[room] = top + height / 2
        thousands = lines_of(files_of(room)) / 1000
        boxes += [
            f'<rect x="{_LEFT}" y="{top}" width="{_RIGHT - _LEFT}" height="{height}" rx="6"/>',
            f'<text class="title" x="{_LEFT + 14}" y="{top + 22}">{room}/</text>',
            f'<text class="lines" x="{_RIGHT - 14}" y="{top + 22}">{thousands:.0f},000 lines, {package}</text>',
            f'<text x="{_LEFT + 14}" y="{top + 40}">{escape(what)}</text>',
        ]
        boxes += [
            f'<text class="files" x="{_LEFT + 14}" y="{top + 57 + _LINE * i}">{escape(row)}</text>'
            for i, row in enumerate(rows)
        ]
        top += height + 26
    order = list(ROOMS)
    arcs = []
    for (upper, lower), count in sorted(imports().items(), key=lambda each: order.index(each[0][0])):
        i, j = order.index(upper), order.index(lower)
        start, end = places[upper] + 5 * (j - i), places[lower] - 6 * (j - i)
        reach = _RIGHT + 40 + 46 * (j - i)
        width = 1 + round(math.log10(count))
        arcs.append(
            f'<path stroke-width="{width}" d="M{_RIGHT} {start:.0f} C{reach} {start:.0f} {reach} {end:.0f} '
            f'{_RIGHT + 8} {end:.0f}"/><path class="head" d="M{_RIGHT} {end:.0f} l12 -6 v12 z"/>'
        )
    style = (
        "svg{font:13px system-ui,sans-serif;color:#222;--paper:#fff;--edge:#456;--faint:#567;--arrow:#89a}"
        "@media (prefers-color-scheme:dark){"
        "svg{color:#e4e9f2;--paper:#181e29;--edge:#7d8fb0;--faint:#a7b2c6;--arrow:#66779a}}"
        "rect{fill:var(--paper);stroke:var(--edge);stroke-width:1.5}text{fill:currentColor}"
        ".title{font-weight:bold;font-size:15px}.lines{text-anchor:end;fill:var(--faint)}"
        ".files{font:11px ui-monospace,monospace;fill:var(--faint)}path{fill:none;stroke:var(--arrow)}"
        ".head{fill:var(--arrow);stroke:none}"
    )
    parts = [f"<style>{style}</style>", *arcs, *boxes]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {top}" role="img" '
        'aria-label="The rooms of primax and their imports, from api/ at the top to core/ at the bottom">\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


if __name__ == "__main__":
    FILE.write_text(drawing(), encoding="utf-8")
    print(f"drew {FILE.relative_to(ROOT)}")
