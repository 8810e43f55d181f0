"""Elements narrower than a byte, for operations that compilers support only for whole bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.interpreters import mlir
from primax.extend.provisional.arguments import among
from primax.extend.provisional.lowering import cached_ir_type

__all__ = ["in_whole_bytes"]

_TWO_BITS = {np.dtype(dtypes.int2): np.dtype(np.int8), np.dtype(dtypes.uint2): np.dtype(np.uint8)}
_WIDE: dict[int, dict[Any, Any]] = {
    2: _TWO_BITS,
    4: {
        **_TWO_BITS,
        np.dtype(dtypes.int4): np.dtype(np.int8),
        np.dtype(dtypes.uint4): np.dtype(np.uint8),
        np.dtype(dtypes.float4_e2m1fn): np.dtype(np.float32),
    },
}


def in_whole_bytes(lowering: Callable[..., Any], bits: int = 2) -> Callable[..., Any]:
    """The lowering rule that converts narrow operands to wider ones before another rule, and its results back.

    XLA for CPUs ends the process, or fails, in some operations on elements of so few bits.

    Args:
      lowering: a lowering rule that returns a sequence of IR values; it sees wide types only.
      bits: the number of bits of the elements, 2 or 4, up to which they are converted.

    Raises:
      ValueError: `bits` is another number.
    """
    if not among(bits, _WIDE):
        raise ValueError(f"in_whole_bytes: bits must be 2 or 4, got {bits!r}")
    wide = _WIDE[bits]

    def convert(ctx: mlir.LoweringRuleContext, x: Any, aval: Any, source: Any) -> Any:
        if aval is source:
            return x
        return mlir.hlo.convert(cached_ir_type(ctx.module_context.shared, aval), x)

    def widened(avals: Any) -> list[Any]:
        return [aval.update(dtype=wide[aval.dtype]) if aval.dtype in wide else aval for aval in avals]

    def rule(ctx: mlir.LoweringRuleContext, /, *xs: Any, **params: Any) -> Any:
        if not any(aval.dtype in wide for avals in (ctx.avals_in, ctx.avals_out) for aval in avals):
            return lowering(ctx, *xs, **params)
        avals_in, avals_out = widened(ctx.avals_in), widened(ctx.avals_out)
        operands = [convert(ctx, *one) for one in zip(xs, avals_in, ctx.avals_in, strict=True)]
        outs = lowering(ctx.replace(avals_in=avals_in, avals_out=avals_out), *operands, **params)
        return [convert(ctx, *one) for one in zip(outs, ctx.avals_out, avals_out, strict=True)]

    rule.__name__ = lowering.__name__
    return rule
