"""Programs are split by what is known of their inputs."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from toys import F32, TWO, Shout, call_p, chain, grows_linearly, mul_p, shout_p, sin_p, sincos_p

import primax
import primax as px
from primax.core import rules
from primax.core.check import check_jaxpr
from primax.core.jaxpr import ClosedJaxpr, Jaxpr, Literal, Var, jaxpr_as_fun, new_jaxpr_eqn
from primax.interpreters.partial_eval import PartialEval, close_over, partial_eval_jaxpr
from primax.interpreters.staging import trace_to_jaxpr
from primax.plugins.arithmetic import mul

# What experimental warnings say is tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore::primax.errors.ExperimentalWarning")

WAYS = list(itertools.product([False, True], repeat=3))
TABLE = np.array([1, 2, 3], np.float32)


def mixed() -> ClosedJaxpr:
    """Of a, b and c, with constants, literals, passed-on inputs and an equation with two results."""

    def fun(a: Any, b: Any, c: Any) -> Any:
        s, t = sincos_p.bind(mul_p.bind(a, TABLE))
        u = mul_p.bind(b, TWO)
        v = mul_p.bind(s, u)
        return [v, a, mul_p.bind(t, t), TWO, mul_p.bind(mul_p.bind(TABLE, c), v), b, TABLE]

    return trace_to_jaxpr(fun, [F32, F32, F32])


def put_together(split: PartialEval, unknown_in: Any, args: Any) -> list[Any]:
    """The outputs of the whole from its two parts."""
    known_args = [x for x, u in zip(args, unknown_in, strict=True) if not u]
    known_outs = jaxpr_as_fun(split.known)(*known_args)
    count = len(split.unknown_out) - sum(split.unknown_out)
    there = [*known_args, *known_outs]
    residuals = [there[i] for i in split.residuals]
    unknown_args = [x for x, u in zip(args, unknown_in, strict=True) if u]
    known = iter(known_outs[:count])
    unknown = iter(jaxpr_as_fun(split.unknown)(*residuals, *unknown_args))
    return [next(unknown) if u else next(known) for u in split.unknown_out]


@pytest.mark.parametrize("unknown_in", WAYS)
def test_the_parts_together_are_the_whole(unknown_in: tuple[bool, ...]) -> None:
    closed = mixed()
    args = [np.float32(0.5), np.float32(-1.5), np.float32(3)]
    split = partial_eval_jaxpr(closed, unknown_in)
    check_jaxpr(split.known)
    check_jaxpr(split.unknown)
    outs = put_together(split, unknown_in, args)
    for out, expected in zip(outs, jaxpr_as_fun(closed)(*args), strict=True):
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("unknown_in", WAYS)
def test_nothing_is_computed_twice(unknown_in: tuple[bool, ...]) -> None:
    closed = mixed()
    split = partial_eval_jaxpr(closed, unknown_in)
    assert len(split.known.eqns) + len(split.unknown.eqns) == len(closed.eqns)


def test_outputs_are_unknown_if_they_depend_on_unknown_inputs() -> None:
    assert partial_eval_jaxpr(mixed(), [False, True, False]).unknown_out == [
        True, False, False, False, True, True, False,
    ]  # fmt: skip
    assert not any(partial_eval_jaxpr(mixed(), [False] * 3).unknown_out)
    assert sum(partial_eval_jaxpr(mixed(), [True] * 3).unknown_out) == 5


def test_the_unknown_part_has_no_known_work() -> None:
    closed = trace_to_jaxpr(lambda x, y: [mul_p.bind(sin_p.bind(sin_p.bind(x)), y)], [F32, F32])
    split = partial_eval_jaxpr(closed, [False, True])
    assert str(split.known) == "{ lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = sin b in (c,) }"
    assert str(split.unknown) == "{ lambda ; a:f32[] b:f32[]. let c:f32[] = mul a b in (c,) }"
    assert split.unknown_out == [True]
    assert split.residuals == [1]


def test_inputs_that_are_residuals_are_not_copied() -> None:
    closed = trace_to_jaxpr(lambda w, x, y: [mul_p.bind(x, y), mul_p.bind(mul_p.bind(sin_p.bind(w), y), x)], [F32] * 3)
    split = partial_eval_jaxpr(closed, [False, False, True])
    assert split.residuals == [1, 2]
    assert len(split.known.jaxpr.outvars) == 1


def test_outputs_that_are_residuals_are_returned_once() -> None:
    closed = trace_to_jaxpr(lambda x, y: [z := sin_p.bind(x), mul_p.bind(z, y)], [F32] * 2)
    split = partial_eval_jaxpr(closed, [False, True])
    assert split.residuals == [1]
    assert str(split.known) == "{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }"


def returned(f: Any) -> list[Any]:
    """The outputs of the program in the first equation of the gradient of a function."""
    (eqn, *_) = px.make_jaxpr(px.grad(f))(1.0).eqns
    return eqn.params["jaxpr"].jaxpr.outvars


def test_the_result_of_a_call_that_its_derivative_needs_is_returned_once() -> None:
    assert len(returned(px.jit(px.numpy.exp))) == 1


def test_ys_of_a_scan_that_its_derivative_needs_are_stacked_once() -> None:
    def step(c: Any, _: Any) -> Any:
        c = px.numpy.exp(c)
        return c, c

    assert len(returned(lambda x: px.lax.scan(step, x, None, length=3)[1].sum())) == 2


def test_the_result_of_a_branch_that_its_derivative_needs_is_returned_once() -> None:
    (eqn, *_) = px.make_jaxpr(px.grad(lambda x: px.lax.cond(True, px.numpy.exp, px.numpy.tanh, x)))(1.0).eqns
    assert [len(branch.jaxpr.outvars) for branch in eqn.params["branches"]] == [2, 2]


def test_known_work_that_no_part_needs_is_dropped() -> None:
    def fun(x: Any, y: Any) -> Any:
        sin_p.bind(x)
        return [mul_p.bind(x, y)]

    split = partial_eval_jaxpr(trace_to_jaxpr(fun, [F32, F32]), [False, True])
    assert split.known.eqns == []


def test_constants_go_to_the_part_that_reads_them() -> None:
    closed = trace_to_jaxpr(lambda x, y: [mul_p.bind(TABLE, y)], [F32, F32])
    split = partial_eval_jaxpr(closed, [False, True])
    assert split.residuals == []
    assert split.unknown.consts[0] is TABLE


def test_an_output_may_be_an_input_a_constant_or_a_literal() -> None:
    x, y, c = Var(F32), Var(F32), Var(F32)
    closed = ClosedJaxpr(Jaxpr([c], [x, y], [x, y, c, Literal(TWO), y], []), [np.float32(7)])
    split = partial_eval_jaxpr(closed, [False, True])
    assert split.unknown_out == [False, True, False, False, True]
    assert put_together(split, [False, True], [1, 5]) == [1, 5, 7, 2, 5]


def test_effects_stay_on_their_side() -> None:
    def fun(x: Any, y: Any) -> Any:
        shout_p.bind(x)
        return [mul_p.bind(x, y), y]

    def other(x: Any, y: Any) -> Any:
        shout_p.bind(y)
        return [x]

    split = partial_eval_jaxpr(trace_to_jaxpr(fun, [F32, F32]), [False, True])
    assert split.known.effects == frozenset({Shout()})
    assert split.unknown.effects == frozenset()
    split = partial_eval_jaxpr(trace_to_jaxpr(other, [F32, F32]), [False, True])
    assert split.known.effects == frozenset()
    assert split.unknown.effects == frozenset({Shout()})
    check_jaxpr(split.unknown)


def test_effects_of_jitted_functions_survive_their_derivatives() -> None:
    @primax.jit
    def loud(x: Any) -> Any:
        shout_p.bind(x)
        return []

    @primax.jit
    def square(x: Any) -> Any:
        loud(x)
        return mul(x, x)

    rules.jvp_rules[shout_p] = lambda primals, tangents: (shout_p.bind(*primals), [])
    try:
        known = primax.make_jaxpr(lambda x: primax.linearize(square, x)[0])(TWO)
    finally:
        del rules.jvp_rules[shout_p]
    assert known.effects == frozenset({Shout()})
    assert "shout a" in str(known)
    check_jaxpr(known)


def test_equations_that_hold_programs_are_unknown_as_a_whole_without_a_rule() -> None:
    inner = trace_to_jaxpr(lambda x, y: [sin_p.bind(x), sin_p.bind(y)], [F32, F32])
    closed = trace_to_jaxpr(lambda x, y: call_p.bind(x, y, jaxpr=inner), [F32, F32])
    split = partial_eval_jaxpr(closed, [False, True])
    assert split.unknown_out == [True, True]
    assert split.known.eqns == []


def test_a_rule_splits_equations_that_hold_programs() -> None:
    inner = trace_to_jaxpr(lambda x, y: [sin_p.bind(x), mul_p.bind(sin_p.bind(x), y)], [F32, F32])
    closed = trace_to_jaxpr(lambda x, y: call_p.bind(x, y, jaxpr=inner), [F32, F32])

    def rule(unknown_in: Any, eqn: Any) -> Any:
        split = partial_eval_jaxpr(eqn.params["jaxpr"], unknown_in)
        known_in = [v for v, u in zip(eqn.invars, unknown_in, strict=True) if not u]
        rest_in = [v for v, u in zip(eqn.invars, unknown_in, strict=True) if u]
        known_out = [v for v, u in zip(eqn.outvars, split.unknown_out, strict=True) if not u]
        rest_out = [v for v, u in zip(eqn.outvars, split.unknown_out, strict=True) if u]
        extra = [Var(v.aval) for v in split.known.jaxpr.outvars[len(known_out) :]]
        there = [*known_in, *known_out, *extra]
        residuals = [there[i] for i in split.residuals]
        known = new_jaxpr_eqn(known_in, [*known_out, *extra], call_p, {"jaxpr": split.known})
        rest = new_jaxpr_eqn([*residuals, *rest_in], rest_out, call_p, {"jaxpr": split.unknown})
        return known, rest, split.unknown_out

    rules.partial_eval_jaxpr_rules[call_p] = rule
    try:
        split = partial_eval_jaxpr(closed, [False, True])
    finally:
        del rules.partial_eval_jaxpr_rules[call_p]
    assert split.unknown_out == [False, True]
    check_jaxpr(split.known)
    check_jaxpr(split.unknown)
    args = [np.float32(0.5), np.float32(3)]
    assert put_together(split, [False, True], args) == jaxpr_as_fun(closed)(*args)
    assert "sin" not in str(split.unknown)


def test_one_flag_is_given_per_input() -> None:
    with pytest.raises(ValueError, match="shorter"):
        partial_eval_jaxpr(mixed(), [True])


def test_closing_over_makes_constants_arguments() -> None:
    closed = trace_to_jaxpr(lambda x: [mul_p.bind(TABLE, x)], [F32])
    opened = close_over(closed.jaxpr)
    assert str(opened) == "{ lambda ; a:f32[3] b:f32[]. let c:f32[3] = mul a b in (c,) }"
    assert close_over(opened) is opened


def test_splitting_a_hundred_thousand_equations() -> None:
    split = partial_eval_jaxpr(chain(100_000), [True])
    assert len(split.unknown.eqns) == 100_000


def test_splitting_takes_time_linear_in_the_number_of_equations() -> None:
    assert grows_linearly(chain, lambda closed: partial_eval_jaxpr(closed, [True]))
    assert grows_linearly(chain, lambda closed: partial_eval_jaxpr(closed, [False]))
