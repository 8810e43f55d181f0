"""Linearization at a point: values, tapes, and the functions that `linearize` returns."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.extend import core
from primax.extend.interpreters import ad


@px.jit
def linearized_of_spec(x):
    y = lax.sin(x) * 2.0
    return second_of_spec(x, y)


@px.jit
def second_of_spec(x, y):
    return lax.cos(x) + y


def test_linearize_through_nested_jit_has_the_values_of_the_spec():
    y, f_lin = px.linearize(linearized_of_spec, 3.0)
    assert float(y) == pytest.approx(-0.7077524804807109, rel=1e-6)
    assert float(f_lin(1.0)) == pytest.approx(-2.121105001260758, rel=1e-6)


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
    text = rf"forward-mode autodiff \(jvp\) to a custom_vjp .* no forward-mode .*twice is called at {__file__}"
    with pytest.raises(TypeError, match=text) as refusal:
        f_lin(1.0)
    assert not hasattr(refusal.value, "__notes__")


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
