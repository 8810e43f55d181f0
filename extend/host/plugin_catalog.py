"""The catalog of plugins: built-in, explicitly registered, and installed ones, including blocked ones."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from primax.core import trusted_modules
from primax.core.arguments import nearest
from primax.core.errors import PluginError
from primax.extend.host import hookspec
from primax.extend.host.discovery import ApiRange, Found, installed_plugins, show_version
from primax.extend.host.plugin_record import PluginRecord

__all__ = ["DISABLED", "PluginCatalog"]

ALLOWED = "PRIMAX_PLUGINS"
DISABLED = "PRIMAX_DISABLE_PLUGINS"


class PluginCatalog:
    """All plugins of a process: built-in families in listed order, explicit ones by time, installed ones by name.

    Attributes:
      builtins: the families of primax.
      explicit: the plugins that were given as objects.
      installed: the plugins of other distributions.
      own_version: the version of primax, if this process has the families of primax.
    """

    def __init__(self) -> None:
        self.builtins: list[PluginRecord] = []
        self.explicit: list[PluginRecord] = []
        self.installed: list[PluginRecord] = []
        self.own_version: str | None = None
        self._is_read = False  # whether the metadata of distributions have been read
        self._is_listed = False  # whether the variables in the environment have been read
        self._lock = threading.RLock()

    def discover(self, take: Callable[[list[PluginRecord]], None]) -> bool:
        """List the installed plugins, once, and block those that the environment names; whether this call did it.

        Args:
          take: is called with all plugins before other threads see that they are listed.

        Raises:
          PluginError: a variable in the environment names an unknown plugin, or primax finds no plugins of its own.
        """
        if self._is_listed:
            return False
        own, others = ([], []) if self._is_read else installed_plugins(self.own_version)
        with self._lock:
            if not self._is_read:
                self._list_own(own)
                self.installed = [_record("installed", plugin) for plugin in others]
                self._is_read = True
                trusted_modules.proven.update(
                    record.module
                    for record in self.all()
                    if (record.manifest or {}).get("proven") and not record.unreadable
                )
            first = not self._is_listed
            if first:
                self._apply_lists()
                take(self.all())
                self._is_listed = True
            return first

    def all(self) -> list[PluginRecord]:
        """The plugins that are listed so far, in the order of activation."""
        return [*self.builtins, *self.explicit, *self.installed]

    def find(self, name: str) -> PluginRecord | None:
        """The listed plugin with a name."""
        return next((record for record in self.all() if record.name == name), None)

    def nearest(self, name: str) -> str:
        """A hint for a message about an unknown name: the nearest name of a plugin, if one is near."""
        return nearest(name, [record.name for record in self.all()])

    def hint(self, name: str) -> str:
        """`nearest`, and all names."""
        names = {record.name for record in self.all()}
        return f"{self.nearest(name)} (there are {', '.join(sorted(names)) or 'none'})"

    def of_module(self, module: str) -> list[PluginRecord]:
        """The plugins that a module belongs to; several if they share a package and none of them is nearer."""
        matches = [(record.match(module), record) for record in self.all()]
        nearest = max((match for match, _ in matches), default=0)
        return [record for match, record in matches if match == nearest] if nearest else []

    def owners(self, made: Any) -> list[PluginRecord]:
        """The plugins that may own a primitive or a class, which does not depend on the order of their activation.

        These are the plugins of the module that made it. If there are several, or the module belongs to none, those
        count whose files list the primitive.
        """
        homes = self.of_module(module_of(made))
        name = getattr(made, "name", "")
        listing = [
            record for record in homes or self.installed if name in (record.manifest or {}).get("primitives", ())
        ]
        return homes if len(homes) == 1 else listing or homes

    def home(self, primitive: Any) -> PluginRecord | None:
        """The plugin of a primitive, active or not."""
        owner = getattr(primitive, "plugin", None)
        if owner is not None:
            return self.find(owner)
        return next(iter(self.owners(primitive)), None)

    def refusal(self, record: PluginRecord) -> str:
        """The reason to refuse a plugin before its import; empty if there is none."""
        if record.unreadable:
            return record.unreadable
        first = self.find(record.name)
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

    def _list_own(self, own: list[Found]) -> None:
        """List the plugins of primax.

        Raises:
          PluginError: there are none.
        """
        if self.own_version is None:
            return
        if not own:
            raise PluginError(
                f"primax {self.own_version} finds no plugins, because the metadata of its distribution is not on "
                "sys.path; install primax-core, in a checkout by `pip install -e .`"
            )
        self.builtins += [_record("built-in", plugin) for plugin in own]
        trusted_modules.built_in.update(record.module for record in self.builtins)

    def _apply_lists(self) -> None:
        allowed = self._read_list(ALLOWED)
        disabled = self._read_list(DISABLED) or frozenset()
        for record in self.all():
            if record.name in disabled and record.source == "built-in" and record.essential:
                raise PluginError(
                    f"{DISABLED} names {record.name!r}, which cannot be disabled: other plugins depend on it"
                )
        for record in self.all():
            if record.state != "discovered":
                continue
            if record.name in disabled:
                _block(record, f"{DISABLED} names it")
            elif allowed is not None and record.source == "installed" and record.name not in allowed:
                _block(record, f"{ALLOWED} does not name it")

    def _read_list(self, variable: str) -> frozenset[str] | None:
        text = os.environ.get(variable)
        if text is None:
            return None
        names = frozenset(name.strip() for name in text.split(",") if name.strip())
        known = {record.name for record in self.all()}
        for name in sorted(names - known):
            raise PluginError(f"{variable} names {name!r}, which is not a plugin{self.hint(name)}")
        return names


def module_of(made: Any) -> str:
    """The module that made a primitive or a class."""
    return made.__module__ if isinstance(made, type) else getattr(made, "module", "")


def _block(record: PluginRecord, why: str) -> None:
    record.state = "blocked"
    record.reason = f"plugin {record.describe()} is blocked: {why}"


def _record(source: str, plugin: Found) -> PluginRecord:
    where = plugin.distribution, plugin.version, plugin.entry_point, plugin.api or ""
    return PluginRecord(plugin.name, source, *where, unreadable=plugin.error)
