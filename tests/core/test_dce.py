"""Programs are trimmed to what their wanted outputs need."""

from __future__ import annotations

from typing import Any

import pytest
from toys import F32, TWO, Shout, chain, shout_p, sin_p, sincos_p, two_results

from primax.core import rules
from primax.core.check import check_jaxpr
from primax.core.dce import dce_jaxpr
from primax.core.jaxpr import DropVar, Jaxpr, JaxprEqn, Literal, Var
from primax.core.primitive import Primitive
from primax.interpreters.staging import trace_to_jaxpr


def test_dce_keeps_what_the_wanted_outputs_need() -> None:
    jaxpr = two_results()
    first, used = dce_jaxpr(jaxpr, [True, False])
    assert used == [True, False]
    assert str(first) == "\n".join(["{ lambda ; a:f32[]. let b:f32[] = mul 2.0:f32[] a; c:f32[] = sin b in (c,) }"])
    second, used = dce_jaxpr(jaxpr, [False, True])
    assert used == [False, True]
    assert str(second) == "{ lambda ; a:f32[]. let b:f32[] = mul a a in (b,) }"
    neither, used = dce_jaxpr(jaxpr, [False, False])
    assert used == [False, False]
    assert (neither.eqns, neither.outvars, neither.invars) == ([], [], [])
    both, used = dce_jaxpr(jaxpr, [True, True])
    assert used == [True, True]
    assert both.eqns == jaxpr.eqns[:3]
    for trimmed in (first, second, neither, both):
        check_jaxpr(trimmed)
    assert len(jaxpr.eqns) == 4


def test_dce_keeps_unused_inputs_if_asked() -> None:
    trimmed, used = dce_jaxpr(two_results(), [True, False], instantiate=True)
    assert used == [True, True]
    assert len(trimmed.invars) == 2
    trimmed, used = dce_jaxpr(two_results(), [False, False], instantiate=[False, True])
    assert used == [False, True]
    assert len(trimmed.invars) == 1


def test_dce_counts_outputs() -> None:
    with pytest.raises(TypeError, match="one flag per output, got 1 for 2 outputs"):
        dce_jaxpr(two_results(), [True])


def test_dce_keeps_inputs_that_are_outputs_and_outputs_that_are_literals() -> None:
    x, y = Var(F32), Var(F32)
    trimmed, used = dce_jaxpr(Jaxpr([], [x, y], [y, Literal(TWO), x], []), [True, True, False])
    assert used == [False, True]
    assert str(trimmed) == "{ lambda ; a:f32[]. let  in (a, 2.0:f32[]) }"


def test_dce_drops_unread_results_of_equations_it_keeps() -> None:
    closed = trace_to_jaxpr(lambda x: sincos_p.bind(x), [F32])
    trimmed, _ = dce_jaxpr(closed.jaxpr, [False, True])
    assert type(trimmed.eqns[0].outvars[0]) is DropVar
    assert type(closed.eqns[0].outvars[0]) is Var


def test_dce_keeps_effects_and_what_they_read() -> None:
    closed = trace_to_jaxpr(lambda x: (shout_p.bind(sin_p.bind(x)), [x])[1], [F32])
    trimmed, used = dce_jaxpr(closed.jaxpr, [False])
    assert used == [True]
    assert [eqn.primitive for eqn in trimmed.eqns] == [sin_p, shout_p]
    assert trimmed.effects == frozenset({Shout()})


def test_dce_reports_only_the_effects_that_are_left() -> None:
    closed = chain(2)
    loud = closed.jaxpr.replace(effects=frozenset({Shout()}))
    assert dce_jaxpr(loud, [True])[0].effects == frozenset()


def test_dce_asks_the_rule_of_a_primitive_that_has_one() -> None:
    pick_p = Primitive("pick", multiple_results=True)
    pick_p.def_abstract_eval(lambda *avals: list(avals))
    asked: list[Any] = []

    def rule(used: Any, eqn: JaxprEqn) -> Any:
        asked.append(list(used))
        if not any(used):
            return [False] * len(used), None
        keep = [i for i, u in enumerate(used) if u]
        return used, eqn.replace(invars=[eqn.invars[i] for i in keep], outvars=[eqn.outvars[i] for i in keep])

    rules.dce_rules[pick_p] = rule
    try:
        closed = trace_to_jaxpr(lambda *xs: pick_p.bind(*xs), [F32, F32, F32])
        trimmed, used = dce_jaxpr(closed.jaxpr, [True, False, True])
    finally:
        del rules.dce_rules[pick_p]
    assert asked == [[True, False, True]]
    assert used == [True, False, True]
    assert str(trimmed) == "{ lambda ; a:f32[] b:f32[]. let c:f32[] d:f32[] = pick a b in (c, d) }"
    check_jaxpr(trimmed)
