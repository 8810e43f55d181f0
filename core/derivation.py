"""Derivations: objects that stand in place of a rule and are made into one when they are entered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["Derivation"]


class Derivation:
    """A rule that is made from its primitive, or from other rules of that; `primax.extend.derive` has some."""

    def rule_for(self, where: str, primitive: Any, kind: str, others: Mapping[str, Any]) -> Callable[..., Any]:
        """The rule.

        Args:
          where: what is called, for messages.
          primitive: whose rule it is.
          kind: of rule.
          others: rules of the primitive by kind: those that it has, and those that are given along with this one.

        Raises:
          TypeError: a rule of this kind cannot be made from these.
        """
        raise NotImplementedError(f"{type(self).__name__} must define rule_for(where, primitive, kind, others)")
