"""Export: jitted functions as bytes, which another process can load and call without their code."""

from __future__ import annotations

from primax.plugins.export import (
    Exported,
    deserialize,
    export,
    register_namedtuple_serialization,
    register_pytree_node_serialization,
)

__all__ = [
    "Exported",
    "deserialize",
    "export",
    "register_namedtuple_serialization",
    "register_pytree_node_serialization",
]
