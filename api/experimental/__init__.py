"""The parts of jax.experimental that primax has."""

from __future__ import annotations

from primax.extend.lazy_names import lazy_names

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

__getattr__, __dir__ = lazy_names(__name__, __all__, __all__, {"io_callback": "primax.plugins.callbacks"})
