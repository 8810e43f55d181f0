"""The names of `jax._src.xla_bridge` that packages use, besides the names of `primax.extend.backend`."""

from __future__ import annotations

from typing import Any

from primax.extend.backend import backends
from primax.extend.provisional.runtime import local_devices, process_count, process_index
from primax.interpreters.runtime.devices.backends import device_count

__all__ = ["backends", "device_count", "local_devices", "process_count", "process_index"]


def __getattr__(name: str) -> Any:
    """`_backends`, the dictionary of backends."""
    if name == "_backends":
        return backends()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
