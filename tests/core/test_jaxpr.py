"""Jaxprs are built and evaluated."""

from __future__ import annotations

import gc
import itertools
import weakref
from typing import Any

import numpy as np
import pytest
from toys import F32, TWO, Shout, call_p, chain, grows_linearly, mul_p, nested, powers, sin_p, sincos_p, two_results

from primax.core import rules
from primax.core.avals import ShapedArray
from primax.core.check import check_jaxpr
from primax.core.dce import dce_jaxpr
from primax.core.jaxpr import (
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    cached,
    eval_jaxpr,
    holds_program,
    jaxpr_as_fun,
    jaxprs_in_params,
    new_jaxpr_eqn,
    subjaxprs,
)
from primax.core.primitive import Primitive
from primax.core.source_info import user_frame
from primax.core.trace import thread
from primax.extend.core import gensym
from primax.interpreters.staging import trace_to_jaxpr

VECTOR = ShapedArray((3,), np.float32)


def test_a_program_is_built_without_staging_a_function() -> None:
    jaxpr = two_results()
    check_jaxpr(jaxpr)
    assert str(jaxpr.eqns[1]) == "a:f32[] = sin b"
    assert jaxpr.in_avals == [F32, F32]
    assert jaxpr.out_avals == [F32, F32]


def test_gensym_makes_new_variables() -> None:
    new = gensym()
    a, b = new(F32), new(F32)
    assert a is not b
    assert a != b
    assert a.aval is F32
    assert "f32[]" in repr(a)


def test_dropped_variables_are_variables() -> None:
    assert isinstance(DropVar(F32), Var)
    assert repr(DropVar(F32)) == "_"


def test_literals_know_the_types_of_their_values() -> None:
    assert Literal(TWO).aval == F32
    assert Literal(2.0).aval.weak_type
    assert Literal(2.0, F32).aval is F32
    assert repr(Literal(TWO)) == "2.0:f32[]"


def test_new_jaxpr_eqn_takes_operands_results_primitive_and_params() -> None:
    x, y = Var(F32), Var(F32)
    eqn = new_jaxpr_eqn((x,), (y,), sin_p, {"k": 1}, [Shout()], None)
    assert (eqn.primitive, eqn.invars, eqn.outvars, eqn.params) == (sin_p, [x], [y], {"k": 1})
    assert eqn.effects == frozenset({Shout()})
    assert eqn.source_info is None


def test_equations_are_replaced_in_part() -> None:
    eqn = chain(1).eqns[0]
    other = eqn.replace(primitive=sin_p, params={"a": 1})
    assert isinstance(other, JaxprEqn)
    assert (other.primitive, other.params) == (sin_p, {"a": 1})
    assert other.invars is eqn.invars
    assert eqn.primitive is mul_p


def test_programs_are_replaced_in_part() -> None:
    jaxpr = two_results()
    first = jaxpr.replace(outvars=jaxpr.outvars[:1], debug_info="first")
    assert len(first.outvars) == 1
    assert first.debug_info == "first"
    assert first.eqns == jaxpr.eqns
    assert len(jaxpr.outvars) == 2


def test_closed_programs_are_replaced_in_part() -> None:
    x = Var(VECTOR)
    closed = ClosedJaxpr(Jaxpr([x], [], [x], []), [np.ones(3, np.float32)])
    other = closed.replace(consts=[np.zeros(3, np.float32)])
    assert other.jaxpr is closed.jaxpr
    np.testing.assert_array_equal(jaxpr_as_fun(other)()[0], np.zeros(3))
    assert closed.replace(jaxpr=closed.jaxpr).consts == closed.consts


def test_a_closed_program_has_a_constant_for_each_constvar() -> None:
    with pytest.raises(TypeError, match="one value per constvar, got 1 values for 0 constvars"):
        ClosedJaxpr(two_results(), [1.0])
    with pytest.raises(TypeError, match="got 0 values for 1 constvars"):
        ClosedJaxpr(Jaxpr([Var(F32)], [], [], []))


def test_a_closed_program_shows_what_its_program_has() -> None:
    closed = ClosedJaxpr(two_results())
    assert closed.in_avals == closed.jaxpr.in_avals
    assert closed.out_avals == closed.jaxpr.out_avals
    assert closed.eqns is closed.jaxpr.eqns
    assert closed.effects == frozenset()
    assert closed.literals == closed.consts == []


def test_a_closed_program_is_a_program() -> None:
    x, c = Var(F32), Var(F32)
    eqn = new_jaxpr_eqn([x, c], [Var(F32)], mul_p, {})
    closed = ClosedJaxpr(Jaxpr([c], [x], eqn.outvars, [eqn], debug_info="scale"), [np.float32(3)])
    assert isinstance(closed, Jaxpr)
    for name in ("constvars", "invars", "outvars", "eqns", "effects", "debug_info", "x64"):
        assert getattr(closed, name) is getattr(closed.jaxpr, name)
    assert eval_jaxpr(closed, closed.consts, np.float32(2)) == [6.0]
    same = closed.replace(outvars=[x])
    assert same.consts == closed.consts
    assert same.outvars == same.jaxpr.outvars == [x]
    assert ClosedJaxpr(closed, [np.float32(5)]).jaxpr is closed.jaxpr
    assert list(jaxprs_in_params({"held": (closed, closed.jaxpr)})) == [closed.jaxpr] * 2


def test_an_open_program_tells_where_its_constants_are() -> None:
    program = two_results()
    assert program.jaxpr is program
    assert program.consts == program.literals == []
    opened = Jaxpr([Var(F32)], [], [], [])
    assert not hasattr(opened, "consts")
    with pytest.raises(AttributeError, match="values of its 1 constvars are consts of the ClosedJaxpr"):
        _ = opened.consts


def test_eval_jaxpr_computes() -> None:
    s, d = eval_jaxpr(two_results(), [], np.float32(0.5), np.float32(3))
    np.testing.assert_allclose(s, np.sin(1.0), rtol=1e-6)
    assert d == 9


def test_eval_jaxpr_puts_constants_before_arguments() -> None:
    c, x, y = Var(VECTOR), Var(F32), Var(VECTOR)
    jaxpr = Jaxpr([c], [x], [y, c, Literal(TWO)], [new_jaxpr_eqn([c, x], [y], mul_p, {})])
    y_value, c_value, two = eval_jaxpr(jaxpr, [np.arange(3, dtype=np.float32)], TWO)
    np.testing.assert_array_equal(y_value, [0, 2, 4])
    np.testing.assert_array_equal(c_value, [0, 1, 2])
    assert two == 2


def test_eval_jaxpr_reads_an_argument_that_is_also_an_output() -> None:
    x, y = Var(F32), Var(F32)
    jaxpr = Jaxpr([], [x], [x, y, x, y], [new_jaxpr_eqn([x], [y], sin_p, {})])
    assert eval_jaxpr(jaxpr, [], np.float32(0)) == [0, 0, 0, 0]


def test_eval_jaxpr_drops_what_nothing_reads() -> None:
    x = Var(F32)
    drop = DropVar(F32)
    c = Var(F32)
    jaxpr = Jaxpr([], [x], [c], [new_jaxpr_eqn([x], [drop, c], sincos_p, {})])
    assert eval_jaxpr(jaxpr, [], np.float32(0)) == [1]


def test_eval_jaxpr_frees_a_value_after_its_last_use() -> None:
    alive: list[int] = []
    made: list[weakref.ref[Any]] = []
    noted_p = Primitive("noted")

    def impl(x: Any) -> Any:
        made.append(weakref.ref(y := np.sin(x)))
        alive.append(sum(ref() is not None for ref in made))
        return y

    noted_p.def_impl(impl)
    xs = [Var(VECTOR) for _ in range(11)]
    eqns = [new_jaxpr_eqn([x], [y], noted_p, {}) for x, y in itertools.pairwise(xs)]
    eval_jaxpr(Jaxpr([], xs[:1], xs[-1:], eqns), [], np.ones(3, np.float32))
    assert len(alive) == 10
    assert max(alive) <= 3


@pytest.mark.parametrize("count", [0, 1, 3])
def test_eval_jaxpr_counts_arguments(count: int) -> None:
    with pytest.raises(TypeError, match=f"got {count} arguments for 2 invars"):
        eval_jaxpr(two_results(), [], *[1.0] * count)


def test_eval_jaxpr_counts_constants() -> None:
    with pytest.raises(TypeError, match="got 1 values for 0 constvars"):
        eval_jaxpr(two_results(), [1.0], 1.0, 1.0)


def test_eval_jaxpr_stages_under_a_staging_trace() -> None:
    jaxpr = two_results()
    again = trace_to_jaxpr(lambda *xs: eval_jaxpr(jaxpr, [], *xs), [F32, F32])
    assert str(again) == str(jaxpr)


def test_staging_an_evaluation_keeps_the_lines_of_the_first_program() -> None:
    def fun(x: Any) -> Any:
        return [sin_p.bind(x)]

    def rerun(x: Any, propagate: bool) -> Any:
        return eval_jaxpr(closed.jaxpr, [], x, propagate_source_info=propagate)

    closed = trace_to_jaxpr(fun, [F32])
    kept = trace_to_jaxpr(lambda x: rerun(x, True), [F32])
    fresh = trace_to_jaxpr(lambda x: rerun(x, False), [F32])
    assert user_frame(kept.eqns[0].source_info).line == fun.__code__.co_firstlineno + 1
    assert user_frame(fresh.eqns[0].source_info).line == rerun.__code__.co_firstlineno + 1
    assert thread.source is None


def test_a_failing_evaluation_leaves_no_trace_behind() -> None:
    fails_p = Primitive("fails")

    def impl(x: Any) -> Any:
        raise ArithmeticError("no")

    fails_p.def_impl(impl)
    fails_p.def_abstract_eval(lambda x: x)
    closed = trace_to_jaxpr(lambda x: [fails_p.bind(x)], [F32])
    before = thread.trace, thread.source
    with pytest.raises(ArithmeticError):
        eval_jaxpr(closed.jaxpr, [], 1.0)
    assert (thread.trace, thread.source) == before


def test_jaxpr_as_fun_is_the_function_that_was_staged() -> None:
    table = np.arange(3, dtype=np.float32)
    closed = trace_to_jaxpr(lambda x: [mul_p.bind(table, x), x], [F32])
    y, x = jaxpr_as_fun(closed)(TWO)
    np.testing.assert_array_equal(y, [0, 2, 4])
    assert x == 2
    with pytest.raises(TypeError, match="got 2 arguments for 1 invars"):
        jaxpr_as_fun(closed)(1.0, 2.0)


def test_jaxprs_in_params_finds_programs_wherever_they_hide() -> None:
    one, two, three, four = (chain(n) for n in range(1, 5))
    params = {"a": one, "b": two.jaxpr, "c": (three, None, [four.jaxpr, 3]), "d": "text", "e": np.ones(3)}
    assert list(jaxprs_in_params(params)) == [one.jaxpr, two.jaxpr, three.jaxpr, four.jaxpr]
    assert list(jaxprs_in_params({})) == []


def test_subjaxprs_are_those_of_all_equations() -> None:
    inner = chain(1)
    outer = trace_to_jaxpr(lambda x: call_p.bind(*call_p.bind(sin_p.bind(x), jaxpr=inner), jaxpr=inner), [F32])
    assert list(subjaxprs(outer.jaxpr)) == [inner.jaxpr, inner.jaxpr]
    assert list(subjaxprs(inner.jaxpr)) == []


def test_what_is_cached_on_a_program_is_made_again_when_a_rule_changes() -> None:
    closed, made = chain(1), []
    assert cached(closed, "key", lambda: made.append(1) or "first") == "first"
    assert cached(closed, "key", lambda: made.append(2) or "second") == "first"
    rules.epoch.bump()
    assert cached(closed, "key", lambda: made.append(3) or "third") == "third"
    assert made == [1, 3]


def test_a_program_is_freed_with_its_last_reference() -> None:
    closed = trace_to_jaxpr(powers(1000), [F32])
    str(closed)
    check_jaxpr(closed)
    dce_jaxpr(closed.jaxpr, [True])
    eval_jaxpr(closed.jaxpr, [], np.float32(0))
    alive = weakref.ref(closed.jaxpr)
    gc.disable()
    try:
        del closed
        assert alive() is None
    finally:
        gc.enable()


def test_a_hundred_thousand_equations_are_staged_evaluated_and_freed() -> None:
    closed = trace_to_jaxpr(powers(100_000), [F32])
    assert len(closed.eqns) == 100_000
    assert eval_jaxpr(closed.jaxpr, [], np.float32(0)) == [0]
    del closed


def test_two_hundred_nested_programs_are_evaluated() -> None:
    np.testing.assert_allclose(jaxpr_as_fun(nested(200))(TWO), [np.sin(2)], rtol=1e-6)


def test_staging_trimming_and_freeing_take_linear_time() -> None:
    def free(programs: list[Any]) -> None:
        programs.clear()

    assert grows_linearly(powers, lambda fun: trace_to_jaxpr(fun, [F32]))
    assert grows_linearly(chain, lambda closed: dce_jaxpr(closed.jaxpr, [True]))
    assert grows_linearly(lambda n: [chain(n)], free)


def test_a_parameter_holds_a_program_itself_or_in_containers():
    program = ClosedJaxpr(Jaxpr([], [], [], []))
    assert all(map(holds_program, (program, program.jaxpr, (1, [program]))))
    assert not any(map(holds_program, (1, "name", (), (2, [3.0]), abs)))
    assert holds_program((1, abs), or_function=True)
    assert not holds_program((1, np.float32), or_function=True)
