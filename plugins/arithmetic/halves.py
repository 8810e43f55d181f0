"""The upper halves of products of integers, including compilers without an operation for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primax.extend import core, dtypes
from primax.extend.core import Array
from primax.extend.interpreters import mlir
from primax.extend.provisional.elementwise import like
from primax.extend.provisional.lowering import spmd_of
from primax.plugins.bitwise import bitwise_and, shift_right_arithmetic, shift_right_logical

Function = Callable[[Any, Any], Any]


def mulhi_lowering(add: Function, sub: Function, mul: Function) -> Callable[..., Any]:
    """The lowering of `mulhi`: an operation of CHLO, or else products of halves."""

    def upper_half(x: Any, y: Any) -> Array:
        """The product of the bits, minus a factor if the other one is negative, since its bits exceed it by 2^bits."""
        dtype = core.get_aval(x).dtype
        bits = dtypes.iinfo(dtype).bits
        (low_x, high_x), (low_y, high_y) = (
            (bitwise_and(z, like(z, 2 ** (bits // 2) - 1)), shift_right_logical(z, like(z, bits // 2))) for z in (x, y)
        )
        carried = shift_right_logical(mul(low_x, low_y), like(x, bits // 2))
        middle = add(mul(high_x, low_y), carried)
        other = add(mul(low_x, high_y), bitwise_and(middle, like(middle, 2 ** (bits // 2) - 1)))
        out = mul(high_x, high_y)
        for part in (middle, other):
            out = add(out, shift_right_logical(part, like(part, bits // 2)))
        if dtypes.is_unsigned_integer(dtype):
            return out
        for z, factor in ((x, y), (y, x)):
            negative = shift_right_arithmetic(z, like(z, bits - 1))
            out = sub(out, bitwise_and(negative, factor))
        return out

    by_operation, by_halves = mlir.nary("chlo.mulhi"), mlir.lower_fun(upper_half, multiple_results=False)

    def lowering(ctx: mlir.LoweringRuleContext, x: Any, y: Any) -> Sequence[mlir.ir.Value]:
        # XLA's partitioner cannot write a program with the operation.
        divided = spmd_of(ctx.module_context).partitions > 1
        return (by_operation if hasattr(mlir.chlo, "mulhi") and not divided else by_halves)(ctx, x, y)

    lowering.__name__ = by_operation.__name__
    return lowering
