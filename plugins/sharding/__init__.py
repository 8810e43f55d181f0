"""Programs of one device each: `shard_map` and `pmap`."""

from __future__ import annotations

from typing import Any

from primax.extend import hookimpl
from primax.plugins.sharding.arrays import (
    make_array_from_callback,
    make_array_from_process_local_data,
    make_array_from_single_device_arrays,
)
from primax.plugins.sharding.drawing import RULES as INSPECTION
from primax.plugins.sharding.drawing import inspect_sharding_p
from primax.plugins.sharding.pmap import pmap
from primax.plugins.sharding.rules import RULES
from primax.plugins.sharding.shard_map import shard_map, shard_map_p, smap

__all__ = [
    "inspect_sharding_p",
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
    "pmap",
    "shard_map",
    "shard_map_p",
    "smap",
]


@hookimpl
def primax_register(registry: Any) -> None:
    registry.define(shard_map_p, **RULES)
    registry.define(inspect_sharding_p, **INSPECTION)
