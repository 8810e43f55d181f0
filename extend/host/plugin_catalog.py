"""The catalog of plugins: built-in, explicitly registered, and installed ones, including blocked ones."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from primax.core import trusted_modules
from primax.core.arguments import nearest
from primax.core.errors import PluginError
from primax.extend.host import hookspec, metadata
from primax.extend.host.discovery import ApiRange, Found, installed_plugins, show_version
from primax.extend.host.plugin_record import PluginRecord

__all__ = ["DISABLED", "PluginCatalog"]

ALLOWED = "PRIMAX_PLUGINS"
DISABLED = "PRIMAX_DISABLE_PLUGINS"


class PluginCatalog:
    """All plugins of a process: built-in families in listed order, explicit ones by time, installed ones by name."""

    def __init__(self) -> None:
        self._builtins: list[PluginRecord] = []
        self._explicit: list[PluginRecord] = []
        self._installed: list[PluginRecord] | None = None
        self._essential: frozenset[str] = frozenset()
        self._deferred: frozenset[str] = frozenset()
        self._listed = False  # whether the variables in the environment have been read
        self._complete = False  # whether the host has examined every plugin
        self._looked_at = -1  # the number of primitives when the host last examined all imported plugins
        self._files: dict[str, dict[str, Any] | None] = {}  # the contents of files, by the names of plugins
        self._awaited: dict[str, list[tuple[str, str]] | None] = {}  # `waits_for`, by the names of plugins
        self._own_version: str | None = None  # the version of primax, if this host has the families of primax
        self._lock = threading.RLock()

    def take_own(self, version: str) -> None:
        """Add the plugins of primax itself, as built-in ones. Nothing is read or imported yet.

        Args:
          version: the version of primax.
        """
        self._own_version = version

    def said(self, record: PluginRecord) -> dict[str, Any] | None:
        """The description in a plugin's file; None if there is no file, or none that can be read."""
        if record.name not in self._files:
            try:
                self._files[record.name] = metadata.read(record.module, record.name)
            except ValueError:  # `primax check` reports it; until then the plugin loads as if it had no file
                self._files[record.name] = None
        return self._files[record.name]

    def awaited(self, record: PluginRecord) -> list[tuple[str, str]] | None:
        """`waits_for`, cached."""
        if record.name not in self._awaited:
            self._awaited[record.name] = self.waits_for(record)
        return self._awaited[record.name]

    def waits_for(self, record: PluginRecord) -> list[tuple[str, str]] | None:
        """The entries that load an installed plugin, besides the import of its package; None if it does not wait."""
        found = self.said(record)
        return None if found is None else metadata.manifest_triggers(found, record.module.partition(".")[0])

    def _may_wait(self, record: PluginRecord) -> bool:
        """Whether no program uses an entry of the plugin yet, and each later use will be noticed."""
        return record.module.partition(".")[0] not in sys.modules and self.awaited(record) is not None

    def _families(self) -> list[PluginRecord]:
        """The built-in plugins that a program may need by now: all but deferred ones that are not imported."""
        return [each for each in self._builtins if each.name not in self._deferred or each.module in sys.modules]

    def add_builtins(
        self,
        names: Iterable[str] | Mapping[str, str],
        *,
        package: str = "primax.plugins",
        essential: Iterable[str] = (),
        deferred: Iterable[str] = (),
        version: str = "",
    ) -> None:
        """List built-in families explicitly, in the order of their activation; for tests. Nothing is imported yet.

        Args:
          names: the names of the plugins; a mapping gives the module of each.
          package: the package of the modules, which have the names of the plugins; unused if `names` is a mapping.
          essential: the plugins that cannot be disabled, and whose failure is an error.
          deferred: the plugins that `activate_imported` may load later. They register only rules for their own
            primitives, of kinds that a trace needs.
          version: the version of primax.

        Raises:
          PluginError: a name is taken.
        """
        with self._lock:
            taken = {record.name for record in self._all()}
            for name in names:
                if name in taken:
                    raise PluginError(f"add_builtins: there is a plugin {name!r} already")
                taken.add(name)
                where = names[name] if isinstance(names, Mapping) else f"{package}.{name}"
                trusted_modules.built_in.add(where)
                self._builtins.append(PluginRecord(name, "built-in", "primax", version, where))
            self._essential |= frozenset(essential)
            self._deferred |= frozenset(deferred)
            self._listed = self._complete = False
            self._looked_at = -1

    def records(self) -> list[PluginRecord]:
        """All plugins, active or not, in the order of activation. Nothing is imported.

        Raises:
          PluginError: a variable in the environment names an unknown plugin.
        """
        self._discover()
        return self._all()

    def record(self, name: str) -> PluginRecord:
        """The plugin with a name.

        Raises:
          PluginError: there is no such plugin.
        """
        self._discover()
        found = self._find(name)
        if found is None:
            raise PluginError(f"there is no plugin {name!r}{self._nearest(name)}{self._known()}")
        return found

    def refusal(self, record: PluginRecord) -> str:
        """The reason to refuse a plugin before its import; empty if there is none."""
        if record.unreadable:
            return record.unreadable
        first = self._find(record.name)
        if first is not None and first is not record:
            return f"its name is taken by plugin {first.describe()}, {first.source}"
        if record.api:
            try:
                needed = ApiRange.parse(record.api)
            except ValueError as error:
                return str(error)
            if not needed.admits(hookspec.API_VERSION):
                return (
                    f"it needs plugin API {needed}, but this primax has plugin API {show_version(hookspec.API_VERSION)}"
                )
        return ""

    def _all(self) -> list[PluginRecord]:
        return [*self._builtins, *self._explicit, *(self._installed or ())]

    def _find(self, name: str) -> PluginRecord | None:
        return next((record for record in self._all() if record.name == name), None)

    def _nearest(self, name: str) -> str:
        return nearest(name, [record.name for record in self._all()])

    def _known(self) -> str:
        return f" (there are {', '.join(sorted({record.name for record in self._all()})) or 'none'})"

    def _home(self, primitive: Any) -> PluginRecord | None:
        """The plugin of a primitive, active or not."""
        owner = getattr(primitive, "plugin", None)
        if owner is not None:
            return self._find(owner)
        module = getattr(primitive, "module", "")
        best = max(self._all(), key=lambda record: record.match(module), default=None)
        return best if best is not None and best.match(module) else None

    def _discover(self) -> None:
        """List the installed plugins, once, and block those that the environment names."""
        if self._listed:
            return
        own, others = installed_plugins(self._own_version) if self._installed is None else ([], [])
        with self._lock:
            if self._installed is None:
                self._list_own(own)
                self._installed = [_record("installed", each) for each in others]
                trusted_modules.proven.update(
                    each.module for each in self._all() if (self.said(each) or {}).get("proven") and not each.unreadable
                )
            if not self._listed:
                self._apply_lists()
                self._listed = True

    def _list_own(self, own: list[Found]) -> None:
        """List the plugins of primax with the content of their file, before plugins that were added by hand.

        Raises:
          PluginError: there are none.
        """
        if self._own_version is None:
            return
        if not own:
            raise PluginError(
                f"primax {self._own_version} finds no plugins, because the metadata of its distribution is not on "
                "sys.path; install primax, with pip install -e . in a checkout"
            )
        records = [_record("built-in", each) for each in own]
        self._builtins[:0] = records
        for record in records:
            trusted_modules.built_in.add(record.module)
            said = self.said(record) or {}
            self._essential |= {record.name} if said.get("essential") else set()
            self._deferred |= {record.name} if said.get("deferred") else set()

    def _apply_lists(self) -> None:
        allowed = self._read_list(ALLOWED)
        disabled = self._read_list(DISABLED) or frozenset()
        kept = sorted(disabled & self._essential)
        if kept:
            raise PluginError(f"{DISABLED} names {kept[0]!r}, which cannot be disabled: other plugins depend on it")
        for record in self._all():
            if record.state != "discovered":
                continue
            if record.name in disabled:
                self._block(record, f"{DISABLED} names it")
            elif allowed is not None and record.source == "installed" and record.name not in allowed:
                self._block(record, f"{ALLOWED} does not name it")

    def _block(self, record: PluginRecord, why: str) -> None:
        record.state = "blocked"
        record.reason = f"plugin {record.describe()} is blocked: {why}"

    def _read_list(self, variable: str) -> frozenset[str] | None:
        text = os.environ.get(variable)
        if text is None:
            return None
        names = frozenset(name.strip() for name in text.split(",") if name.strip())
        known = {record.name for record in self._all()}
        for name in sorted(names - known):
            hint = self._nearest(name) + self._known()
            raise PluginError(f"{variable} names {name!r}, which is not a plugin{hint}")
        return names


def _record(source: str, found: Found) -> PluginRecord:
    where = found.distribution, found.version, found.entry_point, found.api or ""
    return PluginRecord(found.name, source, *where, unreadable=found.error)
