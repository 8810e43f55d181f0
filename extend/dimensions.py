"""Sizes of axes that are known when a program runs: symbolic dimensions, and those of other plugins."""

from __future__ import annotations

from primax.core.dimensions import register_dimension
from primax.core.errors import InconclusiveDimensionOperation
from primax.extend.provisional.dimensions import is_symbolic_dim, max_dim, min_dim

__all__ = ["InconclusiveDimensionOperation", "is_symbolic_dim", "max_dim", "min_dim", "register_dimension"]
__dir__ = __all__.copy
