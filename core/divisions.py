"""The possible divisions of a primitive's operands and results among devices, by its sharding rule, for given types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primax.core import rules
from primax.core.diagnostics import add_rule_note, rule_error, shorten
from primax.core.dimension_rules import DimensionRule, Factors, dimension_rule, elementwise_rule

__all__ = ["division_of"]


def division_of(primitive: Any, avals: Sequence[Any], outs: Sequence[Any], params: dict[str, Any]) -> Any:
    """The result of a primitive's sharding rule for operands and results of these types.

    Returns:
      `Factors`; or the list of divisions of the results, if the rule computes them; or None if there is no rule or it
      returns None.

    Raises:
      RuleError: the rule returns another type.
      ValueError: the types do not fit the rule.
    """
    rule = rules.sharding_rules.functions.get(primitive)
    if rule is None:
        return None
    try:
        told: Any = rule(*avals, **params)
    except Exception as error:
        add_rule_note(error, rules.sharding_rules, primitive)
        raise
    if isinstance(told, str):
        told = dimension_rule(told)
    if not isinstance(told, DimensionRule):
        if told is None:
            return None
        specs = list(told) if isinstance(told, list) else [told]
        if len(specs) != len(outs):
            raise rule_error(
                rules.sharding_rules,
                primitive,
                f"must return the divisions of {len(outs)} results, got {shorten(told)}",
            )
        return specs
    if rule is elementwise_rule:  # implied by a batch rule, which may add axes
        rank = max((len(aval.shape) for aval in avals), default=0)
        if any(len(out.shape) != rank for out in outs):
            return None
    found: Factors = told.factors(primitive, [a.shape for a in avals], [a.shape for a in outs])
    return found
