"""Python's recursion limit, which primax raises with the nesting of traces, up to a bound."""

from __future__ import annotations

import sys
import threading
from types import TracebackType

from primax.core.trace import thread

_FREE_LEVELS = 8
_FRAMES_PER_LEVEL = 24
# Each level may take some 10 kB of the C stack, which Python's limit does not cover.
_MOST_LEVELS = 450

_lock = threading.Lock()
_raised = 0
_base = 0


class raised_recursion_limit:
    """A `with` block for one more nested trace; beyond a few levels each block raises the recursion limit."""

    __slots__ = ("_adds",)

    def __enter__(self) -> None:
        global _raised, _base
        depth = thread.depth + 1
        if depth > _MOST_LEVELS:
            raise RecursionError(
                f"more than {_MOST_LEVELS} transformations or jitted functions are nested in each other; "
                "does a function call itself?"
            )
        thread.depth = depth
        self._adds = depth > _FREE_LEVELS
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
