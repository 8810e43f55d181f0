"""Sharding rules: the correspondence of the dimensions of operands and results, for given types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primax.core.diagnostics import add_rule_note, rule_error, shorten
from primax.core.dimension_rules import (
    WHOLE,
    DimensionRule,
    Factors,
    ShardingRule,
    as_sharding_rule,
    dimension_rule,
    elementwise_rule,
)
from primax.core.linearity import linearity_of
from primax.core.rules import sharding_rules as _rules

__all__ = [
    "Factors",
    "ShardingRule",
    "WHOLE",
    "apply_sharding_rule",
    "as_sharding_rule",
    "linearity_of",
]


def apply_sharding_rule(primitive: Any, avals: Sequence[Any], outs: Sequence[Any], params: dict[str, Any]) -> Any:
    """The result of a primitive's sharding rule for operands and results of these types.

    Returns:
      `Factors`; or the list of the shardings of the results, if the rule computes them; or None if there is no rule or
      it returns None.

    Raises:
      RuleError: the rule returns another type.
      ValueError: the types do not fit the rule.
    """
    rule = _rules.functions.get(primitive)
    if rule is None:
        return None
    try:
        result: Any = rule(*avals, **params)
    except Exception as error:
        add_rule_note(error, _rules, primitive)
        raise
    if isinstance(result, str):
        result = dimension_rule(result)
    if result is None:
        return None
    if not isinstance(result, DimensionRule):
        specs = list(result) if isinstance(result, list) else [result]
        if len(specs) != len(outs):
            must = f"must return the shardings of {len(outs)} results"
            raise rule_error(_rules, primitive, f"{must}, got {shorten(result)}")
        return specs
    if rule is elementwise_rule:  # implied by a batch rule, which may add axes
        rank = max((len(aval.shape) for aval in avals), default=0)
        if any(len(out.shape) != rank for out in outs):
            return None
    return result.factors(primitive, [aval.shape for aval in avals], [out.shape for out in outs])
