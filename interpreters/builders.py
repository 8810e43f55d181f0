"""Attributes, types and values of the IR, built as lowering rules that were written for jax ask for them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.core import _jaxlib
from primax.core.jaxpr import ClosedJaxpr, Jaxpr
from primax.interpreters import ir_types
from primax.interpreters.ir_types import ir_constant
from primax.interpreters.lowering import LoweringRuleContext, call_jaxpr

__all__ = [
    "aval_to_ir_type",
    "aval_to_ir_types",
    "core_call_lowering",
    "dense_int_array",
    "dense_int_elements",
    "i32_attr",
    "i64_attr",
    "ir_constants",
    "module_to_bytecode",
    "module_to_string",
    "shape_tensor",
    "token_type",
]


def aval_to_ir_type(*context_and_aval: Any) -> Any:
    """The MLIR type of values of a type, in the current MLIR context.

    Args:
      context_and_aval: the type, after the module's context if one likes.
    """
    return ir_types.aval_to_ir_type(context_and_aval[-1])


def aval_to_ir_types(*context_and_aval: Any) -> Sequence[Any]:
    """The MLIR types that a value of a type occupies: one. See `aval_to_ir_type`."""
    return (aval_to_ir_type(*context_and_aval),)


def ir_constants(value: Any, *, aval: Any = None) -> tuple[Any, ...]:
    """A NumPy array or a scalar as the IR values it occupies: one."""
    return (ir_constant(value, aval),)


def dense_int_array(xs: Sequence[int]) -> Any:
    """Integers as an attribute of 64-bit integers, such as axes and permutations are."""
    return _jaxlib.ir.DenseI64ArrayAttr.get([int(x) for x in xs])


def dense_int_elements(xs: Any) -> Any:
    """An array of integers as an attribute with a shape, such as replica groups are."""
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
    """A shape as an IR value, a vector of 32-bit integers.

    Args:
      context_and_sizes: the sizes, after the module's context if one likes.
    """
    return ir_constant(np.asarray(context_and_sizes[-1], np.int32).reshape(-1))


def token_type() -> Any:
    """The MLIR type of tokens."""
    return _jaxlib.hlo_ext.TokenType.get()


def module_to_string(module: Any, enable_debug_info: bool = False) -> str:
    """The text of an MLIR module, with source lines if asked."""
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
      ctx: what the rule was called with.
      args: IR values.
      name: what the function is called.
      backend: jax's choice of a platform; there is none here.
      call_jaxpr: the program, without constvars if it is open.
    """
    return _call(ctx, name, ClosedJaxpr(call_jaxpr) if isinstance(call_jaxpr, Jaxpr) else call_jaxpr, args)


_call = call_jaxpr
