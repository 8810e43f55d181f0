"""`scan_p`: the primitive behind `scan`, with its rules.

The operands are constants, the first carry, and arrays; each step takes all constants, and slices of the arrays along
axis 0 in turn. The results are the last carry, and the stacked outputs of the steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any

from primax.extend import core
from primax.extend.held_programs import (
    cotangents,
    cut,
    fixpoint,
    given,
    lifted,
    linear_flags,
    nonzero_flags,
    reordered,
    sections,
    tangents_of,
    trimmed,
)
from primax.extend.interpreters import ad, batching
from primax.extend.provisional.avals import WEAKNESS, same_type
from primax.extend.rule_types import Table
from primax.plugins.control_flow.compiled import run_compiled
from primax.plugins.control_flow.scan_lowering import lower_scan
from primax.plugins.control_flow.scan_split import partial_eval_jaxpr

scan_p = core.Primitive("scan", multiple_results=True)

Closed = core.ClosedJaxpr


def _impl(*args: Any, **params: Any) -> list[Any]:
    return run_compiled(scan_p, params["jaxpr"], args, params)


def _abstract_eval(*avals: Any, jaxpr: Closed, num_carry: int, length: int, **params: Any) -> tuple[Any, Any]:
    outs = jaxpr.out_avals
    return [*outs[:num_carry], *(aval.unmapped(length, 0) for aval in outs[num_carry:])], jaxpr.effects


def _check(
    context: Any, *atoms: Any, jaxpr: Closed, num_consts: int, num_carry: int, length: int, **params: Any
) -> tuple[Any, Any]:
    start = num_consts + num_carry
    for i, x in enumerate(atoms[start:]):
        if not x.aval.shape or x.aval.shape[0] != length:
            raise core.JaxprTypeError(f"array {i} is {x.aval.str_short()}, but the scan takes {length} steps")
    expected = [v.aval for v in jaxpr.jaxpr.invars]
    actual = [*(x.aval for x in atoms[:start]), *(x.aval.mapped(length, 0) for x in atoms[start:])]
    for i, (got, need) in enumerate(zip(actual, expected, strict=True)):
        if not same_type(got, need, WEAKNESS):
            raise core.JaxprTypeError(f"operand {i} of a step is {got.str_short()}, but it takes {need.str_short()}")
    for i, (got, need) in enumerate(zip(jaxpr.out_avals, actual[num_consts:start], strict=False)):
        if not same_type(got, need, WEAKNESS):
            raise core.JaxprTypeError(f"carry {i} is {need.str_short()}, but a step returns {got.str_short()}")
    return _abstract_eval(jaxpr=jaxpr, num_carry=num_carry, length=length)


def _jvp(
    primals: Any, tangents: Any, *, jaxpr: Closed, num_consts: int, num_carry: int, **params: Any
) -> tuple[Any, Any]:
    counts = num_consts, num_carry
    nonzero = nonzero_flags(tangents)
    const_nz, carry_nz, xs_nz = sections(nonzero, *counts)
    rest = len(jaxpr.jaxpr.outvars) - num_carry

    def with_carry(carry_nz: list[bool]) -> tuple[Any, list[bool]]:
        derived = ad.jvp_jaxpr(jaxpr, [*const_nz, *carry_nz, *xs_nz], [*carry_nz, *[False] * rest])
        return derived, derived[1][:num_carry]

    (program, out_nz), carry_nz = fixpoint(with_carry, carry_nz)
    consts, carry, xs = sections(primals, *counts)
    const_ts, carry_ts, xs_ts = sections(tangents, *counts)
    new_consts = [*consts, *given(const_ts)]
    moving = [*carry, *map(ad.instantiate_zeros, compress(carry_ts, carry_nz))]
    new_xs = [*xs, *given(xs_ts)]

    def with_tangents() -> Closed:
        own, dots = sections(program.jaxpr.invars, len(primals))
        parts = zip(sections(own, *counts), sections(dots, sum(const_nz), sum(carry_nz)), strict=True)
        carry_out, ys, carry_dots, ys_dots = sections(program.jaxpr.outvars, num_carry, rest, sum(carry_nz))
        invars = [v for both in parts for part in both for v in part]
        return reordered(program, invars, [*carry_out, *carry_dots, *ys, *ys_dots])

    step = core.cached(program, ("step with tangents", num_consts, num_carry, tuple(nonzero)), with_tangents)
    counted = {"num_consts": len(new_consts), "num_carry": len(moving)}
    results = scan_p.bind(*new_consts, *moving, *new_xs, jaxpr=step, **counted, **params)
    carry_out, carry_dots, ys, ys_dots = sections(results, num_carry, sum(carry_nz), rest)
    return [*carry_out, *ys], tangents_of([*carry_out, *ys], out_nz, [*carry_dots, *ys_dots])


def _batch(
    axis: batching.AxisData, args: Any, dims: Any, *, jaxpr: Closed, num_consts: int, num_carry: int, **params: Any
) -> tuple[Any, Any]:
    consts, carry, xs = sections(args, num_consts, num_carry)
    const_dims, carry_dims, xs_dims = sections(dims, num_consts, num_carry)
    moved = [x if d is None else batching.moveaxis(x, d, 1) for x, d in zip(xs, xs_dims, strict=True)]
    step_dims = [None if d is None else 0 for d in xs_dims]

    def with_outputs(batched: list[bool]) -> tuple[Closed, list[bool]]:
        in_dims = [*const_dims, *(0 if b else None for b in batched[:num_carry]), *step_dims]
        program, out_dims = batching.batch_jaxpr(jaxpr, axis, in_dims, batched)
        return program, [d is not None for d in out_dims]

    rest = len(jaxpr.jaxpr.outvars) - num_carry
    program, flags = fixpoint(with_outputs, [*(d is not None for d in carry_dims), *[False] * rest])
    batched, ys_batched = sections(flags, num_carry)
    first = [batching.stacked(axis, x, d, 0) if b else x for x, d, b in zip(carry, carry_dims, batched, strict=True)]
    outs = scan_p.bind(*consts, *first, *moved, jaxpr=program, num_consts=num_consts, num_carry=num_carry, **params)
    return outs, [*(0 if b else None for b in batched), *(1 if b else None for b in ys_batched)]


def _transpose(
    cts: Any, *args: Any, jaxpr: Closed, num_consts: int, num_carry: int, reverse: bool, **params: Any
) -> list[Any]:
    consts, carry, xs = sections(args, num_consts, num_carry)
    linear_consts, linear_xs = linear_flags(consts), linear_flags(xs)
    ct_carry, ct_ys = sections(cts, num_carry)
    step, flags = _transposed_step(jaxpr, linear_consts, num_carry, linear_xs, nonzero_flags(ct_ys))
    const_flags, _, xs_flags = sections(flags, sum(linear_consts), num_carry)
    linear_avals = [x.aval for x in compress(consts, linear_consts)]
    new_carry = [
        *map(ad.zeros_like_aval, compress(linear_avals, const_flags)),
        *map(ad.instantiate_zeros, ct_carry),
    ]
    outs = scan_p.bind(
        *given(consts),
        *new_carry,
        *given(xs),
        *given(ct_ys),
        jaxpr=step,
        num_consts=len(given(consts)),
        num_carry=len(new_carry),
        reverse=not reverse,
        **params,
    )
    ct_consts, ct_init, ct_xs = sections(outs, sum(const_flags), num_carry)
    return [
        *cotangents(consts, const_flags, ct_consts),
        *(ct if type(x) is ad.UndefinedPrimal else None for x, ct in zip(carry, ct_init, strict=True)),
        *cotangents(xs, xs_flags, ct_xs),
    ]


def _transposed_step(
    jaxpr: Closed, linear_consts: Sequence[bool], num_carry: int, linear_xs: Sequence[bool], nonzero: Sequence[bool]
) -> tuple[Closed, list[bool]]:
    """A step of the transposed scan, and for each linear argument whether it has a cotangent.

    It goes from (residual constants, sums of cotangents of linear constants, cotangents of the carry, residual
    slices, cotangents of the ys) to (new sums, cotangents of the carry before, cotangents of linear slices).
    """
    linear = [*linear_consts, *[True] * num_carry, *linear_xs]
    required = [*[False] * sum(linear_consts), *[True] * num_carry, *[False] * sum(linear_xs)]
    transposed, flags = ad.transpose_jaxpr(jaxpr, linear, [*[True] * num_carry, *nonzero], required)
    n_sums = sum(flags[: sum(linear_consts)])
    n_consts, n_xs = linear_consts.count(False), linear_xs.count(False)

    def make() -> Closed:
        const_avals, x_avals, carry_avals, y_avals = sections(transposed.in_avals, n_consts, n_xs, num_carry)
        sum_avals = transposed.out_avals[:n_sums]

        def step(*args: Any) -> list[Any]:
            consts, sums, carry, xs, ys = sections(args, n_consts, n_sums, num_carry, n_xs)
            outs = core.eval_jaxpr(transposed.jaxpr, transposed.consts, *consts, *xs, *carry, *ys)
            added = [ad.add_tangents(total, ct) for total, ct in zip(sums, outs[:n_sums], strict=True)]
            return [*added, *outs[n_sums:]]

        step_avals = [*const_avals, *sum_avals, *carry_avals, *x_avals, *y_avals]
        return core.trace_to_jaxpr(step, step_avals, jaxpr.jaxpr.debug_info)

    return core.cached(transposed, ("transposed step", n_consts, n_xs, num_carry), make), flags


def _dce(used_outputs: Sequence[bool], eqn: core.JaxprEqn) -> tuple[Any, Any]:
    params = eqn.params
    jaxpr, num_consts, num_carry = params["jaxpr"], params["num_consts"], params["num_carry"]
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    carry, ys = sections(used_outputs, num_carry)

    def with_carry(carry: list[bool]) -> tuple[list[bool], list[bool]]:
        used = trimmed(jaxpr, [*carry, *ys])[1]
        return used, used[num_consts : num_consts + num_carry]

    used, carry = fixpoint(with_carry, carry)
    keep = [*used[:num_consts], *carry, *used[num_consts + num_carry :]]
    step, _ = trimmed(jaxpr, [*carry, *ys], keep)
    if step is jaxpr:
        return keep, eqn
    counted = {"num_consts": sum(keep[:num_consts]), "num_carry": sum(carry)}
    return keep, cut(eqn, keep, [*carry, *ys], {**params, "jaxpr": step, **counted}, step.effects)


def _close_over(args: Any, params: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    program, values = lifted(params["jaxpr"])
    return [*values, *args], {**params, "jaxpr": program, "num_consts": params["num_consts"] + len(values)}


RULES: Table = {
    scan_p: {
        "impl": _impl,
        "effectful_abstract_eval": _abstract_eval,
        "jvp": _jvp,
        "transpose": _transpose,
        "axis_batch": _batch,
        "lowering": lower_scan,
        "partial_eval_jaxpr": partial_eval_jaxpr,
        "dce": _dce,
        "check": _check,
        "close_over": _close_over,
    },
}
