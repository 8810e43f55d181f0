"""The drawing of a program before and after discharge in docs/images/discharge.svg; `make surface` writes it."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from checkout import ROOT

import primax as px
from primax.extend.core import ClosedJaxpr, Literal
from primax.plugins.state import AbstractRef, discharge

FILE = ROOT / "docs" / "images" / "discharge.svg"

_WIDTH, _LEFT, _BOX, _ROW, _TITLE, _HEIGHT = 640, 75, 490, 48, 44, 30


def update(ref: Any, x: Any) -> Any:
    """The function that the page shows."""
    ref[0] = x
    total = ref[...].sum()
    ref[1] = total
    return total


def programs() -> tuple[ClosedJaxpr, ClosedJaxpr]:
    """The program of the function, and the one that is lowered."""
    program = px.make_jaxpr(update)(px.new_ref(np.zeros(3, np.float32)), np.float32(1))
    return program, discharge(program).program


def rows(program: ClosedJaxpr) -> list[str]:
    """The printed program: its arguments, its equations, its results."""
    first, *equations, last = str(program).splitlines()
    opening, closing = "{ lambda ; ", ". let"
    assert first.startswith(opening)
    assert first.endswith(closing)
    assert len(equations) == len(program.jaxpr.eqns)
    return [first[len(opening) : -len(closing)], *map(str.strip, equations), last.removesuffix("}").strip()]


def uses(program: ClosedJaxpr) -> list[tuple[int, int, Any]]:
    """Which row defines a variable, which row uses it, and the variable."""
    jaxpr = program.jaxpr
    defined = dict.fromkeys(jaxpr.invars, 0)
    found = []
    for i, operands, results in [
        *((i, eqn.invars, eqn.outvars) for i, eqn in enumerate(jaxpr.eqns, 1)),
        (len(jaxpr.eqns) + 1, jaxpr.outvars, ()),
    ]:
        found += [(defined[x], i, x) for x in dict.fromkeys(operands) if not isinstance(x, Literal)]
        defined.update(dict.fromkeys(results, i))
    return found


def panel(program: ClosedJaxpr, top: int, title: str, contents: Any) -> list[str]:
    """A box for each row; an arc for each use of a variable, bold for the reference and for its contents."""
    middle = [top + _TITLE + _ROW * i + _HEIGHT // 2 for i in range(len(program.jaxpr.eqns) + 2)]
    parts = [f'<text class="title" x="{_LEFT}" y="{top + 26}">{escape(title)}</text>']
    for start, end, var in uses(program):
        of_ref = type(var.aval) is AbstractRef
        kind, edge, way = ("held", _LEFT, -1) if of_ref or var.aval == contents else ("value", _LEFT + _BOX, 1)
        reach = edge + way * (14 + 12 * (end - start))
        head = f"M{edge} {middle[end] - 5} l{way * 9} -4 v8 z"
        curve = f"M{edge} {middle[start] + 5} C{reach} {middle[start] + 5} {reach} {middle[end] - 5} "
        parts.append(f'<path class="{kind}" d="{curve}{edge + way * 8} {middle[end] - 5}"/>')
        parts.append(f'<path class="{kind} head" d="{head}"/>')
    for y, text in zip(middle, rows(program), strict=True):
        parts.append(f'<rect x="{_LEFT}" y="{y - _HEIGHT // 2}" width="{_BOX}" height="{_HEIGHT}" rx="5"/>')
        parts.append(f'<text x="{_LEFT + 10}" y="{y + 4}">{escape(text)}</text>')
    return parts


def _bottom(program: ClosedJaxpr, top: int) -> int:
    return top + _TITLE + _ROW * (len(program.jaxpr.eqns) + 2)


def drawing() -> str:
    """The drawing as SVG: the program of a function, and below it the one that is lowered."""
    before, after = programs()
    contents = before.jaxpr.invars[0].aval.inner_aval
    middle, bottom = _bottom(before, 0), _bottom(after, _bottom(before, 0))
    style = (
        "svg{font:12px ui-monospace,monospace;color:#222;--paper:#fff;--edge:#456;--held:#c2410c;--value:#89a}"
        "@media (prefers-color-scheme:dark){"
        "svg{color:#e4e9f2;--paper:#181e29;--edge:#7d8fb0;--held:#fb923c;--value:#66779a}}"
        "rect{fill:var(--paper);stroke:var(--edge)}text{fill:currentColor}"
        ".title{font:bold 15px system-ui,sans-serif}path{fill:none}"
        ".held{stroke:var(--held);stroke-width:2.5}.value{stroke:var(--value);stroke-width:1.5}"
        ".held.head{fill:var(--held);stroke:none}.value.head{fill:var(--value);stroke:none}"
    )
    parts = [
        f"<style>{style}</style>",
        *panel(before, 0, "before: a is a reference", contents),
        *panel(after, middle, "after: a is an array, and g has the new contents", contents),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {bottom}" role="img" '
        'aria-label="A program that writes to a reference, and the program without references that is lowered">\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


if __name__ == "__main__":
    FILE.write_text(drawing(), encoding="utf-8")
    print(f"drew {FILE.relative_to(ROOT)}")
