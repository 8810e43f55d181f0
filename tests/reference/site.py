"""All pages of the site, and its configuration."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from checkout import ROOT

from reference import checks, modules, primitives, tables
from reference.linking import Links
from reference.staging import DOCS, Files

_CHOICE = """extra:
  version:
    provider: mike
"""


def write(folder: Path, *, release: str | None = None) -> tuple[Path, list[str]]:
    """Write the pages to `folder/docs`, where they changed.

    Args:
      folder: where.
      release: the release whose pages they are, if the site has several.

    Returns:
      The configuration for them, and the faults of the code.
    """
    files = Files()
    texts = {path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md"))}
    reference = modules.pages()
    links = Links({page.module: page.path for page in reversed(reference) if not page.chapter})
    for name, text in texts.items():
        links.read(text, name)
    generated = _generated(files, links, reference, texts)
    pages: dict[str, str | bytes] = {
        name: links.linked(files.mended(text, DOCS / name, name), name) for name, text in texts.items()
    }
    pages.update(generated)
    pages.update(
        (path.relative_to(DOCS).as_posix(), path.read_bytes())
        for path in sorted(DOCS.rglob("*"))
        if path.is_file() and path.suffix != ".md"
    )
    pages.update(files.pages())
    _replace(folder / "docs", pages)
    config = folder / "mkdocs.yml"
    text = _configuration(reference, list(generated))
    if release is not None:
        text = text.replace("site_dir: site\n", f"site_dir: site/{release}\n{_CHOICE}")
    config.write_text(text, encoding="utf-8")
    return config, [*checks.missing(pages), *checks.leading_nowhere(text, pages), *checks.faults(generated)]


def _generated(files: Files, links: Links, reference: list[modules.Page], texts: dict[str, str]) -> dict[str, str]:
    """The pages that are made from the code, by path."""

    def title_of(page: str) -> str:
        return next((line[2:] for line in texts[page].splitlines() if line.startswith("# ")), page)

    modules.fill(reference, links, title_of, primitives.places())
    pages = {page.path: page.text for page in reference}
    pages.update(primitives.pages(links, files))
    pages.update(tables.pages(links))
    return pages


def _configuration(reference: list[modules.Page], generated: Iterable[str]) -> str:
    """The text of mkdocs.yml with the pages that are made from the code at the end of the section `Reference`."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    before, head, after = re.split(r"(?m)^(  - Reference:\n)", text)
    mine = re.match(r"(?:    .*\n)*", after)
    assert mine is not None
    lines = [*tables.nav(), "    - Primitives:"]
    lines += [f"      - {_word(path)}: {path}" for path in generated if path.startswith(f"{primitives.FOLDER}/")]
    lines += _nav_of_modules(reference)
    return "".join([before, head, mine[0], *(f"{line}\n" for line in lines), after[mine.end() :]])


def _word(path: str) -> str:
    word = path.rpartition("/")[2].removesuffix(".md").replace("_", " ")
    return "All" if word == "index" else word


def _nav_of_modules(reference: list[modules.Page]) -> list[str]:
    """The pages by group; those of a module that has several are a group inside, unless the group has the same name."""
    groups: dict[str, dict[str, list[modules.Page]]] = {name: {} for name in _GROUPS}
    for page in reference:
        groups.setdefault(_group(page.module), {}).setdefault(page.module, []).append(page)
    lines = []
    for group, members in groups.items():
        lines.append(f"    - {group!r}:")
        for module, pages in members.items():
            title = module if module.startswith("primax.extend") else module.replace("primax.", "px.", 1)
            title = title.removeprefix(f"{group}.")
            indent = " " * 6
            if len(pages) > 1 and title != group:
                lines.append(f"{indent}- {title!r}:")
                indent += "  "
            for page in sorted(pages, key=lambda page: (not page.path.endswith("/index.md"), page.chapter)):
                lines.append(f"{indent}- {page.chapter.replace('_', ' ') or title!r}: {page.path}")
    return lines


_INSIDE = ("numpy", "lax", "nn", "random", "scipy", "experimental")
_GROUPS = ["primax", *(f"px.{name}" for name in _INSIDE), "Further modules"]
_GROUPS += ["primax.extend", "primax.extend.provisional"]


@cache
def _group(module: str) -> str:
    """The heading in the navigation under which the pages of a module are."""
    if module.startswith("primax.extend.provisional"):
        return "primax.extend.provisional"
    parts = module.split(".")
    if parts[1:] and parts[1] in _INSIDE:
        return f"px.{parts[1]}"
    if parts[1:2] == ["extend"]:
        return "primax.extend"
    return "primax" if not parts[1:] else "Further modules"


def _replace(folder: Path, pages: dict[str, str | bytes]) -> None:
    """Make a folder hold these files and no others; files that are the same are not touched."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_file() and path.relative_to(folder).as_posix() not in pages:
            path.unlink()
        elif path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    for name, content in pages.items():
        path = folder / name
        data = content.encode() if isinstance(content, str) else content
        if not path.exists() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
