"""Export of jitted functions to bytes, which another process can load and call without their code."""

from __future__ import annotations

from primax.plugins.export import (
    DisabledSafetyCheck,
    Exported,
    default_export_platform,
    deserialize,
    export,
    register_namedtuple_serialization,
    register_pytree_node_serialization,
)

__all__ = [
    "DisabledSafetyCheck",
    "Exported",
    "default_export_platform",
    "deserialize",
    "export",
    "register_namedtuple_serialization",
    "register_pytree_node_serialization",
]


def __dir__() -> list[str]:
    return sorted(__all__)
