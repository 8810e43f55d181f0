"""The tokens of a program that is being lowered, which order its ordered effects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from primax.core import _jaxlib


class TokenSet(dict[Any, Any]):
    """The current token of each ordered effect, an IR value."""

    __slots__ = ()

    @classmethod
    def create(cls, effects: Iterable[Any]) -> TokenSet:
        """A new token for each effect, at the current insertion point."""
        return cls({effect: _jaxlib.hlo.create_token() for effect in effects})

    def effects(self) -> set[Any]:
        """The effects that have tokens here."""
        return set(self)

    def tokens(self) -> tuple[Any, ...]:
        """The tokens, in the order of their effects."""
        return tuple(self.values())

    def subset(self, effects: Iterable[Any]) -> TokenSet:
        """The tokens of some of the effects."""
        return TokenSet({effect: self[effect] for effect in effects})

    def update_tokens(self, tokens: dict[Any, Any]) -> TokenSet:
        """The same effects, with the tokens of some of them replaced."""
        return TokenSet({effect: tokens.get(effect, token) for effect, token in self.items()})


no_tokens = TokenSet()
