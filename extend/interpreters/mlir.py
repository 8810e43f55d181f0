"""Lowering: rules from primitives to StableHLO, and the MLIR bindings that they use."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import primax.extend.stablehlo.xla_faults  # noqa: F401  (it registers guards)
from primax.core import _jaxlib
from primax.core.dimensions import is_dynamic
from primax.core.jaxpr import ClosedJaxpr, Jaxpr
from primax.core.rules import lowering_rules
from primax.extend import examples
from primax.extend.lazy_names import lazy_names
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
examples.attach()

_call_jaxpr = call_jaxpr  # `call_jaxpr` is also the name of a parameter below
_WHEN_USED = {
    **dict.fromkeys(("chlo", "func", "hlo", "ir", "sdy"), "primax.core._jaxlib"),
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
else:
    __getattr__, __dir__ = lazy_names(__name__, __all__, functions=_WHEN_USED)


def aval_to_ir_type(*context_and_aval: Any) -> Any:
    """The MLIR type of values of a type, in the current MLIR context.

    Args:
      context_and_aval: the type; the module's context may precede it.

    Examples:
      >>> import numpy as np
      >>> from primax.extend.core import ShapedArray
      >>> from primax.extend.interpreters import mlir
      >>> ir = mlir.ir
      >>> with mlir.make_ir_context(), ir.Location.unknown():
      ...     print(mlir.aval_to_ir_type(ShapedArray((2, 3), np.bool_)))
      tensor<2x3xi1>
    """
    return ir_types.aval_to_ir_type(context_and_aval[-1])


def aval_to_ir_types(*context_and_aval: Any) -> Sequence[Any]:
    """The MLIR types that a value of a type occupies: one. See `aval_to_ir_type`.

    Examples:
      >>> import numpy as np
      >>> from primax.extend.core import ShapedArray
      >>> from primax.extend.interpreters import mlir
      >>> ir = mlir.ir
      >>> with mlir.make_ir_context(), ir.Location.unknown():
      ...     print(*mlir.aval_to_ir_types(ShapedArray((2,), np.uint8)))
      tensor<2xui8>
    """
    return (aval_to_ir_type(*context_and_aval),)


def ir_constants(value: Any, *, aval: Any = None) -> tuple[Any, ...]:
    """A NumPy array or a scalar as the IR values it occupies: one.

    Examples:
      >>> import numpy as np
      >>> from primax.extend.interpreters import mlir
      >>> ir = mlir.ir
      >>> with mlir.make_ir_context(), ir.Location.unknown(), ir.InsertionPoint(ir.Module.create().body):
      ...     print([str(value.type) for value in mlir.ir_constants(np.int8([1, 2]))])
      ['tensor<2xi8>']
    """
    return (ir_constant(value, aval),)


def dense_int_array(xs: Sequence[int]) -> Any:
    """Integers as an attribute of 64-bit integers, as for axes and permutations.

    Examples:
      >>> from primax.extend.interpreters import mlir
      >>> with mlir.make_ir_context():
      ...     print(mlir.dense_int_array([2, 0, 1]))
      array<i64: 2, 0, 1>
    """
    return _jaxlib.ir.DenseI64ArrayAttr.get([int(x) for x in xs])


def dense_int_elements(xs: Any) -> Any:
    """An array of integers as an attribute with a shape, as for replica groups.

    Examples:
      >>> from primax.extend.interpreters import mlir
      >>> with mlir.make_ir_context():
      ...     print(mlir.dense_int_elements([[0, 1], [2, 3]]))
      dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>
    """
    return _jaxlib.ir.DenseIntElementsAttr.get(np.asarray(xs, np.int64))


def _integer_attr(bits: int, i: int) -> Any:
    ir = _jaxlib.ir
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(bits), i)


def i32_attr(i: int) -> Any:
    """A 32-bit integer as an attribute.

    Examples:
      >>> from primax.extend.interpreters import mlir
      >>> with mlir.make_ir_context():
      ...     print(mlir.i32_attr(-1))
      -1 : i32
    """
    return _integer_attr(32, i)


def i64_attr(i: int) -> Any:
    """A 64-bit integer as an attribute.

    Examples:
      >>> from primax.extend.interpreters import mlir
      >>> with mlir.make_ir_context():
      ...     print(mlir.i64_attr(2**40))
      1099511627776 : i64
    """
    return _integer_attr(64, i)


def shape_tensor(*context_and_sizes: Any) -> Any:
    """A shape as an IR value: a vector of integers, of 32 bits, or of 64 bits if a size is dynamic.

    Args:
      context_and_sizes: the sizes; the module's context may precede them.

    Examples:
      >>> from primax.extend.interpreters import mlir
      >>> ir = mlir.ir
      >>> with mlir.make_ir_context(), ir.Location.unknown(), ir.InsertionPoint(ir.Module.create().body):
      ...     print(mlir.shape_tensor((2, 3)).type, mlir.shape_tensor(()).type)
      tensor<2xi32> tensor<0xi32>
    """
    if is_dynamic(context_and_sizes[-1]):
        return sizes_value(context_and_sizes[-1])
    return ir_constant(np.asarray(context_and_sizes[-1], np.int32).reshape(-1))


def token_type() -> Any:
    """The MLIR type of tokens.

    Examples:
      >>> from primax.extend.interpreters import mlir
      >>> with mlir.make_ir_context():
      ...     print(mlir.token_type())
      !stablehlo.token
    """
    return _jaxlib.hlo_ext.TokenType.get()


def module_to_string(module: Any, enable_debug_info: bool = False) -> str:
    """The text of an MLIR module, with source lines if `enable_debug_info`.

    Examples:
      >>> import primax as px
      >>> from primax.extend.interpreters import mlir
      >>> module = px.jit(lambda x: 2 * x).lower(1.0).compiler_ir("stablehlo")
      >>> "loc(" in mlir.module_to_string(module), "loc(" in mlir.module_to_string(module, enable_debug_info=True)
      (False, True)
    """
    text = io.StringIO()
    module.operation.print(file=text, enable_debug_info=enable_debug_info)
    return text.getvalue()


def module_to_bytecode(module: Any) -> bytes:
    """An MLIR module in MLIR's binary form.

    Examples:
      >>> import primax as px
      >>> from primax.extend.interpreters import mlir
      >>> module = px.jit(lambda x: 2 * x).lower(1.0).compiler_ir("stablehlo")
      >>> mlir.module_to_bytecode(module)[:2]
      b'ML'
    """
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

    Examples:
      >>> import primax as px
      >>> from functools import partial
      >>> from primax.extend.call_primitives import create_call_primitive
      >>> from primax.extend.interpreters import mlir
      >>> block_p = create_call_primitive("named_block")
      >>> _ = mlir.register_lowering(block_p, partial(mlir.core_call_lowering, name="inner"))
      >>> program = px.make_jaxpr(lambda x: 2 * x)(1.0)
      >>> text = px.jit(lambda x: block_p.bind(x, call_jaxpr=program)).lower(3.0).as_text()
      >>> "call @inner(" in text
      True
    """
    closed = call_jaxpr if isinstance(call_jaxpr, ClosedJaxpr) else ClosedJaxpr(call_jaxpr)
    return _call_jaxpr(ctx, name, closed, args)


def make_ir_context() -> Any:
    """A new MLIR context with the dialects that programs use.

    Rules do not need this function: they use the context of their module, `ctx.module_context.context`.

    Examples:
      >>> from primax.extend.interpreters import mlir
      >>> ir = mlir.ir
      >>> with mlir.make_ir_context(), ir.Location.unknown():
      ...     print(ir.RankedTensorType.get([2], ir.F32Type.get()))
      tensor<2xf32>
    """
    return SharedContext().context
