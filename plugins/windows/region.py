"""The StableHLO operation that reduces windows by a program on scalars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.interpreters import mlir
from primax.extend.provisional.dimensions import is_symbolic
from primax.extend.provisional.lowering import cached_ir_type, padded


def empty(ctx: mlir.LoweringRuleContext) -> bool:
    """Whether an operand or a result has no elements, for which XLA has little support."""
    return any(0 in aval.shape for aval in (*ctx.avals_in, *ctx.avals_out))


def window_region(
    ctx: mlir.LoweringRuleContext,
    avals: Sequence[Any],
    xs: Sequence[Any],
    inits: Sequence[Any],
    program: core.ClosedJaxpr,
    params: dict[str, Any],
    shape: Sequence[Any],
) -> Any:
    """A `stablehlo.reduce_window` of arrays of a shape, with results of given types."""
    if is_symbolic([size for pair in params["padding"] for size in pair]):
        pads = zip(params["padding"], params["base_dilation"], strict=True)
        config = [(low, high, step - 1) for (low, high), step in pads]
        xs = [
            padded(ctx, x, init, aval.update(shape=shape), config)
            for x, init, aval in zip(xs, inits, avals, strict=True)
        ]
        params = params | {"padding": ((0, 0),) * len(config), "base_dilation": (1,) * len(config)}
    ir, hlo = mlir.ir, mlir.hlo
    array = ir.DenseI64ArrayAttr.get
    operation = hlo.ReduceWindowOp(
        [cached_ir_type(ctx.module_context.shared, aval) for aval in avals],
        xs,
        inits,
        array(params["window_dimensions"]),
        window_strides=array(params["window_strides"]),
        base_dilations=array(params["base_dilation"]),
        window_dilations=array(params["window_dilation"]),
        padding=ir.DenseIntElementsAttr.get(np.array(params["padding"], np.int64).reshape(-1, 2)),
    )
    block = operation.regions[0].blocks.append(*[init.type for init in (*inits, *inits)])
    with ir.InsertionPoint(block):
        hlo.return_(mlir.inline_jaxpr(ctx, program, list(block.arguments)))
    return operation.results
