"""Dead code elimination: removal of equations that the used outputs do not need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

from primax.core import rules
from primax.core.diagnostics import add_rule_note, rule_error, shorten
from primax.core.effects import effects_of, no_effects
from primax.core.jaxpr import DropVar, Jaxpr, JaxprEqn, Literal, cached_by_interface


def dce_jaxpr(
    jaxpr: Jaxpr, used_outputs: bool | Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool]]:
    """Remove equations that the used outputs do not need. Equations with effects stay.

    Args:
      jaxpr: the program.
      used_outputs: for each output, or for all, whether it is used.
      instantiate: for each input, or for all, whether to keep it if it is unused.

    Returns:
      The trimmed jaxpr and, for each input, whether it was kept.
    """
    if isinstance(used_outputs, bool):
        used_outputs = [used_outputs] * len(jaxpr.outvars)
    if len(used_outputs) != len(jaxpr.outvars):
        raise TypeError(
            f"dce_jaxpr: used_outputs must have one flag per output, "
            f"got {len(used_outputs)} for {len(jaxpr.outvars)} outputs"
        )
    keep = [instantiate] * len(jaxpr.invars) if isinstance(instantiate, bool) else list(instantiate)
    key = ("dce", tuple(used_outputs))
    return cached_by_interface(jaxpr, key, tuple(keep), lambda: _dce(jaxpr, used_outputs, keep))


def _dce(jaxpr: Jaxpr, used_outputs: Sequence[bool], keep: Sequence[bool]) -> tuple[Jaxpr, list[bool]]:
    outvars = list(compress(jaxpr.outvars, used_outputs))
    live = {v for v in outvars if type(v) is not Literal}
    eqns: list[JaxprEqn] = []
    dce_functions = rules.dce_rules.functions
    for eqn in reversed(jaxpr.eqns):
        used = [v in live for v in eqn.outvars]
        if not any(used) and not eqn.effects:
            continue
        rule = dce_functions.get(eqn.primitive)
        kept = eqn
        if rule is not None:
            used_inputs, trimmed = _by_rule(rule, used, eqn)
            if trimmed is None:
                continue
            kept = trimmed
            live.update(v for v, u in zip(eqn.invars, used_inputs, strict=True) if u and type(v) is not Literal)
        else:
            live.update(v for v in eqn.invars if type(v) is not Literal)
            if not all(used):
                outs = [v if u else DropVar(v.aval) for v, u in zip(eqn.outvars, used, strict=True)]
                kept = eqn.replace(outvars=outs)
        eqns.append(kept)
    eqns.reverse()
    used_inputs = [v in live or k for v, k in zip(jaxpr.invars, keep, strict=True)]
    invars = list(compress(jaxpr.invars, used_inputs))
    effects = effects_of(eqns, [*jaxpr.constvars, *invars]) if jaxpr.effects else no_effects
    return Jaxpr(jaxpr.constvars, invars, outvars, eqns, effects, jaxpr.debug_info, jaxpr.x64), used_inputs


def _by_rule(rule: Callable[..., Any], used: list[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    """The result of the dce rule of an equation's primitive."""
    table = rules.dce_rules
    try:
        returned = rule(used, eqn)
    except Exception as error:
        add_rule_note(error, table, eqn.primitive, eqn.source_info)
        raise
    match returned:
        case (list() | tuple() as flags, (None | JaxprEqn()) as trimmed) if len(flags) == len(eqn.invars):
            kept = () if trimmed is None else trimmed.outvars
            lost = [i for i, (v, u) in enumerate(zip(eqn.outvars, used, strict=True)) if u and v not in kept]
            if lost:
                must = f"must keep result {lost[0]}, which is used"
                raise rule_error(table, eqn.primitive, f"{must}, got {shorten(returned)}", eqn.source_info)
            return list(flags), trimmed
    must = f"must return (used_inputs, eqn or None), with {len(eqn.invars)} flags"
    raise rule_error(table, eqn.primitive, f"{must}, got {shorten(returned)}", eqn.source_info)
