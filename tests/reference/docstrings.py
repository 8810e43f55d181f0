"""Docstrings as Markdown: text, sections with entries, and examples."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

SECTIONS = ("Args", "Attributes", "Returns", "Yields", "Raises", "Warns")
LISTS = ("Args", "Attributes", "Raises", "Warns")  # their contents are entries `name: text`
TITLES = {"Args": "Parameters"}

_HEADER = re.compile(rf"({'|'.join(SECTIONS)}|Examples?):")
_ENTRY = re.compile(r"(\*{0,2}[\w.]+(?:, \*{0,2}[\w.]+)*): ?(.*)")
_OPTION = re.compile(r" *# doctest: .*")


@dataclass
class Docstring:
    """A docstring in parts.

    Attributes:
      text: the paragraphs before the first section, without examples.
      sections: the texts of the sections by name.
      examples: blocks of examples, each with the text before it, in the order of the docstring.
    """

    text: str = ""
    sections: dict[str, str] = field(default_factory=dict)
    examples: list[tuple[str, str]] = field(default_factory=list)


def docstring(value: object) -> str:
    """The docstring of an object itself, not of its class."""
    own = getattr(value, "__doc__", None)
    if not isinstance(own, str) or (not isinstance(value, type) and own == type(value).__doc__):
        return ""
    return inspect.cleandoc(own)


def parsed(text: str) -> Docstring:
    """The parts of a docstring."""
    result = Docstring()
    section = ""
    parts: dict[str, list[str]] = {"": []}
    after: list[str] = []  # the text after an example, that belongs to the next one
    lines = iter(text.splitlines())
    for line in lines:
        header = _HEADER.fullmatch(line)
        if line.lstrip().startswith(">>>"):
            block = [line, *_until_blank(lines)]
            indent = len(line) - len(line.lstrip())
            result.examples.append(
                ("\n".join(after).strip(), "\n".join(_OPTION.sub("", each[indent:]) for each in block))
            )
            after = []
        elif header:
            section = header[1] if header[1] in SECTIONS else ""
            if section:
                parts[section] = []
        elif section and line and not line.startswith(" "):
            section = "" if not result.examples else section
            (after if result.examples else parts[section]).append(line)
        elif (result.examples or len(parts) > 1) and not section:
            after.append(line.strip())
        else:
            parts[section].append(line)
    result.text = "\n".join([*parts.pop(""), "", *after]).strip()
    result.sections = {name: inspect.cleandoc("\n" + "\n".join(content)) for name, content in parts.items()}
    return result


def _until_blank(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if not line.strip():
            return
        yield line


def entries(section: str) -> list[tuple[str, str]]:
    """The names and texts of the entries of a section."""
    result: list[tuple[str, list[str]]] = []
    for line in section.splitlines():
        entry = _ENTRY.fullmatch(line)
        if entry:
            result.append((entry[1], [entry[2]]))
        elif result:
            result[-1][1].append(line)
        else:
            result.append(("", [line]))
    return [(name, inspect.cleandoc("\n".join(content))) for name, content in result]


def described(section: str) -> list[str]:
    """The names of parameters in a section."""
    return [part.lstrip("*") for name, _ in entries(section) for part in name.split(", ")]


_CODE = re.compile(r"(`+)(.+?)(?<!`)\1(?!`)", re.DOTALL)


def markdown(text: str, link: Callable[[str], str] = lambda code: f"`{code}`") -> str:
    """Text of a docstring as Markdown; `link` gets what stands between backticks."""
    lines: list[str] = []
    blocks: list[tuple[bool, list[str]]] = []
    for line in text.splitlines():
        indented = line.startswith("    ") and not re.match(r"\s*(?:[-*]|\d+\.) ", line)
        inside_list = blocks and not blocks[-1][0] and blocks[-1][1] and re.match(r"\s*[-*\d]", blocks[-1][1][-1] or "")
        is_code = indented and not inside_list and (not blocks or blocks[-1][0] or not blocks[-1][1][-1].strip())
        if not blocks or (blocks[-1][0] != is_code and line.strip()):
            blocks.append((is_code, []))
        blocks[-1][1].append(line)
    for is_code, content in blocks:
        if is_code:
            lines += ["```text", *inspect.cleandoc("\n".join(["", *content])).splitlines(), "```", ""]
        else:
            lines += _inline("\n".join(content), link).splitlines()
    return "\n".join(lines)


def _inline(text: str, link: Callable[[str], str]) -> str:
    parts = []
    end = 0
    for code in _CODE.finditer(text):
        parts += [escaped(text[end : code.start()]), link(" ".join(code[2].split()))]
        end = code.end()
    return "".join([*parts, escaped(text[end:])])


def escaped(text: str) -> str:
    """Plain text whose characters mean nothing in Markdown, but for those of lists."""
    text = re.sub(r"([\\*_\[\]`])", r"\\\1", text).replace("<", "&lt;")
    text = re.sub(r"(?m)^(\s*)\\\* ", r"\1* ", text)
    return re.sub(r"(?m)^(\s*)([#+>])", r"\1\\\2", text)
