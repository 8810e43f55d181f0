"""The parts of jax.experimental that primax has."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = [
    "checkify",
    "compilation_cache",
    "compute_on",
    "custom_partitioning",
    "io_callback",
    "jet",
    "layout",
    "mesh_utils",
    "multihost_utils",
    "random",
    "scheduling_groups",
    "serialize_executable",
    "sparse",
    "xla_metadata",
]

_SUBMODULES = frozenset(name for name in __all__ if name != "io_callback")


def __getattr__(name: str) -> Any:
    """Import submodules, and functions that `primax` has too, when they are first used."""
    if name in _SUBMODULES:
        return import_module(f"primax.experimental.{name}")
    if name == "io_callback":
        return import_module("primax.plugins.callbacks").io_callback
    raise AttributeError(f"module 'primax.experimental' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBMODULES})
