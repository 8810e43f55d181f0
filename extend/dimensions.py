"""Symbolic dimensions for plugins: sizes of axes that are known when a program runs."""

from __future__ import annotations

from primax.core.errors import InconclusiveDimensionOperation
from primax.core.symbolic_dims import (
    SymbolicDim,
    as_size,
    bounds,
    has_symbolic,
    hooks,
    is_symbolic,
    is_symbolic_dim,
    max_dim,
    min_dim,
    sliced,
)
from primax.core.symbolic_scope import SymbolicScope, symbolic_shape, values_of

__all__ = [
    "InconclusiveDimensionOperation",
    "SymbolicDim",
    "SymbolicScope",
    "as_size",
    "bounds",
    "has_symbolic",
    "hooks",
    "is_symbolic",
    "is_symbolic_dim",
    "max_dim",
    "min_dim",
    "sliced",
    "symbolic_shape",
    "values_of",
]
