"""`jax.interpreters.partial_eval` and its private counterpart: names besides those of `primax.extend`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from itertools import compress
from typing import Any

from primax.core.caller import author
from primax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, RuleTable, new_jaxpr_eqn, trace_to_jaxpr
from primax.extend.interpreters.partial_eval import dce_jaxpr, partial_eval_jaxpr_rules, partial_eval_rules

__all__ = [
    "Val",
    "abstract_eval_fun",
    "close_jaxpr",
    "custom_partial_eval_rules",
    "dce_jaxpr_call_rule",
    "dce_jaxpr_closed_call_rule",
    "dce_jaxpr_consts",
    "move_binders_to_back",
    "partial_eval_jaxpr_custom_rules",
    "prune_closed_jaxpr_outputs",
    "trace_to_jaxpr",
]

Val = Any
Rule = Callable[..., Any]


class _JaxRules(MutableMapping[Any, Rule]):
    """A table of JAX: rules that are entered in it become rules of a table of primax."""

    def __init__(self, table: RuleTable, translated: Callable[[Rule], Rule]) -> None:
        self._table, self._translated = table, translated
        self._entered: dict[Any, Rule] = {}

    def __getitem__(self, primitive: Any) -> Rule:
        return self._entered[primitive] if primitive in self._entered else self._table[primitive]

    def __setitem__(self, primitive: Any, rule: Rule) -> None:
        self._table.register(
            primitive,
            self._translated(rule),
            plugin=author(inside=("primax.",)).module,
            override=primitive in self._entered,
            experimental=True,
        )
        self._entered[primitive] = rule

    def __delitem__(self, primitive: Any) -> None:
        del self._table[primitive]
        self._entered.pop(primitive, None)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


def _by_tracers(rule: Rule) -> Rule:
    """A rule for a trace, from one of JAX: `(trace, *tracers, **params) -> results`."""

    def partial_eval(trace: Any, args: Sequence[Any], params: dict[str, Any], /) -> list[Any]:
        out = rule(trace, *args, **params)
        return list(out) if isinstance(out, list | tuple) else [out]

    return partial_eval


def _by_equation(rule: Rule) -> Rule:
    """A rule that splits an equation, from one of JAX.

    That is `(saveable, unknown_in, instantiated_in, eqn) -> (known eqn, staged eqn, unknown_out, instantiated_out,
    residuals)`. All results of known equations may be saved, and no known value is instantiated.
    """

    def split(unknown_in: Sequence[bool], eqn: JaxprEqn) -> tuple[Any, Any, list[bool]]:
        known, staged, unknown_out, *_ = rule(lambda *_, **__: True, list(unknown_in), list(unknown_in), eqn)
        return known, staged, list(unknown_out)

    return split


custom_partial_eval_rules = _JaxRules(partial_eval_rules, _by_tracers)
partial_eval_jaxpr_custom_rules = _JaxRules(partial_eval_jaxpr_rules, _by_equation)


def abstract_eval_fun(fun: Callable[..., Any], *avals: Any, debug_info: Any = None, **params: Any) -> list[Any]:
    """The types of the results of a function that returns a list."""
    return list(trace_to_jaxpr(lambda *xs: list(fun(*xs, **params)), avals).out_avals)


def close_jaxpr(jaxpr: Jaxpr) -> ClosedJaxpr:
    """A program without constants, closed."""
    return ClosedJaxpr(jaxpr, ())


def move_binders_to_back(closed_jaxpr: ClosedJaxpr, to_move: Sequence[bool]) -> ClosedJaxpr:
    """A program that takes the marked inputs last."""
    order = sorted(zip(to_move, closed_jaxpr.jaxpr.invars, strict=True), key=lambda pair: pair[0])
    return ClosedJaxpr(closed_jaxpr.jaxpr.replace(invars=[v for _, v in order]), closed_jaxpr.consts)


def dce_jaxpr_consts(
    jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool], list[bool]]:
    """Remove equations that the used outputs do not need, and constants.

    Args:
      jaxpr: the program.
      used_outputs: for each output whether it is used.
      instantiate: for each constant and each input (or for all) whether to keep it if it is unused.

    Returns:
      The trimmed program, and for each constant and for each input whether it was kept.
    """
    count = len(jaxpr.constvars)
    as_inputs = jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars])
    trimmed, used = dce_jaxpr(as_inputs, used_outputs, instantiate)
    kept = sum(used[:count])
    trimmed = trimmed.replace(constvars=list(trimmed.invars[:kept]), invars=list(trimmed.invars[kept:]))
    return trimmed, used[:count], used[count:]


def prune_closed_jaxpr_outputs(jaxpr: ClosedJaxpr, used_outputs: Sequence[bool]) -> ClosedJaxpr:
    """A program that returns only the used outputs."""
    outvars = list(compress(jaxpr.jaxpr.outvars, used_outputs))
    trimmed, _ = dce_jaxpr(jaxpr.jaxpr.replace(outvars=outvars), [True] * len(outvars), True)
    return ClosedJaxpr(trimmed, jaxpr.consts)


def dce_jaxpr_call_rule(used_outputs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    """Trim the program in the parameter `call_jaxpr` of an equation, a `Jaxpr` or closed.

    Returns:
      For each operand whether it is used, and the equation, or None if nothing of it is needed.
    """
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    program = eqn.params["call_jaxpr"]
    inner = getattr(program, "jaxpr", program)
    trimmed, used_inputs = dce_jaxpr(inner, list(used_outputs))
    kept: Any = ClosedJaxpr(trimmed, program.consts) if isinstance(program, ClosedJaxpr) else trimmed
    trimmed_eqn = new_jaxpr_eqn(
        list(compress(eqn.invars, used_inputs)),
        list(compress(eqn.outvars, used_outputs)),
        eqn.primitive,
        {**eqn.params, "call_jaxpr": kept},
        trimmed.effects,
        eqn.source_info,
    )
    return list(used_inputs), trimmed_eqn


dce_jaxpr_closed_call_rule = dce_jaxpr_call_rule


def _default_dce_rule(used_outs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    """Keep an equation as it is and all of its inputs, or remove it if no result is used and it has no effects."""
    kept = any(used_outs) or bool(eqn.effects)
    return [kept] * len(eqn.invars), eqn if kept else None
