"""Forward mode, and partial evaluation of a loop."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any, NamedTuple

from primax.extend import core
from primax.extend.held_programs import (
    cut,
    fixpoint,
    given,
    nonzero_flags,
    reordered,
    sections,
    tangents_of,
    without_effects,
)
from primax.extend.interpreters import ad
from primax.extend.interpreters import partial_eval as pe
from primax_bounded_while.primitive import bounded_while_p

__all__ = ["Known", "jvp", "known_loop", "partial_eval_jaxpr"]


def jvp(
    primals: Any, tangents: Any, *, cond: core.ClosedJaxpr, body: core.ClosedJaxpr, num_consts: int, max_steps: int
) -> Any:
    """The same loop over the carry and its tangents; a carry has a tangent if it gets one in any step."""
    consts, carry = sections(primals, num_consts)
    const_dots, carry_dots = sections(tangents, num_consts)
    nonzero = tuple(nonzero_flags(tangents))
    key = ("jvp", cond, nonzero, num_consts)
    dual_cond, dual_body, carry_nz = core.cached(body, key, lambda: _dual(cond, body, nonzero, num_consts))
    new_consts = [*consts, *given(const_dots)]
    outs = bounded_while_p.bind(
        *new_consts,
        *carry,
        *map(ad.instantiate_zeros, compress(carry_dots, carry_nz)),
        cond=dual_cond,
        body=dual_body,
        num_consts=len(new_consts),
        max_steps=max_steps,
    )
    out, found = sections(outs, len(carry))
    return out, tangents_of(out, carry_nz, found)


def _dual(
    cond: core.ClosedJaxpr, body: core.ClosedJaxpr, nonzero: Sequence[bool], num_consts: int
) -> tuple[core.ClosedJaxpr, core.ClosedJaxpr, list[bool]]:
    """Both programs with tangents after the constants and after the carry, and a mask of carries with tangents."""
    const_nz, carry_nz = sections(nonzero, num_consts)
    program, carry_nz = fixpoint(lambda flags: ad.jvp_jaxpr(body, [*const_nz, *flags], flags), carry_nz)
    consts, carry, const_dots, carry_dots = sections(program.jaxpr.invars, num_consts, len(carry_nz), sum(const_nz))
    dual_body = reordered(program, [*consts, *const_dots, *carry, *carry_dots])
    consts, carry = sections(cond.jaxpr.invars, num_consts)
    ignored = [[core.Var(v.aval) for v in each] for each in (const_dots, carry_dots)]
    return reordered(cond, [*consts, *ignored[0], *carry, *ignored[1]]), dual_body, carry_nz


class Known(NamedTuple):
    """The loop over the carries that are known in every step.

    Attributes:
      params: its parameters.
      takes: a mask over the operands of the whole loop: those of this loop.
      carry_unknown: a mask over the carries of the whole loop: those that are not in this loop.
    """

    params: dict[str, Any]
    takes: list[bool]
    carry_unknown: list[bool]

    def operands(self, values: Sequence[Any]) -> list[Any]:
        """The operands of this loop, chosen from those of the whole loop."""
        return list(compress(values, self.takes))


def known_loop(unknown: Sequence[bool], params: dict[str, Any]) -> Known | None:
    """The part of a loop that can be computed without some of its operands.

    None if the number of steps is unknown.
    """
    key = ("known", params["cond"], tuple(unknown), params["num_consts"], params["max_steps"])
    return core.cached(params["body"], key, lambda: _known_loop(unknown, **params))


def _known_loop(
    unknown: Sequence[bool], cond: core.ClosedJaxpr, body: core.ClosedJaxpr, num_consts: int, max_steps: int
) -> Known | None:
    const_unknown, carry_unknown = sections(unknown, num_consts)

    def with_carry(flags: list[bool]) -> tuple[pe.PartialEval, list[bool]]:
        split = pe.partial_eval_jaxpr(body, [*const_unknown, *flags], flags)
        return split, split.unknown_out

    split, carry_unknown = fixpoint(with_carry, carry_unknown)
    decision = pe.partial_eval_jaxpr(cond, [*const_unknown, *carry_unknown])
    if decision.unknown_out[0]:
        return None
    params = {
        "cond": _without_residuals(decision.known, 1),
        "body": _without_residuals(split.known, carry_unknown.count(False)),
        "num_consts": const_unknown.count(False),
        "max_steps": max_steps,
    }
    return Known(params, [not u for u in (*const_unknown, *carry_unknown)], carry_unknown)


def _without_residuals(closed: core.ClosedJaxpr, count: int) -> core.ClosedJaxpr:
    """A program that returns only the first results."""
    wanted = [i < count for i in range(len(closed.jaxpr.outvars))]
    return closed.replace(jaxpr=core.dce_jaxpr(closed.jaxpr, wanted, True)[0])


def partial_eval_jaxpr(unknown_in: Sequence[bool], eqn: core.JaxprEqn) -> Any:
    """The known part runs first. The rest is the whole loop, which recomputes it: only operands are saved."""
    known = known_loop(unknown_in, eqn.params)
    if known is None or all(known.carry_unknown):
        return None, eqn, [True] * len(eqn.outvars)
    effects = known.params["cond"].effects | known.params["body"].effects
    known_out = [not u for u in known.carry_unknown]
    known_eqn = cut(eqn, known.takes, known_out, known.params, effects)
    rest = [v if u else core.DropVar(v.aval) for v, u in zip(eqn.outvars, known.carry_unknown, strict=True)]
    # What the known part printed is not printed again.
    const_unknown = list(unknown_in)[: eqn.params["num_consts"]]
    cond, body = eqn.params["cond"], without_effects(eqn.params["body"], [*const_unknown, *known.carry_unknown])
    params = {**eqn.params, "cond": without_effects(cond), "body": body}
    return known_eqn, eqn.replace(outvars=rest, params=params, effects=body.effects), known.carry_unknown
