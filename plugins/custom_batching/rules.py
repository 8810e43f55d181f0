"""`custom_vmap_call_p`: a call of a function with a custom `vmap` rule, with its rules.

A rule on flat lists is `(size, in_batched, values) -> (outs, out_batched)`; mapped values have the axis first.
Derivatives of the call have the derivatives of the rule as rules, so reverse mode uses the rule, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import named_axes
from primax.extend.held_programs import (
    SplitEquation,
    checked_types,
    cotangents,
    given,
    held_types,
    lifted,
    linear_flags,
    merge,
    nonzero_flags,
    sections,
    tangents_of,
    trimmed,
    without_effects,
)
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.interpreters import partial_eval as pe
from primax.extend.provisional.derivatives import linear_tape
from primax.extend.rule_types import Table
from primax.plugins.calls import evaluate

custom_vmap_call_p = core.Primitive("custom_vmap_call", multiple_results=True)

Rule = Callable[[int, Sequence[bool], Sequence[Any]], tuple[list[Any], list[bool]]]


def _impl(*args: Any, call: core.ClosedJaxpr, **params: Any) -> list[Any]:
    return evaluate(call, args)


def _batch(
    axis: batching.AxisData, args: Any, dims: Any, *, call: core.ClosedJaxpr, rule: Rule, name: str
) -> tuple[Any, Any]:
    if all(d is None for d in dims):
        if axis.name in named_axes(call):  # the rule is for mapped arguments, and there are none
            program, out_dims = batching.batch_jaxpr(call, axis, dims)
            return core.eval_jaxpr(program.jaxpr, program.consts, *args), out_dims
        outs = custom_vmap_call_p.bind(*args, call=call, rule=rule, name=name)
        return outs, [None] * len(outs)
    values = [x if d is None else batching.moveaxis(x, d, 0) for x, d in zip(args, dims, strict=True)]
    outs, batched = rule(axis.size, [d is not None for d in dims], values)
    return outs, [0 if b else None for b in batched]


def _jvp(primals: Any, tangents: Any, *, call: core.ClosedJaxpr, rule: Rule, name: str) -> tuple[Any, Any]:
    nonzero = nonzero_flags(tangents)
    moving = [dtypes.issubdtype(aval.dtype, np.inexact) for aval in call.out_avals]
    program, _ = ad.jvp_jaxpr(call, nonzero, moving)
    derived = {"call": program, "rule": _rule_of_jvp(rule, nonzero, moving), "name": f"jvp({name})"}
    primals_out, out_tangents = sections(custom_vmap_call_p.bind(*primals, *given(tangents), **derived), len(moving))
    return primals_out, tangents_of(primals_out, moving, out_tangents)


def _rule_of_jvp(rule: Rule, nonzero: Sequence[bool], moving: Sequence[bool]) -> Rule:
    """The rule of the derivative: the derivative of the rule. A primal is mapped if its tangent is."""

    def mapped(size: int, batched: Sequence[bool], values: Sequence[Any]) -> tuple[list[Any], list[bool]]:
        count = len(nonzero)
        dots = iter(zip(values[count:], batched[count:], strict=True))
        joint, primals, tangents = [], [], []
        for x, b, nz in zip(values[:count], batched[:count], nonzero, strict=True):
            t, t_batched = next(dots) if nz else (None, False)
            joint.append(b or t_batched)
            primals.append(_mapped(x, size, b, joint[-1]))
            tangents.append(_mapped(t, size, t_batched, joint[-1]) if nz else ad.Zero.from_primal_value(primals[-1]))
        flags: list[bool] = []

        def run(*xs: Any) -> list[Any]:
            outs, out_batched = rule(size, joint, xs)
            flags[:] = out_batched
            return outs

        outs, out_tangents = ad.jvp_flat(run, primals, tangents)
        kept = map(ad.instantiate_zeros, compress(out_tangents, moving))
        return [*outs, *kept], [*flags, *compress(flags, moving)]

    return mapped


def _mapped(x: Any, size: int, batched: bool, required: bool) -> Any:
    return batching.broadcast(x, size, 0) if required and not batched else x


class _Split:
    """A call split into its known results and the rest, which is linear in the unknown values."""

    def __init__(self, unknown: Sequence[bool], params: dict[str, Any]) -> None:
        call, rule, name = params["call"], params["rule"], params["name"]
        split = pe.partial_eval_jaxpr(call, unknown)
        self.unknown_out = split.unknown_out
        known_out = [not u for u in self.unknown_out]
        absent = list(compress(call.in_avals, unknown))
        known, _ = trimmed(split.known, [i < sum(known_out) for i in range(len(split.known.out_avals))], True)
        rest, _ = trimmed(without_effects(call, unknown), self.unknown_out, True)

        def known_rule(size: int, batched: Sequence[bool], values: Sequence[Any]) -> tuple[list[Any], list[bool]]:
            zeros = [(ad.zeros_like_aval(aval), False) for aval in absent]
            both = merge(unknown, zip(values, batched, strict=True), zeros)
            return _picked(rule(size, [b for _, b in both], [x for x, _ in both]), known_out)

        def rest_rule(size: int, batched: Sequence[bool], values: Sequence[Any]) -> tuple[list[Any], list[bool]]:
            return _picked(rule(size, batched, values), self.unknown_out)

        self.known = {"call": known, "rule": known_rule, "name": name}
        self.rest = {"call": rest, "rule": rest_rule, "name": name}


def _picked(results: tuple[list[Any], list[bool]], flags: Sequence[bool]) -> tuple[list[Any], list[bool]]:
    outs, batched = results
    return list(compress(outs, flags)), list(compress(batched, flags))


def _split(unknown: Sequence[bool], params: dict[str, Any]) -> _Split:
    key = ("split custom_vmap", tuple(unknown), params["rule"])
    return core.cached(params["call"], key, lambda: _Split(unknown, params))


def _partial_eval_jaxpr(unknown_in: Sequence[bool], eqn: core.JaxprEqn) -> tuple[Any, Any, Any]:
    split = _split(unknown_in, eqn.params)
    halves = SplitEquation(eqn, unknown_in, split.unknown_out, ())
    return (
        halves.known(split.known, split.known["call"].effects),
        halves.rest(eqn.invars, split.rest, split.rest["call"].effects),
        split.unknown_out,
    )


def _transpose(cts: Any, *args: Any, call: core.ClosedJaxpr, rule: Rule, name: str) -> list[Any]:
    linear, nonzero = linear_flags(args), nonzero_flags(cts)
    program, flags = ad.transpose_jaxpr(call, linear, nonzero)
    transposed = _rule_of_transpose(call, rule, linear, nonzero, flags)
    derived = {"call": program, "rule": transposed, "name": f"transpose({name})"}
    return cotangents(args, flags, custom_vmap_call_p.bind(*given(args), *given(cts), **derived))


def _rule_of_transpose(
    call: core.ClosedJaxpr, rule: Rule, linear: Sequence[bool], nonzero: Sequence[bool], kept: Sequence[bool]
) -> Rule:
    """The rule of the transpose: the transpose of the rule, with all linear arguments mapped."""

    def mapped(size: int, batched: Sequence[bool], values: Sequence[Any]) -> tuple[list[Any], list[bool]]:
        count = linear.count(False)
        avals = [aval.unmapped(size, 0) for aval in compress(call.in_avals, linear)]
        flags: list[bool] = []

        def run(*xs: Any) -> list[Any]:
            both = merge(linear, zip(values[:count], batched[:count], strict=True), [(x, True) for x in xs])
            outs, out_batched = rule(size, [b for _, b in both], [x for x, _ in both])
            flags[:] = out_batched
            return outs

        tape = linear_tape(run, avals)
        nonzero_cts = iter(zip(values[count:], batched[count:], strict=True))
        cts = []
        for aval, b, nz in zip(call.out_avals, flags, nonzero, strict=True):
            tangent = aval.to_tangent_aval()
            ct, ct_batched = next(nonzero_cts) if nz else (None, False)
            if not nz or not b:  # a result without the axis depends on no mapped value
                cts.append(ad.Zero(tangent.unmapped(size, 0) if b else tangent))
            else:
                cts.append(_mapped(ct, size, ct_batched, True))
        in_cts = list(map(ad.instantiate_zeros, compress(tape.transpose(cts), kept)))
        return in_cts, [True] * len(in_cts)

    return mapped


def _lowering(ctx: mlir.LoweringRuleContext, *args: Any, call: core.ClosedJaxpr, name: str, **params: Any) -> list[Any]:
    return mlir.call_jaxpr(ctx, name, call, args)


def _close_over(args: Any, params: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    program, values = lifted(params["call"])
    rule, count = params["rule"], len(values)

    def without_values(size: int, batched: Sequence[bool], inputs: Sequence[Any]) -> tuple[list[Any], list[bool]]:
        return rule(size, batched[count:], inputs[count:])

    return [*values, *args], {**params, "call": program, "rule": without_values}


def _interpret(interpreter: Any, eqn: core.JaxprEqn, *values: Any) -> Any:
    return interpreter.interpret(eqn.params["call"], *values)


def _printed(params: dict[str, Any]) -> dict[str, Any]:
    return {name: params[name] for name in ("name", "call")}


RULES: Table = {
    custom_vmap_call_p: {
        "impl": _impl,
        "effectful_abstract_eval": held_types("call"),
        "jvp": _jvp,
        "transpose": _transpose,
        "axis_batch": _batch,
        "lowering": _lowering,
        "partial_eval_jaxpr": _partial_eval_jaxpr,
        "check": checked_types("call"),
        "close_over": _close_over,
        "interpret": _interpret,
        "print": _printed,
    },
}
