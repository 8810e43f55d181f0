"""Arrays in other shapes, dtypes and arrangements, and the sums that are the transposes of broadcasts."""

from __future__ import annotations

from primax.extend import core, hookimpl
from primax.extend.rule_types import Table
from primax.plugins.structural import conversion as _conversion
from primax.plugins.structural import creation as _creation
from primax.plugins.structural import identity as _identity
from primax.plugins.structural import selection as _selection
from primax.plugins.structural import shapes as _shapes
from primax.plugins.structural import slicing as _slicing
from primax.plugins.structural import stacking as _stacking
from primax.plugins.structural.conversion import (
    as_scalar,
    bitcast_convert_type,
    bitcast_convert_type_p,
    convert,
    convert_element_type,
    convert_element_type_p,
    dtype_of,
    warn_if_real,
)
from primax.plugins.structural.creation import (
    broadcasted_iota,
    empty,
    full,
    full_like,
    iota,
    iota_p,
    ones_like,
    shape_as_value,
    zero_of,
    zeros_like,
    zeros_of,
)
from primax.plugins.structural.identity import (
    copy,
    copy_p,
    optimization_barrier,
    optimization_barrier_p,
    stop_gradient,
    stop_gradient_p,
)
from primax.plugins.structural.selection import select, select_n, select_n_p
from primax.plugins.structural.shapes import (
    broadcast,
    broadcast_in_dim,
    broadcast_in_dim_p,
    broadcast_like,
    broadcast_shapes,
    broadcast_to_rank,
    collapse,
    expand_dims,
    reduce_sum,
    reduce_sum_p,
    repeat,
    reshape,
    reshape_p,
    squeeze,
    squeeze_p,
    tile,
    tile_p,
    transpose,
    transpose_p,
    unbroadcast,
)
from primax.plugins.structural.sharding_rules import SHARDING
from primax.plugins.structural.slicing import (
    concatenate,
    concatenate_p,
    index_in_dim,
    pad,
    pad_p,
    rev,
    rev_p,
    slice,
    slice_in_dim,
    slice_p,
    split,
    split_p,
)
from primax.plugins.structural.stacking import stack, stack_p, unstack, unstack_p

__all__ = [
    "as_scalar",
    "bitcast_convert_type",
    "bitcast_convert_type_p",
    "broadcast",
    "broadcast_in_dim",
    "broadcast_in_dim_p",
    "broadcast_like",
    "broadcast_shapes",
    "broadcast_to_rank",
    "broadcasted_iota",
    "collapse",
    "concatenate",
    "concatenate_p",
    "convert",
    "convert_element_type",
    "convert_element_type_p",
    "copy",
    "copy_p",
    "dtype_of",
    "empty",
    "expand_dims",
    "full",
    "full_like",
    "index_in_dim",
    "iota",
    "iota_p",
    "ones_like",
    "optimization_barrier",
    "optimization_barrier_p",
    "pad",
    "pad_p",
    "reduce_sum",
    "reduce_sum_p",
    "repeat",
    "reshape",
    "reshape_p",
    "rev",
    "rev_p",
    "select",
    "select_n",
    "select_n_p",
    "shape_as_value",
    "slice",
    "slice_in_dim",
    "slice_p",
    "split",
    "split_p",
    "squeeze",
    "squeeze_p",
    "stack",
    "stack_p",
    "stop_gradient",
    "stop_gradient_p",
    "tile",
    "tile_p",
    "transpose",
    "transpose_p",
    "unbroadcast",
    "unstack",
    "unstack_p",
    "warn_if_real",
    "zero_of",
    "zeros_like",
    "zeros_of",
]

RULES: Table = (
    _shapes.RULES
    | _conversion.RULES
    | _creation.RULES
    | _selection.RULES
    | _slicing.RULES
    | _stacking.RULES
    | _identity.RULES
)


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(
            primitive, sharding=SHARDING.get(primitive), samples=["primax.plugins.samples.structural:SAMPLES"], **rules
        )
