"""Derivations: objects that are registered in place of a rule and make the rule at registration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["Derivation"]


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
