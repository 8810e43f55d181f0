"""Splitting a program as a policy wants: what runs now saves little, what runs on the way back computes again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from primax.extend import Interpreter, core, replay
from primax.extend.interpreters import partial_eval as pe
from primax.plugins.calls.primitive import jit_p
from primax.plugins.remat.policies import Policy

__all__ = ["Split", "checkpoint_p", "split"]

checkpoint_p = core.Primitive("checkpoint", multiple_results=True)


class Split(NamedTuple):
    """A program split in two.

    Attributes:
      known: from the known inputs to the known outputs, then what is saved.
      rest: to the unknown outputs; it computes again what it needs and was not saved.
      inputs: the inputs of `rest`: i stands for input i of the whole, counting on from there for what is saved.
      unknown_out: for each output of the whole whether it is unknown.
    """

    known: core.ClosedJaxpr
    rest: core.ClosedJaxpr
    inputs: list[int]
    unknown_out: list[bool]


def split(closed: core.ClosedJaxpr, unknown_in: Sequence[bool], policy: Policy | None) -> Split:
    """Split a program by which of its inputs are known.

    Args:
      closed: the program.
      unknown_in: for each input whether it is unknown.
      policy: what may be saved of what the known inputs determine; nothing, if None.
    """
    key = ("checkpoint", tuple(unknown_in), policy)
    return core.cached(closed, key, lambda: _split(closed, unknown_in, policy))  # type: ignore[no-any-return]


def _split(closed: core.ClosedJaxpr, unknown_in: Sequence[bool], policy: Policy | None) -> Split:
    parts = pe.partial_eval_jaxpr(closed, unknown_in)
    known = parts.known
    if policy is not None or known.effects:
        known = _flat(known)
    n_inputs, n_known = len(unknown_in), parts.unknown_out.count(False)
    results, needed = known.jaxpr.outvars[:n_known], known.jaxpr.outvars[n_known:]
    saved, again = _choose(known.jaxpr, needed, policy)
    now = core.ClosedJaxpr(_trimmed(known.jaxpr.replace(outvars=[*results, *saved])), known.consts)
    if not (n_known or saved or known.effects):
        return Split(now, closed, list(range(n_inputs)), parts.unknown_out)  # what is cached on it is found again
    recompute = known.jaxpr.replace(
        invars=[*known.jaxpr.invars, *saved], outvars=needed, eqns=again, effects=core.no_effects
    )
    count = len(recompute.invars)

    def run(*args: Any) -> list[Any]:
        computed = core.eval_jaxpr(recompute, known.consts, *args[:count])
        residuals = [args[i] if i >= 0 else computed[-1 - i] for i in parts.residuals]
        return core.eval_jaxpr(parts.unknown.jaxpr, parts.unknown.consts, *residuals, *args[count:])

    known_at = [i for i, u in enumerate(unknown_in) if not u]
    unknown_at = [i for i, u in enumerate(unknown_in) if u]
    inputs = [*known_at, *range(n_inputs, n_inputs + len(saved)), *unknown_at]
    avals = [*recompute.in_avals, *(closed.in_avals[i] for i in unknown_at)]
    whole = core.trace_to_jaxpr(run, avals, closed.jaxpr.debug_info)
    rest, used = core.dce_jaxpr(whole.jaxpr, True)
    return Split(
        now,
        core.ClosedJaxpr(rest, whole.consts),
        [i for i, u in zip(inputs, used, strict=True) if u],
        parts.unknown_out,
    )


def _choose(jaxpr: core.Jaxpr, outvars: Sequence[Any], policy: Policy | None) -> tuple[list[Any], list[core.JaxprEqn]]:
    """The variables to save, and the equations that compute `outvars` from them and the inputs.

    What has effects is not done twice: its results are saved.
    """
    needed = set(outvars)
    saved: list[Any] = []
    again: list[core.JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        found = [v for v in eqn.outvars if v in needed]
        if not found:
            continue
        if eqn.effects or (policy and policy(eqn.primitive, *(v.aval for v in eqn.invars), **eqn.params)):
            saved = found + saved
        else:
            again.append(eqn)
            needed.update(eqn.invars)
    return saved, again[::-1]


def _trimmed(jaxpr: core.Jaxpr) -> core.Jaxpr:
    return core.dce_jaxpr(jaxpr, True, True)[0]


class _Inlining(Interpreter):
    """Puts the programs of calls in their places, so that a policy is asked of each operation."""

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
