"""The plugin host: finds plugins, activates them in an order that names decide, isolates their failures."""

from __future__ import annotations

import importlib
import os
import sys
import threading
import warnings
from collections.abc import Iterable
from functools import reduce
from typing import Any

import pluggy

from primax.core import config, hookspec, journal, rules
from primax.core.discovery import ApiRange, installed_plugins, show_version
from primax.core.errors import PluginError, PluginWarning
from primax.core.plugin_record import PluginRecord, one_line
from primax.core.primitive import Primitive
from primax.core.registry import RefusedError, Registry, nearest

__all__ = ["PluginHost", "PluginRecord", "host"]

ALLOWED = "PRIMAX_PLUGINS"
DISABLED = "PRIMAX_DISABLE_PLUGINS"


class _Here(threading.local):
    """What this thread is at."""

    busy = False
    loading: PluginRecord | None = None


class PluginHost:
    """All plugins of a process.

    The order is: built-in families as listed, explicit plugins as they come, installed plugins by name.
    Whoever comes later is refused what is taken.

    A plugin is imported without the host's lock, so that a thread which imports it and binds a primitive
    meanwhile never waits for a thread that waits for that import. It registers with the lock held.
    """

    def __init__(self) -> None:
        self.primitives: dict[str, Primitive] = {}
        self.manager = pluggy.PluginManager("primax")
        self.manager.add_hookspecs(hookspec)
        self._builtins: list[PluginRecord] = []
        self._explicit: list[PluginRecord] = []
        self._installed: list[PluginRecord] | None = None
        self._active: list[PluginRecord] = []
        self._unreported: list[PluginRecord] = []
        self._essential: frozenset[str] = frozenset()
        self._deferred: frozenset[str] = frozenset()
        self._owners: dict[tuple[str, Any], str] = {}
        self._listed = False
        self._complete = False
        self._looked_at = -1
        self._lock = threading.RLock()
        self._here = _Here()

    def __repr__(self) -> str:
        known = len(self._builtins) + len(self._explicit) + len(self._installed or ())
        return f"<PluginHost: {len(self._active)} of {known} plugins active>"

    def install(self) -> None:
        """Make this the host that is asked when a rule is missing."""
        rules.loader.load = self.activate_imported
        rules.loader.load_all = self.activate
        rules.loader.suppliers = self.suppliers

    def add_builtins(
        self,
        names: Iterable[str],
        *,
        package: str = "primax.plugins",
        essential: Iterable[str] = (),
        deferred: Iterable[str] = (),
        version: str = "",
    ) -> None:
        """List the families that come with primax, in the order of their activation. Nothing is imported yet.

        Args:
          names: modules in `package`, and the names of the plugins.
          package: where the modules are.
          essential: those that cannot be disabled, and whose failure is an error.
          deferred: those that `activate_imported` may leave for later: all they register are rules for their own
            primitives, none of a kind that a trace does without.
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
                where = f"{package}.{name}"
                self._builtins.append(PluginRecord(name, "built-in", "primax", version, where))
            self._essential |= frozenset(essential)
            self._deferred |= frozenset(deferred)
            self._listed = self._complete = False
            self._looked_at = -1

    def register_module(self, module: Any, *, name: str | None = None) -> PluginRecord:
        """Activate a plugin that is at hand.

        Args:
          module: a module, class or object with functions marked by `hookimpl`.
          name: the plugin's name; by default the module's.

        Raises:
          PluginError: it failed or was refused, and nothing of it remains.
        """
        own = getattr(module, "__name__", None) or type(module).__name__
        where = getattr(module, "__module__", None) or own
        record = PluginRecord(name or own, "explicit", entry_point=where)
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

        Nobody can bind their primitives. Where there are other plugins than families, which may override rules of any
        family, this is `activate`.

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

    def records(self) -> list[PluginRecord]:
        """All plugins, active or not, in the order of activation. Nothing is imported.

        Raises:
          PluginError: a variable in the environment names an unknown plugin.
        """
        self._discover()
        return self._all()

    def record(self, name: str) -> PluginRecord:
        """The plugin of a name.

        Raises:
          PluginError: there is none.
        """
        self._discover()
        found = self._find(name)
        if found is None:
            raise PluginError(f"there is no plugin {name!r}{self._nearest(name)}{self._known()}")
        return found

    def refusal(self, record: PluginRecord) -> str:
        """Why a plugin is refused before anything of it is imported; empty if it is not."""
        if record.unreadable:
            return record.unreadable
        first = self._find(record.name)
        if first is not None and first is not record:
            return f"its name is taken by plugin {first.describe()}, {first.source}"
        if record.api:
            try:
                wanted = ApiRange.parse(record.api)
            except ValueError as error:
                return str(error)
            if hookspec.API_VERSION not in wanted:
                return (
                    f"it needs plugin API {wanted}, but this primax has plugin API {show_version(hookspec.API_VERSION)}"
                )
        return ""

    def suppliers(self, primitive: Any) -> list[str]:
        """Who could supply what a primitive lacks, and why they do not; lines for a message."""
        lines = []
        if self._here.loading is not None:
            lines.append(
                f"Plugin {self._here.loading.name!r} is being loaded just now: "
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

    def _all(self) -> list[PluginRecord]:
        return [*self._builtins, *self._explicit, *(self._installed or ())]

    def _find(self, name: str) -> PluginRecord | None:
        return next((record for record in self._all() if record.name == name), None)

    def _nearest(self, name: str) -> str:
        return nearest(name, [record.name for record in self._all()])

    def _known(self) -> str:
        return f" (there are {', '.join(sorted({record.name for record in self._all()})) or 'none'})"

    def _home(self, primitive: Any) -> PluginRecord | None:
        """The plugin that has a primitive, or would have if it were active."""
        owner = getattr(primitive, "plugin", None)
        if owner is not None:
            return self._find(owner)
        module = getattr(primitive, "module", "")
        best = max(self._all(), key=lambda record: record.match(module), default=None)
        return best if best is not None and best.match(module) else None

    def _discover(self) -> None:
        """Learn of installed plugins, once, and of those that the environment blocks."""
        if self._listed:
            return
        found = installed_plugins() if self._installed is None else []
        with self._lock:
            if self._installed is None:
                self._installed = [
                    PluginRecord(
                        each.name,
                        "installed",
                        each.distribution,
                        each.version,
                        each.entry_point,
                        each.api or "",
                        unreadable=each.error,
                    )
                    for each in found
                ]
            if not self._listed:
                self._apply_lists()
                self._listed = True

    def _apply_lists(self) -> None:
        allowed = self._read_list(ALLOWED)
        disabled = self._read_list(DISABLED) or frozenset()
        kept = sorted(disabled & self._essential)
        if kept:
            raise PluginError(f"{DISABLED} names {kept[0]!r}, which cannot be disabled: the others rest on it")
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
            raise PluginError(f"{variable} names {name!r}, which is no plugin{hint}")
        return names

    def _advance(self, steps: Any) -> bool:
        """Take steps of activation, unless this thread is in the middle of them."""
        if self._here.busy:
            return False
        self._here.busy = True
        try:
            self._discover()
            done = steps()
        finally:
            self._here.busy = False
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

    def _imported_steps(self) -> bool:
        if self._explicit or any(record.state == "discovered" for record in self._installed or ()):
            return self._all_steps()
        while True:
            made = rules.loader.primitives
            wanted = [each for each in self._builtins if each.name not in self._deferred or each.module in sys.modules]
            for record in wanted:
                self._load(record)
            if any(record.state == "discovered" for record in wanted):
                return False
            if made == rules.loader.primitives:
                self._looked_at = made
                return True

    def _load(self, record: PluginRecord) -> None:
        """Import and register a plugin. It stays discovered if its import began before and is not over."""
        if record.state != "discovered":
            return
        refusal = self.refusal(record)
        if refusal:
            self._give_up(record, "refused", f"is refused: {refusal}")
            return
        outer, self._here.loading = self._here.loading, record
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
            self._here.loading = outer
        with self._lock:
            if record.state == "discovered":
                self._register(record, plugin)

    def _register(self, record: PluginRecord, plugin: Any) -> None:
        """Let a plugin register, and undo all of it if it fails. The lock is held."""
        registry = Registry(record.name, self.primitives, self._owners)
        outer = self._here.loading, self._here.busy
        self._here.loading, self._here.busy = record, True
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
            record.registry = registry
            record.plugin = plugin
            record.state = "active"
            record.reason = record.traceback = ""
            self._active.append(record)
        finally:
            self._here.loading, self._here.busy = outer

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
                stacklevel=_users_level(),
            )


def _users_level() -> int:
    """The `stacklevel` of a warning by the calling function that points at the first frame outside primax."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("primax."):
        frame = frame.f_back
        level += 1
    return level


host = PluginHost()
host.install()
