"""`scan_p`: the primitive behind `scan`, with its rules.

Operands are constants, which every step sees, the first carry, and arrays whose slices along axis 0 the steps
take in turn. Results are the last carry, and arrays of what the steps gave.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from primax.extend import core
from primax.extend.interpreters import ad, batching
from primax.extend.interpreters import partial_eval as pe
from primax.plugins.calls import call_params, jit_p
from primax.plugins.control_flow.compiled import run_compiled
from primax.plugins.control_flow.scan_lowering import lower_scan
from primax.plugins.control_flow.staging import named, permuted

__all__ = ["rules", "scan_p"]

scan_p = core.Primitive("scan", multiple_results=True)

Closed = core.ClosedJaxpr


def _impl(*args: Any, **params: Any) -> Any:
    return run_compiled(scan_p, params["jaxpr"], args, params)


def _stacked(aval: Any, length: int) -> Any:
    return aval.unmapped(length, 0)


def _abstract_eval(*avals: Any, jaxpr: Closed, num_carry: int, length: int, **params: Any) -> Any:
    outs = jaxpr.out_avals
    return [*outs[:num_carry], *(_stacked(aval, length) for aval in outs[num_carry:])], jaxpr.effects


def _check(
    context: Any, *atoms: Any, jaxpr: Closed, num_consts: int, num_carry: int, length: int, **params: Any
) -> Any:
    start = num_consts + num_carry
    for i, x in enumerate(atoms[start:]):
        if not x.aval.shape or x.aval.shape[0] != length:
            raise core.JaxprTypeError(f"array {i} is {x.aval.str_short()}, but the scan takes {length} steps")
    wanted = [v.aval for v in jaxpr.jaxpr.invars]
    given = [*(x.aval for x in atoms[:start]), *(x.aval.mapped(length, 0) for x in atoms[start:])]
    for i, (have, want) in enumerate(zip(given, wanted, strict=True)):
        if not core.same_type(have, want, core.WEAKNESS):
            raise core.JaxprTypeError(f"operand {i} of a step is {have.str_short()}, but it takes {want.str_short()}")
    for i, (have, want) in enumerate(zip(jaxpr.out_avals, given[num_consts:start], strict=False)):
        if not core.same_type(have, want, core.WEAKNESS):
            raise core.JaxprTypeError(f"carry {i} is {want.str_short()}, but a step makes it {have.str_short()}")
    return _abstract_eval(jaxpr=jaxpr, num_carry=num_carry, length=length)


def _parts(xs: Sequence[Any], num_consts: int, num_carry: int) -> tuple[list[Any], list[Any], list[Any]]:
    """What belongs to the constants, to the carry, and to the arrays."""
    end = num_consts + num_carry
    return list(xs[:num_consts]), list(xs[num_consts:end]), list(xs[end:])


def _picked(xs: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    return [x for x, flag in zip(xs, flags, strict=True) if flag]


def _jvp(primals: Any, tangents: Any, *, jaxpr: Closed, num_consts: int, num_carry: int, **params: Any) -> Any:
    nonzero = [type(t) is not ad.Zero for t in tangents]
    const_nz, carry_nz, xs_nz = _parts(nonzero, num_consts, num_carry)
    rest = len(jaxpr.jaxpr.outvars) - num_carry
    while True:
        program, out_nz = ad.jvp_jaxpr(jaxpr, [*const_nz, *carry_nz, *xs_nz], [*carry_nz, *[False] * rest])
        if out_nz[:num_carry] == carry_nz:
            break
        carry_nz = out_nz[:num_carry]
    consts, carry, xs = _parts(primals, num_consts, num_carry)
    const_ts, carry_ts, xs_ts = _parts(tangents, num_consts, num_carry)
    moving = [ad.instantiate_zeros(t) for t in _picked(carry_ts, carry_nz)]
    given_consts, given_xs = _picked(const_ts, const_nz), _picked(xs_ts, xs_nz)

    count = len(primals)
    const_vars, carry_vars, x_vars = _parts(program.jaxpr.invars[:count], num_consts, num_carry)
    const_t, carry_t, x_t = _parts(program.jaxpr.invars[count:], len(given_consts), len(moving))
    outs = program.jaxpr.outvars
    tangent_outs = outs[num_carry + rest :]
    invars = [*const_vars, *const_t, *carry_vars, *carry_t, *x_vars, *x_t]
    outvars = [
        *outs[:num_carry],
        *tangent_outs[: len(moving)],
        *outs[num_carry : num_carry + rest],
        *tangent_outs[len(moving) :],
    ]
    key = ("step with tangents", num_consts, num_carry, tuple(nonzero))
    step = core.cached(program, key, lambda: permuted(program, invars, outvars))
    results = scan_p.bind(
        *consts,
        *given_consts,
        *carry,
        *moving,
        *xs,
        *given_xs,
        jaxpr=step,
        num_consts=num_consts + len(given_consts),
        num_carry=num_carry + len(moving),
        **params,
    )
    carry_out, carry_dots = results[:num_carry], results[num_carry : num_carry + len(moving)]
    ys = results[num_carry + len(moving) : num_carry + len(moving) + rest]
    found = iter([*carry_dots, *results[num_carry + len(moving) + rest :]])
    primals_out = [*carry_out, *ys]
    return primals_out, [
        next(found) if nz else ad.Zero.from_primal_value(p) for p, nz in zip(primals_out, out_nz, strict=True)
    ]


def _batch(
    axis: batching.AxisData, args: Any, dims: Any, *, jaxpr: Closed, num_consts: int, num_carry: int, **params: Any
) -> Any:
    consts, carry, xs = _parts(args, num_consts, num_carry)
    const_dims, carry_dims, xs_dims = _parts(dims, num_consts, num_carry)
    moved = [x if d is None else batching.moveaxis(x, d, 1) for x, d in zip(xs, xs_dims, strict=True)]
    step_dims = [None if d is None else 0 for d in xs_dims]
    batched = [d is not None for d in carry_dims]
    rest = len(jaxpr.jaxpr.outvars) - num_carry
    ys_batched = [False] * rest
    while True:
        in_dims = [*const_dims, *(0 if b else None for b in batched), *step_dims]
        program, out_dims = batching.batch_jaxpr(jaxpr, axis, in_dims, [*batched, *ys_batched])
        found = [d is not None for d in out_dims]
        if found == [*batched, *ys_batched]:
            break
        batched, ys_batched = found[:num_carry], found[num_carry:]
    first = [
        batching.to_dim(x, axis.size, d, 0) if b else x for x, d, b in zip(carry, carry_dims, batched, strict=True)
    ]
    outs = scan_p.bind(*consts, *first, *moved, jaxpr=program, num_consts=num_consts, num_carry=num_carry, **params)
    return outs, [*(0 if b else None for b in batched), *(1 if b else None for b in ys_batched)]


class Split(NamedTuple):
    """A scan split into what can be computed before it, a scan over what is known, and a scan over the rest.

    Attributes:
      invariant: from the known constants to what every step would compute of them alike.
      known: a step from (known constants, invariants, known carry, known slices) to (known carry, known ys,
        residuals that differ from step to step).
      unknown: a step from (forwarded constants, invariants, unknown constants, unknown carry, forwarded slices and ys,
        residuals, unknown slices) to (unknown carry, unknown ys).
      carry_unknown: for each carry whether it is unknown.
      ys_unknown: for each of the ys.
      forwarded_consts: which of the known constants the rest needs as they are.
      forwarded_xs: which of the known arrays.
      forwarded_ys: which of the known ys.
      known_invariants: which of the invariants the known steps need.
      direct: how many of them, the first ones, the rest needs.
    """

    invariant: Closed
    known: Closed
    unknown: Closed
    carry_unknown: list[bool]
    ys_unknown: list[bool]
    forwarded_consts: list[int]
    forwarded_xs: list[int]
    forwarded_ys: list[int]
    known_invariants: list[int]
    direct: int


def _split(unknown: Sequence[bool], params: dict[str, Any]) -> Split:
    jaxpr, num_consts, num_carry = params["jaxpr"], params["num_consts"], params["num_carry"]
    key = ("split scan", tuple(unknown), num_consts, num_carry)
    return core.cached(jaxpr, key, lambda: _make_split(jaxpr, unknown, num_consts, num_carry))  # type: ignore[no-any-return]


class Hoisted(NamedTuple):
    """A step without what it computes of constants alone.

    Attributes:
      invariant: from the constants to what is computed once, before.
      step: takes the constants, then those of the invariants that it needs, then its other arguments.
      needed: which of the invariants it needs.
      moved: for each residual of the step whether it is an invariant, which are the first of them.
    """

    invariant: Closed
    step: Closed
    needed: list[int]
    moved: list[bool]


def _hoist(known: Closed, n_consts: int, n_outs: int) -> Hoisted:
    """Take out of a step what is the same in all steps. Its results after the first `n_outs` are residuals."""
    jaxpr = known.jaxpr
    n_residuals = len(jaxpr.outvars) - n_outs
    if jaxpr.effects:  # these happen in every step
        nothing = core.ClosedJaxpr(core.Jaxpr([], [core.Var(v.aval) for v in jaxpr.invars[:n_consts]], [], []))
        return Hoisted(nothing, known, [], [False] * n_residuals)
    moving = [i >= n_consts for i in range(len(jaxpr.invars))]
    split = pe.partial_eval_jaxpr(known, moving, [i < n_outs for i in range(len(jaxpr.outvars))])
    moved = [not u for u in split.unknown_out[n_outs:]]
    own = dict(zip(split.residuals, split.unknown.jaxpr.invars, strict=False))
    needed = {i - n_consts: v for i, v in own.items() if i >= n_consts}
    consts = [own.get(i) or core.Var(v.aval) for i, v in enumerate(jaxpr.invars[:n_consts])]
    others = split.unknown.jaxpr.invars[len(split.residuals) :]
    step = permuted(split.unknown, [*consts, *(needed[i] for i in sorted(needed)), *others])
    return Hoisted(split.known, step, sorted(needed), moved)


def _make_split(jaxpr: Closed, unknown: Sequence[bool], num_consts: int, num_carry: int) -> Split:
    const_unknown, carry_unknown, xs_unknown = _parts(unknown, num_consts, num_carry)
    rest = len(jaxpr.jaxpr.outvars) - num_carry
    while True:
        split = pe.partial_eval_jaxpr(
            jaxpr, [*const_unknown, *carry_unknown, *xs_unknown], [*carry_unknown, *[False] * rest]
        )
        if split.unknown_out[:num_carry] == carry_unknown:
            break
        carry_unknown = split.unknown_out[:num_carry]
    ys_unknown = split.unknown_out[num_carry:]
    n_consts, n_carry = const_unknown.count(False), carry_unknown.count(False)
    n_known = n_carry + ys_unknown.count(False)
    hoisted = _hoist(split.known, n_consts, n_known)

    # A residual of the rest is a known constant, a known slice or one of the ys, which are there; an invariant; or
    # something that is stacked: a carry as it was before the step or after it, or a value of the step.
    n_in = len(split.known.in_avals)
    outs = split.known.jaxpr.outvars
    ys = {v: n_in + n_carry + i for i, v in enumerate(outs[n_carry:n_known]) if type(v) is not core.Literal}
    places = [i if i < n_in else ys.get(outs[i - n_in], i) for i in split.residuals]
    residual_vars = dict(zip(places, split.unknown.jaxpr.invars, strict=False))

    def within(start: int, stop: int) -> list[int]:
        return sorted(i for i in residual_vars if start <= i < stop)

    forwarded_consts = within(0, n_consts)
    carried = within(n_consts, n_consts + n_carry)
    forwarded_xs = within(n_consts + n_carry, n_in)
    carried_on = within(n_in, n_in + n_carry)
    forwarded_ys = within(n_in + n_carry, n_in + n_known)
    extras = [n_in + n_known + j for j in range(len(hoisted.moved))]
    direct = _picked(extras, hoisted.moved)
    stacked = _picked(extras, [not moved for moved in hoisted.moved])

    step = hoisted.step.jaxpr
    carry_vars = step.invars[n_consts + len(hoisted.needed) :]
    known_step = permuted(
        hoisted.step,
        step.invars,
        [
            *step.outvars[:n_known],
            *(carry_vars[i - n_consts] for i in carried),
            *(step.outvars[i - n_in] for i in carried_on),
            *step.outvars[n_known:],
        ],
    )
    others = split.unknown.jaxpr.invars[len(split.residuals) :]
    const_others, carry_others, xs_others = _parts(others, sum(const_unknown), sum(carry_unknown))
    unknown_step = permuted(
        split.unknown,
        [
            *(residual_vars[i] for i in forwarded_consts),
            *(residual_vars[e] for e in direct),
            *const_others,
            *carry_others,
            *(residual_vars[i] for i in (*forwarded_xs, *forwarded_ys, *carried, *carried_on, *stacked)),
            *xs_others,
        ],
    )
    return Split(
        hoisted.invariant,
        known_step,
        unknown_step,
        carry_unknown,
        ys_unknown,
        forwarded_consts,
        [i - n_consts - n_carry for i in forwarded_xs],
        [i - n_in - n_carry for i in forwarded_ys],
        hoisted.needed,
        len(direct),
    )


class _Known(NamedTuple):
    """Operands and parameters of the scan over what is known, and which of them the rest needs."""

    consts: list[Any]
    carry: list[Any]
    xs: list[Any]


def _known_operands(args: Sequence[Any], unknown: Sequence[bool], split: Split, params: dict[str, Any]) -> _Known:
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    consts, carry, xs = _parts(args, num_consts, num_carry)
    const_unknown, _, xs_unknown = _parts(unknown, num_consts, num_carry)
    return _Known(
        [x for x, u in zip(consts, const_unknown, strict=True) if not u],
        [x for x, u in zip(carry, split.carry_unknown, strict=True) if not u],
        [x for x, u in zip(xs, xs_unknown, strict=True) if not u],
    )


def _unknown_operands(
    args: Sequence[Any],
    unknown: Sequence[bool],
    split: Split,
    params: dict[str, Any],
    invariants: Sequence[Any],
    ys: Sequence[Any],
    residuals: Sequence[Any],
) -> tuple[list[Any], dict[str, Any]]:
    """The operands and the parameters of the scan over the rest."""
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    consts, carry, xs = _parts(args, num_consts, num_carry)
    const_unknown, _, xs_unknown = _parts(unknown, num_consts, num_carry)
    known = _known_operands(args, unknown, split, params)
    new_consts = [
        *(known.consts[i] for i in split.forwarded_consts),
        *invariants[: split.direct],
        *_picked(consts, const_unknown),
    ]
    new_carry = _picked(carry, split.carry_unknown)
    operands = [
        *new_consts,
        *new_carry,
        *(known.xs[i] for i in split.forwarded_xs),
        *(ys[i] for i in split.forwarded_ys),
        *residuals,
        *_picked(xs, xs_unknown),
    ]
    counts = {"num_consts": len(new_consts), "num_carry": len(new_carry)}
    return operands, {**params, "jaxpr": split.unknown, **counts}


def _known_params(split: Split, known: _Known, params: dict[str, Any]) -> dict[str, Any]:
    counts = {"num_consts": len(known.consts) + len(split.known_invariants), "num_carry": len(known.carry)}
    return {**params, "jaxpr": split.known, **counts}


def _merged(split: Split, known: Sequence[Any], rest: Sequence[Any]) -> list[Any]:
    """The results of the whole from those of its parts."""
    ready, found = iter(known), iter(rest)
    return [next(found) if u else next(ready) for u in (*split.carry_unknown, *split.ys_unknown)]


def _partial_eval_jaxpr(unknown_in: Sequence[bool], eqn: core.JaxprEqn) -> Any:
    params = eqn.params
    split = _split(unknown_in, params)
    unknown_out = [*split.carry_unknown, *split.ys_unknown]
    if all(unknown_out) and not split.known.eqns and not split.invariant.eqns:
        return None, eqn, unknown_out
    known = _known_operands(eqn.invars, unknown_in, split, params)
    known_eqns = []
    invariants = [core.Var(aval) for aval in split.invariant.out_avals]
    if invariants:
        call = call_params(split.invariant, "invariants")
        known_eqns.append(core.JaxprEqn(jit_p, known.consts, invariants, call, core.no_effects, eqn.source_info))
    known_outs = [named(v) for v, u in zip(eqn.outvars, unknown_out, strict=True) if not u]
    avals = split.known.out_avals[len(known_outs) :]
    residuals = [core.Var(_stacked(aval, params["length"])) for aval in avals]
    if known_outs or residuals or split.known.effects:
        known_eqns.append(
            eqn.replace(
                invars=[*known.consts, *(invariants[i] for i in split.known_invariants), *known.carry, *known.xs],
                outvars=[*known_outs, *residuals],
                params=_known_params(split, known, params),
                effects=split.known.effects,
            )
        )
    unknown_eqn = None
    if any(unknown_out):
        ys = known_outs[len(known.carry) :]
        operands, rest = _unknown_operands(eqn.invars, unknown_in, split, params, invariants, ys, residuals)
        unknown_eqn = eqn.replace(
            invars=operands,
            outvars=_picked(eqn.outvars, unknown_out),
            params=rest,
            effects=split.unknown.effects,
        )
    return known_eqns, unknown_eqn, unknown_out


def _transpose(
    cts: Any, *args: Any, jaxpr: Closed, num_consts: int, num_carry: int, reverse: bool, **params: Any
) -> Any:
    consts, carry, xs = _parts(args, num_consts, num_carry)
    linear_consts = [type(x) is ad.UndefinedPrimal for x in consts]
    linear_xs = [type(x) is ad.UndefinedPrimal for x in xs]
    ct_carry = [ad.instantiate_zeros(ct) for ct in cts[:num_carry]]
    ct_ys = cts[num_carry:]
    nonzero = [type(ct) is not ad.Zero for ct in ct_ys]
    step, flags = _transposed_step(jaxpr, linear_consts, num_carry, linear_xs, nonzero)
    const_flags, _, xs_flags = _parts(flags, sum(linear_consts), num_carry)

    linear_avals = [x.aval for x in _picked(consts, linear_consts)]
    sums = [ad.zeros_like_aval(aval) for aval in _picked(linear_avals, const_flags)]
    residual_consts = [x for x, is_linear in zip(consts, linear_consts, strict=True) if not is_linear]
    residual_xs = [x for x, is_linear in zip(xs, linear_xs, strict=True) if not is_linear]
    outs = scan_p.bind(
        *residual_consts,
        *sums,
        *ct_carry,
        *residual_xs,
        *_picked(ct_ys, nonzero),
        jaxpr=step,
        num_consts=len(residual_consts),
        num_carry=len(sums) + num_carry,
        reverse=not reverse,
        **params,
    )
    ct_consts, ct_init, ct_xs = _parts(outs, len(sums), num_carry)
    return [
        *_cotangents(consts, linear_consts, const_flags, ct_consts),
        *(ct if type(x) is ad.UndefinedPrimal else None for x, ct in zip(carry, ct_init, strict=True)),
        *_cotangents(xs, linear_xs, xs_flags, ct_xs),
    ]


def _cotangents(
    args: Sequence[Any], linear: Sequence[bool], nonzero: Sequence[bool], found: Sequence[Any]
) -> list[Any]:
    """One cotangent per argument: None if it is not linear, a symbolic zero if none was computed."""
    flags, values = iter(nonzero), iter(found)
    return [
        (next(values) if next(flags) else ad.Zero(x.aval)) if is_linear else None
        for x, is_linear in zip(args, linear, strict=True)
    ]


def _transposed_step(
    jaxpr: Closed, linear_consts: Sequence[bool], num_carry: int, linear_xs: Sequence[bool], nonzero: Sequence[bool]
) -> tuple[Closed, list[bool]]:
    """A step of the transposed scan, and for each linear argument whether it has a cotangent.

    It goes from (residual constants, sums of cotangents of linear constants, cotangents of the carry, residual
    slices, cotangents of the ys) to (new sums, cotangents of the carry before, cotangents of linear slices).
    """
    linear = [*linear_consts, *[True] * num_carry, *linear_xs]
    wanted = [*[False] * sum(linear_consts), *[True] * num_carry, *[False] * sum(linear_xs)]
    transposed, flags = ad.transpose_jaxpr(jaxpr, linear, [*[True] * num_carry, *nonzero], wanted)
    n_sums = sum(flags[: sum(linear_consts)])
    n_consts, n_xs = linear_consts.count(False), linear_xs.count(False)

    def make() -> Closed:
        avals = transposed.in_avals
        const_avals, x_avals = avals[:n_consts], avals[n_consts : n_consts + n_xs]
        carry_avals = avals[n_consts + n_xs : n_consts + n_xs + num_carry]
        y_avals = avals[n_consts + n_xs + num_carry :]
        sum_avals = transposed.out_avals[:n_sums]

        def step(*args: Any) -> list[Any]:
            consts, sums, rest = _parts(args, n_consts, n_sums)
            carry, xs, ys = _parts(rest, num_carry, n_xs)
            outs = core.eval_jaxpr(transposed.jaxpr, transposed.consts, *consts, *xs, *carry, *ys)
            added = [ad.add_tangents(total, ct) for total, ct in zip(sums, outs[:n_sums], strict=True)]
            return [*added, *outs[n_sums:]]

        step_avals = [*const_avals, *sum_avals, *carry_avals, *x_avals, *y_avals]
        return core.trace_to_jaxpr(step, step_avals, jaxpr.jaxpr.debug_info)

    return core.cached(transposed, ("transposed step", n_consts, n_xs, num_carry), make), flags


def _dce(used_outputs: Sequence[bool], eqn: core.JaxprEqn) -> Any:
    params = eqn.params
    jaxpr, num_consts, num_carry = params["jaxpr"], params["num_consts"], params["num_carry"]
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    carry, ys = list(used_outputs[:num_carry]), list(used_outputs[num_carry:])
    while True:
        _, used = core.dce_jaxpr(jaxpr.jaxpr, [*carry, *ys])
        wider = [a or b for a, b in zip(carry, used[num_consts : num_consts + num_carry], strict=True)]
        if wider == carry:
            break
        carry = wider
    keep = [*used[:num_consts], *carry, *used[num_consts + num_carry :]]
    used_steps = [*carry, *ys]
    if all(keep) and all(used_steps):
        return keep, eqn

    def trimmed() -> Closed:
        return core.ClosedJaxpr(core.dce_jaxpr(jaxpr.jaxpr, used_steps, keep)[0], jaxpr.consts)

    step = core.cached(jaxpr, ("trimmed", tuple(used_steps), tuple(keep)), trimmed)
    return keep, eqn.replace(
        invars=_picked(eqn.invars, keep),
        outvars=_picked(eqn.outvars, used_steps),
        params={**params, "jaxpr": step, "num_consts": sum(keep[:num_consts]), "num_carry": sum(carry)},
        effects=step.effects,
    )


rules = {
    "impl": _impl,
    "effectful_abstract_eval": _abstract_eval,
    "jvp": _jvp,
    "transpose": _transpose,
    "axis_batch": _batch,
    "lowering": lower_scan,
    "partial_eval_jaxpr": _partial_eval_jaxpr,
    "dce": _dce,
    "check": _check,
}
