"""Functions that say how their computation is divided among devices."""

from __future__ import annotations

from primax.plugins.sharding import custom_partitioning, custom_partitioning_p
from primax.plugins.sharding.notation import BATCHING, ArrayMapping, CompoundFactor, SdyShardingRule

__all__ = [
    "ArrayMapping",
    "BATCHING",
    "CompoundFactor",
    "SdyShardingRule",
    "custom_partitioning",
    "custom_partitioning_p",
]
__dir__ = __all__.copy
