"""Partial evaluation of `scan_p`: the common part of all steps, a scan of the known part, and a scan of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from primax.extend import core
from primax.extend.held_programs import SplitEquation, fixpoint, partition, reordered, sections
from primax.extend.interpreters import partial_eval as pe
from primax.plugins.calls import call_params, jit_p

Closed = core.ClosedJaxpr


class Residuals(NamedTuple):
    """The known values that a step of the rest takes, by kind; positions among the values of the kind.

    Attributes:
      consts: known constants.
      carry: known carries before the step, stacked.
      slices: known arrays.
      carry_out: known carries after the step, stacked.
      ys: known ys.
      invariants: values that are the same in all steps, computed once.
      computed: other values of the step, stacked.
    """

    consts: list[int]
    carry: list[int]
    slices: list[int]
    carry_out: list[int]
    ys: list[int]
    invariants: list[int]
    computed: list[int]


class Split(NamedTuple):
    """A scan split into the common part of all steps, a scan of the known part, and a scan of the rest.

    Attributes:
      invariant: from the known constants to the values that all steps would compute from them.
      known: a step from (known constants, invariants, known carry, known slices) to (known carry, known ys,
        residuals that differ from step to step).
      unknown: a step from (residual constants, invariants, unknown constants, unknown carry, residual slices and ys,
        stacked residuals, unknown slices) to (unknown carry, unknown ys).
      carry_unknown: for each carry whether it is unknown.
      ys_unknown: for each of the ys whether it is unknown.
      residuals: the known values that the rest takes.
      known_invariants: which of the invariants the known steps need.
    """

    invariant: Closed
    known: Closed
    unknown: Closed
    carry_unknown: list[bool]
    ys_unknown: list[bool]
    residuals: Residuals
    known_invariants: list[int]


class Hoisted(NamedTuple):
    """A step without the computations on constants alone.

    Attributes:
      invariant: from the constants to the values that are computed once, in advance.
      step: takes the constants, then the invariants that it needs, then its other arguments.
      needed: which of the invariants it needs.
      moved: for each residual of the step whether it is an invariant; residuals come first among the invariants.
    """

    invariant: Closed
    step: Closed
    needed: list[int]
    moved: list[bool]


def _hoist(known: Closed, n_consts: int, n_outs: int) -> Hoisted:
    """Move computations that are the same in all steps out of a step. Results after `n_outs` are residuals."""
    jaxpr = known.jaxpr
    n_residuals = len(jaxpr.outvars) - n_outs
    if jaxpr.effects:  # they happen in every step
        nothing = core.ClosedJaxpr(core.Jaxpr([], [core.Var(v.aval) for v in jaxpr.invars[:n_consts]], [], []))
        return Hoisted(nothing, known, [], [False] * n_residuals)
    moving = [i >= n_consts for i in range(len(jaxpr.invars))]
    split = pe.partial_eval_jaxpr(known, moving, [i < n_outs for i in range(len(jaxpr.outvars))])
    moved = [not u for u in split.unknown_out[n_outs:]]
    own = dict(zip(split.residuals, split.unknown.jaxpr.invars, strict=False))
    needed = {i - n_consts: v for i, v in own.items() if i >= n_consts}
    consts = [own.get(i) or core.Var(v.aval) for i, v in enumerate(jaxpr.invars[:n_consts])]
    others = split.unknown.jaxpr.invars[len(split.residuals) :]
    step = reordered(split.unknown, [*consts, *(needed[i] for i in sorted(needed)), *others])
    return Hoisted(split.known, step, sorted(needed), moved)


def _split(unknown: Sequence[bool], params: dict[str, Any]) -> Split:
    jaxpr, num_consts, num_carry = params["jaxpr"], params["num_consts"], params["num_carry"]
    key = ("split scan", tuple(unknown), num_consts, num_carry)
    return core.cached(jaxpr, key, lambda: _make_split(jaxpr, unknown, num_consts, num_carry))


def _make_split(jaxpr: Closed, unknown: Sequence[bool], num_consts: int, num_carry: int) -> Split:
    const_unknown, carry_unknown, xs_unknown = sections(unknown, num_consts, num_carry)
    rest = len(jaxpr.jaxpr.outvars) - num_carry

    def with_carry(carry_unknown: list[bool]) -> tuple[pe.PartialEval, list[bool]]:
        flags = [*const_unknown, *carry_unknown, *xs_unknown]
        split = pe.partial_eval_jaxpr(jaxpr, flags, [*carry_unknown, *[False] * rest])
        return split, split.unknown_out[:num_carry]

    split, carry_unknown = fixpoint(with_carry, carry_unknown)
    ys_unknown = split.unknown_out[num_carry:]
    n_consts, n_carry, n_ys = const_unknown.count(False), carry_unknown.count(False), ys_unknown.count(False)
    hoisted = _hoist(split.known, n_consts, n_carry + n_ys)
    residuals, standing = _residuals(split, hoisted, (n_consts, n_carry, xs_unknown.count(False), n_carry, n_ys))

    step = hoisted.step.jaxpr
    before = step.invars[n_consts + len(hoisted.needed) :]
    stacked = [*(before[i] for i in residuals.carry), *(step.outvars[i] for i in residuals.carry_out)]
    known_step = reordered(
        hoisted.step,
        step.invars,
        [*step.outvars[: n_carry + n_ys], *stacked, *step.outvars[n_carry + n_ys :]],
    )
    others = split.unknown.jaxpr.invars[len(split.residuals) :]
    const_others, carry_others, xs_others = sections(others, sum(const_unknown), sum(carry_unknown))
    consts, carry, slices, carry_out, ys, invariants, computed = standing
    new_consts = [*consts, *invariants, *const_others]
    new_slices = [*slices, *ys, *carry, *carry_out, *computed, *xs_others]
    unknown_step = reordered(split.unknown, [*new_consts, *carry_others, *new_slices])
    return Split(hoisted.invariant, known_step, unknown_step, carry_unknown, ys_unknown, residuals, hoisted.needed)


def _residuals(
    split: pe.PartialEval, hoisted: Hoisted, counts: Sequence[int]
) -> tuple[Residuals, list[list[core.Var]]]:
    """The residuals of a step by kind, and for each kind the corresponding variables of the rest.

    Args:
      split: the step, split.
      hoisted: the known part of it.
      counts: the numbers of known constants, carries, slices, carries after the step, and ys.
    """
    outs = split.known.jaxpr.outvars
    n_in = sum(counts[:3])
    first_y = n_in + counts[3]
    # Among the ys only those that are not also a carry or a residual of another kind; the others are taken from there.
    ys = {v: first_y + i for i, v in enumerate(outs[counts[3] : sum(counts[3:])]) if type(v) is not core.Literal}
    places = [i if i < n_in else ys.get(outs[i - n_in], i) for i in split.residuals]
    variables = dict(zip(places, split.unknown.jaxpr.invars, strict=False))
    *simple, extras = sections(range(n_in + len(outs)), *counts)
    computed, invariants = partition(extras, hoisted.moved)
    kinds = [[i for i in kind if i in variables] for kind in simple]
    positions = [[i - kind[0] for i in taken] for kind, taken in zip(simple, kinds, strict=True)]
    return (
        Residuals(*[*positions, list(range(len(invariants))), list(range(len(computed)))]),
        [[variables[i] for i in kind] for kind in (*kinds, invariants, computed)],
    )


def partial_eval_jaxpr(unknown_in: Sequence[bool], eqn: core.JaxprEqn) -> tuple[Any, Any, Any]:
    """The rule: the equations of the known part, the equation of the rest, and a mask of unknown results."""
    params = eqn.params
    split = _split(unknown_in, params)
    unknown_out = [*split.carry_unknown, *split.ys_unknown]
    if all(unknown_out) and not split.known.eqns and not split.invariant.eqns:
        return None, eqn, unknown_out
    counts = params["num_consts"], params["num_carry"]
    const_unknown, _, xs_unknown = sections(unknown_in, *counts)
    flags = const_unknown, split.carry_unknown, xs_unknown
    (consts, other_consts), (carry, other_carry), (xs, other_xs) = map(partition, sections(eqn.invars, *counts), flags)
    known_eqns = []
    invariants = [core.Var(aval) for aval in split.invariant.out_avals]
    if invariants:
        call = call_params(split.invariant, "invariants")
        known_eqns.append(core.JaxprEqn(jit_p, consts, invariants, call, core.no_effects, eqn.source_info))
    avals = split.known.out_avals[unknown_out.count(False) :]
    halves = SplitEquation(eqn, unknown_in, unknown_out, [aval.unmapped(params["length"], 0) for aval in avals])
    known_consts = [*consts, *(invariants[i] for i in split.known_invariants)]
    known = halves.known(
        {**params, "jaxpr": split.known, "num_consts": len(known_consts), "num_carry": len(carry)},
        split.known.effects,
        [*known_consts, *carry, *xs],
    )
    if known is not None:
        known_eqns.append(known)
    residuals, ys = split.residuals, halves.known_out[len(carry) :]
    rest_consts = [
        *(consts[i] for i in residuals.consts),
        *(invariants[i] for i in residuals.invariants),
        *other_consts,
    ]
    taken = [*(xs[i] for i in residuals.slices), *(ys[i] for i in residuals.ys), *halves.residuals, *other_xs]
    rest = halves.rest(
        [*rest_consts, *other_carry, *taken],
        {**params, "jaxpr": split.unknown, "num_consts": len(rest_consts), "num_carry": len(other_carry)},
        split.unknown.effects,
    )
    return known_eqns, rest, unknown_out
