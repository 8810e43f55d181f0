"""Discharge rules of loops and branches: references become carries, operands and results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primax.extend import core
from primax.extend.core import ClosedJaxpr, UnsupportedError
from primax.extend.held_programs import reordered, sections
from primax.extend.provisional.references import Outcome, Refs, discharge, split_outcome
from primax.plugins.control_flow.cond_rules import cond_p
from primax.plugins.control_flow.scan_rules import scan_p
from primax.plugins.control_flow.while_rules import while_p


def discharge_scan(
    refs: Refs, *args: Any, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, **params: Any
) -> Outcome:
    """Written references that a step takes whole join the carry; those of slices are sliced and stacked."""
    program, written = discharge(jaxpr)
    moved = [i for i in written if i < num_consts]
    sliced = [i for i in written if i >= num_consts + num_carry]
    consts, carry, xs = sections(list(range(len(args))), num_consts, num_carry)
    consts = [i for i in consts if i not in moved]
    order = [*consts, *moved, *carry, *xs]
    outvars = program.jaxpr.outvars
    count = len(outvars) - len(written)
    new = dict(zip(written, outvars[count:], strict=True))
    results = [*(new[i] for i in moved), *outvars[:count], *(new[i] for i in sliced)]
    step = reordered(program, [program.jaxpr.invars[i] for i in order], results)
    outs = scan_p.bind(
        *(args[i] for i in order), jaxpr=step, num_consts=len(consts), num_carry=num_carry + len(moved), **params
    )
    last, results, stacked = sections(outs, len(moved), count)
    return list(results), {**dict(zip(moved, last, strict=True)), **dict(zip(sliced, stacked, strict=True))}


def discharge_while(
    refs: Refs, *args: Any, cond_nconsts: int, cond_jaxpr: ClosedJaxpr, body_nconsts: int, body_jaxpr: ClosedJaxpr
) -> Outcome:
    """References join the carry, which the condition takes too."""
    pred, written_by_pred = discharge(cond_jaxpr)
    if written_by_pred:
        raise UnsupportedError(
            "while: the condition must not write to a reference, since it runs once more than the body; write to it in "
            "the body"
        )
    body, written = discharge(body_jaxpr)
    numbers = list(range(len(args)))
    cond_consts, body_consts, carry = sections(numbers, cond_nconsts, body_nconsts)
    distinct = [i for i in numbers if refs[i] == i]

    def program(closed: ClosedJaxpr, consts: Sequence[int], results: Any) -> ClosedJaxpr:
        own, moving = sections(closed.jaxpr.invars, len(consts))
        variables = {refs[i]: v for i, v in zip(consts, own, strict=True) if refs[i] is not None}
        contents = [variables.get(i) or core.Var(core.get_aval(args[i])) for i in distinct]
        kept = [v for i, v in zip(consts, own, strict=True) if refs[i] is None]
        return reordered(closed, [*kept, *moving, *contents], results(variables, contents))

    count = len(carry)

    def with_contents(variables: Any, contents: Sequence[Any]) -> list[Any]:
        outvars = body.jaxpr.outvars
        new: dict[Any, Any] = {refs[body_consts[i]]: v for i, v in zip(written, outvars[count:], strict=True)}
        return [*outvars[:count], *(new.get(i, v) for i, v in zip(distinct, contents, strict=True))]

    new_pred = program(pred, cond_consts, lambda variables, contents: pred.jaxpr.outvars)
    new_body = program(body, body_consts, with_contents)
    kept = [[args[i] for i in consts if refs[i] is None] for consts in (cond_consts, body_consts)]
    outs = while_p.bind(
        *kept[0],
        *kept[1],
        *(args[i] for i in (*carry, *distinct)),
        cond_nconsts=len(kept[0]),
        cond_jaxpr=new_pred,
        body_nconsts=len(kept[1]),
        body_jaxpr=new_body,
    )
    new: dict[Any, Any] = dict(zip(distinct, outs[count:], strict=True))
    return list(outs[:count]), {body_consts[i]: new[refs[body_consts[i]]] for i in written}


def discharge_cond(refs: Refs, index: Any, *operands: Any, branches: tuple[ClosedJaxpr, ...]) -> Outcome:
    """Every branch returns the contents of all references that any of them writes."""
    parts = [discharge(branch) for branch in branches]
    written = sorted(set().union(*(part.written for part in parts)))
    programs = []
    for program, own in parts:
        outvars, invars = program.jaxpr.outvars, program.jaxpr.invars
        count = len(outvars) - len(own)
        new = dict(zip(own, outvars[count:], strict=True))
        programs.append(reordered(program, invars, [*outvars[:count], *(new.get(i, invars[i]) for i in written)]))
    outs = cond_p.bind(index, *operands, branches=tuple(programs))
    return split_outcome(outs, [i + 1 for i in written])
