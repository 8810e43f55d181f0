"""Custom batching: functions that say themselves how they are mapped over an axis."""

from __future__ import annotations

from typing import Any

from primax.extend import hookimpl
from primax.plugins.custom_batching.custom_vmap import custom_vmap, sequential_vmap
from primax.plugins.custom_batching.rules import custom_vmap_call_p, rules
from primax.plugins.custom_batching.samples import vmap_samples

__all__ = ["custom_vmap", "custom_vmap_call_p", "sequential_vmap"]


@hookimpl
def primax_register(registry: Any) -> None:
    registry.define(custom_vmap_call_p, samples=[vmap_samples], **rules)
