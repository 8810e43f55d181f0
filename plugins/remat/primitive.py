"""The rules of `checkpoint_p`: a call whose derivative saves little of it and computes the rest again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primax.extend import core
from primax.extend.interpreters import ad, batching, mlir
from primax.plugins.calls import evaluate
from primax.plugins.remat.splitting import Split, checkpoint_p, split

__all__ = ["checkpoint_p", "rules"]


def _impl(*args: Any, jaxpr: core.ClosedJaxpr, **params: Any) -> Any:
    return evaluate(jaxpr, args)


def _abstract_eval(*avals: Any, jaxpr: core.ClosedJaxpr, **params: Any) -> Any:
    return jaxpr.out_avals, jaxpr.effects


def _check(context: Any, *atoms: Any, jaxpr: core.ClosedJaxpr, **params: Any) -> Any:
    context.check_operands(jaxpr, atoms)
    return jaxpr.out_avals, jaxpr.effects


def _jvp(primals: Any, tangents: Any, *, jaxpr: core.ClosedJaxpr, **params: Any) -> Any:
    program, nonzero_out = ad.jvp_jaxpr(jaxpr, [type(t) is not ad.Zero for t in tangents])
    given = [t for t in tangents if type(t) is not ad.Zero]
    outs = checkpoint_p.bind(*primals, *given, jaxpr=program, **params)
    primals_out, found = outs[: len(nonzero_out)], iter(outs[len(nonzero_out) :])
    return primals_out, [
        next(found) if nonzero else ad.Zero.from_primal_value(x)
        for x, nonzero in zip(primals_out, nonzero_out, strict=True)
    ]


def _batch(axis: batching.AxisData, args: Any, dims: Any, *, jaxpr: core.ClosedJaxpr, **params: Any) -> Any:
    program, out_dims = batching.batch_jaxpr(jaxpr, axis, dims)
    return checkpoint_p.bind(*args, jaxpr=program, **params), out_dims


def _rest(parts: Split, args: Sequence[Any], saved: Sequence[Any], params: dict[str, Any]) -> tuple[Any, Any]:
    """Operands and parameters of what is left for the way back."""
    available = [*args, *saved]
    return [available[i] for i in parts.inputs], {**params, "jaxpr": parts.rest, "differentiated": True}


def _partial_eval_jaxpr(unknown_in: Sequence[bool], eqn: core.JaxprEqn) -> Any:
    params = eqn.params
    parts = split(params["jaxpr"], unknown_in, params["policy"])
    if parts.rest is params["jaxpr"]:
        return None, eqn, parts.unknown_out  # nothing of it was computed before
    known_out = [v for v, u in zip(eqn.outvars, parts.unknown_out, strict=True) if not u]
    unknown_out = [v for v, u in zip(eqn.outvars, parts.unknown_out, strict=True) if u]
    saved = [core.Var(aval) for aval in parts.known.out_avals[len(known_out) :]]
    known_eqn = unknown_eqn = None
    if known_out or saved or parts.known.effects:
        known_eqn = eqn.replace(
            invars=[v for v, u in zip(eqn.invars, unknown_in, strict=True) if not u],
            outvars=[*known_out, *saved],
            params={**params, "jaxpr": parts.known},
            effects=parts.known.effects,
        )
    if unknown_out or parts.rest.effects:
        operands, rest = _rest(parts, eqn.invars, saved, params)
        unknown_eqn = eqn.replace(invars=operands, outvars=unknown_out, params=rest, effects=parts.rest.effects)
    return known_eqn, unknown_eqn, parts.unknown_out


def _transpose(cts: Any, *args: Any, jaxpr: core.ClosedJaxpr, **params: Any) -> Any:
    linear = [type(x) is ad.UndefinedPrimal for x in args]
    program, nonzero_in = ad.transpose_jaxpr(jaxpr, linear, [type(ct) is not ad.Zero for ct in cts])
    given = [x for x in args if type(x) is not ad.UndefinedPrimal] + [ct for ct in cts if type(ct) is not ad.Zero]
    found, flags = iter(checkpoint_p.bind(*given, jaxpr=program, **params)), iter(nonzero_in)
    return [
        (next(found) if next(flags) else ad.Zero(x.aval)) if is_linear else None
        for x, is_linear in zip(args, linear, strict=True)
    ]


def _dce(used_outputs: Sequence[bool], eqn: core.JaxprEqn) -> Any:
    closed = eqn.params["jaxpr"]
    trimmed, used_inputs = core.dce_jaxpr(closed.jaxpr, used_outputs)
    if all(used_outputs) and all(used_inputs) and len(trimmed.eqns) == len(closed.eqns):
        return used_inputs, eqn
    if not trimmed.eqns and not any(used_outputs):
        return used_inputs, None
    key = ("trimmed", tuple(used_outputs))
    program = core.cached(closed, key, lambda: core.ClosedJaxpr(trimmed, closed.consts))
    invars = [v for v, used in zip(eqn.invars, used_inputs, strict=True) if used]
    outvars = [v for v, used in zip(eqn.outvars, used_outputs, strict=True) if used]
    params = {**eqn.params, "jaxpr": program}
    return used_inputs, eqn.replace(invars=invars, outvars=outvars, params=params, effects=trimmed.effects)


def _lowering(
    ctx: mlir.LoweringRuleContext,
    *args: Any,
    jaxpr: core.ClosedJaxpr,
    prevent_cse: bool,
    differentiated: bool,
    **params: Any,
) -> Any:
    """What is computed again is computed from copies behind a barrier, or else XLA would find it has it already."""
    if differentiated and prevent_cse and args:
        args = mlir.hlo.OptimizationBarrierOp(args).results
    return mlir.inline_jaxpr(ctx, jaxpr, args)


def _interpret(interpreter: Any, eqn: core.JaxprEqn, *values: Any) -> Any:
    def bind(closed: core.ClosedJaxpr, args: Any) -> Any:
        return checkpoint_p.bind(*args, **{**eqn.params, "jaxpr": closed})

    return interpreter.call(eqn.params["jaxpr"], values, bind)


rules = {
    "impl": _impl,
    "effectful_abstract_eval": _abstract_eval,
    "jvp": _jvp,
    "transpose": _transpose,
    "axis_batch": _batch,
    "lowering": _lowering,
    "partial_eval_jaxpr": _partial_eval_jaxpr,
    "dce": _dce,
    "check": _check,
    "interpret": _interpret,
}
