"""Tables whose look-ups load waiting plugins: an entry that such a plugin will replace is hidden until then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from primax.core import rules, undo_log
from primax.core.rules import load_plugins, lock

lazy_entries: WeakValueDictionary[str, LazyEntries] = WeakValueDictionary()


class LazyEntries:
    """The entries of one table, by name or by class.

    Args:
      what: the kind of entries in the table, as in the files of plugins.
      table: the table that readers look at first; if they find no entry, they call `ask` and look again.
      stand_in: `(key) -> value`, the entry of the table while one is hidden; by default the table has no entry.
    """

    def __init__(self, what: str, table: dict[Any, Any], stand_in: Callable[[Any], Any] | None = None) -> None:
        self.what = what
        self.table = table
        self.hidden: dict[Any, Any] = {}
        self._stand_in = stand_in
        self._asked: WeakKeyDictionary[type, int] = WeakKeyDictionary()
        lazy_entries[what] = self

    def put(self, key: Any, value: Any) -> None:
        """Enter a value reversibly; it is hidden if a waiting plugin enters another one."""
        self.unhide(key)
        if not rules.loader.may_enter(self.what, key):
            return
        with lock:
            undo_log.put(self.table, key, value)
            undo_log.note(lambda: self.unhide(key))
        rules.loader.entered(self.what, key)

    def hide(self, name: str) -> None:
        """Hide the entry with a name in plugins' files, if there is one, until it is requested."""
        with lock:
            for key in [key for key in self.table if key not in self.hidden and _name_in_files(key) == name]:
                self.hidden[key] = self.table.pop(key)
                if self._stand_in is not None:
                    self.table[key] = self._stand_in(key)

    def unhide(self, key: Any) -> None:
        """Show the hidden entry of a key, and request the plugins that will replace it."""
        if key in self.hidden:
            with lock:
                if key in self.hidden:
                    self.table[key] = self.hidden.pop(key)
                    rules.loader.request(self.what, _name_in_files(key))

    def show(self, name: str) -> None:
        """`unhide` for the name in plugins' files."""
        for key in [key for key in list(self.hidden) if _name_in_files(key) == name]:
            self.unhide(key)

    def ask(self, key: Any) -> bool:
        """Load the waiting plugins that enter something under a key; returns whether anything may have changed."""
        hidden = key in self.hidden
        self.unhide(key)
        rules.loader.request(self.what, _name_in_files(key))
        return load_plugins() or hidden

    def ask_for_class(self, kind: type) -> bool:
        """`ask` for a class and its base classes; each class is asked for once."""
        if self._asked.get(kind) == rules.loader.changes:
            return False
        changed = [self.ask(base) for base in kind.__mro__[:-1]]
        self._asked[kind] = rules.loader.changes
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
        self.lazy = LazyEntries(f"{what} in {home}", self.entries)

    def __repr__(self) -> str:
        return f"<Table of {self.lazy.what}: {', '.join(self.entries)}>"

    def __getitem__(self, name: str) -> Any:
        if name not in self.entries and isinstance(name, str):
            self.lazy.ask(name)
        return self.entries[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.lazy.put(name, value)

    def __delitem__(self, name: str) -> None:
        value = self[name]
        self.lazy.unhide(name)
        if rules.loader.may_enter(self.lazy.what, name):
            del self.entries[name]
            undo_log.note(lambda: self.entries.update({name: value}))

    def __iter__(self) -> Iterator[str]:
        self.load()
        return iter(list(self.entries))

    def __len__(self) -> int:
        self.load()
        return len(self.entries)

    def load(self) -> None:
        """Load every plugin that has an entry here."""
        for name in list(self.lazy.hidden):
            self.lazy.unhide(name)
        rules.loader.request(self.lazy.what, None)
        load_plugins()


def _name_in_files(key: Any) -> str:
    """The text for a class or a name in the files of plugins."""
    return f"{key.__module__}.{key.__name__}" if isinstance(key, type) else str(key)
