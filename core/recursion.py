"""Room for programs that nest: Python's recursion limit grows with the nesting of traces, within bounds."""

from __future__ import annotations

import sys
import threading
from types import TracebackType

from primax.core.trace import thread

__all__ = ["deeper"]

_FREE_LEVELS = 8
_FRAMES_PER_LEVEL = 24
_MOST_LEVELS = 600

_lock = threading.Lock()
_raised = 0
_base = 0


class deeper:
    """A `with` block one level further down; past a few levels each one adds frames to the recursion limit."""

    __slots__ = ("_adds",)

    def __enter__(self) -> None:
        global _raised, _base
        depth = thread.depth = thread.depth + 1
        self._adds = _FREE_LEVELS < depth <= _MOST_LEVELS
        if self._adds:
            with _lock:
                if not _raised:
                    _base = sys.getrecursionlimit()
                _raised += 1
                sys.setrecursionlimit(_base + _raised * _FRAMES_PER_LEVEL)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        global _raised
        thread.depth -= 1
        if self._adds:
            with _lock:
                _raised -= 1
                if not _raised:
                    sys.setrecursionlimit(_base)
