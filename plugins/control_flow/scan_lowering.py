"""The lowering of a scan: a loop that slices its arrays and writes its results in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import ShapedArray
from primax.extend.dimensions import is_symbolic_dim
from primax.extend.interpreters import mlir
from primax.extend.provisional.arguments import index_dtype
from primax.extend.provisional.lowering import array_in_module


def lower_scan(
    ctx: mlir.LoweringRuleContext,
    *args: Any,
    jaxpr: core.ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    length: int,
    reverse: bool,
    unroll: int,
) -> list[Any]:
    """The lowering rule. `unroll` steps make one iteration of the loop; the remaining steps follow it."""
    loop = _Scan(ctx, jaxpr, num_consts, num_carry, length, reverse)
    state = loop.begin(args)
    turns = length // unroll
    if is_symbolic_dim(length):
        return loop.end(loop.turns(state, length, 1))
    if turns > 1:
        state = loop.turns(state, turns, unroll)
    else:
        turns = 0
    for i in range(turns * unroll, length):
        state = loop.step(state, loop.number(i))
    return loop.end(state)


class _Scan:
    """A scan that is being lowered. Its state: tokens, constants, carry, arrays and results."""

    def __init__(
        self,
        ctx: mlir.LoweringRuleContext,
        jaxpr: core.ClosedJaxpr,
        num_consts: int,
        num_carry: int,
        length: int,
        reverse: bool,
    ) -> None:
        self.ctx = ctx
        self.jaxpr = jaxpr
        self.length = length
        self.reverse = reverse
        self.counter = index_dtype(length)
        self.ordered = list(ctx.tokens_in or ())
        start = len(self.ordered)
        self.consts = slice(start, start + num_consts)
        self.carry = slice(start + num_consts, start + num_consts + num_carry)
        self.xs = slice(start + num_consts + num_carry, start + len(ctx.avals_in))
        self.num_carry = num_carry

    def number(self, i: int) -> mlir.ir.Value:
        """A position as an IR value."""
        return mlir.size_value(i, self.counter)

    def begin(self, args: Sequence[Any]) -> list[Any]:
        """The state before the first step, with results that are still zero."""
        tokens = [self.ctx.tokens_in[effect] for effect in self.ordered] if self.ctx.tokens_in else []
        results = [_zeros(array_in_module(aval)) for aval in self.ctx.avals_out[self.num_carry :]]
        return [*tokens, *args, *results]

    def step(self, state: Sequence[Any], i: Any) -> list[Any]:
        """The state after the i-th step."""
        hlo = mlir.hlo
        tokens, carry, xs = state[: len(self.ordered)], state[self.carry], state[self.xs]
        at = hlo.subtract(self.number(self.length - 1), i) if self.reverse else i
        types = map(array_in_module, self.ctx.avals_in[self.xs.start - len(self.ordered) :])
        slices = [self._slice(x, aval, at) for x, aval in zip(xs, types, strict=True)]
        current = dict(zip(self.ordered, tokens, strict=True))
        inner = self.ctx.replace(
            avals_in=self.jaxpr.in_avals, avals_out=self.jaxpr.out_avals, tokens_in=current or None
        )
        outs = mlir.inline_jaxpr(inner, self.jaxpr, [*state[self.consts], *carry, *slices], "scan/body")
        current.update(inner.tokens_out or {})
        ys = [
            self._update(array, y, array_in_module(aval), at)
            for array, y, aval in zip(
                state[self.xs.stop :], outs[self.num_carry :], self.jaxpr.out_avals[self.num_carry :], strict=True
            )
        ]
        new_tokens = [current[effect] for effect in self.ordered]
        return [*new_tokens, *state[self.consts], *outs[: self.num_carry], *xs, *ys]

    def turns(self, state: Sequence[Any], turns: int, unroll: int) -> list[Any]:
        """The state after `turns` times `unroll` steps."""
        hlo, ir = mlir.hlo, mlir.ir
        before = [self.number(0), *state]
        types = [x.type for x in before]
        loop = hlo.WhileOp(types, before)
        with ir.InsertionPoint(loop.regions[0].blocks.append(*types)) as point:
            less, signed = hlo.ComparisonDirectionAttr.get("LT"), hlo.ComparisonTypeAttr.get("SIGNED")
            end = self.number(turns * unroll)
            hlo.return_([hlo.compare(point.block.arguments[0], end, less, compare_type=signed)])
        with ir.InsertionPoint(loop.regions[1].blocks.append(*types)) as point:
            i, *now = point.block.arguments
            for _ in range(unroll):
                now = self.step(now, i)
                i = hlo.add(i, self.number(1))
            hlo.return_([i, *now])
        return list(loop.results)[1:]

    def end(self, state: Sequence[Any]) -> list[Any]:
        """The results after all steps."""
        if self.ordered:
            self.ctx.set_tokens_out(dict(zip(self.ordered, state, strict=False)))
        return [*state[self.carry], *state[self.xs.stop :]]

    def _where(self, at: Any, rank: int) -> list[Any]:
        zero = self.number(0)
        return [at, *[zero] * (rank - 1)]

    def _slice(self, x: Any, aval: Any, at: Any) -> mlir.ir.Value:
        """Element `at` of an array along axis 0."""
        where = self._where(at, len(aval.shape))
        part = mlir.dynamic_slice(self.ctx, ShapedArray((1, *aval.shape[1:]), aval.dtype), x, start_indices=where)
        return mlir.reshape(self.ctx, part, ShapedArray(aval.shape[1:], aval.dtype))

    def _update(self, array: Any, y: Any, aval: Any, at: Any) -> mlir.ir.Value:
        """An array of results with `y` written at a position of axis 0."""
        part = mlir.reshape(self.ctx, y, ShapedArray((1, *aval.shape), aval.dtype))
        return mlir.hlo.dynamic_update_slice(array, part, self._where(at, len(aval.shape) + 1))


def _zeros(aval: Any) -> mlir.ir.Value:
    return mlir.broadcast_scalar(mlir.ir_constant(np.zeros((), aval.dtype)), aval)
