"""The page of a report: HTML with pictures from its folder, for wide and narrow windows, light and dark."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import NamedTuple

__all__ = ["COLORS", "Cell", "Chapter", "Section", "drawing", "files", "grid", "image", "page"]

COLORS = {
    "page": ("#f4f6fa", "#10141c"),
    "card": ("#ffffff", "#181e29"),
    "code": ("#f4f6fa", "#10141c"),
    "line": ("#dde3ec", "#2c3546"),
    "grid": ("#e8ebf0", "#252d3c"),
    "ink": ("#22304a", "#e4e9f2"),
    "faint": ("#5c6880", "#9aa6bb"),
    "blue": ("#2f5fb3", "#82aaf5"),
    "light-blue": ("#c6d7f5", "#2a4273"),
    "orange": ("#b3540f", "#f3a468"),
    "light-orange": ("#fbe0cc", "#533317"),
    "green": ("#2c7338", "#7fc98b"),
}
"""The colours of the page and of its pictures, on light and on dark screens."""

_LIGHT, _DARK = ("; ".join(f"--{name}: {pair[i]}" for name, pair in COLORS.items()) for i in (0, 1))

STYLE = f"""
:root {{ color-scheme: light dark; {_LIGHT} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_DARK} }} .ink {{ filter: invert(1) }} }}
* {{ box-sizing: border-box }}
body {{ margin: 0; background: var(--page); color: var(--ink); font: 16px/1.55 system-ui, sans-serif }}
main {{ max-width: 1020px; margin: 0 auto; padding: 3rem 1.25rem 4rem }}
h1 {{ font-size: 2rem; line-height: 1.2; margin: 0 0 .5rem }}
h2 {{ font-size: 1.4rem; line-height: 1.3; margin: 3rem 0 .25rem }}
h3 {{ font-size: 1.1rem; margin: 0 }}
p {{ margin: .25rem 0 0; color: var(--faint); max-width: 75ch }}
a {{ color: var(--blue) }}
code, pre {{ font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }}
code {{ font-size: .9em }}
pre {{ margin: 1rem 0 0; padding: 1rem; border-radius: 8px; background: var(--code); overflow-x: auto;
  font-size: .8rem; line-height: 1.5 }}
.keyword {{ color: var(--blue); font-weight: 600 }} .string {{ color: var(--green) }} .comment {{ color: var(--faint) }}
.numbers {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(132px, 1fr)); gap: .75rem; margin: 2rem 0 }}
.numbers div, section {{ background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  padding: 1rem 1.25rem }}
.numbers b {{ display: block; white-space: nowrap; font-size: 1.5rem; line-height: 1.3; color: var(--blue) }}
.numbers span {{ display: block; color: var(--faint); font-size: .85rem; line-height: 1.35 }}
section {{ margin: 1.25rem 0 0; padding: 1.25rem }}
.files {{ display: flex; flex-wrap: wrap; justify-content: center; gap: 1rem; margin-top: 1rem }}
.files img {{ flex: 1 1 300px; min-width: 0; max-width: min(100%, 480px); height: auto }}
.drawing {{ margin-top: 1rem; border: 1px solid var(--line); border-radius: 8px }}
.drawing img {{ display: block; width: 100%; height: auto }}
.grid {{ display: grid; grid-template-columns: repeat(var(--columns), 1fr); gap: 1rem .75rem; margin-top: 1rem }}
.grid figure {{ margin: 0; min-width: 0 }}
.grid figcaption {{ color: var(--faint); font-size: .8rem; line-height: 1.35; text-align: center; margin-top: .35rem;
  overflow-wrap: anywhere; white-space: pre-line }}
.grid figcaption b {{ color: var(--ink); font-weight: 600 }} .grid figcaption b.wrong {{ color: var(--orange) }}
.grid img {{ display: block; width: 100%; border-radius: 3px }}
.grid img + img, .grid img + svg {{ margin-top: .35rem }}
.pixels {{ image-rendering: pixelated; border: 1px solid var(--line) }}
.bars {{ display: block; width: 100%; fill: var(--faint); font-size: 15px; text-anchor: middle }}
.bars .label {{ fill: var(--blue) }} .bars .wrong {{ fill: var(--orange) }}
.chips {{ display: flex; flex-wrap: wrap; gap: .3rem; margin-top: 1rem;
  font: .72rem/1.3 ui-monospace, Menlo, monospace }}
.chips span {{ padding: .12rem .4rem; border-radius: 5px }}
.chain {{ list-style: none; margin: 1rem auto 0; padding: 0; max-width: 52ch;
  font: .78rem/1.4 ui-monospace, Menlo, monospace }}
.chain li {{ display: grid; grid-template-columns: minmax(0, 30ch) 1fr; gap: 1ch; align-items: center }}
.chain li + li::before {{ content: "↓"; grid-column: 1 / 3; padding-left: 13ch; color: var(--faint); line-height: 1.2 }}
.chain span {{ padding: .3rem .6rem; border-radius: 6px; overflow-wrap: anywhere }}
.chain b {{ display: block }}
.chain i {{ font-style: normal; color: var(--faint) }} .chain i::before {{ content: "← " }}
.chips span, .chain span {{ background: var(--grid) }}
.chips .third, .chain .third {{ background: var(--orange); color: var(--card); font-weight: 600 }}
.chips .heavy, .chain .heavy {{ background: var(--light-blue) }}
.chips .inner, .chain .inner {{ background: var(--light-orange) }}
@media (max-width: 640px) {{
  main {{ padding: 2rem .75rem 3rem }}
  h1 {{ font-size: 1.6rem }}
  section {{ padding: 1rem .9rem }}
  pre {{ font-size: .72rem; padding: .75rem }}
  .grid {{ grid-template-columns: repeat(var(--narrow), 1fr); gap: .75rem .5rem }}
}}
"""


class Chapter(NamedTuple):
    """A heading above sections."""

    title: str
    text: str


class Section(NamedTuple):
    """A part of the page: its heading, a text, and below them HTML."""

    title: str
    text: str
    content: str


class Cell(NamedTuple):
    """Pictures above each other, as HTML, and a caption, with words to emphasize before it."""

    pictures: tuple[str, ...]
    emphasis: str = ""
    caption: str = ""
    wrong: bool = False


def files(*pictures: tuple[str, str]) -> str:
    """Pictures side by side; below each other in a narrow window.

    Args:
      pictures: pairs of a file name and a description for those who do not see the picture.
    """
    return f'<div class="files">{"".join(image(name, alt) for name, alt in pictures)}</div>'


def drawing(name: str, alt: str) -> str:
    """A link to a picture, which is shown as wide as the section."""
    return f'<div class="drawing"><a href="{name}">{image(name, alt)}</a></div>'


def image(name: str, alt: str) -> str:
    """A picture from a file.

    Args:
      name: the name of the file.
      alt: a description for those who do not see the picture.
    """
    return f'<img src="{name}" alt="{escape(alt)}">'


def grid(cells: Iterable[Cell], columns: int, narrow: int) -> str:
    """Cells in rows.

    Args:
      cells: the cells.
      columns, narrow: the number of columns in a wide and in a narrow window.
    """
    return f'<div class="grid" style="--columns: {columns}; --narrow: {narrow}">{"".join(map(_cell, cells))}</div>'


def _cell(cell: Cell) -> str:
    wrong = ' class="wrong"' if cell.wrong else ""
    emphasis = f"<b{wrong}>{escape(cell.emphasis)}</b> " if cell.emphasis else ""
    return f"<figure>{''.join(cell.pictures)}<figcaption>{emphasis}{escape(cell.caption)}</figcaption></figure>"


def page(title: str, subtitle: str, numbers: list[tuple[str, str]], parts: list[Chapter | Section]) -> str:
    """The page as text.

    Args:
      title, subtitle: the heading.
      numbers: numbers with their descriptions.
      parts: the rest of the page.
    """
    cards = "\n".join(f"<div><b>{escape(number)}</b><span>{escape(what)}</span></div>" for number, what in numbers)
    body = "\n".join(
        f"<h2>{escape(part.title)}</h2><p>{_text(part.text)}</p>"
        if isinstance(part, Chapter)
        else f"<section><h3>{escape(part.title)}</h3><p>{_text(part.text)}</p>{part.content}</section>"
        for part in parts
    )
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{STYLE}</style>
<main>
<h1>{escape(title)}</h1>
<p>{_text(subtitle)}</p>
<div class="numbers">
{cards}
</div>
{body}
</main>
</html>
"""


def _text(text: str) -> str:
    """A text in which words between backquotes are code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))
