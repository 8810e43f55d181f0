"""Arrays stacked along a new axis, and split along one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.provisional.arguments import canonical_axis, inserted, is_value, sequence
from primax.extend.provisional.lowering import cached_ir_type
from primax.extend.provisional.narrow import in_whole_bytes
from primax.extend.provisional.typing import ArrayLike, Arrays
from primax.extend.rule_types import Table
from primax.plugins.structural.shapes import transpose

stack_p = core.Primitive("stack")
unstack_p = core.Primitive("unstack", multiple_results=True)


def stack(operands: Arrays, axis: int = 0) -> Array:
    """Arrays of the same shape along a new axis.

    Args:
      operands: a sequence of arrays of the same shape and dtype.
      axis: the position of the new axis in the result.

    Raises:
      TypeError: the shapes or dtypes differ.
      ValueError: there are no arrays, or `axis` is out of range.

    >>> import primax as px
    >>> px.lax.stack([px.numpy.array([1, 2]), px.numpy.array([3, 4])], 1)
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    together: Any = operands
    if (type(together) is np.ndarray or is_value(together)) and get_aval(together).shape[:1] not in ((), (0,)):
        # The rows are stacked already; with that many operands, compilation would take long.
        count = len(get_aval(operands).shape)
        return transpose(together, inserted(tuple(range(1, count)), canonical_axis(axis, count, "stack"), 0))
    if isinstance(operands, range):  # each number would be an argument of the program
        raise TypeError(f"stack: operands must be a sequence of arrays, got {operands!r}")
    operands = sequence("stack", "operands", operands)
    rank = len(get_aval(operands[0]).shape) if operands else 0
    axis = canonical_axis(axis, rank + 1, "stack")
    return stack_p.bind(*operands, axis=axis)


def unstack(x: ArrayLike, axis: int = 0) -> tuple[Any, ...]:
    """The arrays along an axis of an array.

    Args:
      x: an array.
      axis: the axis, which the results lack.

    Raises:
      ValueError: `axis` is out of range.

    >>> import primax as px
    >>> px.lax.unstack(px.numpy.array([[1, 2], [3, 4]]), 1)
    (Array([1, 3], dtype=int32), Array([2, 4], dtype=int32))
    """
    return tuple(unstack_p.bind(x, axis=canonical_axis(axis, len(get_aval(x).shape), "unstack")))


def _stack_abstract_eval(*operands: ShapedArray, axis: int) -> ShapedArray:
    if not operands:
        raise ValueError("stack: operands must hold an array, got none")
    first = operands[0]
    weak = True
    for i, operand in enumerate(operands):
        if operand.shape != first.shape or operand.dtype != first.dtype:
            raise TypeError(
                f"stack: operands must have the same shape and dtype, got {first.str_short()} for operand 0 and "
                f"{operand.str_short()} for operand {i}"
            )
        weak = weak and operand.weak_type
    if not 0 <= axis <= len(first.shape):
        raise ValueError(f"stack: axis must be in [0, {len(first.shape)}], got {axis} for {first.str_short()}")
    return ShapedArray(inserted(first.shape, axis, len(operands)), first.dtype, weak)


def _stack_transpose(ct: Any, *operands: Any, axis: int) -> list[Any]:
    linear = [type(x) is ad.UndefinedPrimal for x in operands]
    if type(ct) is ad.Zero:
        return [ad.Zero(x.aval) if is_linear else None for x, is_linear in zip(operands, linear, strict=True)]
    return [part if is_linear else None for part, is_linear in zip(unstack_p.bind(ct, axis=axis), linear, strict=True)]


def _stack_batch(args: Any, dims: Any, *, axis: int) -> tuple[Any, Any]:
    size, dim = next((get_aval(x).shape[d], d) for x, d in zip(args, dims, strict=True) if d is not None)
    moved = [batching.to_dim(x, size, d, dim) for x, d in zip(args, dims, strict=True)]
    # The new axis precedes the mapped one if both have the same position.
    return stack_p.bind(*moved, axis=axis + (dim < axis)), dim + (axis <= dim)


def _stack_lowering(ctx: Any, *xs: Any, axis: int) -> Sequence[mlir.ir.Value]:
    out = ctx.avals_out[0]
    shared = ctx.module_context.shared
    part = out.update(shape=(*out.shape[:axis], 1, *out.shape[axis + 1 :]))
    parts = [mlir.reshape(ctx, x, part) for x in xs]
    dimension = mlir.ir.IntegerAttr.get(mlir.ir.IntegerType.get_signless(64), axis)
    result = cached_ir_type(shared, out)
    return mlir.ir.Operation.create("stablehlo.concatenate", [result], parts, {"dimension": dimension}).results


def _unstack_abstract_eval(x: ShapedArray, *, axis: int) -> list[ShapedArray]:
    if not 0 <= axis < len(x.shape):
        raise ValueError(f"unstack: axis must be in [0, {len(x.shape)}), got {axis} for {x.str_short()}")
    out = ShapedArray((*x.shape[:axis], *x.shape[axis + 1 :]), x.dtype, x.weak_type)
    return [out] * x.shape[axis]


def _unstack_transpose(cts: Any, x: Any, *, axis: int) -> list[Any]:
    if all(type(ct) is ad.Zero for ct in cts):
        return [ad.Zero(x.aval)]
    return [stack_p.bind(*map(ad.instantiate_zeros, cts), axis=axis)]


def _unstack_batch(args: Any, dims: Any, *, axis: int) -> tuple[Any, Any]:
    (x,), (dim,) = args, dims
    outs = unstack_p.bind(x, axis=axis + (dim <= axis))
    return outs, [dim - (axis < dim)] * len(outs)


def _unstack_lowering(ctx: Any, x: Any, *, axis: int) -> list[Any]:
    shape = ctx.avals_in[0].shape
    one = ctx.avals_in[0].update(shape=(*shape[:axis], 1, *shape[axis + 1 :]))
    starts, limits = [0] * len(shape), list(shape)
    outs = []
    for i, aval in enumerate(ctx.avals_out):
        starts[axis], limits[axis] = i, i + 1
        part = mlir.slice_op(ctx, x, one, start_indices=starts, limit_indices=limits)
        outs.append(mlir.reshape(ctx, part, aval))
    return outs


RULES: Table = {
    stack_p: {
        "abstract_eval": _stack_abstract_eval,
        "jvp": ad.linear_jvp(stack_p),
        "transpose": _stack_transpose,
        "batch": _stack_batch,
        "lowering": in_whole_bytes(_stack_lowering),
        "key_use": lambda uses, eqn, walk: walk.joined(),
    },
    unstack_p: {
        "abstract_eval": _unstack_abstract_eval,
        "jvp": ad.linear_jvp(unstack_p),
        "transpose": _unstack_transpose,
        "batch": _unstack_batch,
        "lowering": _unstack_lowering,
    },
}
