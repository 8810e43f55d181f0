"""The page of a report: one HTML file that shows the pictures in its folder."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

__all__ = ["Picture", "page"]


class Picture(NamedTuple):
    """A picture file in the page's folder, with its title and caption."""

    file: str
    title: str
    caption: str


STYLE = """
:root { color-scheme: light; --ink: #22304a; --faint: #6b7690; --line: #e3e7ee; --blue: #3565c4 }
* { box-sizing: border-box }
body { margin: 0; background: #f5f6f9; color: var(--ink); font: 16px/1.55 system-ui, sans-serif }
main { max-width: 1020px; margin: 0 auto; padding: 3rem 1.25rem 4rem }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .5rem }
h2 { font-size: 1.15rem; margin: 0 }
p { margin: .25rem 0 0; color: var(--faint) }
.numbers { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: .75rem; margin: 2rem 0 }
.numbers div, figure { background: white; border: 1px solid var(--line); border-radius: 12px; padding: 1rem 1.25rem }
.numbers b { display: block; font-size: 1.5rem; line-height: 1.3; color: var(--blue) }
.numbers span { color: var(--faint); font-size: .85rem }
figure { margin: 0 0 1.25rem; padding: 1.25rem }
figure img { display: block; max-width: 100%; height: auto; margin: 1rem auto 0 }
"""


def page(title: str, subtitle: str, numbers: list[tuple[str, str]], pictures: list[Picture]) -> str:
    """The page as text.

    Args:
      title, subtitle: the heading.
      numbers: numbers with their descriptions.
      pictures: the pictures below the numbers.
    """
    cards = "\n".join(f"<div><b>{escape(number)}</b><span>{escape(what)}</span></div>" for number, what in numbers)
    figures = "\n".join(
        f"<figure><h2>{escape(each.title)}</h2><p>{escape(each.caption)}</p>"
        f'<a href="{each.file}"><img src="{each.file}" alt="{escape(each.title)}"></a></figure>'
        for each in pictures
    )
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{STYLE}</style>
<main>
<h1>{escape(title)}</h1>
<p>{escape(subtitle)}</p>
<section class="numbers">
{cards}
</section>
{figures}
</main>
</html>
"""
