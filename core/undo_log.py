"""Reversible writes to shared tables.

Code that writes to such a table records how to undo the write. While a plugin registers, its registry keeps the
records, so a plugin that fails or is removed leaves nothing behind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

Undo = Callable[[], None]


class _Here(threading.local):
    undos: list[Undo] | None = None


_here = _Here()
_ABSENT = object()


def note(undo: Undo) -> None:
    """Record how to undo the latest write, if a recording is active in this thread."""
    if _here.undos is not None:
        _here.undos.append(undo)


@contextmanager
def recording(undos: list[Undo]) -> Iterator[None]:
    """Collect the records of this thread during a `with` block in a list."""
    outer, _here.undos = _here.undos, undos
    try:
        yield
    finally:
        _here.undos = outer


def undo_all(undos: list[Undo]) -> None:
    """Undo the writes that a list records, the latest first, and empty the list."""
    with recording([]):  # the writes of the undo functions are not recorded
        while undos:
            undos.pop()()


def put(table: MutableMapping[Any, Any], key: Any, value: Any) -> None:
    """`table[key] = value`, with a record."""
    before = table.get(key, _ABSENT)
    table[key] = value

    def undo() -> None:
        if before is _ABSENT:
            table.pop(key, None)
        else:
            table[key] = before

    note(undo)
