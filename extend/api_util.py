"""What functions like `jit` do with their arguments before there is a program."""

from __future__ import annotations

from primax.core.avals import ShapeDtypeStruct
from primax.core.tree import flatten_axes, keystr
from primax.interpreters.signature import StaticArguments, avals_of, positions_and_names

__all__ = ["ShapeDtypeStruct", "StaticArguments", "avals_of", "flatten_axes", "keystr", "positions_and_names"]
