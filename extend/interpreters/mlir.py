"""Lowering: rules from primitives to StableHLO, and the MLIR bindings they build with."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from primax.core import _jaxlib
from primax.core.rules import lowering_rules
from primax.interpreters.builders import (
    aval_to_ir_type,
    aval_to_ir_types,
    core_call_lowering,
    dense_int_array,
    dense_int_elements,
    i32_attr,
    i64_attr,
    ir_constants,
    module_to_bytecode,
    module_to_string,
    shape_tensor,
    token_type,
)
from primax.interpreters.ir_types import cached_ir_type, dtype_to_ir_type, ir_attribute, ir_constant
from primax.interpreters.lowering import (
    LoweringRuleContext,
    ModuleContext,
    broadcast_scalar,
    call_jaxpr,
    inline_jaxpr,
    jaxpr_subcomp,
    lower_fun,
    lower_jaxpr_to_fun,
    nary,
    physical_lowering,
    register_lowering,
)
from primax.interpreters.portable import call_artifact
from primax.interpreters.tokens import TokenSet

if TYPE_CHECKING:
    from primax.interpreters.callbacks import emit_python_callback, host_results
    from primax.interpreters.custom_calls import custom_call, lapack_target

__all__ = [
    "LoweringRuleContext",
    "ModuleContext",
    "TokenSet",
    "aval_to_ir_type",
    "aval_to_ir_types",
    "broadcast_scalar",
    "cached_ir_type",
    "call_artifact",
    "call_jaxpr",
    "core_call_lowering",
    "custom_call",
    "dense_int_array",
    "dense_int_elements",
    "dtype_to_ir_type",
    "emit_python_callback",
    "host_results",
    "i32_attr",
    "i64_attr",
    "inline_jaxpr",
    "ir_attribute",
    "ir_constant",
    "ir_constants",
    "jaxpr_subcomp",
    "lapack_target",
    "lower_fun",
    "lower_jaxpr_to_fun",
    "lowering_rules",
    "module_to_bytecode",
    "module_to_string",
    "nary",
    "physical_lowering",
    "register_lowering",
    "shape_tensor",
    "token_type",
]

_DIALECTS = frozenset(("chlo", "func", "hlo", "ir", "sdy"))
_FUNCTIONS = {
    "custom_call": "primax.interpreters.custom_calls",
    "emit_python_callback": "primax.interpreters.callbacks",
    "host_results": "primax.interpreters.callbacks",
    "lapack_target": "primax.interpreters.custom_calls",
}


def __getattr__(name: str) -> Any:
    """`ir`, the dialects `hlo`, `chlo`, `func` and `sdy`, and calls of other code, loaded when first used."""
    if name in _DIALECTS:
        found = getattr(_jaxlib, name)
    elif name in _FUNCTIONS:
        found = getattr(import_module(_FUNCTIONS[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found
