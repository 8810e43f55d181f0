"""The batch rule: one loop over all elements, in which finished elements wait for the others."""

from __future__ import annotations

from typing import Any

import primax.numpy as pnp
from primax.extend import core
from primax.extend.held_programs import fixpoint, sections
from primax.extend.interpreters import batching
from primax_bounded_while.primitive import bounded_while_p

__all__ = ["batch"]


def batch(
    axis: batching.AxisData,
    args: Any,
    dims: Any,
    *,
    cond: core.ClosedJaxpr,
    body: core.ClosedJaxpr,
    num_consts: int,
    max_steps: int,
) -> Any:
    """One loop in which only the necessary carries have the axis; all have it if the condition depends on it."""
    const_dims, first_dims = sections(dims, num_consts)

    def with_carry(batched: list[bool]) -> tuple[tuple[Any, ...], list[bool]]:
        in_dims = [*const_dims, *(0 if b else None for b in batched)]
        program, out_dims = batching.batch_jaxpr(body, axis, in_dims, batched)
        decision, (decision_dim,) = batching.batch_jaxpr(cond, axis, in_dims)
        return (program, decision, decision_dim), [decision_dim is not None or d is not None for d in out_dims]

    (program, decision, decision_dim), batched = fixpoint(with_carry, [d is not None for d in first_dims])
    if decision_dim is not None:
        decision, program = _masked(decision, program, num_consts)
    consts, init = sections(args, num_consts)
    init = [batching.to_dim(x, axis.size, d, 0) if b else x for x, d, b in zip(init, first_dims, batched, strict=True)]
    outs = bounded_while_p.bind(*consts, *init, cond=decision, body=program, num_consts=num_consts, max_steps=max_steps)
    return outs, [0 if b else None for b in batched]


def _masked(
    cond: core.ClosedJaxpr, body: core.ClosedJaxpr, num_consts: int
) -> tuple[core.ClosedJaxpr, core.ClosedJaxpr]:
    """A condition that is True while it is True for any element, and a body that changes only these elements."""
    if cond.effects | body.effects:
        raise NotImplementedError(
            "vmap of bounded_while: the functions must have no effects where the condition differs from element to "
            "element, since the loop goes on for all of them"
        )

    def any_left(*args: Any) -> Any:
        (going,) = core.jaxpr_as_fun(cond)(*args)
        return [pnp.any(going)]

    def step(*args: Any) -> Any:
        (going,) = core.jaxpr_as_fun(cond)(*args)
        _, carry = sections(args, num_consts)
        new = core.jaxpr_as_fun(body)(*args)
        return [pnp.where(_alongside(going, x), y, x) for x, y in zip(carry, new, strict=True)]

    def make() -> tuple[core.ClosedJaxpr, core.ClosedJaxpr]:
        return (
            core.trace_to_jaxpr(any_left, cond.in_avals, "any_left"),
            core.trace_to_jaxpr(step, body.in_avals, "masked_step"),
        )

    return core.cached(body, ("masked", cond, num_consts), make)


def _alongside(going: Any, x: Any) -> Any:
    """A boolean for each element of the batch, with the rank of a carry."""
    return pnp.reshape(going, going.shape + (1,) * (pnp.ndim(x) - 1))
