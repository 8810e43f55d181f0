"""`jax.extend.backend`: names besides those of `primax.extend.backend`."""

from __future__ import annotations

from typing import Any, Protocol

from primax.core.cache import epoch
from primax.extend.backend import clear_in_memory_compilation_cache
from primax.interpreters.runtime.devices import backends

__all__ = ["clear_backends", "register_backend_cache"]


class _Clearable(Protocol):
    def cache_clear(self) -> Any: ...


_registered: dict[int, tuple[_Clearable, str]] = {}


def register_backend_cache(cache: _Clearable, for_what: str) -> None:
    """Let `primax.clear_caches` and `clear_backends` empty a cache, too.

    Args:
      cache: an object with a method `cache_clear()`, such as a function with `functools.lru_cache`.
      for_what: the purpose of the cache.

    Raises:
      TypeError: `cache` has no such method.
    """
    if not callable(getattr(cache, "cache_clear", None)):
        raise TypeError(f"register_backend_cache: cache must have a method cache_clear, got {cache!r}")
    if not _registered:
        epoch.listeners.append(_clear_registered)
    _registered[id(cache)] = cache, for_what


def _clear_registered() -> None:
    for cache, _ in list(_registered.values()):
        cache.cache_clear()


def clear_backends() -> None:
    """Forget the clients of all platforms, and all programs: the next operation makes new clients.

    Arrays of the earlier clients can be read, and not used together with arrays of the new ones.
    """
    clear_in_memory_compilation_cache()
    with backends._lock:
        for table in (backends._clients, backends._settled, backends._first):
            table.clear()
