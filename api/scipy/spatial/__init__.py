"""Rotations under scipy.spatial's names."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["transform"]
__dir__ = __all__.copy


def __getattr__(name: str) -> Any:
    """Import submodules when they are first used."""
    if name == "transform":
        return import_module("primax.scipy.spatial.transform")
    raise AttributeError(f"module 'primax.scipy.spatial' has no attribute {name!r}")
