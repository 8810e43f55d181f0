"""Dimensions follow values, and programs in which they do not agree cannot be traced."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import primax_units as units
import pytest
from primax_units import DimensionError, K, Quantity, grad, kg, m, quantity, s

import primax as px
import primax.numpy as pnp
from primax import lax

T, G = quantity(2.0, s), quantity(10.0, m / s**2)
TIMES = quantity(np.arange(3, dtype=np.float32), s)


def fallen(t: Any, g: Any) -> Any:
    return 0.5 * g * t**2


def shown(x: Any) -> tuple[float, str]:
    return float(x.magnitude), str(x.dimension)


def test_dimensions_multiply_and_print() -> None:
    assert m * s / s == m
    assert (m**2) ** Fraction(1, 2) == m
    assert str(kg * m / s**2) == "kg m s^-2"
    assert str(m / m) == "no unit"
    assert repr(G) == "Quantity(10.0, m s^-2)"


@pytest.mark.parametrize("wrap", [lambda f: f, px.jit])
def test_dimensions_follow_values(wrap: Any) -> None:
    assert shown(wrap(fallen)(T, G)) == (20.0, "m")
    assert shown(wrap(lambda t: -(t + t) / 4)(T)) == (-1.0, "s")
    assert shown(wrap(lambda t: 1 / t)(T)) == (0.5, "s^-1")
    assert shown(wrap(units.sqrt)(G * G)) == (10.0, "m s^-2")
    assert shown(wrap(units.sqrt)(quantity(4.0, m))) == (2.0, "m^1/2")
    assert shown(wrap(lambda t: units.sum(units.square(t)))(TIMES)) == (5.0, "s^2")
    assert shown(wrap(lambda t: units.dot(t, t))(TIMES)) == (5.0, "s^2")
    assert shown(wrap(lambda t, u: units.where(t > u, t, u))(T, TIMES[1])) == (2.0, "s")
    assert shown(wrap(lambda t: units.stack([t, t])[1])(T)) == (2.0, "s")
    np.testing.assert_allclose(wrap(lambda t: units.sin(t / t))(T), np.sin(1.0), rtol=1e-6)
    assert isinstance(wrap(lambda t: t / t)(T), px.Array)


@pytest.mark.parametrize("wrap", [lambda f: f, px.jit, lambda f: px.vmap(f, axis_size=2)])
def test_an_error_names_both_dimensions(wrap: Any) -> None:
    with pytest.raises(DimensionError, match=r"add: dimensions must agree, got m and s$"):
        wrap(lambda: fallen(T, G) + T)()
    with pytest.raises(DimensionError, match=r"subtract: dimensions must agree, got no unit and s"):
        wrap(lambda: 1.0 - T)()
    with pytest.raises(DimensionError, match=r"lt: dimensions must agree, got s and m s\^-2"):
        wrap(lambda: T < G)()
    with pytest.raises(DimensionError, match="sin: the argument must have no unit, got s"):
        wrap(lambda: units.sin(T))()
    with pytest.raises(DimensionError, match=r"pow: the exponent must be an int or a Fraction, got 0\.5"):
        wrap(lambda: T**0.5)()


@pytest.mark.parametrize("wrap", [lambda f: f, px.jit, px.checkpoint])
def test_derivatives_have_the_dimension_of_a_quotient(wrap: Any) -> None:
    assert shown(grad(wrap(fallen))(T, G)) == (20.0, "m s^-1")
    assert shown(grad(grad(wrap(fallen)))(T, G)) == (10.0, "m s^-2")
    assert shown(grad(grad(wrap(fallen), 1))(T, G)) == (2.0, "s")


def test_tangents_are_plain_arrays() -> None:
    value, tangent = px.jvp(lambda t: fallen(t, G), (T,), (np.float32(1),))
    assert shown(value) == (20.0, "m")
    assert float(tangent) == 20.0
    assert float(px.grad(lambda t: fallen(t, G).magnitude)(T)) == 20.0
    with pytest.raises(TypeError, match=r"must return a scalar, got f32\[\]<m>"):
        px.grad(fallen)(T, G)


def test_quantities_are_mapped_and_carried() -> None:
    np.testing.assert_allclose(px.vmap(fallen, (0, None))(TIMES, G).magnitude, [0, 5, 20])
    slopes = px.vmap(grad(fallen), (0, None))(TIMES, G)
    assert str(slopes.dimension) == "m s^-1"
    total, ways = lax.scan(lambda c, t: (c + fallen(t, G), fallen(t, G)), quantity(0.0, m), TIMES)
    assert shown(total) == (25.0, "m")
    assert isinstance(ways, Quantity)
    assert shown(lax.while_loop(lambda t: t < quantity(5.0, s), lambda t: t + T, T)) == (6.0, "s")
    with pytest.raises(TypeError, match=r"init is f32\[\]<s>, the carry that f returns is f32\[\]<s\^2>"):
        lax.scan(lambda c, t: (c * t, None), T, TIMES)
    with pytest.raises(TypeError, match=r"true_fun is f32\[\]<s>, false_fun is f32\[\]<m s\^-2>"):
        lax.cond(T > T, lambda: T, lambda: G)


def test_programs_take_and_return_them() -> None:
    assert "a:f32[]<s>" in str(px.make_jaxpr(fallen)(T, G))
    assert shown(px.export.export(px.jit(fallen))(T, G).call(T, G)) == (20.0, "m")
    assert [shown(t) for t in TIMES] == [(0.0, "s"), (1.0, "s"), (2.0, "s")]
    assert shown(px.tree.map(lambda x: 2 * x, {"t": T})["t"]) == (4.0, "s")
    assert float(quantity(300.0, K) / quantity(100.0, K)) == 3.0


def test_other_functions_name_the_type_and_its_package() -> None:
    with pytest.raises(TypeError, match=r"sin: .* of type f32\[\]<s>; the package of QuantityType, primax_units"):
        pnp.sin(T)
