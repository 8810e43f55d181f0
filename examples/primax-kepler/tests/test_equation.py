"""The solution against 50-digit arithmetic, and its rules against finite differences and loops."""

from __future__ import annotations

import doctest
import importlib
from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from primax_kepler import kepler, kepler_p

import primax as px
import primax.numpy as pnp


def sine_and_cosine(x: Decimal) -> tuple[Decimal, Decimal]:
    """By their power series, in the current precision."""
    term, sums, n = Decimal(1), [Decimal(1), Decimal(0)], 0
    while n < abs(x) or abs(term) > Decimal("1e-52"):
        n += 1
        term *= x / n
        sums[n % 2] += term if n % 4 < 2 else -term
    return sums[1], sums[0]


def exact(M: float, e: float, guess: float) -> Decimal:
    """E by Newton's method in 50 digits, from a good guess."""
    E = Decimal(guess)
    for _ in range(6):
        sine, cosine = sine_and_cosine(E)
        slope = 1 - Decimal(e) * cosine
        if not slope:
            break
        E -= (E - Decimal(e) * sine - Decimal(M)) / slope
    return E


def units_in_the_last_place(M: np.ndarray, e: np.ndarray, E: np.ndarray) -> float:
    """The largest error of E."""
    worst = 0.0
    with localcontext(prec=60):
        for m, ecc, found in zip(M, e, E, strict=True):
            wanted = exact(float(m), float(ecc), float(found))
            unit = Decimal(float(np.spacing(np.abs(E.dtype.type(float(wanted))))))
            worst = max(worst, float(abs(Decimal(float(found)) - wanted) / unit))
    return worst


def sample(dtype: Any, count: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """Mean anomalies tiny and of many turns, with eccentricities up to the last below 1, and 1."""
    rng = np.random.default_rng(7)
    gap = np.finfo(dtype).epsneg
    e = np.concatenate(
        [
            rng.uniform(0, 1, count),
            1 - 10 ** rng.uniform(np.log10(gap), 0, count),
            np.repeat([0, 1 - gap, 1], 12),
        ]
    )
    M = np.concatenate(
        [
            rng.uniform(-np.pi, np.pi, len(e) // 3),
            10 ** rng.uniform(-25, 1, len(e) // 3),
            rng.uniform(-60, 60, len(e) - 2 * (len(e) // 3)),
        ]
    )
    return rng.permutation(M).astype(dtype), e.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_error_is_below_two_units_in_the_last_place(dtype: Any) -> None:
    M, e = sample(dtype)
    with px.enable_x64(dtype == np.float64):
        E = np.asarray(px.jit(kepler)(M, e))
    assert E.dtype == dtype
    assert units_in_the_last_place(M, e, E) < 2


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_halves_are_solved_in_single_precision(dtype: str) -> None:
    M = pnp.linspace(-9.0, 9.0, 37).astype(dtype)
    e = pnp.linspace(0.0, 0.99, 37).astype(dtype)
    E = kepler(M, e)
    assert E.dtype == M.dtype
    wanted = kepler(M.astype("float32"), e.astype("float32")).astype(dtype)
    np.testing.assert_array_equal(np.asarray(E, np.float32), np.asarray(wanted, np.float32))


@pytest.mark.parametrize("turns", [1, -3, 100_000])
def test_it_counts_turns_as_the_mean_anomaly_does(turns: int) -> None:
    with px.enable_x64(True):
        M = 0.75 + 2 * np.pi * turns
        assert float(kepler(M, 0.3)) - 2 * np.pi * turns == pytest.approx(float(kepler(0.75, 0.3)), abs=1e-9)


def test_it_is_odd_and_leaves_the_apsides_alone() -> None:
    M, e = pnp.linspace(0.0, 3.0, 13), pnp.array([0.0, 0.5, 1.0])
    np.testing.assert_array_equal(kepler(-M, 0.6), -kepler(M, 0.6))
    np.testing.assert_array_equal(kepler(pnp.zeros(3), e), np.zeros(3))
    np.testing.assert_allclose(kepler(np.pi, e), np.full(3, np.pi), rtol=2e-7)


@pytest.mark.parametrize("e", [-0.1, 1.01, float("nan"), float("inf")])
def test_there_is_no_ellipse_of_other_eccentricities(e: float) -> None:
    assert np.isnan(kepler(1.0, e))


@pytest.mark.parametrize("M", [float("nan"), float("inf")])
def test_there_is_no_anomaly_beyond_the_reals(M: float) -> None:
    assert np.isnan(kepler(M, 0.1))


@pytest.mark.parametrize("e_shape", [(), (3,)])
@pytest.mark.parametrize("M_shape", [(), (3,), (1,), (2, 1), (0, 3), (0, 1)])
def test_shapes_broadcast(M_shape: tuple[int, ...], e_shape: tuple[int, ...]) -> None:
    E = kepler(np.full(M_shape, 1.0), np.full(e_shape, 0.5))
    assert E.shape == np.broadcast_shapes(M_shape, e_shape)
    np.testing.assert_allclose(E, 1.498701, rtol=1e-6)


def test_dtypes_promote() -> None:
    assert kepler(1, 0).dtype == pnp.asarray(1.0).dtype
    assert kepler(pnp.zeros(2, "bfloat16"), 0.5).dtype == pnp.bfloat16
    assert kepler(pnp.zeros(2, "bfloat16"), pnp.zeros(2, "float32")).dtype == np.float32
    with px.enable_x64(True):
        assert kepler(np.float32(1), np.float64(0.5)).dtype == np.float64


def test_mistakes_are_named() -> None:
    with pytest.raises(TypeError, match=r"kepler: M and e must be real, got dtypes complex64 and float32"):
        kepler(pnp.zeros(2, "complex64"), pnp.zeros(2, "float32"))
    with pytest.raises((TypeError, ValueError), match="broadcast"):
        kepler(pnp.zeros(2), pnp.zeros(3))
    with pytest.raises(TypeError, match=r"one floating dtype, got f32\[2\] and i32\[2\]; .* promotes"):
        kepler_p.bind(pnp.zeros(2, "float32"), pnp.zeros(2, "int32"))
    with pytest.raises(TypeError, match=r"got shapes \(2,\) and \(3,\); primax_kepler.kepler broadcasts"):
        kepler_p.bind(pnp.zeros(2), pnp.zeros(3))


def test_a_jaxpr_has_one_equation() -> None:
    jaxpr = px.make_jaxpr(kepler)(np.float32(1), np.ones(3, np.float32) / 2).jaxpr
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["kepler"]


def test_the_documented_example_is_true() -> None:
    module = importlib.import_module("primax_kepler.equation")
    tested = doctest.testmod(module)
    assert (tested.attempted, tested.failed) == (1, 0)


def derivative(fun: Callable[[float], Any], x: float, step: float = 1e-4) -> float:
    """By central differences of fourth order."""
    near, far = fun(x + step) - fun(x - step), fun(x + 2 * step) - fun(x - 2 * step)
    return float(8 * near - far) / (12 * step)


@pytest.mark.parametrize(("M", "e"), [(0.7, 0.0), (0.01, 0.9), (2.5, 0.99), (-40.0, 0.3)])
def test_derivatives_agree_with_finite_differences(M: float, e: float) -> None:
    with px.enable_x64(True):
        by_M, by_e = px.grad(kepler, argnums=(0, 1))(M, e)
        assert float(by_M) == pytest.approx(derivative(lambda x: kepler(x, e), M), rel=1e-6)
        if e > 0:
            assert float(by_e) == pytest.approx(derivative(lambda x: kepler(M, x), e), rel=1e-6)
            hessian = px.hessian(kepler, argnums=(0, 1))(M, e)
            mixed = derivative(lambda x: px.grad(kepler)(M, x), e)
            assert float(hessian[0][1]) == pytest.approx(mixed, rel=1e-6)
            assert float(hessian[1][0]) == pytest.approx(mixed, rel=1e-6)


def test_the_derivative_stays_exact_near_a_parabolic_periapsis() -> None:
    e = np.float32(1) - np.finfo(np.float32).epsneg
    single = px.grad(kepler)(np.float32(1e-9), e)
    with px.enable_x64(True):
        double = px.grad(kepler)(np.float64(np.float32(1e-9)), np.float64(e))
    assert float(single) == pytest.approx(float(double), rel=1e-5)


def test_each_argument_may_be_the_only_active_one() -> None:
    M, e = np.float32(1.2), np.float32(0.4)
    both = px.jvp(kepler, (M, e), (np.float32(2), np.float32(3)))[1]
    first = px.jvp(lambda x: kepler(x, e), (M,), (np.float32(2),))[1]
    second = px.jvp(lambda x: kepler(M, x), (e,), (np.float32(3),))[1]
    assert float(both) == pytest.approx(float(first + second), rel=1e-6)


def test_the_gradient_of_a_shared_eccentricity_sums_over_the_anomalies() -> None:
    M = pnp.linspace(0.0, 6.0, 5)
    shared = px.grad(lambda e: pnp.sum(kepler(M, e)))(0.4)
    each = [float(px.grad(kepler, argnums=1)(m, 0.4)) for m in M]
    assert float(shared) == pytest.approx(sum(each), rel=1e-5)


@pytest.mark.parametrize("in_axes", [(0, 0), (0, None), (None, 0), (1, 0), (None, 1)])
def test_batches_agree_with_a_loop(in_axes: tuple[int | None, int | None]) -> None:
    rng = np.random.default_rng(1)
    M, e = rng.uniform(-5, 5, (3, 3)).astype(np.float32), rng.uniform(0, 1, (3, 3)).astype(np.float32)
    got = px.vmap(kepler, in_axes=in_axes)(M, e)
    rows = [
        kepler(*(x if axis is None else x.take(i, axis) for x, axis in zip((M, e), in_axes, strict=True)))
        for i in range(3)
    ]
    np.testing.assert_allclose(got, np.stack(rows), rtol=1e-6)


def test_transformations_compose() -> None:
    M, e = pnp.linspace(-3.0, 3.0, 7), pnp.linspace(0.1, 0.9, 7)
    slopes = np.array([float(px.grad(kepler)(m, ecc)) for m, ecc in zip(M, e, strict=True)])
    np.testing.assert_allclose(px.jit(px.vmap(px.grad(kepler)))(M, e), slopes, rtol=1e-5)
    np.testing.assert_allclose(px.grad(lambda m: pnp.sum(px.jit(kepler)(m, e)))(M), slopes, rtol=1e-5)
    np.testing.assert_allclose(pnp.diag(px.jacfwd(kepler)(M, e)), slopes, rtol=1e-5)
    np.testing.assert_allclose(pnp.diag(px.jacrev(kepler)(M, e)), slopes, rtol=1e-5)
