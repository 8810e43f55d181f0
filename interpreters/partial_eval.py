"""Partial evaluation of jaxprs: the part that depends on known inputs alone, and the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from primax.core import rules
from primax.core.diagnostics import blame, shorten, wrong
from primax.core.effects import no_effects
from primax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, cached, dce_jaxpr

__all__ = ["PartialEval", "close_over", "partial_eval_jaxpr"]


class PartialEval(NamedTuple):
    """A program split in two.

    Attributes:
      known: from the known inputs to (the known outputs, the residuals that are not inputs).
      unknown: from (residuals, unknown inputs) to the unknown outputs.
      unknown_out: for each output of the whole whether it is unknown.
      residuals: for each residual an index: i >= 0 is the i-th known input, -1 - j the j-th extra output of `known`.
    """

    known: ClosedJaxpr
    unknown: ClosedJaxpr
    unknown_out: list[bool]
    residuals: list[int]


def partial_eval_jaxpr(
    closed: ClosedJaxpr, unknown_in: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> PartialEval:
    """Split a program by which of its inputs are known.

    What is known is computed by the known part, once, and handed over as residuals. Neither part holds equations
    that its outputs do not need.

    Args:
      closed: the program.
      unknown_in: for each input whether it is unknown.
      instantiate: for each output (or for all) whether it counts as unknown, whatever it depends on.
    """
    wanted = (instantiate,) * len(closed.jaxpr.outvars) if isinstance(instantiate, bool) else tuple(instantiate)
    key = ("partial_eval", tuple(unknown_in), wanted)
    return cached(closed, key, lambda: _partial_eval(closed, unknown_in, wanted))  # type: ignore[no-any-return]


def _partial_eval(closed: ClosedJaxpr, unknown_in: Sequence[bool], wanted: Sequence[bool]) -> PartialEval:
    jaxpr = closed.jaxpr
    unknown_vars: set[Var] = {v for v, u in zip(jaxpr.invars, unknown_in, strict=True) if u}
    known_eqns: list[JaxprEqn] = []
    unknown_eqns: list[JaxprEqn] = []
    split = rules.partial_eval_jaxpr_rules.functions
    for eqn in jaxpr.eqns:
        waits = [v in unknown_vars for v in eqn.invars]
        if not any(waits):
            known_eqns.append(eqn)
            continue
        rule = split.get(eqn.primitive)
        if rule is None:
            unknown_eqns.append(eqn)
            unknown_vars.update(eqn.outvars)
        else:
            known_part, unknown_part, unknown_out = _by_rule(rule, waits, eqn)
            if isinstance(known_part, list):
                known_eqns += known_part
            elif known_part is not None:
                known_eqns.append(known_part)
            if unknown_part is not None:
                unknown_eqns.append(unknown_part)
            unknown_vars.update(v for v, u in zip(eqn.outvars, unknown_out, strict=True) if u)
    unknown_out = [want or v in unknown_vars for v, want in zip(jaxpr.outvars, wanted, strict=True)]
    unknown_invars = [v for v, u in zip(jaxpr.invars, unknown_in, strict=True) if u]
    unknown_outvars = [v for v, u in zip(jaxpr.outvars, unknown_out, strict=True) if u]
    rest = Jaxpr((), unknown_invars, unknown_outvars, unknown_eqns, _effects(unknown_eqns), jaxpr.debug_info)
    rest, _ = dce_jaxpr(rest, [True] * len(unknown_outvars), True)
    bound = set(unknown_invars)
    residual_vars: dict[Var, None] = {}
    for eqn in rest.eqns:
        for v in eqn.invars:
            if type(v) is not Literal and v not in bound:
                residual_vars[v] = None
        bound.update(eqn.outvars)
    for out in rest.outvars:
        if isinstance(out, Var) and out not in bound:
            residual_vars[out] = None
    constants = dict(zip(jaxpr.constvars, closed.consts, strict=True))
    consts = [v for v in residual_vars if v in constants]
    known_invars = [v for v, u in zip(jaxpr.invars, unknown_in, strict=True) if not u]
    position = {v: i for i, v in enumerate(known_invars)}
    passed = [v for v in residual_vars if v not in constants]
    extra = [v for v in passed if v not in position]
    numbers = {v: -1 - j for j, v in enumerate(extra)}
    unknown = rest.replace(constvars=consts, invars=[*passed, *unknown_invars])
    if not known_eqns and _same(unknown, jaxpr):
        unknown = jaxpr  # so that what is cached on it, such as splits of the programs it holds, is found again
    known_outvars = [v for v, u in zip(jaxpr.outvars, unknown_out, strict=True) if not u]
    whole_known = Jaxpr(
        jaxpr.constvars,
        known_invars,
        [*known_outvars, *extra],
        known_eqns,
        _effects(known_eqns),
        jaxpr.debug_info,
    )
    known, _ = dce_jaxpr(whole_known, [True] * len(whole_known.outvars), True)
    return PartialEval(
        ClosedJaxpr(known, closed.consts),
        closed if unknown is jaxpr else ClosedJaxpr(unknown, [constants[v] for v in consts]),
        unknown_out,
        [position[v] if v in position else numbers[v] for v in passed],
    )


def _by_rule(rule: Callable[..., Any], waits: list[bool], eqn: JaxprEqn) -> tuple[Any, Any, Sequence[bool]]:
    """The known and the unknown part of an equation, by the rule of its primitive."""
    table = rules.partial_eval_jaxpr_rules
    try:
        returned = rule(waits, eqn)
    except Exception as error:
        blame(error, table, eqn.primitive, eqn.source_info)
        raise
    match returned:
        case (None | JaxprEqn() | list() as known, (None | JaxprEqn()) as unknown, list() | tuple() as flags):
            if len(flags) == len(eqn.outvars):
                return known, unknown, flags
    must = f"must return (known eqn or None, unknown eqn or None, unknown_out), with {len(eqn.outvars)} flags"
    raise wrong(table, eqn.primitive, f"{must}, got {shorten(returned)}", eqn.source_info)


def _same(one: Jaxpr, other: Jaxpr) -> bool:
    """Whether two programs consist of the very same variables and equations."""
    return (
        one.invars == other.invars
        and one.constvars == other.constvars
        and one.outvars == other.outvars
        and one.eqns == other.eqns
    )


def _effects(eqns: Sequence[JaxprEqn]) -> Any:
    return no_effects.union(*(eqn.effects for eqn in eqns)) if eqns else no_effects


def close_over(jaxpr: Jaxpr) -> Jaxpr:
    """The jaxpr with its constvars as leading invars."""
    if not jaxpr.constvars:
        return jaxpr
    return jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars])
