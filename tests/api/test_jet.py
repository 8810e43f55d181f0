"""Series along curves against nested derivatives and against jax."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.experimental.jet import jet, jet2, jet_rules

pytestmark = [pytest.mark.usefixtures("in_32_bits"), pytest.mark.any_release]

X = np.array([0.3, 0.7])
SERIES = [np.array([1.0, -0.5]), np.array([0.4, 0.2]), np.array([-0.3, 1.0])]
MATRIX = np.array([[1.0, 2.0], [-0.5, 0.3]])


def nested(f, x, series):
    """Derivatives at 0 of f along the curve of these derivatives, one within another."""

    def curve(t):
        return f(x + series[0] * t + series[1] * t**2 / 2 + series[2] * t**3 / 6)

    found = []
    for _ in series:
        curve = px.jacfwd(curve)
        found.append(curve(0.0))
    return found


@px.custom_jvp
def cube(x):
    return x**3


cube.defjvp(lambda primals, tangents: (primals[0] ** 3, 3 * primals[0] ** 2 * tangents[0]))


@px.custom_vjp
def square(x):
    return x**2


square.defvjp(lambda x: (x**2, x), lambda x, ct: (2 * x * ct,))

FUNCTIONS = {
    "arithmetic": lambda x: (x * x + 3 / x - x**2.5 + 2**x) / (1 + x**2),
    "exponential": lambda x: pnp.exp(x) * pnp.log(x) + pnp.expm1(x) / pnp.log1p(x) + pnp.sqrt(x) + lax.rsqrt(x),
    "trigonometric": lambda x: pnp.sin(x) * pnp.cos(2 * x) + pnp.tan(x) + pnp.arctan2(x, 1 + x) + pnp.arcsin(x),
    "hyperbolic": lambda x: pnp.tanh(x) + pnp.sinh(x) * pnp.arctanh(x) + lax.logistic(x) + pnp.arccosh(1 + x),
    "special": lambda x: lax.erf(x) + lax.lgamma(x) + lax.digamma(x) + lax.erf_inv(x),
    "choices": lambda x: pnp.where(x > 0.5, pnp.sin(x), pnp.cos(x)) + pnp.maximum(x, 0.4) * pnp.abs(x) + pnp.max(x),
    "products": lambda x: MATRIX @ pnp.outer(x, x) @ x + pnp.cumsum(x) * pnp.prod(x) + pnp.cumprod(x),
    "shapes": lambda x: (
        pnp.concatenate([x, x[::-1] ** 2]).reshape(2, 2).T.sum(0)[np.array([1, 0])] + pnp.pad(x, 1)[1:3]
    ),
    "sorted": lambda x: pnp.sort(pnp.sin(4 * x)) + pnp.fft.fft(x**2).real,
    "complex": lambda x: pnp.exp(1j * x).imag * pnp.abs(x + 2j),
    "written": lambda x: pnp.asarray(x).at[0].set(x[1] ** 2).at[np.array([1, 1])].add(pnp.sin(x)),
    "programs": lambda x: px.jit(lambda y: cube(y) + px.checkpoint(pnp.sin)(y) * y)(x),
    "scan": lambda x: lax.scan(lambda c, a: (c * a + pnp.sin(c), c**2), x[0], x)[1],
    "while": lambda x: lax.while_loop(lambda c: c[1] < 3, lambda c: (pnp.sin(c[0]) * x, c[1] + 1), (x, 0))[0],
    "cond": lambda x: lax.cond(x[0] > 0, lambda y: y**3, pnp.cos, x),
    "solve": lambda x: pnp.linalg.solve(MATRIX + pnp.diag(x), x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_series_are_nested_derivatives(name):
    f = FUNCTIONS[name]
    with px.enable_x64(True):
        program = px.jit(lambda x, s: (jet(f, (x,), (s,)), f(x), nested(f, x, s)))
        (value, series), same, wants = program(X, SERIES)
        np.testing.assert_allclose(value, same, rtol=1e-12)
        for got, want in zip(series, wants, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-9)
    narrow = px.jit(lambda x, s: jet(f, (x,), (s,)))(X.astype(np.float32), [s.astype(np.float32) for s in SERIES])
    np.testing.assert_allclose(narrow[1][1], series[1], rtol=5e-3, atol=5e-3)
    assert narrow[1][2].dtype == np.float32


def test_functions_with_reverse_rules_alone_go_by_their_program():
    assert [float(x) for x in jet(square, (3.0,), ([1.0, 0.0],))[1]] == [6, 2]


def test_series_are_those_of_jax(jax):
    from_jax = pytest.importorskip("jax.experimental.jet")

    def f(m, x, y):
        return {"a": m.tanh(x @ y) * x, "b": m.exp(y).sum() / (1 + x**2)}

    x, y = np.float32([0.3, 0.7]), np.float32([[0.1, 0.5], [0.2, -1.0]])
    series = [x, 2 * x, 0 * x, x], [y, y + 1, y, 0 * y]
    got = jet(lambda x, y: f(pnp, x, y), (x, y), series)
    want = from_jax.jet(lambda x, y: f(jax.numpy, x, y), (x, y), series)
    assert px.tree.structure(got) == px.tree.structure(px.tree.map(np.asarray, want))
    for a, b in zip(px.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def test_high_orders_cost_little():
    order = 12
    value, series = jet(lambda x: pnp.sin(pnp.exp(x)), (0.0,), ([1.0] + [0.0] * (order - 1),))
    np.testing.assert_allclose(value, np.sin(1), rtol=1e-6)
    with px.enable_x64(True):
        tanh = jet2(pnp.tanh, (0.0,), ([1.0] + [0.0] * (order - 1),))[1]
    np.testing.assert_allclose(tanh[:7], [1, 0, -1 / 3, 0, 2 / 15, 0, -17 / 315], atol=1e-7)
    assert len(series) == order


def test_coefficients_are_derivatives_over_factorials():
    cubic = lambda x: x**3  # noqa: E731
    assert [float(x) for x in jet(cubic, (2.0,), ([1.0, 0.0, 0.0],))[1]] == [12, 12, 6]
    assert [float(x) for x in jet(cubic, (2.0,), ([1.0, 0.0, 0.0],), factorial_scaled=False)[1]] == [12, 6, 1]
    assert [float(x) for x in jet2(cubic, (2.0,), ([1.0, 0.0, 0.0],))[1]] == [12, 6, 1]


def test_trees_constants_and_integers_go_along():
    args = {"a": 2.0, "b": pnp.array([1.0, 3.0])}
    term = {"a": 1.0, "b": pnp.zeros(2)}
    value, series = jet(lambda t: (t["a"] * t["b"], 3.0, t["b"] > 2), (args,), ([term, term],))
    assert value[0].tolist() == [2, 6]
    assert [x.tolist() for x in series[0]] == [[1, 3], [1, 3]]
    assert [float(x) for x in series[1]] == [0, 0]
    assert [x.tolist() for x in series[2]] == [[0, 0], [0, 0]]
    assert jet(pnp.sin, (1.0,), ([],))[1] == []


def test_series_are_differentiated_and_mapped():
    def second(x):
        return jet(pnp.sin, (x,), ([1.0, 0.0],))[1][1]

    np.testing.assert_allclose(px.grad(second)(0.5), -np.cos(0.5), rtol=1e-5)
    np.testing.assert_allclose(px.vmap(second)(pnp.arange(3.0)), -np.sin(np.arange(3.0)), rtol=1e-5, atol=1e-6)


def test_rules_may_be_added():
    primitive = lax.sin_p
    jet_rules[primitive] = lambda primals, series, **params: (primals[0], [10 * x for x in series[0]])
    try:
        assert [float(x) for x in jet(pnp.sin, (1.0,), ([1.0, 2.0],))[1]] == [10, 20]
    finally:
        del jet_rules[primitive]


def test_python_integers_with_floating_terms_are_read_as_floats():
    for (found, terms), (value, derivatives) in (
        (jet(pnp.sin, (1,), ([1.0, 0.0],)), (np.sin(1.0), [np.cos(1.0), -np.sin(1.0)])),
        (jet(lambda x: x * 2, (3,), ([1, 0],)), (6, [0, 0])),
    ):
        np.testing.assert_allclose([found, *terms], [value, *derivatives], rtol=1e-6)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: jet(1.0, (1.0,), ([1.0],)), TypeError, "jet: fun must be callable"),
        (lambda: jet(pnp.sin, 1.0, ([1.0],)), TypeError, "jet: primals must be a tuple or a list"),
        (lambda: jet(pnp.add, (1.0, 2.0), ([1.0],)), ValueError, "jet: series must have a list for each of 2 primals"),
        (lambda: jet(pnp.add, (1.0, 2.0), ([1.0], [])), ValueError, r"lists of the same length, got lengths \[1, 0\]"),
        (lambda: jet(pnp.sin, (1.0,), (2.0,)), TypeError, r"jet: series\[0\] must be a list of terms"),
        (lambda: jet(pnp.sin, (1.0,), ([pnp.ones(2)],)), ValueError, r"series\[0\]\[0\] must have the shapes of"),
        (lambda: jet(pnp.sin, (1.0,), ([{"a": 1.0}],)), ValueError, r"series\[0\]\[0\] must have the structure of"),
    ],
)
def test_wrong_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
