"""The pages of the reference: one for each public module, or for each chapter of a large one."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import surface

from primax.core.option import Option
from primax.core.primitive import Primitive
from reference import docstrings
from reference.linking import Links, relative
from reference.names import Entry, chapter_of, chapters, entries, is_alias, public_modules
from reference.objects import page_part
from reference.signatures import is_form, marker, type_text

ROOT = "reference/api"
# Each chapter of these is a page.
_NAMES = """numpy lax random scipy.special scipy.linalg extend.core extend.interpreters.mlir
experimental.sparse"""
SPLIT = ("primax", *(f"primax.{name}" for name in _NAMES.split()))
_FEW = 3  # names in a chapter that shares a page with others


@dataclass
class Page:
    """A page of the reference."""

    path: str
    title: str
    module: str
    chapter: str = ""
    text: str = ""
    entries: list[Entry] = field(default_factory=list)
    others: list[tuple[str, Entry]] = field(default_factory=list)  # names of objects of other pages


def pages() -> list[Page]:
    """The pages with their objects; each object knows its page from now on."""
    found: dict[str, Page] = {}
    for module in public_modules():
        exports = {path.rpartition(".")[2]: e for path, e in entries().items() if path.rpartition(".")[0] == module}
        own = Counter(chapter_of(entry) for entry in exports.values() if entry.module == module)
        for name, entry in exports.items():
            here = entry.module == module
            chapter = chapter_of(entry) if here and module in SPLIT else ""
            if chapter and chapter != "primitives" and own[chapter] < _FEW:
                chapter = "others"
            path = _path(module, chapter)
            page = found.setdefault(path, Page(path, _title(module, chapter), module, chapter))
            if not here:
                page.others.append((name, entry))
            elif entry.name == name:
                page.entries.append(entry)
                entry.page = page.path
        index = _path(module, "")
        if module in SPLIT and index not in found:
            found[index] = Page(index, _title(module, ""), module)
    return list(found.values())


def _path(module: str, chapter: str) -> str:
    short = module.removeprefix("primax").lstrip(".") or "primax"
    folder = short.replace(".", "/")
    if module in SPLIT:
        return f"{ROOT}/{folder}/{chapter.replace(' ', '-') or 'index'}.md"
    return f"{ROOT}/{folder}.md" if not _has_inner(module) else f"{ROOT}/{folder}/index.md"


def _has_inner(module: str) -> bool:
    return module != "primax" and any(other.startswith(f"{module}.") for other in public_modules())


def _title(module: str, chapter: str) -> str:
    short = module if module.startswith("primax.extend") or module == "primax" else module.replace("primax.", "px.", 1)
    return f"{short}: {chapter.replace('_', ' ')}" if chapter else short


def fill(found: list[Page], links: Links, title_of: Callable[[str], str], places: dict[Primitive, str]) -> None:
    """Write the texts of the pages.

    Args:
      found: the pages.
      links: where names are described.
      title_of: the title of a page of docs/.
      places: where each primitive is described.
    """
    for page in found:
        page.text = "\n".join(_text(page, found, links, title_of, places))


def _text(
    page: Page, found: list[Page], links: Links, title_of: Callable[[str], str], places: dict[Primitive, str]
) -> list[str]:
    lines = [f"# {page.title}", ""]
    link = links.linker(page.path, page.module)
    is_index = page.path == _path(page.module, "")
    if is_index:
        parts = docstrings.parsed(docstrings.docstring(importlib.import_module(page.module)))
        lines += [*docstrings.markdown(parts.text, link).splitlines(), ""]
        if page.module.startswith(surface.PROVISIONAL):
            lines += ["These names are provisional: they may change in a minor release.", ""]
        for before, example in parts.examples:
            lines += [before, "", "```pycon", *example.splitlines(), "```", ""]
    else:
        lines += _about_chapter(page, links)
    inside = [other for other in found if other.module == page.module and other is not page]
    if is_index and inside:
        lines += ["| chapter | names |", "|---|---|"]
        for other in sorted(inside, key=lambda other: other.chapter):
            shown = ", ".join(f"[`{e.name}`]({relative(f'{e.page}#{e.path}', page.path)})" for e in other.entries)
            lines.append(f"| [{other.chapter.replace('_', ' ')}]({relative(other.path, page.path)}) | {shown} |")
        lines.append("")
    plain = [entry for entry in page.entries if not isinstance(entry.value, Primitive) and not is_alias(entry)]
    aliases = [entry for entry in page.entries if is_alias(entry) and not is_form(entry.value)]
    forms = [entry for entry in page.entries if is_form(entry.value)]
    primitives = [entry for entry in page.entries if isinstance(entry.value, Primitive)]
    for entry in sorted(plain, key=lambda entry: entry.name.lower()):
        see = [f"[{title}]({relative(place, page.path)})" for title, place in _further(entry, places)]
        see += [f"[{title_of(each)}]({relative(each, page.path)})" for each in links.pages_on(entry)]
        lines += page_part(entry, links.linker(page.path, page.module, entry), see)
    if primitives:
        lines += ["## Primitives" if plain else "", "", "| name | primitive |", "|---|---|"]
        for entry in primitives:
            place = places.get(entry.value, "")
            shown = f"[`{entry.value.name}`]({relative(place, page.path)})" if place else f"`{entry.value.name}`"
            lines.append(f"| {_anchored(entry.path, entry.name)} | {shown} |")
        lines.append("")
    if forms:
        lines += ["## Types", "", "| name | is |", "|---|---|"]
        lines += [f"| {_anchored(entry.path, entry.name)}{_others(entry)} | {_form(entry)} |" for entry in forms]
        lines.append("")
    if aliases:
        lines += ["## Names of other libraries", "", "| name | is |", "|---|---|"]
        lines += [f"| {_anchored(entry.path, entry.name)}{_others(entry)} | {_foreign(entry)} |" for entry in aliases]
        lines.append("")
    if page.others:
        lines += ["## Names that are described elsewhere", "", "| name | is |", "|---|---|"]
        for name, entry in page.others:
            shown = f"[`{entry.path}`]({relative(f'{entry.page}#{entry.path}', page.path)})"
            lines.append(f"| {_anchored(f'{page.module}.{name}', name)} | {shown} |")
        lines.append("")
    return lines


def _further(entry: Entry, places: dict[Primitive, str]) -> Iterator[tuple[str, str]]:
    """The titles and the places of what the reference says elsewhere on an object."""
    if entry.module == "primax.errors":
        yield "Errors", f"reference/errors.md#{entry.name.lower()}"
    if isinstance(entry.value, Option):
        yield "Options", f"reference/options.md#{entry.name}"
    if entry.module in ("primax.lax", "primax.lax.linalg"):
        primitive = getattr(importlib.import_module(entry.module), f"{entry.name}_p", None)
        if primitive in places:
            yield f"the primitive `{entry.name}`", places[primitive]


def _anchored(path: str, name: str) -> str:
    return f'<span id="{path}"></span>`{name}`'


def _others(entry: Entry) -> str:
    here = [other.rpartition(".") for other in entry.others]
    return "".join(f', <span id="{m}.{n}"></span>`{n}`' for m, _, n in here if m == entry.module)


def _form(entry: Entry) -> str:
    """An alias of a type, in a cell of a table."""
    mark = marker(entry.page, importlib.import_module(entry.module), entry)
    return f"<code>{mark(type_text(entry.value)).replace('|', '&#124;')}</code>"


def _foreign(entry: Entry) -> str:
    value = entry.value
    home = getattr(value, "__module__", None)
    if home and hasattr(value, "__qualname__") and "." not in value.__qualname__:
        return f"`{home}.{value.__qualname__}`"
    text = repr(value).replace("|", "\\|")
    return (
        f"`{text}`" if len(text) < 300 and " at 0x" not in text and "`" not in text else f"a `{type(value).__name__}`"
    )


def _about_chapter(page: Page, links: Links) -> list[str]:
    chapter = page.chapter
    names = {name.rpartition(".")[2]: name for name in chapters().get(page.module, ())}
    home = names.get(chapter) or f"primax.plugins.{chapter}"
    if chapter == "primitives":
        return [f"The primitives of `{page.module}`, each with its section on the page of its family.", ""]
    try:
        text = docstrings.docstring(importlib.import_module(home))
    except ModuleNotFoundError:
        text = ""
    return [*docstrings.markdown(docstrings.parsed(text).text, links.linker(page.path, page.module)).splitlines(), ""]
