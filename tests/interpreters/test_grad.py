"""Derivatives of functions of pytrees: grad, value_and_grad and vjp."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.extend import core
from primax.extend.interpreters import ad


@px.jit
def outer_of_spec(x):
    y = x * 2.0
    return inner_of_spec(y)


@px.jit
def inner_of_spec(x):
    return lax.cos(x) * 2.0


def test_grad_through_nested_jit_has_the_value_of_the_spec():
    assert float(px.grad(outer_of_spec)(3.0)) == pytest.approx(1.1176619927957034, rel=1e-6)
    assert float(px.jit(px.grad(outer_of_spec))(3.0)) == pytest.approx(1.1176619927957034, rel=1e-6)


def test_derivatives_of_sine_to_the_fourth():
    g = lax.sin
    for expected in (-0.98999, -0.14112, 0.98999, 0.14112):
        g = px.grad(g)
        assert float(g(3.0)) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("argnums", [0, 1, (0, 1), (1, 0), -1, (0,)])
def test_argnums(argnums):
    found = px.grad(lambda x, y: x * x * y, argnums)(3.0, 5.0)
    each = {0: 30.0, 1: 9.0, -1: 9.0}
    if isinstance(argnums, tuple):
        assert tuple(map(float, found)) == tuple(each[i] for i in argnums)
    else:
        assert float(found) == each[argnums]


@pytest.mark.parametrize("transform", [px.grad, px.jacrev, px.jacfwd])
def test_a_position_may_be_an_integer_of_numpy(transform):
    def g(x, y):
        return x * x * y

    assert float(transform(g, np.int64(1))(3.0, 5.0)) == 9.0
    (found,) = transform(g, [np.int64(1)])(3.0, 5.0)
    assert float(found) == 9.0
    with pytest.raises(ValueError, match="argnums must be distinct"):
        transform(g, (1, -1))(3.0, 5.0)
    for error in (TypeError, ValueError):
        with pytest.raises(error, match="argnums must be positions of the arguments, got 2"):
            transform(g, 2)(3.0, 5.0)


def test_auxiliary_output_may_come_in_a_list():
    found, aux = px.grad(lambda x: [x * x, x], has_aux=True)(3.0)
    assert (float(found), float(aux)) == (6.0, 3.0)


def test_has_aux_and_value_and_grad():
    def g(x):
        return x * x, {"doubled": 2.0 * x}

    gradient, aux = px.grad(g, has_aux=True)(3.0)
    assert (float(gradient), float(aux["doubled"])) == (6.0, 6.0)
    (value, aux), gradient = px.value_and_grad(g, has_aux=True)(3.0)
    assert (float(value), float(aux["doubled"]), float(gradient)) == (9.0, 6.0, 6.0)
    assert not isinstance(aux["doubled"], core.Tracer)


def test_pytree_arguments_and_keywords():
    def g(params, *, scale):
        return scale * (params["w"] * params["w"]).sum() + params["b"][0]

    found = px.grad(g)({"w": np.arange(3.0, dtype=np.float32), "b": (np.float32(1.0),)}, scale=2.0)
    assert found["w"].tolist() == [0.0, 4.0, 8.0]
    assert float(found["b"][0]) == 1.0


@pytest.mark.parametrize(
    ("fun", "arg", "kwargs", "message"),
    [
        (lambda x: x, np.ones(3, np.float32), {}, r"must return a scalar, got f32\[3\]; use jacrev"),
        (lambda x: x, 1, {}, r"must be floating or complex, got i\d+\[\]; convert it"),
        (lambda x: x * 1j, 1.0, {}, r"must return a real number, got c\d+\[\]; use holomorphic"),
        (lambda x: (x, x), 1.0, {}, r"must return a scalar, got a result of structure .*has_aux"),
        (lambda x: lax.sign(x) > 0, 1.0, {}, r"must return a floating number, got bool\[\]"),
        (lambda x: x, 1.0, {"holomorphic": True}, r"the inputs must be complex, got"),
        (lambda x: x, 1.0, {"has_aux": True}, r"must return a pair \(result, aux\)"),
    ],
)
def test_what_grad_refuses_says_what_to_use(fun, arg, kwargs, message):
    with pytest.raises(TypeError, match=message):
        px.grad(fun, **kwargs)(arg)


def test_grad_refuses_an_argument_position_that_is_not_there():
    with pytest.raises(TypeError, match=r"got 2 for a call of .* with 1 positional"):
        px.grad(lambda x: x, 2)(1.0)


def test_allow_int_gives_float0():
    found = px.grad(lambda i, x: x * i, (0, 1), allow_int=True)(3, 2.0)
    assert found[0].dtype == px.float0
    assert float(found[1]) == 3.0


def test_holomorphic():
    found = px.grad(lambda z: z * z, holomorphic=True)(1.0 + 2.0j)
    assert complex(found) == 2.0 + 4.0j


def test_the_gradient_of_a_complex_argument_follows_jax():
    jax = pytest.importorskip("jax")
    z = np.complex64(1.5 - 0.5j)

    def g(lib):
        return lambda z: lib.sin(z).real + (z * lib.conj(z)).real * lib.cos(z).imag

    want = jax.grad(g(jax.numpy))(z)
    found = px.grad(g(pnp))(z)
    np.testing.assert_allclose(complex(found), complex(want), rtol=1e-5)


def test_vjp_pulls_back_pytrees_and_may_be_called_again():
    out, pull = px.vjp(lambda d: {"y": d["a"] * d["b"]}, {"a": 2.0, "b": 3.0})
    assert float(out["y"]) == 6.0
    for _ in range(2):
        (found,) = pull({"y": 1.0})
        assert (float(found["a"]), float(found["b"])) == (3.0, 2.0)


@pytest.mark.parametrize(
    ("ct", "message"),
    [
        ((1.0, 1.0), "must have the structure of the function's result"),
        (np.ones(2, np.float32), r"must be of type"),
    ],
)
def test_vjp_refuses_a_wrong_cotangent(ct, message):
    _, pull = px.vjp(lambda x: x * x, 2.0)
    with pytest.raises(TypeError, match=message):
        pull(ct)


def test_overriding_a_jvp_changes_grad_too():
    p = core.Primitive("overridden")
    p.def_impl(lambda x: x)
    p.def_abstract_eval(lambda x: x)
    ad.primitive_jvps[p] = lambda xs, ts: (p.bind(*xs), ts[0] * 2.0)
    assert float(px.grad(p.bind)(1.0)) == 2.0
    jitted = px.jit(px.grad(px.jit(p.bind)))
    assert float(jitted(1.0)) == 2.0
    ad.primitive_jvps[p] = lambda xs, ts: (p.bind(*xs), ts[0] * 5.0)
    assert float(px.jvp(p.bind, (1.0,), (1.0,))[1]) == 5.0
    assert float(px.grad(p.bind)(1.0)) == 5.0


def test_unused_arguments_have_zero_gradients():
    found = px.grad(lambda x, y: x * 2.0, (0, 1))(1.0, np.float32(3.0))
    assert tuple(map(float, found)) == (2.0, 0.0)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (3,)])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_gradients_of_any_shape_and_floating_dtype(shape, dtype):
    x = pnp.ones(shape, dtype)
    found = px.grad(lambda x: (x * x).sum())(x)
    assert (found.shape, found.dtype) == (x.shape, x.dtype)
    np.testing.assert_array_equal(np.asarray(found, np.float32), np.full(shape, 2.0))


@pytest.mark.parametrize("cotangent", [np.zeros((), px.dtypes.float0), False, 0, 1.5])
def test_cotangents_of_integer_results_are_not_looked_at(cotangent):
    _, pull = px.vjp(lambda x, i: (x * i, i), 2.0, np.int32(3))
    found, nothing = pull((1.0, cotangent))
    assert found == 3.0
    assert nothing.dtype == px.dtypes.float0
    with pytest.raises(TypeError, match=r"must be of type float0\[\], got f32\[2\]"):
        pull((1.0, np.zeros(2, np.float32)))


@pytest.mark.parametrize(
    "transform",
    [
        px.jit,
        px.grad,
        px.value_and_grad,
        px.vmap,
        px.jacfwd,
        px.jacrev,
        lambda f: px.jvp(f, (1.0,), (1.0,)),
        lambda f: px.vjp(f, 1.0),
        lambda f: px.linearize(f, 1.0),
        lambda f: px.eval_shape(f, 1.0),
        lambda f: px.linear_transpose(f, 1.0),
    ],
)
def test_transformations_refuse_what_returns_no_arrays(transform):
    def elements(x):
        yield x

    with pytest.raises(TypeError, match="fun must return arrays, got the generator function"):
        transform(elements)
    with pytest.raises(TypeError, match="fun must be a function, got <staticmethod"):
        transform(staticmethod(lambda x: x))
    with pytest.raises(TypeError, match="fun must be callable, got <property"):
        transform(property(lambda self: 1))


@pytest.mark.parametrize(
    "argnums, args, named",
    [
        (1, (1.0, "x"), r"argument\[1\] must"),
        (-1, (1.0, {"k": "x"}), r"argument\[1\]\['k'\]"),
        ((1, 0), ("x", 1.0), r"argument\[0\] "),
    ],
)
def test_an_argument_that_is_no_array_is_named_by_its_position_in_the_call(argnums, args, named):
    for transformation in (px.grad, px.jacfwd, px.jacrev):
        with pytest.raises(TypeError, match=named):
            transformation(lambda a, b: a, argnums=argnums)(*args)
