"""px.scipy.special where functions have poles, limits and no values, against scipy.special."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np
import pytest
from parts import computed

import primax as px
from primax.scipy import special

scipy_special = pytest.importorskip("scipy.special")
jax = pytest.importorskip("jax")

pytestmark = [pytest.mark.usefixtures("in_32_bits"), pytest.mark.any_release]

NAN, INF = np.nan, np.inf
POINTS = np.array(
    [NAN, -INF, INF, -0.0, 0.0, 1.0, 0.5, -0.5, -1.0, -2.0, -2.5, 10.0, 30.0, -30.0, 1e5, 1e-10, 8.0, -8.0]
)
SMALLER = (NAN, 0.0, 1.0, 0.5, 2.0, 10.0, 100.0, 1e5, 3.0)
WITH_POLES = (*SMALLER, -0.5, -1.0, -2.0, -1.5)
UNARY = (
    *("digamma", "entr", "erf", "erfc", "erfinv", "expit", "factorial", "gamma", "gammasgn", "i0", "i0e", "i1", "i1e"),
    *("log_ndtr", "logit", "ndtr", "ndtri"),
)
BINARY = {
    **dict.fromkeys(("kl_div", "rel_entr", "xlog1py", "xlogy"), (*WITH_POLES, INF, -INF)),
    **dict.fromkeys(("boxcox", "boxcox1p", "gammainc", "gammaincc"), WITH_POLES),
    "comb": (0.0, 1.0, 0.5, 2.0, 10.0, 100.0, 1e5, 3.0, -1.0, -2.0, -1.5, NAN),
    "beta": (*SMALLER[1:], -0.5, -1.5, -1.0, -2.0, -3.0, -INF),
    "betaln": (*SMALLER[1:], -0.5, -1.0, -2.0, -1.5),
    "poch": (*SMALLER[1:], -0.5, -1.0, -2.0, -1.5),
    "zeta": WITH_POLES[1:],
}


def grid(*axes: Any) -> list[np.ndarray]:
    return [np.array(column) for column in zip(*itertools.product(*axes), strict=True)]


def test_special_values_are_those_of_scipy():
    calls = {name: [POINTS] for name in UNARY} | {name: grid(axis, axis) for name, axis in BINARY.items()}
    calls["betainc"] = grid((NAN, 0.0, 0.5, 1.0, 2.0, -1.0, 1e3), (0.5, 2.0, INF), (NAN, 0.0, 1.0, 0.3, -0.1, 1.1))
    with px.enable_x64(True):
        results = computed({name: partial(getattr(special, name), *args) for name, args in calls.items()})
    for name, args in calls.items():
        with np.errstate(all="ignore"):
            want = getattr(scipy_special, name)(*args)
        if name in ("i0", "i1"):
            want[1:3] = [INF if name == "i0" else -INF, INF]  # SciPy has NaN
        np.testing.assert_allclose(results[name], want, rtol=1e-8, atol=1e-14, err_msg=name)


# Where terms overflow, cancel, or pass on the errors of others.
HARD = {
    "i0": ([90.5, 91.5, -91.5, 712.0, 713.9], lambda mp, x: mp.besseli(0, x)),
    "i1": ([90.5, 91.5, -91.5, 712.0, 713.9], lambda mp, x: mp.besseli(1, x)),
    "ndtr": ([-0.9, -1.1, -12.0, -31.62, -37.0], lambda mp, x: mp.erfc(-x / mp.sqrt(2)) / 2),
    "log_ndtr": ([-0.9, -1.1, -12.0, -20.0, -40.0, -300.0], lambda mp, x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)),
    "erfcx": ([-3.3, -9.1, -26.1, 0.5, 20.0, 40.0], lambda mp, x: mp.exp(x * x) * mp.erfc(x)),
    "dawsn": ([0.1, 2.4, 2.6, 8.0, 29.0], lambda mp, x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_and_derivatives_keep_their_digits_where_terms_overflow_or_cancel(dtype):
    mp = pytest.importorskip("mpmath").mp
    info = np.finfo(dtype)

    def derivatives(function):
        slope = px.vmap(px.grad(function))
        return lambda x: [function(x), slope(x), px.vmap(px.grad(px.grad(function)))(x)]

    with px.enable_x64(dtype == "float64"), mp.workdps(40):
        points = {name: np.array(xs, dtype) for name, (xs, _) in HARD.items()}
        got = px.jit(lambda points: {f: derivatives(getattr(special, f))(x) for f, x in points.items()})(points)
        for name, (_, exact) in HARD.items():
            for order, values in enumerate(got[name]):
                want = [mp.diff(lambda x, f=exact: f(mp, x), mp.mpf(float(x)), order) for x in points[name]]
                for x, value, number in zip(points[name], values, want, strict=True):
                    if info.tiny < abs(number) < info.max:
                        error = abs(mp.mpf(float(value)) / number - 1) / info.eps
                        assert error < 80, f"{name}, order {order}, at {x}: {value}, not {mp.nstr(number, 17)}"


def test_ndtri_and_erfcinv_keep_their_digits_in_the_tails():
    with px.enable_x64(True):
        p = np.array([1e-3, 1e-40, 1e-86, 1e-200, 1e-300])
        np.testing.assert_allclose(special.ndtri(p), scipy_special.ndtri(p), rtol=4e-15)
        np.testing.assert_allclose(special.erfcinv(p), scipy_special.erfcinv(p), rtol=4e-15)
        x = scipy_special.ndtri(p[:4])
        slopes = np.exp(0.5 * x * x) * np.sqrt(2 * np.pi)
        np.testing.assert_allclose(px.vmap(px.grad(special.ndtri))(p[:4]), slopes, rtol=1e-12)
    assert np.isnan(special.ndtri(np.float32([-1e-9, 1.1]))).all()


def test_polygamma_has_the_poles_and_limits_of_scipy():
    n, x = grid((0, 1, 2, 3), (NAN, INF, -0.0, 0.0, 1.0, 0.5, -1.0, -2.5, 10.0))
    with px.enable_x64(True):
        got = special.polygamma(n.astype(np.int32), x)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(got, scipy_special.polygamma(n.astype(int), x), rtol=1e-8)


def test_large_arguments_do_not_cancel_out_in_single_precision():
    for name, args in {
        "betaln": ([1e5, 1e5, 3e6, 0.5], [0.5, 2e5, 1.5, 1e7]),
        "comb": ([1e5, 1e5, 2e4], [0.5, 3.0, 1.0]),
        "poch": ([1e5, 1e5, 1e4], [0.5, -1.5, 2.0]),
        "log_ndtr": ([3.0, 5.0, 7.0, -40.0, 12.0],),
    }.items():
        narrow = [np.array(x, np.float32) for x in args]
        want = getattr(scipy_special, name)(*(x.astype(float) for x in narrow))
        np.testing.assert_allclose(getattr(special, name)(*narrow), want, rtol=2e-5, err_msg=name)


def test_rising_factorials_are_finite_where_only_rounding_leads_to_a_pole():
    z, m = grid((1e-30, -1e-30, 3e-20), (-1.0, -2.0, -3.0))
    for dtype in (np.float64, np.float32, jax.numpy.bfloat16):
        with px.enable_x64(True):
            got = special.poch(z.astype(dtype), m.astype(dtype))
        np.testing.assert_allclose(
            np.asarray(got, float), scipy_special.poch(z, m), rtol=1e-5 if dtype != jax.numpy.bfloat16 else 1e-2
        )
    assert special.poch(0.5, -1.5) == INF
    assert special.poch(1.0, -1e19) == INF  # both sums are integers, rounded or not
    assert special.poch(-3.0, -1e-30) == 0  # only gamma(z) has a pole, though z + m is rounded to one
    assert np.isnan(special.poch(-INF, 2.0))


def test_the_zeta_function_of_riemann_is_defined_on_both_sides_of_its_pole():
    x = np.array([-20.5, -3.0, -2.0, -1.0, -1e-10, 0.0, 0.3, 0.999, 1.5, 40.0, NAN])
    with px.enable_x64(True):
        np.testing.assert_allclose(special.zeta(x), scipy_special.zeta(x), rtol=1e-10, atol=1e-15)


def test_the_derivative_of_zeta_is_that_of_jax():
    x, q = grid((1.5, 2.0, 7.0), (0.3, 1.0, 12.0))
    with px.enable_x64(True), jax.enable_x64(True):
        for i in (0, 1):
            got = px.grad(lambda *a: special.zeta(*a).sum(), i)(x, q)
            want = jax.grad(lambda *a: jax.scipy.special.zeta(*a).sum(), i)(x, q)
            np.testing.assert_allclose(got, want, rtol=1e-9)


def test_gamma_of_complex_numbers_is_that_of_scipy():
    z = np.array([0.5, -1.5 + 0.5j, 3 + 4j, -7.3 - 2j, 30 + 1j, 2 - 20j, 1e-3j])
    with px.enable_x64(True):
        np.testing.assert_allclose(special.gamma(z), scipy_special.gamma(z), rtol=1e-11)
        assert np.isnan(np.asarray(special.gamma(np.array([0j, -2 + 0j])))).all()
        slope = px.grad(special.gamma, holomorphic=True)(3 + 4j)
    np.testing.assert_allclose(slope, scipy_special.gamma(3 + 4j) * scipy_special.digamma(3 + 4j), rtol=1e-10)


def test_gamma_of_complex_numbers_far_from_the_real_axis_is_that_of_scipy():
    far = [-3 + 300j, -3.5 - 1e30j, -40 + 1e-20j, -1e30 + 1j, 1e10 + 0j, 40 + 1j, 0.5 - 1e5j, -0.5 + 0j]
    got = special.gamma(np.array(far, np.complex64))
    with np.errstate(all="ignore"):
        want = scipy_special.gamma(np.array(far, np.complex64))
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-38)
    far = [*far[:6], -3 + 80j, 171 + 0j]
    with px.enable_x64(True):
        np.testing.assert_allclose(special.gamma(np.array(far)), scipy_special.gamma(np.array(far)), rtol=1e-11)


@pytest.mark.parametrize("name", ["gamma", "loggamma"])
def test_derivatives_at_real_numbers_do_not_depend_on_the_direction(name):
    f = getattr(special, name)
    with px.enable_x64(True):
        for x in (-2.3 + 0j, -0.5 - 0j, 0.3 + 0j, 2.5 + 0j):
            along, across = (px.jvp(f, (x,), (t,))[1] for t in (1 + 0j, 1j))
            want = scipy_special.digamma(x) * (scipy_special.gamma(x) if name == "gamma" else 1)
            np.testing.assert_allclose([along, across], [want, 1j * want], rtol=1e-10, atol=1e-14)


def test_derivatives_do_not_hang_on_what_other_arguments_would_give():
    cases = (
        (special.xlogy, 1, (0.0, 0.0), 0.0),
        (special.xlog1py, 1, (0.0, -1.0), 0.0),
        (special.gammainc, 1, (1.0, 0.0), 1.0),
        (special.betainc, 2, (1.0, 2.0, 0.0), 2.0),
        (special.boxcox, 1, (2.0, 0.0), np.log(2.0) ** 2 / 2),
        (special.poch, 0, (10.0, 1.0), 1.0),
        (special.comb, 0, (5.0, 1.0), 1.0),
    )
    slopes = px.jit(lambda inputs: [px.grad(f, i)(*x) for (f, i, _, _), x in zip(cases, inputs, strict=True)])
    got = slopes([x for _, _, x, _ in cases])
    np.testing.assert_allclose(got, [want for *_, want in cases], rtol=2e-5)


@pytest.mark.parametrize("name", ["beta", "comb", "digamma", "entr", "gamma", "gammasgn", "kl_div", "ndtri", "xlogy"])
def test_the_type_of_results_for_numbers_is_that_of_jax(name):
    args = (0.5,) if name in UNARY else (0.5, 0.5)
    got, want = getattr(special, name)(*args), getattr(jax.scipy.special, name)(*args)
    assert (got.dtype, got.weak_type) == (want.dtype, want.weak_type)


def test_modified_bessel_functions_have_derivatives_at_zero() -> None:
    even = (1, 0, 1 / 2, 0, 3 / 8, 0)
    for function, values in {special.i0: even, px.numpy.i0: even, special.i1: (*even[1:], 5 / 16)}.items():
        for value in values:
            np.testing.assert_allclose(function(0.0), value, atol=1e-6)
            function = px.grad(function)


def test_derivatives_of_modified_bessel_functions_away_from_zero() -> None:
    x = np.array([-2.0, -0.51, 0.01, 0.49, 0.51, 3.0])
    function = special.i1
    with px.enable_x64(True):
        for order in range(5):
            np.testing.assert_allclose(px.vmap(function)(x), scipy_special.ivp(1, x, order), rtol=1e-10)
            function = px.grad(function)


@pytest.mark.parametrize(
    ("function", "point", "slope"),
    [
        (special.entr, INF, -INF),
        (special.entr, 0.0, INF),
        (special.digamma, np.float32(1e-30), INF),  # 1e60 is not a float32
        (special.digamma, -1.0, INF),
        (lambda x: special.rel_entr(x, 2.0), INF, INF),
        (lambda x: special.rel_entr(2.0, x), INF, 0.0),
        (lambda x: special.rel_entr(x, 2.0), 2.0, 1.0),
        (lambda x: special.kl_div(x, 2.0), INF, INF),
    ],
)
def test_derivatives_have_their_limits_at_special_points(function, point, slope) -> None:
    assert px.grad(function)(point) == slope
