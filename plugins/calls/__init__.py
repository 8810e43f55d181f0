"""Calls: `jit` and the primitive behind it."""

from __future__ import annotations

from primax.extend import core, hookimpl
from primax.plugins.calls.jit import clear_caches, eval_shape, jit
from primax.plugins.calls.primitive import RULES, call_params, evaluate, jit_p, run_program
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
