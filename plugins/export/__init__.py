"""Export: jitted functions as bytes, which another process can load and call without their Python code."""

from __future__ import annotations

from primax.extend import core, hookimpl
from primax.plugins.export.artifact import RULES, call_exported_p
from primax.plugins.export.exported import (
    DisabledSafetyCheck,
    Exported,
    default_export_platform,
    deserialize,
    export,
    maximum_supported_calling_convention_version,
    minimum_supported_calling_convention_version,
)
from primax.plugins.export.stablehlo_artifact import call_artifact
from primax.plugins.export.structure import (
    register_dtype_serialization,
    register_namedtuple_serialization,
    register_pytree_node_serialization,
)

__all__ = [
    "DisabledSafetyCheck",
    "Exported",
    "call_artifact",
    "call_exported_p",
    "default_export_platform",
    "deserialize",
    "export",
    "maximum_supported_calling_convention_version",
    "minimum_supported_calling_convention_version",
    "register_dtype_serialization",
    "register_namedtuple_serialization",
    "register_pytree_node_serialization",
]


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, samples=["primax.plugins.samples.export:SAMPLES"], **rules)
