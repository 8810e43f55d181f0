"""Convolutions in any number of dimensions."""

from __future__ import annotations

from primax.extend import core, hookimpl
from primax.extend.interpreters import ad
from primax.extend.provisional.narrow import in_whole_bytes
from primax.extend.provisional.padding import padtype_to_pads
from primax.extend.rule_types import Table
from primax.plugins.convolution.dimension_numbers import (
    ConvDimensionNumbers,
    conv_dimension_numbers,
    conv_general_permutations,
)
from primax.plugins.convolution.functions import (
    conv,
    conv_general_dilated_local,
    conv_general_dilated_patches,
    conv_transpose,
    conv_with_general_padding,
)
from primax.plugins.convolution.lowering import conv_general_dilated_cpu_lowering, conv_general_dilated_lowering
from primax.plugins.convolution.primitive import (
    conv_general_dilated,
    conv_general_dilated_abstract_eval,
    conv_general_dilated_p,
)
from primax.plugins.convolution.rules import (
    conv_general_dilated_batch,
    conv_general_dilated_sharding_rule,
    conv_general_dilated_transpose_lhs,
    conv_general_dilated_transpose_rhs,
)
from primax.plugins.convolution.shapes import conv_general_shape_tuple, conv_shape_tuple, conv_transpose_shape_tuple

__all__ = [
    "ConvDimensionNumbers",
    "conv",
    "conv_dimension_numbers",
    "conv_general_dilated",
    "conv_general_dilated_local",
    "conv_general_dilated_p",
    "conv_general_dilated_patches",
    "conv_general_permutations",
    "conv_general_shape_tuple",
    "conv_shape_tuple",
    "conv_transpose",
    "conv_transpose_shape_tuple",
    "conv_with_general_padding",
    "padtype_to_pads",
]


RULES: Table = {
    conv_general_dilated_p: {
        "abstract_eval": conv_general_dilated_abstract_eval,
        "jvp": ad.bilinear_jvp(conv_general_dilated_p),
        "transpose": ad.bilinear_transpose(
            conv_general_dilated_p, conv_general_dilated_transpose_lhs, conv_general_dilated_transpose_rhs
        ),
        "batch": conv_general_dilated_batch,
        "sharding": conv_general_dilated_sharding_rule,
        "lowering": {
            None: in_whole_bytes(conv_general_dilated_lowering),
            "cpu": in_whole_bytes(conv_general_dilated_cpu_lowering),
        },
        "makes_nan": True,
    },
}


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, samples=["primax.plugins.samples.convolution:SAMPLES"], **rules)
