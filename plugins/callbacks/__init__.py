"""Calls from programs to code outside of primax: Python functions, and printing."""

from __future__ import annotations

from primax.extend import core, hookimpl
from primax.extend.rule_types import Table
from primax.plugins.callbacks import debug, foreign, io, pure
from primax.plugins.callbacks.debug import (
    DebugEffect,
    OrderedDebugEffect,
    debug_callback,
    debug_callback_p,
    debug_log,
    debug_print,
)
from primax.plugins.callbacks.io import io_callback, io_callback_p
from primax.plugins.callbacks.pure import pure_callback, pure_callback_p

__all__ = [
    "DebugEffect",
    "OrderedDebugEffect",
    "debug_callback",
    "debug_callback_p",
    "debug_log",
    "debug_print",
    "io_callback",
    "io_callback_p",
    "pure_callback",
    "pure_callback_p",
]


RULES: Table = pure.RULES | io.RULES | debug.RULES | foreign.RULES


@hookimpl
def primax_register(registry: core.Registry) -> None:
    registry.effect(io.IOEffect, control_flow=True, custom_derivatives=True)
    registry.effect(io.OrderedIOEffect, ordered=True, control_flow=True, custom_derivatives=True)
    registry.effect(debug.DebugEffect, control_flow=True, custom_derivatives=True)
    registry.effect(debug.ProgressEffect, control_flow=True, custom_derivatives=True)
    registry.effect(debug.OrderedDebugEffect, ordered=True, control_flow=True, custom_derivatives=True)
    registry.effect(foreign.FfiEffect, control_flow=True, custom_derivatives=True)
    for primitive, rules in RULES.items():
        registry.define(primitive, samples=["primax.plugins.samples.callbacks:SAMPLES"], **rules)
