"""The operands in which a primitive is linear, by its JVP rule; only those may be unreduced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, NamedTuple, TypeVar

from primax.core import rules

__all__ = ["Linearity", "linear_alone", "linear_together", "linearity_of"]


Rule = TypeVar("Rule", bound=Callable[..., Any])


class Linearity(NamedTuple):
    """The operands in which a primitive is linear.

    Attributes:
      together: True if it is linear in all of them jointly, like a sum; False if in each separately, like a product.
      positions: the positions of the operands; None for all.
      besides: if `positions` is None, the positions of operands in which it is not linear.
      scalars: whether scalars may be whole if other operands are unreduced: the first device uses them, the others 0.
    """

    together: bool
    positions: tuple[int, ...] | None = None
    besides: tuple[int, ...] = ()
    scalars: bool = False

    def holds(self, position: int) -> bool:
        """Whether the primitive is linear in an operand."""
        return position not in self.besides if self.positions is None else position in self.positions


def linear_together(rule: Rule, *positions: int, besides: tuple[int, ...] = (), scalars: bool = False) -> Rule:
    """Mark the JVP rule of a primitive that is linear in these operands (or all) jointly; returns the rule.

    Examples:
      >>> from primax.extend.core.primitives import sub_p
      >>> from primax.extend.interpreters import ad
      >>> rule = ad.linear_together(ad.standard_jvp(sub_p, lambda t, x, y: t, lambda t, x, y: -t))
      >>> rule.linearity.together, rule.linearity.holds(1)
      (True, True)
    """
    rule.linearity = Linearity(True, positions or None, besides, scalars)  # type: ignore[attr-defined]
    return rule


def linear_alone(rule: Rule, *positions: int) -> Rule:
    """Mark the JVP rule of a primitive that is linear in each of these operands (or all); returns the rule.

    Examples:
      >>> from primax.extend.core.primitives import mul_p
      >>> from primax.extend.interpreters import ad
      >>> rule = ad.linear_alone(ad.standard_jvp(mul_p, lambda t, x, y: t * y, lambda t, x, y: x * t))
      >>> rule.linearity.together, rule.linearity.holds(0), rule.linearity.holds(1)
      (False, True, True)
    """
    rule.linearity = Linearity(False, positions or None)  # type: ignore[attr-defined]
    return rule


def linearity_of(primitive: Any, params: Mapping[str, Any]) -> Linearity | None:
    """The operands in which a primitive is linear, by its JVP rule; None if the rule has no mark."""
    linearity = getattr(rules.jvp_rules.functions.get(primitive), "linearity", None)
    return linearity(**params) if isinstance(linearity, FunctionType) else linearity
