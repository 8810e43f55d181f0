"""Objects in place of rules that make the rule when it is registered."""

from __future__ import annotations

from typing import Any

import pytest

from primax.core.derivation import Derivation, DerivedRule, function_of
from primax.core.primitive import Primitive
from primax.core.rules import RuleTable, rule_tables

pytestmark = [pytest.mark.any_word_size, pytest.mark.any_jaxlib]


def rule(x: Any, *, scale: int = 1) -> Any:
    return x * scale


def test_a_derived_rule_is_called_like_its_function() -> None:
    derived = DerivedRule(rule, "impl")
    assert derived(3, scale=2) == 6
    assert (repr(derived), derived.rule_for("define", None, "jvp", {})) == (repr(rule), derived)
    assert function_of(derived) is function_of(rule) is rule


def test_the_table_has_the_function_and_says_what_it_was_derived_from() -> None:
    table: RuleTable = rule_tables["jvp"]
    primitive = Primitive("made")
    table.register(primitive, DerivedRule(rule, "the stars"))
    provenance = table.provenance[primitive]
    assert table[primitive] is rule
    assert provenance.origin == "derived from the stars"
    assert (provenance.file, provenance.line) == (__file__, rule.__code__.co_firstlineno)


def test_a_derivation_without_a_rule_says_what_to_define() -> None:
    class Empty(Derivation):
        pass

    with pytest.raises(NotImplementedError, match=r"^Empty must define rule_for\(where, primitive, kind, others\)$"):
        Empty().rule_for("define", None, "jvp", {})
