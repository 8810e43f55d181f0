"""MLIR types and constants for the types and constants of programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from primax.core import _jaxlib
from primax.core.avals import AbstractToken
from primax.core.diagnostics import of_call
from primax.core.dimensions import is_dynamic
from primax.core.dtypes import float0
from primax.interpreters.runtime.extended_array import physical, physical_aval
from primax.interpreters.runtime.mlir_context import SharedContext


def _ir_type_makers() -> dict[str, Callable[[], Any]]:
    ir = _jaxlib.ir
    signless, unsigned = ir.IntegerType.get_signless, ir.IntegerType.get_unsigned
    makers: dict[str, Callable[[], Any]] = {
        "float4_e2m1fn": ir.Float4E2M1FNType.get,
        "bool": lambda: signless(1),
        "float0": lambda: signless(1),
        "float16": ir.F16Type.get,
        "bfloat16": ir.BF16Type.get,
        "float32": ir.F32Type.get,
        "float64": ir.F64Type.get,
        "complex64": lambda: ir.ComplexType.get(ir.F32Type.get()),
        "complex128": lambda: ir.ComplexType.get(ir.F64Type.get()),
    }
    for form in "E3M4 E4M3 E4M3FN E4M3FNUZ E4M3B11FNUZ E5M2 E5M2FNUZ E8M0FNU".split():
        makers[f"float8_{form.lower()}"] = getattr(ir, f"Float8{form}Type").get
    for bits in (2, 4, 8, 16, 32, 64):
        makers[f"int{bits}"] = partial(signless, bits)
        makers[f"uint{bits}"] = partial(unsigned, bits)
    return makers


type_handlers: dict[type, Callable[[Any], Any]] = {}  # the types of avals of other classes
constant_handlers: dict[type, Callable[[Any, Any], Any]] = {}  # IR values of constants of other classes
_makers: dict[Any, Callable[[], Any]] = {}  # by name, and by each dtype that was asked for
# XLA counts the bytes of an array in a signed 64-bit integer, and aborts the process on overflow.
_MOST_ELEMENTS = 2**59
_MOST_AXES = 1024  # XLA takes minutes to compile programs with more; NumPy's arrays have up to 64


def dtype_to_ir_type(dtype: Any) -> Any:
    """The MLIR element type of a dtype, in the current MLIR context."""
    make = _makers.get(dtype)
    if make is None:
        if not _makers:
            _makers.update(_ir_type_makers())
        name = "float0" if dtype == float0 else np.dtype(dtype).name
        if name not in _makers:
            raise TypeError(f"dtype {dtype} has no MLIR type")
        make = _makers[dtype] = _makers[name]
    return make()


def stack_axes(aval: Any) -> tuple[Any, ...]:
    """The mesh axes along which a module stacks the summands of a value: those that no `shard_map` maps."""
    placement = getattr(aval, "placement", None)
    return () if placement is None else placement.stack_axes


def array_in_module(aval: Any) -> Any:
    """The type of the array that holds values of a type in a module.

    Elements of extended dtypes add axes, and so do unreduced values, whose summands are stacked."""
    aval = physical_aval(aval)
    if not stack_axes(aval):
        return aval
    shape, placement = aval.placement.in_module(aval.shape)
    return aval.update(shape=shape, placement=placement)


def aval_to_ir_type(aval: Any) -> Any:
    """The MLIR type of values of a type, in the current MLIR context."""
    if isinstance(aval, AbstractToken):
        return _jaxlib.hlo_ext.TokenType.get()
    if type(aval) in type_handlers:
        return type_handlers[type(aval)](aval)
    aval = array_in_module(aval)
    if len(aval.shape) > _MOST_AXES:
        raise ValueError(f"arrays must have at most {_MOST_AXES} axes, got {len(aval.shape)}{of_call()}")
    if is_dynamic(aval.shape):
        unknown = _jaxlib.ir.ShapedType.get_dynamic_size()
        shape = [size if type(size) is int else unknown for size in aval.shape]
        return _jaxlib.ir.RankedTensorType.get(shape, dtype_to_ir_type(aval.dtype))
    if max(aval.shape, default=0) >= _MOST_ELEMENTS or prod(aval.shape) >= _MOST_ELEMENTS:
        most = f"2**{_MOST_ELEMENTS.bit_length() - 1}"
        raise ValueError(f"arrays must have fewer than {most} elements, got {aval.str_short()}{of_call()}")
    return _jaxlib.ir.RankedTensorType.get(aval.shape, dtype_to_ir_type(aval.dtype))


def aval_to_ir_types(aval: Any) -> Sequence[Any]:
    """The MLIR types that a value of this type occupies: one."""
    return (aval_to_ir_type(aval),)


def cached_ir_type(shared: SharedContext, aval: Any) -> Any:
    """`aval_to_ir_type`, kept per context."""
    ir_type = shared.types.get(aval)
    if ir_type is None:
        ir_type = shared.types[aval] = aval_to_ir_type(aval)
    return ir_type


def ir_attribute(value: Any) -> Any:
    """A NumPy array or scalar as a dense elements attribute."""
    ir = _jaxlib.ir
    array = np.asarray(value)
    if array.dtype == float0:
        array = np.zeros(array.shape, np.bool_)
    element = dtype_to_ir_type(array.dtype)
    if array.size and array.ndim and array.strides.count(0) == array.ndim:
        one = np.asarray(array[(0,) * array.ndim]).reshape(1)
        return ir.DenseElementsAttr.get(one, type=element, shape=array.shape)
    array = array if array.flags.c_contiguous else array.copy()
    return ir.DenseElementsAttr.get(array, type=element, shape=array.shape)


def ir_constant(value: Any, aval: Any = None) -> Any:
    """A NumPy array or a scalar as an IR value; `aval` gives the dtype of Python scalars."""
    if type(value) in constant_handlers:
        return constant_handlers[type(value)](value, aval)
    value = physical(value)
    attribute = ir_attribute(np.asarray(value) if aval is None else np.asarray(value, physical_aval(aval).dtype))
    return _jaxlib.ir.Operation.create("stablehlo.constant", [attribute.type], (), {"value": attribute}).results[0]
