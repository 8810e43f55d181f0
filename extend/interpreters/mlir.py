"""Lowering: rules from primitives to StableHLO, and the MLIR bindings they build with."""

from __future__ import annotations

from typing import Any

from primax.core import _jaxlib
from primax.core.rules import lowering_rules
from primax.interpreters.lowering import (
    LoweringRuleContext,
    ModuleContext,
    aval_to_ir_type,
    aval_to_ir_types,
    broadcast_scalar,
    cached_ir_type,
    call_jaxpr,
    dtype_to_ir_type,
    inline_jaxpr,
    ir_attribute,
    ir_constant,
    jaxpr_subcomp,
    lower_fun,
    lower_jaxpr_to_fun,
    nary,
    register_lowering,
)
from primax.interpreters.portable import call_artifact

__all__ = [
    "LoweringRuleContext",
    "ModuleContext",
    "aval_to_ir_type",
    "aval_to_ir_types",
    "broadcast_scalar",
    "cached_ir_type",
    "call_artifact",
    "call_jaxpr",
    "dtype_to_ir_type",
    "inline_jaxpr",
    "ir_attribute",
    "ir_constant",
    "jaxpr_subcomp",
    "lower_fun",
    "lower_jaxpr_to_fun",
    "lowering_rules",
    "nary",
    "register_lowering",
]

_DIALECTS = frozenset(("chlo", "func", "hlo", "ir", "sdy"))


def __getattr__(name: str) -> Any:
    """`ir` and the dialects `hlo`, `chlo`, `func` and `sdy`, loaded when first used."""
    if name not in _DIALECTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = getattr(_jaxlib, name)
    globals()[name] = module
    return module
