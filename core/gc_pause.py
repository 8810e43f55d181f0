"""Control of Python's garbage collector, so that it does not scan a growing program again and again."""

from __future__ import annotations

import gc
import threading
from types import TracebackType

_YOUNG = 50_000  # new objects between two collections of the youngest generation
_NEVER = 2**30

_lock = threading.Lock()
_at_work = 0
_before = _paused = (0, 0, 0)


class gc_paused:
    """A `with` block in which the collector scans only new objects, and seldom.

    While a program is staged, nearly all new objects stay, and repeated scans of them would be slow. Garbage cycles of
    new objects are still found. At the end of the block the thresholds are restored, unless the traced function has set
    others.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        global _at_work, _before, _paused
        with _lock:
            if not _at_work:
                _before = gc.get_threshold()
                if _before[0]:  # 0 turns the collector off
                    gc.set_threshold(max(_before[0], _YOUNG), _NEVER, _NEVER)
                _paused = gc.get_threshold()
            _at_work += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        global _at_work
        with _lock:
            _at_work -= 1
            if not _at_work and gc.get_threshold() == _paused:
                gc.set_threshold(*_before)
