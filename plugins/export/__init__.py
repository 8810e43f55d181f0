"""Export: jitted functions as bytes, which another process can load and call without their code."""

from __future__ import annotations

from typing import Any

from primax.extend import hookimpl
from primax.plugins.export.artifact import call_exported_p, exported_tangents_p, rules, tangent_rules
from primax.plugins.export.exported import Exported, deserialize, export
from primax.plugins.export.structure import (
    register_namedtuple_serialization,
    register_pytree_node_serialization,
)

__all__ = [
    "Exported",
    "call_exported_p",
    "deserialize",
    "export",
    "register_namedtuple_serialization",
    "register_pytree_node_serialization",
]


@hookimpl
def primax_register(registry: Any) -> None:
    registry.define(call_exported_p, **rules)
    registry.define(exported_tangents_p, **tangent_rules)
