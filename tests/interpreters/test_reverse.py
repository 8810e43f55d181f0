"""Reverse mode: linearize, vjp, grad, linear_transpose."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from heap import freeze_heap

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


@px.jit
def linearized_of_spec(x):
    y = lax.sin(x) * 2.0
    return second_of_spec(x, y)


@px.jit
def second_of_spec(x, y):
    return lax.cos(x) + y


def test_grad_through_nested_jit_has_the_value_of_the_spec():
    assert float(px.grad(outer_of_spec)(3.0)) == pytest.approx(1.1176619927957034, rel=1e-6)
    assert float(px.jit(px.grad(outer_of_spec))(3.0)) == pytest.approx(1.1176619927957034, rel=1e-6)


def test_linearize_through_nested_jit_has_the_values_of_the_spec():
    y, f_lin = px.linearize(linearized_of_spec, 3.0)
    assert float(y) == pytest.approx(-0.7077524804807109, rel=1e-6)
    assert float(f_lin(1.0)) == pytest.approx(-2.121105001260758, rel=1e-6)


def test_derivatives_of_sine_to_the_fourth():
    g = lax.sin
    for expected in (-0.98999, -0.14112, 0.98999, 0.14112):
        g = px.grad(g)
        assert float(g(3.0)) == pytest.approx(expected, abs=1e-5)


def test_f_lin_evaluates_no_nonlinear_work_again():
    calls = []
    p = core.Primitive("costly")
    p.def_abstract_eval(lambda x: x)

    @p.def_impl
    def impl(x):
        calls.append("costly")
        return x * x

    ad.primitive_jvps[p] = lambda xs, ts: (p.bind(xs[0]), ts[0] * (2.0 * xs[0]))
    _, f_lin = px.linearize(lambda x: p.bind(x) * p.bind(x), pnp.float32(3.0))
    assert len(calls) == 2
    f_lin(np.float32(1.0))
    f_lin(np.float32(2.0))
    assert len(calls) == 2
    _, pull = px.vjp(p.bind, pnp.float32(3.0))
    pull(np.float32(1.0))
    pull(np.float32(1.0))
    assert len(calls) == 3


def test_the_linear_part_of_a_jitted_function_holds_only_linear_equations():
    @px.jit
    def g(x):
        return lax.sin(lax.exp(x)) * x

    jaxpr = px.make_jaxpr(lambda x, t: px.linearize(g, x)[1](t))(1.0, 1.0)
    linear = [eqn for eqn in jaxpr.eqns if eqn.primitive.name == "jit"][-1]
    names = {eqn.primitive.name for eqn in linear.params["jaxpr"].eqns}
    assert not names & {"sin", "cos", "exp"}


def test_python_control_flow_works_under_grad_vjp_and_linearize():
    def g(x):
        return lax.sin(x) if x > 0 else x * x

    assert float(px.grad(g)(3.0)) == pytest.approx(np.cos(3.0), rel=1e-6)
    assert float(px.grad(g)(-3.0)) == -6.0
    assert float(px.vjp(g, -3.0)[1](1.0)[0]) == -6.0
    assert float(px.linearize(g, -3.0)[1](1.0)) == -6.0


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


@pytest.mark.parametrize(
    "derive",
    [
        lambda f, x: px.grad(f)(x),
        lambda f, x: px.vjp(f, x)[1](1.0),
        lambda f, x: px.linearize(f, x)[1](x),
        lambda f, x: px.jacrev(f)(x),
        lambda f, x: px.linear_transpose(lambda y: 2.0 * y, x)(x),
    ],
    ids=["grad", "vjp", "linearize", "jacrev", "linear_transpose"],
)
def test_derivatives_leave_nothing_for_the_garbage_collector(derive):
    def f(x):
        return (lax.sin(x) * x).sum()

    x = px.numpy.ones(3)
    derive(f, x)  # compiles
    freeze_heap()
    gc.disable()
    try:
        derive(f, x)
        assert [each for each in gc.get_objects() if issubclass(type(each), core.Trace | core.Tracer)] == []
    finally:
        gc.enable()


def test_transposes_pass_in_and_out_of_jitted_functions():
    transpose = px.jit(lambda x: px.linear_transpose(lambda y: 2.0 * y, x))(1.0)
    (found,) = px.jit(lambda f, x: f(x))(transpose, 3.0)
    assert float(found) == 6.0


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


def test_f_lin_refuses_wrong_tangents():
    _, f_lin = px.linearize(lambda x: x * x, 2.0)
    with pytest.raises(TypeError, match="tangents must be of type"):
        f_lin(np.ones(3, np.float32))
    with pytest.raises(TypeError, match="structure"):
        f_lin(1.0, 1.0)


def test_f_lin_and_pullbacks_can_be_transformed():
    _, f_lin = px.linearize(lambda x: lax.sin(x) * x, np.float32(2.0))
    slope = np.sin(2.0) + 2.0 * np.cos(2.0)
    np.testing.assert_allclose(px.vmap(f_lin)(np.arange(3.0, dtype=np.float32)), np.arange(3) * slope, rtol=1e-5)
    np.testing.assert_allclose(px.jit(f_lin)(np.float32(1.0)), slope, rtol=1e-5)
    np.testing.assert_allclose(px.grad(f_lin)(np.float32(1.0)), slope, rtol=1e-5)
    _, pull = px.vjp(lambda x: lax.sin(x) * x, np.float32(2.0))
    np.testing.assert_allclose(px.jit(pull)(np.float32(1.0))[0], slope, rtol=1e-5)


def test_linear_transpose():
    f_t = px.linear_transpose(lambda x, y: (2.0 * x - y, y), np.ones(2, np.float32), np.ones(2, np.float32))
    x, y = f_t((np.array([1.0, 2.0], np.float32), np.array([10.0, 20.0], np.float32)))
    assert x.tolist() == [2.0, 4.0]
    assert y.tolist() == [9.0, 18.0]


def test_linear_transpose_refuses_what_is_not_linear():
    with pytest.raises(px.errors.MissingRuleError, match="no transpose rule for primitive 'sin'"):
        px.linear_transpose(lax.sin, 1.0)(1.0)
    with pytest.raises(TypeError, match="primals must be numbers, got key"):
        px.linear_transpose(lambda x: x, px.random.key(0))


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


@pytest.mark.parametrize("transposed", ["shape", "count"])
def test_a_wrong_transpose_rule_is_refused_by_name(transposed):
    p = core.Primitive(f"wrongly_{transposed}")
    p.def_impl(lambda x: x)
    p.def_abstract_eval(lambda x: x)
    ad.primitive_jvps[p] = ad.linear_jvp(p)
    returned = {"shape": [np.ones(7, np.float32)], "count": [None, None]}[transposed]
    ad.primitive_transposes[p] = lambda ct, x: returned
    with pytest.raises(px.errors.RuleError, match=f"the transpose rule of wrongly_{transposed}"):
        px.grad(lambda x: p.bind(x).sum())(np.ones(3, np.float32))


def test_unused_arguments_have_zero_gradients():
    found = px.grad(lambda x, y: x * 2.0, (0, 1))(1.0, np.float32(3.0))
    assert tuple(map(float, found)) == (2.0, 0.0)


def test_jacobians_and_hessian():
    x = np.arange(3.0, dtype=np.float32)
    want = np.diag(np.cos(x))
    np.testing.assert_allclose(px.jacfwd(lax.sin)(x), want, rtol=1e-6)
    np.testing.assert_allclose(px.jacrev(lax.sin)(x), want, rtol=1e-6)
    hessian = px.hessian(lambda x: (lax.sin(x) * x).sum())(x)
    np.testing.assert_allclose(hessian, np.diag(2 * np.cos(x) - x * np.sin(x)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("jacobian", [px.jacfwd, px.jacrev])
def test_jacobians_of_pytrees(jacobian):
    jax = pytest.importorskip("jax")

    def g(d, y):
        return {"p": d["a"] * y, "q": (d["a"] * d["b"]).sum()}

    point = {"a": np.ones((2, 3), np.float32), "b": np.full((2, 3), 2.0, np.float32)}
    y = np.float32(3.0)
    want = jax.jacrev(g, argnums=(0, 1))(point, y)
    found = jacobian(g, argnums=(0, 1))(point, y)
    assert px.tree.structure(found) == px.tree.structure(px.tree.map(np.asarray, want))
    for a, b in zip(px.tree.leaves(found), px.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


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


def test_linearize_drops_operations_that_no_output_needs() -> None:
    @px.custom_vjp
    def twice(x):
        return x * 2

    twice.defvjp(lambda x: (twice(x), None), lambda _, g: (g * 2,))

    def fun(x):
        twice(x)  # it has no forward-mode derivative
        lax.cos(lax.sin(x))
        return x * 3

    _, f_lin = px.linearize(fun, 2.0)
    assert float(f_lin(1.0)) == 3.0
    assert len(px.make_jaxpr(f_lin)(1.0).eqns) == 1
    assert float(px.jit(lambda x: px.linearize(fun, x)[1](1.0))(2.0)) == 3.0
    _, f_lin = px.linearize(twice, 2.0)
    with pytest.raises(TypeError, match="no forward-mode derivative"):
        f_lin(1.0)


def test_linearize_keeps_unused_operations_with_effects() -> None:
    seen = []

    @px.custom_jvp
    def watched(x):
        return x

    @watched.defjvp
    def watched_jvp(primals, tangents):
        px.debug.callback(lambda t: seen.append(float(t)), tangents[0])
        return primals[0], tangents[0]

    def fun(x):
        watched(x)
        return x * 3

    _, f_lin = px.linearize(fun, 2.0)
    assert float(f_lin(5.0)) == 3.0 * 5.0
    px.effects_barrier()
    assert seen == [5.0]
