"""Windows that slide over arrays: their reductions, and selections of their elements."""

from __future__ import annotations

from typing import Any

from primax.extend import core, hookimpl
from primax.extend.provisional.dividing import common_axes, whole_along
from primax.extend.rule_types import Table
from primax.plugins.windows import reductions, selection
from primax.plugins.windows.geometry import reduce_window_shape_tuple
from primax.plugins.windows.reductions import (
    reduce_window,
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_p,
    reduce_window_sum_p,
)
from primax.plugins.windows.selection import select_and_gather_add_p, select_and_scatter_add_p, select_and_scatter_p

__all__ = [
    "reduce_window",
    "reduce_window_max_p",
    "reduce_window_min_p",
    "reduce_window_p",
    "reduce_window_shape_tuple",
    "reduce_window_sum_p",
    "select_and_gather_add_p",
    "select_and_scatter_add_p",
    "select_and_scatter_p",
]


def _sharding_rule(*avals: Any, **params: Any) -> list[Any]:
    """All operands of that rank are divided in the same way, along axes where windows have one element."""
    arrays = [aval for aval in avals if len(aval.shape) == len(params["window_dimensions"])]
    for aval in arrays:
        whole_along(aval, [i for i, size in enumerate(params["window_dimensions"]) if size != 1])
    count = len(avals) // 2 if "jaxpr" in params else 1
    return [common_axes(arrays)] * count


RULES: Table = reductions.RULES | selection.RULES


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, sharding=_sharding_rule, samples=["primax.plugins.samples.windows:SAMPLES"], **rules)
