"""Tools for writing rules, by interpreter: differentiation, batching, partial evaluation, lowering."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["ad", "batching", "mlir", "partial_eval", "xla"]
__dir__ = __all__.copy


def __getattr__(name: str) -> Any:
    """Import the modules when they are first used."""
    if name in __all__:
        return import_module(f"primax.extend.interpreters.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
