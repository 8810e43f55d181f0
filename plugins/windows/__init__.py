"""Windows that slide over arrays: their reductions, and what selects elements of them."""

from __future__ import annotations

from typing import Any

from primax.extend import hookimpl
from primax.plugins.windows import reductions, selection
from primax.plugins.windows.geometry import reduce_window_shape_tuple
from primax.plugins.windows.reductions import (
    reduce_window,
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_p,
    reduce_window_sum_p,
)
from primax.plugins.windows.selection import (
    select_and_gather_add_p,
    select_and_scatter_add_p,
    select_and_scatter_p,
)

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


@hookimpl
def primax_register(registry: Any) -> None:
    for primitive, rules in (reductions.RULES | selection.RULES).items():
        registry.define(primitive, **rules)
