"""`custom_jvp_call_p`: a call of a function with a custom JVP rule."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any

from primax.extend.held_programs import checked_types, given, nonzero_flags, sections, tangents_of
from primax.extend.interpreters import ad, batching
from primax.extend.provisional.sharding import keep_vma, vary, vma_of
from primax.extend.rule_types import Table
from primax.plugins.custom_derivatives.calls import (
    Batch,
    as_operands,
    call_abstract_eval,
    call_close_over,
    call_impl,
    call_lowering,
    call_transpose,
    in_place,
    interpret_call,
    is_forwarded,
    refuse_closed_over,
    staging_rule,
)
from primax.plugins.custom_derivatives.jax_traces import CustomJvpCall

custom_jvp_call_p = CustomJvpCall("custom_jvp_call", multiple_results=True)


def _jvp(primals: Any, tangents: Any, *, jvp: Any, name: str, num_consts: int, **params: Any) -> tuple[Any, Any]:
    refuse_closed_over(name, primals[:num_consts], tangents[:num_consts])
    outs, out_tangents = jvp(as_operands(primals[num_consts:]), tangents[num_consts:])
    pairs = zip(outs, out_tangents, strict=True)
    return outs, [ad.Zero.from_primal_value(x) if is_forwarded(x) else _varying_with(x, t) for x, t in pairs]


def _varying_with(x: Any, tangent: Any) -> Any:
    """The tangent of a result, converted to vary along the mesh axes along which the result may vary."""
    return tangent if type(tangent) is ad.Zero else vary(tangent, vma_of(x))


def _batch(
    axis: batching.AxisData, args: Any, dims: Any, *, call_jaxpr: Any, jvp: Any, num_consts: int, **params: Any
) -> tuple[Any, Any]:
    batch = Batch(axis, call_jaxpr, dims)
    if not batch.is_needed:
        outs = custom_jvp_call_p.bind(*args, call_jaxpr=call_jaxpr, jvp=jvp, num_consts=num_consts, **params)
        return outs, [None] * len(outs)
    own = list(dims[num_consts:])

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return batched_rule(batch, jvp, own, primals, tangents)

    outs = custom_jvp_call_p.bind(*args, call_jaxpr=batch.function, jvp=rule, num_consts=num_consts, **params)
    return outs, batch.out_dims(outs)


def batched_rule(
    batch: Batch, jvp: Any, dims: Sequence[Any], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Results of a rule for a batch: primals and tangents have the batch axes of the results; zeros stay symbolic."""
    nonzero = nonzero_flags(tangents)
    nonzero_out: list[bool] = []
    count = len(primals)

    def run(*xs: Any) -> list[Any]:
        outs, out_tangents = jvp(xs[:count], tangents_of(xs[:count], nonzero, xs[count:]))
        nonzero_out.extend(nonzero_flags(out_tangents))
        return [*outs, *given(out_tangents)]

    placed = batch.placed(*batch.run(run, [*primals, *given(tangents)], [*dims, *compress(dims, nonzero)]))
    outs, out_tangents = sections(placed, len(nonzero_out))
    return outs, tangents_of(outs, nonzero_out, out_tangents)


def _narrowed(params: dict[str, Any], kept: Sequence[bool], out_avals: Sequence[Any]) -> dict[str, Any]:
    """The parameters of a call after some of its results were removed."""
    jvp = params["jvp"]

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        outs, out_tangents = jvp(primals, tangents)
        return list(compress(outs, kept)), list(compress(out_tangents, kept))

    return {**params, "jvp": rule}


RULES: Table = {
    custom_jvp_call_p: {
        "impl": call_impl,
        "effectful_abstract_eval": call_abstract_eval,
        "jvp": _jvp,
        "transpose": call_transpose,
        "axis_batch": _batch,
        "lowering": call_lowering,
        "partial_eval": in_place,
        "staging": staging_rule(custom_jvp_call_p, _narrowed),
        "check": checked_types("call_jaxpr"),
        "close_over": call_close_over,
        "interpret": interpret_call,
        "print": lambda params: {name: params[name] for name in ("name", "call_jaxpr")},
        "variance": keep_vma,
    },
}
