"""Meshes, the divisions of types, and the mesh axes along which values vary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from primax.core.divided import axes_of_dims, explicit_part
from primax.core.division import Division
from primax.core.memory_space import Space
from primax.core.mesh import MeshScope, current_scope
from primax.core.variance import axes_of, cotangent_like, hooks, own_axes, vary, vary_like
from primax.interpreters.runtime.sharding.layout import Format, Layout
from primax.interpreters.runtime.sharding.mesh_context import axes_in_scope, get_mesh, manual_axes, manual_scope
from primax.interpreters.runtime.sharding.shardings import (
    canonical_sharding,
    check_spec,
    devices_of,
    named_from_hlo,
    placed,
    sharding_of,
    to_hlo,
)

__all__ = [
    "Division",
    "Format",
    "Layout",
    "MeshScope",
    "Space",
    "axes_in_scope",
    "axes_of",
    "axes_of_dims",
    "canonical_sharding",
    "check_spec",
    "cotangent_like",
    "current_scope",
    "devices_of",
    "explicit_part",
    "get_mesh",
    "hooks",
    "manual_axes",
    "manual_scope",
    "named_from_hlo",
    "own_axes",
    "placed",
    "sharding_of",
    "to_hlo",
    "vary",
    "vary_like",
    "with_out_sharding",
]

Result = TypeVar("Result")


def with_out_sharding(function: str, bind: Callable[..., Result], args: Sequence[Any], out_sharding: Any) -> Result:
    """The result of a function, with the sharding that its argument `out_sharding` prescribes, if any.

    Args:
      function: the name of the function.
      bind: computes the result.
      args: the arrays; XLA chooses how they are divided.
      out_sharding: a `PartitionSpec` or a `NamedSharding`, or None.
    """
    return bind(*args) if out_sharding is None else hooks.lay_out(function, bind, args, out_sharding)
