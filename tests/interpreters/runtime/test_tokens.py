"""The tokens of a program that is being lowered."""

from __future__ import annotations

from primax.interpreters.runtime.tokens import TokenSet, no_tokens


def test_tokens_are_replaced_by_their_effects() -> None:
    tokens = TokenSet({"a": 1, "b": 2, "c": 3})
    assert tokens.effects() == {"a", "b", "c"}
    assert tokens.tokens() == (1, 2, 3)
    part = tokens.subset(["c", "a"])
    assert part.tokens() == (3, 1)
    later = part.update_tokens({"a": 10, "z": 5})
    assert later == {"c": 3, "a": 10}
    assert part.tokens() == (3, 1)
    assert no_tokens.tokens() == ()
