"""The loop agrees with those of primax that compute the same, under all transformations, and inside other programs."""

from __future__ import annotations

import doctest
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from primax_bounded_while import bounded_while

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.extend import Interpreter, core, replay

X, Y = np.array([0.3, -0.8, 0.6], np.float32), np.array([0.7, 0.4, -0.6], np.float32)


def counted(x: Any, y: Any, n: Any, max_steps: int = 11) -> Any:
    """As many steps as n says, which the loop finds out by its condition."""
    carry = bounded_while(lambda c: c[0] < n, lambda c: (c[0] + 1, pnp.sin(c[1]) * (y - c[1])), (0, x), max_steps)
    return pnp.sum(carry[1] ** 2)


gradients = px.jit(px.grad(counted, argnums=(0, 1)))


def counted_by_fori_loop(x: Any, y: Any, n: int) -> Any:
    return pnp.sum(lax.fori_loop(0, n, lambda _, x: pnp.sin(x) * (y - x), x) ** 2)


def growing(loop: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda x: loop(lambda x: x < 10.0, lambda x: 1.7 * x + 0.1, x)


def bounded(max_steps: int) -> Callable[..., Any]:
    return lambda cond_fun, body_fun, init: bounded_while(cond_fun, body_fun, init, max_steps)


def test_with_room_enough_it_is_a_while_loop() -> None:
    xs = np.array([0.2, 3.0, 12.0], np.float32)
    np.testing.assert_array_equal(px.vmap(growing(bounded(20)))(xs), px.vmap(growing(lax.while_loop))(xs))
    np.testing.assert_array_equal(growing(bounded(20))(xs[0]), growing(lax.while_loop)(xs[0]))
    mine, theirs = (px.jvp(growing(loop), (xs[0],), (xs[1],)) for loop in (bounded(20), lax.while_loop))
    np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("max_steps", [0, 1, 3])
def test_it_stops_at_its_bound(max_steps: int) -> None:
    assert int(bounded_while(lambda i: True, lambda i: i + 1, 0, max_steps)) == max_steps
    tangent = px.jit(px.grad(lambda x: bounded_while(lambda _: True, lambda x: 2.0 * x, x, max_steps)))(1.0)
    assert float(tangent) == 2.0**max_steps


@pytest.mark.parametrize("n", [0, 1, 4, 11, 12])
def test_gradients_are_those_of_a_loop_of_known_length(n: int) -> None:
    wanted = px.jit(px.grad(counted_by_fori_loop, argnums=(0, 1)), static_argnums=2)(X, Y, min(n, 11))
    np.testing.assert_allclose(gradients(X, Y, n), wanted, rtol=1e-5)


def test_outside_of_programs_it_is_the_same() -> None:
    grad = px.grad(counted, argnums=(0, 1))
    np.testing.assert_allclose(grad(X, Y, 4), gradients(X, Y, 4), rtol=1e-5)


def test_with_disable_jit_it_is_a_loop_of_python() -> None:
    seen = []
    with px.disable_jit():
        value = bounded_while(lambda x: x < 8, lambda x: seen.append(x) or 2 * x, 1, 9)
    assert (value, seen) == (8, [1, 2, 4])


def test_derivatives_are_differentiated_again() -> None:
    wanted = px.jit(px.hessian(lambda x: counted_by_fori_loop(x, Y, 3)))(X)
    f = lambda x: counted(x, Y, 3, 5)  # noqa: E731
    for second in (px.jacfwd(px.jacrev(f)), px.jacrev(px.jacrev(f)), px.jacrev(px.jacfwd(f))):
        np.testing.assert_allclose(px.jit(second)(X), wanted, rtol=1e-4, atol=1e-6)


def test_each_element_of_a_batch_stops_by_itself() -> None:
    counts, xs = np.array([0, 3, 20], np.int32), np.stack([X, 2 * X, 3 * X])
    wanted = [gradients(x, Y, n)[0] for x, n in zip(xs, counts, strict=True)]
    found, _ = px.jit(px.vmap(gradients, (0, None, 0)))(xs, Y, counts)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    total = lambda xs: pnp.sum(px.vmap(counted, (0, None, 0))(xs, Y, counts))  # noqa: E731
    np.testing.assert_allclose(px.jit(px.grad(total))(xs), wanted, rtol=1e-5)


def test_what_does_not_differ_along_an_axis_does_not_get_it() -> None:
    jaxpr = px.make_jaxpr(px.vmap(lambda x: counted(x, Y, 3)))(np.stack([X, X])).jaxpr
    (eqn,) = [eqn for eqn in jaxpr.eqns if eqn.primitive.name == "bounded_while"]
    assert [v.aval.shape for v in eqn.outvars] == [(), (2, 3)]


def test_it_stands_in_loops_and_branches() -> None:
    def through(loop: Callable[..., Any], x: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            c = loop(lambda c: pnp.sum(c) < 2.0, lambda c: 1.4 * c + 0.2, c)
            return lax.cond(c[0] > 0, lambda c: pnp.sin(loop(lambda c: c[0] < 1.0, lambda c: c + Y, c)), lambda c: c, c)

        return pnp.sum(lax.scan(lambda c, _: (step(c, _), None), x, None, length=2)[0])

    found = px.jit(px.value_and_grad(lambda x: through(bounded(9), x)))(X)
    value, tangent = px.jit(lambda x: px.jvp(lambda x: through(lax.while_loop, x), (x,), (Y,)))(X)
    np.testing.assert_allclose(found[0], value, rtol=1e-6)
    np.testing.assert_allclose(np.dot(found[1], Y), tangent, rtol=1e-5)


def test_the_backward_pass_keeps_few_of_the_values() -> None:
    def f(x: Any) -> Any:
        return pnp.sum(bounded_while(lambda x: x[0] < 9.0, lambda x: pnp.sin(x) + 1.0, x, 10_000))

    x = np.ones(16, np.float32)
    used = px.jit(px.grad(f)).lower(x).compile().memory_analysis().temp_size_in_bytes
    assert used < 300 * x.nbytes


def test_programs_with_it_are_checked_and_trimmed() -> None:
    def f(x: Any, y: Any) -> Any:
        return bounded_while(lambda c: c[1] < 3.0, lambda c: (c[0] * 2, c[1] + y, c[2] * y), (x, x, x), 4)[1]

    closed = px.make_jaxpr(px.grad(f))(*X[:2])
    core.check_jaxpr(closed)
    (eqn,) = core.dce_jaxpr(px.make_jaxpr(f)(*X[:2]).jaxpr, [True])[0].eqns
    assert len(eqn.outvars) == 1
    wrong = eqn.replace(params={**eqn.params, "cond": eqn.params["body"]})
    with pytest.raises(core.JaxprTypeError, match=r"condition is f32\[\]"):
        core.check_jaxpr(core.Jaxpr([], eqn.invars, wrong.outvars, [wrong]))


def test_interpreters_go_through_it() -> None:
    class Doubled(Interpreter):
        def default(self, eqn: Any, *values: Any) -> Any:
            (out,) = replay(eqn, values)
            return 2.0 * out if eqn.primitive.name == "add" else out

    closed = px.make_jaxpr(lambda x: bounded_while(lambda x: x < 9.0, lambda x: x + 1.0, x, 3))(1.0)
    assert Doubled().interpret(closed, 1.0) == [10.0]


def test_abstract_values_hold_after_any_number_of_steps() -> None:
    class Most(Interpreter):
        """The greatest number that a value may be."""

        def lift(self, constant: Any) -> float:
            return float(constant)

        def join(self, x: float, y: float) -> float:
            return max(x, y)

        def widen(self, x: float, y: float) -> float:
            return np.inf if y > x else y

        def default(self, eqn: Any, *values: Any) -> float:
            return (sum if eqn.primitive.name == "add" else max)(values)

    closed = px.make_jaxpr(lambda x: bounded_while(lambda x: x < 9.0, lambda x: x + -1.0, x, 3))(1.0)
    assert Most().interpret(closed, 4.0) == [4.0]
    closed = px.make_jaxpr(lambda x: bounded_while(lambda x: x < 9.0, lambda x: x + 1.0, x, 3))(1.0)
    assert Most().interpret(closed, 4.0) == [np.inf]


def test_effects_keep_their_order(capfd: pytest.CaptureFixture[str]) -> None:
    def step(x: Any) -> Any:
        px.debug.print("{}", x, ordered=True)
        return 2 * x

    px.jit(lambda x: bounded_while(lambda x: x < 8, step, x, 9))(1)
    px.effects_barrier()
    assert capfd.readouterr().out.split() == ["1", "2", "4"]
    with pytest.raises(NotImplementedError, match="no effects where the condition differs"):
        px.vmap(lambda x: bounded_while(lambda x: x < 8, step, x, 9))(np.arange(2))


def test_a_gradient_prints_once(capfd: pytest.CaptureFixture[str]) -> None:
    def step(x: Any) -> Any:
        px.debug.print("{}", x, ordered=True)
        return 2 * x

    assert float(px.grad(lambda x: bounded_while(lambda x: x < 8, step, x, 9))(1.0)) == 8
    px.effects_barrier()
    assert capfd.readouterr().out.split() == ["1.0", "2.0", "4.0"]


def test_what_is_not_a_number_is_found_within() -> None:
    with px.debug_nans(True), pytest.raises(FloatingPointError, match=r"test_loop\.py"):
        bounded_while(lambda x: x < 8.0, lambda x: pnp.log(x - 2.0), 1.0, 9)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: bounded_while(None, abs, 1, 2), TypeError, "cond_fun must be a function, got None"),
        (lambda: bounded_while(bool, abs, 1, 2.0), TypeError, "max_steps must be an integer, got 2.0"),
        (lambda: bounded_while(bool, abs, 1, -2), ValueError, r"max_steps must be from 0 to 2\*\*31 - 1, got -2"),
        (lambda: bounded_while(abs, abs, 1, 2), TypeError, r"must return a boolean of rank 0, but returns i32\[\]"),
        (lambda: bounded_while(lambda x: x < 1, lambda x: (x, x), 1, 2), TypeError, "keep the structure of init"),
        (
            lambda: bounded_while(lambda x: x[0] < 1, lambda x: [x[0] * X], [1.0], 2),
            TypeError,
            r"keep the type of init\[0\], f32\[\], but returns f32\[3\]",
        ),
    ],
)
def test_mistakes_are_named(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_the_documented_example_is_true() -> None:
    tested = doctest.testmod(importlib.import_module("primax_bounded_while.loop"))
    assert (tested.attempted, tested.failed) == (3, 0)
