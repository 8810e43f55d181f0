"""Conversion of arrays to other dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.dimensions import is_symbolic_dim
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.interpreters.ad import linear_together
from primax.extend.provisional import runtime
from primax.extend.provisional.arguments import ArgumentError, is_value, of_call, warn_caller
from primax.extend.provisional.dimensions import as_array, is_symbolic
from primax.extend.provisional.lowering import cached_ir_type
from primax.extend.provisional.typing import ArrayLike, DTypeLike
from primax.extend.rule_types import Table

convert_element_type_p = core.Primitive("convert_element_type")
bitcast_convert_type_p = core.Primitive("bitcast_convert_type")

_NARROW = [
    *map(np.dtype, ("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32")),
    np.dtype(dtypes.bfloat16),
    np.dtype(np.complex64),
]
# Names of the same dtype for all values of options.
_PLAIN: dict[Any, np.dtype[Any]] = {name: d for d in _NARROW for name in (d, d.type, d.name)}


def as_scalar(size: Any, dtype: np.dtype[Any]) -> Any:
    """A size as a scalar of a dtype: a NumPy scalar, or a value of the program for a symbolic dimension."""
    if is_symbolic_dim(size):
        return convert_element_type_p.bind(as_array(size), new_dtype=dtype, weak_type=False)
    return dtype.type(size)


def dtype_of(dtype: Any, function: str, argument: str = "dtype") -> Any:
    """The dtype for a user's argument."""
    try:
        known = _PLAIN.get(dtype)
    except TypeError:
        known = None
    return dtypes.check_user_dtype(dtype, argument, function) if known is None else known


def convert_element_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """Converts an array to a dtype.

    Floats become integers by rounding toward zero, any numbers become booleans by comparison with zero, and
    complex numbers become real by dropping their imaginary part.

    Args:
      operand: an array or a scalar.
      new_dtype: the dtype of the result.

    Returns:
      An array of the shape of `operand`.

    Raises:
      TypeError: `new_dtype` is not a dtype of arrays.
      OverflowError: `operand` is a Python int of more than 64 bits, and `new_dtype` an integer dtype.

    >>> import primax as px
    >>> px.lax.convert_element_type(2.7, "int32")
    Array(2, dtype=int32)
    """
    return convert(operand, dtype_of(new_dtype, "convert_element_type", "new_dtype"), False)


def convert(operand: Any, dtype: Any, weak_type: bool) -> Array:
    """Converts to a canonical dtype, weak or not; returns `operand` itself if it has them."""
    if is_value(operand):
        aval = operand.aval
        if aval.dtype == dtype and aval.weak_type is weak_type:
            return operand
        if dtypes.is_complex(aval.dtype):
            warn_if_real(dtype)
    elif isinstance(operand, int) and not -(2**31) <= operand < 2**31:
        operand = _wrapped(operand, dtype)
    elif core.current_trace().tracing:
        constant = host_scalar(operand, dtype)
        if constant is not None:
            return runtime.put_value(constant, weak_type)
    return convert_element_type_p.bind(operand, new_dtype=dtype, weak_type=weak_type)


def warn_if_real(dtype: Any) -> None:
    """Warn, as NumPy does, that complex numbers which are converted to this dtype lose something."""
    if not (dtypes.is_complex(dtype) or dtypes.is_bool(dtype)):
        message = f"complex numbers lose their imaginary part in dtype {dtype}{of_call()}"
        warn_caller(message, np.exceptions.ComplexWarning)


def _wrapped(x: int, dtype: Any) -> np.ndarray:
    """A Python int in a dtype, even if the default int dtype is too small: integers wrap around, floats round."""
    wide = not -(2**63) <= x < 2**64
    if wide and dtypes.is_integer(dtype):
        raise OverflowError(f"convert_element_type: operand must fit 64 bits to become {dtype}, got {x}")
    try:
        with np.errstate(over="ignore"):
            return np.asarray(float(x) if wide else x).astype(dtype)[()]
    except OverflowError:
        text = f"convert_element_type: operand must fit float64 to become {dtype}, got one of {x.bit_length()} bits"
        raise OverflowError(text) from None


# For each Python scalar type the kinds of dtypes to which NumPy and XLA convert it in the same way.
_KINDS = {bool: "biufc", int: "iufc", float: "fc", complex: "c"}
_NEVER = -1.0
_limits: dict[tuple[type, Any], float] = {}


def host_scalar(x: Any, dtype: Any) -> np.ndarray | Array | None:
    """A Python scalar as a NumPy scalar, which programs contain as a literal; None for other values."""
    key = (type(x), dtype)
    limit = _limits.get(key)
    if limit is None:
        limit = _limits[key] = _limit(*key)
    if limit is _NEVER:
        return None
    if key[0] is not complex and -limit <= x <= limit:
        return dtype.type(x)
    with np.errstate(all="ignore"):
        return np.asarray(x, get_aval(x).dtype).astype(dtype)[()]


def _limit(scalar: type, dtype: Any) -> float:
    """The bound up to which numbers of a Python type become scalars of a dtype without overflow."""
    kind = dtype.kind if isinstance(dtype, np.dtype) else ""
    if kind == "V":
        kind = "f" if dtypes.is_floating(dtype) else "i" if dtypes.is_integer(dtype) else ""
    if not kind or kind not in _KINDS.get(scalar, ""):
        return _NEVER
    if kind == "u":
        return 0.0  # negative numbers are taken modulo 2^n, which the type itself refuses
    if kind == "i":
        return 127.0 if dtypes.itemsize_bits(dtype) >= 8 else 0.0
    return 1.0 if kind == "b" else float(dtypes.finfo(dtype).max)


def _convert_abstract_eval(operand: ShapedArray, *, new_dtype: Any, weak_type: bool) -> ShapedArray:
    if operand.dtype != new_dtype and any(map(dtypes.is_extended, (operand.dtype, new_dtype))):
        hint = dtypes.instead_of_arithmetic(operand.dtype) or dtypes.instead_of_arithmetic(new_dtype)
        raise ArgumentError(
            "convert_element_type: an extended dtype cannot be converted to or from another dtype, "
            f"got {new_dtype} for {operand.str_short()}{hint}"
        )
    return ShapedArray(operand.shape, new_dtype, weak_type, vma=operand.vma)


@linear_together
def _convert_jvp(primals: Any, tangents: Any, *, new_dtype: Any, weak_type: bool) -> tuple[Any, Any]:
    out = convert_element_type_p.bind(*primals, new_dtype=new_dtype, weak_type=weak_type)
    (t,) = tangents
    if type(t) is ad.Zero or not dtypes.is_inexact(new_dtype):
        return out, ad.Zero.from_primal_value(out)
    return out, convert_element_type_p.bind(t, new_dtype=dtypes.tangent_dtype(new_dtype), weak_type=weak_type)


def _convert_transpose(ct: Any, operand: Any, *, new_dtype: Any, weak_type: bool) -> list[Any]:
    aval = operand.aval
    return [convert_element_type_p.bind(ct, new_dtype=aval.dtype, weak_type=aval.weak_type)]


def _convert_lowering(ctx: Any, x: Any, *, new_dtype: Any, weak_type: bool) -> list[Any] | Array:
    (aval,), (out,) = ctx.avals_in, ctx.avals_out
    old = aval.dtype
    if old == new_dtype:
        return [x]
    if dtypes.is_bool(new_dtype):
        zero = mlir.ir_constant(np.broadcast_to(np.zeros((), old), aval.shape))
        if dtypes.is_inexact(old):
            kind = "FLOAT"
        else:
            kind = "UNSIGNED" if dtypes.is_unsigned_integer(old) else "SIGNED"
        hlo = mlir.hlo
        return [
            hlo.compare(x, zero, hlo.ComparisonDirectionAttr.get("NE"), compare_type=hlo.ComparisonTypeAttr.get(kind))
        ]
    if dtypes.is_complex(old) and not dtypes.is_complex(new_dtype):
        x = mlir.hlo.real(x)
    result = cached_ir_type(ctx.module_context.shared, out)
    return mlir.ir.Operation.create("stablehlo.convert", [result], [x]).results


def bitcast_convert_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """Reads the bits of an array as another dtype.

    If the new dtype is narrower, the result has a new last axis for the parts, the lowest bits first. If it is wider,
    the last axis of `operand` must have the parts, and the result lacks it.

    An array of an extended dtype is read as an array of its elements, with the axes of an element last; such an array
    is read as one of the extended dtype. This is linear if the dtype is its own tangent dtype.

    Args:
      operand: an array, not boolean or complex, unless one of the dtypes is extended.
      new_dtype: the dtype of the result; for an operand of an extended dtype it is the `element_dtype`.

    Raises:
      TypeError: one of two different dtypes is boolean or complex, or the last axis does not have the parts; or one
        of them is extended, and the other one is not that of its elements, or the last axes are not those of one.

    >>> import primax as px
    >>> px.lax.bitcast_convert_type(px.numpy.float32(1), "uint32")
    Array(1065353216, dtype=uint32)
    """
    dtype = dtype_of(new_dtype, "bitcast_convert_type", "new_dtype")
    if is_value(operand) and operand.aval.dtype == dtype and not operand.aval.weak_type:
        return operand
    return bitcast_convert_type_p.bind(operand, new_dtype=dtype)


def _bitcast_abstract_eval(operand: ShapedArray, *, new_dtype: Any) -> ShapedArray:
    if operand.dtype != new_dtype and (dtypes.is_extended(operand.dtype) or dtypes.is_extended(new_dtype)):
        return _elements_type(operand, new_dtype)
    pair = (operand.dtype, new_dtype)
    if operand.dtype != new_dtype and not all(dtypes.is_integer(d) or dtypes.is_floating(d) for d in pair):
        raise TypeError(
            f"bitcast_convert_type: dtypes must be integers or floats, "
            f"got new_dtype {new_dtype} for {operand.str_short()}{dtypes.instead_of_arithmetic(operand.dtype)}"
        )
    shape = operand.shape
    old_bits, new_bits = dtypes.itemsize_bits(operand.dtype), dtypes.itemsize_bits(new_dtype)
    if new_bits < old_bits:
        shape = (*shape, old_bits // new_bits)
    elif new_bits > old_bits:
        parts = new_bits // old_bits
        if not shape or shape[-1] != parts:
            raise TypeError(
                f"bitcast_convert_type: the last axis of operand must have length {parts}, so that its "
                f"{old_bits} bits become the {new_bits} of new_dtype {new_dtype}, got {operand.str_short()}"
            )
        shape = shape[:-1]
    return ShapedArray(shape, new_dtype, False, vma=operand.vma)


def _elements_type(operand: ShapedArray, new_dtype: Any) -> ShapedArray:
    """The type of an array read as that of its elements, or of an array of elements read as one of an extended dtype.

    Raises:
      TypeError: the dtype, or the last axes, are not those of an element.
    """
    old: Any = operand.dtype
    if not dtypes.is_extended(new_dtype):
        if new_dtype != old.element_dtype:
            raise ArgumentError(
                f"bitcast_convert_type: new_dtype must be that of the elements of {old}, {old.element_dtype}, "
                f"got {new_dtype} for {operand.str_short()}"
            )
        return ShapedArray((*operand.shape, *old.element_shape), new_dtype, vma=operand.vma)
    rank = operand.ndim - len(new_dtype.element_shape)
    if old != new_dtype.element_dtype or rank < 0 or operand.shape[rank:] != new_dtype.element_shape:
        element = ShapedArray(new_dtype.element_shape, new_dtype.element_dtype).str_short()
        raise ArgumentError(
            f"bitcast_convert_type: operand must have the dtype and the last axes of an element of {new_dtype}, "
            f"{element}, got {operand.str_short()}"
        )
    return ShapedArray(operand.shape[:rank], new_dtype, vma=operand.vma)


def _bitcast_jvp(primals: Any, tangents: Any, *, new_dtype: Any) -> tuple[Any, Any]:
    ((x,), (t,)) = primals, tangents
    out = bitcast_convert_type_p.bind(x, new_dtype=new_dtype)
    old = get_aval(x).dtype
    dtype = old if dtypes.is_extended(old) else new_dtype
    no_tangent = not dtypes.is_extended(old) and dtypes.tangent_dtype(new_dtype) == dtypes.float0
    if type(t) is ad.Zero or no_tangent or not dtypes.is_extended(dtype):
        return out, ad.Zero.from_primal_value(out)
    if not dtypes.has_sums(dtype):
        raise ArgumentError(
            f"bitcast_convert_type: {old} read as {new_dtype} has no derivative, since {dtype} is not its own "
            "tangent_dtype; give the function that reads it a rule by custom_jvp or custom_vjp, or use stop_gradient"
        )
    return out, bitcast_convert_type_p.bind(t, new_dtype=new_dtype)


def _bitcast_transpose(ct: Any, operand: Any, *, new_dtype: Any) -> list[Any]:
    return [bitcast_convert_type_p.bind(ct, new_dtype=operand.aval.dtype)]


def _bitcast_batch(args: Any, dims: Any, *, new_dtype: Any) -> tuple[Any, Any]:
    x = batching.moveaxis(args[0], dims[0], 0)
    return bitcast_convert_type_p.bind(x, new_dtype=new_dtype), 0


def _unsigned(bits: int) -> np.dtype[Any]:
    return np.dtype({2: dtypes.uint2, 4: dtypes.uint4}.get(bits, f"uint{bits}"))


def _by_shifts(x: Any, *, new_dtype: Any) -> list[Any]:
    """The bits as a dtype of another width, by arithmetic: XLA finds no sizes from those of such a bitcast."""
    aval = get_aval(x)
    old, new = dtypes.itemsize_bits(aval.dtype), dtypes.itemsize_bits(new_dtype)
    shape = aval.shape if old < new else (*aval.shape, old // new)
    last, unsigned = len(shape) - 1, _unsigned(max(old, new))
    bits = bitcast_convert_type_p.bind(x, new_dtype=_unsigned(old))
    bits = convert_element_type_p.bind(bits, new_dtype=unsigned, weak_type=False)
    shifts = np.arange(shape[last]).astype(unsigned) * unsigned.type(min(old, new))
    shifts = core.primitives.broadcast_in_dim_p.bind(shifts, shape=shape, broadcast_dimensions=(last,))
    if old < new:
        bits = core.primitives.reduce_sum_p.bind(core.primitives.shift_left_p.bind(bits, shifts), axes=(last,))
    else:
        bits = core.primitives.broadcast_in_dim_p.bind(bits, shape=shape, broadcast_dimensions=tuple(range(last)))
        bits = core.primitives.shift_right_logical_p.bind(bits, shifts)
        bits = convert_element_type_p.bind(bits, new_dtype=_unsigned(new), weak_type=False)
    return [bitcast_convert_type_p.bind(bits, new_dtype=new_dtype)]


_lower_to_shifts = mlir.lower_fun(_by_shifts)


@mlir.physical_lowering
def _bitcast_lowering(ctx: Any, x: Any, *, new_dtype: Any) -> Sequence[mlir.ir.Value]:
    if dtypes.is_extended(ctx.avals_in[0].dtype) or dtypes.is_extended(new_dtype):
        return [x]
    before, after = ctx.avals_in[0].shape, ctx.avals_out[0].shape
    if len(before) != len(after) and is_symbolic(before):
        return _lower_to_shifts(ctx, x, new_dtype=new_dtype)
    result = cached_ir_type(ctx.module_context.shared, ctx.avals_out[0])
    return mlir.ir.Operation.create("stablehlo.bitcast_convert", [result], [x]).results


RULES: Table = {
    convert_element_type_p: {
        "abstract_eval": _convert_abstract_eval,
        "jvp": _convert_jvp,
        "transpose": ad.linear_transpose2(convert_element_type_p, _convert_transpose),
        "batch": batching.vectorized(convert_element_type_p),
        "lowering": _convert_lowering,
    },
    bitcast_convert_type_p: {
        "abstract_eval": _bitcast_abstract_eval,
        "jvp": _bitcast_jvp,
        "transpose": ad.linear_transpose2(bitcast_convert_type_p, _bitcast_transpose),
        "batch": _bitcast_batch,
        "lowering": _bitcast_lowering,
        "key_use": lambda uses, eqn, walk: walk.new(),
    },
}
