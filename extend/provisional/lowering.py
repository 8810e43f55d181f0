"""Parts of modules for families: constants, shardings, and calls of the host."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from primax.extend.stablehlo.shape_ops import padded
from primax.interpreters.runtime.ir_types import array_in_module, cached_ir_type, stack_axes
from primax.interpreters.runtime.lowering import register_lowering_layer
from primax.interpreters.runtime.mlir_context import shared_context
from primax.interpreters.runtime.sharding.shardy import constrained, inspect_sharding, sharding_attribute
from primax.interpreters.runtime.sharding.spmd import spmd_of

if TYPE_CHECKING:
    from primax.extend.stablehlo.callbacks import host_results
    from primax.extend.stablehlo.custom_calls import load_lapack

__all__ = [
    "array_in_module",
    "cached_ir_type",
    "constrained",
    "host_results",
    "inspect_sharding",
    "load_lapack",
    "padded",
    "register_lowering_layer",
    "sharding_attribute",
    "shared_context",
    "spmd_of",
    "stack_axes",
]

_LATER = {"host_results": "primax.extend.stablehlo.callbacks", "load_lapack": "primax.extend.stablehlo.custom_calls"}


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Functions whose modules are imported when they are first used."""
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_LATER[name]), name)
