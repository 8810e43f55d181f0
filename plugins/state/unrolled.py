"""Loops and branches step by step: for functions with custom derivatives whose backward rules write to references.

A discharged program has contents in place of references, so nothing is left in it to which a backward rule could write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primax.extend import core
from primax.extend.core import ClosedJaxpr, Tracer, UnsupportedError
from primax.extend.held_programs import sections
from primax.plugins.state.ref import is_ref
from primax.plugins.structural import concatenate, expand_dims

__all__ = ["LONGEST", "step_by_step"]

LONGEST = 256  # steps of a loop
_WHAT = "a function with custom derivatives must not take a reference inside of"


def step_by_step(primitive: core.Primitive, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """The results of a primitive that holds programs, whose equations are bound one by one.

    Raises:
      UnsupportedError: that is not possible.
    """
    run = _WAYS.get(primitive.name)
    if run is None:
        raise UnsupportedError(f"{primitive}: {_WHAT} `{primitive}` if it is differentiated; call it outside")
    return run(*args, **params)


def _evaluated(*args: Any, jaxpr: ClosedJaxpr, **_: Any) -> list[Any]:
    return core.eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)


def _scan(
    *args: Any, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, length: int, reverse: bool, **_: Any
) -> list[Any]:
    consts, carry, xs = sections(list(args), num_consts, num_carry)
    if any(map(is_ref, xs)):
        raise UnsupportedError(
            f"scan: {_WHAT} a differentiated loop over slices of it; close over the reference, and pass the index of "
            "the step"
        )
    if not isinstance(length, int) or length > LONGEST:
        raise UnsupportedError(
            f"scan: {_WHAT} a differentiated loop of more than {LONGEST} steps, got {length}: such loops are unrolled"
        )
    rows: list[list[Any]] = []
    for i in reversed(range(length)) if reverse else range(length):
        outs = core.eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *consts, *carry, *(x[i] for x in xs))
        carry, row = sections(outs, num_carry)
        rows.append(row)
    columns = zip(*(rows[::-1] if reverse else rows), strict=True)
    avals = jaxpr.out_avals[num_carry:]
    stacked = [_stacked(column) for column in columns] if rows else [_empty(aval) for aval in avals]
    return [*carry, *stacked]


def _stacked(column: Sequence[Any]) -> Any:
    return concatenate([expand_dims(x, (0,)) for x in column], 0)


def _empty(aval: Any) -> Any:
    return core.protocol_of(aval).zeros(aval.unmapped(0, 0))


def _cond(index: Any, *operands: Any, branches: Sequence[ClosedJaxpr], **_: Any) -> list[Any]:
    if isinstance(index, Tracer):
        raise UnsupportedError(
            f"cond: {_WHAT} a differentiated branch whose predicate is not known; write to the reference after `cond`"
        )
    branch = branches[min(max(int(index), 0), len(branches) - 1)]
    return core.eval_jaxpr(branch.jaxpr, branch.consts, *operands)


_WAYS: dict[str, Callable[..., list[Any]]] = {
    "checkpoint": _evaluated,
    "cond": _cond,
    "jit": _evaluated,
    "scan": _scan,
}
