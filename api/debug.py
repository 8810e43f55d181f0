"""Inspection of values and of loops while a program runs, and of the shardings of arrays."""

from __future__ import annotations

from primax.plugins.callbacks import DebugEffect, OrderedDebugEffect
from primax.plugins.callbacks import debug_callback as callback
from primax.plugins.callbacks import debug_log as log
from primax.plugins.callbacks import debug_print as print
from primax.plugins.callbacks.debugger import debug_breakpoint as breakpoint
from primax.plugins.callbacks.progress import progress
from primax.plugins.sharding.drawing import inspect_array_sharding, visualize_array_sharding, visualize_sharding

__all__ = [
    "DebugEffect",
    "OrderedDebugEffect",
    "breakpoint",
    "callback",
    "inspect_array_sharding",
    "log",
    "print",
    "progress",
    "visualize_array_sharding",
    "visualize_sharding",
]
__dir__ = __all__.copy
