"""Reverse mode: the backward pass recomputes the carries from checkpoints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import compress, repeat
from typing import Any

import numpy as np

import primax as px
import primax.numpy as pnp
from primax.extend import core
from primax.extend.held_programs import cotangents, linear_flags, merge, sections
from primax.extend.interpreters import ad
from primax_bounded_while.forward import Known, known_loop
from primax_bounded_while.primitive import bounded_while_p

__all__ = ["transpose"]


def transpose(cts: Any, *args: Any, **params: Any) -> Any:
    """One cotangent for each operand in which the loop is linear; the number of steps does not depend on these."""
    linear = linear_flags(args)
    known = known_loop(linear, params)
    if known is None:
        raise ValueError("bounded_while: cond_fun must not depend on what is differentiated as a linear function")
    key = ("backward", params["cond"], tuple(linear), params["max_steps"])
    backward = core.cached(params["body"], key, lambda: _backward(linear, known, **params))
    ct_carry = map(ad.instantiate_zeros, compress(cts, known.carry_unknown))
    outs = core.eval_jaxpr(backward.jaxpr, backward.consts, *known.operands(args), *ct_carry)
    consts, carry = sections(args, params["num_consts"])
    const_linear = linear_flags(consts)
    const_outs, carry_outs = sections(outs, sum(const_linear))
    const_cts = cotangents(consts, [True] * sum(const_linear), const_outs)
    carry_cts = merge(known.carry_unknown, repeat(None), carry_outs)
    # The initial value of a carry may be known although later values are linear; its cotangent is not used.
    return [
        *const_cts,
        *(ct if type(x) is ad.UndefinedPrimal else None for ct, x in zip(carry_cts, carry, strict=True)),
    ]


def _backward(
    linear: Sequence[bool],
    known: Known,
    cond: core.ClosedJaxpr,
    body: core.ClosedJaxpr,
    num_consts: int,
    max_steps: int,
) -> core.ClosedJaxpr:
    """The program from known operands and cotangents of the unknown carry to cotangents of linear constants and carry.

    It stores the known carries at the beginning of each of about `sqrt(max_steps)` segments. Then, from the last to the
    first, it recomputes the carries of the segment, stores them, and pulls the cotangents back.
    """
    const_linear, _ = sections(linear, num_consts)
    unknown = [*const_linear, *known.carry_unknown]
    pulled, _ = ad.transpose_jaxpr(body, unknown, known.carry_unknown, True)
    stretch = math.isqrt(max_steps - 1) + 1
    count = -(-max_steps // stretch)
    steps = np.arange(count * stretch, dtype=np.int32).reshape(count, stretch)

    def run(*args: Any) -> list[Any]:
        operands, cts = sections(args, sum(known.takes))
        consts, init = sections(operands, known.params["num_consts"])

        def holds(carry: Any) -> Any:
            return core.jaxpr_as_fun(known.params["cond"])(*consts, *carry)[0]

        def walk(carry: Any, _: Any) -> Any:
            return bounded_while_p.bind(*consts, *carry, **{**known.params, "max_steps": stretch}), carry

        def step(carry: Any, i: Any) -> Any:
            taken = holds(carry) & (i < max_steps)
            return px.lax.cond(taken, advance, lambda carry: carry, carry), (taken, carry)

        def advance(carry: Any) -> Any:
            return core.jaxpr_as_fun(known.params["body"])(*consts, *carry)

        def pull_step(cts: Any, kept: Any) -> Any:
            taken, carry = kept
            return px.lax.cond(taken, pull, lambda cts, carry: cts, cts, carry), None

        def pull(cts: Any, carry: Any) -> Any:
            totals, cts = cts
            new, cts = sections(core.jaxpr_as_fun(pulled)(*consts, *carry, *cts), len(totals))
            return list(map(ad.add_tangents, totals, new)), cts

        def pull_stretch(cts: Any, start: Any, steps: Any) -> Any:
            _, kept = px.lax.scan(step, start, steps)
            return px.lax.scan(pull_step, cts, kept, reverse=True)[0]

        def pull_if_reached(cts: Any, stretch: Any) -> Any:
            start, steps = stretch
            return px.lax.cond(holds(start), pull_stretch, lambda cts, *_: cts, cts, start, steps), None

        last, starts = px.lax.scan(walk, init, None, length=count - 1)
        starts = [pnp.concatenate([xs, x[None]]) for xs, x in zip(starts, last, strict=True)]
        zeros = list(map(ad.zeros_like_aval, compress(body.in_avals, const_linear)))
        (totals, cts), _ = px.lax.scan(pull_if_reached, (zeros, cts), (starts, steps), reverse=True)
        return [*totals, *cts]

    carry_avals = compress(body.out_avals, known.carry_unknown)
    return core.trace_to_jaxpr(run, [*known.operands(body.in_avals), *carry_avals], "backward")
