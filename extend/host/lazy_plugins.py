"""Waiting plugins: the host loads them when an entry in their files is needed."""

from __future__ import annotations

import threading
from typing import Any

from primax.core import rules
from primax.core.lazy_tables import held_tables
from primax.core.primitive import Primitive
from primax.extend.host import metadata
from primax.extend.host.plugin_catalog import PluginCatalog
from primax.extend.host.plugin_record import PluginRecord

__all__ = ["WaitingPlugins"]


class _Activation(threading.local):
    """The activation that runs in this thread, if there is one.

    Attributes:
      running: whether an activation runs.
      loading: the plugin that is being imported or registered.
    """

    running = False
    loading: PluginRecord | None = None


class WaitingPlugins(PluginCatalog):
    """The plugins of a process. Some wait until a program needs one of their entries."""

    def __init__(self) -> None:
        super().__init__()
        self.primitives: dict[str, Primitive] = {}
        self._activation = _Activation()

    def _load(self, record: PluginRecord) -> None:
        """Import and register a plugin."""
        raise NotImplementedError

    def _settle_name(self, name: str) -> None:
        """Register a waiting family first, if it has a primitive of this name."""
        if not self._is_loading_family():
            self._load_families(lambda said: name in said["primitives"])

    def _settle(self, primitive: Primitive) -> None:
        """Register the family of a primitive before another plugin adds rules to the primitive."""
        loading = self._activation.loading
        if primitive.plugin is not None or (loading is not None and loading.match(primitive.module)):
            return
        for each in self._builtins:
            if each.state == "discovered" and each.match(primitive.module):
                self._load(each)

    def _is_loading_family(self) -> bool:
        loading = self._activation.loading
        return loading is not None and loading.source == "built-in"

    def _load_families(self, wanted: Any) -> None:
        """Load the waiting families whose file satisfies `wanted`."""
        for each in self._builtins:
            if each.state == "discovered" and each.name in self._deferred:
                said = self.said(each)
                if said is not None and wanted(said):
                    self._load(each)

    def _stop_waiting(self, names: list[str]) -> None:
        """Load these plugins at the next check, since an entry of theirs is needed."""
        if names:
            for name in names:
                self._awaited[name] = None
            rules.loader.primitives += 1

    def _asked(self, what: str, name: str | None) -> bool:
        """Load the waiting families and plugins that have an entry in a table.

        Args:
          what: the kind of entries in the table.
          name: the name of the entry; None for any.

        Returns:
          Whether an installed plugin waits with such an entry; it is loaded at the next check.
        """

        def has(targets: Any) -> bool:
            return any(kind == what and name in (None, each) for each, kind in targets or ())

        if not self._is_loading_family():
            self._load_families(lambda said: has(metadata.manifest_triggers({**said, "deferred": True}, "")))
        waiting = [each for each in self._installed or () if each.state == "discovered" and self._may_wait(each)]
        names = [each.name for each in waiting if has(self.awaited(each))]
        self._stop_waiting(names)
        return bool(names)

    def _entered(self) -> None:
        """Withhold entries again, after one was entered outside of the activation of a plugin."""
        if self._listed and not self._activation.running:
            self._hide()

    def _release(self, name: str) -> None:
        """Put back the entries that were withheld for a plugin, because the plugin is being loaded."""
        for table in rules.rule_tables.values():
            for primitive in [each for each, (_, names) in list(table.withheld.items()) if name in names]:
                rules.unhide(table, primitive)
        for held in list(held_tables.values()):
            held.release(name)

    def _hide(self) -> None:
        """Withhold entries that waiting plugins will replace, so that a request for one is noticed."""
        for record in self._installed or ():
            if record.state != "discovered" or not self._may_wait(record):
                continue
            for target in list(self.awaited(record) or ()):
                name, what = target
                held = held_tables.get(what)
                if held is None and not what.endswith(" rule"):
                    continue  # the table does not exist yet
                if held is not None:
                    found = held.hold(name, record.name)
                else:
                    found = self._hide_rules(record, name, what.removesuffix(" rule").partition("[")[0])
                if self.awaited(record) is None:
                    break  # it has just been loaded
                if found:
                    self.awaited(record).remove(target)  # type: ignore[union-attr]

    def _hide_rules(self, record: PluginRecord, name: str, kind: str) -> bool:
        """Withhold rules of a primitive; returns whether the primitive exists."""
        primitive, table = self.primitives.get(name), rules.rule_tables.get(kind)
        if primitive is None or table is None:
            return False
        first = _ASKED_FIRST.get(kind)
        if first is not None and primitive in first.functions:
            table = first  # the other table is not read
        if primitive.used:
            self._stop_waiting([record.name])
        else:
            rules.hide_until_lookup(table, primitive, record.name)
        return True


_ASKED_FIRST = {"batch": rules.axis_batch_rules, "abstract_eval": rules.effectful_abstract_eval_rules}
