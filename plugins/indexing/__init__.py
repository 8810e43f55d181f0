"""Reads and writes of arrays at computed positions."""

from __future__ import annotations

from primax.extend import core, hookimpl
from primax.extend.rule_types import Table
from primax.plugins.indexing import apply as _apply
from primax.plugins.indexing import dynamic as _dynamic
from primax.plugins.indexing import gather as _gather
from primax.plugins.indexing import scatter_rules as _scatter_rules
from primax.plugins.indexing.apply import scatter_apply
from primax.plugins.indexing.dimensions import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers
from primax.plugins.indexing.dynamic import (
    dynamic_index_in_dim,
    dynamic_slice,
    dynamic_slice_in_dim,
    dynamic_update_index_in_dim,
    dynamic_update_slice,
    dynamic_update_slice_in_dim,
)
from primax.plugins.indexing.gather import gather
from primax.plugins.indexing.primitives import (
    dynamic_slice_p,
    dynamic_update_slice_p,
    gather_p,
    scatter_add_p,
    scatter_apply_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
    scatter_sub_p,
)
from primax.plugins.indexing.scatter import scatter, scatter_add, scatter_max, scatter_min, scatter_mul, scatter_sub
from primax.plugins.indexing.sharding_rules import SHARDING
from primax.plugins.indexing.taking import index_take, put_along, take_along

__all__ = [
    "GatherDimensionNumbers",
    "GatherScatterMode",
    "ScatterDimensionNumbers",
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_slice_p",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
    "dynamic_update_slice_p",
    "gather",
    "gather_p",
    "index_take",
    "put_along",
    "scatter",
    "scatter_add",
    "scatter_add_p",
    "scatter_apply",
    "scatter_apply_p",
    "scatter_max",
    "scatter_max_p",
    "scatter_min",
    "scatter_min_p",
    "scatter_mul",
    "scatter_mul_p",
    "scatter_p",
    "scatter_sub",
    "scatter_sub_p",
    "take_along",
]

RULES: Table = _gather.RULES | _scatter_rules.RULES | _apply.RULES | _dynamic.RULES


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(
            primitive, sharding=SHARDING.get(primitive), samples=["primax.plugins.samples.indexing:SAMPLES"], **rules
        )
