"""Writes to the tables of primax: who makes one, and whether it may replace what another plugin has entered."""

from __future__ import annotations

import threading
from typing import Any

from primax.core.caller import author
from primax.core.lazy_tables import lazy_entries
from primax.core.rules import Provenance
from primax.extend.callers import responsible_modules
from primax.extend.host.override_policy import OVERRIDES, Consents
from primax.extend.host.plugin_catalog import PluginCatalog
from primax.extend.host.plugin_record import PluginRecord
from primax.extend.host.registry import Holding, RefusedError, name_of_entry

__all__ = ["WritePolicy"]

# The first parts of modules with classes whose types the kernel knows. With as-jax, arrays have classes named as jax's.
_OF_THE_KERNEL = ("primax.", "builtins", "numpy", "jax")


class WritePolicy:
    """The part of the plugin host that decides about writes.

    Attributes:
      catalog: the list of all plugins.
    """

    catalog: PluginCatalog
    _activation: Any  # that of this thread
    _examined: int
    _is_complete: bool
    _lock: threading.RLock

    def __init__(self) -> None:
        self._consents = Consents()
        self._without_consent: set[str] = set()  # plugins that were refused because nobody had consented
        self._owners: dict[tuple[str, Any], Holding] = {}

    def discover(self) -> None:
        raise NotImplementedError

    def record(self, name: str) -> PluginRecord:
        raise NotImplementedError

    def load(self, everything: bool = False) -> bool:
        raise NotImplementedError

    def load_owner(self, made: Any) -> bool:
        raise NotImplementedError

    def idle_consents(self) -> list[str]:
        """For each name in the environment variable for consents that belongs to no plugin, a line for users."""
        self.discover()
        names = [name for name in self._consents.in_environment if self.catalog.find(name) is None]
        return [
            f"{OVERRIDES} names {name!r}, which is not an installed plugin{self.catalog.nearest(name)}"
            for name in names
        ]

    def writer(self) -> str:
        record = self._writing_plugin()
        return record.name if record is not None and record.source == "installed" else ""

    def may_replace(self, what: str, owner: str | None, current: Any) -> bool:
        record = self._writing_plugin()
        if record is None:
            return True  # the user's own code
        if record.source == "installed":
            holder = None if owner is None else self.catalog.find(owner)
            may_ask = holder is not None and holder.source != "built-in"
            refusal = self._consents.refusal(record.name, owner, current, may_ask)
            if refusal:
                self._without_consent.add(record.name)
                who = author()
                given = current if current.file else f"given by {current.plugin} itself"
                at = "" if self._activation.registering is not None else f" at {who.file}:{who.line},"
                raise RefusedError(f"plugin {record.name!r} may not replace {what}, {given},{at} {refusal}")
        return not self._consents.is_outranked(record.name, current)

    def may_enter(self, what: str, key: Any) -> bool:
        if self._writing_plugin() is None:
            return True
        if isinstance(key, type):
            self.load_owner(key)
        elif self._activation.registering is None:
            lazy_entries[what].ask(key)
        holding = self.holding(what, key)
        if holding is None or key not in lazy_entries[what].table:
            return True
        shown = f"the {what.partition(' in ')[0]} {name_of_entry(key)!r}"
        return self.may_replace(shown, holding.owner, holding.current)

    def holding(self, what: str, key: Any) -> Holding | None:
        """Who owns an entry of a table other than those of rules; None if anyone may replace it."""
        holding = self._owners.get((what, key))
        if holding is None and isinstance(key, type) and key.__module__.startswith(_OF_THE_KERNEL):
            return Holding("primax", Provenance("primax", "", 0))
        return holding

    def _writing_plugin(self) -> PluginRecord | None:
        """The plugin whose code makes the call; None for the code of primax and of users.

        It is the one that registers, or an installed one: that of the calling line, or the one being imported."""
        registering: PluginRecord | None = self._activation.registering
        if registering is not None:
            return registering
        for module, _ in responsible_modules():
            self.discover()
            records = [record for record in self.catalog.of_module(module) if record.source == "installed"]
            if records:
                return records[0]
        return None

    def allow_overrides(self, *names: str) -> None:
        """Allow plugins to override entries of other plugins; later names have priority over earlier ones.

        Raises:
          PluginError: there is no plugin of a name.
        """
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"allow_overrides: names must be names of plugins, each an argument, got {name!r}")
            self.record(name)
        with self._lock:
            self._consents.add(list(names))
            refused = self._without_consent & {*names}
            for record in map(self.record, refused):
                if record.state in ("failed", "refused"):
                    record.state, record.reason, record.traceback = "discovered", "", ""
                    self._is_complete, self._examined = False, -1
            self._without_consent -= {*names}
        if refused:
            self.load()

    def ground_to_override(self, name: str, owner: str | None) -> str:
        """Who allows a plugin to override entries of another, as a text for users."""
        if name == owner:
            return ""
        record = self.catalog.find(name)
        if record is None or record.source != "installed":
            return "no consent is needed, as the plugin is part of primax or was registered by hand"
        return self._consents.ground(name, owner)
