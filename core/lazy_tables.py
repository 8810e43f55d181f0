"""Table entries that are held back until they are looked up, since a waiting plugin will replace them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from primax.core import undo_log
from primax.core.rules import load_plugins, loader, lock

__all__ = ["Table", "Withheld", "class_path", "held_tables"]

held_tables: WeakValueDictionary[str, Withheld] = WeakValueDictionary()


class Withheld:
    """Withheld entries of one table, by name or by class.

    Args:
      what: the kind of entries in the table, as in the files of plugins.
      table: the table that readers look at first; if they find no entry, they call `ask` and look again.
      stand_in: `(key) -> value`, the entry of the table while one is withheld; by default the table has no entry.
    """

    def __init__(self, what: str, table: dict[Any, Any], stand_in: Callable[[Any], Any] | None = None) -> None:
        self.what = what
        self.table = table
        self.entries: dict[Any, tuple[Any, list[str]]] = {}  # the value, and the plugins that will replace it
        self._stand_in = stand_in
        self._asked: WeakKeyDictionary[type, int] = WeakKeyDictionary()
        held_tables[what] = self

    def put(self, key: Any, value: Any) -> None:
        """Enter a value reversibly; it is withheld if a waiting plugin enters another one."""
        with lock:
            self.unhide(key)
            undo_log.put(self.table, key, value)
            undo_log.note(lambda: self.unhide(key))
        loader.entered()

    def hold(self, name: str, plugin: str) -> bool:
        """Withhold the entry of a name until it is requested; returns whether there is such an entry.

        Args:
          name: the name in the plugin's file.
          plugin: the plugin to load on this request.
        """
        with lock:
            keys = [key for key in (*self.table, *self.entries) if class_path(key) == name]
            for key in keys:
                if key not in self.entries:
                    self.entries[key] = self.table.pop(key), []
                    if self._stand_in is not None:
                        self.table[key] = self._stand_in(key)
                self.entries[key][1].append(plugin)
            return bool(keys)

    def unhide(self, key: Any) -> None:
        """Put back the entry of a key, and tell the host which plugins to load."""
        if key in self.entries:
            with lock:
                if key in self.entries:
                    self.table[key], plugins = self.entries.pop(key)
                    loader.wanted(plugins)

    def release(self, plugin: str) -> None:
        """Put back the entries that were withheld for a plugin."""
        for key in [key for key, (_, plugins) in list(self.entries.items()) if plugin in plugins]:
            self.unhide(key)

    def ask(self, key: Any) -> bool:
        """Load the waiting plugins that enter something under a key; returns whether anything may have changed."""
        held = key in self.entries
        self.unhide(key)
        changed = load_plugins()
        return (loader.asked(self.what, class_path(key)) and load_plugins()) or changed or held

    def ask_for_class(self, kind: type) -> bool:
        """`ask` for a class and its base classes; each class is asked for once."""
        if self._asked.get(kind) == loader.primitives:
            return False
        changed = [self.ask(each) for each in kind.__mro__[:-1]]
        self._asked[kind] = loader.primitives
        return any(changed)


class Table(MutableMapping[str, Any]):
    """A table of entries by name. Plugins add them with `registry.enter`, and the owner of the table looks them up.

    A look-up of a name loads the waiting plugin that has it. A loop over all names loads every plugin with an entry.

    Args:
      what: the kind of the entries in one word, such as `"generator"`.
      home: the module that has the table, `__name__`.

    Raises:
      TypeError: an argument is not a string, or `what` is not one word.
    """

    def __init__(self, what: str, home: str) -> None:
        if not isinstance(what, str) or len(what.split()) != 1:
            raise TypeError(f"Table: what must be one word, got {what!r}")
        if not isinstance(home, str) or not home:
            raise TypeError(f"Table: home must be the name of a module, __name__, got {home!r}")
        self.what = what
        self.home = home
        self.entries: dict[str, Any] = {}
        self.withheld = Withheld(f"{what} in {home}", self.entries)

    def __repr__(self) -> str:
        return f"<Table of {self.withheld.what}: {', '.join(self.entries)}>"

    def __getitem__(self, name: str) -> Any:
        if name not in self.entries and isinstance(name, str):
            self.withheld.ask(name)
        return self.entries[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.withheld.put(name, value)

    def __delitem__(self, name: str) -> None:
        self[name]
        self.withheld.unhide(name)
        del self.entries[name]

    def __iter__(self) -> Iterator[str]:
        self.load()
        return iter(list(self.entries))

    def __len__(self) -> int:
        self.load()
        return len(self.entries)

    def load(self) -> None:
        """Load every plugin that has an entry here."""
        load_plugins()
        for name in list(self.withheld.entries):
            self.withheld.unhide(name)
        loader.asked(self.withheld.what, None)
        load_plugins()


def class_path(key: Any) -> str:
    """The text for a class or a name in the files of plugins."""
    return f"{key.__module__}.{key.__name__}" if isinstance(key, type) else str(key)
