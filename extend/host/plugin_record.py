"""The record of one plugin: its origin, its state, and the reason for it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import Any

from primax.extend.host import metadata
from primax.extend.host.registry import Entry, Registry, waiting_rules
from primax.extend.provisional.awaited_rules import Awaited

__all__ = ["PluginRecord"]

_HOST_CODE = ("primax.core.", "primax.extend.", "pluggy", "importlib", "_frozen_importlib")


class PluginRecord:
    """The state of one plugin in the host.

    Attributes:
      name: the plugin's name.
      source: `"built-in"`, `"explicit"` (given to `register_module`) or `"installed"`.
      distribution: the distribution that offers it; empty for explicit ones.
      version: that distribution's version.
      entry_point: the imported object, `module` or `module:attribute`.
      api: the range of API versions that it supports, as written; empty if it states none.
      state: `"discovered"`, `"active"`, `"blocked"`, `"failed"` or `"refused"`.
      reason: the reason why it is not active, in one line.
      traceback: the traceback of the exception that it raised, if any.
      registry: its entries, if it is active.
      plugin: the module or object with its hooks, if it is active.
      unreadable: the fault in its metadata, if there is one.
      error: the exception, until it has been reported.
      requested: whether a program needs one of its entries.
    """

    def __init__(
        self,
        name: str,
        source: str,
        distribution: str = "",
        version: str = "",
        entry_point: str = "",
        api: str = "",
        *,
        unreadable: str = "",
    ) -> None:
        self.name = name
        self.source = source
        self.distribution = distribution
        self.version = version
        self.entry_point = entry_point
        self.unreadable = unreadable
        self.api = api
        self.state = "discovered"
        self.reason = ""
        self.traceback = ""
        self.registry: Registry | None = None
        self.plugin: Any = None
        self.error: BaseException | None = None
        self.requested = False

    def __repr__(self) -> str:
        return f"<plugin {self.describe()}, {self.state}>"

    html: Callable[[PluginRecord], str | None] = staticmethod(lambda record: None)  # of an outer room

    def _repr_html_(self) -> str | None:
        return self.html(self)

    @property
    def module(self) -> str:
        """The module of its entry point."""
        return self.entry_point.partition(":")[0].strip()

    @cached_property
    def manifest(self) -> dict[str, Any] | None:
        """The description in its file; None if there is no file, or none that can be read."""
        try:
            return metadata.read(self.module, self.name)
        except ValueError:  # `primax check` reports it; until then the plugin loads as if it had no file
            return None

    @property
    def essential(self) -> bool:
        """Whether primax raises an error if the plugin fails; such a family cannot be disabled."""
        return bool((self.manifest or {}).get("essential"))

    @property
    def home(self) -> str:
        """The module that programs import to use it: a family, or the package of another plugin."""
        return self.module if self.source == "built-in" else self.module.partition(".")[0]

    @cached_property
    def triggers(self) -> list[tuple[str, str]] | None:
        """The entries that load the plugin, besides the import of its home; None if it does not wait."""
        if self.manifest is None or not self.manifest.get("deferred", self.source != "built-in"):
            return None
        return metadata.manifest_triggers(self.manifest, self.home)

    def extends(self, primitive: str, kind: str) -> bool:
        """Whether its file lists a rule of a kind for a primitive of another plugin."""
        listed = (self.manifest or {}).get("extends", ())
        return any(
            name == primitive and its_kind.partition("[")[0] == kind
            for name, _, its_kind in (entry.rpartition(" ") for entry in listed)
        )

    @property
    def waits(self) -> bool:
        """Whether no program uses an entry of the plugin yet, and each later use will be noticed."""
        return (
            self.state == "discovered"
            and not self.requested
            and self.home not in sys.modules
            and self.triggers is not None
        )

    @property
    def entries(self) -> list[Entry]:
        """All its entries."""
        return [] if self.registry is None else self.registry.entries

    @property
    def primitives(self) -> list[str]:
        """The names of its primitives."""
        return [entry.name for entry in self.entries if entry.what == "primitive"]

    @property
    def rules(self) -> list[Entry]:
        """The rules that it has registered, each with its primitive's name, its kind and its provenance."""
        return [entry for entry in self.entries if entry.what == "rule" and not entry.outranked]

    @property
    def waiting(self) -> list[Awaited]:
        """Its rules that wait for other plugins."""
        return [] if self.registry is None else waiting_rules(self.registry)

    @property
    def outranked(self) -> list[Entry]:
        """Its overrides that have no effect, because another plugin has priority; each with the current entry."""
        return [entry for entry in self.entries if entry.outranked]

    def describe(self) -> str:
        """The plugin in messages, such as `'kepler' (primax-kepler 1.2, primax_kepler:plugin)`."""
        parts = [f"{self.distribution} {self.version}".strip(), self.entry_point]
        return f"{self.name!r} ({', '.join(part for part in parts if part) or self.source})"

    def as_dict(self) -> dict[str, Any]:
        """The record as plain data for JSON."""
        return import_module("primax.extend.manifests").as_dict(self)  # type: ignore[no-any-return]

    def match(self, module: str) -> int:
        """The length of the match between a module's name and this plugin; 0 if the module is not part of it."""
        home = self.module.split(".")
        common = 0
        for ours, theirs in zip(home, module.split("."), strict=False):
            if ours != theirs:
                break
            common += 1
        if self.source == "built-in":
            return common if common == len(home) else 0
        return 0 if _is_shared(".".join(home[:common])) else common

    def give_up(self, state: str, reason: str, error: BaseException | None = None) -> None:
        """Record that the plugin failed or was refused, and the place if an exception has one."""
        self.state = state
        self.reason = f"plugin {self.describe()} {reason}"
        if error is not None:
            self.error = error
            self.traceback = "".join(import_module("traceback").format_exception(error))
            self.reason += self._place(error)

    def _place(self, error: BaseException) -> str:
        """The innermost line of the plugin's own code that the exception went through."""
        if isinstance(error, SyntaxError) and error.filename:
            return f", at {error.filename}:{error.lineno}"
        in_plugin = elsewhere = ""
        for frame, line in import_module("traceback").walk_tb(error.__traceback__):
            module = frame.f_globals.get("__name__") or ""
            place = f", at {frame.f_code.co_filename}:{line}"
            if self.match(module):
                in_plugin = place
            elif not module.startswith(_HOST_CODE):
                elsewhere = place
        return in_plugin or elsewhere


def _is_shared(package: str) -> bool:
    """Whether an imported package is a namespace, which several distributions may share."""
    spec = getattr(sys.modules.get(package), "__spec__", None)
    return spec is not None and spec.origin is None and spec.submodule_search_locations is not None


def one_line(error: BaseException) -> str:
    """An exception in one line, such as `ZeroDivisionError: division by zero`."""
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
