"""Meshes and shardings, and the serialized form of XLA's shardings."""

from __future__ import annotations

from typing import Any

from primax.core import _jaxlib
from primax.core._jaxlib import GSPMDSharding
from primax.interpreters.runtime.sharding.mesh import AbstractMesh, AxisType, Mesh, PartitionSpec
from primax.interpreters.runtime.sharding.shardings import NamedSharding, Sharding, SingleDeviceSharding

__all__ = [
    "AbstractMesh",
    "AxisType",
    "GSPMDSharding",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "get_hlo_sharding_from_serialized_proto",
    "get_op_sharding_from_serialized_proto",
    "get_serialized_proto_from_hlo_sharding",
]
__dir__ = __all__.copy


def get_op_sharding_from_serialized_proto(sharding: bytes) -> Any:
    """XLA's `OpSharding` from its serialized form.

    Examples:
      >>> from jaxlib import xla_client
      >>> from primax.extend import sharding
      >>> text = sharding.get_serialized_proto_from_hlo_sharding(xla_client.HloSharding.replicate())
      >>> proto = sharding.get_op_sharding_from_serialized_proto(text)
      >>> proto.type, proto.tile_assignment_devices
      (OpSharding_Type.REPLICATED, [])
    """
    if not isinstance(sharding, bytes):
        raise TypeError(f"get_op_sharding_from_serialized_proto: sharding must be bytes, got {sharding!r}")
    proto = _jaxlib.xla_client.OpSharding()
    proto.ParseFromString(sharding)
    return proto


def get_hlo_sharding_from_serialized_proto(sharding: bytes) -> Any:
    """XLA's `HloSharding` from a serialized `OpSharding`.

    Examples:
      >>> from jaxlib import xla_client
      >>> from primax.extend import sharding
      >>> text = sharding.get_serialized_proto_from_hlo_sharding(xla_client.HloSharding.replicate())
      >>> sharding.get_hlo_sharding_from_serialized_proto(text).is_replicated()
      True
    """
    return _jaxlib.xla_client.HloSharding.from_proto(get_op_sharding_from_serialized_proto(sharding))


def get_serialized_proto_from_hlo_sharding(sharding: Any) -> bytes:
    """The serialized `OpSharding` of an `HloSharding`.

    Examples:
      >>> from jaxlib import xla_client
      >>> from primax.extend import sharding
      >>> sharding.get_serialized_proto_from_hlo_sharding(xla_client.HloSharding.replicate())
      b''
    """
    return bytes(sharding.to_proto().SerializeToString())
