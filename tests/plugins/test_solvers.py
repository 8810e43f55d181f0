"""Roots, linear solves and differential equations: values against closed forms, derivatives by what they solve."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax

pytestmark = [pytest.mark.usefixtures("in_32_bits"), pytest.mark.any_release]

A = np.float32([[4, 1, 0], [1, 3, 1], [0.5, 0, 2]])
B = np.float32([1, 2, 3])


def jacobi(matvec, b):
    """Solve a system whose diagonal dominates, by iteration."""
    diagonal = pnp.stack([matvec(e)[i] for i, e in enumerate(np.eye(3, dtype=np.float32))])
    return lax.fori_loop(0, 60, lambda i, x: x + (b - matvec(x)) / diagonal, b / diagonal)


def solved(a, b, **options):
    return lax.custom_linear_solve(lambda x: a @ x, b, jacobi, **options)


def test_a_linear_solve_has_the_derivatives_of_the_inverse():
    def solve(a, b):
        return solved(a, b, transpose_solve=jacobi)

    np.testing.assert_allclose(solve(A, B), np.linalg.solve(A, B), rtol=1e-5)
    weights = np.float32([1, -2, 0.5])
    da, db = px.jit(px.grad(lambda a, b: weights @ solve(a, b), (0, 1)))(A, B)
    adjoint = np.linalg.solve(A.T, weights)
    np.testing.assert_allclose(db, adjoint, rtol=1e-4)
    np.testing.assert_allclose(da, -np.outer(adjoint, np.linalg.solve(A, B)), rtol=1e-4)
    tangent = px.jvp(lambda a: solve(a, B), (A,), (np.eye(3, dtype=np.float32),))[1]
    np.testing.assert_allclose(tangent, -np.linalg.solve(A, np.linalg.solve(A, B)), rtol=1e-4)


def test_a_linear_solve_is_mapped_and_differentiated_twice():
    def solve(scale, b):
        return solved(scale * A, b, transpose_solve=jacobi).sum()

    scales = np.float32([1, 2])
    total = np.linalg.solve(A, B).sum()
    np.testing.assert_allclose(px.vmap(solve, (0, None))(scales, B), total / scales, rtol=1e-4)
    np.testing.assert_allclose(px.vmap(px.grad(solve), (0, None))(scales, B), -total / scales**2, rtol=1e-4)
    np.testing.assert_allclose(px.jit(px.grad(px.grad(solve)))(2.0, B), 2 * total / 8, rtol=1e-4)


def test_further_results_of_a_solve_are_handed_on():
    def solve(b):
        return lax.custom_linear_solve(
            lambda x: 2.0 * x, b, lambda matvec, b: (b / 2.0, {"steps": 1}), symmetric=True, has_aux=True
        )

    x, aux = solve(3.0)
    assert (float(x), int(aux["steps"])) == (1.5, 1)
    (slope, _) = px.grad(solve, has_aux=True)(3.0)
    assert float(slope) == 0.5


def test_reverse_mode_without_a_transposed_solve_says_so():
    solve = lambda b: lax.custom_linear_solve(lambda x: 2.0 * x, b, lambda f, b: b / 2.0)  # noqa: E731
    assert float(px.jvp(solve, (3.0,), (1.0,))[1]) == 0.5
    with pytest.raises(TypeError, match="transpose_solve"):
        px.grad(solve)(3.0)


def newton(f, x):
    return lax.while_loop(lambda x: pnp.abs(f(x)) > 1e-5, lambda x: x - f(x) / px.grad(f)(x), x)


def cube_root(a):
    return lax.custom_root(lambda x: x * x * x - a, a, newton, lambda g, y: y / g(pnp.ones_like(y)))


def test_a_root_is_differentiated_implicitly():
    assert abs(float(cube_root(8.0)) - 2) < 1e-5
    assert abs(float(px.grad(cube_root)(8.0)) - 1 / 12) < 1e-5
    assert abs(float(px.jit(px.grad(px.grad(cube_root)))(8.0)) + 2 / 9 * 8 ** (-5 / 3)) < 1e-5
    a = np.float32([1, 8, 27])
    np.testing.assert_allclose(px.vmap(px.grad(cube_root))(a), a ** (-2 / 3) / 3, rtol=1e-4)


@pytest.mark.parametrize("name", ["matvec", "solve"])
def test_arguments_that_are_no_functions_are_refused(name):
    given = {"matvec": lambda x: x, "solve": lambda f, b: b, name: 3}
    with pytest.raises(TypeError, match=f"{name} must be a function, got 3"):
        lax.custom_linear_solve(given["matvec"], 1.0, given["solve"])


def same(f, x):
    return x


@pytest.mark.parametrize(
    "call, error, said",
    [
        (lambda: lax.custom_linear_solve(lambda x: [x], 1.0, same), TypeError, "matvec must .* structure of its arg"),
        (
            lambda: lax.custom_linear_solve(lambda x: A[:2] @ x, B, same),
            ValueError,
            r"matvec .* got f32\[2\] for f32\[3\]",
        ),
        (
            lambda: lax.custom_linear_solve(lambda x: x, 1.0, lambda f, x: [x]),
            TypeError,
            "solve must .* structure of b",
        ),
        (
            lambda: lax.custom_linear_solve(lambda x: x, 1.0, lambda f, x: B),
            ValueError,
            r"solve .* f32\[3\] for f32\[\]",
        ),
        (lambda: lax.custom_linear_solve(lambda x: x, 1.0, same, has_aux=True), ValueError, "must return a pair"),
        (
            lambda: px.grad(lambda b: lax.custom_linear_solve(lambda x: x, b, same, lambda f, x: [x]))(1.0),
            TypeError,
            "transpose_solve must return the structure of b",
        ),
        (lambda: lax.custom_root(lambda x: (x, x), 0.0, same, same), TypeError, "f must .* structure of its argument"),
        (lambda: lax.custom_root(lambda x: x, 0.0, lambda f, x: [x], same), TypeError, "solve .* of initial_guess"),
        (lambda: lax.custom_root(lambda x: x, 0.0, same, same, has_aux=True), ValueError, "solve must return a pair"),
        (
            lambda: px.grad(lambda a: lax.custom_root(lambda x: x - a, a, same, lambda g, y: [y]))(1.0),
            TypeError,
            "tangent_solve must return the structure of its argument",
        ),
    ],
)
def test_functions_of_a_solve_return_what_is_like_their_arguments(call, error, said):
    with pytest.raises(error, match=said):
        call()


TIMES = np.linspace(0, 2, 5).astype(np.float32)


def test_a_decay_is_an_exponential_with_its_derivatives():
    def last(rate, start, times):
        return px.ode.odeint(lambda y, t, rate: -rate * y, start, times, rate, rtol=1e-6, atol=1e-6)

    np.testing.assert_allclose(last(0.7, 3.0, TIMES), 3 * np.exp(-0.7 * TIMES), rtol=1e-4)
    final = lambda *args: last(*args)[-1]  # noqa: E731
    rate, start, times = px.jit(px.grad(final, (0, 1, 2)))(0.7, 3.0, TIMES)
    end = np.exp(-1.4)
    np.testing.assert_allclose([rate, start], [-2 * 3 * end, end], rtol=1e-3)
    np.testing.assert_allclose(times[-1], -0.7 * 3 * end, rtol=1e-3)
    np.testing.assert_allclose(times[0], 0.7 * 3 * end, rtol=1e-3)
    np.testing.assert_allclose(times[1:-1], 0, atol=1e-5)


def test_times_that_decrease_have_no_solution() -> None:
    ys = px.ode.odeint(lambda y, t: -y, 1.0, pnp.array([0.0, 1.0, 1.0, 2.0, 0.5]))
    np.testing.assert_allclose(ys, [1.0, np.exp(-1), np.exp(-1), np.exp(-2), np.nan], rtol=1e-5)


def test_a_system_depends_on_time_on_trees_and_on_what_is_closed_over():
    def swing(force):
        def slope(y, t):
            return {"x": y["v"], "v": -y["x"] + force * t}

        return px.ode.odeint(slope, {"x": np.float32(1), "v": np.float32(0)}, TIMES, rtol=1e-6, atol=1e-6)["x"]

    # x'' = -x + f t has x = cos t + f (t - sin t).
    np.testing.assert_allclose(swing(0.5), np.cos(TIMES) + 0.5 * (TIMES - np.sin(TIMES)), atol=1e-4)
    slope = px.jit(px.grad(lambda f: swing(f)[-1]))(0.5)
    np.testing.assert_allclose(slope, 2 - np.sin(2), rtol=1e-3)


def test_integer_arguments_have_no_gradient():
    def last(y, n):
        return px.ode.odeint(lambda y, t, n: y * n, y, TIMES[:2], n, rtol=1e-6, atol=1e-6)[-1]

    np.testing.assert_allclose(px.grad(last)(1.0, 2), np.exp(1.0), rtol=1e-4)


@pytest.mark.slow
def test_an_equation_is_mapped_and_agrees_with_jax():
    jax = pytest.importorskip("jax")
    ode = pytest.importorskip("jax.experimental.ode")

    def run(lib, odeint, y0, k):
        def slope(y, t, k):
            return lib.numpy.stack([y[1], -k * lib.numpy.sin(y[0])])

        return odeint(slope, y0, TIMES, k, rtol=1e-6, atol=1e-6)

    y0, k = np.float32([[0.1, 0], [2.0, 1.0]]), np.float32([9.8, 1.0])
    got = px.vmap(lambda y, k: run(px, px.ode.odeint, y, k))(y0, k)
    want = jax.vmap(lambda y, k: run(jax, ode.odeint, y, k))(y0, k)
    np.testing.assert_allclose(got, want, atol=1e-4)
    got = px.vmap(px.grad(lambda y, k: run(px, px.ode.odeint, y, k)[-1, 0], (0, 1)))(y0, k)
    want = jax.vmap(jax.grad(lambda y, k: run(jax, ode.odeint, y, k)[-1, 0], (0, 1)))(y0, k)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=1e-3)


def test_complex_solutions_and_their_derivatives_are_those_of_the_formula():
    """y = y0 exp(-i (a t + t^2)), which begins at a time that is differentiated, too."""

    def solved(module):
        def run(y0, t, a):
            if module is not None:
                ys = module.ode.odeint(lambda y, t, a: {"z": -1j * (a + 2 * t) * y["z"]}, {"z": y0}, t, a)["z"]
            else:
                angle = a * (t - t[0]) + t**2 - t[0] ** 2
                ys = y0 * pnp.exp(-1j * angle)[:, None]
            return pnp.sum(ys.real**2 * pnp.arange(4)[:, None] + ys.imag), ys

        return run

    with px.enable_x64(True):
        given = pnp.asarray([1 + 0.5j, 0.3]), pnp.asarray([0.2, 0.5, 0.7, 1.0]), 1.3
        (got, want) = (px.jit(px.value_and_grad(solved(m), (0, 1, 2), has_aux=True))(*given) for m in (px, None))
        for a, b in zip(px.tree.leaves(got), px.tree.leaves(want), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5)


def test_the_first_time_counts_where_the_slope_depends_on_time():
    """y = exp((t0^2 - t^2) / 2)."""
    f = px.grad(lambda t: px.ode.odeint(lambda y, t: -y * t, 1.0, t)[-1])
    np.testing.assert_allclose(f(pnp.asarray([0.5, 0.7, 1.0])), np.exp(-0.375) * np.asarray([0.5, 0, -1]), atol=1e-4)
    np.testing.assert_allclose(f(pnp.asarray([0.5])), [0.0])


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_the_dtype_of_the_solution_may_be_narrower_than_that_of_the_times(dtype):
    with px.enable_x64(True):
        ys = px.ode.odeint(lambda y, t: -y, pnp.ones(2, dtype), pnp.linspace(0.0, 1.0, 3))
        assert ys.dtype == dtype
        np.testing.assert_allclose(ys[-1], np.exp(-1), rtol=1e-5)


@pytest.mark.parametrize(
    "call, error, phrase",
    [
        (lambda: px.ode.odeint(3, 1.0, TIMES), TypeError, "func must be a function"),
        (lambda: px.ode.odeint(lambda y, t: y, 1, TIMES), TypeError, "y0 must be floating or complex, got i32"),
        (lambda: px.ode.odeint(lambda y, t: y, {"a": 1}, TIMES), TypeError, r"y0\['a'\] must be floating or complex"),
        (lambda: px.ode.odeint(lambda y, t: y, 1.0, TIMES > 0), TypeError, "t must be floating, got bool"),
        (lambda: px.ode.odeint(lambda y, t: y, 1.0, 2.0), ValueError, "t must be of rank 1"),
        (lambda: px.ode.odeint(lambda y, t: y, 1.0, TIMES, rtol=0), ValueError, "rtol must be positive, got 0"),
    ],
)
def test_wrong_calls_say_what_would_be_right(call, error, phrase):
    with px.enable_x64(False), pytest.raises(error, match=phrase):
        call()


@pytest.mark.parametrize("times", [[2.0, 1.0, 1.0, -0.5], [1.0, 1.0, 3.0], [1.0]], ids=str)
def test_odeint_solves_backwards_in_time_and_at_repeated_times_with_gradients(times):
    def exact(y, t, k):
        return y * np.exp(-k * (np.sin(t) - np.sin(t[0])))

    with px.enable_x64(True):
        t, weights = np.array(times), np.arange(1.0, 1 + len(times))

        def total(y, t, k):
            ys = px.ode.odeint(lambda y, t, k: -k * y * px.numpy.cos(t), y, t, k)
            return (ys * weights).sum(), ys

        (_, ys), found = px.jit(px.value_and_grad(total, (0, 1, 2), has_aux=True))(1.5, t, 0.7)
        np.testing.assert_allclose(ys, exact(1.5, t, 0.7), rtol=1e-5)
        h = 1e-6
        steps = [(h, 0 * t, 0), *((0, h * e, 0) for e in np.eye(len(t))), (0, 0 * t, h)]
        wants = []
        for dy, dt, dk in steps:
            plus, minus = exact(1.5 + dy, t + dt, 0.7 + dk), exact(1.5 - dy, t - dt, 0.7 - dk)
            wants.append(((plus - minus) * weights).sum() / (2 * h))
        np.testing.assert_allclose(np.concatenate([np.ravel(x) for x in found]), wants, rtol=1e-4, atol=1e-5)
