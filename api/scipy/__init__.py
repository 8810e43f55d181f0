"""SciPy's functions, on primax arrays."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = [
    "cluster",
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
]

_SUBMODULES = frozenset(__all__)


def __getattr__(name: str) -> Any:
    """Import submodules when they are first used."""
    if name in _SUBMODULES:
        return import_module(f"primax.scipy.{name}")
    raise AttributeError(f"module 'primax.scipy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBMODULES})
