"""Links of the documentation to lines of the sources: `[`name`](../../path.py#L12)` leads to the definition of `name`.

`make surface` updates the numbers.
"""

from __future__ import annotations

import re
from pathlib import Path

from checkout import ROOT

_LINK = re.compile(r"\[`(\w+)`\]\(((?:\.\./)+[\w/]+\.py)#L(\d+)\)")


def line_of(path: Path, name: str) -> int:
    """The number of the line that defines a name.

    Raises:
      LookupError: no line defines the name.
    """
    defined = re.compile(rf"^\s*(?:def|class) {name}\b|^{name}\b.* = ")
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if defined.match(line):
            return number
    raise LookupError(f"{path.relative_to(ROOT)} defines no {name}")


def with_lines(text: str, folder: Path) -> str:
    """A page with the current line numbers in its links."""

    def linked(found: re.Match[str]) -> str:
        name, path, _ = found.groups()
        return f"[`{name}`]({path}#L{line_of((folder / path).resolve(), name)})"

    return _LINK.sub(linked, text)


def pages() -> list[Path]:
    """The pages of the documentation."""
    return sorted((ROOT / "docs").rglob("*.md"))


if __name__ == "__main__":
    for page in pages():
        text = page.read_text(encoding="utf-8")
        page.write_text(with_lines(text, page.parent), encoding="utf-8")
