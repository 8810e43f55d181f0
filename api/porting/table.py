"""The table of counterparts of JAX's names, with reasons for absent ones."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Module:
    """One module of JAX in the table.

    Attributes:
      name: the name of the module in JAX.
      to: the corresponding module of primax; None if a row of a parent module applies, or if there is none.
      as_jax: a module of primax that the stand-in for JAX searches first.
      why: the reason why primax has no such module.
      names: names whose counterparts have other paths, and these paths.
      stand_ins: names with another counterpart in the stand-in for JAX, and its path.
      notes: notes on names that have a counterpart.
      renamed: names that JAX has removed, and the paths that `primax port` writes. In the stand-in they are absent.
      absent: names without a counterpart, and their remedies.
      later: names that primax does not have yet.
      inert: names without a counterpart that may be imported, and that raise an error when they are used.
    """

    name: str
    to: str | None = None
    as_jax: str | None = None
    why: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    later: frozenset[str] = frozenset()
    inert: frozenset[str] = frozenset()
    stand_ins: Mapping[str, str] = field(default_factory=dict)


def _module(row: dict[str, Any]) -> Module:
    renamed = row.get("renamed", {})
    absent = {name: why for names, why in row.get("absent", {}).items() for name in names.split()}
    absent |= {name: f"removed in JAX; use `{path}`" for name, path in renamed.items()}
    return Module(
        row["name"],
        row.get("to"),
        row.get("as_jax"),
        row.get("why"),
        row.get("names", {}),
        row.get("notes", {}),
        renamed,
        absent,
        frozenset(row.get("later", "").split()),
        frozenset(row.get("inert", "").split()),
        row.get("stand_ins", {}),
    )


@dataclass(frozen=True)
class Table:
    """The counterparts of JAX's names in primax. Names are dotted paths, such as `jax.numpy.sin`.

    Attributes:
      release: the release of JAX that primax is closest to, for `jax.__version__`.
      newest: the release of JAX whose public names the table covers.
      modules: the modules of JAX that have rows, by name.
    """

    release: str
    newest: str
    modules: Mapping[str, Module]

    def counterpart(self, name: str) -> str | None:
        """The counterpart of a name of JAX according to the rows; None if it has none.

        This does not check that primax has the counterpart.
        """
        module, _, last = name.rpartition(".")
        row = self.modules.get(module)
        if row is not None and last in row.names:
            return row.names[last]
        if self.reason(name) is not None:
            return None
        for row, rest in self._above(name):
            first, _, inner = rest.partition(".")
            if first in row.names:
                return f"{row.names[first]}.{inner}"
            if row.to is not None:
                return f"{row.to}.{rest}" if rest else row.to
        return None

    def renamed(self, name: str) -> str | None:
        """The path that `primax port` writes for a name that JAX has removed; None for other names."""
        for row, rest in self._above(name):
            first, _, inner = rest.partition(".")
            if first in row.renamed:
                return ".".join(filter(None, (row.renamed[first], inner)))
        return None

    def reason(self, name: str) -> str | None:
        """The reason why a name of JAX, or its module, has no counterpart; None if no row gives one."""
        for row, rest in self._above(name):
            first = rest.partition(".")[0]
            if first in row.names:
                return None
            if first in row.absent:
                return row.absent[first]
            if row.why is not None:
                return row.why
            if row.to is not None:
                return None
        return None

    def explain(self, name: str) -> str:
        """The reason why a name of JAX has no counterpart; never None."""
        reason = self.reason(name)
        if reason is not None:
            return reason
        for row, rest in self._above(name):
            if rest.partition(".")[0] in row.later:
                return "primax does not have it yet"
        if self.is_public(name):
            return f"JAX {self.newest} has it, primax does not"
        if "._" in name:
            return "it is private in JAX, and the table does not have it"
        return f"JAX {self.newest} does not have it either"

    def note(self, name: str) -> str | None:
        """The note about a name that has a counterpart."""
        module, _, last = name.rpartition(".")
        row = self.modules.get(module)
        return None if row is None else row.notes.get(last)

    def is_inert(self, name: str) -> bool:
        """Whether a name without a counterpart may be imported and raises an error only when it is used."""
        module, _, last = name.rpartition(".")
        row = self.modules.get(module)
        return (row is not None and last in row.inert) or self.is_inert_module(module)

    def is_inert_module(self, name: str) -> bool:
        """Whether a module, or a module above it, has only inert names among those without a counterpart."""
        row, _ = next(self._above(f"{name}.x"), (None, ""))
        return row is not None and "*" in row.inert

    def is_listed(self, name: str) -> bool:
        """Whether a name has a row of its own, or belongs to a module with private names."""
        module, _, last = name.rpartition(".")
        row = self.modules.get(module)
        return row is not None and (last in row.names or last in row.stand_ins or row.as_jax is not None)

    def has_stand_in(self, name: str) -> bool:
        """Whether a name has an object of its own in the stand-in for JAX."""
        module, _, last = name.rpartition(".")
        return module in self.modules and last in self.modules[module].stand_ins

    def names_of(self, module: str) -> tuple[str, ...]:
        """The public names of a module of JAX; empty if there is no such module."""
        return public_names().get(module, ())

    def is_public(self, name: str) -> bool:
        """Whether a path is a public name or module of JAX."""
        module, _, last = name.rpartition(".")
        return name in public_names() or last in public_names().get(module, ())

    def _above(self, name: str) -> Iterator[tuple[Module, str]]:
        """The rows of a module and of the modules above it, the longest path first, each with the rest of the name."""
        parts = name.split(".")
        for end in range(len(parts), 0, -1):
            row = self.modules.get(".".join(parts[:end]))
            if row is not None:
                yield row, ".".join(parts[end:])


@cache
def table() -> Table:
    """The table of this release of primax."""
    data = tomllib.loads((files("primax.porting") / "table.toml").read_text(encoding="utf-8"))
    modules = [_module(row) for row in data["module"]]
    return Table(data["release"], data["names"], {module.name: module for module in modules})


@cache
def public_names() -> dict[str, tuple[str, ...]]:
    """The public names of JAX's modules in the newest release that the table covers."""
    data = json.loads((files("primax.porting") / "names.json").read_text(encoding="utf-8"))
    return {module: tuple(names.split()) for module, names in data.items()}
