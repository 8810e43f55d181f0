"""What is done with equations: results that nobody uses are left out, and interpreters go through both programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primax.extend import core
from primax_bounded_while.loop import bounded_while
from primax_bounded_while.primitive import parts, reordered

__all__ = ["dce", "interpret"]


def dce(used_outputs: Sequence[bool], eqn: core.JaxprEqn) -> Any:
    """The loop over what the condition, the results that are used, and so the next steps need."""
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    cond, body, num_consts = (eqn.params[name] for name in ("cond", "body", "num_consts"))
    _, cond_used = core.dce_jaxpr(cond.jaxpr, [True])
    carry = [a or b for a, b in zip(used_outputs, cond_used[num_consts:], strict=True)]
    while True:
        _, body_used = core.dce_jaxpr(body.jaxpr, carry)
        wider = [a or b for a, b in zip(carry, body_used[num_consts:], strict=True)]
        if wider == carry:
            break
        carry = wider
    consts = [a or b for a, b in zip(cond_used[:num_consts], body_used[:num_consts], strict=True)]
    keep = [*consts, *carry]
    if all(keep):
        return keep, eqn

    def trimmed() -> tuple[core.ClosedJaxpr, core.ClosedJaxpr]:
        invars = [v for v, kept in zip(cond.jaxpr.invars, keep, strict=True) if kept]
        return reordered(cond, invars), body.replace(jaxpr=core.dce_jaxpr(body.jaxpr, carry, keep)[0])

    new_cond, new_body = core.cached(body, ("trimmed", cond, tuple(keep)), trimmed)
    return keep, eqn.replace(
        invars=[v for v, kept in zip(eqn.invars, keep, strict=True) if kept],
        outvars=[v for v, kept in zip(eqn.outvars, carry, strict=True) if kept],
        params={**eqn.params, "cond": new_cond, "body": new_body, "num_consts": sum(consts)},
    )


def interpret(interpreter: Any, eqn: core.JaxprEqn, *values: Any) -> Any:
    """A loop over the interpreter's own values."""
    consts, init = parts(values, eqn.params["num_consts"])

    def goes_on(carry: Any) -> Any:
        (holds,) = interpreter.interpret(eqn.params["cond"], *consts, *carry)
        return interpreter.primal(holds)

    def advance(carry: Any) -> Any:
        return list(map(interpreter.uniform, interpreter.interpret(eqn.params["body"], *consts, *carry)))

    return bounded_while(goes_on, advance, list(map(interpreter.uniform, init)), eqn.params["max_steps"])
