"""The rules of `checkpoint_p`: a call whose derivative saves few residuals and recomputes the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primax.extend import core
from primax.extend.core import Array
from primax.extend.held_programs import (
    SplitEquation,
    checked_types,
    closes_over,
    cotangents,
    cut,
    given,
    held_types,
    linear_flags,
    nonzero_flags,
    sections,
    tangents_of,
    trimmed,
)
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.provisional.references import Outcome, Refs, discharge, split_outcome
from primax.extend.rule_types import Table
from primax.plugins.calls import evaluate
from primax.plugins.remat.splitting import Split, checkpoint_p, split


def _impl(*args: Any, jaxpr: core.ClosedJaxpr, **params: Any) -> list[Any]:
    return evaluate(jaxpr, args)


def _jvp(primals: Any, tangents: Any, *, jaxpr: core.ClosedJaxpr, **params: Any) -> tuple[Any, Any]:
    program, nonzero_out = ad.jvp_jaxpr(jaxpr, nonzero_flags(tangents))
    primals_out, out_tangents = sections(
        checkpoint_p.bind(*primals, *given(tangents), jaxpr=program, **params), len(nonzero_out)
    )
    return primals_out, tangents_of(primals_out, nonzero_out, out_tangents)


def _batch(axis: batching.AxisData, args: Any, dims: Any, *, jaxpr: core.ClosedJaxpr, **params: Any) -> tuple[Any, Any]:
    program, out_dims = batching.batch_jaxpr(jaxpr, axis, dims)
    return checkpoint_p.bind(*args, jaxpr=program, **params), out_dims


def _discharge(refs: Refs, *args: Any, jaxpr: core.ClosedJaxpr, **params: Any) -> Outcome:
    program, written = discharge(jaxpr)
    return split_outcome(checkpoint_p.bind(*args, jaxpr=program, **params), written)


def _backward_part(parts: Split, args: Sequence[Any], saved: Sequence[Any], params: dict[str, Any]) -> tuple[Any, Any]:
    """The operands and parameters of the part for the backward pass."""
    available = [*args, *saved]
    return [available[i] for i in parts.inputs], {**params, "jaxpr": parts.rest, "differentiated": True}


def _partial_eval_jaxpr(unknown_in: Sequence[bool], eqn: core.JaxprEqn) -> tuple[Any, Any, Any]:
    params = eqn.params
    parts = split(params["jaxpr"], unknown_in, params["policy"])
    if parts.rest is params["jaxpr"]:
        return None, eqn, parts.unknown_out  # no part of it was computed before
    halves = SplitEquation(eqn, unknown_in, parts.unknown_out, parts.known.out_avals[parts.unknown_out.count(False) :])
    operands, rest = _backward_part(parts, eqn.invars, halves.residuals, params)
    known = halves.known({**params, "jaxpr": parts.known}, parts.known.effects)
    return known, halves.rest(operands, rest, parts.rest.effects), parts.unknown_out


def _transpose(cts: Any, *args: Any, jaxpr: core.ClosedJaxpr, **params: Any) -> list[Any]:
    program, nonzero_in = ad.transpose_jaxpr(jaxpr, linear_flags(args), nonzero_flags(cts))
    in_cts = checkpoint_p.bind(*given(args), *given(cts), jaxpr=program, **params)
    return cotangents(args, nonzero_in, in_cts)


def _dce(used_outputs: Sequence[bool], eqn: core.JaxprEqn) -> tuple[Any, Any]:
    closed = eqn.params["jaxpr"]
    program, used_inputs = trimmed(closed, used_outputs)
    if program is closed:
        return used_inputs, eqn
    if not program.eqns and not any(used_outputs):
        return used_inputs, None
    return used_inputs, cut(eqn, used_inputs, used_outputs, {**eqn.params, "jaxpr": program}, program.effects)


def _lowering(
    ctx: mlir.LoweringRuleContext,
    *args: Any,
    jaxpr: core.ClosedJaxpr,
    prevent_cse: bool,
    differentiated: bool,
    **params: Any,
) -> list[Any]:
    """The recomputation starts from copies behind a barrier; otherwise XLA would merge it with the original."""
    if differentiated and prevent_cse and args:
        args = mlir.hlo.OptimizationBarrierOp(args).results
    return mlir.inline_jaxpr(ctx, jaxpr, args, "checkpoint")


def _interpret(interpreter: Any, eqn: core.JaxprEqn, *values: Any) -> Any:
    def bind(closed: core.ClosedJaxpr, args: Any) -> list[Array]:
        return checkpoint_p.bind(*args, **{**eqn.params, "jaxpr": closed})

    return interpreter.call(eqn.params["jaxpr"], values, bind)


RULES: Table = {
    checkpoint_p: {
        "impl": _impl,
        "effectful_abstract_eval": held_types("jaxpr"),
        "jvp": _jvp,
        "transpose": _transpose,
        "axis_batch": _batch,
        "lowering": _lowering,
        "partial_eval_jaxpr": _partial_eval_jaxpr,
        "dce": _dce,
        "discharge": _discharge,
        "check": checked_types("jaxpr"),
        "close_over": closes_over("jaxpr"),
        "interpret": _interpret,
    },
}
