"""Links from names in text to the reference, and from the reference to the pages that use a name."""

from __future__ import annotations

import inspect
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

from reference.names import Entry, entries
from reference.staging import prose

_SHORT = {
    "px": "primax",
    "pnp": "primax.numpy",
    "jnp": "primax.numpy",
    "lax": "primax.lax",
    "checkify": "primax.experimental.checkify",
}
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_CODE = re.compile(r"(?<![`\[])`([^`\n]+)`(?![`\]])")


def parameters(value: object) -> list[str]:
    """The names of the parameters of a function or class."""
    try:
        return list(inspect.signature(value).parameters) if callable(value) else []
    except (TypeError, ValueError):
        return []


def _is_call(rest: str) -> bool:
    """Whether what follows a name is nothing, or its arguments and perhaps an attribute or arguments of the result."""
    if not rest.startswith("("):
        return not rest
    depth = 0
    for i, character in enumerate(rest):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return rest[i + 1 : i + 2] in ("", ".", "(")
    return False


def relative(target: str, page: str) -> str:
    """The path of a page, with an anchor, as another page links to it."""
    path, _, anchor = target.partition("#")
    if path == page:
        return f"#{anchor}"
    return os.path.relpath(path, PurePosixPath(page).parent) + (f"#{anchor}" if anchor else "")


class Links:
    """Where names are described.

    Args:
      more: the pages of modules, by their full names.
    """

    def __init__(self, more: Mapping[str, str]) -> None:
        self._more = dict(more)
        self._used: dict[str, Counter[str]] = {}

    def entry(self, name: str, module: str = "") -> Entry | None:
        """The object of a name as text writes it, in the text of a module."""
        first, _, rest = name.partition(".")
        if first in ("numpy", "scipy", "jax"):
            return None
        paths = [f"{_SHORT[first]}.{rest}"] if first in _SHORT and rest else []
        paths += [name, f"primax.{name}", f"{module}.{name}"] if module or rest else [name]
        if module.startswith("primax.numpy"):
            paths.append(f"primax.numpy.{name}")
        return next((entries()[path] for path in paths if path in entries()), None)

    def place(self, name: str, module: str = "") -> str:
        """The page and the anchor that describe a name; empty if there are none."""
        outer = name.rpartition(".")[0]  # for a method or an attribute, what has it
        entry = self.entry(name, module) or (self.entry(outer, module) if outer else None)
        if entry is not None and entry.page:
            return f"{entry.page}#{entry.path}"
        first, _, rest = name.partition(".")
        full = ".".join(filter(None, [_SHORT.get(first, first), rest]))
        return self._more.get(full, "") if rest or first in _SHORT else ""

    def linker(self, page: str, module: str = "", entry: Entry | None = None) -> Callable[[str], str]:
        """A function that makes Markdown of what stands between backticks on a page.

        Args:
          page: the page.
          module: the module whose names need no prefix.
          entry: the object that the text describes; its name and its parameters are no links.
        """
        plain = {entry.name, entry.path, *parameters(entry.value)} if entry is not None else set()

        def link(code: str) -> str:
            quoted = f"`` {code} ``" if "`" in code else f"`{code}`"
            found = _NAME.match(code)
            if found is None or found[0] in plain or not _is_call(code[found.end() :]):
                return quoted
            place = self.place(found[0], module)
            return f"[{quoted}]({relative(place, page)})" if place else quoted

        return link

    def linked(self, text: str, page: str) -> str:
        """A page of docs/ whose names are links to the reference."""
        link = self.linker(page)

        def change(part: str) -> str:
            lines = part.split("\n")
            return "\n".join(_CODE.sub(lambda code: link(code[1]), line) if line[:1] != "#" else line for line in lines)

        return prose(text, change)

    def read(self, text: str, page: str) -> None:
        """Count the names that a page writes about, outside its programs."""

        def count(part: str) -> str:
            for code in _CODE.finditer(part):
                found = _NAME.match(code[1])
                entry = self.entry(found[0]) if found else None
                if entry is not None:
                    self._used.setdefault(entry.path, Counter())[page] += 1
            return part

        prose(text, count)

    def pages_on(self, entry: Entry) -> list[str]:
        """The pages that say most about an object, at most three."""
        return [page for page, times in self._used.get(entry.path, Counter()).most_common(3) if times > 1]
