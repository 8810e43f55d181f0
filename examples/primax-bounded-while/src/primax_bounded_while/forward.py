"""Forward mode, and the division of a loop into what is known and what is not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from primax.extend import core
from primax.extend.interpreters import ad
from primax.extend.interpreters import partial_eval as pe
from primax_bounded_while.primitive import bounded_while_p, parts, reordered

__all__ = ["Known", "jvp", "known_loop", "partial_eval_jaxpr"]


def jvp(
    primals: Any, tangents: Any, *, cond: core.ClosedJaxpr, body: core.ClosedJaxpr, num_consts: int, max_steps: int
) -> Any:
    """The same loop over the carry, and the tangents of that part of it that has any, be it after a few steps only."""
    consts, carry = parts(primals, num_consts)
    const_dots, carry_dots = parts(tangents, num_consts)
    nonzero = tuple(type(t) is not ad.Zero for t in tangents)
    key = ("jvp", cond, nonzero, num_consts)
    dual_cond, dual_body, carry_nz = core.cached(body, key, lambda: _dual(cond, body, nonzero, num_consts))
    const_dots = [t for t in const_dots if type(t) is not ad.Zero]
    carry_dots = [ad.instantiate_zeros(t) for t, nz in zip(carry_dots, carry_nz, strict=True) if nz]
    outs = bounded_while_p.bind(
        *consts,
        *const_dots,
        *carry,
        *carry_dots,
        cond=dual_cond,
        body=dual_body,
        num_consts=num_consts + len(const_dots),
        max_steps=max_steps,
    )
    out, found = parts(outs, len(carry))
    dots = iter(found)
    return out, [next(dots) if nz else ad.Zero.from_primal_value(x) for x, nz in zip(out, carry_nz, strict=True)]


def _dual(
    cond: core.ClosedJaxpr, body: core.ClosedJaxpr, nonzero: Sequence[bool], num_consts: int
) -> tuple[core.ClosedJaxpr, core.ClosedJaxpr, list[bool]]:
    """Both programs with tangents after constants and after the carry, and which carries have tangents."""
    const_nz, carry_nz = parts(nonzero, num_consts)
    while True:
        program, out_nz = ad.jvp_jaxpr(body, [*const_nz, *carry_nz], carry_nz)
        if out_nz == carry_nz:
            break
        carry_nz = out_nz
    own, dots = parts(program.jaxpr.invars, len(nonzero))
    const_dots, carry_dots = parts(dots, sum(const_nz))
    consts, carry = parts(own, num_consts)
    dual_body = reordered(program, [*consts, *const_dots, *carry, *carry_dots])
    consts, carry = parts(cond.jaxpr.invars, num_consts)
    ignored = [[core.Var(v.aval) for v in each] for each in (const_dots, carry_dots)]
    return reordered(cond, [*consts, *ignored[0], *carry, *ignored[1]]), dual_body, carry_nz


class Known(NamedTuple):
    """The loop over that part of the carry that is known throughout.

    Attributes:
      params: its parameters.
      takes: for each operand of the whole whether it is one of this loop.
      carry_unknown: for each carry of the whole whether it is not in this loop.
    """

    params: dict[str, Any]
    takes: list[bool]
    carry_unknown: list[bool]

    def operands(self, values: Sequence[Any]) -> list[Any]:
        """Those of this loop among those of the whole."""
        return [x for x, take in zip(values, self.takes, strict=True) if take]


def known_loop(unknown: Sequence[bool], params: dict[str, Any]) -> Known | None:
    """What can be computed of a loop when some of its operands are not known.

    None if it is not even known how long the loop goes on.
    """
    key = ("known", params["cond"], tuple(unknown), params["num_consts"], params["max_steps"])
    return core.cached(params["body"], key, lambda: _known_loop(unknown, **params))


def _known_loop(
    unknown: Sequence[bool], cond: core.ClosedJaxpr, body: core.ClosedJaxpr, num_consts: int, max_steps: int
) -> Known | None:
    const_unknown, carry_unknown = parts(unknown, num_consts)
    while True:
        split = pe.partial_eval_jaxpr(body, [*const_unknown, *carry_unknown], carry_unknown)
        if split.unknown_out == carry_unknown:
            break
        carry_unknown = split.unknown_out
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
    """A program that returns the first of its results only."""
    wanted = [i < count for i in range(len(closed.jaxpr.outvars))]
    return closed.replace(jaxpr=core.dce_jaxpr(closed.jaxpr, wanted, True)[0])


def partial_eval_jaxpr(unknown_in: Sequence[bool], eqn: core.JaxprEqn) -> Any:
    """What is known runs before. The rest is the whole loop, which computes it again: only operands are kept."""
    known = known_loop(unknown_in, eqn.params)
    if known is None or all(known.carry_unknown):
        return None, eqn, [True] * len(eqn.outvars)
    known_eqn = eqn.replace(
        invars=known.operands(eqn.invars),
        outvars=[v for v, u in zip(eqn.outvars, known.carry_unknown, strict=True) if not u],
        params=known.params,
        effects=known.params["cond"].effects | known.params["body"].effects,
    )
    rest = [v if u else core.DropVar(v.aval) for v, u in zip(eqn.outvars, known.carry_unknown, strict=True)]
    return known_eqn, eqn.replace(outvars=rest), known.carry_unknown
