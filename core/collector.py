"""Control of Python's garbage collector, so that it does not scan a growing program again and again."""

from __future__ import annotations

import gc
import threading
from types import TracebackType

__all__ = ["sparing"]

_YOUNG = 50_000  # new objects between two looks at what is new
_NEVER = 2**30

_lock = threading.Lock()
_at_work = 0
_before = (0, 0, 0)


class sparing:
    """A `with` block in which the collector looks at new objects only, and seldom.

    While a program is staged, nearly all that is made stays, and to look at it again costs as much again. Cycles that
    become garbage meanwhile are still found, as long as they are new. The thresholds are as they were afterwards.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        global _at_work, _before
        with _lock:
            if not _at_work:
                _before = gc.get_threshold()
                if _before[0]:  # 0 is how some turn it off
                    gc.set_threshold(max(_before[0], _YOUNG), _NEVER, _NEVER)
            _at_work += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        global _at_work
        with _lock:
            _at_work -= 1
            if not _at_work:
                gc.set_threshold(*_before)
