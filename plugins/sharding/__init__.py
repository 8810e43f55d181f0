"""Shardings in types, and per-device programs: `shard_map` and `pmap`."""

from __future__ import annotations

from primax.extend import core, hookimpl
from primax.extend.provisional.lowering import register_lowering_layer
from primax.extend.provisional.partitioning import spmd_lowerings
from primax.extend.rule_types import Table
from primax.plugins.sharding import custom_partitioning as _custom_partitioning
from primax.plugins.sharding import drawing as _drawing
from primax.plugins.sharding import rules as _rules
from primax.plugins.sharding import types as _types
from primax.plugins.sharding.arrays import (
    make_array_from_callback,
    make_array_from_process_local_data,
    make_array_from_single_device_arrays,
)
from primax.plugins.sharding.custom_partitioning import custom_partitioning, custom_partitioning_p
from primax.plugins.sharding.drawing import inspect_sharding_p
from primax.plugins.sharding.pmap import pmap
from primax.plugins.sharding.shard_map import shard_map, shard_map_p, smap
from primax.plugins.sharding.types.custom_partitioning import lower_by_sharding_rule
from primax.plugins.sharding.types.unreduced_lowering import holds_unreduced, lower_on_local_terms

__all__ = [
    "custom_partitioning",
    "custom_partitioning_p",
    "inspect_sharding_p",
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
    "pmap",
    "shard_map",
    "shard_map_p",
    "smap",
]


_types.install()

RULES: Table = _rules.RULES | _drawing.RULES | _custom_partitioning.RULES


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, samples=["primax.plugins.samples.sharding:SAMPLES"], **rules)
    register_lowering_layer(holds_unreduced, lower_on_local_terms, order=40)
    registry.enter("spmd", spmd_lowerings, "partitioning", lower_by_sharding_rule)
