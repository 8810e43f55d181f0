"""Groups stay on one line if they fit, and break otherwise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from primax.core.text.line_breaking import (
    BREAK,
    CLOSE,
    DEDENT,
    EMPTY_BREAK,
    EQUATION_BREAK,
    FILL,
    INDENT,
    OPEN,
    Break,
    Note,
    Token,
    lay_out,
)

pytestmark = [pytest.mark.any_word_size, pytest.mark.any_jaxlib]


def call(name: str, *arguments: list[Token]) -> list[Token]:
    inner = [token for argument in arguments for token in (BREAK, *argument)][1:]
    return [name, "(", OPEN, INDENT, EMPTY_BREAK, *inner, DEDENT, EMPTY_BREAK, CLOSE, ")"]


def test_a_group_that_fits_exactly_stays_and_one_column_less_breaks_it() -> None:
    tokens = call("f", ["ab"], ["cd"])
    assert lay_out(tokens, 8) == "f(ab cd)"
    assert lay_out(tokens, 6) == "f(\n  ab\n  cd\n)"


def test_an_inner_group_may_fit_where_the_outer_one_breaks() -> None:
    tokens = call("f", call("g", ["a"], ["b"]), ["cccccccc"])
    assert lay_out(tokens, 40) == "f(g(a b) cccccccc)"
    assert lay_out(tokens, 12) == "f(\n  g(a b)\n  cccccccc\n)"
    assert lay_out(tokens, 4) == "f(\n  g(\n    a\n    b\n  )\n  cccccccc\n)"


def test_what_is_in_a_flat_group_never_breaks() -> None:
    assert lay_out([OPEN, "a", EQUATION_BREAK, OPEN, "b", EQUATION_BREAK, "c", CLOSE, CLOSE], 7) == "a; b; c"


def test_a_filling_break_breaks_beyond_the_last_column_alone() -> None:
    words = [token for word in ("one", "two", "three", "four") for token in (FILL, word)][1:]
    assert lay_out(words, 7) == "one two\nthree four"
    assert lay_out(words, 40) == "one two three four"


def test_notes_stand_in_one_column_and_further_ones_have_lines_of_their_own() -> None:
    tokens: list[Token] = ["long line", Note("first"), BREAK, "b", Note("second"), Note("third"), BREAK, "c"]
    assert lay_out(tokens, 3).split("\n") == ["long line # first", "b         # second", "          # third", "c"]


@given(st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=8), st.integers(0, 30))
def test_breaks_change_nothing_but_spaces(words: list[str], width: int) -> None:
    tokens: list[Token] = [OPEN, *[token for word in words for token in (Break(" "), word)][1:], CLOSE]
    text = lay_out(tokens, width)
    assert text.split() == words
    assert ("\n" in text) == (len(" ".join(words)) > width and len(words) > 1)
