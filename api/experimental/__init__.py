"""The parts of jax.experimental that primax has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from primax.extend.lazy_names import lazy_names

if TYPE_CHECKING:
    from primax.experimental import checkify as checkify
    from primax.experimental import compilation_cache as compilation_cache
    from primax.experimental import compute_on as compute_on
    from primax.experimental import custom_partitioning as custom_partitioning
    from primax.experimental import jet as jet
    from primax.experimental import layout as layout
    from primax.experimental import mesh_utils as mesh_utils
    from primax.experimental import multihost_utils as multihost_utils
    from primax.experimental import random as random
    from primax.experimental import scheduling_groups as scheduling_groups
    from primax.experimental import serialize_executable as serialize_executable
    from primax.experimental import sparse as sparse
    from primax.experimental import xla_metadata as xla_metadata
    from primax.plugins.callbacks import io_callback as io_callback

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

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, __all__, __all__, {"io_callback": "primax.plugins.callbacks"})
