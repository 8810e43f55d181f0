"""Meshes and shardings, and the serialized form of XLA's shardings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from primax.core import _jaxlib
from primax.core._jaxlib import GSPMDSharding
from primax.core.divided import axes_of_dims, divide, explicit_part
from primax.core.division import Division
from primax.core.errors import ShardingTypeError
from primax.core.memory_space import Space
from primax.core.mesh import AbstractMesh, AxisType, Mesh, MeshScope, PartitionSpec, current_scope
from primax.core.variance import axes_of, cotangent_like, hooks, own_axes, vary, vary_like
from primax.interpreters.runtime.sharding.layout import Format, Layout
from primax.interpreters.runtime.sharding.mesh_context import (
    axes_in_scope,
    get_abstract_mesh,
    get_mesh,
    make_mesh,
    manual_axes,
    manual_scope,
    set_mesh,
    use_abstract_mesh,
)
from primax.interpreters.runtime.sharding.shardings import (
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
    canonical_sharding,
    check_spec,
    devices_of,
    named_from_hlo,
    placed,
    sharding_of,
    to_hlo,
)

__all__ = [
    "AbstractMesh",
    "AxisType",
    "Division",
    "Format",
    "GSPMDSharding",
    "Layout",
    "Mesh",
    "MeshScope",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "ShardingTypeError",
    "SingleDeviceSharding",
    "Space",
    "axes_in_scope",
    "axes_of",
    "axes_of_dims",
    "canonical_sharding",
    "check_spec",
    "cotangent_like",
    "current_scope",
    "devices_of",
    "divide",
    "explicit_part",
    "get_abstract_mesh",
    "get_hlo_sharding_from_serialized_proto",
    "get_mesh",
    "get_op_sharding_from_serialized_proto",
    "get_serialized_proto_from_hlo_sharding",
    "hooks",
    "make_mesh",
    "manual_axes",
    "manual_scope",
    "named_from_hlo",
    "own_axes",
    "placed",
    "set_mesh",
    "sharding_of",
    "to_hlo",
    "use_abstract_mesh",
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


def get_op_sharding_from_serialized_proto(sharding: bytes) -> Any:
    """XLA's `OpSharding` from its serialized form."""
    if not isinstance(sharding, bytes):
        raise TypeError(f"get_op_sharding_from_serialized_proto: sharding must be bytes, got {sharding!r}")
    found = _jaxlib.xla_client.OpSharding()
    found.ParseFromString(sharding)
    return found


def get_hlo_sharding_from_serialized_proto(sharding: bytes) -> Any:
    """XLA's `HloSharding` from a serialized `OpSharding`."""
    return _jaxlib.xla_client.HloSharding.from_proto(get_op_sharding_from_serialized_proto(sharding))


def get_serialized_proto_from_hlo_sharding(sharding: Any) -> bytes:
    """The serialized `OpSharding` of an `HloSharding`."""
    return bytes(sharding.to_proto().SerializeToString())


def __dir__() -> list[str]:
    return sorted(__all__)
