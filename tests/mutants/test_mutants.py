"""Mutants are found, or are none; `make mutants` judges many more."""

from __future__ import annotations

import pytest

import primax as px
from mutants.runner import every_mutant, in_place, judge
from primax.core.rules import load_plugins
from primax.extend.core import primitives


def mutant(text: str):
    load_plugins(everything=True)
    (found,) = every_mutant(text)
    return found


@pytest.mark.parametrize(
    "text",
    ["jvp of sin: negated", "transpose of transpose: negated", "batch of atan2: exchanged", "jvp of pow: without a"],
)
def test_the_kit_finds_a_rule_made_wrong(text: str) -> None:
    wrong = mutant(text)
    assert judge(wrong)
    assert wrong.applied


def test_a_mutant_leaves_nothing_behind() -> None:
    with in_place(mutant("jvp of sin: negated")):
        assert float(px.grad(primitives.sin_p.bind)(0.0)) == -1.0
    assert float(px.grad(primitives.sin_p.bind)(0.0)) == 1.0


def test_what_changes_nothing_is_no_mutant() -> None:
    assert not every_mutant("lowering of add: exchanged")


def test_a_rule_of_what_has_no_derivative_or_that_only_raises_cannot_be_made_wrong() -> None:
    for text in ("jvp of ge: exchanged", "jvp of debug_callback: exchanged", "lowering of custom_lin: exchanged"):
        wrong = mutant(text)
        assert not judge(wrong)
        assert not wrong.applied, text
    wrong = mutant("jvp of sub: exchanged")
    assert judge(wrong)
    assert wrong.applied
