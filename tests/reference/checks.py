"""What fails the site beside broken links between pages: names without a page, wrong docstrings, absent files."""

from __future__ import annotations

import inspect
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping

import surface

from primax.core.option import Option
from reference import docstrings, staging
from reference.names import Entry, documented_kind, entries

_HREF = re.compile(r'<a href="([^"#]*)#([^"]*)">')
_ANCHOR = re.compile(r"\{ #([^ }]+) \}|<span id=\"([^\"]+)\">")


def faults(pages: Mapping[str, str]) -> list[str]:
    """All faults, each in one line.

    Args:
      pages: the texts of the pages that are made from the code, by path.
    """
    return [
        *undescribed(entries(), pages.values()),
        *wrong_entries(entries().values()),
        *without_example(entries().values(), SHARES),
        *broken(pages),
    ]


# The share of the functions of a module, with the modules inside, that must have an example.
SHARES = {
    "primax": 0.9,
    "primax.extend": 1.0,
    "primax.numpy": 0.7,
    "primax.lax": 0.7,
    "primax.random": 0.7,
    "primax.nn": 0.7,
    "primax.scipy": 0.7,
    "primax.tree": 1.0,
    "primax.tree_util": 1.0,
}


def without_example(objects: Iterable[Entry], shares: Mapping[str, float]) -> Iterator[str]:
    """The modules of whose functions too few have an example. Options, and names without promise, need none."""
    functions: dict[str, dict[str, bool]] = {module: {} for module in shares}
    for entry in objects:
        root = ".".join(entry.module.split(".")[:2])
        promised = not entry.module.startswith(surface.PROVISIONAL) and not isinstance(entry.value, Option)
        if root in functions and promised and entry.is_own and documented_kind(entry.value) == "function":
            examples = docstrings.parsed(docstrings.docstring(entry.value)).examples
            functions[root][entry.path] = bool(examples)
    for module, found in functions.items():
        without = sorted(name for name, has in found.items() if not has)
        if len(without) > (1 - shares[module]) * len(found):
            yield f"{module}: {len(without)} of {len(found)} functions have no example: {', '.join(without)}"


def broken(pages: Mapping[str, str]) -> Iterator[str]:
    """The links in HTML that lead nowhere; the builder checks those in Markdown."""
    anchors = {path: {one or other for one, other in _ANCHOR.findall(text)} for path, text in pages.items()}
    for page, text in pages.items():
        for path, anchor in sorted(set(_HREF.findall(text))):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
            if anchor not in anchors.get(re.sub(r"\.html$", ".md", target), ()):
                yield f"{page}: no page has what the link {path}#{anchor} leads to"


def missing(pages: Mapping[str, str | bytes]) -> Iterator[str]:
    """The pictures and other files that pages link to and that are not there; the builder checks links to pages alone.

    Args:
      pages: all files of the site, by path.
    """
    for page, text in pages.items():
        targets: list[str] = []

        def collect(part: str, targets: list[str] = targets) -> str:
            targets += [target for _, _, target in staging.LINK.findall(part)]
            return part

        if isinstance(text, str) and page.endswith(".md"):
            staging.prose(text, lambda part: staging.outside_code(part, collect))
        for target in sorted(set(targets)):
            path = target.partition("#")[0]
            file = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
            if path and ":" not in path and not path.endswith((".md", ".html")) and file not in pages:
                yield f"{page}: {target} does not exist"


def leading_nowhere(config: str, pages: Iterable[str]) -> Iterator[str]:
    """The entries of the navigation without a page, which the builder leaves out.

    Args:
      config: the text of mkdocs.yml.
      pages: the paths of all pages.
    """
    for page in sorted({*re.findall(r": ([\w/.-]+\.md)$", config, re.MULTILINE)} - {*pages}):
        yield f"mkdocs.yml: {page} does not exist"


def undescribed(names: Iterable[str], pages: Iterable[str]) -> Iterator[str]:
    """The public names that no page has an anchor for."""
    anchors = {one or other for text in pages for one, other in _ANCHOR.findall(text)}
    for name in names:
        if name not in anchors:
            yield f"{name}: no page of the reference describes it"


def wrong_entries(objects: Iterable[Entry]) -> Iterator[str]:
    """The parameters that entries in docstrings do not match."""
    for entry in {id(entry): entry for entry in objects}.values():
        if entry.is_own and callable(entry.value):
            yield from wrong_parameters(entry.path, entry.value)


# The first parameters of these are bound by a decorator, which `inspect` does not see.
_BOUND = {"primax.extend.api_util.flatten_fun"}


def wrong_parameters(path: str, function: object) -> Iterator[str]:
    """The entries in the docstring of one function or class that are no parameters, and parameters without one.

    A docstring without entries is no fault, and neither is a private parameter without one.
    """
    told = docstrings.parsed(docstrings.docstring(function)).sections.get("Args", "")
    if not told or not callable(function):
        return
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return
    if list(parameters) == ["args", "kwargs"]:  # of a class whose metaclass passes all on
        return
    entered = docstrings.described(told)
    for name in entered:
        if name not in parameters:
            yield f"{path}: the docstring has an entry {name!r}, and there is no such parameter"
    for name in parameters:
        if name not in entered and not name.startswith("_") and path not in _BOUND:
            yield f"{path}: the docstring has no entry for the parameter {name!r}, and has some for others"
