"""Export of jitted functions to bytes, which another process can load and call without their code."""

from __future__ import annotations

from primax.extend.dimensions import is_symbolic_dim
from primax.plugins.export import (
    DisabledSafetyCheck,
    Exported,
    default_export_platform,
    deserialize,
    export,
    maximum_supported_calling_convention_version,
    minimum_supported_calling_convention_version,
    register_dtype_serialization,
    register_namedtuple_serialization,
    register_pytree_node_serialization,
)
from primax.plugins.symbolic_shapes import SymbolicScope, symbolic_args_specs, symbolic_dim_bounds, symbolic_shape

__all__ = [
    "DisabledSafetyCheck",
    "Exported",
    "SymbolicScope",
    "default_export_platform",
    "deserialize",
    "export",
    "is_symbolic_dim",
    "maximum_supported_calling_convention_version",
    "minimum_supported_calling_convention_version",
    "register_dtype_serialization",
    "register_namedtuple_serialization",
    "register_pytree_node_serialization",
    "symbolic_args_specs",
    "symbolic_dim_bounds",
    "symbolic_shape",
]
__dir__ = __all__.copy
