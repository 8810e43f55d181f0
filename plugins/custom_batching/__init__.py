"""Custom batching: functions with their own rules for `vmap`."""

from __future__ import annotations

from primax.extend import core, hookimpl
from primax.plugins.custom_batching.custom_vmap import custom_vmap, sequential_vmap
from primax.plugins.custom_batching.rules import RULES, custom_vmap_call_p

__all__ = ["custom_vmap", "custom_vmap_call_p", "sequential_vmap"]


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, samples=["primax.plugins.samples.custom_batching:SAMPLES"], **rules)
