"""The code of a plugin while its modules are imported and its hook runs: its writes, to be undone, and warnings."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from primax.core.undo_log import Undo, undo_all
from primax.extend.callers import modules_being_imported

__all__ = ["WrittenByHook", "WrittenByImport", "warnings_shown"]

_HOST = "primax.extend.host.plugin_host"


class WrittenByImport(list[Undo]):
    """How to undo the writes of a plugin's modules at their import; writes of other modules stay."""

    def __init__(self, record: Any) -> None:
        super().__init__()
        self.record = record
        self._modules = None if record.source == "built-in" else set(sys.modules)

    def append(self, undo: Undo) -> None:
        """Keep the record of a write by a module of the plugin."""
        if any(map(self.record.match, modules_being_imported(until=_HOST)[:1])):
            super().append(undo)

    def undo(self) -> None:
        """Undo the writes, and forget the modules, as Python forgets one that fails: a later import writes again."""
        undo_all(self)
        before = sys.modules.keys() if self._modules is None else self._modules
        for name in [name for name in sys.modules if name not in before and self.record.match(name)]:
            if str(getattr(sys.modules[name], "__file__", "")).endswith(".py"):
                del sys.modules[name]


class WrittenByHook(list[Undo]):
    """How to undo the writes of a plugin's hook, without those of the modules that it imports."""

    def __init__(self, by_import: WrittenByImport) -> None:
        super().__init__()
        self._by_import = by_import

    def append(self, undo: Undo) -> None:
        """Keep the record of a write."""
        if modules_being_imported(until=_HOST):
            self._by_import.append(undo)
        else:
            super().append(undo)


@contextmanager
def warnings_shown() -> Iterator[None]:
    """A `with` block in which a plugin's warnings are shown where the filters would raise them, as `-W error` does."""
    if all(action != "error" for action, *_ in warnings.filters):
        yield
        return
    with warnings.catch_warnings():
        shown: Any = [("default" if action == "error" else action, *rest) for action, *rest in warnings.filters]
        warnings.filters = shown
        yield
