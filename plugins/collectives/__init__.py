"""Collectives: what all that are mapped along a named axis have, summed, gathered and exchanged."""

from __future__ import annotations

from primax.extend import core, hookimpl
from primax.extend.rule_types import Table
from primax.plugins.collectives import exchange as _exchange
from primax.plugins.collectives import position as _position
from primax.plugins.collectives import ragged as _ragged
from primax.plugins.collectives import reductions as _reductions
from primax.plugins.collectives import variance as _variance
from primax.plugins.collectives.divisions import DIVISIONS
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
from primax.plugins.collectives.ragged import (
    pbroadcast,
    pbroadcast_p,
    ragged_all_to_all,
    ragged_all_to_all_p,
)
from primax.plugins.collectives.reductions import pmax, pmax_p, pmean, pmin, pmin_p, psum, psum_p
from primax.plugins.collectives.variance import (
    all_gather_invariant_p,
    pcast,
    pscatter_p,
    psum_invariant_p,
    pvary,
    pvary_p,
)

__all__ = [
    "all_gather",
    "all_gather_invariant_p",
    "all_gather_p",
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
    "pscatter_p",
    "pshuffle",
    "psum",
    "psum_invariant_p",
    "psum_p",
    "psum_scatter",
    "pswapaxes",
    "pvary",
    "pvary_p",
    "ragged_all_to_all",
    "ragged_all_to_all_p",
    "reduce_scatter_p",
]

RULES: Table = _reductions.RULES | _exchange.RULES | _ragged.RULES | _position.RULES | _variance.RULES


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(
            primitive,
            samples=["primax.plugins.samples.collectives:SAMPLES"],
            sharding=DIVISIONS.get(primitive),
            **rules,
        )
