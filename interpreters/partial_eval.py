"""Partial evaluation of jaxprs: the part that depends only on known inputs, and the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import Any, NamedTuple

from primax.core import rules
from primax.core.cache_keys import is_hashable, params_key
from primax.core.dce import dce_jaxpr
from primax.core.diagnostics import add_rule_note, rule_error, shorten
from primax.core.effects import effects_of
from primax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, cached, cached_by_interface
from primax.core.list_utils import partition


class PartialEval(NamedTuple):
    """The result of splitting a program in two.

    Attributes:
      known: from the known inputs to (the known outputs, the residuals that are neither inputs nor outputs).
      unknown: from (residuals, unknown inputs) to the unknown outputs.
      unknown_out: for each output of the whole program whether it is unknown.
      residuals: for each residual its index among (the known inputs, the outputs of `known`).
    """

    known: ClosedJaxpr
    unknown: ClosedJaxpr
    unknown_out: list[bool]
    residuals: list[int]


class SplitCall(NamedTuple):
    """An application of a primitive split in two.

    Attributes:
      invars: variables for its operands.
      outvars: variables for its results.
      known: the equations of its known part.
      unknown: the equation of its unknown part, if there is one.
    """

    invars: list[Any]
    outvars: list[Var]
    known: list[JaxprEqn]
    unknown: JaxprEqn | None


def split_call(
    primitive: Any, avals: Sequence[Any], params: dict[str, Any], unknown_in: tuple[bool, ...]
) -> SplitCall | None:
    """Split one application of a primitive by its `partial_eval_jaxpr` rule; None if all of it is unknown.

    Args:
      primitive: the primitive.
      avals: the types of its operands.
      params: its parameters.
      unknown_in: for each operand whether it is unknown.
    """

    def make() -> tuple[SplitCall | None]:
        out_avals, effects = primitive.result_types(tuple(avals), params)
        eqn = JaxprEqn(primitive, list(map(Var, avals)), list(map(Var, out_avals)), params, effects)
        known, unknown, _ = split_equation(eqn, unknown_in)
        return (SplitCall(eqn.invars, eqn.outvars, known, unknown) if known or unknown is not eqn else None,)

    program = next(_programs_in(params.values()), None)
    if program is None:
        return make()[0]
    # A key with the program itself, like a result with it, would keep it alive until garbage is collected.
    others = params_key({name: _without(program, value) for name, value in params.items()})
    key = ("split call", primitive, tuple(avals), unknown_in, others)
    return (cached(program, key, make) if is_hashable(key) else make())[0]


def _programs_in(values: Iterable[Any]) -> Iterator[ClosedJaxpr]:
    for value in values:
        if isinstance(value, ClosedJaxpr):
            yield value
        elif isinstance(value, tuple):
            yield from _programs_in(value)


def _without(program: ClosedJaxpr, value: Any) -> Any:
    """A parameter for a key, without the program on which the result is cached."""
    if type(value) is tuple and any(x is program for x in value):
        return tuple([_without(program, x) for x in value])
    return None if value is program else value


def partial_eval_jaxpr(
    closed: ClosedJaxpr, unknown_in: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> PartialEval:
    """Split a program into a known and an unknown part, given the known inputs.

    The known part computes all known values once, and passes them on as residuals. Neither part has equations that its
    outputs do not need.

    Args:
      closed: the program.
      unknown_in: for each input whether it is unknown.
      instantiate: for each output (or for all) whether it counts as unknown in any case.
    """
    forced = (instantiate,) * len(closed.jaxpr.outvars) if isinstance(instantiate, bool) else tuple(instantiate)

    def make() -> tuple[Any, list[bool]]:
        known, unknown, unknown_out, residuals = _partial_eval(closed, unknown_in, forced)
        # Not the program itself, which would keep itself alive until garbage is collected.
        return (known, None if unknown is closed else unknown, residuals), unknown_out

    parts, unknown_out = cached_by_interface(closed, ("partial_eval", tuple(unknown_in)), forced, make)
    known, unknown, residuals = parts
    return PartialEval(known, closed if unknown is None else unknown, unknown_out, residuals)


def _partial_eval(closed: ClosedJaxpr, unknown_in: Sequence[bool], forced: Sequence[bool]) -> PartialEval:
    jaxpr = closed.jaxpr
    known_invars, unknown_invars = partition(jaxpr.invars, unknown_in)
    unknown_vars = set(unknown_invars)
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
            of_known, of_unknown, flags = split_equation(eqn, waits)
            known_eqns += of_known
            if of_unknown is not None:
                unknown_eqns.append(of_unknown)
            unknown_vars.update(compress(eqn.outvars, flags))
    unknown_out = [want or v in unknown_vars for v, want in zip(jaxpr.outvars, forced, strict=True)]
    known_outvars, unknown_outvars = partition(jaxpr.outvars, unknown_out)
    rest = Jaxpr((), unknown_invars, unknown_outvars, unknown_eqns, effects_of(unknown_eqns, ()), jaxpr.debug_info)
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
    passed = [v for v in residual_vars if v not in constants]
    handed_over = {*known_invars, *(v for v in known_outvars if type(v) is not Literal)}
    extra = [v for v in passed if v not in handed_over]
    position: dict[Any, int] = {}
    for i, v in enumerate((*known_invars, *known_outvars, *extra)):
        if type(v) is not Literal:
            position.setdefault(v, i)
    inputs = [*consts, *passed, *unknown_invars]
    unknown = rest.replace(constvars=consts, invars=inputs[len(consts) :], effects=effects_of(rest.eqns, inputs))
    if not known_eqns and _same(unknown, jaxpr):
        unknown = jaxpr  # reuses the values cached on it, such as splits of its inner programs
    whole_known = Jaxpr(
        jaxpr.constvars,
        known_invars,
        [*known_outvars, *extra],
        known_eqns,
        effects_of(known_eqns, [*jaxpr.constvars, *known_invars]),
        jaxpr.debug_info,
    )
    known, _ = dce_jaxpr(whole_known, [True] * len(whole_known.outvars), True)
    return PartialEval(
        ClosedJaxpr(known, closed.consts),
        closed if unknown is jaxpr else ClosedJaxpr(unknown, [constants[v] for v in consts]),
        unknown_out,
        [position[v] for v in passed],
    )


def split_equation(eqn: JaxprEqn, unknown_in: Sequence[bool]) -> tuple[list[JaxprEqn], JaxprEqn | None, Sequence[bool]]:
    """Split an equation by the `partial_eval_jaxpr` rule of its primitive.

    Returns:
      The equations of its known part, the equation of its unknown part if there is one, and for each output whether it
      is unknown.

    Raises:
      RuleError: the rule did not return two parts and a flag for each output.
    """
    table = rules.partial_eval_jaxpr_rules
    try:
        returned = table.functions[eqn.primitive](list(unknown_in), eqn)
    except Exception as error:
        add_rule_note(error, table, eqn.primitive, eqn.source_info)
        raise
    match returned:
        case (None | JaxprEqn() | list() as known, (None | JaxprEqn()) as unknown, list() | tuple() as flags):
            if len(flags) == len(eqn.outvars):
                equations = known if isinstance(known, list) else [] if known is None else [known]
                return equations, unknown, flags
    must = f"must return (known eqn or None, unknown eqn or None, unknown_out), with {len(eqn.outvars)} flags"
    raise rule_error(table, eqn.primitive, f"{must}, got {shorten(returned)}", eqn.source_info)


def _same(one: Jaxpr, other: Jaxpr) -> bool:
    """Whether two programs consist of the same variable and equation objects."""
    return (
        one.invars == other.invars
        and one.constvars == other.constvars
        and one.outvars == other.outvars
        and one.eqns == other.eqns
    )


def close_over(jaxpr: Jaxpr) -> Jaxpr:
    """The jaxpr with its constvars as leading invars."""
    if not jaxpr.constvars:
        return jaxpr
    return jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars])
