"""Vector quantization under scipy.cluster's names."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["vq"]
__dir__ = __all__.copy


def __getattr__(name: str) -> Any:
    """Import submodules when they are first used."""
    if name == "vq":
        return import_module("primax.scipy.cluster.vq")
    raise AttributeError(f"module 'primax.scipy.cluster' has no attribute {name!r}")
