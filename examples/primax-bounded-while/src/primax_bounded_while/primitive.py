"""The primitive: its operands and parameters, its types, and its evaluation.

The operands are the constants and then the carry. Both programs take all operands. `cond` returns a boolean, and `body`
returns the next carry. The result is the first carry for which `cond` is False, or the carry after `max_steps` steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import primax as px
from primax.extend import backend, core, debugging
from primax.extend.held_programs import sections

__all__ = ["abstract_eval", "bounded_while_p", "check", "impl", "run"]

bounded_while_p = core.Primitive("bounded_while", multiple_results=True)


def abstract_eval(*avals: Any, cond: core.ClosedJaxpr, body: core.ClosedJaxpr, **params: Any) -> Any:
    return body.out_avals, cond.effects | body.effects


def check(
    context: Any, *atoms: Any, cond: core.ClosedJaxpr, body: core.ClosedJaxpr, num_consts: int, max_steps: int
) -> Any:
    """The check of an equation for `check_jaxpr`: the programs must fit the operands and each other."""
    context.check_operands(cond, atoms)
    context.check_operands(body, atoms)
    (pred,) = cond.out_avals
    if pred.shape or pred.dtype != np.bool_:
        raise core.JaxprTypeError(f"the condition is {pred.str_short()}, but must be bool[]")
    for i, (have, atom) in enumerate(zip(body.out_avals, atoms[num_consts:], strict=True)):
        if have.strip_weak_type() != atom.aval.strip_weak_type():
            raise core.JaxprTypeError(f"carry {i} is {atom.aval.str_short()}, but the body returns {have.str_short()}")
    return abstract_eval(cond=cond, body=body)


def run(*args: Any, cond: core.ClosedJaxpr, body: core.ClosedJaxpr, num_consts: int, max_steps: int) -> Any:
    """The loop in operations of primax; the lowering is derived from it."""
    consts, init = sections(args, num_consts)

    def condition(state: Any) -> Any:
        step, carry = state
        (holds,) = core.eval_jaxpr(cond.jaxpr, cond.consts, *consts, *carry)
        return (step < max_steps) & holds

    def advance(state: Any) -> Any:
        step, carry = state
        return step + 1, core.eval_jaxpr(body.jaxpr, body.consts, *consts, *carry)

    return px.lax.while_loop(condition, advance, (np.int32(0), init))[1]


def impl(*args: Any, **params: Any) -> Any:
    """Compile one equation, once for each signature, and cache it on the body, so that both are freed together."""
    avals = tuple(map(core.get_aval, args))

    def make() -> core.ClosedJaxpr:
        return core.trace_to_jaxpr(lambda *xs: bounded_while_p.bind(*xs, **params), avals, "bounded_while")

    closed = core.cached(params["body"], ("run", avals, tuple(params.items())), make)
    outs = backend.executable_for(closed, backend.Target("bounded_while", backend.choose_devices(closed, args)))(args)
    if core.config.debug_nans.value or core.config.debug_infs.value:
        check = debugging.watch_program("jit_bounded_while", closed, args)
        if check is not None:
            check(outs)
    return outs
