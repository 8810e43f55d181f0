"""What JAX has under jax.experimental, as far as it is here."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["checkify", "jet", "sparse"]

_SUBMODULES = frozenset(__all__)


def __getattr__(name: str) -> Any:
    """Import submodules when they are first used."""
    if name in _SUBMODULES:
        return import_module(f"primax.experimental.{name}")
    raise AttributeError(f"module 'primax.experimental' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_SUBMODULES})
