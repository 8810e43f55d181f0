"""Functions with their own rules for `vmap`."""

from __future__ import annotations

from primax.plugins.custom_batching import custom_vmap, sequential_vmap

__all__ = ["custom_vmap", "sequential_vmap"]
__dir__ = __all__.copy
