"""Calls from programs to code that primax cannot look into: Python functions, and printing from them."""

from __future__ import annotations

from typing import Any

from primax.extend import ffi, hookimpl
from primax.plugins.callbacks import debug, foreign, io, pure, samples
from primax.plugins.callbacks.debug import DebugEffect, debug_callback, debug_callback_p, debug_print
from primax.plugins.callbacks.io import io_callback, io_callback_p
from primax.plugins.callbacks.pure import pure_callback, pure_callback_p

__all__ = [
    "DebugEffect",
    "debug_callback",
    "debug_callback_p",
    "debug_print",
    "io_callback",
    "io_callback_p",
    "pure_callback",
    "pure_callback_p",
]


@hookimpl
def primax_register(registry: Any) -> None:
    registry.effect(io.IOEffect, control_flow=True)
    registry.effect(io.OrderedIOEffect, ordered=True, control_flow=True)
    registry.effect(debug.DebugEffect, control_flow=True, custom_derivatives=True)
    registry.effect(debug.OrderedDebugEffect, ordered=True, control_flow=True, custom_derivatives=True)
    registry.effect(foreign.FfiEffect, control_flow=True)
    registry.define(pure_callback_p, unsupported=pure.unsupported, samples=[samples.pure_samples], **pure.rules)
    registry.define(io_callback_p, unsupported=io.unsupported, samples=[samples.io_samples], **io.rules)
    registry.define(
        debug_callback_p, sharding=lambda *avals, **params: [], samples=[samples.debug_samples], **debug.rules
    )
    registry.define(ffi.ffi_call_p, unsupported=foreign.unsupported, samples=[samples.ffi_samples], **foreign.rules)
