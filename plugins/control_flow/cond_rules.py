"""`cond_p`: the primitive behind `cond` and `switch`, with its rules."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import get_aval
from primax.extend.held_programs import (
    SplitEquation,
    all_lifted,
    cotangents,
    cut,
    given,
    linear_flags,
    nonzero_flags,
    reordered,
    sections,
    tangents_of,
    trimmed,
)
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.interpreters import partial_eval as pe
from primax.extend.provisional.avals import WEAKNESS, same_type
from primax.extend.provisional.tracing import moved_effects
from primax.extend.provisional.user_types import choose
from primax.extend.rule_types import Table
from primax.plugins.calls import run_program
from primax.plugins.comparison import eq, ge, le
from primax.plugins.control_flow.elements import one_by_one
from primax.plugins.control_flow.stand_ins import may_not_end, with_stand_ins
from primax.plugins.reductions import reduce_or
from primax.plugins.structural import convert_element_type, stop_gradient

cond_p = core.Primitive("cond", multiple_results=True)

Programs = tuple[core.ClosedJaxpr, ...]


def _impl(index: Any, *args: Any, branches: Programs) -> list[Any]:
    return run_program(branches[min(max(int(np.asarray(index)), 0), len(branches) - 1)], "branch", args)


def _abstract_eval(index: Any, *avals: Any, branches: Programs) -> tuple[Any, Any]:
    return branches[0].out_avals, _effects(branches)


def _effects(branches: Programs) -> Any:
    """The effects of all branches, whose inputs follow the index."""
    return core.no_effects.union(*(moved_effects(branch.effects, lambda i: i + 1) for branch in branches))


def _check(context: Any, index: Any, *atoms: Any, branches: Programs) -> tuple[Any, Any]:
    if index.aval.shape or index.aval.dtype != np.int32:
        raise core.JaxprTypeError(f"the index of a cond is {index.aval.str_short()}, but must be i32[]")
    for i, branch in enumerate(branches):
        context.check_operands(branch, atoms)
        for k, (out, expected) in enumerate(zip(branch.out_avals, branches[0].out_avals, strict=True)):
            if not same_type(out, expected, WEAKNESS):
                raise core.JaxprTypeError(
                    f"output {k} of branch {i} is {out.str_short()}, but of branch 0 it is {expected.str_short()}"
                )
    return _abstract_eval(index, branches=branches)


def _same_outputs(
    derive: Callable[[core.ClosedJaxpr, Any], tuple[Any, Sequence[Any]]], branches: Programs
) -> tuple[tuple[Any, ...], list[bool]]:
    """The program derived from each branch, with all outputs that any of them has, and the flags of these outputs.

    Args:
      derive: takes a branch, and flags of outputs that the derived program must have; returns it and its flags.
      branches: the branches.
    """
    alone = [derive(branch, False)[1] for branch in branches]
    outputs = [any(flags) for flags in zip(*alone, strict=True)]
    return tuple([derive(branch, outputs)[0] for branch in branches]), outputs


def _jvp(primals: Any, tangents: Any, *, branches: Programs) -> tuple[Any, Any]:
    index, *operands = primals
    nonzeros = nonzero_flags(tangents[1:])
    programs, nonzero_out = _same_outputs(lambda branch, outputs: ad.jvp_jaxpr(branch, nonzeros, outputs), branches)
    outs = cond_p.bind(index, *operands, *given(tangents[1:]), branches=programs)
    primals_out, out_tangents = sections(outs, len(nonzero_out))
    return primals_out, tangents_of(primals_out, nonzero_out, out_tangents)


def _batch(axis: batching.AxisData, args: Any, dims: Any, *, branches: Programs) -> tuple[Any, Any]:
    index, *operands = args
    index_dim, *operand_dims = dims
    if index_dim is not None and any(branch.effects for branch in branches):
        return one_by_one("cond", axis, args, dims, branches, functools.partial(cond_p.bind, branches=branches))
    if index_dim is not None:
        return _batch_of_choices(axis, batching.moveaxis(index, index_dim, 0), operands, operand_dims, branches)

    def batched(branch: core.ClosedJaxpr, outputs: Any) -> tuple[core.ClosedJaxpr, list[bool]]:
        program, out_dims = batching.batch_jaxpr(branch, axis, operand_dims, outputs)
        return program, [dim is not None for dim in out_dims]

    programs, batched_out = _same_outputs(batched, branches)
    outs = cond_p.bind(index, *operands, branches=programs)
    return outs, [0 if flag else None for flag in batched_out]


def _batch_of_choices(
    axis: batching.AxisData, index: Any, operands: Any, dims: Any, branches: Programs
) -> tuple[Any, Any]:
    """Every branch for the whole batch; the result of each element is selected by its index."""
    masked = [k for k, x in enumerate(operands) if _has_derivative(x)]
    stacked = list(operands)
    for k in masked:
        stacked[k] = batching.stacked(axis, operands[k], dims[k], 0)
    results = []
    for i, branch in enumerate(branches):
        program, where = _batched(branch, axis, dims, masked)
        inputs = list(operands)
        if may_not_end(axis, branch):
            for k in where:
                inputs[k] = stacked[k]
            own_dims = [0 if k in where else d for k, d in enumerate(dims)]
            results.append(_if_taken(axis, program, _takes(index, i, len(branches)), inputs, own_dims))
            continue
        if where:
            taken = eq(index, get_aval(index).dtype.type(i))
            for k in where:
                inputs[k] = _constant_unless(taken, stacked[k])
        results.append(core.eval_jaxpr(program.jaxpr, program.consts, *inputs))
    which = index if len(branches) > 2 else convert_element_type(index, np.bool_)
    outs = [choose(which, xs) for xs in zip(*results, strict=True)]
    return outs, [0] * len(outs)


def _takes(index: Any, i: int, count: int) -> Any:
    """For each element whether it takes branch `i`; indices beyond the first and last branch stand for these."""
    if i == count - 1:
        return ge(index, np.int32(i))
    return le(index, np.int32(0)) if i == 0 else eq(index, np.int32(i))


def _if_taken(
    axis: batching.AxisData, program: core.ClosedJaxpr, takes: Any, operands: Any, dims: Sequence[Any]
) -> list[Any]:
    """The results of a batched branch whose loops end for the elements that take it; zeros if none does."""

    def zeros(*args: Any) -> list[Any]:
        return [ad.zeros_like_aval(aval) for aval in program.out_avals]

    nothing = core.cached(
        program, ("no element",), lambda: core.trace_to_jaxpr(zeros, program.in_avals, program.jaxpr.debug_info)
    )
    inputs = with_stand_ins(takes, operands, dims)
    return cond_p.bind(convert_element_type(reduce_or(takes, (0,)), np.int32), *inputs, branches=(nothing, program))


def _batched(
    branch: core.ClosedJaxpr, axis: batching.AxisData, dims: Any, masked: list[int]
) -> tuple[core.ClosedJaxpr, list[int]]:
    """A branch for the whole batch, and its operands to mask, which are batched at 0."""
    try:
        of_masked = [0 if k in masked else d for k, d in enumerate(dims)]
        return batching.batch_jaxpr(branch, axis, of_masked, True)[0], masked
    except core.UnexpectedTracerError:  # a function with a batching rule of its own closes over an unbatched operand
        where = [k for k in masked if dims[k] is not None]
        of_masked = [0 if k in where else d for k, d in enumerate(dims)]
        return batching.batch_jaxpr(branch, axis, of_masked, True)[0], where


def _has_derivative(x: Any) -> bool:
    """Whether a transformation around the program may differentiate with respect to a value."""
    if not isinstance(x, core.Tracer):
        return False
    return x.aval.composite or dtypes.tangent_dtype(x.aval.dtype) != dtypes.float0


def _constant_unless(taken: Any, x: Any) -> Any:
    """A value that has no derivative in the elements of a batch where a branch is not taken.

    The derivative of the branch may be infinite or NaN there, and 0 times it would be NaN.
    """
    return choose(taken, [stop_gradient(x), x])


class Split(NamedTuple):
    """Branches split into a known and an unknown part.

    Attributes:
      known: from the known operands to the known outputs and the residuals.
      unknown: from (forwarded values, residuals, unknown operands) to the unknown outputs.
      unknown_out: for each output whether it is unknown.
      forwarded: which of (the known operands, the known outputs) the unknown part needs unchanged.
    """

    known: Programs
    unknown: Programs
    unknown_out: list[bool]
    forwarded: list[int]


def _split(branches: Programs, unknown: Sequence[bool]) -> Split:
    return core.cached(branches[0], ("split", branches[1:], tuple(unknown)), lambda: _make_split(branches, unknown))


def _make_split(branches: Programs, unknown: Sequence[bool]) -> Split:
    def parts(branch: core.ClosedJaxpr, outputs: Any) -> tuple[pe.PartialEval, list[bool]]:
        split = pe.partial_eval_jaxpr(branch, unknown, outputs)
        return split, split.unknown_out

    splits, unknown_out = _same_outputs(parts, branches)
    count = len(unknown_out) - sum(unknown_out)
    num_known = len(splits[0].known.in_avals) + count  # the number of known operands and outputs
    forwarded = sorted({i for split in splits for i in split.residuals if i < num_known})
    slots, places = shared_slots([[v.aval for v in split.known.jaxpr.outvars[count:]] for split in splits])
    known, rest = [], []
    for split, own in zip(splits, places, strict=True):
        known.append(with_slots(split.known, count, own, slots))
        residual_vars = dict(zip(split.residuals, split.unknown.jaxpr.invars, strict=False))
        extra = [core.Var(aval) for aval in slots]
        for j, slot in enumerate(own):
            extra[slot] = residual_vars[num_known + j]
        avals = [*split.known.in_avals, *split.known.out_avals]
        passed = [residual_vars.get(i) or core.Var(avals[i]) for i in forwarded]
        others = split.unknown.jaxpr.invars[len(split.residuals) :]
        rest.append(reordered(split.unknown, [*passed, *extra, *others]))
    return Split(tuple(known), tuple(rest), unknown_out, forwarded)


def shared_slots(avals: Sequence[Sequence[Any]]) -> tuple[list[Any], list[list[int]]]:
    """The fewest types that can hold the residuals of each single branch, and the slots that each branch uses."""
    slots: list[Any] = []
    places = []
    for own in avals:
        free = list(range(len(slots)))
        chosen = []
        for aval in own:
            kind = aval.strip_weak_type()
            slot = next((i for i in free if slots[i] == kind), None)
            if slot is None:
                slot = len(slots)
                slots.append(kind)
            else:
                free.remove(slot)
            chosen.append(slot)
        places.append(chosen)
    return slots, places


def with_slots(known: core.ClosedJaxpr, count: int, own: Sequence[int], slots: Sequence[Any]) -> core.ClosedJaxpr:
    """The known part of a branch, with zeros for the residuals of other branches."""

    def run(*args: Any) -> list[Any]:
        outs = core.eval_jaxpr(known.jaxpr, known.consts, *args)
        extra: list[Any] = [None] * len(slots)
        for slot, x in zip(own, outs[count:], strict=True):
            extra[slot] = x
        zeros = [ad.zeros_like_aval(aval) if x is None else x for x, aval in zip(extra, slots, strict=True)]
        return [*outs[:count], *zeros]

    if list(own) == list(range(len(slots))):
        return known
    return core.trace_to_jaxpr(run, known.in_avals, known.jaxpr.debug_info)


def _partial_eval_jaxpr(unknown_in: Sequence[bool], eqn: core.JaxprEqn) -> tuple[Any, Any, Any]:
    if unknown_in[0]:
        return None, eqn, [True] * len(eqn.outvars)
    split = _split(eqn.params["branches"], unknown_in[1:])
    residuals = split.known[0].out_avals[split.unknown_out.count(False) :]
    halves = SplitEquation(eqn, unknown_in, split.unknown_out, residuals)
    known = [*halves.known_in[1:], *halves.known_out]
    passed = [known[i] for i in split.forwarded]
    operands = [halves.known_in[0], *passed, *halves.residuals, *halves.unknown_in]
    return (
        halves.known({"branches": split.known}, _effects(split.known)),
        halves.rest(operands, {"branches": split.unknown}, _effects(split.unknown)),
        split.unknown_out,
    )


def _transpose(cts: Any, index: Any, *operands: Any, branches: Programs) -> list[Any]:
    linear, nonzero = linear_flags(operands), nonzero_flags(cts)
    programs, nonzero_in = _same_outputs(
        lambda branch, outputs: ad.transpose_jaxpr(branch, linear, nonzero, outputs), branches
    )
    in_cts = cond_p.bind(index, *given(operands), *given(cts), branches=programs)
    return [None, *cotangents(operands, nonzero_in, in_cts)]


def _dce(used_outputs: Sequence[bool], eqn: core.JaxprEqn) -> tuple[Any, Any]:
    branches = eqn.params["branches"]
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    programs, used = _same_outputs(lambda branch, inputs: trimmed(branch, used_outputs, inputs), branches)
    if programs == branches:
        return [True] * len(eqn.invars), eqn
    keep = [True, *used]
    return keep, cut(eqn, keep, used_outputs, {"branches": programs}, _effects(programs))


def _lowering(ctx: mlir.LoweringRuleContext, index: Any, *args: Any, branches: Programs) -> list[Any]:
    hlo, ir = mlir.hlo, mlir.ir
    known = _known(index)
    if known is not None:
        outs, tokens = _branch(ctx, branches, min(max(known, 0), len(branches) - 1), args)
        if ctx.tokens_in:
            ctx.set_tokens_out(tokens)
        return outs
    ordered = list(ctx.tokens_in or ())
    types = [*(ctx.tokens_in[effect].type for effect in ordered), *map(mlir.aval_to_ir_type, ctx.avals_out)]
    case = hlo.CaseOp(types, index=index, num_branches=len(branches))
    for i, region in enumerate(case.regions):
        with ir.InsertionPoint(region.blocks.append()):
            outs, tokens = _branch(ctx, branches, i, args)
            hlo.return_([*(tokens[effect] for effect in ordered), *outs])
    if ordered:
        ctx.set_tokens_out(dict(zip(ordered, case.results, strict=False)))
    return list(case.results)[len(ordered) :]


def _branch(ctx: mlir.LoweringRuleContext, branches: Programs, i: int, args: Any) -> tuple[list[Any], dict[Any, Any]]:
    """The results of a branch, built inline, and the tokens after it."""
    branch = branches[i]
    inner = ctx.replace(avals_in=branch.in_avals, avals_out=branch.out_avals)
    outs = mlir.inline_jaxpr(inner, branch, args, f"cond/branch_{i}_fun")
    return outs, {**(ctx.tokens_in or {}), **(inner.tokens_out or {})}


def _known(index: Any) -> int | None:
    """An index that is a constant of the program, such as the platform."""
    owner = index.owner
    if isinstance(owner, mlir.ir.Block) or owner.name != "stablehlo.constant":
        return None
    return int(np.array(mlir.ir.DenseElementsAttr(owner.attributes["value"])))


def _close_over(args: Any, params: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    branches, values = all_lifted(params["branches"])
    return [args[0], *values, *args[1:]], {**params, "branches": tuple(branches)}


RULES: Table = {
    cond_p: {
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
