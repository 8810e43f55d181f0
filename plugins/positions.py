"""Elements at given positions along an axis, and the way back: how tangents follow elements that are moved."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import ShapedArray, dtypes, get_aval
from primax.extend.interpreters import ad, batching, mlir
from primax.plugins.sampling import numbers

__all__ = ["RULES", "put_along_p", "take_along_p"]

# out[.., i, ..] = x[.., positions[.., i, ..], ..]
take_along_p = core.Primitive("take_along")
# out[.., positions[.., i, ..], ..] = x[.., i, ..] in an array of zeros; no position occurs twice
put_along_p = core.Primitive("put_along")


def _resized(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    return (*shape[:axis], size, *shape[axis + 1 :])


def _check(name: str, x: ShapedArray, positions: ShapedArray, axis: int) -> None:
    if not dtypes.is_integer(positions.dtype):
        raise TypeError(f"{name}: positions must be integers, got {positions.str_short()}")
    if not 0 <= axis < x.ndim == positions.ndim:
        raise TypeError(
            f"{name}: axis must be one of x and positions, got {axis} for {x.str_short()} and {positions.str_short()}"
        )


def _take_abstract_eval(x: ShapedArray, positions: ShapedArray, *, axis: int) -> ShapedArray:
    _check("take_along", x, positions, axis)
    if positions.shape != _resized(x.shape, axis, positions.shape[axis]):
        raise TypeError(
            f"take_along: positions must have the shape of x but for axis {axis}, "
            f"got {positions.str_short()} for {x.str_short()}"
        )
    if positions.size and not x.size:
        raise ValueError(f"take_along: x must hold elements, got {x.str_short()} for {positions.str_short()}")
    return ShapedArray(positions.shape, x.dtype, x.weak_type)


def _put_abstract_eval(x: ShapedArray, positions: ShapedArray, *, axis: int, size: int) -> ShapedArray:
    _check("put_along", x, positions, axis)
    if x.shape != positions.shape:
        raise TypeError(
            f"put_along: positions must have the shape of x, got {positions.str_short()} for {x.str_short()}"
        )
    return ShapedArray(_resized(x.shape, axis, size), x.dtype, x.weak_type)


def _take_transpose(ct: Any, x: Any, positions: Any, *, axis: int) -> Any:
    if type(ct) is ad.Zero:
        return ad.Zero(x.aval), None
    return put_along_p.bind(ct, positions, axis=axis, size=x.aval.shape[axis]), None


def _put_transpose(ct: Any, x: Any, positions: Any, *, axis: int, size: int) -> Any:
    if type(ct) is ad.Zero:
        return ad.Zero(x.aval), None
    return take_along_p.bind(ct, positions, axis=axis), None


def _jvp(primitive: core.Primitive) -> Any:
    return ad.standard_jvp(primitive, lambda t, x, positions, **params: primitive.bind(t, positions, **params), None)


def _batch(primitive: core.Primitive) -> Any:
    def batch(args: Any, dims: Any, *, axis: int, **params: Any) -> Any:
        (x, positions), (dx, dp) = args, dims
        if dx is None:
            x, dx = batching.broadcast(x, get_aval(positions).shape[dp], dp), dp
        elif dp is None:
            positions = batching.broadcast(positions, get_aval(x).shape[dx], dx)
        else:
            positions = batching.moveaxis(positions, dp, dx)
        return primitive.bind(x, positions, axis=axis + (axis >= dx), **params), dx

    batch.__name__ = f"batch({primitive})"
    return batch


def _take_lowering(ctx: mlir.LoweringRuleContext, x: Any, positions: Any, *, axis: int) -> Any:
    (aval,) = ctx.avals_out
    rank = len(aval.shape)
    if 0 in aval.shape:
        return [mlir.ir_constant(np.zeros(aval.shape, aval.dtype))]
    others = [d for d in range(rank) if d != axis]
    numbers = mlir.hlo.GatherDimensionNumbers.get([], [axis], others, others, [axis], rank)
    sizes = mlir.ir.DenseI64ArrayAttr.get([1] * rank)
    return mlir.hlo.GatherOp(x, _column(ctx, positions), numbers, sizes).results


def _put_lowering(ctx: mlir.LoweringRuleContext, x: Any, positions: Any, *, axis: int, size: int) -> Any:
    ir, hlo = mlir.ir, mlir.hlo
    aval = ctx.avals_out[0]
    rank = len(aval.shape)
    others = [d for d in range(rank) if d != axis]
    numbers = hlo.ScatterDimensionNumbers.get([], [axis], others, others, [axis], rank)
    zero = mlir.ir_constant(np.zeros((), aval.dtype))
    zeros = mlir.broadcast_scalar(zero, aval)
    operation = hlo.ScatterOp(
        [zeros.type], [zeros], _column(ctx, positions), [x], numbers, unique_indices=ir.BoolAttr.get(True)
    )
    block = operation.update_computation.blocks.append(zero.type, zero.type)
    with ir.InsertionPoint(block):
        hlo.return_([block.arguments[1]])
    return operation.results


def _column(ctx: mlir.LoweringRuleContext, positions: Any) -> Any:
    """Positions as index vectors of length 1."""
    aval = ctx.avals_in[1]
    return mlir.hlo.reshape(mlir.aval_to_ir_type(aval.update(shape=(*aval.shape, 1))), positions)


def _take_samples() -> list[core.Sample]:
    x = numbers((2, 3))
    columns, row = np.int32([[2, 0], [1, 2]]), np.int32([[1, 0, 1]])
    return [
        core.Sample([x, columns], {"axis": 1}, reference=np.take_along_axis),
        core.Sample([x + 1j * x[::-1], row], {"axis": 0}, reference=np.take_along_axis),
    ]


def _put_samples() -> list[core.Sample]:
    x = numbers((2, 2))
    columns, rows = np.int32([[2, 0], [1, 2]]), np.int32([[1, 0], [0, 1]])
    return [
        core.Sample([x, columns], {"axis": 1, "size": 3}, reference=_put),
        core.Sample([x + 1j * x[::-1], rows], {"axis": 0, "size": 4}, reference=_put),
    ]


def _put(x: Any, positions: Any, *, axis: int, size: int) -> Any:
    out = np.zeros(_resized(x.shape, axis, size), x.dtype)
    np.put_along_axis(out, positions, x, axis)
    return out


RULES = {
    take_along_p: {
        "abstract_eval": _take_abstract_eval,
        "jvp": _jvp(take_along_p),
        "transpose": _take_transpose,
        "batch": _batch(take_along_p),
        "lowering": _take_lowering,
        "samples": [_take_samples],
    },
    put_along_p: {
        "abstract_eval": _put_abstract_eval,
        "jvp": _jvp(put_along_p),
        "transpose": _put_transpose,
        "batch": _batch(put_along_p),
        "lowering": _put_lowering,
        "samples": [_put_samples],
    },
}
