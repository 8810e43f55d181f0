"""The state of this thread, traces around a value, the user's line, and caches."""

from __future__ import annotations

from primax.core.cache import Cache
from primax.core.diagnostics import user_line
from primax.core.effects import moved_effects
from primax.core.jaxpr import holds_program
from primax.core.source_info import is_internal
from primax.core.trace import encloses, escaped, thread
from primax.interpreters.staging import remember_memory

__all__ = [
    "Cache",
    "encloses",
    "escaped",
    "holds_program",
    "is_internal",
    "moved_effects",
    "remember_memory",
    "thread",
    "user_line",
]
