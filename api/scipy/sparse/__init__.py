"""Solvers of linear systems of operators, under scipy.sparse's names; it has no sparse arrays."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["linalg"]
__dir__ = __all__.copy


def __getattr__(name: str) -> Any:
    """Import submodules when they are first used."""
    if name == "linalg":
        return import_module("primax.scipy.sparse.linalg")
    raise AttributeError(f"module 'primax.scipy.sparse' has no attribute {name!r}")
