"""Derivations: objects that are registered in place of a rule and make the rule at registration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


class Derivation:
    """A rule made from its primitive, or from other rules of it; `primax.extend.derive` has some."""

    def rule_for(self, where: str, primitive: Any, kind: str, others: Mapping[str, Any]) -> Callable[..., Any]:
        """The rule.

        Args:
          where: the name of the called function, for messages.
          primitive: the primitive of the rule.
          kind: the kind of the rule.
          others: the primitive's rules by kind: the existing ones, and those registered together with this one.

        Raises:
          TypeError: a rule of this kind cannot be made from these rules.
        """
        raise NotImplementedError(f"{type(self).__name__} must define rule_for(where, primitive, kind, others)")


class DerivedRule(Derivation):
    """A derived rule, with the origin and the place that the table of its kind records.

    Args:
      function: the rule.
      origin: the kind of rule that it was derived from, such as `"impl"`; empty if a factory made it.
      place: the file and line that asked for it, if its own code is in primax.
    """

    def __init__(self, function: Callable[..., Any], origin: str, place: tuple[str, int] | None = None) -> None:
        self.function = function
        self.origin = origin
        self.place = place

    def __repr__(self) -> str:
        return repr(self.function)

    def __call__(self, /, *args: Any, **params: Any) -> Any:
        return self.function(*args, **params)

    def rule_for(self, where: str, primitive: Any, kind: str, others: Mapping[str, Any]) -> DerivedRule:
        return self


def function_of(rule: Any) -> Any:
    """The function of a derived rule; other rules unchanged."""
    return rule.function if isinstance(rule, DerivedRule) else rule
