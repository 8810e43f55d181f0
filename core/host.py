"""The plugin host: activates plugins in an order that names decide, and isolates their failures."""

from __future__ import annotations

import importlib
import os
import sys
import threading
import warnings
from functools import reduce
from typing import Any

import pluggy

from primax.core import config, hookspec, journal, metadata, rules
from primax.core.arguments import name_of
from primax.core.author import author
from primax.core.consent import OVERRIDES, Consents
from primax.core.errors import PluginError, PluginWarning
from primax.core.plugin_catalog import DISABLED, PluginCatalog
from primax.core.plugin_record import PluginRecord, one_line
from primax.core.primitive import Primitive
from primax.core.registry import RefusedError, Registry, nearest
from primax.core.source_info import register_plugin_files

__all__ = ["PluginHost", "PluginRecord", "host"]


class _Activation(threading.local):
    """What this thread is activating, if anything.

    Attributes:
      running: whether it is.
      loading: the plugin that is being imported or registers.
    """

    running = False
    loading: PluginRecord | None = None


class PluginHost(PluginCatalog):
    """All plugins of a process, of which those that come later are refused what is taken.

    A plugin is imported without the host's lock, so that a thread which imports it and binds a primitive
    meanwhile never waits for a thread that waits for that import. It registers with the lock held.
    """

    def __init__(self) -> None:
        super().__init__()
        self.primitives: dict[str, Primitive] = {}
        self.manager = pluggy.PluginManager("primax")
        self.manager.add_hookspecs(hookspec)
        self._active: list[PluginRecord] = []
        self._unreported: list[PluginRecord] = []
        self._owners: dict[tuple[str, Any], str] = {}
        self._consents = Consents()
        self._without_consent: set[str] = set()
        self._waiting: dict[str, bool] = {}  # by the names of plugins, whether they may be left for later
        self._activation = _Activation()

    def __repr__(self) -> str:
        return f"<PluginHost: {len(self._active)} of {len(self._all())} plugins active>"

    def install(self) -> None:
        """Make this the host that is asked when a rule is missing."""
        rules.loader.load = self.activate_imported
        rules.loader.load_all = self.activate
        rules.loader.suppliers = self.suppliers
        rules.loader.refusal = self._refusal_to_override

    def register_module(self, module: Any, *, name: str | None = None) -> PluginRecord:
        """Activate a plugin that is at hand.

        Args:
          module: a module, class or object with functions marked by `hookimpl`.
          name: the plugin's name; by default the module's.

        Raises:
          PluginError: it failed or was refused, and nothing of it remains.
        """
        module_name = name_of(module)
        where = getattr(module, "__module__", None) or module_name
        record = PluginRecord(name or module_name, "explicit", entry_point=where)
        self._advance(self._builtins_step)
        with self._lock:
            taken = self._find(record.name)
            if taken is not None:
                raise PluginError(f"register_module: plugin {taken.describe()} has that name already")
            self._explicit.append(record)
            try:
                self._register(record, module)
            finally:
                if record.state != "active":
                    self._explicit.remove(record)
            if record.state != "active":
                self._unreported.remove(record)
                raise PluginError(record.reason) from record.error
        return record

    def unregister(self, name: str) -> None:
        """Withdraw an active plugin; for tests.

        What it has overridden comes back. Plugins that came later are withdrawn and registered again, so that
        nothing is left that depends on its having been there. An explicit plugin is forgotten; another stays,
        blocked.

        Raises:
          PluginError: no plugin of this name is active.
        """
        with self._lock:
            record = self._find(name)
            if record is None or record.state != "active":
                raise PluginError(f"unregister: no plugin {name!r} is active{self._nearest(name)}")
            start = self._active.index(record)
            later = [(each, each.plugin) for each in self._active[start + 1 :]]
            for each in reversed(self._active[start:]):
                self._withdraw(each)
            if record.source == "explicit":
                self._explicit.remove(record)
            else:
                record.state, record.reason = "blocked", f"plugin {record.describe()} was unregistered"
            for each, plugin in later:
                self._register(each, plugin)
        self._report()

    def activate(self) -> bool:
        """Activate every plugin that has not been looked at yet.

        Returns:
          Whether anything may have changed: False if all was done before, or is being done by this thread.

        Raises:
          PluginError: a variable in the environment names an unknown plugin, an essential family failed, or
            any plugin failed or was refused and `strict_plugins` is on.
        """
        return False if self._complete else self._advance(self._all_steps)

    def activate_imported(self) -> bool:
        """Activate every plugin, except deferred families that have not been imported.

        Nobody can bind their primitives. The same holds for installed plugins whose packages say, in a file, that they
        have nothing but primitives of their own. Where there are others, which may override rules of any family, all
        families are activated.

        Returns:
          Whether anything may have changed.

        Raises:
          PluginError: as `activate`.
        """
        if self._complete or self._looked_at == rules.loader.primitives:
            return False
        return self._advance(self._imported_steps)

    def activate_plugin(self, name: str) -> bool:
        """Activate a plugin and those that come before it: the built-in ones for a built-in one, else all.

        Returns:
          Whether it was activated now.

        Raises:
          PluginError: there is no such plugin, or it is not active for the reason given.
        """
        record = self.record(name)
        before = record.state
        if before == "discovered":
            self._advance(self._builtins_step if record.source == "built-in" else self._all_steps)
        if record.state not in ("active", "discovered"):
            raise PluginError(record.reason)
        return record.state != before

    def suppliers(self, primitive: Any) -> list[str]:
        """Who could supply what a primitive lacks, and why they do not; lines for a message."""
        lines = []
        if self._activation.loading is not None:
            lines.append(
                f"Plugin {self._activation.loading.name!r} is being loaded just now: "
                "a plugin should bind primitives when its functions are called, not when it is imported."
            )
        home = self._home(primitive)
        if home is not None and home.state != "active":
            reason = home.reason or "it has not been loaded yet"
            lines.append(f"Its plugin {home.name!r} is not active: {reason}.")
        else:
            idle = [each for each in self._installed or () if each.state not in ("active", "discovered")]
            lines += [f"Not active, whatever it may supply: {each.reason}." for each in idle]
        return lines

    def _advance(self, steps: Any) -> bool:
        """Take steps of activation, unless this thread is in the middle of them."""
        if self._activation.running:
            return False
        self._activation.running = True
        try:
            self._discover()
            done = steps()
        finally:
            self._activation.running = False
        self._report()
        if done:
            self._complete = all(record.state != "discovered" for record in self._all())
        return True

    def _builtins_step(self) -> bool:
        for record in self._builtins:
            self._load(record)
        return all(record.state != "discovered" for record in self._builtins)

    def _all_steps(self) -> bool:
        if not self._builtins_step():
            return False
        for record in self._installed or ():
            self._load(record)
            if record.state == "discovered":
                return False
        return True

    def _has_guests(self) -> bool:
        """Whether a plugin other than a family is active that may have rules for primitives of any family."""
        return bool(self._explicit) or any(
            record.source == "installed" and not self._waiting.get(record.name) for record in self._active
        )

    def _may_wait(self, record: PluginRecord) -> bool:
        """Whether nobody can bind primitives of a plugin yet, and it says that it has nothing else."""
        if record.module.partition(".")[0] in sys.modules:
            return False
        if record.name not in self._waiting:
            try:
                found = metadata.read(record.module)
                self._waiting[record.name] = found is not None and metadata.stands_alone(found)
            except ValueError:  # `primax check` tells; until then it is loaded as if there were no file
                self._waiting[record.name] = False
        return self._waiting[record.name]

    def _imported_steps(self) -> bool:
        while True:
            primitives = rules.loader.primitives
            guests = [each for each in self._installed or () if each.state == "discovered" and not self._may_wait(each)]
            everything = bool(guests) or self._has_guests()
            families = [
                each
                for each in self._builtins
                if everything or each.name not in self._deferred or each.module in sys.modules
            ]
            for record in families:
                self._load(record)
            if any(record.state == "discovered" for record in families):
                return False
            for record in guests:
                self._load(record)
                if record.state == "discovered":
                    return False
            if primitives == rules.loader.primitives:
                self._looked_at = primitives
                return True

    def _load(self, record: PluginRecord) -> None:
        """Import and register a plugin. It stays discovered if its import began before and is not over."""
        if record.state != "discovered":
            return
        refusal = self.refusal(record)
        if refusal:
            self._give_up(record, "refused", f"is refused: {refusal}")
            return
        outer, self._activation.loading = self._activation.loading, record
        try:
            module = importlib.import_module(record.module)
            if getattr(getattr(module, "__spec__", None), "_initializing", False):
                return
            attributes = record.entry_point.partition(":")[2].split(".")
            plugin = reduce(getattr, (each.strip() for each in attributes if each.strip()), module)
        except (Exception, SystemExit) as error:
            self._give_up(record, "failed", f"failed while it was imported: {one_line(error)}", error)
            return
        finally:
            self._activation.loading = outer
        with self._lock:
            if record.state == "discovered":
                self._register(record, plugin)

    def _register(self, record: PluginRecord, plugin: Any) -> None:
        """Let a plugin register, and undo all of it if it fails. The lock is held."""
        registry = Registry(record.name, self.primitives, self._owners, self._consents)
        activation = self._activation
        outer = activation.loading, activation.running
        activation.loading, activation.running = record, True
        try:
            self._enlist(record.name, plugin)
            others = [each for _, each in self.manager.list_name_plugin() if each is not plugin]
            with journal.recording(registry.undos):  # it may write to tables, too
                self.manager.subset_hook_caller("primax_register", others)(registry=registry)
        except BaseException as error:
            registry.roll_back()
            if self.manager.get_plugin(record.name) is plugin:
                self.manager.unregister(name=record.name)
            if isinstance(error, RefusedError):
                self._give_up(record, "refused", f"is refused: {error}", error)
            elif isinstance(error, Exception | SystemExit):
                self._give_up(record, "failed", f"failed while it registered: {one_line(error)}", error)
            else:
                raise
        else:
            registry.open = False
            if record.source == "installed":
                _take_for_no_users(record.module)
            record.registry = registry
            record.plugin = plugin
            record.state = "active"
            record.reason = record.traceback = ""
            self._active.append(record)
        finally:
            activation.loading, activation.running = outer

    def allow_overrides(self, *names: str) -> None:
        """Let plugins replace rules of other plugins' primitives, each before those that follow.

        Raises:
          PluginError: there is no plugin of a name.
        """
        for name in names:
            self.record(name)
        with self._lock:
            self._consents.add(list(names))
            for name in self._without_consent & {*names}:
                record = self.record(name)
                record.state, record.reason, record.traceback = "discovered", "", ""
                self._complete, self._looked_at = False, -1
            self._without_consent -= {*names}

    def _discover(self) -> None:
        listed = self._listed
        super()._discover()
        if not listed:
            for name in self._consents.read_environment():
                if self._find(name) is None:
                    hint = self._nearest(name) + self._known()
                    raise PluginError(f"{OVERRIDES} names {name!r}, which is no plugin{hint}")

    def _refusal_to_override(self, primitive: Any, current: Any) -> str:
        """Why the plugin that is registering just now may not replace a rule; empty if it may, or none is."""
        record = self._activation.loading
        if record is None or record.source != "installed":
            return ""  # it comes with primax, or the user has given it by hand
        refusal = self._consents.refusal(record.name, getattr(primitive, "plugin", None), current)
        if refusal:
            self._without_consent.add(record.name)
        return refusal

    def _enlist(self, name: str, plugin: Any) -> None:
        """Hand a plugin to pluggy, which finds its hooks and refuses those that are none."""
        for other, each in self.manager.list_name_plugin():
            if each is plugin:
                raise RefusedError(f"what it offers is plugin {other!r} already")
        try:
            self.manager.register(plugin, name)
            self.manager.check_pending()
        except pluggy.PluginValidationError as error:
            hooks = vars(self.manager.hook)
            known = [hook for hook, caller in hooks.items() if caller.has_spec()]
            for hook, caller in hooks.items():
                if not caller.has_spec() and any(impl.plugin is plugin for impl in caller.get_hookimpls()):
                    raise RefusedError(
                        f"{hook!r} is no hook of primax{nearest(hook, known)} (there is {', '.join(known)})"
                    ) from error
            raise RefusedError(" ".join(str(error).split())) from error
        if not self.manager.get_hookcallers(plugin):
            unmarked = callable(getattr(plugin, "primax_register", None))
            raise RefusedError(
                "its primax_register is not marked with @hookimpl"
                if unmarked
                else "it has no function that is marked with @hookimpl"
            )

    def _withdraw(self, record: PluginRecord) -> None:
        if record.registry is not None:
            record.registry.roll_back()
        self.manager.unregister(name=record.name)
        self._active.remove(record)
        record.state = "discovered"
        record.registry = record.plugin = None

    def _give_up(self, record: PluginRecord, state: str, reason: str, error: BaseException | None = None) -> None:
        with self._lock:
            if record.state == "discovered":
                record.give_up(state, reason, error)
                self._unreported.append(record)

    def _report(self) -> None:
        """Warn of each plugin that failed or was refused, once, or raise."""
        while True:
            with self._lock:
                if not self._unreported:
                    return
                record = self._unreported.pop(0)
                error, record.error = record.error, None
            vital = record.source == "built-in" and record.name in self._essential
            if vital or config.strict_plugins.value:
                raise PluginError(record.reason) from error
            first_of_name = self._find(record.name) is record
            silence = f"{DISABLED}={record.name}" if first_of_name else f"uninstalling {record.distribution}"
            warnings.warn(
                f"{record.reason}. primax goes on without it; `python -m primax plugins {record.name}` shows more, "
                f"and {silence} silences this",
                PluginWarning,
                stacklevel=author(inside=("primax.",)).level,
            )


def _take_for_no_users(module: str) -> None:
    """Say whose the lines of a plugin's package are, for messages that look for the user's."""
    package = sys.modules.get(module.partition(".")[0])
    for folder in getattr(package, "__path__", ()):
        register_plugin_files(os.path.join(folder, ""))
    file = getattr(sys.modules.get(module), "__file__", None)
    if file:
        register_plugin_files(file)


host = PluginHost()
host.install()
