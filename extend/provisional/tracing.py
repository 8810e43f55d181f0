"""The state of this thread, traces around a value, and caches."""

from __future__ import annotations

from primax.core.cache import Cache
from primax.core.effects import moved_effects
from primax.core.trace import encloses, escaped, thread
from primax.interpreters.staging import remember_memory

__all__ = [
    "Cache",
    "encloses",
    "escaped",
    "moved_effects",
    "remember_memory",
    "thread",
]
