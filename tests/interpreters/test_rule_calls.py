"""Calls of rules: the trace under which they run, and what is said of their results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primax as px
from primax.core import rules
from primax.core.errors import RuleError
from primax.core.trace import current_trace, set_current_trace, thread
from primax.extend import core
from primax.interpreters.rule_calls import ExternalRules, call_rule, require_list, type_of
from primax.interpreters.staging import StagingTrace


def test_a_rule_runs_under_the_parent_and_the_trace_is_restored() -> None:
    outer = current_trace()
    inner = StagingTrace(outer, "f")
    with set_current_trace(inner):
        during = call_rule(outer, rules.jvp_rules, px.lax.sin_p, lambda: thread.trace, params={})
        assert thread.trace is inner
    assert during is outer


def test_an_error_of_a_rule_gets_a_note_and_the_trace_is_restored() -> None:
    def broken() -> Any:
        raise ValueError("as planned")

    p = core.Primitive("of_test")
    rules.jvp_rules[p] = broken
    outer = current_trace()
    inner = StagingTrace(outer, "f")
    with set_current_trace(inner):
        with pytest.raises(ValueError, match="as planned") as caught:
            call_rule(outer, rules.jvp_rules, p, broken, params={})
        assert thread.trace is inner
    assert any("jvp" in note and "of_test" in note for note in caught.value.__notes__)


def test_results_of_rules_are_arrays_and_lists_where_there_are_several() -> None:
    assert type_of(rules.impl_rules, px.lax.sin_p, np.float32(1)).shape == ()
    with pytest.raises(RuleError, match="must return arrays, got 'text'"):
        type_of(rules.impl_rules, px.lax.sin_p, "text")
    with pytest.raises(RuleError, match="must return a list, since multiple_results is True"):
        require_list(rules.impl_rules, px.lax.cond_p, 1.0)


def test_a_rule_is_external_unless_primax_has_it_and_a_change_is_noticed() -> None:
    external = ExternalRules(rules.jvp_rules)
    assert not external[px.lax.sin_p]
    p = core.Primitive("of_test")
    assert external[p]
    rules.jvp_rules[p] = lambda primals, tangents: (primals[0], tangents[0])
    assert external[p]
    assert not external[px.lax.sin_p]
