"""`cond` and `switch`: values, one branch at a time, joined branches, effects and messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.extend import core
from primax.extend.effects import register_effect

pytestmark = pytest.mark.usefixtures("in_32_bits")


def one_or(f, g):
    return lambda p, x: lax.cond(p, f, g, x)


def test_the_values_of_the_specification_hold():
    assert int(lax.cond(True, lambda: 3, lambda: 4)) == 3
    assert float(px.jvp(lambda x: lax.cond(True, lambda: x * x, lambda: 0.0), (1.0,), (1.0,))[1]) == 2.0
    mapped = px.vmap(lambda x: lax.cond(True, lambda: x + 1.0, lambda: 0.0))(np.float32([1, 2, 3]))
    assert mapped.tolist() == [2, 3, 4]
    assert int(px.jit(lambda: lax.cond(False, lambda: 1, lambda: 2))()) == 2

    def tangent(x):
        return px.linearize(lambda x: lax.cond(True, lambda: x, lambda: 0.0), x)[1](3.14)

    assert float(tangent(1.0)) == float(px.jit(tangent)(1.0)) == np.float32(3.14)
    assert float(px.grad(lambda x: lax.cond(True, lambda: x * x, lambda: 0.0))(1.0)) == 2.0


@pytest.mark.parametrize("index, expected", [(-5, 1.0), (0, 1.0), (1, 2.0), (2, 3.0), (99, 3.0)])
def test_an_index_out_of_range_is_taken_as_the_nearest(index, expected):
    branches = [lambda: 1.0, lambda: 2.0, lambda: 3.0]
    assert float(lax.switch(index, branches)) == expected
    assert float(px.jit(lambda i: lax.switch(i, branches))(index)) == expected


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32"])
def test_an_index_may_be_of_any_integer_type(dtype):
    assert float(lax.switch(np.array(1, dtype), [lambda: 1.0, lambda: 2.0, lambda: 3.0])) == 2.0


@pytest.mark.parametrize("pred", [2, 0.5, np.float32(-1), np.bool_(True)])
def test_a_predicate_may_be_a_number(pred):
    assert int(lax.cond(pred, lambda: 1, lambda: 2)) == int(px.jit(one_or(lambda x: 1, lambda x: 2))(pred, 0.0)) == 1
    assert int(px.jit(one_or(lambda x: 1, lambda x: 2))(pred * 0, 0.0)) == 2


def counting(calls, name, fun):
    """A function that notes when it is computed, not when it is traced."""

    def counted(x):
        px.debug.callback(lambda: calls.append(name))
        return fun(x)

    return counted


@pytest.mark.parametrize("compiled", [False, True])
def test_only_the_chosen_branch_runs_in_the_backward_pass_too(compiled):
    calls = []
    f = one_or(counting(calls, "true", pnp.sin), counting(calls, "false", pnp.cos))
    run, slope = (px.jit(f), px.jit(px.grad(f, 1))) if compiled else (f, px.grad(f, 1))
    for pred, name in ((True, "true"), (False, "false")):
        run(pred, 2.0)
        px.effects_barrier()
        slope(pred, 2.0)
        px.effects_barrier()
        assert set(calls) == {name}
        calls.clear()


def test_a_compiled_cond_is_a_case_of_its_branches():
    f = one_or(lambda x: x @ x, lambda x: x)
    text = px.jit(f).lower(True, np.eye(3, dtype=np.float32)).as_text()
    assert text.count("stablehlo.case") == 1
    assert text.index("stablehlo.case") < text.index("stablehlo.dot_general")


def test_a_batched_predicate_becomes_a_select():
    f = px.vmap(one_or(lambda x: 2.0 * x, lambda x: -x), (0, None))
    assert f(np.array([True, False]), 3.0).tolist() == [6.0, -3.0]
    names = [eqn.primitive.name for eqn in px.make_jaxpr(f)(np.array([True, False]), 3.0).eqns]
    assert "cond" not in names
    assert "select_n" in names


def test_infinite_derivatives_of_branches_that_are_not_taken_do_not_count():
    def total(x, w):
        return px.vmap(lambda x: lax.cond(x > 0, lambda x: pnp.sqrt(w * x), lambda x: 0.0 * x, x))(x).sum()

    x, w = np.float32([-1, 0, 4]), np.float32(1)
    for gradient in (px.grad(total, (0, 1)), px.jit(px.grad(total, (0, 1))), px.grad(px.jit(total), (0, 1))):
        of_x, of_w = gradient(x, w)
        np.testing.assert_allclose(of_x, [0, 0, 0.25])
        np.testing.assert_allclose(of_w, 1.0)
    _, tangent = px.jvp(total, (x, w), (np.ones_like(x), np.float32(0)))
    np.testing.assert_allclose(tangent, 0.25)
    np.testing.assert_allclose(px.hessian(total)(x, w)[2], [0, 0, -0.03125])


def test_residuals_of_branches_that_are_not_taken_do_not_count():
    def chosen(x):
        return lax.switch((0 * x).astype("int32"), [lambda: 0.0, lambda: 1.0, lambda: 1.0 / (2.0 + x * x)])

    def along(x, v):
        return px.linearize(chosen, x)[1](v)

    def twice(*xs):
        return px.linearize(along, *xs[:2])[1](*xs[2:])

    xs = [np.float32([k]) for k in range(1, 5)]
    for pull_back in (px.vjp(px.vmap(twice), *xs)[1], px.linear_transpose(px.linearize(px.vmap(twice), *xs)[1], *xs)):
        np.testing.assert_array_equal(np.ravel(pull_back(np.ones(1, np.float32))), 0)


def test_an_unbatched_output_stays_unbatched():
    f = px.vmap(lambda x: lax.cond(True, lambda a: (a, 1.0), lambda a: (a, 2.0), x), out_axes=(0, None))
    assert float(f(np.float32([1, 2]))[1]) == 1.0


def test_a_result_has_the_weak_type_of_the_first_branch(jax):
    """That of `false_fun`, as in JAX; so it does not depend on the predicate."""
    strong = np.float32(1)
    for lib, module in ((lax, px), (jax.lax, jax)):
        for pred in (True, False):
            weak_if_false = lib.cond(pred, lambda x: x, lambda x: 2.0, strong)
            assert (weak_if_false.dtype, weak_if_false.weak_type) == (np.float32, True)
            assert not lib.cond(pred, lambda x: 2.0, lambda x: x, strong).weak_type
            assert lib.cond(pred, lambda: 1.0, lambda: 2.0).weak_type
            assert module.jit(lambda p, lib=lib: lib.switch(p, [lambda: 1, lambda: np.int32(2)]))(int(pred)).weak_type


def test_a_branch_may_close_over_an_array_of_numpy_and_over_the_array_made_of_it():
    d = np.array([1.0, 2.0], np.float32)

    def f(b, which):
        return lax.cond(which, lambda: (d, b), lambda: (d, b + pnp.asarray(d)))

    b = np.array([[3.0, 4.0]], np.float32)
    for which, want in ((True, [3.0, 4.0]), (False, [4.0, 6.0])):
        core.check_jaxpr(px.make_jaxpr(f)(b[0], which))
        np.testing.assert_array_equal(px.jit(f)(b[0], which)[1], want)
        np.testing.assert_array_equal(px.vmap(f, (0, None))(b, which)[1], [want])


def test_branches_share_what_they_close_over():
    big = pnp.arange(5.0)
    jaxpr = px.make_jaxpr(lambda p: lax.cond(p, lambda: big * 2, lambda: big + 1))(True)
    (eqn,) = [eqn for eqn in jaxpr.eqns if eqn.primitive.name == "cond"]
    assert len(eqn.invars) == 2
    assert len(jaxpr.consts) == 1


def test_residuals_of_the_branches_share_their_places():
    def f(p, x):
        return lax.cond(p, lambda a: pnp.sin(pnp.sin(a)), lambda a: pnp.exp(a) * pnp.cos(a), x)

    jaxpr = px.make_jaxpr(px.grad(f, 1))(True, 1.0)
    first, last = (eqn for eqn in jaxpr.eqns if eqn.primitive.name == "cond")
    assert len(first.outvars) <= 5
    core.check_jaxpr(jaxpr)
    assert len(last.outvars) >= 1


def test_python_branches_of_a_gradient_may_look_at_values():
    def f(x):
        y = lax.cond(x > 0, lambda a: a * a, lambda a: -a, x)
        return y * 3 if y > 1 else y

    assert float(px.grad(f)(2.0)) == 12.0


def test_dead_operands_and_outputs_are_removed():
    def f(p, x, y):
        return lax.cond(p, lambda a, b: (pnp.sin(a), pnp.cos(b)), lambda a, b: (a, b), x, y)[0]

    jaxpr = px.make_jaxpr(f)(True, 1.0, 2.0)
    trimmed, used = core.dce_jaxpr(jaxpr.jaxpr, [True])
    assert used == [True, True, False]
    (eqn,) = [eqn for eqn in trimmed.eqns if eqn.primitive.name == "cond"]
    assert len(eqn.invars) == 2
    assert [e.primitive.name for e in eqn.params["branches"][1].eqns] == ["sin"]


def test_with_disable_jit_a_branch_is_python():
    seen = []
    with px.disable_jit():
        assert lax.cond(True, lambda x: seen.append(type(x)) or x, lambda x: x, 3) == 3
        assert lax.switch(9, [lambda x: x, lambda x: x + 1], 3) == 4
    assert seen == [int]


@pytest.mark.parametrize(
    "call, error, phrases",
    [
        (lambda: lax.cond(True, lambda: 1, lambda: (1,)), TypeError, ["true_fun", "false_fun", "tuple of length 1"]),
        (
            lambda: lax.cond(True, lambda: {"a": 1.0}, lambda: {"a": 1}),
            TypeError,
            ["['a']", "false_fun is i32[]", "true_fun is f32[]", ".astype('float32')"],
        ),
        (lambda: lax.cond(True, lambda: np.ones(2), lambda: np.ones(3)), TypeError, ["f32[2]", "f32[3]"]),
        (lambda: lax.cond(np.ones(3), lambda: 1, lambda: 2), TypeError, ["pred must be of rank 0", "f32[3]"]),
        (lambda: lax.cond("yes", lambda: 1, lambda: 2), TypeError, ["pred must be a number of rank 0", "'yes'"]),
        (lambda: lax.cond(True, 3, lambda: 2), TypeError, ["true_fun must be a function, got 3"]),
        (lambda: lax.cond(True, lambda x: x, lambda x: x, "a"), TypeError, ["operands[0]", "'a'"]),
        (lambda: lax.cond(True, lambda: "a", lambda: 2), TypeError, ["result", "'a'"]),
        (lambda: lax.switch(1.5, [lambda: 1, lambda: 2]), TypeError, ["index must be an integer, got f32[]"]),
        (lambda: lax.switch(0, []), ValueError, ["branches", "none"]),
        (lambda: lax.switch(0, [lambda: 1, lambda: 2.0]), TypeError, ["branches[0] is i32[]", "branches[1] is f32[]"]),
    ],
)
def test_wrong_calls_say_what_would_be_right(call, error, phrases):
    with px.enable_x64(False), pytest.raises(error) as caught:
        call()
    for phrase in phrases:
        assert phrase in str(caught.value)


def test_one_operand_is_given_by_keyword():
    up, down = (lambda x: x + 1), (lambda x: x - 1)
    assert lax.cond(True, up, down, operand=1.0) == 2.0
    assert lax.cond(False, lambda _: 1, lambda _: 2, operand=None) == 2
    assert lax.switch(1, [up, down], operand=1.0) == 0.0
    assert lax.switch(0, [up], operand=1.0) == 2.0
    with pytest.raises(TypeError, match="cond: operand must not be given together with positional operands"):
        lax.cond(True, up, down, 1.0, operand=1.0)
    with pytest.raises(TypeError, match="switch: operand must not be given together with positional operands"):
        lax.switch(0, [up, down], 1.0, operand=None)


def test_an_operand_before_each_function_is_the_old_order():
    up, down = (lambda x: x + 1), (lambda x: x - 1)
    assert lax.cond(True, 1.0, up, 5.0, down) == 2.0
    assert lax.cond(False, 1.0, up, 5.0, down) == 4.0


def test_predicates_are_real():
    with pytest.raises(TypeError, match=r"cond: pred must be a boolean or a real number, got c64\[\]"):
        lax.cond(np.complex64(1j), lambda: 1, lambda: 2)


class Loud(core.Effect):
    """An effect that was not registered for control flow."""

    __slots__ = ()


register_effect(Loud)
loud_p = core.Primitive("loud")
loud_p.def_effectful_abstract_eval(lambda x: (x, {Loud()}))


def test_effects_that_may_not_stand_in_control_flow_are_refused():
    with pytest.raises(NotImplementedError, match=r"control_flow_allowed_effects.add_type\(Loud\)"):
        px.make_jaxpr(lambda x: lax.cond(True, loud_p.bind, lambda x: x, x))(1.0)


def test_ordered_effects_keep_their_order_around_and_inside(capfd):
    def f(x):
        px.debug.print("before {}", x, ordered=True)
        y = lax.cond(x > 0, lambda a: (px.debug.print("inside {}", a, ordered=True), a * 2)[1], lambda a: a, x)
        px.debug.print("after {}", y, ordered=True)
        return y

    for run in (f, px.jit(f)):
        run(1.0)
        px.effects_barrier()
        assert capfd.readouterr().out.split() == ["before", "1.0", "inside", "1.0", "after", "2.0"]


def test_malformed_programs_are_refused():
    jaxpr = px.make_jaxpr(lambda p, x: lax.cond(p, pnp.sin, pnp.cos, x))(True, 1.0).jaxpr
    eqn = jaxpr.eqns[-1]
    other = px.make_jaxpr(lambda x: x.astype("int32"))(1.0)
    bad = eqn.replace(params={"branches": (eqn.params["branches"][0], other)})
    with pytest.raises(core.JaxprTypeError, match=r"output 0 of branch 1 is i32\[\]"):
        core.check_jaxpr(jaxpr.replace(eqns=[*jaxpr.eqns[:-1], bad]))


def test_results_that_are_one_operand_in_all_branches_are_not_computed():
    def f(p, x, y):
        return lax.cond(p, lambda x, y: (x, y + 1, y), lambda x, y: (x, 2 * y, x), x, y)

    (eqn,) = [eqn for eqn in px.make_jaxpr(f)(True, 1.0, 2.0).eqns if eqn.primitive.name == "cond"]
    assert len(eqn.outvars) == 2
    outs = px.vmap(f, (0, None, None), (None, 0, 0))(np.array([True, False]), 5.0, 2.0)
    assert [np.asarray(out).tolist() for out in outs] == [5.0, [3.0, 4.0], [2.0, 5.0]]
    assert all(isinstance(out, px.Array) for out in f(True, 1.0, 2.0))
    grads = px.grad(lambda x, y: sum(f(x > 0, x, y)), (0, 1))(1.0, 2.0)
    assert [float(g) for g in grads] == [1.0, 2.0]
    assert lax.switch(1, [lambda x: x, lambda x: x, lambda x: x], 3.0).tolist() == 3.0


def collatz(n: Any) -> Any:
    """The number of steps to 1; it does not end for 0 and negative numbers."""
    step = lambda c: (c[0] + 1, px.numpy.where(c[1] % 2, 3 * c[1] + 1, c[1] // 2))  # noqa: E731
    return lax.while_loop(lambda c: c[1] != 1, step, (0, n))[0]


def test_loops_of_branches_end_for_elements_that_take_other_branches() -> None:
    def f(n: Any) -> Any:
        return lax.cond(n > 0, collatz, lambda n: -n, n)

    xs = np.array([[1, 6, 0], [0, -5, 0]], np.int32)
    expected = [[0, 8, 0], [0, 5, 0]]
    assert px.jit(px.vmap(px.vmap(f)))(xs).tolist() == expected
    both = px.vmap(lambda n, m: lax.cond(n > 0, lambda n: collatz(n) + m.sum(), lambda n: m.sum(), n), (0, 1))
    assert both(xs[0], xs).tolist() == [1, 9, 0]
    assert px.vmap(f)(xs[1]).tolist() == expected[1]  # no element takes the branch
    assert px.vmap(f)(xs[0][:0]).shape == (0,)

    def g(i: Any, n: Any) -> Any:
        return lax.switch(i, [lambda n: n, collatz, lambda n: px.jit(collatz)(n + 1)], n)

    assert px.vmap(g)(np.arange(-1, 4), np.array([0, 0, 6, 26, 2], np.int32)).tolist() == [0, 0, 8, 111, 7]
    assert px.vmap(lambda p, n: lax.cond(p, collatz, abs, n), (0, None))(np.array([False, False]), 0).tolist() == [0, 0]


def test_loops_in_steps_end_for_elements_that_are_done() -> None:
    def steps(n: Any) -> Any:
        choose = lambda k: lax.cond(k % 2 == 1, collatz, lambda k: 0, k)  # noqa: E731
        return lax.while_loop(lambda c: c[0] > 0, lambda c: (c[0] - 1, c[1] + collatz(c[0]) + choose(c[0])), (n, 0))[1]

    def f(n: Any) -> Any:
        return lax.cond(n >= 0, steps, lambda n: lax.while_loop(lambda m: m != 0, lambda m: m + 1, n), n)

    xs = np.array([3, 0, 5, -2], np.int32)
    alone = px.jit(f)
    assert px.jit(px.vmap(f))(xs).tolist() == [int(alone(n)) for n in xs]


def test_derivatives_of_branches_with_loops_are_those_of_each_element() -> None:
    def root(x: Any) -> Any:
        return lax.while_loop(lambda c: c[1] < 5, lambda c: (0.5 * (c[0] + x / c[0]), c[1] + 1), (x, 0))[0]

    def scaled(x: Any) -> Any:
        count = lax.while_loop(lambda c: c < 3, lambda c: c + 1, lax.stop_gradient(x).astype(int) * 0)
        return x * count

    x = np.array([4.0, 0.0, -1.0], np.float32)
    f = px.vmap(lambda x: lax.cond(x > 0, root, lambda x: 2 * x, x))
    out, tangent = px.jit(lambda x: px.jvp(f, (x,), (x,)))(x)
    assert np.allclose(out, [2, 0, -2])
    assert np.allclose(tangent, [1, 0, -2])
    g = px.vmap(lambda x: lax.cond(x > 0, scaled, lambda x: -x, x))
    assert px.jit(px.grad(lambda x: g(x).sum()))(x).tolist() == [3, -1, -1]


def test_branches_without_loops_are_computed_as_before() -> None:
    f = px.vmap(lambda p, x: lax.cond(p, lambda x: lax.map(abs, x), lambda x: x, x))
    names = [eqn.primitive.name for eqn in px.make_jaxpr(f)(np.array([True, False]), np.ones((2, 3))).eqns]
    assert not {"cond", "argmax", "dynamic_slice"} & set(names)

    def communicating(p: Any, x: Any) -> Any:
        loop = lambda x: lax.while_loop(lambda c: c < 3, lambda c: c + 1, lax.psum(x, "i"))  # noqa: E731
        return lax.cond(p, loop, lambda x: x, x)

    out = px.vmap(communicating, axis_name="i")(np.array([True, False]), np.float32([0.5, 0.25]))
    assert out.tolist() == [3.75, 0.25]
