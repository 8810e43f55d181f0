"""Shardings as jaxlib has them, and their serialized form."""

from __future__ import annotations

from typing import Any

from primax.core import _jaxlib
from primax.core._jaxlib import GSPMDSharding
from primax.interpreters.backend import SingleDeviceSharding, sharding_of

__all__ = [
    "GSPMDSharding",
    "SingleDeviceSharding",
    "get_hlo_sharding_from_serialized_proto",
    "get_op_sharding_from_serialized_proto",
    "get_serialized_proto_from_hlo_sharding",
    "sharding_of",
]


def get_op_sharding_from_serialized_proto(sharding: bytes) -> Any:
    """XLA's `OpSharding` of a serialized one."""
    if not isinstance(sharding, bytes):
        raise TypeError(f"get_op_sharding_from_serialized_proto: sharding must be bytes, got {sharding!r}")
    found = _jaxlib.xla_client.OpSharding()
    found.ParseFromString(sharding)
    return found


def get_hlo_sharding_from_serialized_proto(sharding: bytes) -> Any:
    """XLA's `HloSharding` of a serialized `OpSharding`."""
    return _jaxlib.xla_client.HloSharding.from_proto(get_op_sharding_from_serialized_proto(sharding))


def get_serialized_proto_from_hlo_sharding(sharding: Any) -> bytes:
    """The serialized `OpSharding` of an `HloSharding`."""
    return bytes(sharding.to_proto().SerializeToString())
