"""Caches of results that are derived from rules: one kind of cache for types, programs and compiled programs.

A cache belongs to a primitive, a function or a program, and ends with it. It holds a bounded number of results, the
most recently used ones. When a rule changes, a new epoch begins and all caches are emptied."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakSet


class Cache(dict[Any, Any]):
    """A bounded cache of results by key; no result is None.

    Hot paths read the cache as a dict, by `cache.get(key)`; `find` also finds older results. When the dict has half of
    the maximal number of results, they become the older half. Older results that are used again return to the dict;
    the others are removed when the dict is full again.

    Args:
      most: the maximal number of results.
    """

    __slots__ = ("__weakref__", "half", "older")

    def __init__(self, most: int) -> None:
        self.half = most // 2
        self.older: dict[Any, Any] = {}

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other

    def find(self, key: Any) -> Any:
        """The result of a key, or None.

        Raises:
          TypeError: the key cannot be hashed.
        """
        entry = self.get(key)
        if entry is None and self.older:
            with _lock:
                entry = self.older.pop(key, None)
                if entry is not None:
                    self.put(key, entry)
        return entry

    def put(self, key: Any, result: Any, begun: int | None = None) -> None:
        """Store a result, unless a rule has changed since its computation began."""
        with _lock:
            if begun is not None and begun != epoch.value:
                return
            if not self and not self.older:
                _filled.add(self)
            if len(self) >= self.half:
                self.older = dict(self)
                super().clear()
            self[key] = result

    def get_or_make(self, key: Any, make: Callable[[], Any]) -> Any:
        """The result of a key, made by `make` if there is none."""
        entry = self.find(key)
        if entry is None:
            begun = epoch.value
            entry = make()
            self.put(key, entry, begun)
        return entry

    def drop(self, key: Any) -> None:
        """Forget one result."""
        self.pop(key, None)
        self.older.pop(key, None)

    def clear(self) -> None:
        """Forget everything."""
        self.older = {}
        super().clear()

    def held(self) -> int:
        """The number of results."""
        return len(self) + len(self.older)


_filled: WeakSet[Cache] = WeakSet()
_lock = threading.RLock()


class Epoch:
    """Counts changes of rules.

    Attributes:
      value: the number of the present epoch.
      listeners: functions to call when a new epoch begins, for caches outside Python.
    """

    def __init__(self) -> None:
        self.value = 0
        self.listeners: list[Callable[[], None]] = []

    def bump(self) -> None:
        """Begin a new epoch, after a change of something from which programs are derived."""
        with _lock:
            self.value += 1
            self.forget()

    def forget(self) -> None:
        """Empty all caches."""
        with _lock:
            for cache in list(_filled):
                cache.clear()
            _filled.clear()
        for listener in self.listeners:
            listener()


epoch = Epoch()
