"""Sorting along an axis, and the greatest elements along one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.extend import core, dtypes, hookimpl
from primax.extend.core import Array, ShapedArray, config, get_aval
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.provisional.arguments import canonical_axis, index_dtype, integer, real_number
from primax.extend.provisional.dimensions import is_symbolic
from primax.extend.provisional.dividing import along_axis, whole_along
from primax.extend.provisional.elementwise import ORDERED
from primax.extend.provisional.narrow import in_whole_bytes
from primax.extend.provisional.sharding_rule import divided_by_rule
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table
from primax.plugins.arithmetic import neg
from primax.plugins.bitwise import bitwise_and, bitwise_or, bitwise_xor, shift_left, shift_right_arithmetic
from primax.plugins.comparison import eq, ne
from primax.plugins.indexing import take_along
from primax.plugins.structural import (
    bitcast_convert_type_p,
    broadcast_in_dim_p,
    convert_element_type_p,
    iota_p,
    select_n_p,
)

__all__ = ["approx_max_k", "approx_min_k", "sort", "sort_key_val", "sort_p", "top_k", "top_k_p"]

sort_p = core.Primitive("sort", multiple_results=True)
top_k_p = core.Primitive("top_k", multiple_results=True)


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Array | tuple[Array, ...]:
    """Sorts an array, or several arrays together, along an axis.

    NaN comes last, -0 and 0 are equal, and complex numbers are ordered by real part, then imaginary part.

    Args:
      operand: an array, or a sequence of arrays of the same shape.
      dimension: the axis.
      is_stable: whether elements that are equal keep their order.
      num_keys: the number of arrays that determine the order: the first; where it has equal elements, the second; and
        so on. The others are rearranged in the same way.

    Returns:
      An array, or a tuple of them if `operand` is a sequence.

    Raises:
      TypeError: there is no array, or shapes differ.
      ValueError: `dimension` is out of range, or `num_keys` is not between 1 and the number of arrays.

    >>> import primax as px
    >>> px.lax.sort((px.numpy.array([3, 1, 2]), px.numpy.array([30, 10, 20])))
    (Array([1, 2, 3], dtype=int32), Array([10, 20, 30], dtype=int32))
    """
    single = not isinstance(operand, tuple | list)
    operands = [operand] if single else operand
    if not operands:
        raise TypeError("sort: operand must hold an array, got an empty sequence")
    axis = canonical_axis(dimension, len(get_aval(operands[0]).shape), "sort", "dimension")
    outs = sort_p.bind(
        *operands, dimension=axis, is_stable=bool(is_stable), num_keys=integer("sort", "num_keys", num_keys)
    )
    return outs[0] if single else tuple(outs)


def sort_key_val(keys: ArrayLike, values: ArrayLike, dimension: int = -1, is_stable: bool = True) -> tuple[Any, Any]:
    """Sorts keys along an axis, and rearranges values in the same way.

    Args:
      keys: an array.
      values: an array of the same shape.
      dimension: the axis.
      is_stable: whether elements whose keys are equal keep their order.

    Raises:
      TypeError: the shapes differ.
      ValueError: `dimension` is out of range.

    >>> import primax as px
    >>> px.lax.sort_key_val(px.numpy.array([3, 1, 2]), px.numpy.array([30, 10, 20]))
    (Array([1, 2, 3], dtype=int32), Array([10, 20, 30], dtype=int32))
    """
    axis = canonical_axis(dimension, len(get_aval(keys).shape), "sort_key_val", "dimension")
    out_keys, out_values = sort_p.bind(keys, values, dimension=axis, is_stable=bool(is_stable), num_keys=1)
    return out_keys, out_values


def top_k(operand: ArrayLike, k: int, *, axis: int = -1, is_stable: bool = True) -> tuple[Any, Any]:
    """The greatest elements along an axis in descending order, with their positions.

    NaN counts as the greatest. Of equal elements, the one that comes first is taken first.

    Args:
      operand: an array of real numbers.
      k: the number of elements, from 0 to the length of the axis.
      axis: the axis.
      is_stable: accepted and ignored: the first of equal elements always comes first.

    Returns:
      Two arrays of length `k` along the axis: the elements, and their positions as int32.

    Raises:
      TypeError: `operand` is complex.
      ValueError: `axis` is out of range, or there are not `k` elements.

    >>> import primax as px
    >>> px.lax.top_k(px.numpy.array([5, 9, 7]), 2)
    (Array([9, 7], dtype=int32), Array([1, 2], dtype=int32))
    """
    axis = canonical_axis(axis, len(get_aval(operand).shape), "top_k")
    values, positions = top_k_p.bind(operand, k=integer("top_k", "k", k), axis=axis)
    return values, positions


def approx_max_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Any, Any]:
    """The greatest elements along an axis; primax computes them exactly.

    Args:
      operand: an array of floating dtype.
      k: the number of elements, from 1 to the length of the axis.
      reduction_dimension: the axis.
      recall_target: the fraction of them that should be found.
      reduction_input_size_override: the length of the axis of the whole array, if this is a part of it; -1 if it is
        whole.
      aggregate_to_topk: whether to return `k` elements, or all candidates, which are more.

    Returns:
      Two arrays, in descending order along the axis: the elements, and their positions as int32.

    Raises:
      ValueError: `operand` is not floating, an argument is out of range, or there are not `k` elements.

    >>> import primax as px
    >>> px.lax.approx_max_k(px.numpy.array([5., 9., 7.]), 2)
    (Array([9., 7.], dtype=float32), Array([1, 2], dtype=int32))
    """
    args = (operand, k, reduction_dimension, recall_target, reduction_input_size_override, aggregate_to_topk)
    count, axis = _candidates("approx_max_k", *args)
    values, positions = top_k_p.bind(operand, k=count, axis=axis)
    return values, positions


def approx_min_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Any, Any]:
    """The smallest elements along an axis in ascending order; see `approx_max_k`.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> values, positions = lax.approx_min_k(np.float32([3, 1, 2]), 2)
      >>> values, positions
      (Array([1., 2.], dtype=float32), Array([1, 2], dtype=int32))
    """
    args = (operand, k, reduction_dimension, recall_target, reduction_input_size_override, aggregate_to_topk)
    count, axis = _candidates("approx_min_k", *args)
    values, positions = top_k_p.bind(neg(operand), k=count, axis=axis)
    return neg(values), positions


def _candidates(
    name: str, operand: Any, k: int, axis: int, recall: float, size: int, aggregate: bool
) -> tuple[int, int]:
    """The number of returned elements, and the axis; the number is that of XLA for hardware that works on blocks."""
    aval = get_aval(operand)
    if not dtypes.is_floating(aval.dtype):
        raise ValueError(f"{name}: operand must be floating, got {aval.str_short()}")
    axis = canonical_axis(axis, len(aval.shape), name, "reduction_dimension")
    length, k = aval.shape[axis], integer(name, "k", k)
    size, recall = integer(name, "reduction_input_size_override", size), real_number(name, "recall_target", recall)
    if not 0 < recall <= 1:
        raise ValueError(f"{name}: recall_target must be in (0, 1], got {recall}")
    if size != -1 and size < length:
        raise ValueError(
            f"{name}: reduction_input_size_override must be -1 or the length of the axis or more, {length}, got {size}"
        )
    if not 1 <= k <= length:
        raise ValueError(f"{name}: k must be between 1 and the length of the axis, {length}, got {k}")
    block = 1024 if len(aval.shape) == 1 else 128
    if aggregate:
        return k, axis
    if length <= block or recall == 1:
        return length, axis
    needed = min(max(math.ceil((1 - k) / math.log(recall)), block), length)
    whole = length if size == -1 else size
    blocks = -(-length // block)
    halvings = min((whole // needed).bit_length() - 1, (blocks - 1).bit_length())
    return (-(-blocks // (1 << halvings)) * block if halvings else length), axis


def _sort_abstract_eval(*avals: ShapedArray, dimension: int, is_stable: bool, num_keys: int) -> list[ShapedArray]:
    if not 1 <= num_keys <= len(avals):
        raise ValueError(f"sort: num_keys must be between 1 and the number of arrays, {len(avals)}, got {num_keys}")
    first = avals[0]
    for key in avals[:num_keys]:
        if dtypes.is_extended(key.dtype) or key.dtype == dtypes.float0:
            hint = dtypes.instead_of_arithmetic(key.dtype)
            raise TypeError(f"sort: arrays to sort by must have an order, got {key.str_short()}{hint}")
    for aval in avals:
        if aval.shape != first.shape:
            raise TypeError(f"sort: arrays must have the same shape, got {first.str_short()} and {aval.str_short()}")
    if not 0 <= dimension < first.ndim:
        raise ValueError(f"sort: dimension must be an axis of the arrays, got {dimension} for {first.str_short()}")
    return list(avals)


def _sort_jvp(primals: Any, tangents: Any, *, dimension: int, is_stable: bool, num_keys: int) -> tuple[Any, Any]:
    params = {"dimension": dimension, "is_stable": is_stable, "num_keys": num_keys}
    if all(type(t) is ad.Zero for t in tangents):
        outs = sort_p.bind(*primals, **params)
        return outs, [ad.Zero.from_primal_value(out) for out in outs]
    shape = get_aval(primals[0]).shape
    places = iota_p.bind(dtype=index_dtype(shape[dimension]), shape=shape, dimension=dimension)
    *outs, order = sort_p.bind(*primals, places, **params)
    moved = [
        ad.Zero.from_primal_value(out) if type(t) is ad.Zero else take_along(t, order, dimension)
        for t, out in zip(tangents, outs, strict=True)
    ]
    return outs, moved


def _sort_batch(
    axis: batching.AxisData, args: Any, dims: Any, *, dimension: int, is_stable: bool, num_keys: int
) -> tuple[Any, Any]:
    params = {"is_stable": is_stable, "num_keys": num_keys}
    where = next((d for d in dims if d is not None), None)
    if where is None:
        return sort_p.bind(*args, dimension=dimension, **params), [None] * len(args)
    aligned = [batching.to_dim(x, axis.size, d, where) for x, d in zip(args, dims, strict=True)]
    outs = sort_p.bind(*aligned, dimension=dimension + (dimension >= where), **params)
    return outs, [where] * len(outs)


def _sort_lowering(
    ctx: mlir.LoweringRuleContext, *xs: Any, dimension: int, is_stable: bool, num_keys: int
) -> Sequence[mlir.ir.Value]:
    ir, hlo = mlir.ir, mlir.hlo
    operation = hlo.SortOp(
        [x.type for x in xs],
        xs,
        dimension=ir.IntegerAttr.get(ir.IntegerType.get_signless(64), dimension),
        is_stable=ir.BoolAttr.get(is_stable),
    )
    scalars = [mlir.dtype_to_ir_type(aval.dtype) for aval in ctx.avals_in for _ in range(2)]
    types = [ir.RankedTensorType.get((), scalar) for scalar in scalars]
    block = operation.comparator.blocks.append(*types)
    with ir.InsertionPoint(block):
        arguments = list(block.arguments)
        pairs = [
            pair
            for aval, x, y in zip(ctx.avals_in[:num_keys], arguments[::2], arguments[1::2], strict=False)
            for pair in _comparable(aval.dtype, x, y)
        ]
        hlo.return_([_is_less(pairs)])
    return operation.results


def _comparable(dtype: Any, x: Any, y: Any) -> list[tuple[Any, Any, str]]:
    """Pairs of scalars to compare one after the other, with the type of comparison.

    Compilers for accelerators recognize exactly this form of floating keys, and sort them by their bits.
    """
    hlo = mlir.hlo
    if dtypes.is_complex(dtype):
        part = np.dtype(np.float32 if dtype == np.complex64 else np.float64)
        return [
            *_comparable(part, hlo.real(x), hlo.real(y)),
            *_comparable(part, hlo.imag(x), hlo.imag(y)),
        ]
    if dtypes.is_floating(dtype):
        return [(_without_signs(dtype, x), _without_signs(dtype, y), "TOTALORDER")]
    unsigned = dtypes.is_bool(dtype) or dtypes.is_unsigned_integer(dtype)
    return [(x, y, "UNSIGNED" if unsigned else "SIGNED")]


def _without_signs(dtype: Any, x: Any) -> mlir.ir.Value:
    """A scalar with a single zero and a single NaN."""
    zero, nan = (mlir.ir_constant(np.asarray(value, dtype)) for value in (0, np.nan))
    plain = mlir.hlo.select(_compare("EQ", x, zero, "FLOAT"), zero, x)
    return mlir.hlo.select(_compare("NE", x, x, "FLOAT"), nan, plain)


def _compare(direction: str, x: Any, y: Any, kind: str) -> mlir.ir.Value:
    hlo = mlir.hlo
    return hlo.compare(x, y, hlo.ComparisonDirectionAttr.get(direction), compare_type=hlo.ComparisonTypeAttr.get(kind))


def _is_less(pairs: Sequence[tuple[Any, Any, str]]) -> mlir.ir.Value:
    """Whether the first scalars precede the second ones lexicographically."""
    *first, last = pairs
    less = _compare("LT", *last)
    for pair in reversed(first):
        less = mlir.hlo.or_(_compare("LT", *pair), mlir.hlo.and_(_compare("EQ", *pair), less))
    return less


# CPUs sort integers alone much faster than other operands; for fewer elements this does not pay.
_FEW = 1024


def _sort_cpu_lowering(ctx: mlir.LoweringRuleContext, *xs: Any, **params: Any) -> Sequence[mlir.ir.Value]:
    key = ctx.avals_in[0]
    integers = dtypes.is_integer(key.dtype) or dtypes.is_bool(key.dtype)
    if (
        params["num_keys"] > 1
        or is_symbolic(key.shape)
        or key.size < _FEW
        or dtypes.is_complex(key.dtype)
        or dtypes.itemsize_bits(key.dtype) > 32
        or (integers and len(xs) == 1)
        or key.shape[params["dimension"]] >= 2**31
    ):
        return _sort_lowering(ctx, *xs, **params)
    return _by_packed_keys(ctx, *xs, **params)


def _sort_packed(*xs: Any, dimension: int, is_stable: bool, num_keys: int) -> list[Any]:
    """Sorts 64-bit integers with a 32-bit key in the upper half and its position in the lower half."""
    key = xs[0]
    shape = key.aval.shape
    int64 = np.dtype(np.int64)
    with config.enable_x64(True):
        high = convert_element_type_p.bind(_as_integers(key), new_dtype=int64, weak_type=False)
        low = iota_p.bind(dtype=int64, shape=shape, dimension=dimension)
        packed = bitwise_or(shift_left(high, np.int64(32)), low)
        (packed,) = sort_p.bind(packed, dimension=dimension, is_stable=True, num_keys=1)
        low = bitwise_and(packed, np.int64(2**31 - 1))
        order = convert_element_type_p.bind(low, new_dtype=np.dtype(np.int32), weak_type=False)
    return [take_along(x, order, dimension) for x in xs]


_by_packed_keys = mlir.lower_fun(_sort_packed)


def _as_integers(x: Any) -> Array:
    """Signed integers of at most 32 bits with the order of such real numbers."""
    shape = x.aval.shape
    int32 = np.dtype(np.int32)
    if x.aval.dtype == np.uint32:
        return bitwise_xor(bitcast_convert_type_p.bind(x, new_dtype=int32), np.int32(-(2**31)))
    if not dtypes.is_floating(x.aval.dtype):
        return x

    def full(value: int) -> Any:
        return broadcast_in_dim_p.bind(np.int32(value), shape=shape, broadcast_dimensions=())

    x = convert_element_type_p.bind(x, new_dtype=np.dtype(np.float32), weak_type=False)
    bits = bitcast_convert_type_p.bind(x, new_dtype=int32)
    bits = select_n_p.bind(eq(x, np.float32(0)), bits, full(0))
    bits = select_n_p.bind(ne(x, x), bits, full(0x7FC00000))
    # The bits of negative numbers, read as an integer, have the opposite order.
    sign = shift_right_arithmetic(bits, np.int32(31))
    return bitwise_xor(bits, bitwise_and(sign, np.int32(0x7FFFFFFF)))


def _top_k_abstract_eval(operand: ShapedArray, *, k: int, axis: int) -> list[ShapedArray]:
    if operand.dtype not in ORDERED:
        hint = ORDERED.instead(operand.dtype)
        raise TypeError(f"top_k: operand must be real, got {operand.str_short()}{hint}")
    if not 0 <= axis < operand.ndim:
        raise ValueError(f"top_k: axis must be an axis of operand, got {axis} for {operand.str_short()}")
    size = operand.shape[axis]
    if not 0 <= k <= size:
        raise ValueError(
            f"top_k: k must be between 0 and the length of the axis, {size}, "
            f"got {k} for axis {axis} of {operand.str_short()}"
        )
    shape = (*operand.shape[:axis], k, *operand.shape[axis + 1 :])
    return [ShapedArray(shape, operand.dtype, operand.weak_type), ShapedArray(shape, np.dtype(np.int32))]


def _top_k_jvp(primals: Any, tangents: Any, *, k: int, axis: int) -> tuple[Any, Any]:
    values, positions = top_k_p.bind(*primals, k=k, axis=axis)
    (t,) = tangents
    moved = ad.Zero.from_primal_value(values) if type(t) is ad.Zero else take_along(t, positions, axis)
    return [values, positions], [moved, ad.Zero.from_primal_value(positions)]


def _top_k_batch(args: Any, dims: Any, *, k: int, axis: int) -> tuple[Any, Any]:
    (dim,) = dims
    return top_k_p.bind(*args, k=k, axis=axis + (axis >= dim)), [dim, dim]


def _top_k_lowering(ctx: mlir.LoweringRuleContext, x: Any, *, k: int, axis: int) -> list[Any] | Array:
    if 0 in ctx.avals_out[0].shape:
        return [mlir.ir_constant(np.zeros(aval.shape, aval.dtype)) for aval in ctx.avals_out]
    hlo, ir = mlir.hlo, mlir.ir
    rank = len(ctx.avals_in[0].shape)
    count = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), k)
    if axis == rank - 1:
        return mlir.chlo.TopKOp(x, count).results
    swap = list(range(rank))
    swap[axis], swap[-1] = swap[-1], swap[axis]
    order = ir.DenseI64ArrayAttr.get(swap)
    return [hlo.transpose(out, order) for out in mlir.chlo.TopKOp(hlo.transpose(x, order), count).results]


def _top_k_sharding_rule(x: ShapedArray, *, k: int, axis: int) -> str:
    whole_along(x, [axis])
    letters = " ".join("_" if i == axis else f"d{i}" for i in range(len(x.shape)))
    return f"{letters} -> {letters}, {letters}"


RULES: Table = {
    sort_p: {
        "abstract_eval": _sort_abstract_eval,
        "jvp": _sort_jvp,
        "axis_batch": _sort_batch,
        "sharding": along_axis("dimension"),
        "lowering": {None: in_whole_bytes(_sort_lowering, 4), "cpu": in_whole_bytes(_sort_cpu_lowering, 4)},
    },
    top_k_p: {
        "abstract_eval": _top_k_abstract_eval,
        "jvp": _top_k_jvp,
        "batch": _top_k_batch,
        "sharding": divided_by_rule(_top_k_sharding_rule),
        "lowering": in_whole_bytes(_top_k_lowering, 4),
    },
}


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, samples=["primax.plugins.samples.sorting:SAMPLES"], **rules)
