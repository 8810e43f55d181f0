"""Communication between processes, as in `jax.experimental.multihost_utils`."""

from __future__ import annotations

from primax.plugins.sharding.multihost import (
    assert_equal,
    broadcast_one_to_all,
    global_array_to_host_local_array,
    host_local_array_to_global_array,
    process_allgather,
    sync_global_devices,
)

__all__ = [
    "assert_equal",
    "broadcast_one_to_all",
    "global_array_to_host_local_array",
    "host_local_array_to_global_array",
    "process_allgather",
    "sync_global_devices",
]
__dir__ = __all__.copy
