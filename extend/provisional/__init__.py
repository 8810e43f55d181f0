"""What families share without a promise: anyone may import it, and a minor release may change it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = [
    "accuracy",
    "arguments",
    "aval_sharding",
    "avals",
    "compiled_function",
    "compiler_attributes",
    "computations",
    "derivatives",
    "dimensions",
    "dividing",
    "elementwise",
    "ffi",
    "from_dlpack",
    "lowering",
    "mesh_context",
    "narrow",
    "padding",
    "partitioning",
    "precision",
    "programs",
    "random",
    "records",
    "runtime",
    "sampling",
    "sharding",
    "sharding_rule",
    "tracing",
    "transformations",
]
__dir__ = __all__.copy


def __getattr__(name: str) -> Any:
    """Import the modules when they are first used."""
    if name in __all__:
        return import_module(f"primax.extend.provisional.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
