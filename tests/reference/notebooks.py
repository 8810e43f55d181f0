"""Jupyter notebooks of pages: `make notebooks` writes them to build/notebooks.

The pages are the sources, and their examples are tested. A notebook has the text of a page as Markdown, and the
examples as cells without their outputs.
"""

from __future__ import annotations

import argparse
import doctest
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from checkout import ROOT

DOCS = ROOT / "docs"
PAGES = [
    "authors/elementwise.md",
    "authors/programs.md",
    "gallery/gaussian-process.md",
    "gallery/inverse-problem.md",
    "gallery/monte-carlo.md",
    "gallery/ode-fit.md",
    "gallery/regression.md",
    "gallery/small-jax.md",
    "gallery/transformer.md",
    "guide/references.md",
    "guide/solutions.md",
    "guide/training.md",
    "interpreters/abstract-interpretation.md",
]

_BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[([^\[\]]+)\]\((?!https?:)[^()\s]+\)")
_OPTION = re.compile(r" *# doctest: \+.*")


def notebook(text: str) -> dict[str, Any]:
    """The notebook of a page, in version 4.5 of the format."""
    cells = [{"id": f"cell-{i}", **cell} for i, cell in enumerate(_cells(text))]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernel}, "cells": cells}


def _cells(text: str) -> Iterator[dict[str, Any]]:
    for i, part in enumerate(_BLOCK.split(text)):
        if i % 2 == 0:
            if prose := _LINK.sub(r"\1", part).strip():  # links to other pages would lead nowhere
                yield {"cell_type": "markdown", "metadata": {}, "source": prose}
            continue
        lines: list[str] = []
        for example in doctest.DocTestParser().get_examples(part):
            lines.append(_OPTION.sub("", example.source))
            if example.want:
                yield _code(lines, raises=bool(example.exc_msg))
                lines = []
        if lines:
            yield _code(lines)


def _code(lines: list[str], *, raises: bool = False) -> dict[str, Any]:
    """A cell; one that raises an error does not end a run of the whole notebook."""
    metadata = {"tags": ["raises-exception"]} if raises else {}
    source = "".join(lines).rstrip("\n")
    return {"cell_type": "code", "metadata": metadata, "execution_count": None, "outputs": [], "source": source}


def write(folder: Path) -> list[Path]:
    """Write the notebooks of PAGES, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for page in PAGES:
        path = folder / f"{Path(page).stem}.ipynb"
        made = notebook((DOCS / page).read_text(encoding="utf-8"))
        path.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        paths.append(path)
    return paths


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="reference.notebooks", description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "notebooks", help="the folder")
    for path in write(parser.parse_args().out):
        print(path)
