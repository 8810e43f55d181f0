"""`custom_vmap_call_p`: a call of a function that says itself how it is mapped, with its rules.

A rule on flat lists is `(size, in_batched, values) -> (outs, out_batched)`: mapped values have their axis in front.
Derivatives of the call have rules that are derivatives of the rule, so that it is used on the way back too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import dtypes
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.interpreters import partial_eval as pe
from primax.plugins.calls import evaluate

__all__ = ["custom_vmap_call_p", "rules"]

custom_vmap_call_p = core.Primitive("custom_vmap_call", multiple_results=True)

Rule = Callable[[int, Sequence[bool], Sequence[Any]], tuple[list[Any], list[bool]]]


def _impl(*args: Any, call: core.ClosedJaxpr, **params: Any) -> Any:
    return evaluate(call, args)


def _abstract_eval(*avals: Any, call: core.ClosedJaxpr, **params: Any) -> Any:
    return call.out_avals, call.effects


def _check(context: Any, *atoms: Any, call: core.ClosedJaxpr, **params: Any) -> Any:
    context.check_operands(call, atoms)
    return call.out_avals, call.effects


def _batch(axis: batching.AxisData, args: Any, dims: Any, *, call: core.ClosedJaxpr, rule: Rule, name: str) -> Any:
    if all(d is None for d in dims):
        if axis.name in core.named_axes(call):  # the rule is about arguments, and none is mapped
            program, out_dims = batching.batch_jaxpr(call, axis, dims)
            return core.eval_jaxpr(program.jaxpr, program.consts, *args), out_dims
        outs = custom_vmap_call_p.bind(*args, call=call, rule=rule, name=name)
        return outs, [None] * len(outs)
    values = [x if d is None else batching.moveaxis(x, d, 0) for x, d in zip(args, dims, strict=True)]
    outs, batched = rule(axis.size, [d is not None for d in dims], values)
    return outs, [0 if b else None for b in batched]


def _jvp(primals: Any, tangents: Any, *, call: core.ClosedJaxpr, rule: Rule, name: str) -> Any:
    nonzero = [type(t) is not ad.Zero for t in tangents]
    moving = [dtypes.issubdtype(aval.dtype, np.inexact) for aval in call.out_avals]
    program, _ = ad.jvp_jaxpr(call, nonzero, moving)
    given = [t for t in tangents if type(t) is not ad.Zero]
    outs = custom_vmap_call_p.bind(
        *primals, *given, call=program, rule=_rule_of_jvp(rule, nonzero, moving), name=f"jvp({name})"
    )
    found = iter(outs[len(moving) :])
    return outs[: len(moving)], [
        next(found) if m else ad.Zero.from_primal_value(x) for x, m in zip(outs[: len(moving)], moving, strict=True)
    ]


def _rule_of_jvp(rule: Rule, nonzero: Sequence[bool], moving: Sequence[bool]) -> Rule:
    """The rule of the derivative: the derivative of the rule. A primal is mapped where its tangent is."""

    def mapped(size: int, batched: Sequence[bool], values: Sequence[Any]) -> tuple[list[Any], list[bool]]:
        count = len(nonzero)
        given = iter(zip(values[count:], batched[count:], strict=True))
        joint, primals, tangents = [], [], []
        for x, b, nz in zip(values[:count], batched[:count], nonzero, strict=True):
            t, t_batched = next(given) if nz else (None, False)
            joint.append(b or t_batched)
            primals.append(_mapped(x, size, b, joint[-1]))
            tangents.append(_mapped(t, size, t_batched, joint[-1]) if nz else ad.Zero.from_primal_value(primals[-1]))
        flags: list[bool] = []

        def run(*xs: Any) -> list[Any]:
            outs, out_batched = rule(size, joint, xs)
            flags[:] = out_batched
            return outs

        outs, out_tangents = ad.jvp_flat(run, primals, tangents)
        kept = [ad.instantiate_zeros(t) for t, m in zip(out_tangents, moving, strict=True) if m]
        return [*outs, *kept], [*flags, *(b for b, m in zip(flags, moving, strict=True) if m)]

    return mapped


def _mapped(x: Any, size: int, batched: bool, wanted: bool) -> Any:
    return batching.broadcast(x, size, 0) if wanted and not batched else x


class _Split:
    """A call split into what is known of its results, and the rest, which is linear in what is not known."""

    def __init__(self, unknown: Sequence[bool], params: dict[str, Any]) -> None:
        call, rule, name = params["call"], params["rule"], params["name"]
        self.unknown_out = pe.partial_eval_jaxpr(call, unknown).unknown_out
        known_out = [not u for u in self.unknown_out]
        absent = [aval for aval, u in zip(call.in_avals, unknown, strict=True) if u]
        known, _ = core.dce_jaxpr(call.jaxpr, known_out, [not u for u in unknown])
        rest, _ = core.dce_jaxpr(call.jaxpr, self.unknown_out, True)

        def known_rule(size: int, batched: Sequence[bool], values: Sequence[Any]) -> tuple[list[Any], list[bool]]:
            zeros, given = iter(map(ad.zeros_like_aval, absent)), iter(zip(values, batched, strict=True))
            both = [(next(zeros), False) if u else next(given) for u in unknown]
            return _picked(rule(size, [b for _, b in both], [x for x, _ in both]), known_out)

        def rest_rule(size: int, batched: Sequence[bool], values: Sequence[Any]) -> tuple[list[Any], list[bool]]:
            return _picked(rule(size, batched, values), self.unknown_out)

        self.known = {"call": core.ClosedJaxpr(known, call.consts), "rule": known_rule, "name": name}
        self.rest = {"call": core.ClosedJaxpr(rest, call.consts), "rule": rest_rule, "name": name}


def _picked(results: tuple[list[Any], list[bool]], flags: Sequence[bool]) -> tuple[list[Any], list[bool]]:
    outs, batched = results
    return [x for x, f in zip(outs, flags, strict=True) if f], [b for b, f in zip(batched, flags, strict=True) if f]


def _split(unknown: Sequence[bool], params: dict[str, Any]) -> _Split:
    key = ("split custom_vmap", tuple(unknown), params["rule"])
    return core.cached(params["call"], key, lambda: _Split(unknown, params))  # type: ignore[no-any-return]


def _partial_eval_jaxpr(unknown_in: Sequence[bool], eqn: core.JaxprEqn) -> Any:
    split = _split(unknown_in, eqn.params)
    known_eqn = unknown_eqn = None
    if not all(split.unknown_out):
        known_eqn = eqn.replace(
            invars=[v for v, u in zip(eqn.invars, unknown_in, strict=True) if not u],
            outvars=[v for v, u in zip(eqn.outvars, split.unknown_out, strict=True) if not u],
            params=split.known,
        )
    if any(split.unknown_out):
        outvars = [v for v, u in zip(eqn.outvars, split.unknown_out, strict=True) if u]
        unknown_eqn = eqn.replace(outvars=outvars, params=split.rest)
    return known_eqn, unknown_eqn, split.unknown_out


def _transpose(cts: Any, *args: Any, call: core.ClosedJaxpr, rule: Rule, name: str) -> Any:
    linear = [type(x) is ad.UndefinedPrimal for x in args]
    nonzero = [type(ct) is not ad.Zero for ct in cts]
    program, flags = ad.transpose_jaxpr(call, linear, nonzero)
    given = [x for x in args if type(x) is not ad.UndefinedPrimal] + [ct for ct in cts if type(ct) is not ad.Zero]
    transposed = _rule_of_transpose(call, rule, linear, nonzero, flags)
    found = iter(custom_vmap_call_p.bind(*given, call=program, rule=transposed, name=f"transpose({name})"))
    kept = iter(flags)
    return [
        (next(found) if next(kept) else ad.Zero(x.aval)) if is_linear else None
        for x, is_linear in zip(args, linear, strict=True)
    ]


def _rule_of_transpose(
    call: core.ClosedJaxpr, rule: Rule, linear: Sequence[bool], nonzero: Sequence[bool], kept: Sequence[bool]
) -> Rule:
    """The rule of the transpose: the transpose of the rule, all of whose linear arguments are mapped."""

    def mapped(size: int, batched: Sequence[bool], values: Sequence[Any]) -> tuple[list[Any], list[bool]]:
        count = linear.count(False)
        avals = [a.unmapped(size, 0) for a, is_linear in zip(call.in_avals, linear, strict=True) if is_linear]
        flags: list[bool] = []

        def run(*xs: Any) -> list[Any]:
            own, others = iter(xs), iter(zip(values[:count], batched[:count], strict=True))
            both = [(next(own), True) if is_linear else next(others) for is_linear in linear]
            outs, out_batched = rule(size, [b for _, b in both], [x for x, _ in both])
            flags[:] = out_batched
            return outs

        tape = ad.linear_tape(run, avals)
        given = iter(zip(values[count:], batched[count:], strict=True))
        cts = []
        for aval, b, nz in zip(call.out_avals, flags, nonzero, strict=True):
            tangent = aval.to_tangent_aval()
            ct, ct_batched = next(given) if nz else (None, False)
            if not nz or not b:  # a result that is the same for all elements depends on nothing that is mapped
                cts.append(ad.Zero(tangent.unmapped(size, 0) if b else tangent))
            else:
                cts.append(_mapped(ct, size, ct_batched, True))
        found = [ad.instantiate_zeros(ct) for ct, k in zip(tape.transpose(cts), kept, strict=True) if k]
        return found, [True] * len(found)

    return mapped


def _lowering(ctx: mlir.LoweringRuleContext, *args: Any, call: core.ClosedJaxpr, name: str, **params: Any) -> Any:
    return mlir.call_jaxpr(ctx, name, call, args)


def _interpret(interpreter: Any, eqn: core.JaxprEqn, *values: Any) -> Any:
    return interpreter.interpret(eqn.params["call"], *values)


def _printed(params: dict[str, Any]) -> dict[str, Any]:
    return {name: params[name] for name in ("name", "call")}


rules = {
    "impl": _impl,
    "effectful_abstract_eval": _abstract_eval,
    "jvp": _jvp,
    "transpose": _transpose,
    "axis_batch": _batch,
    "lowering": _lowering,
    "partial_eval_jaxpr": _partial_eval_jaxpr,
    "check": _check,
    "interpret": _interpret,
    "print": _printed,
}
