"""Loops over one axis with a carry: on CPUs the fastest way to compute all partial results."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import ShapedArray
from primax.extend.interpreters import mlir
from primax.extend.provisional.arguments import index_dtype
from primax.extend.provisional.dimensions import is_symbolic
from primax.extend.provisional.lowering import cached_ir_type

_WIDER = {
    np.dtype(np.float32): np.dtype(np.float64),
    np.dtype(np.complex64): np.dtype(np.complex128),
}


def accumulator_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype in which many numbers of a dtype are added one after the other without loss of precision."""
    if _is_half(dtype):
        return np.dtype(np.float32)
    return _WIDER.get(dtype, dtype)


def in_float32(lowering: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
    """The lowering rule that converts narrower floats to float32 before another rule, and its results back.

    In a loop XLA for CPUs would convert whole arrays of them at each step. It has operations on float16.
    """

    def emulated(aval: Any) -> bool:
        return _is_half(aval.dtype) and aval.dtype != np.float16

    def widened(avals: Sequence[Any]) -> list[Any]:
        return [aval.update(dtype=np.dtype(np.float32)) if emulated(aval) else aval for aval in avals]

    def rule(ctx: mlir.LoweringRuleContext, *xs: Any, **params: Any) -> Sequence[Any]:
        if not emulated(ctx.avals_out[0]):
            return lowering(ctx, *xs, **params)

        def convert(x: Any, aval: Any) -> Any:
            return mlir.hlo.convert(cached_ir_type(ctx.module_context.shared, aval), x)

        avals_in, avals_out = widened(ctx.avals_in), widened(ctx.avals_out)
        wide = [convert(x, aval) for x, aval in zip(xs, avals_in, strict=True)]
        outs = lowering(ctx.replace(avals_in=avals_in, avals_out=avals_out), *wide, **params)
        return [convert(x, aval) for x, aval in zip(outs, ctx.avals_out, strict=True)]

    rule.__name__ = lowering.__name__
    return rule


def _is_half(dtype: Any) -> bool:
    return dtypes.is_floating(dtype) and dtypes.itemsize_bits(dtype) < 32


# With shorter rows a step of a loop is on elements that lie far from each other.
_ROW = 16
# The number of steps whose elements are brought together first. They fit into a cache.
_SLAB = 32
# The number of elements of all rows that are computed before the next ones.
_BLOCK = 1 << 14
_SWAPPED = (1, 0, 2)


def lower_to_loop(
    ctx: mlir.LoweringRuleContext,
    step: Callable[..., Sequence[Any]],
    start: Any,
    xs: Sequence[Any],
    axis: int,
    reverse: bool,
) -> list[Any]:
    """A loop over one axis of arrays of the same shape, which collects a result for each position.

    Args:
      ctx: the lowering context of a primitive whose operands are `xs`, and whose result has their shape.
      step: `(carry, *elements) -> (carry, result)`; all arguments have length 1 along the axis of the loop, which may
        be another axis for them. It is elementwise.
      start: the initial carry, a NumPy scalar.
      xs: IR values.
      axis: the axis of the loop.
      reverse: whether the loop begins at the end.

    Returns:
      The results, at the positions of their elements.
    """
    shape = ctx.avals_out[0].shape
    if not is_symbolic(shape):
        before, after = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
        if after < _ROW <= before and shape[axis] > 1:
            middle = (before, shape[axis], after)
            parts = [
                mlir.hlo.reshape(cached_ir_type(ctx.module_context.shared, ShapedArray(middle, aval.dtype)), x)
                for x, aval in zip(xs, ctx.avals_in, strict=True)
            ]
            out = _in_slabs(ctx, step, start, parts, *middle, reverse)
            return [mlir.hlo.reshape(cached_ir_type(ctx.module_context.shared, ctx.avals_out[0]), out)]
    carry = _filled(start, ShapedArray((*shape[:axis], 1, *shape[axis + 1 :]), start.dtype))
    return [_loop(ctx, step, carry, start.dtype, xs, shape, axis, reverse)[1]]


def _loop(
    ctx: mlir.LoweringRuleContext,
    step: Callable[..., Sequence[Any]],
    carry: Any,
    carry_dtype: Any,
    xs: Sequence[Any],
    shape: tuple[Any, ...],
    axis: int,
    reverse: bool,
) -> tuple[Any, Any]:
    """The last carry and the results of a loop over arrays of a shape, with a step for each position along an axis."""
    count = shape[axis]
    one = (*shape[:axis], 1, *shape[axis + 1 :])
    out_aval = ShapedArray(shape, ctx.avals_out[0].dtype)
    elements = [ShapedArray(one, aval.dtype) for aval in ctx.avals_in]
    program = core.trace_to_jaxpr(step, [ShapedArray(one, carry_dtype), *elements], "step")
    outs = _filled(np.zeros((), out_aval.dtype), out_aval)
    counter = index_dtype(count)

    def body(i: Any, state: Sequence[Any]) -> Sequence[Any]:
        value, outs, *arrays = state
        where = _along(axis, i, len(shape), counter)
        parts = [
            mlir.dynamic_slice(ctx, element, x, start_indices=where)
            for x, element in zip(arrays, elements, strict=True)
        ]
        value, out = mlir.inline_jaxpr(ctx, program, [value, *parts])
        return [value, mlir.hlo.dynamic_update_slice(outs, out, where), *arrays]

    value, outs, *_ = _counted(counter, count, 1, reverse, body, [carry, outs, *xs])
    return value, outs


def _in_slabs(
    ctx: mlir.LoweringRuleContext,
    step: Callable[..., Sequence[Any]],
    start: Any,
    xs: Sequence[Any],
    before: int,
    count: int,
    after: int,
    reverse: bool,
) -> Any:
    """The results of a loop over the middle axis of arrays of shape (before, count, after).

    Some rows at a time are computed, so that all that a step touches stays in a cache.
    """
    hlo, dtype = mlir.hlo, ctx.avals_out[0].dtype
    shape = (before, count, after)
    rows = max(_BLOCK // (min(count, _SLAB) * after), _ROW)
    if rows >= before:
        return _rows_in_slabs(ctx, step, start, xs, shape, reverse)
    counter = index_dtype(before)
    part = (rows, count, after)

    def body(at: Any, state: Sequence[Any]) -> Sequence[Any]:
        # XLA moves the last rows back where they would leave the array.
        outs, *arrays = state
        where = _along(0, at, 3, counter)
        parts = [
            mlir.dynamic_slice(ctx, ShapedArray(part, aval.dtype), x, start_indices=where)
            for x, aval in zip(arrays, ctx.avals_in, strict=True)
        ]
        out = _rows_in_slabs(ctx, step, start, parts, part, reverse)
        return [hlo.dynamic_update_slice(outs, out, where), *arrays]

    outs = _filled(np.zeros((), dtype), ShapedArray(shape, dtype))
    return _counted(counter, -(-before // rows), rows, False, body, [outs, *xs])[0]


def _rows_in_slabs(
    ctx: mlir.LoweringRuleContext,
    step: Callable[..., Sequence[Any]],
    start: Any,
    xs: Sequence[Any],
    shape: tuple[int, int, int],
    reverse: bool,
) -> Any:
    """The results of a loop over the middle axis.

    For some positions at a time this axis becomes the first one, so that a step has elements that follow each other.
    """
    hlo, dtype = mlir.hlo, ctx.avals_out[0].dtype
    rows, length, after = shape
    width = min(length, _SLAB)
    count, rest = divmod(length, width)
    counter = index_dtype(length)

    def slab(at: Any, width: int, carry: Any, outs: Any, arrays: Sequence[Any]) -> tuple[Any, Any]:
        where, part = _along(1, at, 3, counter), (rows, width, after)
        parts = []
        for x, aval in zip(arrays, ctx.avals_in, strict=True):
            piece = mlir.dynamic_slice(ctx, ShapedArray(part, aval.dtype), x, start_indices=where)
            parts.append(hlo.transpose(piece, _SWAPPED))
        carry, out = _loop(ctx, step, carry, start.dtype, parts, (width, rows, after), 0, reverse)
        return carry, hlo.dynamic_update_slice(outs, hlo.transpose(out, _SWAPPED), where)

    def body(at: Any, state: Sequence[Any]) -> Sequence[Any]:
        carry, outs, *arrays = state
        return [*slab(at, width, carry, outs, arrays), *arrays]

    carry = _filled(start, ShapedArray((1, rows, after), start.dtype))
    outs = _filled(np.zeros((), dtype), ShapedArray(shape, dtype))
    first = rest if reverse else 0
    if count > 1:
        carry, outs, *_ = _counted(counter, count, width, reverse, body, [carry, outs, *xs], first)
    else:
        carry, outs = slab(mlir.size_value(first, counter), width, carry, outs, xs)
    if rest:
        at = 0 if reverse else count * width
        _, outs = slab(mlir.size_value(at, counter), rest, carry, outs, xs)
    return outs


def _counted(
    counter: np.dtype[Any],
    count: Any,
    width: int,
    reverse: bool,
    body: Callable[[Any, Sequence[Any]], Sequence[Any]],
    state: Sequence[Any],
    first: int = 0,
) -> Sequence[Any]:
    """The last state of a loop whose body gets the positions first, first + width, ..., in this or in reverse order."""
    ir, hlo = mlir.ir, mlir.hlo
    zero, unit, step, offset = (mlir.ir_constant(np.asarray(i, counter)) for i in (0, 1, width, first))
    size, last = (mlir.size_value(i, counter) for i in (count, count - 1))
    state = [zero, *state]
    types = [value.type for value in state]
    loop = hlo.WhileOp(types, state)
    with ir.InsertionPoint(loop.regions[0].blocks.append(*types)) as point:
        less = hlo.ComparisonDirectionAttr.get("LT")
        signed = hlo.ComparisonTypeAttr.get("SIGNED")
        hlo.return_([hlo.compare(point.block.arguments[0], size, less, compare_type=signed)])
    with ir.InsertionPoint(loop.regions[1].blocks.append(*types)) as point:
        i, *values = point.block.arguments
        at = hlo.subtract(last, i) if reverse else i
        if width != 1:
            at = hlo.multiply(at, step)
        if first:
            at = hlo.add(at, offset)
        hlo.return_([hlo.add(i, unit), *body(at, values)])
    return list(loop.results)[1:]


def _along(axis: int, position: Any, rank: int, counter: np.dtype[Any]) -> list[Any]:
    """The start of a slice at a position along an axis."""
    zero = mlir.ir_constant(np.zeros((), counter))
    return [position if d == axis else zero for d in range(rank)]


def _filled(value: Any, aval: ShapedArray) -> mlir.ir.Value:
    return mlir.broadcast_scalar(mlir.ir_constant(value), aval)
