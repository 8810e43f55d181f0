"""Reversible writes to shared tables.

Code that writes to such a table records how to undo the write. While a plugin registers, its registry keeps these
notes, so that a plugin that fails or goes leaves nothing behind, whichever way it wrote."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

__all__ = ["note", "put", "recording", "undo_all"]

Undo = Callable[[], None]


class _Here(threading.local):
    undos: list[Undo] | None = None


_here = _Here()
_ABSENT = object()


def note(undo: Undo) -> None:
    """Say how to take back what was written just now, in case somebody keeps notes on this thread."""
    if _here.undos is not None:
        _here.undos.append(undo)


@contextmanager
def recording(undos: list[Undo]) -> Iterator[None]:
    """Keep the notes of a `with` block in a list, those on this thread."""
    outer, _here.undos = _here.undos, undos
    try:
        yield
    finally:
        _here.undos = outer


def undo_all(undos: list[Undo]) -> None:
    """Take back what a list has notes of, the latest first; the list is empty afterwards."""
    with recording([]):  # what undoing writes is of no interest
        while undos:
            undos.pop()()


def put(table: MutableMapping[Any, Any], key: Any, value: Any) -> None:
    """`table[key] = value`, with a note."""
    before = table.get(key, _ABSENT)
    table[key] = value

    def undo() -> None:
        if before is _ABSENT:
            table.pop(key, None)
        else:
            table[key] = before

    note(undo)
