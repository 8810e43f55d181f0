"""Transformations compose: whatever is nested in whatever, the values are those of the plain function."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.extend import core

pytestmark = [pytest.mark.any_word_size, pytest.mark.any_release]

POINT = 1.3


def identity(f):
    return f


def along(f):
    """The derivative in direction 1, forwards."""
    return lambda x: px.jvp(f, (x,), (pnp.ones_like(x),))[1]


def lazily(f):
    """The derivative in direction 1, by a linear function that is applied at once."""
    return lambda x: px.linearize(f, x)[1](pnp.ones_like(x))


def backwards(f):
    def derivative(x):
        y, pull_back = px.vjp(f, x)
        return pull_back(pnp.ones_like(y))[0]

    return derivative


def mapped(f):
    """`f` on one element of a batch of two."""
    return lambda x: px.vmap(f)(pnp.stack([x, x + 1.0]))[0]


def staged(f):
    """`f` through its program."""

    def run(x):
        return core.jaxpr_as_fun(px.make_jaxpr(f)(x))(x)[0]

    return run


def sines(x):
    return lax.sin(x) * lax.exp(-x) + x * x


def closures(x):
    """Jits closures over arguments of enclosing functions, and takes the jvp of one of them."""

    def outer(y):
        shifted = lax.sin(y) + 2.0 * x

        @px.jit
        def inner(z):
            return shifted * z * x + x * y

        return px.jit(inner)(y) * x

    return px.jit(outer)(x)


def jvp_within(x):
    def outer(y):
        def middle(w):
            q = px.jit(lambda u: y)(x)
            q = q + px.jit(lambda: y)()
            q = q + px.jit(lambda v: w * v)(y)
            return px.jit(lambda u: px.jit(lax.sin)(x) * y * u)(w) + q

        value, slope = px.jvp(middle, (x + 1.0,), (y,))
        return slope + x * value

    return px.jit(outer)(x)


def grad_within(x):
    @px.jit
    def outer(y):
        return px.grad(lambda z: px.jit(lambda: lax.sin(z * x) * y)())(y)

    return outer(x) * x + px.vjp(lambda z: z * z * x, x)[1](x)[0]


def vmap_within(x):
    rows = px.vmap(lambda k: px.jit(lambda z: lax.sin(z * x))(k) * x)(np.arange(3.0, dtype=np.float32))
    return rows.sum() + px.jacfwd(lambda z: z * x)(x)


def control_flow(x):
    return lax.cos(x) * x * x


FUNCTIONS = [sines, closures, jvp_within, grad_within, vmap_within, control_flow]


def slope_by_differences(f, x, order=1, step=1e-4):
    with px.enable_x64(True):
        x = np.float64(x)
        if order == 1:
            return float((f(x + step) - f(x - step)) / (2 * step))
        return float((f(x + step) - 2 * f(x) + f(x - step)) / step**2)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_values_agree(f):
    want = float(f(POINT))
    for g in (
        px.jit(f),
        staged(f),
        mapped(f),
        px.jit(mapped(px.jit(f))),
        mapped(staged(f)),
        px.jit(staged(f)),
    ):
        assert float(g(POINT)) == pytest.approx(want, rel=1e-5)
    value, _ = px.jvp(f, (POINT,), (1.0,))
    assert float(value) == pytest.approx(want, rel=1e-5)
    assert float(px.value_and_grad(px.jit(f))(POINT)[0]) == pytest.approx(want, rel=1e-5)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_first_derivatives_agree(f):
    want = slope_by_differences(f, POINT)
    assert float(px.grad(f)(POINT)) == pytest.approx(want, rel=1e-5, abs=1e-5)
    derivatives = [along, lazily, backwards, px.grad, px.jacfwd, px.jacrev]
    wraps = [identity, px.jit, mapped, staged]
    for derivative in derivatives:
        for inside in wraps:
            g = px.jit(derivative(inside(f)))
            assert float(g(POINT)) == pytest.approx(want, rel=1e-5, abs=1e-5)
    for outside in wraps[1:]:
        for derivative in (along, px.grad):
            g = outside(px.jit(derivative(px.jit(f))))
            assert float(g(POINT)) == pytest.approx(want, rel=1e-5, abs=1e-5)


SECOND = {
    "grad grad": lambda f: px.grad(px.grad(f)),
    "grad jit grad": lambda f: px.grad(px.jit(px.grad(f))),
    "jit grad grad": lambda f: px.jit(px.grad(px.grad(f))),
    "grad grad jit": lambda f: px.grad(px.grad(px.jit(f))),
    "grad jvp": lambda f: px.grad(along(f)),
    "jvp grad": lambda f: along(px.grad(f)),
    "jvp jvp": lambda f: along(along(f)),
    "jit jvp jit grad jit": lambda f: px.jit(along(px.jit(px.grad(px.jit(f))))),
    "jvp jit jvp": lambda f: along(px.jit(along(f))),
    "grad jit jvp jit": lambda f: px.grad(px.jit(along(px.jit(f)))),
    "linearize linearize": lambda f: lazily(lazily(f)),
    "vjp jit vjp": lambda f: backwards(px.jit(backwards(f))),
    "hessian": px.hessian,
    "jacrev jacfwd": lambda f: px.jacrev(px.jacfwd(f)),
    "vmap grad vmap grad": lambda f: mapped(px.grad(mapped(px.grad(f)))),
}


@pytest.mark.parametrize("f", FUNCTIONS)
def test_all_ways_to_a_second_derivative_agree(f):
    want = slope_by_differences(f, POINT, order=2)
    found = {name: float(px.jit(way(f))(POINT)) for name, way in SECOND.items()}
    found["eager"] = float(px.grad(px.grad(f))(POINT))
    first = found["grad grad"]
    assert first == pytest.approx(want, rel=1e-4, abs=1e-4)
    for name, value in found.items():
        assert value == pytest.approx(first, rel=1e-5, abs=1e-5), name


@pytest.mark.parametrize("f", [closures, jvp_within])
def test_third_derivatives_agree(f):
    want = float(px.jit(px.grad(px.grad(px.grad(f))))(POINT))
    for ways in itertools.product([px.grad, along], repeat=3):
        g = f
        for i, way in enumerate(ways):
            g = way(px.jit(g) if i == 1 else g)
        assert float(px.jit(g)(POINT)) == pytest.approx(want, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("order", list(itertools.permutations([px.jit, px.grad, mapped])))
def test_every_order_of_jit_grad_and_vmap_agrees(order):
    g = jvp_within
    for transform in order:
        g = transform(g)
    assert float(g(POINT)) == pytest.approx(float(px.grad(jvp_within)(POINT)), rel=1e-5)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_programs_of_all_transformations_are_well_typed(f):
    transforms = [identity, along, lazily, backwards, px.grad, mapped, px.hessian, px.jit]
    for outer, inner in itertools.product(transforms, [identity, px.jit, px.grad, along]):
        closed = px.make_jaxpr(outer(inner(f)))(np.float32(POINT))
        core.check_jaxpr(closed)
        assert closed.out_avals[0].shape == ()


def test_vmap_of_everything_is_a_loop():
    x = np.linspace(0.2, 2.0, 5).astype(np.float32)
    for f in (closures, jvp_within, grad_within):
        for transform in (identity, px.grad, along, lazily, px.hessian, lambda f: px.jit(px.grad(px.jit(f)))):
            g = px.jit(transform(f))
            want = [float(g(one)) for one in x]
            np.testing.assert_allclose(px.vmap(transform(f))(x), want, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(px.jit(px.vmap(g))(x), want, rtol=1e-4, atol=1e-5)


def test_per_example_gradients_of_a_network_agree_with_a_loop():
    random = np.random.default_rng(0)
    params = [
        (random.normal(size=(3, 4)).astype(np.float32), np.zeros(4, np.float32)),
        (random.normal(size=(4, 1)).astype(np.float32), np.zeros(1, np.float32)),
    ]
    xs = random.normal(size=(5, 3)).astype(np.float32)

    @px.jit
    def loss(params, x):
        for w, b in params:
            x = pnp.tanh(pnp.dot(x, w) + b)
        return (x * x).sum()

    found = px.jit(px.vmap(px.grad(loss), in_axes=(None, 0)))(params, xs)
    loop = [px.grad(loss)(params, x) for x in xs]
    for i, leaf in enumerate(px.tree.leaves(found)):
        want = np.stack([np.asarray(px.tree.leaves(one)[i]) for one in loop])
        np.testing.assert_allclose(leaf, want, rtol=1e-5, atol=1e-6)
    summed = px.grad(lambda p: px.vmap(loss, in_axes=(None, 0))(p, xs).sum())(params)
    for a, b in zip(px.tree.leaves(summed), px.tree.leaves(found), strict=True):
        np.testing.assert_allclose(a, np.asarray(b).sum(0), rtol=1e-4, atol=1e-5)


def test_pytrees_go_through_every_transformation():
    def f(d, *, scale):
        a, (b, c) = d["a"], d["bc"]
        return {"out": (a * b + c) * scale, "none": None}

    point = {"a": np.float32(2.0), "bc": (np.float32(3.0), np.float32(4.0))}

    def total(d):
        return f(d, scale=2.0)["out"]

    gradient = px.jit(px.grad(px.jit(total)))(point)
    assert px.tree.structure(gradient) == px.tree.structure(point)
    assert [float(x) for x in px.tree.leaves(gradient)] == [6.0, 4.0, 2.0]
    stacked = px.tree.map(lambda x: np.stack([x, x]), point)
    out = px.vmap(px.jit(lambda d: f(d, scale=2.0)))(stacked)
    assert out["none"] is None
    assert out["out"].tolist() == [20.0, 20.0]


DTYPES = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("shape", [(), (2, 0, 3), (2, 3)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_transformation_keeps_any_shape_and_inexact_dtype(dtype, shape):
    def f(x):
        return px.jit(lambda y: lax.sin(y) * x)(x) * 2

    with px.enable_x64(True):
        x = np.full(shape, 0.5).astype(pnp.dtype(dtype))
        one = np.ones(shape).astype(pnp.dtype(dtype))
        want = np.asarray(f(x))
        slope = 2 * (np.cos(0.5) * 0.5 + np.sin(0.5))
        batched = np.stack([x, x])
        found = [
            px.jit(f)(x),
            px.jvp(f, (x,), (one,))[0],
            px.vmap(f)(batched)[0],
            px.jit(px.vmap(f, in_axes=len(shape), out_axes=len(shape)))(np.stack([x, x], -1))[..., 1],
        ]
        for y in found:
            assert (y.shape, y.dtype) == (x.shape, x.dtype)
            np.testing.assert_allclose(np.asarray(y, np.complex128), np.asarray(want, np.complex128), rtol=2e-2)
        slopes = [
            px.jvp(px.jit(f), (x,), (one,))[1],
            px.linearize(f, x)[1](one),
            px.vjp(f, x)[1](one)[0],
            px.jit(lambda x, ct: px.vjp(px.jit(f), x)[1](ct)[0])(x, one),
            px.vmap(lambda x, ct: px.vjp(f, x)[1](ct)[0])(batched, np.stack([one, one]))[1],
        ]
        for y in slopes:
            assert (y.shape, y.dtype) == (x.shape, x.dtype)
            np.testing.assert_allclose(np.asarray(y, np.complex128), np.full(shape, slope), rtol=2e-2)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (2, 3)])
@pytest.mark.parametrize("dtype", ["int8", "int32", "uint16", "bool"])
def test_integers_and_booleans_have_tangents_of_type_float0(dtype, shape):
    i = np.ones(shape, dtype)
    zero = np.zeros(shape, px.float0)

    def f(i, x):
        return px.jit(lambda i: (i, x * pnp.asarray(i, np.float32)))(i)

    x = np.float32(2.0)
    for g in (f, px.jit(f)):
        (same, _), (none, tangent) = px.jvp(g, (i, x), (zero, np.float32(1.0)))
        assert (same.shape, same.dtype, none.dtype, none.shape) == (shape, i.dtype, px.float0, shape)
        np.testing.assert_array_equal(tangent, np.ones(shape))
        (same, _), pull = px.vjp(g, i, x)
        none, gradient = pull((zero, np.ones(shape, np.float32)))
        assert (none.dtype, none.shape) == (px.float0, shape)
        assert float(gradient) == i.size
        _, f_lin = px.linearize(g, i, x)
        none, tangent = f_lin(zero, np.float32(1.0))
        assert none.dtype == px.float0
    mapped_out = px.vmap(f, in_axes=(0, None))(np.stack([i, i]), x)
    assert mapped_out[0].dtype == i.dtype
    gradient = px.grad(lambda i, x: f(i, x)[1].sum(), (0, 1), allow_int=True)(i, x)
    assert gradient[0].dtype == px.float0
    assert float(gradient[1]) == i.size


def test_tangents_of_integers_go_through_jit_vmap_and_constants():
    i, x = np.arange(3), np.float32(2.0)

    def f(i, x):
        return (x * pnp.asarray(i, np.float32)).sum()

    void = np.zeros(3, px.float0)
    gradient = px.grad(f, (0, 1), allow_int=True)
    for _ in range(2):
        for g in (gradient, px.jit(gradient), px.jit(px.grad(px.jit(f), (0, 1), allow_int=True))):
            none, slope = g(i, x)
            assert (type(none), none.dtype, none.shape) == (np.ndarray, px.float0, (3,))
            assert float(slope) == 3.0
        none, slopes = px.jit(px.vmap(gradient, in_axes=(0, None)))(i, x)
        assert (none.dtype, none.shape) == (px.float0, (3,))
        assert slopes.tolist() == [0.0, 1.0, 2.0]
        none, slopes = px.vmap(gradient, in_axes=(0, None))(i, x)
        assert (none.dtype, none.shape) == (px.float0, (3,))
        for passed in (px.jit(lambda t: t)(void), px.jit(lambda: void)(), px.jit(lambda t: (t, x))(void)[0]):
            assert (type(passed), passed.dtype, passed.shape) == (np.ndarray, px.float0, (3,))
    jitted = px.jit(lambda i, x, ti, tx: px.jvp(lambda i, x: (i, x * 2.0), (i, x), (ti, tx)))
    (same, _), (none, tangent) = jitted(i, x, void, np.float32(1.0))
    assert same.dtype == i.dtype or not px.config.enable_x64
    assert (none.dtype, none.shape, float(tangent)) == (px.float0, (3,), 2.0)
    core.check_jaxpr(px.make_jaxpr(gradient)(i, x))
    core.check_jaxpr(px.make_jaxpr(px.vmap(gradient, in_axes=(0, None)))(i, x))


def test_jit_retraces_when_the_word_size_changes():
    traced = []

    @px.jit
    def f(x):
        traced.append(x.dtype)
        return lax.sin(x) * 2.0

    with px.enable_x64(False):
        assert f(1.0).dtype == np.float32
    with px.enable_x64(True):
        assert f(1.0).dtype == np.float64
        assert px.grad(f)(1.0).dtype == np.float64
        assert float(px.grad(f)(1.0)) == pytest.approx(2 * np.cos(1.0), rel=1e-14)
        assert f(np.float32(1.0)).dtype == np.float32
    with px.enable_x64(False):
        assert f(1.0).dtype == np.float32
        assert f(np.float64(1.0)).dtype == np.float32
        assert px.grad(f)(1.0).dtype == np.float32
    assert sorted(map(str, traced)).count("float64") == 1


def test_arrays_of_either_word_size_go_where_the_other_is_the_default():
    with px.enable_x64(True):
        wide = pnp.arange(3.0) * 1.0
        assert wide.dtype == np.float64
        closed = px.make_jaxpr(lambda x: 2.0 * x + 1)(wide)
        _, f_lin = px.linearize(px.jit(lambda x: x * x * 3.0), wide)
        _, pull = px.vjp(px.jit(lambda x: x * x * 3.0), wide)
        ones = pnp.ones(3)
    with px.enable_x64(False):
        for x in (lax.sin(wide), px.jit(lambda x: x * x)(wide), wide + wide, px.jit(lambda: wide)()):
            assert x.dtype == np.float64
        assert px.vmap(lax.sin)(wide).dtype == np.float64
        for out in (core.jaxpr_as_fun(closed)(wide)[0], px.jit(core.jaxpr_as_fun(closed))(wide)[0]):
            assert out.dtype == np.float64
            assert out.tolist() == [1.0, 3.0, 5.0]
        assert f_lin(ones).tolist() == pull(ones)[0].tolist() == [0.0, 6.0, 12.0]
        assert f_lin(ones).dtype == np.float64


def test_what_was_traced_with_small_words_runs_where_large_ones_are_the_default():
    x = np.arange(3.0, dtype=np.float32)
    with px.enable_x64(False):
        closed = px.make_jaxpr(lambda x: (2.0 * x + 1) * px.jit(lambda y: y * 3.0)(x))(x)
        _, f_lin = px.linearize(px.jit(lambda x: x * x * 3.0), x)
        _, pull = px.vjp(lambda x: x * x * 3.0, x)
    with px.enable_x64(True):
        for run in (core.jaxpr_as_fun(closed), px.jit(core.jaxpr_as_fun(closed))):
            (out,) = run(x)
            assert out.dtype == np.float32
            assert out.tolist() == [0.0, 9.0, 30.0]
        (slope,) = px.jvp(core.jaxpr_as_fun(closed), (x,), (np.ones_like(x),))[1]
        assert slope.dtype == np.float32
        assert slope.tolist() == [3.0, 15.0, 27.0]
        one = np.ones(3, np.float32)
        assert f_lin(one).dtype == pull(one)[0].dtype == np.float32
        assert f_lin(one).tolist() == pull(one)[0].tolist() == [0.0, 6.0, 12.0]
        core.check_jaxpr(closed)
