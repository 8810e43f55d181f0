"""Plugins that wait until a program needs one of their entries: the entries, and how a need of one is noticed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any

from primax.core.lazy_tables import lazy_entries
from primax.core.primitive import Primitive
from primax.core.rules import rule_tables
from primax.extend.host.plugin_record import PluginRecord

__all__ = ["LazyPlugins"]


class LazyPlugins:
    """The plugins whose files list their entries, by these entries.

    A look-up in a table with lazy entries asks for one name. The first `bind` of a primitive asks for all rules of it.

    Attributes:
      by_primitive: the plugins with rules for primitives of others, with the kinds of these rules.
    """

    def __init__(self) -> None:
        self._by_entry: dict[str, dict[str, list[PluginRecord]]] = {}  # by the kind of the entry, and its name
        self.by_primitive: dict[str, list[tuple[str, PluginRecord]]] = {}

    def add(self, records: Iterable[PluginRecord]) -> None:
        """List the entries of plugins."""
        for record in records:
            for name, what in record.triggers or ():
                if what.endswith(" rule"):
                    kind = what.removesuffix(" rule").partition("[")[0]
                    self.by_primitive.setdefault(name, []).append((kind, record))
                else:
                    self._by_entry.setdefault(what, {}).setdefault(name, []).append(record)

    def with_entry(self, what: str, name: str | None) -> list[PluginRecord]:
        """The plugins, not loaded yet, that have an entry of a kind with this name, or with any name if it is None."""
        by_name = self._by_entry.get(what, {})
        records = chain(*by_name.values()) if name is None else by_name.get(name, ())
        return [record for record in records if record.state == "discovered"]

    def extending(self, primitive: str) -> list[PluginRecord]:
        """The plugins, not loaded yet, that have rules for another plugin's primitive; of kinds that have tables."""
        extensions = self.by_primitive.get(primitive, ())
        return [record for kind, record in extensions if record.state == "discovered" and kind in rule_tables]

    def watch(self, primitives: Mapping[str, Primitive], complete: Callable[[Primitive], None]) -> None:
        """Let uses of entries load the waiting plugins that replace them.

        Args:
          primitives: those of all active plugins, by name.
          complete: loads the plugins that have rules for a primitive.
        """
        for what, by_name in self._by_entry.items():
            lazy = lazy_entries.get(what)  # None if the module that has the table is not imported
            for name, records in by_name.items() if lazy is not None else ():
                if any(record.waits for record in records):
                    lazy.hide(name)  # type: ignore[union-attr]
        for name in self.by_primitive:
            if name in primitives and any(record.waits for record in self.extending(name)):
                vars(primitives[name]).setdefault("bind", _FirstBind(primitives[name], complete))

    def unwatch(self, primitive: Primitive) -> None:
        """Undo the changes of `watch` to a primitive, since all its plugins are loaded."""
        if type(vars(primitive).get("bind")) is _FirstBind:
            vars(primitive).pop("bind", None)

    def release(self, record: PluginRecord) -> None:
        """Show the entries that were hidden for a plugin, because it is being loaded."""
        for name, what in record.triggers or ():
            if what in lazy_entries:
                lazy_entries[what].show(name)


class _FirstBind:
    """The method `bind` of a primitive for which plugins wait: the first call loads them."""

    def __init__(self, primitive: Primitive, complete: Callable[[Primitive], None]) -> None:
        self.primitive = primitive
        self.complete = complete

    def __call__(self, /, *args: Any, **params: Any) -> Any:
        self.complete(self.primitive)
        return type(self.primitive).bind(self.primitive, *args, **params)
