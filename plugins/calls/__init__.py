"""Calls: `jit` and the primitive behind it."""

from __future__ import annotations

from primax.extend import core, hookimpl
from primax.extend.provisional.runtime import register_watch
from primax.plugins.calls.jit import clear_caches, eval_shape, jit
from primax.plugins.calls.primitive import RULES, call_params, evaluate, jit_p, run_program, watch_nonfinite
from primax.plugins.calls.stages import Compiled, Lowered, Traced, flat_arguments

__all__ = [
    "Compiled",
    "Lowered",
    "Traced",
    "call_params",
    "clear_caches",
    "eval_shape",
    "evaluate",
    "flat_arguments",
    "jit",
    "jit_p",
    "run_program",
]


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, samples=["primax.plugins.samples.calls:SAMPLES"], **rules)
    for option in (core.config.debug_nans, core.config.debug_infs):
        register_watch(option, watch_nonfinite)
