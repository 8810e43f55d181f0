"""The plugin host: it activates plugins in the order of their names, and isolates their failures."""

from __future__ import annotations

import importlib
import os
import sys
import threading
import warnings
import weakref
from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

from primax.core import rules, undo_log
from primax.core.arguments import name_of
from primax.core.caller import author
from primax.core.errors import PluginError, PluginWarning
from primax.core.gc_pause import gc_paused
from primax.core.primitive import Primitive
from primax.core.source_info import register_plugin_files
from primax.extend import manifests
from primax.extend import options as config
from primax.extend.callers import modules_being_imported
from primax.extend.host import metadata
from primax.extend.host.hook_manager import HookManager
from primax.extend.host.lazy_plugins import LazyPlugins
from primax.extend.host.plugin_catalog import DISABLED, PluginCatalog, module_of
from primax.extend.host.plugin_record import PluginRecord, one_line
from primax.extend.host.registry import (
    RefusedError,
    Registry,
    enter_awaited,
    find_primitive,
    hold,
    name_of_entry,
    not_entered,
)
from primax.extend.host.write_policy import WritePolicy
from primax.extend.loading import WrittenByHook, WrittenByImport, warnings_shown
from primax.extend.provisional.awaited_rules import Awaited

__all__ = ["PluginHost", "PluginRecord", "host"]


class _Activation(threading.local):
    """The activation that runs in this thread, if there is one.

    Attributes:
      running: whether an activation runs.
      loading: the plugin that is being imported or registered.
      registering: the plugin whose hook runs.
      begun: all plugins that are being imported or registered.
    """

    running = False
    loading: PluginRecord | None = None
    registering: PluginRecord | None = None
    begun: tuple[PluginRecord, ...] = ()

    def is_loading(self, *sources: str) -> bool:
        """Whether a plugin from one of these sources is being loaded."""
        return self.loading is not None and self.loading.source in sources


class PluginHost(WritePolicy):
    """All plugins of a process. A plugin is refused if it defines something that an earlier plugin has defined.

    The host imports a plugin without holding its lock. Otherwise a thread that imports the plugin's module and binds a
    primitive meanwhile would wait for the host, which waits for that import. The plugin registers with the lock held.

    Attributes:
      catalog: the list of all plugins.
      lazy: the plugins that wait, by their entries.
      primitives: those of all active plugins, by name.
    """

    def __init__(self) -> None:
        super().__init__()
        self.changes = 0
        self.catalog = PluginCatalog()
        self.lazy = LazyPlugins()
        self.hooks = HookManager()
        self.primitives: dict[str, Primitive] = {}
        self._active: list[PluginRecord] = []
        self._unreported: list[PluginRecord] = []
        self._scripts: list[Registry] = []  # the rules of primitives without a plugin that wait for plugins
        self._remarks: list[str] = []  # warnings about active plugins, not reported yet
        self._withdrawn: weakref.WeakKeyDictionary[Primitive, str] = weakref.WeakKeyDictionary()
        self._is_complete = False  # whether every plugin has been examined
        self._examined = -1  # the number of changes when all plugins that do not wait were last examined
        self._waiting_for: list[str] = []  # modules whose import ends the waiting of a plugin
        self._activation = _Activation()
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"<PluginHost: {len(self._active)} of {len(self.catalog.all())} plugins active>"

    def install(self) -> None:
        """Make this the host that loads plugins when a rule is missing."""
        self.changes += rules.loader.changes
        rules.loader = self

    def records(self) -> list[PluginRecord]:
        """All plugins, active or not, in the order of activation. Nothing is imported.

        Raises:
          PluginError: a variable in the environment names an unknown plugin.
        """
        self.discover()
        return self.catalog.all()

    def record(self, name: str) -> PluginRecord:
        """The plugin with a name.

        Raises:
          PluginError: there is no such plugin.
        """
        self.discover()
        record = self.catalog.find(name)
        if record is None:
            raise PluginError(f"there is no plugin {name!r}{self.catalog.hint(name)}")
        return record

    def discover(self) -> None:
        if self.catalog.discover(self.lazy.add):
            self._consents.read_environment()

    def register_module(self, module: Any, *, name: str | None = None) -> PluginRecord:
        """Activate a plugin that is given as an object.

        Args:
          module: a module, class or object with functions marked by `hookimpl`.
          name: the plugin's name; by default the module's.

        Raises:
          PluginError: the plugin failed or was refused, and none of its entries remain.
          TypeError: an argument has the wrong type.
        """
        if isinstance(module, str) or module is None:
            raise TypeError(
                f"plugins.register: plugin must be a module, a class or an object with hooks, got {module!r}"
            )
        if not (name is None or (isinstance(name, str) and name)):
            raise TypeError(f"plugins.register: name must be a non-empty string, got {name!r}")
        module_name = name_of(module)
        where = getattr(module, "__module__", None) or module_name
        record = PluginRecord(name or module_name, "explicit", entry_point=where)
        self._advance(self._load_families)
        with self._lock:
            taken = self.catalog.find(record.name)
            if taken is not None:
                raise PluginError(f"plugins.register: plugin {taken.describe()} has that name already")
            self.catalog.explicit.append(record)
            try:
                self._register(record, module)
            finally:
                if record.state != "active":
                    self.catalog.explicit.remove(record)
            if record.state != "active":
                self._unreported.remove(record)
                raise PluginError(record.reason) from record.error
        self._report()
        return record

    def unregister(self, name: str) -> None:
        """Withdraw an active plugin; for tests.

        This restores the entries that it had overridden. Later plugins are withdrawn and registered again, so that
        nothing depends on this plugin any more. An explicit plugin leaves the list; any other stays there as blocked.

        Raises:
          PluginError: no plugin of this name is active, or primax cannot do without it.
        """
        with self._lock:
            record = self.catalog.find(name)
            if record is None:
                raise PluginError(f"unregister: no plugin {name!r} is active{self.catalog.nearest(name)}")
            if record.state != "active":
                registering = record is self._activation.loading
                state = "is registering just now" if registering else f"is {record.state}, not active"
                raise PluginError(f"unregister: no plugin {name!r} is active: it {state}")
            if record.source == "built-in" and record.essential:
                raise PluginError(f"unregister: plugin {name!r} cannot be withdrawn: other plugins depend on it")
            for primitive in [primitive for primitive in self.primitives.values() if primitive.plugin == name]:
                self._withdrawn[primitive] = name
            later = self._withdraw_from(record)[1:]
            if record.source == "explicit":
                self.catalog.explicit.remove(record)
            else:
                record.state, record.reason = "blocked", f"plugin {record.describe()} was unregistered"
            for active, plugin in later:
                self._register(active, plugin)
        self._report()

    def activate(self) -> bool:
        """`load` with every plugin."""
        return self.load(everything=True)

    def load(self, everything: bool = False) -> bool:
        """Activate the plugins that a program may need by now.

        Programs cannot bind primitives of families that they have not imported. Installed plugins with a file that
        lists their entries wait, too, until a program imports their package or asks for one of the listed entries. If
        a plugin has rules for a waiting family, the family is activated first.

        Args:
          everything: whether to activate every plugin that has not been examined yet.

        Returns:
          Whether anything may have changed: False if everything was active, or this thread is activating plugins.

        Raises:
          PluginError: a variable in the environment names an unknown plugin, an essential family failed, or
            any plugin failed or was refused and `strict_plugins` is on.
        """
        if self._is_complete:
            return False
        if self._activation.is_loading("installed", "explicit"):  # the plugin may need further families
            waiting = [record for record in self.catalog.builtins if record.state == "discovered"]
            needed = [record for record in waiting if everything or not record.waits]
            self._load_each(needed)
            return bool(needed)
        if everything:
            return self._advance(self._load_all)
        if self._examined == self.changes and not any(module in sys.modules for module in self._waiting_for):
            return False
        return self._advance(self._load_needed)

    def complete(self, primitive: Any) -> None:
        self.load()
        if self.lazy.by_primitive and isinstance(primitive, Primitive):
            if self._request(self.lazy.extending(self._key_of(primitive))):
                self.load()
            if not self._activation.running:
                self.lazy.unwatch(primitive)

    def request(self, what: str, name: str | None) -> None:
        self.discover()
        self._request(self.lazy.with_entry(what, name))

    def entered(self, what: str, key: Any) -> None:
        record = self._writing_plugin()
        if record is not None:
            who = author()
            hold(self._owners, record.name, what, key, self._owners.get((what, key)), (who.file, who.line))
        if self._examined >= 0 and not self._activation.running:
            self.lazy.watch(self.primitives, self.complete)

    def load_owner(self, made: Any) -> bool:
        loading = self._activation.loading
        owner = getattr(made, "plugin", None)
        if owner is not None:
            return loading is not None and owner != loading.name
        if loading is not None and loading.source == "built-in" and loading.match(module_of(made)):
            return False
        owners = self.catalog.owners(made)
        if not owners or loading in owners:
            return False
        begun = [owner for owner in owners if owner in self._activation.begun]
        if begun and self._activation.registering is not None and begun[0].source != "built-in":
            raise RefusedError(
                f"it extends {name_of_entry(made)} of plugin {begun[0].name!r}, which extends an entry of it; "
                f"{begun[0].name!r} must enter its own entries first"
            )
        self._load_each([owner for owner in owners if owner not in begun])
        return getattr(made, "plugin", None) is not None or all(owner.state != "active" for owner in owners)

    def load_family_with(self, name: str) -> None:
        if not self._activation.is_loading("built-in"):
            families = self.catalog.builtins
            self._load_each([record for record in families if name in (record.manifest or {}).get("primitives", ())])

    def activate_plugin(self, name: str) -> bool:
        """Activate a plugin; together with all built-in ones if it is one, otherwise with all that do not wait.

        Returns:
          Whether it was activated now.

        Raises:
          PluginError: there is no such plugin, or it is not active for the reason given.
        """
        record = self.record(name)
        before = record.state
        if before == "discovered" and record.source == "built-in":
            self._advance(partial(self._load_each, self.catalog.builtins))
        elif before == "discovered":
            self._request([record])
            self._advance(self._load_needed)
        if record.state not in ("active", "discovered"):
            raise PluginError(record.reason)
        return record.state != before

    def import_builtin(self, name: str) -> None:
        """Import a built-in plugin.

        Raises:
          PluginError: it is not active for the reason given.
        """
        record = self.record(name)
        if record.state not in ("active", "discovered"):
            raise PluginError(record.reason)
        importlib.import_module(record.module)

    def suppliers(self, primitive: Any, kind: str) -> list[str]:
        """Lines for a message about a missing rule: the plugins that could supply it, and why they do not."""
        lines = []
        if self._activation.loading is not None:
            lines.append(
                f"Plugin {self._activation.loading.name!r} is still being imported: "
                "a plugin must not bind primitives at import, only when its functions are called."
            )
        home = self.catalog.home(primitive)
        withdrawn = self._withdrawn.get(primitive)
        if withdrawn is not None and primitive.plugin is None:
            lines.append(f"Its plugin {withdrawn!r} was unregistered.")
        elif home is not None and home.state != "active":
            lines.append(f"Its plugin {home.name!r} is not active: {home.reason or 'it has not been loaded yet'}.")
        else:
            names = {getattr(primitive, "name", ""), getattr(primitive, "full_name", "")}
            idle = [record for record in self.catalog.installed if record.state not in ("active", "discovered")]
            lines += [
                f"This plugin is not active and would supply it: {record.reason}."
                for record in idle
                if any(record.extends(name, kind) for name in names)
            ]
        return lines

    def _advance(self, steps: Any) -> bool:
        """Take steps of activation, unless this thread is already taking them."""
        if self._activation.running:
            return False
        self._activation.running = True
        try:
            with gc_paused():  # definitions of plugins stay
                self.discover()
                done = steps()
        finally:
            self._activation.running = False
        self._report()
        if done:
            self._is_complete = all(record.state != "discovered" for record in self.catalog.all())
        return True

    def _request(self, records: list[PluginRecord]) -> bool:
        """Let the next check load these plugins; returns whether there are any."""
        for record in records:
            if not record.requested:
                record.requested = True
                self.changes += 1
        return bool(records)

    def _key_of(self, primitive: Primitive) -> str:
        """The name of a primitive in `primitives`."""
        return primitive.name if self.primitives.get(primitive.name) is primitive else primitive.full_name

    def _load_each(self, records: Sequence[PluginRecord]) -> bool:
        """Load plugins; returns whether all were examined."""
        for record in records:
            self._load(record)
        return all(record.state != "discovered" for record in records)

    def _load_families(self) -> bool:
        return self._load_each([record for record in self.catalog.builtins if not record.waits])

    def _load_all(self) -> bool:
        families = self._load_each(self.catalog.builtins)
        return self._load_each(self.catalog.installed) and families

    def _load_needed(self) -> bool:
        while True:
            changes = self.changes
            families = self._load_families()
            if not (self._load_each([r for r in self.catalog.installed if not r.waits]) and families):
                return False
            self.lazy.watch(self.primitives, self.complete)
            if changes == self.changes:
                self._waiting_for = [record.home for record in self.catalog.installed if record.state == "discovered"]
                self._examined = changes
                return True

    def primitive(self, name: str) -> Primitive | None:
        """The primitive of a full or short name, with its plugin activated; None if there is none.

        Raises:
          PluginError: several plugins have one of that name.
        """
        self.load()
        self.load_family_with(name)
        primitive = find_primitive(self.primitives, name)
        return find_primitive(self.primitives, name) if primitive is None and self.activate() else primitive

    def _load(self, record: PluginRecord) -> bool:
        """Import and register a plugin, and return True; False if another import of its module is running."""
        if record.state != "discovered":
            return True
        if record.source != "built-in" and _is_within(record.module, set(modules_being_imported())):
            return False  # the program imports the package just now
        self.lazy.release(record)
        refusal = self.catalog.refusal(record)
        if refusal:
            self._give_up(record, "refused", f"is refused: {refusal}")
            return True
        activation, written = self._activation, WrittenByImport(record)
        outer = activation.loading, activation.begun
        activation.loading, activation.begun = record, (*activation.begun, record)
        try:
            with warnings_shown(), undo_log.recording(written):
                module = importlib.import_module(record.module)
            if getattr(getattr(module, "__spec__", None), "_initializing", False):
                return False
            attributes = record.entry_point.partition(":")[2].split(".")
            plugin = reduce(getattr, (attribute.strip() for attribute in attributes if attribute.strip()), module)
            if record.source != "built-in":
                self._load_families()  # loads families that the plugin has imported
        except BaseException as error:
            written.undo()
            if isinstance(error, KeyboardInterrupt):
                raise
            self._fail(record, "was imported", error)
            return True
        finally:
            activation.loading, activation.begun = outer
        with self._lock:
            if record.state == "discovered":
                self._register(record, plugin, written)
        return True

    def _register(self, record: PluginRecord, plugin: Any, written: WrittenByImport | None = None) -> None:
        """Register a plugin, and undo everything if it fails. The caller has the lock.

        Plugins that have given rules for primitives of this one, before this one was known, are registered again.

        Args:
          record: the plugin.
          plugin: the object with its hooks.
          written: the undo functions of the writes of its modules at their import.
        """
        early = [active for active in self._active if self._is_early(active, record)]
        later = self._withdraw_from(early[0]) if early else []
        written = WrittenByImport(record) if written is None else written
        registry = Registry(record.name, self.primitives, self._owners, self._consents)
        if record.source != "built-in":  # families import nothing in their hooks
            registry.undos = WrittenByHook(written)
        waiting = set(not_entered)
        activation = self._activation
        outer = activation.loading, activation.registering, activation.running, activation.begun
        activation.loading, activation.registering, activation.running = record, record, True
        activation.begun = (*activation.begun, record)
        try:
            with warnings_shown(), undo_log.recording(registry.undos):  # the plugin may also write to tables directly
                self.hooks.call_register(record.name, plugin, registry)
        except BaseException as error:
            registry.roll_back()
            self.hooks.withdraw(record.name, plugin)
            if isinstance(error, KeyboardInterrupt):
                raise
            if not isinstance(error, RefusedError):  # one that is refused may be activated later
                undo_log.undo_all(written)
            self._fail(record, "registered", error)
        else:
            registry.open = False
            if record.source == "installed":
                _take_for_no_users(record.module)
            record.registry = registry
            record.plugin = plugin
            record.state = "active"
            record.reason = record.traceback = ""
            self._active.append(record)
            self._inspect_file(record)
            self._look_for_forgotten(record, waiting)
            self._enter_awaited(registry)
        finally:
            activation.loading, activation.registering, activation.running, activation.begun = outer
        for active, hooks in later:
            self._register(active, hooks)

    def _is_early(self, active: PluginRecord, record: PluginRecord) -> bool:
        """Whether an active plugin has given rules for primitives of a plugin that was not known then."""
        if "built-in" in (active.source, record.source) or active.registry is None:
            return False
        return any(
            record in owners and active not in owners for owners in map(self.catalog.owners, active.registry.extended)
        )

    def _withdraw_from(self, first: PluginRecord) -> list[tuple[PluginRecord, Any]]:
        """Withdraw a plugin and all later ones; returns these with their hooks, to be registered again."""
        later = [(active, active.plugin) for active in self._active[self._active.index(first) :]]
        for active, _ in reversed(later):
            self._withdraw(active)
        return later

    def _fail(self, record: PluginRecord, while_it: str, error: BaseException) -> None:
        """Record the error of a plugin that failed, or was refused, while it was imported or registered."""
        if isinstance(error, RefusedError):
            self._give_up(record, "refused", f"is refused: {error}", error)
        else:
            self._give_up(record, "failed", f"failed while it {while_it}: {one_line(error)}", error)

    def await_rules(self, primitive: Primitive, awaited: list[Awaited]) -> None:
        """Enter rules of a primitive without a plugin when the plugins for which they wait are active."""
        with self._lock:
            self._scripts = [giver for giver in self._scripts if giver.awaited[0].primitive is not primitive]
            if awaited:
                self._scripts.append(Registry(primitive.module, self.primitives, self._owners))
                self._scripts[-1].awaited += awaited
                self._enter_awaited(self._scripts[-1])

    def _enter_awaited(self, new: Registry) -> None:
        """Enter the rules of a new plugin that wait for active ones, and those of active ones that wait for it."""
        for giver in [*self._scripts, *(record.registry for record in self._active if record.registry is not None)]:
            for name in {rule.plugin for rule in giver.awaited}:
                if name == new.plugin or (giver is new and any(record.name == name for record in self._active)):
                    self._remarks += enter_awaited(giver, name)

    def _look_for_forgotten(self, record: PluginRecord, before: set[Primitive]) -> None:
        """Record a warning about primitives that a plugin defined but did not enter.

        Args:
          record: the plugin.
          before: the primitives that waited to be entered before it registered.
        """
        package = record.module.partition(".")[0]
        alone = not any(r is not record and r.module.partition(".")[0] == package for r in self.catalog.all())
        home = package if alone and record.source == "installed" else record.module
        forgotten = [
            p
            for p in list(not_entered)
            if f"{p.module}.".startswith(f"{home}.") or (p not in before and self.catalog.home(p) in (None, record))
        ]
        if forgotten:
            names = ", ".join(sorted(primitive.name for primitive in forgotten))
            self._remarks.append(
                f"plugin {record.describe()} is active, but has not entered {names}; did you forget "
                "definitions.enter(registry) in its primax_register?"
            )
            not_entered.difference_update(forgotten)

    def _inspect_file(self, record: PluginRecord) -> None:
        """Record a warning about entries of an installed plugin that its file does not list."""
        if record.source != "installed":
            return
        unlisted = [] if record.manifest is None else manifests.unlisted(record.manifest, record.entries)
        if unlisted:
            self._remarks.append(
                f"the {metadata.FILE} of plugin {record.describe()} does not list {', '.join(map(repr, unlisted))}, so "
                f"programs that do not import the plugin will not find them; `python -m primax check {record.name}` "
                "shows the right file"
            )

    def _withdraw(self, record: PluginRecord) -> None:
        if record.registry is not None:
            record.registry.roll_back()
        self.hooks.withdraw(record.name, record.plugin)
        self._active.remove(record)
        record.state = "discovered"
        record.registry = record.plugin = None

    def _give_up(self, record: PluginRecord, state: str, reason: str, error: BaseException | None = None) -> None:
        with self._lock:
            if record.state == "discovered":
                record.give_up(state, reason, error)
                self._unreported.append(record)

    def _report(self) -> None:
        """Warn once of each plugin that failed or was refused, or raise; also warn of faults of active plugins."""
        while True:
            with self._lock:
                remark = self._remarks.pop(0) if self._remarks else ""
            if remark:
                warnings.warn(remark, PluginWarning, stacklevel=author(inside=("primax.",)).level)
                continue
            with self._lock:
                if not self._unreported:
                    return
                record = self._unreported.pop(0)
                error, record.error = record.error, None
            if record.essential or config.strict_plugins.value:
                raise PluginError(record.reason) from error
            first_of_name = self.catalog.find(record.name) is record
            silence = f"{DISABLED}={record.name}" if first_of_name else f"uninstalling {record.distribution}"
            warnings.warn(
                f"{record.reason}. primax continues without it; `python -m primax plugins {record.name}` shows more, "
                f"and {silence} silences this",
                PluginWarning,
                stacklevel=author(inside=("primax.",)).level,
            )


def _is_within(module: str, packages: set[str]) -> bool:
    """Whether a module, or a package around it, is among these."""
    while module and module not in packages:
        module = module.rpartition(".")[0]
    return bool(module)


def _take_for_no_users(module: str) -> None:
    """Exclude the lines of a plugin's package from the user's lines that messages show."""
    package = sys.modules.get(module.partition(".")[0])
    for folder in getattr(package, "__path__", ()):
        register_plugin_files(os.path.join(folder, ""))
    file = getattr(sys.modules.get(module), "__file__", None)
    if file:
        register_plugin_files(file)


host = PluginHost()
host.install()
