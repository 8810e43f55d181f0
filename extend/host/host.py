"""The plugin host: it activates plugins in the order of their names, and isolates their failures."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import warnings
import weakref
from functools import reduce
from types import FunctionType, MethodType, ModuleType
from typing import Any

import pluggy

from primax.core import config, rules, undo_log
from primax.core.arguments import name_of, nearest
from primax.core.caller import author
from primax.core.errors import PluginError, PluginWarning
from primax.core.gc_pause import gc_paused
from primax.core.primitive import Primitive
from primax.core.source_info import register_plugin_files
from primax.extend.host import hookspec, metadata
from primax.extend.host.lazy_plugins import WaitingPlugins
from primax.extend.host.override_policy import OVERRIDES, Consents
from primax.extend.host.plugin_catalog import DISABLED
from primax.extend.host.plugin_record import PluginRecord, one_line
from primax.extend.host.registry import Holding, RefusedError, Registry, find_primitive, not_entered

__all__ = ["PluginHost", "PluginRecord", "host"]

_MARK = "primax_impl"  # the attribute of functions that `hookimpl` has marked


class PluginHost(WaitingPlugins):
    """All plugins of a process. A plugin is refused if it defines something that an earlier plugin has defined.

    The host imports a plugin without holding its lock. Otherwise a thread that imports the plugin's module and binds a
    primitive meanwhile would wait for the host, which waits for that import. The plugin registers with the lock held.
    """

    def __init__(self) -> None:
        super().__init__()
        self.manager = _PluginManager("primax")
        self.manager.add_hookspecs(hookspec)
        self._active: list[PluginRecord] = []
        self._unreported: list[PluginRecord] = []
        self._not_imported: list[str] = []  # the packages of waiting plugins
        self._withdrawn: weakref.WeakKeyDictionary[Primitive, str] = weakref.WeakKeyDictionary()
        self._remarks: list[str] = []  # warnings about active plugins, not reported yet
        self._owners: dict[tuple[str, Any], Holding] = {}
        self._consents = Consents()
        self._without_consent: set[str] = set()

    def __repr__(self) -> str:
        return f"<PluginHost: {len(self._active)} of {len(self._all())} plugins active>"

    def install(self) -> None:
        """Make this the host that loads plugins when a rule is missing."""
        rules.loader.load = self.activate_imported
        rules.loader.load_all = self.activate
        rules.loader.suppliers = self.suppliers
        rules.loader.refusal = self._refusal_to_override
        rules.loader.wanted = self._stop_waiting
        rules.loader.settle = self._settle
        rules.loader.discover = self._discover
        rules.loader.settle_name = self._settle_name
        rules.loader.asked = self._asked
        rules.loader.entered = self._entered

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
        self._advance(self._families_step)
        with self._lock:
            taken = self._find(record.name)
            if taken is not None:
                raise PluginError(f"plugins.register: plugin {taken.describe()} has that name already")
            self._explicit.append(record)
            try:
                self._register(record, module)
            finally:
                if record.state != "active":
                    self._explicit.remove(record)
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
            record = self._find(name)
            if record is None:
                raise PluginError(f"unregister: no plugin {name!r} is active{self._nearest(name)}")
            if record.state != "active":
                registering = record is self._activation.loading
                state = "is registering just now" if registering else f"is {record.state}, not active"
                raise PluginError(f"unregister: no plugin {name!r} is active: it {state}")
            if record.source == "built-in" and name in self._essential:
                raise PluginError(f"unregister: plugin {name!r} cannot be withdrawn: other plugins depend on it")
            for primitive in [each for each in self.primitives.values() if each.plugin == name]:
                self._withdrawn[primitive] = name
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
        """Activate every plugin that has not been examined yet.

        Returns:
          Whether anything may have changed: False if everything was active, or this thread is activating plugins.

        Raises:
          PluginError: a variable in the environment names an unknown plugin, an essential family failed, or
            any plugin failed or was refused and `strict_plugins` is on.
        """
        if self._complete:
            return False
        if self._is_loading_guest():
            return self._builtins_step()
        return self._advance(self._all_steps)

    def activate_imported(self) -> bool:
        """Activate every plugin, except deferred families that have not been imported.

        Programs cannot bind primitives of families that they have not imported. Installed plugins with a file that
        lists their entries wait, too, until a program imports their package or asks for one of the listed rules or
        operators. If a plugin has rules for a waiting family, the family is activated first.

        Returns:
          Whether anything may have changed.

        Raises:
          PluginError: as `activate`.
        """
        if self._complete:
            return False
        if self._is_loading_guest():
            waiting = [each for each in self._families() if each.state == "discovered"]
            for record in waiting:
                self._load(record)
            return bool(waiting)
        if self._looked_at == rules.loader.primitives and not any(each in sys.modules for each in self._not_imported):
            return False
        return self._advance(self._imported_steps)

    def activate_plugin(self, name: str) -> bool:
        """Activate a plugin, and with it all built-in ones, or for another plugin all that need not wait.

        Returns:
          Whether it was activated now.

        Raises:
          PluginError: there is no such plugin, or it is not active for the reason given.
        """
        record = self.record(name)
        before = record.state
        if before == "discovered" and record.source == "built-in":
            self._advance(self._builtins_step)
        elif before == "discovered":
            self._stop_waiting([name])
            self._advance(self._imported_steps)
        if record.state not in ("active", "discovered"):
            raise PluginError(record.reason)
        return record.state != before

    def suppliers(self, primitive: Any) -> list[str]:
        """Lines for a message about a missing rule: the plugins that could supply it, and why they do not."""
        lines = []
        if self._activation.loading is not None:
            lines.append(
                f"Plugin {self._activation.loading.name!r} is still being imported: "
                "a plugin must not bind primitives at import, only when its functions are called."
            )
        home = self._home(primitive)
        withdrawn = self._withdrawn.get(primitive)
        if withdrawn is not None and primitive.plugin is None:
            lines.append(f"Its plugin {withdrawn!r} was unregistered.")
        elif home is not None and home.state != "active":
            reason = home.reason or "it has not been loaded yet"
            lines.append(f"Its plugin {home.name!r} is not active: {reason}.")
        else:
            idle = [each for each in self._installed or () if each.state not in ("active", "discovered")]
            lines += [f"This plugin is not active and may supply it: {each.reason}." for each in idle]
        return lines

    def _advance(self, steps: Any) -> bool:
        """Take steps of activation, unless this thread is already taking them."""
        if self._activation.running:
            return False
        self._activation.running = True
        try:
            with gc_paused():  # definitions of plugins stay
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

    def _families_step(self) -> bool:
        families = self._families()
        for record in families:
            self._load(record)
        return all(record.state != "discovered" for record in families)

    def _is_loading_guest(self) -> bool:
        """Whether this thread is loading a plugin that is not built in, and may need further families."""
        loading = self._activation.loading
        return loading is not None and loading.source != "built-in"

    def primitive(self, name: str) -> Primitive | None:
        """The primitive of a full or short name, with its plugin activated; None if there is none.

        Raises:
          PluginError: several plugins have one of that name.
        """
        self.activate_imported()
        self._settle_name(name)
        found = find_primitive(self.primitives, name)
        if found is None and self.activate():
            found = find_primitive(self.primitives, name)
        return found

    def _imported_steps(self) -> bool:
        while True:
            primitives = rules.loader.primitives
            guests = [each for each in self._installed or () if each.state == "discovered" and not self._may_wait(each)]
            if not self._families_step():
                return False
            for record in guests:
                self._load(record)
                if record.state == "discovered":
                    return False
            self._hide()
            if primitives == rules.loader.primitives:
                waiting = [each for each in self._installed or () if each.state == "discovered"]
                self._not_imported = [each.module.partition(".")[0] for each in waiting]
                self._looked_at = primitives
                return True

    def _load(self, record: PluginRecord) -> None:
        """Import and register a plugin. If another import of its module is running, it stays in state `discovered`."""
        if record.state != "discovered":
            return
        self._release(record.name)
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
            if record.source != "built-in":
                self._families_step()  # loads families that the plugin has imported
        except (Exception, SystemExit) as error:
            self._give_up(record, "failed", f"failed while it was imported: {one_line(error)}", error)
            return
        finally:
            self._activation.loading = outer
        with self._lock:
            if record.state == "discovered":
                self._register(record, plugin)

    def _register(self, record: PluginRecord, plugin: Any) -> None:
        """Register a plugin, and undo everything if it fails. The caller has the lock."""
        registry = Registry(record.name, self.primitives, self._owners, self._consents)
        waiting = set(not_entered)
        activation = self._activation
        outer = activation.loading, activation.running
        activation.loading, activation.running = record, True
        try:
            self._enlist(record.name, plugin)
            others = [each for _, each in self.manager.list_name_plugin() if each is not plugin]
            with undo_log.recording(registry.undos):  # the plugin may also write to tables directly
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
            self._look_at_file(record)
            self._look_for_forgotten(record, waiting)
        finally:
            activation.loading, activation.running = outer

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
            for name in refused:
                record = self.record(name)
                record.state, record.reason, record.traceback = "discovered", "", ""
                self._complete, self._looked_at = False, -1
            self._without_consent -= {*names}
        if refused:
            self.activate_imported()

    def ground_to_override(self, name: str, owner: str | None) -> str:
        """Who allows a plugin to override entries of another, as a text for users."""
        if name == owner:
            return ""
        record = self._find(name)
        if record is None or record.source != "installed":
            return "no consent is needed, as the plugin is part of primax or was registered by hand"
        return self._consents.ground(name, owner)

    def _discover(self) -> None:
        listed = self._listed
        super()._discover()
        if not listed:
            for name in self._consents.read_environment():
                if self._find(name) is None:
                    hint = self._nearest(name) + self._known()
                    raise PluginError(f"{OVERRIDES} names {name!r}, which is not a plugin{hint}")

    def _refusal_to_override(self, owner: str | None, current: Any) -> str:
        """Why the registering plugin may not override an entry of another; empty if it may, or if there is none."""
        record = self._activation.loading
        if record is None or record.source != "installed":
            return ""  # it is part of primax, or the user registered it by hand
        holder = None if owner is None else self._find(owner)
        may_ask = holder is not None and holder.source != "built-in"
        refusal = self._consents.refusal(record.name, owner, current, may_ask)
        if refusal:
            self._without_consent.add(record.name)
        return refusal

    def _look_for_forgotten(self, record: PluginRecord, before: set[Primitive]) -> None:
        """Record a warning about primitives that a plugin defined but did not enter.

        Args:
          record: the plugin.
          before: the primitives that waited to be entered before it registered.
        """
        package = record.module.partition(".")[0]
        alone = not any(each is not record and each.module.partition(".")[0] == package for each in self._all())
        home = package if alone and record.source == "installed" else record.module
        forgotten = [
            each
            for each in list(not_entered)
            if f"{each.module}.".startswith(f"{home}.") or (each not in before and self._home(each) is None)
        ]
        if forgotten:
            names = ", ".join(sorted(each.name for each in forgotten))
            self._remarks.append(
                f"plugin {record.describe()} is active, but has not entered {names}; did you forget "
                "definitions.enter(registry) in its primax_register?"
            )
            not_entered.difference_update(forgotten)

    def _look_at_file(self, record: PluginRecord) -> None:
        """Record a warning about entries of an installed plugin that its file does not list."""
        if record.source != "installed":
            return
        found = self.said(record)
        unsaid = [] if found is None else metadata.unsaid(found, record.entries)
        if unsaid:
            self._remarks.append(
                f"the {metadata.FILE} of plugin {record.describe()} does not list {', '.join(map(repr, unsaid))}, so "
                f"programs that do not import the plugin will not find them; `python -m primax check {record.name}` "
                "shows the right file"
            )

    def _enlist(self, name: str, plugin: Any) -> None:
        """Register a plugin with pluggy, which finds its hooks and refuses unknown ones."""
        for other, each in self.manager.list_name_plugin():
            if each is plugin:
                raise RefusedError(f"the same object is already plugin {other!r}")
        try:
            self.manager.register(plugin, name)
            self.manager.check_pending()
        except pluggy.PluginValidationError as error:
            hooks = vars(self.manager.hook)
            known = [hook for hook, caller in hooks.items() if caller.has_spec()]
            for hook, caller in hooks.items():
                if not caller.has_spec() and any(impl.plugin is plugin for impl in caller.get_hookimpls()):
                    raise RefusedError(
                        f"{hook!r} is not a hook of primax{nearest(hook, known)} (there is {', '.join(known)})"
                    ) from error
            raise RefusedError(" ".join(str(error).split())) from error
        for caller in self.manager.get_hookcallers(plugin) or ():
            for implementation in caller.get_hookimpls():
                if implementation.plugin is plugin:
                    _require_callable_hook(caller, implementation)
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
            vital = record.name in self._essential or bool((self.said(record) or {}).get("essential"))
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


class _PluginManager(pluggy.PluginManager):
    """pluggy's manager, except that in modules it examines only marked functions, not every name."""

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        if isinstance(plugin, ModuleType):
            found = vars(plugin).get(name)
            if not isinstance(found, FunctionType | MethodType) or not hasattr(found, _MARK):
                return None
        return super().parse_hookimpl_opts(plugin, name)


def _require_callable_hook(caller: Any, implementation: Any) -> None:
    """Check that a hook is a plain function that takes all the arguments of its specification.

    Raises:
      RefusedError: the hook is not such a function.
    """
    missing = [each for each in caller.spec.argnames if each not in implementation.argnames]
    if missing:
        raise RefusedError(f"its {caller.name} must take {', '.join(missing)}, without a default")
    function = implementation.function
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        kind = "a generator" if inspect.isgeneratorfunction(function) else "a coroutine"
        raise RefusedError(f"its {caller.name} must be a plain function, got {kind}, whose code a call does not run")


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
