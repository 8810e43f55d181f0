"""`while_p`: the primitive behind `while_loop`, with its rules."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import compress
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import Array, get_aval
from primax.extend.held_programs import (
    cut,
    fixpoint,
    given,
    lifted,
    nonzero_flags,
    reordered,
    sections,
    tangents_of,
    trimmed,
    without_effects,
)
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.interpreters import partial_eval as pe
from primax.extend.provisional.avals import WEAKNESS, same_type
from primax.extend.provisional.tracing import moved_effects
from primax.extend.provisional.user_types import choose
from primax.extend.rule_types import Table
from primax.extend.source_info_util import current, user_context
from primax.plugins.control_flow.compiled import run_compiled
from primax.plugins.control_flow.elements import one_by_one
from primax.plugins.control_flow.stand_ins import may_not_end, with_stand_ins
from primax.plugins.reductions import reduce_or
from primax.plugins.structural import broadcast_in_dim, stop_gradient

while_p = core.Primitive("while", multiple_results=True)

Closed = core.ClosedJaxpr


def _impl(*args: Any, **params: Any) -> list[Any]:
    return run_compiled(while_p, params["body_jaxpr"], args, params)


def _abstract_eval(*avals: Any, body_jaxpr: Closed, **params: Any) -> tuple[Any, Any]:
    return body_jaxpr.out_avals, _effects(body_jaxpr=body_jaxpr, **params)


def _effects(*, cond_nconsts: int, cond_jaxpr: Closed, body_nconsts: int, body_jaxpr: Closed) -> Any:
    """The effects of both programs; the constants of each precede the carry."""
    of_cond = moved_effects(cond_jaxpr.effects, lambda i: i if i < cond_nconsts else i + body_nconsts)
    return of_cond | moved_effects(body_jaxpr.effects, lambda i: i + cond_nconsts)


def _check(
    context: Any, *atoms: Any, cond_nconsts: int, cond_jaxpr: Closed, body_nconsts: int, body_jaxpr: Closed
) -> tuple[Any, Any]:
    cond_consts, body_consts, carry = sections(atoms, cond_nconsts, body_nconsts)
    context.check_operands(cond_jaxpr, [*cond_consts, *carry])
    context.check_operands(body_jaxpr, [*body_consts, *carry])
    (pred,) = cond_jaxpr.out_avals
    if pred.shape or pred.dtype != np.bool_:
        raise core.JaxprTypeError(f"the condition of a while is {pred.str_short()}, but must be bool[]")
    for i, (out, atom) in enumerate(zip(body_jaxpr.out_avals, carry, strict=True)):
        if not same_type(out, atom.aval, WEAKNESS):
            raise core.JaxprTypeError(f"carry {i} is {atom.aval.str_short()}, but the body returns {out.str_short()}")
    return body_jaxpr.out_avals, _effects(
        cond_nconsts=cond_nconsts, cond_jaxpr=cond_jaxpr, body_nconsts=body_nconsts, body_jaxpr=body_jaxpr
    )


def _jvp(
    primals: Any, tangents: Any, *, cond_nconsts: int, cond_jaxpr: Closed, body_nconsts: int, body_jaxpr: Closed
) -> tuple[Any, Any]:
    counts = cond_nconsts, body_nconsts
    _, const_nz, carry_nz = sections(nonzero_flags(tangents), *counts)

    def with_carry(carry_nz: list[bool]) -> tuple[Closed, list[bool]]:
        return ad.jvp_jaxpr(body_jaxpr, [*const_nz, *carry_nz], carry_nz)

    program, carry_nz = fixpoint(with_carry, carry_nz)
    cond_consts, consts, carry = sections(primals, *counts)
    _, const_ts, carry_ts = sections(tangents, *counts)
    new_consts = [*consts, *given(const_ts)]
    moving = [*carry, *map(ad.instantiate_zeros, compress(carry_ts, carry_nz))]

    def dual() -> tuple[Closed, Closed]:
        own_consts, own, const_dots, dots = sections(program.jaxpr.invars, body_nconsts, len(carry), sum(const_nz))
        ignored = [core.Var(v.aval) for v in dots]
        return (
            reordered(cond_jaxpr, [*cond_jaxpr.jaxpr.invars, *ignored]),
            reordered(program, [*own_consts, *const_dots, *own, *dots]),
        )

    key = ("loop with tangents", cond_jaxpr, body_nconsts, sum(const_nz))
    dual_cond, dual_body = core.cached(program, key, dual)
    with user_context(current()):  # for the error of a transposition
        outs = while_p.bind(
            *cond_consts,
            *new_consts,
            *moving,
            cond_nconsts=cond_nconsts,
            cond_jaxpr=dual_cond,
            body_nconsts=len(new_consts),
            body_jaxpr=dual_body,
        )
    primals_out, out_tangents = sections(outs, len(carry))
    return primals_out, tangents_of(primals_out, carry_nz, out_tangents)


def _batch(
    axis: batching.AxisData,
    args: Any,
    dims: Any,
    *,
    cond_nconsts: int,
    cond_jaxpr: Closed,
    body_nconsts: int,
    body_jaxpr: Closed,
) -> tuple[Any, Any]:
    cond_dims, const_dims, init_dims = sections(dims, cond_nconsts, body_nconsts)

    def with_carry(batched: list[bool]) -> tuple[tuple[Any, ...], list[bool]]:
        carry_dims = [0 if b else None for b in batched]
        body, out_dims = batching.batch_jaxpr(body_jaxpr, axis, [*const_dims, *carry_dims], batched)
        pred, (pred_dim,) = batching.batch_jaxpr(cond_jaxpr, axis, [*cond_dims, *carry_dims])
        return (body, pred, pred_dim, carry_dims), [pred_dim is not None or d is not None for d in out_dims]

    (body, pred, pred_dim, carry_dims), batched = fixpoint(with_carry, [d is not None for d in init_dims])
    cond_consts, consts, init = sections(args, cond_nconsts, body_nconsts)
    init = [batching.stacked(axis, x, d, 0) if b else x for x, d, b in zip(init, init_dims, batched, strict=True)]
    # An effect with the attribute `whole_batch` is one of all elements together.
    if pred_dim is not None and not all(getattr(e, "whole_batch", False) for e in (*pred.effects, *body.effects)):
        params = {
            "cond_nconsts": cond_nconsts,
            "cond_jaxpr": cond_jaxpr,
            "body_nconsts": body_nconsts,
            "body_jaxpr": body_jaxpr,
        }
        return one_by_one(
            "while_loop", axis, args, dims, (cond_jaxpr, body_jaxpr), functools.partial(while_p.bind, **params)
        )
    if pred_dim is not None:
        moving = [*const_dims, *carry_dims] if may_not_end(axis, body_jaxpr) else None
        pred, body = _until_all_are_done(axis, pred, body, cond_nconsts, moving)
        consts = [*cond_consts, *consts]
    outs = while_p.bind(
        *cond_consts,
        *consts,
        *init,
        cond_nconsts=cond_nconsts,
        cond_jaxpr=pred,
        body_nconsts=len(consts),
        body_jaxpr=body,
    )
    return outs, carry_dims


def _until_all_are_done(
    axis: batching.AxisData, pred: Closed, body: Closed, cond_nconsts: int, dims: Sequence[int | None] | None
) -> tuple[Closed, Closed]:
    """A loop over a batch continues while any element does; elements that are done keep their carry.

    With `dims`, the batch axes of the body's operands, the operands of another element replace those of such elements.
    """
    body_nconsts = len(body.jaxpr.invars) - len(body.jaxpr.outvars)

    def any_left(*args: Any) -> list[Any]:
        (active,) = core.eval_jaxpr(pred.jaxpr, pred.consts, *args)
        return [reduce_or(active, (0,))]

    def step(*args: Any) -> list[Any]:
        cond_consts, _, carry = sections(args, cond_nconsts, body_nconsts)
        # The condition has no derivative, although the step does.
        fixed = stop_gradient([pred.consts, cond_consts, carry])
        (active,) = core.eval_jaxpr(pred.jaxpr, fixed[0], *fixed[1], *fixed[2])
        operands = args[cond_nconsts:]
        new = core.eval_jaxpr(
            body.jaxpr, body.consts, *(operands if dims is None else with_stand_ins(active, operands, dims))
        )
        return [choose(active, pair) for pair in zip(carry, new, strict=True)]

    cond_avals = pred.in_avals[:cond_nconsts]
    return core.cached(
        body,
        ("until all are done", pred, None if dims is None else tuple(dims)),
        lambda: (
            core.trace_to_jaxpr(any_left, pred.in_avals, "any_left"),
            core.trace_to_jaxpr(step, [*cond_avals, *body.in_avals], body.jaxpr.debug_info),
        ),
    )


def _broadcast_predicate(which: Any, x: Any) -> Array:
    """A boolean for each element of the batch, broadcast to the shape of a carry."""
    return broadcast_in_dim(which, get_aval(x).shape, (0,))


def _known_body(body: Closed, unknown_in: Sequence[bool], body_nconsts: int) -> tuple[Closed, list[bool]]:
    """The part of the body that computes the known carries from known inputs, and which carries are unknown."""
    const_unknown, carry_unknown = sections(unknown_in, body_nconsts)

    def with_carry(carry_unknown: list[bool]) -> tuple[pe.PartialEval, list[bool]]:
        split = pe.partial_eval_jaxpr(body, [*const_unknown, *carry_unknown], carry_unknown)
        return split, split.unknown_out

    split, carry_unknown = fixpoint(with_carry, carry_unknown)
    count = len(carry_unknown) - sum(carry_unknown)
    jaxpr = split.known.jaxpr
    trimmed, _ = core.dce_jaxpr(jaxpr, [i < count for i in range(len(jaxpr.outvars))], True)
    return core.ClosedJaxpr(trimmed, split.known.consts), carry_unknown


class _Known:
    """The loop over the known values, if they determine the number of steps."""

    def __init__(self, unknown: Sequence[bool], params: dict[str, Any]) -> None:
        cond_nconsts, body_nconsts = params["cond_nconsts"], params["body_nconsts"]
        cond_unknown, const_unknown, carry_unknown = sections(unknown, cond_nconsts, body_nconsts)
        body, self.carry_unknown = _known_body(params["body_jaxpr"], [*const_unknown, *carry_unknown], body_nconsts)
        cond = pe.partial_eval_jaxpr(params["cond_jaxpr"], [*cond_unknown, *self.carry_unknown])
        self.exists = not all(self.carry_unknown) and not cond.unknown_out[0]
        self.takes = [not u for u in (*cond_unknown, *const_unknown, *self.carry_unknown)]
        jaxpr = cond.known.jaxpr
        trimmed, _ = core.dce_jaxpr(jaxpr, [i == 0 for i in range(len(jaxpr.outvars))], True)
        self.params = {
            "cond_nconsts": cond_nconsts - sum(cond_unknown),
            "cond_jaxpr": core.ClosedJaxpr(trimmed, cond.known.consts),
            "body_nconsts": body_nconsts - sum(const_unknown),
            "body_jaxpr": body,
        }


def _known(unknown: Sequence[bool], params: dict[str, Any]) -> _Known:
    key = ("known", params["cond_jaxpr"], tuple(unknown), params["cond_nconsts"])
    return core.cached(params["body_jaxpr"], key, lambda: _Known(unknown, params))


def _partial_eval_jaxpr(unknown_in: Sequence[bool], eqn: core.JaxprEqn) -> tuple[Any, Any, Any]:
    """A separate loop computes the known values; the rest is the whole loop, without the effects of the first."""
    known = _known(unknown_in, eqn.params)
    if not known.exists:
        return None, eqn, [True] * len(eqn.outvars)
    if eqn.effects and any(without_effects(known.params[name]).effects for name in ("cond_jaxpr", "body_jaxpr")):
        return None, eqn, [True] * len(eqn.outvars)
    rest = [v if u else core.DropVar(v.aval) for v, u in zip(eqn.outvars, known.carry_unknown, strict=True)]
    effects = _effects(**known.params)
    known_eqn = cut(eqn, known.takes, [not u for u in known.carry_unknown], known.params, effects)
    if not effects:
        return known_eqn, eqn.replace(outvars=rest), known.carry_unknown
    consts_unknown = sections(unknown_in, eqn.params["cond_nconsts"], eqn.params["body_nconsts"])[1]
    body = without_effects(eqn.params["body_jaxpr"], [*consts_unknown, *known.carry_unknown])
    params = {**eqn.params, "cond_jaxpr": without_effects(eqn.params["cond_jaxpr"]), "body_jaxpr": body}
    return known_eqn, eqn.replace(outvars=rest, params=params, effects=_effects(**params)), known.carry_unknown


def _transpose(cts: Any, *args: Any, **params: Any) -> list[Any]:
    raise ValueError(
        "while_loop cannot be differentiated in reverse mode, since the number of its steps, and so of the values to "
        "save, is unknown; use scan, or fori_loop with bounds that are Python integers, or differentiate in forward "
        "mode (jvp, jacfwd)"
    )


def _dce(used_outputs: Sequence[bool], eqn: core.JaxprEqn) -> tuple[Any, Any]:
    params = eqn.params
    cond_nconsts, body_nconsts = params["cond_nconsts"], params["body_nconsts"]
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    cond_jaxpr, body_jaxpr = params["cond_jaxpr"], params["body_jaxpr"]
    cond_used = trimmed(cond_jaxpr, [True])[1][cond_nconsts:]

    def with_carry(carry: list[bool]) -> tuple[list[bool], list[bool]]:
        used = trimmed(body_jaxpr, carry)[1]
        return used, used[body_nconsts:]

    body_used, carry = fixpoint(with_carry, [a or b for a, b in zip(used_outputs, cond_used, strict=True)])
    keep_body = [*body_used[:body_nconsts], *carry]
    body, _ = trimmed(body_jaxpr, carry, keep_body)
    if body is body_jaxpr:
        return [True] * len(eqn.invars), eqn
    keep_cond = [*[True] * cond_nconsts, *carry]
    cond = core.cached(
        cond_jaxpr,
        ("with carry", tuple(carry)),
        lambda: reordered(cond_jaxpr, compress(cond_jaxpr.jaxpr.invars, keep_cond)),
    )
    new = {
        "cond_nconsts": cond_nconsts,
        "cond_jaxpr": cond,
        "body_nconsts": sum(keep_body[:body_nconsts]),
        "body_jaxpr": body,
    }
    keep = [*[True] * cond_nconsts, *keep_body]
    return keep, cut(eqn, keep, carry, new, _effects(**new))


def _lowering(
    ctx: mlir.LoweringRuleContext,
    *args: Any,
    cond_nconsts: int,
    cond_jaxpr: Closed,
    body_nconsts: int,
    body_jaxpr: Closed,
) -> list[Any]:
    """A loop whose state is the tokens, the constants of both functions, and the carry."""
    hlo, ir = mlir.hlo, mlir.ir
    ordered = list(ctx.tokens_in or ())
    tokens = [ctx.tokens_in[effect] for effect in ordered]
    state = [*tokens, *args]
    types = [x.type for x in state]
    loop = hlo.WhileOp(types, state)

    def inside(
        part: str, arguments: Sequence[Any], closed: Closed, operands: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        current = dict(zip(ordered, arguments, strict=False))
        inner = ctx.replace(avals_in=closed.in_avals, avals_out=closed.out_avals, tokens_in=current)
        outs = mlir.inline_jaxpr(inner, closed, operands, f"while/{part}")
        current.update(inner.tokens_out or {})
        return [current[effect] for effect in ordered], outs

    with ir.InsertionPoint(loop.regions[0].blocks.append(*types)) as point:
        arguments = list(point.block.arguments)
        cond_consts, _, carry = sections(arguments[len(ordered) :], cond_nconsts, body_nconsts)
        _, (pred,) = inside("cond", arguments, cond_jaxpr, [*cond_consts, *carry])
        hlo.return_([pred])
    with ir.InsertionPoint(loop.regions[1].blocks.append(*types)) as point:
        arguments = list(point.block.arguments)
        cond_consts, consts, carry = sections(arguments[len(ordered) :], cond_nconsts, body_nconsts)
        new_tokens, new = inside("body", arguments, body_jaxpr, [*consts, *carry])
        hlo.return_([*new_tokens, *cond_consts, *consts, *new])
    results = list(loop.results)
    if ordered:
        ctx.set_tokens_out(dict(zip(ordered, results, strict=False)))
    return results[len(ordered) + cond_nconsts + body_nconsts :]


def _close_over(args: Any, params: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    cond, of_cond = lifted(params["cond_jaxpr"])
    body, of_body = lifted(params["body_jaxpr"])
    cond_consts, rest = sections(args, params["cond_nconsts"])
    changes = {
        "cond_jaxpr": cond,
        "cond_nconsts": params["cond_nconsts"] + len(of_cond),
        "body_jaxpr": body,
        "body_nconsts": params["body_nconsts"] + len(of_body),
    }
    return [*of_cond, *cond_consts, *of_body, *rest], {**params, **changes}


RULES: Table = {
    while_p: {
        "impl": _impl,
        "effectful_abstract_eval": _abstract_eval,
        "jvp": _jvp,
        "transpose": _transpose,
        "axis_batch": _batch,
        "lowering": _lowering,
        "partial_eval_jaxpr": _partial_eval_jaxpr,
        "dce": _dce,
        "check": _check,
        "close_over": _close_over,
    },
}
