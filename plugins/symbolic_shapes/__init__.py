"""Symbolic shapes: sizes of axes that are polynomials of named sizes, known when a program runs."""

from __future__ import annotations

from primax.extend import core, dimensions, hookimpl
from primax.extend.provisional.dimensions import definitions
from primax.plugins.symbolic_shapes import dynamic_ops
from primax.plugins.symbolic_shapes.dims import SymbolicDim, bounds, extreme
from primax.plugins.symbolic_shapes.scope import SymbolicScope, symbolic_shape, values_of
from primax.plugins.symbolic_shapes.specs import symbolic_args_specs, symbolic_dim_bounds
from primax.plugins.symbolic_shapes.values import RULES, as_value, dim_as_value_p

__all__ = [
    "SymbolicDim",
    "SymbolicScope",
    "dim_as_value_p",
    "symbolic_args_specs",
    "symbolic_dim_bounds",
    "symbolic_shape",
    "values_of",
]


@hookimpl
def primax_register(registry: core.Registry) -> None:
    dimensions.register_dimension(SymbolicDim, as_array=as_value, bounds=bounds, extreme=extreme, lowering=dynamic_ops)
    for definition in (SymbolicDim, SymbolicScope, symbolic_shape, values_of):
        registry.enter("dimension", definitions, definition.__name__, definition)
    for primitive, rules in RULES.items():
        registry.define(primitive, samples=["primax.plugins.samples.symbolic_shapes:SAMPLES"], **rules)
