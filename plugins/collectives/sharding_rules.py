"""Sharding rules of collectives: results keep the shardings of operands, except along the axes of the collective."""

from __future__ import annotations

from typing import Any

from primax.extend.core import ShapedArray
from primax.extend.provisional.dividing import whole_along
from primax.extend.provisional.sharding import axes_of_dims
from primax.plugins.collectives.exchange import all_to_all_p, ppermute_p, reduce_scatter_p
from primax.plugins.collectives.mapped import all_gather_p
from primax.plugins.collectives.ragged import pbroadcast_p
from primax.plugins.collectives.reductions import pmax_p, pmin_p, psum_p
from primax.plugins.collectives.vma import all_gather_invariant_p, pscatter_p, psum_invariant_p, pvary_p


def _unchanged(x: ShapedArray, **params: Any) -> list[Any]:
    return [axes_of_dims(x)]


def _gathered(x: ShapedArray, *, all_gather_dimension: int, tiled: bool, **params: Any) -> list[Any]:
    dim = all_gather_dimension
    axes = axes_of_dims(x)
    if not tiled:
        return [(*axes[:dim], (), *axes[dim:])]
    whole_along(x, [dim])
    return [axes]


def _scattered(x: ShapedArray, dim: int, tiled: bool) -> list[Any]:
    whole_along(x, [dim])
    axes = axes_of_dims(x)
    return [axes if tiled else (*axes[:dim], *axes[dim + 1 :])]


def _exchanged(x: ShapedArray, *, split_axis: int, concat_axis: int, tiled: bool, **params: Any) -> list[Any]:
    (axes,) = _scattered(x, split_axis, tiled)
    if not tiled:
        return [(*axes[:concat_axis], (), *axes[concat_axis:])]
    whole_along(x, [concat_axis])
    return [axes]


SHARDING: dict[Any, Any] = {
    **dict.fromkeys((pbroadcast_p, pmax_p, pmin_p, ppermute_p, psum_invariant_p, psum_p, pvary_p), _unchanged),
    all_gather_invariant_p: _gathered,
    all_gather_p: _gathered,
    all_to_all_p: _exchanged,
    pscatter_p: lambda x, *, all_gather_dimension, tiled, **params: _scattered(x, all_gather_dimension, tiled),
    reduce_scatter_p: lambda x, *, scatter_dimension, tiled, **params: _scattered(x, scatter_dimension, tiled),
}
