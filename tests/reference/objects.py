"""The reference of one object: its signature, what it takes, returns and raises, examples, and what to see also."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable
from functools import cached_property
from typing import Any

import surface

from primax.core.operand import Operand
from primax.core.primitive import Primitive
from reference import docstrings
from reference.names import Entry, documented_kind, entries
from reference.signatures import escaped, marker, signature

Link = Callable[[str], str]


def page_part(entry: Entry, link: Link, see: list[str]) -> list[str]:
    """The section on an object, from its heading on.

    Args:
      entry: the object.
      link: makes links of what stands between backticks in docstrings.
      see: the links to what a reader may want to see also.
    """
    lines = heading("##", entry.name, entry.path)
    lines += [f'<span id="{other}"></span>' for other in entry.others]
    lines += [""] if entry.others else []
    value = entry.value
    kind = documented_kind(value)
    mark = marker(entry.page, value, entry)
    if inspect.isclass(value):
        call = "" if _is_plain_class(value) else signature(entry.path, value, mark=mark)
        lines += _code(f"class {call or escaped(entry.path)}")
    elif call := signature(entry.path, value, mark=mark) if callable(value) else "":
        lines += _code(call)
    else:
        lines += _code(f"{entry.path}: {marker(entry.page, type(value))(type(value).__name__)}")
    own = docstrings.docstring(value) or (docstrings.docstring(type(value)) if kind == "value" else "")
    text = own if kind != "value" or type(value).__module__.startswith("primax") else ""
    if kind == "value" and not text:
        shown = f"{{{', '.join(sorted(map(repr, value)))}}}" if isinstance(value, frozenset) else repr(value)
        lines += [
            f"The value `{shown}`."
            if not isinstance(value, dict) and len(shown) < 200 and "`" not in shown and " at 0x" not in shown
            else f"A value of type `{type(value).__name__}`.",
            "",
        ]
    lines += body(text, link)
    if inspect.isclass(value):
        lines += _members(entry, link)
    elif kind == "value":
        lines += _methods(entry, link)
    notes = []
    if promised := [other for other in entry.others if not other.startswith(surface.PROVISIONAL)]:
        notes.append(f"Also: {', '.join(f'`{other}`' for other in promised)}.")
    if entry.jax:
        notes.append(f"In JAX: {', '.join(f'`{name}`' for name in sorted(entry.jax, key=lambda n: (len(n), n))[:3])}.")
    if see:
        notes.append(f"See also: {', '.join(see)}.")
    lines += [" ".join(notes), ""] if notes else []
    return lines


def body(text: str, link: Link) -> list[str]:
    """The contents of a docstring."""
    parts = docstrings.parsed(text)
    lines = [*docstrings.markdown(parts.text, link).splitlines(), ""]
    for name, section in parts.sections.items():
        lines += [f"**{docstrings.TITLES.get(name, name)}**", ""]
        if name in docstrings.LISTS:
            for each, meaning in docstrings.entries(section):
                told = docstrings.markdown(meaning, link).replace("\n", "\n    ")
                lines.append(f"- `{each}`: {told}" if each else f"- {told}")
        else:
            lines += docstrings.markdown(section, link).splitlines()
        lines.append("")
    if parts.examples:
        lines += ["**Example**" if len(parts.examples) == 1 else "**Examples**", ""]
    for before, example in parts.examples:
        lines += [*docstrings.markdown(before, link).splitlines(), ""] if before else []
        lines += ["```pycon", *example.splitlines(), "```", ""]
    return lines


def _is_plain_class(value: type) -> bool:
    """Whether a class is not called by users, or in the way of its base in Python."""
    return issubclass(value, BaseException | enum.Enum) or getattr(value, "_is_protocol", False)


def _code(text: str) -> list[str]:
    """A block of code with links; Markdown would show those as they are written."""
    return [f'<div class="highlight"><pre><code>{text}</code></pre></div>', ""]


def _members(entry: Entry, link: Link) -> list[str]:
    """The public methods and properties that primax defines for a class."""
    cls: type = entry.value
    if issubclass(cls, enum.Enum):
        return [f"**Members**: {', '.join(f'`{member.name}`' for member in cls)}.", ""]
    told = set(docstrings.described(docstrings.parsed(docstrings.docstring(cls)).sections.get("Attributes", "")))
    lines = []
    seen = set(told)
    described = {id(other.value): other.path for other in entries().values()}  # a public base has its own section
    inherited: dict[str, list[str]] = {}
    for base in cls.__mro__:
        if not base.__module__.startswith("primax"):
            continue
        for name, member in sorted(vars(base).items()):
            if name.startswith("_") or name in seen or isinstance(member, Primitive):
                continue
            seen.add(name)
            if base is cls or base.__name__ == cls.__name__ or id(base) not in described:
                lines += _member(entry, name, member, link)
            elif callable(member) or isinstance(member, property | cached_property):
                inherited.setdefault(described[id(base)], []).append(name)
    told_of = []
    for path, names in inherited.items():
        shown = ", ".join(_inherited(name, cls, link) for name in sorted(names, key=str.lower))
        told_of += [f"From {link(path)} it inherits {shown}.", ""]
    return [*told_of, *lines]


def _inherited(name: str, cls: type, link: Link) -> str:
    """The name of an inherited method or property; those of arrays are described where primax.numpy has them."""
    if not issubclass(cls, Operand):
        return f"`{name}`"
    return link(f"px.numpy.{name}").replace(f"`px.numpy.{name}`", f"`{name}`")


def _methods(entry: Entry, link: Link) -> list[str]:
    """The public methods of an object of a class of primax, in a table."""
    if not type(entry.value).__module__.startswith("primax"):
        return []
    rows = []
    for name in sorted(dir(type(entry.value))):
        method = getattr(entry.value, name, None) if not name.startswith("_") else None
        if inspect.isroutine(method) and str(method.__module__).startswith("primax"):
            call = signature(f"{entry.name}.{name}", method, wide=True).replace("*args, **kwargs", "...")
            sentence = docstrings.parsed(docstrings.docstring(method)).text.partition("\n\n")[0].replace("\n", " ")
            rows.append(f"| `{call}` | {docstrings.markdown(sentence, link)} |")
    return ["| method | result |", "|---|---|", *rows, ""] if rows else []


def _member(entry: Entry, name: str, member: Any, link: Link) -> list[str]:
    label = f"{entry.name}.{name}"
    if isinstance(member, property | cached_property):
        getter = member.fget if isinstance(member, property) else member.func
        head = signature(label, getter, method=True, mark=marker(entry.page, getter, entry))
        lines = _code(head.replace("() -&gt;", ":") if "() -&gt;" in head else label)
        text = docstrings.docstring(getter)
    else:
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if not inspect.isroutine(function):
            return []
        mark = marker(entry.page, function, entry)
        head = signature(label, function, method=not isinstance(member, staticmethod), mark=mark)
        lines = _code(head or f"{label}(...)")
        text = docstrings.docstring(function)
    return [*heading("####", label, f"{entry.path}.{name}"), *lines, *body(text, link)]


def heading(level: str, text: str, anchor: str) -> list[str]:
    """A heading with an anchor; underscores in the attributes of a heading would mean emphasis."""
    if "__" in anchor:
        return [f'<span id="{anchor}"></span>', "", f"{level} {docstrings.escaped(text)}", ""]
    return [f"{level} {docstrings.escaped(text)} {{ #{anchor} }}", ""]
