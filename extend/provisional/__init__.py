"""Names that families share, without a promise: anyone may import them; a minor release may change them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from primax.extend.lazy_names import lazy_names

if TYPE_CHECKING:
    from primax.extend.provisional import accuracy as accuracy
    from primax.extend.provisional import arguments as arguments
    from primax.extend.provisional import aval_sharding as aval_sharding
    from primax.extend.provisional import avals as avals
    from primax.extend.provisional import awaited_rules as awaited_rules
    from primax.extend.provisional import compiled_function as compiled_function
    from primax.extend.provisional import compiler_attributes as compiler_attributes
    from primax.extend.provisional import complex_forms as complex_forms
    from primax.extend.provisional import computations as computations
    from primax.extend.provisional import concretization as concretization
    from primax.extend.provisional import core_dimensions as core_dimensions
    from primax.extend.provisional import derivatives as derivatives
    from primax.extend.provisional import dimensions as dimensions
    from primax.extend.provisional import dividing as dividing
    from primax.extend.provisional import elementwise as elementwise
    from primax.extend.provisional import ffi as ffi
    from primax.extend.provisional import from_dlpack as from_dlpack
    from primax.extend.provisional import lowering as lowering
    from primax.extend.provisional import mesh_context as mesh_context
    from primax.extend.provisional import narrow as narrow
    from primax.extend.provisional import padding as padding
    from primax.extend.provisional import partitioning as partitioning
    from primax.extend.provisional import precision as precision
    from primax.extend.provisional import programs as programs
    from primax.extend.provisional import random as random
    from primax.extend.provisional import records as records
    from primax.extend.provisional import references as references
    from primax.extend.provisional import runtime as runtime
    from primax.extend.provisional import sampling as sampling
    from primax.extend.provisional import sharding as sharding
    from primax.extend.provisional import sharding_rule as sharding_rule
    from primax.extend.provisional import tracing as tracing
    from primax.extend.provisional import transformations as transformations
    from primax.extend.provisional import typing as typing
    from primax.extend.provisional import user_types as user_types

__all__ = [
    "accuracy",
    "arguments",
    "aval_sharding",
    "avals",
    "awaited_rules",
    "boundaries",
    "compiled_function",
    "compiler_attributes",
    "complex_forms",
    "computations",
    "concretization",
    "core_dimensions",
    "derivatives",
    "dimensions",
    "dividing",
    "elementwise",
    "ffi",
    "from_dlpack",
    "lowering",
    "mesh_context",
    "narrow",
    "padding",
    "partitioning",
    "precision",
    "programs",
    "random",
    "records",
    "references",
    "runtime",
    "sampling",
    "sharding",
    "sharding_rule",
    "tracebacks",
    "tracing",
    "transformations",
    "typing",
    "user_types",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, __all__, __all__)
