"""The example libraries of JAX: optimizers and layers of networks."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["optimizers", "stax"]

_SUBMODULES = frozenset(("optimizers", "stax"))


def __getattr__(name: str) -> Any:
    """Import submodules when they are first used."""
    if name in _SUBMODULES:
        return import_module(f"primax.example_libraries.{name}")
    raise AttributeError(f"module 'primax.example_libraries' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBMODULES})
