"""Errors of callbacks in programs over several devices, and of foreign functions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from primax.core.errors import XlaError

_MOST_SKIPPED = 10_000


class Failures:
    """The running calls of a program over several devices, and the errors of its callbacks.

    An error would end the program of one device, for which the others would wait until XLA aborts the process.
    Therefore a failed callback returns NaN or zeros, and later callbacks are skipped; the program completes, and its
    call raises the error. If several calls run, all raise it, since the origin of the callback is unknown.
    """

    __slots__ = ("_calls", "_lock", "_skipped", "explain")

    def __init__(self) -> None:
        self.explain: Callable[[], str] | None = None  # of programs that call foreign functions: names these
        self._calls: dict[int, list[Exception]] = {}
        self._lock = threading.Lock()
        self._skipped = 0

    def guarded(self, function: Callable[..., Any], instead: Callable[[], Any]) -> Callable[..., Any]:
        """A callback that does not raise while a call runs that will raise its error.

        Args:
          function: the callback.
          instead: makes the results in case of failure.
        """

        def call(*args: Any) -> Any:
            earlier = next((errors[0] for errors in list(self._calls.values()) if errors), None)
            if earlier is None:
                try:
                    return function(*args)
                except Exception as error:
                    earlier = error
            if not self._record(earlier):
                raise earlier
            return instead()

        return call

    def _record(self, error: Exception) -> bool:
        """Report an error to all running calls; False if there are none, or if too many callbacks were skipped."""
        with self._lock:
            for errors in self._calls.values():
                if not errors:
                    errors.append(error)
            self._skipped += 1
            return bool(self._calls) and self._skipped < _MOST_SKIPPED

    @contextmanager
    def raised(self) -> Iterator[None]:
        """A `with` block around a call of the program, up to its results; it raises the errors of the callbacks.

        Raises:
          XlaError: a callback or a foreign function failed.
        """
        errors: list[Exception] = []
        with self._lock:
            self._calls[id(errors)] = errors
        try:
            yield
        except XlaError as error:
            if self.explain is None or errors:
                raise
            raise XlaError(f"{error}\n{self.explain()}") from error
        finally:
            with self._lock:
                del self._calls[id(errors)]
                if not self._calls:
                    self._skipped = 0
        if errors:
            raise XlaError(f"{type(errors[0]).__name__}: {errors[0]}") from errors[0]
