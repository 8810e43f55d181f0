"""Lowering: rules from primitives to StableHLO, and the MLIR bindings that they use."""

from __future__ import annotations

import io
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

import primax.extend.stablehlo.xla_faults  # noqa: F401  (it registers guards)
from primax.core import _jaxlib
from primax.core.dimensions import is_dynamic
from primax.core.jaxpr import ClosedJaxpr, Jaxpr
from primax.core.rules import lowering_rules
from primax.extend.lazy_names import supplied
from primax.extend.stablehlo.element_lowering import physical_lowering
from primax.extend.stablehlo.rules import broadcast_scalar, lower_fun, nary
from primax.extend.stablehlo.shape_ops import (
    broadcast_in_dim,
    dynamic_slice,
    iota,
    pad,
    reshape,
    size_value,
    sizes_value,
    slice_op,
)
from primax.interpreters.runtime import ir_types
from primax.interpreters.runtime.ir_types import dtype_to_ir_type, ir_attribute, ir_constant
from primax.interpreters.runtime.lowering import (
    LoweringRuleContext,
    ModuleContext,
    call_jaxpr,
    inline_jaxpr,
    jaxpr_subcomp,
    lower_jaxpr_to_fun,
    register_lowering,
)
from primax.interpreters.runtime.mlir_context import SharedContext
from primax.interpreters.runtime.tokens import TokenSet

if TYPE_CHECKING:
    from primax.extend.stablehlo.callbacks import emit_python_callback
    from primax.extend.stablehlo.custom_calls import custom_call, lapack_target

__all__ = [
    "LoweringRuleContext",
    "ModuleContext",
    "TokenSet",
    "aval_to_ir_type",
    "aval_to_ir_types",
    "broadcast_in_dim",
    "broadcast_scalar",
    "call_jaxpr",
    "core_call_lowering",
    "custom_call",
    "dense_int_array",
    "dense_int_elements",
    "dtype_to_ir_type",
    "dynamic_slice",
    "emit_python_callback",
    "i32_attr",
    "i64_attr",
    "inline_jaxpr",
    "iota",
    "ir_attribute",
    "ir_constant",
    "ir_constants",
    "jaxpr_subcomp",
    "lapack_target",
    "lower_fun",
    "lower_jaxpr_to_fun",
    "lowering_rules",
    "make_ir_context",
    "module_to_bytecode",
    "module_to_string",
    "nary",
    "pad",
    "physical_lowering",
    "register_lowering",
    "reshape",
    "shape_tensor",
    "size_value",
    "slice_op",
    "token_type",
]
__dir__ = __all__.copy

_call_jaxpr = call_jaxpr  # `call_jaxpr` is also the name of a parameter below
_DIALECTS = frozenset(("chlo", "func", "hlo", "ir", "sdy"))
_FUNCTIONS = {
    "custom_call": "primax.extend.stablehlo.custom_calls",
    "emit_python_callback": "primax.extend.stablehlo.callbacks",
    "lapack_target": "primax.extend.stablehlo.custom_calls",
}


if TYPE_CHECKING:
    from primax.core._jaxlib import chlo as chlo
    from primax.core._jaxlib import func as func
    from primax.core._jaxlib import hlo as hlo
    from primax.core._jaxlib import ir as ir
    from primax.core._jaxlib import sdy as sdy
    from primax.extend.stablehlo.callbacks import emit_python_callback as emit_python_callback
    from primax.extend.stablehlo.custom_calls import custom_call as custom_call
    from primax.extend.stablehlo.custom_calls import lapack_target as lapack_target
else:

    def __getattr__(name: str) -> Any:
        """`ir`, the dialects `hlo`, `chlo`, `func` and `sdy`, and calls of other code, loaded when first used."""
        if name in _DIALECTS:
            value = getattr(_jaxlib, name)
        elif name in _FUNCTIONS:
            value = getattr(import_module(_FUNCTIONS[name]), name)
        else:
            value = supplied(__name__, name)
        globals()[name] = value
        return value


def aval_to_ir_type(*context_and_aval: Any) -> Any:
    """The MLIR type of values of a type, in the current MLIR context.

    Args:
      context_and_aval: the type; the module's context may precede it.
    """
    return ir_types.aval_to_ir_type(context_and_aval[-1])


def aval_to_ir_types(*context_and_aval: Any) -> Sequence[Any]:
    """The MLIR types that a value of a type occupies: one. See `aval_to_ir_type`."""
    return (aval_to_ir_type(*context_and_aval),)


def ir_constants(value: Any, *, aval: Any = None) -> tuple[Any, ...]:
    """A NumPy array or a scalar as the IR values it occupies: one."""
    return (ir_constant(value, aval),)


def dense_int_array(xs: Sequence[int]) -> Any:
    """Integers as an attribute of 64-bit integers, as for axes and permutations."""
    return _jaxlib.ir.DenseI64ArrayAttr.get([int(x) for x in xs])


def dense_int_elements(xs: Any) -> Any:
    """An array of integers as an attribute with a shape, as for replica groups."""
    return _jaxlib.ir.DenseIntElementsAttr.get(np.asarray(xs, np.int64))


def _integer_attr(bits: int, i: int) -> Any:
    ir = _jaxlib.ir
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(bits), i)


def i32_attr(i: int) -> Any:
    """A 32-bit integer as an attribute."""
    return _integer_attr(32, i)


def i64_attr(i: int) -> Any:
    """A 64-bit integer as an attribute."""
    return _integer_attr(64, i)


def shape_tensor(*context_and_sizes: Any) -> Any:
    """A shape as an IR value: a vector of integers, of 32 bits, or of 64 bits if a size is dynamic.

    Args:
      context_and_sizes: the sizes; the module's context may precede them.
    """
    if is_dynamic(context_and_sizes[-1]):
        return sizes_value(context_and_sizes[-1])
    return ir_constant(np.asarray(context_and_sizes[-1], np.int32).reshape(-1))


def token_type() -> Any:
    """The MLIR type of tokens."""
    return _jaxlib.hlo_ext.TokenType.get()


def module_to_string(module: Any, enable_debug_info: bool = False) -> str:
    """The text of an MLIR module, with source lines if `enable_debug_info`."""
    text = io.StringIO()
    module.operation.print(file=text, enable_debug_info=enable_debug_info)
    return text.getvalue()


def module_to_bytecode(module: Any) -> bytes:
    """An MLIR module in MLIR's binary form."""
    code = io.BytesIO()
    module.operation.write_bytecode(file=code)
    return code.getvalue()


def core_call_lowering(
    ctx: LoweringRuleContext, *args: Any, name: str, backend: None = None, call_jaxpr: ClosedJaxpr | Jaxpr
) -> list[Any]:
    """Call a program as a function of the module: the lowering rule of primitives that hold one as `call_jaxpr`.

    Args:
      ctx: the lowering context.
      args: IR values.
      name: the name of the function.
      backend: jax's choice of a platform; unused.
      call_jaxpr: the program, without constvars if it is open.
    """
    closed = call_jaxpr if isinstance(call_jaxpr, ClosedJaxpr) else ClosedJaxpr(call_jaxpr)
    return _call_jaxpr(ctx, name, closed, args)


def make_ir_context() -> Any:
    """A new MLIR context with the dialects that programs use.

    Rules do not need this function: they use the context of their module, `ctx.module_context.context`.
    """
    return SharedContext().context
