"""The names of `jax._src.debugging` that packages use, besides those of `primax.debug`."""

from __future__ import annotations

from primax.plugins.callbacks import DebugEffect, OrderedDebugEffect, debug_callback, debug_callback_p, debug_print

__all__ = [
    "DebugEffect",
    "OrderedDebugEffect",
    "debug_callback",
    "debug_callback_p",
    "debug_effect",
    "debug_print",
    "ordered_debug_effect",
]

debug_effect = DebugEffect()
ordered_debug_effect = OrderedDebugEffect()
