"""Passes over equations: removal of unused results, and the rule for interpreters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.held_programs import all_lifted, cut, fixpoint, reordered, sections, trimmed
from primax_bounded_while.loop import bounded_while

__all__ = ["close_over", "dce", "interpret"]


def dce(used_outputs: Sequence[bool], eqn: core.JaxprEqn) -> Any:
    """The loop over the carries that the condition, the used results and the next steps need."""
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    cond, body, num_consts = (eqn.params[name] for name in ("cond", "body", "num_consts"))
    cond_used = trimmed(cond, [True])[1]

    def with_carry(carry: list[bool]) -> tuple[list[bool], list[bool]]:
        used = trimmed(body, carry)[1]
        return used, used[num_consts:]

    first = [a or b for a, b in zip(used_outputs, cond_used[num_consts:], strict=True)]
    body_used, carry = fixpoint(with_carry, first)
    consts = [a or b for a, b in zip(cond_used[:num_consts], body_used[:num_consts], strict=True)]
    keep = [*consts, *carry]
    new_body, _ = trimmed(body, carry, keep)
    if new_body is body:
        return keep, eqn
    new_cond = core.cached(cond, ("kept", tuple(keep)), lambda: reordered(cond, compress(cond.jaxpr.invars, keep)))
    params = {**eqn.params, "cond": new_cond, "body": new_body, "num_consts": sum(consts)}
    return keep, cut(eqn, keep, carry, params, new_cond.effects | new_body.effects)


def close_over(args: Sequence[Any], params: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The loop with the tracers among the constants of its programs as further constants of the loop."""
    (cond, body), values = all_lifted([params["cond"], params["body"]])
    changes = {"cond": cond, "body": body, "num_consts": params["num_consts"] + len(values)}
    return [*values, *args], {**params, **changes}


def interpret(interpreter: Any, eqn: core.JaxprEqn, *values: Any) -> Any:
    """The loop over the values of an interpreter; for abstract values, any number of steps."""
    consts, init = sections(values, eqn.params["num_consts"])
    if interpreter.is_abstract:

        def may_go_on(*carry: Any) -> Any:
            (holds,) = interpreter.interpret(eqn.params["cond"], *consts, *carry)
            return [interpreter.join(holds, interpreter.lift(np.False_))]  # the number of steps may end the loop, too

        return interpreter.loop(
            may_go_on, lambda *carry: interpreter.interpret(eqn.params["body"], *consts, *carry), init
        )

    def condition(carry: Any) -> Any:
        (holds,) = interpreter.interpret(eqn.params["cond"], *consts, *carry)
        return interpreter.primal(holds)

    def advance(carry: Any) -> Any:
        return list(map(interpreter.uniform, interpreter.interpret(eqn.params["body"], *consts, *carry)))

    return bounded_while(condition, advance, list(map(interpreter.uniform, init)), eqn.params["max_steps"])
