"""Collectives: sums, gathers and exchanges of values along a named axis."""

from __future__ import annotations

from typing import Any

from primax.extend import core, hookimpl
from primax.extend.rule_types import Table
from primax.plugins.collectives import exchange as _exchange
from primax.plugins.collectives import position as _position
from primax.plugins.collectives import ragged as _ragged
from primax.plugins.collectives import reductions as _reductions
from primax.plugins.collectives import unreduced as _unreduced
from primax.plugins.collectives import vma as _variance
from primax.plugins.collectives.casts import pcast, pvary, pvary_along
from primax.plugins.collectives.exchange import (
    all_gather,
    all_gather_p,
    all_to_all,
    all_to_all_p,
    ppermute,
    ppermute_p,
    pshuffle,
    psum_scatter,
    pswapaxes,
    reduce_scatter_p,
)
from primax.plugins.collectives.position import axis_index, axis_index_p, axis_size
from primax.plugins.collectives.ragged import pbroadcast, pbroadcast_p, ragged_all_to_all, ragged_all_to_all_p
from primax.plugins.collectives.reductions import pmax, pmax_p, pmean, pmin, pmin_p, psum, psum_p
from primax.plugins.collectives.sharding_rules import SHARDING
from primax.plugins.collectives.unreduced import (
    all_gather_reduced_p,
    preduced_p,
    recast,
    reduced_vary_cast_p,
    unreduced_psum_p,
    unreduced_reduce_scatter_p,
    vary_unreduced_cast_p,
)
from primax.plugins.collectives.vma import all_gather_invariant_p, pscatter_p, psum_invariant_p, pvary_p

__all__ = [
    "all_gather",
    "all_gather_invariant_p",
    "all_gather_p",
    "all_gather_reduced_p",
    "all_to_all",
    "all_to_all_p",
    "axis_index",
    "axis_index_p",
    "axis_size",
    "pbroadcast",
    "pbroadcast_p",
    "pcast",
    "pmax",
    "pmax_p",
    "pmean",
    "pmin",
    "pmin_p",
    "ppermute",
    "ppermute_p",
    "preduced_p",
    "pscatter_p",
    "pshuffle",
    "psum",
    "psum_invariant_p",
    "psum_p",
    "psum_scatter",
    "pswapaxes",
    "pvary",
    "pvary_along",
    "pvary_p",
    "ragged_all_to_all",
    "ragged_all_to_all_p",
    "recast",
    "reduce_scatter_p",
    "reduced_vary_cast_p",
    "unreduced_psum_p",
    "unreduced_reduce_scatter_p",
    "vary_unreduced_cast_p",
]

RULES: Table = (
    _reductions.RULES | _exchange.RULES | _ragged.RULES | _position.RULES | _variance.RULES | _unreduced.RULES
)


def _with_sharding_rule(primitive: core.Primitive, rules: Any) -> Any:
    return rules if "sharding" in rules else {**rules, "sharding": SHARDING.get(primitive)}


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(
            primitive,
            samples=["primax.plugins.samples.collectives:SAMPLES"],
            **_with_sharding_rule(primitive, rules),
        )
