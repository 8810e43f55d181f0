"""Operations that a compiler may know by name, closed calls, and small names of px.lax."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.extend import core
from primax.extend.core import primitives


def test_a_composite_is_one_operation_with_its_decomposition():
    f = lax.composite(lambda x, *, by: pnp.sin(x) * by, name="my.scaled_sine", version=2)
    assert float(f(1.0, by=3.0)) == pytest.approx(3.0 * np.sin(1.0))
    lowered = px.jit(lambda x: f(x, by=3.0)).lower(1.0).as_text()
    assert 'stablehlo.composite "my.scaled_sine"' in lowered
    assert "decomposition = @my.scaled_sine, version = 2" in lowered
    assert float(px.jit(lambda x: f(x, by=3.0))(1.0)) == pytest.approx(3.0 * np.sin(1.0))


@pytest.mark.parametrize("by", [2, 2.0, True, "text", (1, 2.0), [1, 2], np.float32(2), np.arange(3)])
def test_attributes_of_composites_are_constants(by):
    f = lax.composite(lambda x, *, by: x, name="my.same")
    assert float(px.jit(lambda x: f(x, by=by))(2.0)) == 2.0


def test_composites_are_neither_differentiated_nor_mapped_but_custom_rules_around_them_are():
    f = lax.composite(lambda x: x * x, name="my.square")
    with pytest.raises(core.MissingRuleError, match=r"composite .* does not support jvp: a compiler may replace"):
        px.grad(f)(2.0)
    with pytest.raises(core.MissingRuleError, match="does not support batch"):
        px.vmap(f)(pnp.ones(2))
    g = px.custom_jvp(f)
    g.defjvps(lambda t, out, x: 2 * x * t)
    assert float(px.jit(px.grad(g))(3.0)) == 6.0


def test_composites_refuse_what_they_cannot_hold():
    with pytest.raises(TypeError, match="name must be a string that is not empty, got ''"):
        lax.composite(lambda x: x, name="")
    with pytest.raises(TypeError, match="attribute by must be a number, a string, an array or a sequence"):
        lax.composite(lambda x, *, by: x, name="a")(1.0, by=object())
    with pytest.raises(core.UnexpectedTracerError, match="attribute by must be a known value"):
        px.jit(lambda x: lax.composite(lambda x, *, by: x, name="a")(1.0, by=x))(1.0)
    with pytest.raises(core.UnexpectedTracerError, match="must not close over values that are traced"):
        px.jit(lambda x: lax.composite(lambda y: x + y, name="a")(1.0))(1.0)


@pytest.mark.parametrize("primitive", ["call_p", "closed_call_p"])
def test_closed_calls_have_all_rules(primitive):
    closed = px.make_jaxpr(pnp.sin)(1.0)
    call = getattr(primitives, primitive)

    def f(x):
        return call.bind(x, call_jaxpr=closed)[0]

    assert float(px.jit(f)(1.0)) == pytest.approx(np.sin(1.0))
    assert float(px.grad(f)(1.0)) == pytest.approx(np.cos(1.0))
    np.testing.assert_allclose(px.vmap(px.grad(f))(pnp.arange(3.0)), np.cos(np.arange(3.0)), rtol=1e-6)
    (eqn,) = px.make_jaxpr(f)(1.0).eqns
    assert eqn.primitive is call


@pytest.mark.parametrize("name", ["remat_p", "scatter_add_p", "scatter_max_p", "scatter_mul_p", "add_jaxvals_p"])
def test_primitives_are_found_under_the_variables_of_jax(name):
    assert isinstance(getattr(primitives, name), core.Primitive)
    assert primitives.scatter_add_p.name == "scatter-add"


def test_floats_are_compared_in_a_total_order():
    values = np.array([-np.nan, -np.inf, -1.0, -0.0, 0.0, 1.0, np.inf, np.nan], np.float32)
    values[0] = np.copysign(np.float32(np.nan), np.float32(-1))
    below = np.arange(8)[:, None] < np.arange(8)
    x, y = np.broadcast_to(values[:, None], (8, 8)), np.broadcast_to(values, (8, 8))
    np.testing.assert_array_equal(lax.lt_to(x, y), below)
    np.testing.assert_array_equal(lax.eq_to(x, y), np.eye(8, dtype=bool))
    np.testing.assert_array_equal(lax.le_to(x, y), below | np.eye(8, dtype=bool))
    assert bool(lax.lt_to(1, 2))
    with pytest.raises(TypeError):
        lax.lt_to(1j, 2j)


def test_logarithms_squares_and_polynomials():
    assert float(lax.log2(8.0)) == pytest.approx(3.0)
    assert float(px.grad(lax.log2)(2.0)) == pytest.approx(1 / (2 * np.log(2)))
    assert float(lax.one_minus_square(0.5)) == 0.75
    assert float(px.grad(lax.one_minus_square)(0.5)) == -1.0
    assert lax.polynomial(pnp.arange(3.0), [3.0, 2.0, 1.0]).tolist() == [3.0, 6.0, 11.0]
    assert lax.polynomial(pnp.arange(3.0), [5]).tolist() == [5.0, 5.0, 5.0]
    assert float(px.grad(lambda x: lax.polynomial(x, [3.0, 2.0, 1.0]))(2.0)) == 6.0
    assert float(lax.polynomial(1.0, [])) == 0.0


def test_values_are_staged():
    assert lax.stage(1.0).weak_type
    assert px.make_jaxpr(lax.stage)(1.0).eqns == []
    with pytest.raises(TypeError, match="stage: x must be an array or a number"):
        lax.stage("a")


def test_algorithms_of_products_are_given_part_by_part():
    x = np.ones((2, 2), np.float32)
    algorithm = lax.DotAlgorithm(np.float32, np.float32, np.float32)
    assert lax.dot(x, x, precision=algorithm).tolist() == [[2.0, 2.0], [2.0, 2.0]]
    (eqn,) = px.make_jaxpr(lambda x: lax.dot(x, x, precision=algorithm))(x).eqns
    assert eqn.params["precision"] is lax.DotAlgorithmPreset.F32_F32_F32
    with pytest.raises(ValueError, match="precision must be the algorithm of a DotAlgorithmPreset"):
        lax.dot(x, x, precision=lax.DotAlgorithm(np.float32, np.float16, np.float32))
