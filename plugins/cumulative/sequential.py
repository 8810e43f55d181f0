"""Loops over one axis with a carry: on CPUs the fastest way to compute all partial results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import ShapedArray
from primax.extend.interpreters import mlir
from primax.extend.provisional.arguments import index_dtype

_WIDER = {
    np.dtype(np.float32): np.dtype(np.float64),
    np.dtype(np.complex64): np.dtype(np.complex128),
}


def accumulator_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype in which many numbers of a dtype are added one after the other without loss of precision."""
    if dtypes.is_floating(dtype) and dtypes.itemsize_bits(dtype) < 32:
        return np.dtype(np.float32)
    return _WIDER.get(dtype, dtype)


def lower_to_loop(
    ctx: mlir.LoweringRuleContext,
    step: Callable[..., Sequence[Any]],
    start: Any,
    xs: Sequence[Any],
    axis: int,
    reverse: bool,
) -> list[Any]:
    """A loop over one axis of arrays of one shape, which collects a result for each position.

    Args:
      ctx: the lowering context of a primitive whose operands are `xs`, and whose result has their shape.
      step: `(carry, *elements) -> (carry, result)`; all arguments have length 1 along the axis.
      start: the initial carry, a NumPy scalar.
      xs: IR values.
      axis: the axis of the loop.
      reverse: whether the loop begins at the end.

    Returns:
      The results, at the positions of their elements.
    """
    out_aval = ctx.avals_out[0]
    shape = out_aval.shape
    count = shape[axis]
    one = (*shape[:axis], 1, *shape[axis + 1 :])
    carry = ShapedArray(one, start.dtype)
    elements = [ShapedArray(one, aval.dtype) for aval in ctx.avals_in]
    program = core.trace_to_jaxpr(step, [carry, *elements], "step")

    ir, hlo = mlir.ir, mlir.hlo
    counter = index_dtype(count)
    zero, unit = (mlir.ir_constant(np.asarray(i, counter)) for i in (0, 1))
    size, last = (mlir.size_value(i, counter) for i in (count, count - 1))
    nothing = np.zeros((), out_aval.dtype)
    state = [zero, _filled(start, carry), _filled(nothing, out_aval), *xs]
    types = [value.type for value in state]
    loop = hlo.WhileOp(types, state)
    with ir.InsertionPoint(loop.regions[0].blocks.append(*types)) as point:
        less = hlo.ComparisonDirectionAttr.get("LT")
        signed = hlo.ComparisonTypeAttr.get("SIGNED")
        hlo.return_([hlo.compare(point.block.arguments[0], size, less, compare_type=signed)])
    with ir.InsertionPoint(loop.regions[1].blocks.append(*types)) as point:
        i, value, outs, *arrays = point.block.arguments
        at = hlo.subtract(last, i) if reverse else i
        where = [at if d == axis else zero for d in range(len(shape))]
        parts = [
            mlir.dynamic_slice(ctx, element, x, start_indices=where)
            for x, element in zip(arrays, elements, strict=True)
        ]
        value, out = mlir.inline_jaxpr(ctx, program, [value, *parts])
        outs = hlo.dynamic_update_slice(outs, out, where)
        hlo.return_([hlo.add(i, unit), value, outs, *arrays])
    return [loop.results[2]]


def _filled(value: Any, aval: ShapedArray) -> mlir.ir.Value:
    return mlir.broadcast_scalar(mlir.ir_constant(value), aval)
