"""`check_jaxpr` finds what is wrong with a program and says where."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from toys import F32, TWO, Shout, call_p, chain, grows_linearly, mul_p, nested, powers, shout_p, sin_p, sincos_p

from primax.core import rules
from primax.core.avals import ShapedArray, abstract_token
from primax.core.check import CheckContext, check_jaxpr
from primax.core.dce import dce_jaxpr
from primax.core.effects import no_effects
from primax.core.errors import JaxprTypeError, MissingRuleError
from primax.core.jaxpr import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var, new_jaxpr_eqn
from primax.core.primitive import Primitive
from primax.interpreters.staging import trace_to_jaxpr

I32 = ShapedArray((), np.int32)
WEAK = ShapedArray((), np.float32, weak_type=True)
VECTOR = ShapedArray((3,), np.float32)


def eqn(invars: Any, outvars: Any, primitive: Any = sin_p, effects: Any = no_effects, **params: Any) -> JaxprEqn:
    return new_jaxpr_eqn(invars, outvars, primitive, params, effects)


def complaint(program: Jaxpr | ClosedJaxpr) -> str:
    with pytest.raises(JaxprTypeError) as caught:
        check_jaxpr(program)
    return str(caught.value)


def call_of(inner: Jaxpr) -> Jaxpr:
    """A program whose second equation calls `inner`."""
    x, y, z = Var(F32), Var(F32), Var(F32)
    return Jaxpr([], [x], [z], [eqn([x], [y]), eqn([y], [z], call_p, jaxpr=ClosedJaxpr(inner))])


@pytest.fixture
def called() -> Iterator[Primitive]:
    """A primitive whose check rule looks at its operands and leaves its program to the checker."""
    primitive = Primitive("called", multiple_results=True)

    def rule(context: CheckContext, *atoms: Any, jaxpr: ClosedJaxpr) -> Any:
        context.check_operands(jaxpr, atoms)
        return jaxpr.out_avals, jaxpr.effects

    change = rules.check_rules.register(primitive, rule)
    yield primitive
    rules.check_rules.restore(change)


def test_well_typed_programs_pass() -> None:
    check_jaxpr(chain(3))
    check_jaxpr(chain(3).jaxpr)
    check_jaxpr(trace_to_jaxpr(lambda x: [*sincos_p.bind(x), mul_p.bind(x, np.ones(3, np.float32)), TWO], [F32]))
    check_jaxpr(nested(3))
    check_jaxpr(trace_to_jaxpr(lambda x: (shout_p.bind(x), [x])[1], [F32]))


def test_an_unbound_variable_is_named_with_its_equation() -> None:
    x, y, lost = Var(F32), Var(F32), Var(F32)
    assert complaint(Jaxpr([], [x], [y], [eqn([x, lost], [y], mul_p)])) == (
        "check_jaxpr: variable c is read, but nothing before binds it, at equation 0\n"
        "    b:f32[] = mul a c\n"
        "from an unknown line"
    )


def test_a_variable_must_be_bound_before_it_is_read() -> None:
    x, y, z = Var(F32), Var(F32), Var(F32)
    assert "variable b is read" in complaint(Jaxpr([], [x], [y], [eqn([y], [z]), eqn([x], [y])]))


def test_an_unbound_output_is_refused() -> None:
    assert complaint(Jaxpr([], [Var(F32)], [Var(F32)], [])).startswith(
        "check_jaxpr: variable b is read, but nothing before binds it, among"
    )


def test_variables_of_one_program_are_unbound_in_another() -> None:
    x, y, z = Var(F32), Var(F32), Var(F32)
    inner = Jaxpr([], [y], [z], [eqn([x], [z])])
    outer = Jaxpr([], [x], [v := Var(F32)], [eqn([x], [v], call_p, jaxpr=ClosedJaxpr(inner))])
    assert "variable a is read, but nothing before binds it" in complaint(outer)


def test_an_atom_must_be_a_variable_or_a_literal() -> None:
    x, y = Var(F32), Var(F32)
    assert "2.0 is read, but is neither a variable nor a literal" in complaint(
        Jaxpr([], [x], [2.0], [])  # type: ignore[list-item]
    )
    assert "is bound, but is not a variable" in complaint(Jaxpr([], [Literal(TWO)], [], []))  # type: ignore[list-item]
    check_jaxpr(Jaxpr([], [x], [y, Literal(TWO)], [eqn([x], [y])]))


@pytest.mark.parametrize("where", ["arguments", "constants", "results"])
def test_a_variable_is_bound_once(where: str) -> None:
    x, y = Var(F32), Var(F32)
    program = {
        "arguments": Jaxpr([], [x, x], [x], []),
        "constants": Jaxpr([x], [x], [x], []),
        "results": Jaxpr([], [x], [y], [eqn([x], [y]), eqn([y], [y])]),
    }[where]
    assert f"variable {'b' if where == 'results' else 'a'} is bound twice" in complaint(program)


def test_results_are_dropped_any_number_of_times() -> None:
    x, drop = Var(F32), DropVar(F32)
    check_jaxpr(Jaxpr([], [x], [x], [eqn([x], [drop]), eqn([x], [drop])]))
    assert "_ is read" in complaint(Jaxpr([], [x], [drop], [eqn([x], [drop])]))


@pytest.mark.parametrize("aval", [I32, VECTOR, abstract_token])
def test_a_result_has_the_type_that_its_rule_gives(aval: Any) -> None:
    x, y = Var(F32), Var(aval)
    text = complaint(Jaxpr([], [x], [y], [eqn([x], [y])]))
    assert f"variable b is of type {aval.str_short()}, but sin returns f32[], at equation 0" in text


def test_weakness_does_not_matter() -> None:
    x, y = Var(F32), Var(WEAK)
    check_jaxpr(Jaxpr([], [x], [y], [eqn([x], [y])]))


def test_operands_must_suit_the_rule() -> None:
    x, y, z = Var(VECTOR), Var(ShapedArray((4,), np.float32)), Var(VECTOR)
    text = complaint(Jaxpr([], [x, y], [z], [eqn([x, y], [z], mul_p)]))
    assert "mul refuses operands of types (f32[3], f32[4]): mul: shapes must agree, got (3,) and (4,)" in text
    assert "c:f32[3] = mul a b" in text
    assert "mul refuses operands of types (f32[])" in complaint(
        Jaxpr([], [v := Var(F32)], [w := Var(F32)], [eqn([v], [w], mul_p)])
    )


@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_number_of_results_is_that_of_the_rule(count: int) -> None:
    x, outs = Var(F32), [Var(F32) for _ in range(count)]
    text = complaint(Jaxpr([], [x], [], [eqn([x], outs, sincos_p)]))
    assert f"sincos has 2 outputs, but {count} variables are bound" in text


@pytest.mark.parametrize(
    "value, aval",
    [
        (2.0, F32),
        (2.0, ShapedArray((), np.float64)),
        (2.0, ShapedArray((), "bfloat16")),
        (2, I32),
        (True, ShapedArray((), bool)),
        (1j, ShapedArray((), np.complex64)),
        (np.float64(2), F32),
        (np.float64(2), ShapedArray((), np.float64)),
        (np.ones(3, np.float32), VECTOR),
    ],
)
def test_literals_of_their_values_type_pass(value: Any, aval: Any) -> None:
    if isinstance(value, np.float64) and aval is F32 and Literal(value).aval.dtype == np.float64:
        pytest.skip("double precision is enabled")
    check_jaxpr(Jaxpr([], [], [Literal(value, aval)], []))


@pytest.mark.parametrize(
    "value, aval",
    [
        (2.0, I32),
        (2, F32),
        (1j, F32),
        (True, I32),
        (2.0, VECTOR),
        (np.float32(2), I32),
        (np.ones(4, np.float32), VECTOR),
        ("two", F32),
        (2.0, abstract_token),
    ],
)
def test_literals_of_another_type_are_refused(value: Any, aval: Any) -> None:
    literal = Literal(value, aval)
    text = complaint(Jaxpr([], [], [literal], []))
    assert "check_jaxpr: literal " in text
    assert f"does not have the type of its value, which is of {type(value).__name__}" in text


def test_constants_are_of_their_variables_types() -> None:
    x = Var(VECTOR)
    jaxpr = Jaxpr([x], [], [x], [])
    check_jaxpr(ClosedJaxpr(jaxpr, [np.ones(3, np.float32)]))
    text = complaint(ClosedJaxpr(jaxpr, [np.ones(4, np.float32)]))
    assert "variable a is of type f32[3], but its constant is f32[4]" in text


def test_effects_of_an_equation_are_those_of_its_rule() -> None:
    x, shout = Var(F32), frozenset({Shout()})
    check_jaxpr(Jaxpr([], [x], [], [eqn([x], [], shout_p, shout)], shout))
    assert "shout has the effects {Shout()}, but the equation has no effects" in complaint(
        Jaxpr([], [x], [], [eqn([x], [], shout_p)], shout)
    )
    assert "sin has no effects, but the equation has the effects {Shout()}" in complaint(
        Jaxpr([], [x], [], [eqn([x], [Var(F32)], sin_p, shout)], shout)
    )


def test_a_program_has_the_effects_of_its_equations() -> None:
    x, shout = Var(F32), frozenset({Shout()})
    assert "the equation has the effects {Shout()}, but its jaxpr has no effects" in complaint(
        Jaxpr([], [x], [], [eqn([x], [], shout_p, shout)])
    )


def test_programs_within_are_checked_and_located() -> None:
    x, y, lost = Var(F32), Var(F32), Var(F32)
    bad = Jaxpr([], [x], [y], [eqn([x, lost], [y], mul_p)])
    assert (
        complaint(call_of(call_of(bad))).split("\n")[0]
        == "check_jaxpr: variable i is read, but nothing before binds it,"
        " at equation 0, in the jaxpr of call at equation 1, in the jaxpr of call at equation 1"
    )
    assert complaint(call_of(Jaxpr([], [x], [lost], []))).split("\n") == [
        "check_jaxpr: variable e is read, but nothing before binds it, among the outputs,"
        " in the jaxpr of call at equation 1",
        "    c:f32[] = call[jaxpr={ lambda ; d:f32[]. let  in (e,) }] b",
        "from an unknown line",
    ]
    assert "variable d is bound twice, among the arguments, in the jaxpr of call" in complaint(
        call_of(Jaxpr([], [x, x], [x], []))
    )


def test_programs_in_tuples_are_checked() -> None:
    cond_p = Primitive("cond", multiple_results=True)
    cond_p.def_abstract_eval(lambda x, *, branches: [x])
    x, y = Var(F32), Var(F32)
    good, bad = Jaxpr([], [x], [x], []), Jaxpr([], [x], [y], [])
    branches = (ClosedJaxpr(good), [ClosedJaxpr(bad)])
    program = Jaxpr([], [v := Var(F32)], [w := Var(F32)], [eqn([v], [w], cond_p, branches=branches)])
    assert complaint(program).startswith(
        "check_jaxpr: variable d is read, but nothing before binds it, among the outputs, in the jaxpr of"
    )


def test_a_check_rule_judges_instead_of_the_abstract_eval_rule(called: Primitive) -> None:
    inner = trace_to_jaxpr(powers(1), [F32])
    x, y = Var(F32), Var(F32)
    check_jaxpr(Jaxpr([], [x], [y], [eqn([x], [y], called, jaxpr=inner)]))
    assert "2 operands are given to a program of 1 arguments" in complaint(
        Jaxpr([], [x], [y], [eqn([x, x], [y], called, jaxpr=inner)])
    )
    assert "operand 0 is f32[3], but the program takes f32[]" in complaint(
        Jaxpr([], [v := Var(VECTOR)], [y], [eqn([v], [y], called, jaxpr=inner)])
    )


def test_what_a_check_rule_leaves_unchecked_is_checked(called: Primitive) -> None:
    x, y = Var(F32), Var(F32)
    bad = ClosedJaxpr(Jaxpr([], [v := Var(F32)], [Var(F32)], [eqn([v], [Var(I32)])]))
    text = complaint(Jaxpr([], [x], [y], [eqn([x], [y], called, jaxpr=bad)]))
    assert "but sin returns f32[], at equation 0, in the jaxpr of called at equation 0" in text


def test_a_check_rule_may_check_its_program_in_a_scope_of_its_own() -> None:
    scope: list[str] = []
    scoped_p, axis_p = Primitive("scoped", multiple_results=True), Primitive("axis")

    def scoped_check(context: CheckContext, *atoms: Any, jaxpr: ClosedJaxpr) -> Any:
        scope.append("i")
        context.check(jaxpr)
        scope.pop()
        return jaxpr.out_avals, no_effects

    def axis_abstract_eval(x: Any) -> Any:
        if not scope:
            raise NameError("unbound axis")
        return x

    axis_p.def_abstract_eval(axis_abstract_eval)
    rules.check_rules[scoped_p] = scoped_check
    x, y, v, w = (Var(F32) for _ in range(4))
    inner = ClosedJaxpr(Jaxpr([], [v], [w], [eqn([v], [w], axis_p)]))
    check_jaxpr(Jaxpr([], [x], [y], [eqn([x], [y], scoped_p, jaxpr=inner)]))
    del rules.check_rules[scoped_p]


def test_the_error_names_the_line_that_made_the_equation() -> None:
    def fun(x: Any) -> Any:
        return [sin_p.bind(x)]

    closed = trace_to_jaxpr(fun, [F32])
    wrong = closed.eqns[0].replace(outvars=[Var(I32)])
    text = complaint(closed.jaxpr.replace(eqns=[wrong], outvars=wrong.outvars))
    assert "    b:i32[] = sin a\n" in text
    assert f"test_check.py:{fun.__code__.co_firstlineno + 1} (" in text


def test_long_equations_are_shortened_in_errors() -> None:
    inner = chain(100)
    x, y = Var(F32), Var(I32)
    text = complaint(Jaxpr([], [x], [y], [eqn([x], [y], call_p, jaxpr=inner)]))
    assert len(text.splitlines()) == 42
    assert re.search(r"\n      \.\.\.\n    \] \w+\nfrom", text)


def test_a_primitive_without_a_rule_is_the_plugins_fault() -> None:
    x, y = Var(F32), Var(F32)
    with pytest.raises(MissingRuleError, match="no abstract_eval rule for primitive 'unruly'"):
        check_jaxpr(Jaxpr([], [x], [y], [eqn([x], [y], Primitive("unruly"))]))


def test_a_program_held_many_times_is_checked_once() -> None:
    closed = trace_to_jaxpr(powers(1), [F32])
    for _ in range(60):
        closed = trace_to_jaxpr(lambda x, inner=closed: call_p.bind(*call_p.bind(x, jaxpr=inner), jaxpr=inner), [F32])
    check_jaxpr(closed)


def test_two_hundred_nested_programs_are_checked() -> None:
    check_jaxpr(nested(200))


def test_a_hundred_thousand_equations_are_checked_and_trimmed() -> None:
    closed = chain(100_000)
    check_jaxpr(closed)
    trimmed, used = dce_jaxpr(closed.jaxpr, [True])
    check_jaxpr(trimmed)
    assert used == [True]


def test_checking_takes_time_linear_in_the_number_of_equations() -> None:
    assert grows_linearly(chain, check_jaxpr)
