"""Functions with rules of their own close over values of transformations around them: mapped ones are constants."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.extend import core

pytestmark = pytest.mark.usefixtures("in_32_bits")

XS, YS = np.float32([1, 2]), np.float32([3, 4])
SQUARE = np.float32([[1, 2], [5, 7]])
A = np.float32([[3, 1], [1, 2]])
PAIR = np.stack([A, 2 * A])


def by_jvp(a):
    """a * x, whose derivative claims to be 3 * a; function and rule close over a."""
    f = px.custom_jvp(lambda x: a * x)
    f.defjvp(lambda primals, tangents: (f(*primals), 3 * a * tangents[0]))
    return f


def by_vjp(a):
    f = px.custom_vjp(lambda x: a * x)
    f.defvjp(lambda x: (f(x), None), lambda _, ct: (3 * a * ct,))
    return f


def by_residual(a):
    f = px.custom_vjp(lambda x: a * x)
    f.defvjp(lambda x: (f(x), a), lambda a, ct: (3 * a * ct,))
    return f


def by_gradient(a):
    return px.custom_gradient(lambda x: (a * x, lambda ct: (3 * a * ct,)))


def by_argument(a):
    f = px.custom_jvp(lambda a, x: a * x, nondiff_argnums=(0,))
    f.defjvp(lambda a, primals, tangents: (f(a, *primals), 3 * a * tangents[0]))
    return functools.partial(f, a)


def by_argument_in_reverse(a):
    f = px.custom_vjp(lambda a, x: a["factor"] * x, nondiff_argnums=(0,))
    f.defvjp(lambda a, x: (f(a, x), x), lambda a, x, ct: (3 * a["factor"] * ct,))
    return functools.partial(f, {"factor": a, "name": "a"})


SCALED = [by_jvp, by_vjp, by_residual, by_gradient, by_argument, by_argument_in_reverse]


@pytest.mark.parametrize("scaled", SCALED)
def test_values_of_a_vmap_are_constants(scaled):
    value = lambda a, x: scaled(a)(x)  # noqa: E731
    slope = lambda a, x: px.grad(scaled(a))(x)  # noqa: E731
    for function, args, want in (
        (px.vmap(value), (XS, YS), [3, 8]),
        (px.vmap(lambda a: scaled(a)(2.0)), (XS,), [2, 4]),
        (px.vmap(slope), (XS, YS), [3, 6]),
        (lambda x: px.grad(lambda x: px.vmap(value)(XS, x).sum())(x), (YS,), [3, 6]),
        (lambda x: px.grad(lambda x: px.vmap(lambda a: scaled(a)(x))(XS).sum())(x), (2.0,), 9),
        (px.vmap(lambda a, x: px.vjp(scaled(a), x)[1](np.float32(1))[0]), (XS, YS), [3, 6]),
        (px.vmap(px.vmap(value), in_axes=(None, 0)), (XS, SQUARE), [[1, 4], [5, 14]]),
        (px.vmap(lambda row: px.vmap(lambda a, x: scaled(a)(x) + scaled(row.sum())(x))(XS, row)), (SQUARE,), None),
    ):
        found = np.asarray(function(*args))
        if want is None:
            want = XS * SQUARE + SQUARE.sum(1, keepdims=True) * SQUARE
        np.testing.assert_allclose(found, want, rtol=1e-6)
        np.testing.assert_allclose(px.jit(function)(*args), want, rtol=1e-6)


@pytest.mark.parametrize("scaled", SCALED)
def test_second_derivatives_and_loops_around_closures(scaled):
    cube = lambda x: px.vmap(lambda a: scaled(a)(x) * x * x)(XS).sum()  # noqa: E731
    # With the claimed slope 3 a the derivative of a x x^2 is 3 a x^2 + 2 a x^2, and that of this is 6 a x + 4 a x, and
    # 4 a x more if the x within a x is differentiated by the rule again, which the value of a custom gradient is not.
    np.testing.assert_allclose(px.grad(cube)(2.0), 5 * 3 * 4, rtol=1e-6)
    again = 0 if scaled is by_gradient else 4
    np.testing.assert_allclose(px.grad(px.grad(cube))(2.0), 3 * (6 + 4 + again) * 2.0, rtol=1e-6)
    looped = lax.scan(lambda c, a: (scaled(a)(c), c), 1.0, XS)
    np.testing.assert_allclose(looped[0], 2)
    mapped = px.vmap(lambda a: lax.scan(lambda c, x: (scaled(a)(c), c), 1.0, XS)[0])(YS)
    np.testing.assert_allclose(mapped, YS**2)


def test_forward_mode_of_a_closure_under_vmap():
    out, tangent = px.vmap(lambda a, x: px.jvp(by_jvp(a), (x,), (1.0,)))(XS, YS)
    np.testing.assert_allclose((out, tangent), ([3, 8], [3, 6]))
    linear = px.linearize(lambda x: px.vmap(lambda a: by_jvp(a)(x))(XS), 2.0)[1]
    np.testing.assert_allclose(linear(1.0), [3, 6])
    tangent = px.vmap(lambda a, x: px.linearize(by_jvp(a), x)[1](1.0))(XS, YS)
    np.testing.assert_allclose(tangent, [3, 6])


def test_a_rule_alone_may_close_over_mapped_values():
    def f_of(a):
        f = px.custom_jvp(lambda x: 2 * x)
        f.defjvp(lambda primals, tangents: (f(*primals), a * tangents[0]))
        return f

    np.testing.assert_allclose(px.vmap(lambda a: px.grad(f_of(a))(1.0))(XS), XS)
    np.testing.assert_allclose(px.grad(lambda x: px.vmap(lambda a: f_of(a)(x))(XS).sum())(1.0), 3)

    def g_of(a):
        g = px.custom_vjp(lambda x: 2 * x)
        g.defvjp(lambda x: (g(x), None), lambda _, ct: (a * ct,))
        return g

    np.testing.assert_allclose(px.vmap(lambda a: px.grad(g_of(a))(1.0))(XS), XS)
    with pytest.raises(core.UnexpectedTracerError, match="pass the value as an argument"):
        px.grad(lambda x: px.vmap(lambda a: g_of(a)(x))(XS).sum())(1.0)


def test_a_result_that_depends_on_nothing_mapped_stays_one_for_all():
    doubled = px.custom_jvp(lambda x: 2 * x)
    doubled.defjvp(lambda primals, tangents: (doubled(*primals), 2 * tangents[0]))
    assert float(px.vmap(lambda a: doubled(3.0), out_axes=None)(XS)) == 6
    assert float(px.grad(lambda x: px.vmap(lambda a: doubled(x) * a)(XS).sum())(1.0)) == 6


def test_python_sees_what_is_not_mapped():
    def f_of(a):
        f = px.custom_jvp(lambda x: a * x if x > 0 else -a)
        f.defjvp(lambda primals, tangents: (f(*primals), (a if primals[0] > 0 else 5 * a) * tangents[0]))
        return f

    np.testing.assert_allclose(px.vmap(lambda a: f_of(a)(2.0))(XS), 2 * XS)
    np.testing.assert_allclose(px.vmap(lambda a: px.grad(f_of(a))(-2.0))(XS), 5 * XS)


def test_collectives_in_closures_see_the_axis():
    def f_of(a):
        f = px.custom_jvp(lambda x: lax.psum(a * x, "i"))
        f.defjvp(lambda primals, tangents: (f(*primals), 3 * lax.psum(a * tangents[0], "i")))
        return f

    np.testing.assert_allclose(px.vmap(lambda a: f_of(a)(2.0), axis_name="i")(XS), [6, 6])
    out, tangent = px.vmap(lambda a, x: px.jvp(f_of(a), (x,), (1.0,)), axis_name="i")(XS, YS)
    np.testing.assert_allclose((out, tangent), ([11, 11], [9, 9]))


@pytest.mark.parametrize("scaled", [by_jvp, by_vjp, by_residual, by_gradient])
def test_what_is_closed_over_must_not_be_differentiated(scaled):
    assert float(px.jit(lambda a: scaled(a)(2.0))(3.0)) == 6
    assert float(px.jit(lambda a: px.grad(scaled(a))(2.0))(3.0)) == 9
    for wrong in (
        lambda: px.grad(lambda a: scaled(a)(2.0))(3.0),
        lambda: px.grad(lambda a: scaled(a)(a))(3.0),
        lambda: px.grad(px.jit(lambda a: scaled(a)(2.0)))(3.0),
        lambda: px.jit(px.grad(lambda a: scaled(a)(2.0)))(3.0),
        lambda: px.vmap(px.grad(lambda a: scaled(a)(2.0)))(XS),
    ):
        with pytest.raises(core.UnexpectedTracerError, match="as an argument"):
            wrong()


@pytest.mark.parametrize("kind", ["jvp", "vjp"])
def test_what_is_closed_over_and_returned_as_it_is_keeps_its_own_derivative(kind):
    def call(b, x):
        def function(x):
            return {"own": b, "scaled": 3 * x}

        if kind == "jvp":
            f = px.custom_jvp(function)
            f.defjvp(lambda primals, tangents: (f(*primals), {"own": tangents[0] * 7, "scaled": tangents[0] * 5}))
        else:
            f = px.custom_vjp(function)
            f.defvjp(lambda x: (f(x), None), lambda _, ct: (5 * ct["scaled"],))
        return f(x)

    for use in (lambda f: f, px.jit):
        assert float(px.grad(use(lambda b: call(b, 2.0)["scaled"]))(3.0)) == 0
        assert float(px.grad(use(lambda b: call(b, 2.0)["own"] ** 2))(3.0)) == 6
    np.testing.assert_allclose(px.vmap(px.grad(lambda b: call(b, b)["own"] * b))(XS), 2 * XS)
    both = px.grad(lambda b: call(b, b)["own"] ** 2 + call(b, b)["scaled"])
    assert float(both(3.0)) == float(px.jit(both)(3.0)) == 11


@pytest.mark.parametrize("kind", ["jvp", "vjp"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_a_value_of_several_vmaps_may_be_returned_as_it_is(kind, axis):
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2)

    def call(c, x):
        if kind == "jvp":
            f = px.custom_jvp(lambda y: (c, c + y))
            f.defjvp(lambda primals, tangents: (f(*primals), (c * 0, tangents[0] + c * 0)))
        else:
            f = px.custom_vjp(lambda y: (c, c + y))
            f.defvjp(lambda y: (f(y), None), lambda _, ct: (ct[1].sum(),))
        return f(x)

    for outer in (0, 1):
        inner = np.moveaxis(values, outer, 0)
        size = inner.shape[1:][axis]
        mapped = px.vmap(px.vmap(call, in_axes=(axis, None)), in_axes=(outer, None))
        own, more = px.jit(mapped)(values, 1.0) if outer else mapped(values, 1.0)
        wanted = np.moveaxis(inner, axis if axis < 0 else axis + 1, 1)
        assert own.shape[1] == size
        np.testing.assert_array_equal(own, wanted)
        np.testing.assert_array_equal(more, wanted + 1)


def test_arguments_that_are_not_differentiated_may_be_tracers():
    for scaled in (by_argument, by_argument_in_reverse):
        assert float(px.jit(lambda a, x, scaled=scaled: scaled(a)(x))(2.0, 3.0)) == 6
        assert float(px.grad(px.jit(lambda a, x, scaled=scaled: scaled(a)(x)), 1)(2.0, 3.0)) == 6
        step = lambda c, a, scaled=scaled: (scaled(a)(c), c)  # noqa: E731
        assert float(px.grad(lambda c, step=step: lax.scan(step, c, XS)[0])(1.0)) == 18
    assert float(px.grad(lambda a: by_argument(a)(2.0))(3.0)) == 0
    with pytest.raises(core.UnexpectedTracerError, match="nondiff_argnums names must not be differentiated"):
        px.grad(lambda a: by_argument_in_reverse(a)(2.0))(3.0)


def root_of(a, start):
    """The square root of a, by a solver that closes over its start."""

    def solve(f, guess):
        return lax.fori_loop(0, 8, lambda i, x: x - f(x) / (2 * x) + 0 * start, guess * 1.0)

    return lax.custom_root(lambda x: x * x - a, start, solve, lambda g, y: y / g(1.0))


def test_solvers_of_roots_may_close_over_anything():
    slopes = 0.5 / np.sqrt(XS)
    for function, args, want in (
        (px.grad(lambda a: root_of(a, a)), (2.0,), 0.5 / np.sqrt(2)),
        (px.grad(px.jit(lambda a: root_of(a, a))), (2.0,), 0.5 / np.sqrt(2)),
        (px.vmap(root_of), (XS, YS), np.sqrt(XS)),
        (px.vmap(px.grad(root_of)), (XS, YS), slopes),
        (px.grad(lambda a: px.vmap(lambda start: root_of(a, start))(YS).sum()), (2.0,), 1 / np.sqrt(2)),
        (px.grad(px.grad(lambda a: root_of(a, a))), (2.0,), -0.25 * 2**-1.5),
    ):
        np.testing.assert_allclose(function(*args), want, rtol=1e-4)
        np.testing.assert_allclose(px.jit(function)(*args), want, rtol=1e-4)


def test_a_solver_in_python_sees_values_while_it_is_differentiated():
    def solve(f, guess):
        while abs(f(guess)) > 1e-5:
            guess = guess - f(guess) / (2 * guess)
        return guess

    def root(a):
        return lax.custom_root(lambda x: x * x - a, a, lambda f, x: solve(f, a), lambda g, y: y / g(1.0))

    np.testing.assert_allclose(px.grad(root)(2.0), 0.5 / np.sqrt(2), rtol=1e-4)
    np.testing.assert_allclose(px.grad(px.grad(root))(2.0), -0.25 * 2**-1.5, rtol=1e-4)


def solution_of(a, b, scale):
    return lax.custom_linear_solve(
        lambda x: a @ x,
        b,
        lambda matvec, b: pnp.linalg.solve(a, b) * scale / scale,
        lambda vecmat, b: pnp.linalg.solve(a.T, b) * scale / scale,
    )


def test_solvers_of_linear_equations_may_close_over_anything():
    x = np.linalg.solve(A, YS)
    by_b = np.linalg.solve(A.T, np.ones(2))
    by_a = -np.outer(by_b, x)
    for function, args, want in (
        (px.grad(lambda a: solution_of(a, YS, 2.0).sum()), (A,), by_a),
        (px.grad(px.jit(lambda a: solution_of(a, YS, 2.0).sum())), (A,), by_a),
        (px.grad(lambda scale: solution_of(A, YS, scale).sum()), (2.0,), 0),
        (px.vmap(lambda scale: solution_of(A, YS, scale)), (XS,), [x, x]),
        (px.vmap(lambda a: solution_of(a, YS, 2.0)), (PAIR,), [x, x / 2]),
        (px.vmap(lambda a: px.grad(lambda b: solution_of(a, b, 2.0).sum())(YS)), (PAIR,), [by_b, by_b / 2]),
        (px.grad(lambda b: px.vmap(lambda a: solution_of(a, b, 2.0))(PAIR).sum()), (YS,), 1.5 * by_b),
        (px.vmap(px.grad(lambda a: solution_of(a, YS, 2.0).sum())), (PAIR,), [by_a, by_a / 4]),
    ):
        np.testing.assert_allclose(function(*args), want, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(px.jit(function)(*args), want, rtol=1e-4, atol=1e-5)


def test_a_linear_solve_is_differentiated_after_it_was_linearized():
    def solve(e):
        return lax.custom_linear_solve(
            lambda x: (2 + e * e) * x, XS, lambda f, b: b / f(pnp.ones(2)), lambda f, b: b / f(pnp.ones(2))
        )

    def exact(e):
        return XS / (2 + e * e)

    def twice(f):
        linear = lambda x, t: px.linearize(f, x)[1](t)  # noqa: E731
        again = lambda *args: px.jvp(linear, args[:2], args[2:])  # noqa: E731
        return px.vjp(again, YS, XS, XS, YS)[1]((XS, YS))

    for found, want in zip(twice(solve), twice(exact), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-4)
    for found, want in zip(px.jit(lambda: twice(solve))(), twice(exact), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-4)


def test_constants_that_a_converted_function_returns_are_arrays():
    converted, consts = px.closure_convert(lambda x: (x, np.float32(2), 3.0), 1.0)
    outs = converted(1.0, *consts)
    assert [type(x) for x in outs] == [type(pnp.ones(1))] * 3
    assert [x.weak_type for x in outs] == [True, False, True]
    _, (constant,) = px.grad(lambda x: (x, converted(x)[2:]), has_aux=True)(1.0)
    assert type(constant) is type(outs[2])
    assert constant.weak_type
    assert str(px.make_jaxpr(converted)(1.0)) == "{ lambda ; a:f32[]. let  in (a, 2.0:f32[], 3.0:f32[]) }"


def test_a_batch_rule_resumes_the_vmap_that_applies_it():
    held_p = core.Primitive("held")
    held_p.def_impl(lambda x, *, function: function(x))

    def batch(axis, args, dims, *, function):
        from_rule, out_dims = px.extend.interpreters.batching.batch_flat(
            lambda x: [function(x)], axis, args, dims, resume=True
        )
        return from_rule[0], out_dims[0]

    px.extend.interpreters.batching.fancy_primitive_batchers[held_p] = batch
    out = px.vmap(lambda a, x: held_p.bind(x, function=lambda x: a * x))(XS, YS)
    np.testing.assert_allclose(out, XS * YS)
