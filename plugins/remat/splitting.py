"""Splitting of a program by a policy: the forward part saves few residuals, the backward part recomputes the others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any, NamedTuple

from primax.extend import Interpreter, core, replay
from primax.extend.held_programs import partition
from primax.extend.interpreters import partial_eval as pe
from primax.plugins.calls import jit_p
from primax.plugins.control_flow import cond_p, scan_p, shared_slots, with_slots
from primax.plugins.remat.policies import Policy

checkpoint_p = core.Primitive("checkpoint", multiple_results=True)


class Split(NamedTuple):
    """A program split into two parts.

    Attributes:
      known: from the known inputs to the known outputs, then the saved values.
      rest: to the unknown outputs; it recomputes values that were not saved.
      inputs: the inputs of `rest`: i is input i of the whole program; larger numbers are the saved values.
      unknown_out: for each output of the whole program whether it is unknown.
    """

    known: core.ClosedJaxpr
    rest: core.ClosedJaxpr
    inputs: list[int]
    unknown_out: list[bool]


def split(closed: core.ClosedJaxpr, unknown_in: Sequence[bool], policy: Policy | None) -> Split:
    """Split a program into a known and an unknown part, given the known inputs.

    Args:
      closed: the program.
      unknown_in: for each input whether it is unknown.
      policy: selects the values to save among those that the known inputs determine; None for none.
    """
    key = ("checkpoint", tuple(unknown_in), policy)
    return core.cached(closed, key, lambda: _split(closed, unknown_in, policy))


def _split(closed: core.ClosedJaxpr, unknown_in: Sequence[bool], policy: Policy | None) -> Split:
    parts = pe.partial_eval_jaxpr(closed, unknown_in)
    known = parts.known
    if policy is not None or known.effects:
        known = _flat(known)
    n_inputs, n_known = len(unknown_in), parts.unknown_out.count(False)
    n_inputs_known = len(known.in_avals)
    results = known.jaxpr.outvars[:n_known]
    needed = [known.jaxpr.outvars[i - n_inputs_known] for i in parts.residuals if i >= n_inputs_known]
    chosen = _choose(known.jaxpr, needed, policy)
    if not (n_known or chosen.saved or known.effects):
        nothing = core.ClosedJaxpr(known.jaxpr.replace(constvars=[], outvars=[], eqns=[]))
        return Split(nothing, closed, list(range(n_inputs)), parts.unknown_out)  # reuses the values cached on it
    again = known.jaxpr.replace(
        invars=[*known.jaxpr.invars, *chosen.saved], outvars=needed, eqns=chosen.again, effects=core.no_effects
    )
    count = len(again.invars)

    def run(*args: Any) -> list[Any]:
        computed = core.eval_jaxpr(again, known.consts, *args[:count])
        again_computed = iter(computed)
        residuals = [args[i] if i < n_inputs_known else next(again_computed) for i in parts.residuals]
        return core.eval_jaxpr(parts.unknown.jaxpr, parts.unknown.consts, *residuals, *args[count:])

    known_at, unknown_at = partition(range(n_inputs), unknown_in)
    avals = [*again.in_avals, *(closed.in_avals[i] for i in unknown_at)]
    whole = core.trace_to_jaxpr(run, avals, closed.jaxpr.debug_info)
    rest, used = core.dce_jaxpr(whole.jaxpr, True)
    saved = list(compress(chosen.saved, used[len(known_at) :]))
    numbers = {v: n_inputs + i for i, v in enumerate(saved)}
    places = [*known_at, *(numbers.get(v, -1) for v in chosen.saved), *unknown_at]
    now, _ = core.dce_jaxpr(known.jaxpr.replace(outvars=[*results, *saved], eqns=chosen.now), True, True)
    return Split(
        core.ClosedJaxpr(now, known.consts),
        core.ClosedJaxpr(rest, whole.consts),
        list(compress(places, used)),
        parts.unknown_out,
    )


class _Choice(NamedTuple):
    """The parts of a program to run now and to recompute.

    Attributes:
      saved: the variables to save.
      now: the equations of the program that also bind these.
      again: equations that compute the needed values from `saved` and the inputs.
    """

    saved: list[Any]
    now: list[core.JaxprEqn]
    again: list[core.JaxprEqn]


def _choose(jaxpr: core.Jaxpr, outvars: Sequence[Any], policy: Policy | None) -> _Choice:
    """Go back from the needed values to the saved ones. Equations with effects run once: their results are saved."""
    needed = set(outvars)
    chosen = _Choice([], [], [])
    for eqn in reversed(jaxpr.eqns):
        outs = [v for v in eqn.outvars if v in needed]
        now, again, saved = eqn, eqn, []
        if eqn.effects or (policy and policy(eqn.primitive, *(v.aval for v in eqn.invars), **eqn.params)):
            saved, again = outs, None
        elif policy and outs and eqn.primitive in _SPLITS:
            now, again, saved = _SPLITS[eqn.primitive](eqn, policy)
        chosen.now.append(now)
        chosen.saved.extend(reversed(saved))
        if again and outs:
            chosen.again.append(again)
            needed.update(again.invars)
    return _Choice(*(part[::-1] for part in chosen))


def _split_scan(eqn: core.JaxprEqn, policy: Policy) -> tuple[core.JaxprEqn, core.JaxprEqn, list[Any]]:
    """A scan that stacks values that a policy saves in each step, a scan that recomputes the rest, and these values."""
    body = _flat(eqn.params["jaxpr"])
    inner = _choose(body.jaxpr, body.jaxpr.outvars, policy)
    if not inner.saved:
        return eqn, eqn, []
    stacked = [core.Var(v.aval.unmapped(eqn.params["length"], 0)) for v in inner.saved]

    def scanning(**changes: Any) -> dict[str, Any]:
        return {**eqn.params, "jaxpr": core.ClosedJaxpr(body.jaxpr.replace(**changes), body.consts)}

    now = scanning(outvars=[*body.jaxpr.outvars, *inner.saved], eqns=inner.now)
    again = scanning(invars=[*body.jaxpr.invars, *inner.saved], eqns=inner.again)
    return (
        eqn.replace(outvars=[*eqn.outvars, *stacked], params=now),
        eqn.replace(invars=[*eqn.invars, *stacked], params=again),
        stacked,
    )


def _split_cond(eqn: core.JaxprEqn, policy: Policy) -> tuple[core.JaxprEqn, core.JaxprEqn, list[Any]]:
    """A cond that returns values that a policy saves in its branches, one that computes the rest, and these values."""
    branches = [_flat(branch) for branch in eqn.params["branches"]]
    inner = [_choose(branch.jaxpr, branch.jaxpr.outvars, policy) for branch in branches]
    if not any(one.saved for one in inner):
        return eqn, eqn, []
    slots, places = shared_slots([[v.aval for v in one.saved] for one in inner])
    now, again = [], []
    for branch, one, own in zip(branches, inner, places, strict=True):
        jaxpr, extra = branch.jaxpr, [core.Var(aval) for aval in slots]
        for slot, v in zip(own, one.saved, strict=True):
            extra[slot] = v
        first = core.ClosedJaxpr(jaxpr.replace(outvars=[*jaxpr.outvars, *one.saved], eqns=one.now), branch.consts)
        now.append(with_slots(first, len(jaxpr.outvars), own, slots))
        again.append(core.ClosedJaxpr(jaxpr.replace(invars=[*jaxpr.invars, *extra], eqns=one.again), branch.consts))
    saved = [core.Var(aval) for aval in slots]
    return (
        eqn.replace(outvars=[*eqn.outvars, *saved], params={**eqn.params, "branches": tuple(now)}),
        eqn.replace(invars=[*eqn.invars, *saved], params={**eqn.params, "branches": tuple(again)}),
        saved,
    )


_SPLITS = {scan_p: _split_scan, cond_p: _split_cond}


class _Inlining(Interpreter):
    """Replaces calls by the equations of their programs, so that a policy is called for each operation."""

    def equation(self, eqn: core.JaxprEqn, values: list[Any]) -> list[Any]:
        if eqn.primitive in (jit_p, checkpoint_p):
            return self.interpret(eqn.params["jaxpr"], *values)
        return replay(eqn, values)


def _flat(closed: core.ClosedJaxpr) -> core.ClosedJaxpr:
    if not any(eqn.primitive in (jit_p, checkpoint_p) for eqn in closed.eqns):
        return closed
    return core.trace_to_jaxpr(
        lambda *args: _Inlining().interpret(closed, *args), closed.in_avals, closed.jaxpr.debug_info
    )
