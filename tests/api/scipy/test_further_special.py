"""Integrals, hypergeometric functions and harmonics of px.scipy.special, against those of SciPy."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.scipy import special
from primax.test_util import check_grads

scipy_special = pytest.importorskip("scipy.special")

pytestmark = [pytest.mark.usefixtures("in_32_bits"), pytest.mark.any_release]

NAN, INF = np.nan, np.inf
EDGES = np.array([NAN, -INF, INF, -0.0, 0.0, 1.0, -1.0, 0.5, -2.0, 3.0, 50.0, -50.0, 1e5, -1e-5])
POSITIVE = np.concatenate([10 ** np.linspace(-7, 2, 40), np.linspace(0.9, 30, 40)])
REAL = np.concatenate([POSITIVE, -POSITIVE])
UNARY = {
    "exp1": POSITIVE,
    "expi": REAL,
    "dawsn": REAL,
    "erfcx": np.concatenate([POSITIVE, -np.linspace(0, 5, 20)]),
    "erfcinv": np.concatenate([np.linspace(0.01, 1.99, 30), 10.0 ** -np.arange(2, 30)]),
    "spence": POSITIVE,
    "sici": REAL,
    "fresnel": REAL,
}


def close(got, want, rtol, name=""):
    for a, b in zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]:
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * 1e-3, err_msg=name)


def test_functions_of_one_number_are_those_of_scipy():
    with px.enable_x64(True):
        points = {name: np.concatenate([x, EDGES]) for name, x in UNARY.items()}
        found = px.jit(lambda: {name: getattr(special, name)(x) for name, x in points.items()})()
    for name, x in points.items():
        with np.errstate(all="ignore"):
            want = getattr(scipy_special, name)(x)
        if name == "expi":
            want[np.isposinf(x)] = INF  # nan until SciPy 1.15
        close(found[name], want, 1e-12, name)


def test_functions_of_one_number_hold_in_32_and_16_bits():
    points = {name: x[(x < 80) & (x > 1e-5)].astype(np.float32) for name, x in UNARY.items()}
    found = px.jit(lambda: {name: getattr(special, name)(x) for name, x in points.items()})()
    for name, x in points.items():
        want = getattr(scipy_special, name)(x.astype(np.float64))
        close(found[name], want, 3e-4 if name in ("sici", "fresnel") else 5e-6, name)
    narrow = special.expi(np.float16(0.5))
    assert (narrow.dtype, special.dawsn(2).dtype, special.dawsn(2).weak_type) == (np.float16, np.float32, False)
    np.testing.assert_allclose(narrow, 0.4542, rtol=1e-3)


def test_complex_functions_are_those_of_scipy():
    rng = np.random.default_rng(0)
    size = 10 ** rng.uniform(-2, 1, 300)
    z = size * np.exp(1j * rng.uniform(0, 2 * np.pi, 300))
    z = z[z.imag > -5]
    with px.enable_x64(True):
        close(special.wofz(z), scipy_special.wofz(z), 1e-12)
        close(special.erfcx(-1j * z), scipy_special.erfcx(-1j * z), 1e-12)
        close(special.wofz(EDGES), scipy_special.wofz(EDGES.astype(complex)), 1e-13)
        w = np.concatenate([z, 4 * z, np.conj(20 * z), [0, -3, 1, 2]])
        close(special.loggamma(w), scipy_special.loggamma(w.astype(complex)), 1e-12)
        close(special.loggamma(EDGES), scipy_special.loggamma(EDGES), 1e-13)
    close(special.wofz(z.astype(np.complex64)), scipy_special.wofz(z), 1e-4)
    close(special.loggamma(w.astype(np.complex64))[:-3], scipy_special.loggamma(w)[:-3], 1e-4)
    assert special.wofz(np.float16(0.5)).dtype == np.complex64
    assert special.loggamma(2.0).weak_type
    halves = np.array([complex(x, y) for x in (-0.5, -1.5, -2.5, -4.5) for y in (-1e-3, -0.0, 0.0, 1e-3)])
    close(special.loggamma(halves.astype(np.complex64)), scipy_special.loggamma(halves), 1e-4)
    with px.enable_x64(True):
        close(special.loggamma(halves), scipy_special.loggamma(halves), 1e-12)


def test_functions_of_several_numbers_are_those_of_scipy():
    rng = np.random.default_rng(1)
    a, b, c = rng.uniform(0.1, 8, (3, 150))
    n = rng.integers(0, 60, 150)
    cases = {
        "expn": [(n, 10 ** rng.uniform(-6, 2, 150)), ([-1, 0, 0, 1, 2, 2, 2], [1, 0, 2, 0, 0, -0.5, NAN])],
        "owens_t": [
            (3 * rng.normal(size=150), rng.normal(size=150) * 10 ** rng.uniform(-2, 2, 150)),
            tuple(zip(*itertools.product(EDGES, EDGES), strict=True)),
        ],
        "hyp1f1": [
            (a, b, rng.uniform(-10, 60, 150)),
            (a, b, rng.uniform(100, 400, 150)),
            tuple(zip(*itertools.product((0, 1, -2, 0.5), (1, 0.5), (0, 1, -1, 3.0, NAN)), strict=True)),
        ],
        "hyp2f1": [
            (a, b, c, rng.uniform(-4, 0.95, 150)),
            tuple(zip(*itertools.product((0, 1, -2, 0.5), (0.5, 3), (1, 0.5, 4.5), (0, 1, -1, 0.9)), strict=True)),
        ],
    }
    for name, calls in cases.items():
        for args in calls:
            args = [np.asarray(x) if np.asarray(x).dtype == int else np.asarray(x, float) for x in args]
            with np.errstate(all="ignore"):
                want = getattr(scipy_special, name)(*args)
            with px.enable_x64(True):
                close(getattr(special, name)(*args), want, 2e-11, name)
            if name != "hyp1f1":
                narrow = [x.astype(np.float32) for x in args]
                with np.errstate(all="ignore"):
                    want = getattr(scipy_special, name)(*(x.astype(float) for x in narrow))
                close(getattr(special, name)(*narrow), want, 1e-2 if name == "hyp2f1" else 1e-4, name)


def test_a_series_that_ends_has_no_poles():
    assert [float(special.hyp1f1(a, b, 1.0)) for a, b in ((0.5, -1), (-2, -1), (-1, -2), (0, 0))] == [INF, INF, 1.5, 1]
    assert [float(special.hyp2f1(0.5, b, -2.0, 0.5)) for b in (1.0, -3.0, -1.0)] == [INF, INF, 1.125]


def test_hyp1f1_of_large_negative_numbers_is_a_power_of_them():
    x = np.float32([-90.5, -2e3, -1e9, -1e30])
    exact = 2 / -x.astype(float) * (1 + 1 / x.astype(float))  # and a term with e**x
    np.testing.assert_allclose(special.hyp1f1(1.0, 3.0, x), exact, rtol=1e-5)


def test_polynomials_of_high_order_keep_their_digits():
    cases = [(-85, 1.0, 64.0), (-85, 1.0, 31.0), (-40, 1.0, 20.0), (-60, 2.5, 3.0), (-90, 7.0, -25.0), (-1500, 1, 0.2)]
    mp = pytest.importorskip("mpmath").mp
    with mp.workdps(60):
        wanted = [float(mp.hyp1f1(a, b, x, maxprec=10**5)) for a, b, x in cases]
    for (a, b, x), total in zip(cases, wanted, strict=True):
        scale = max(1.0, abs(total))
        assert abs(float(special.hyp1f1(np.float32(a), np.float32(b), np.float32(x))) - total) < 3e-4 * scale


def test_hyp2f1_is_a_polynomial_times_a_power_where_c_is_less_than_a_or_b_by_a_whole_number():
    places = [(61, 3, 45, -6), (2, 2, 1, 6), (2, 0.5, 1, -85), (3, 7, 0.5, -6), (7, 2, 3, 2), (61, 2, 7, -0.5)]
    a, b, c, x = np.float32(places).T
    wanted = scipy_special.hyp2f1(*(v.astype(float) for v in (a, b, c, x)))
    close(special.hyp2f1(a, b, c, x), wanted, 1e-4)
    with px.enable_x64(True):
        close(special.hyp2f1(*(v.astype(float) for v in (a, b, c, x))), wanted, 1e-11)
    assert float(special.hyp2f1(np.float32(58), np.float32(-28), np.float32(61), np.float32(-85))) == INF


def test_bessel_functions_and_harmonics_are_those_of_scipy():
    z = np.array([0, 1e-3, -1e-3, 0.1, 1, -2, 5, 10, 20])
    with px.enable_x64(True):
        found = special.bessel_jn(z, v=5)
        close(found, np.stack([scipy_special.jv(k, z) for k in range(6)]), 1e-12)
    with px.numpy_rank_promotion("raise"):
        close(special.bessel_jn(np.float32(z), v=2), [scipy_special.jv(k, z) for k in range(3)], 2e-5)
    rng = np.random.default_rng(0)
    n = rng.integers(0, 9, 60)
    m = np.clip(rng.integers(-9, 9, 60), -n, n)
    theta, phi = rng.uniform(-5, 8, 60), rng.uniform(0, 6, 60)
    if hasattr(scipy_special, "sph_harm_y"):
        want = scipy_special.sph_harm_y(n, m, theta, phi)
    else:  # until SciPy 1.15
        want = scipy_special.sph_harm(m, n, phi, theta)
    assert px.grad(lambda t: special.sph_harm_y(1, 1, t, 0.0, n_max=1).real)(np.float32(np.pi)) > 0.3
    with px.enable_x64(True):
        close(special.sph_harm_y(n, m, theta, phi), want, 1e-12)
    close(px.jit(special.sph_harm_y, static_argnames="n_max")(n, m, theta, phi, n_max=8), want, 1e-3)
    close(px.jit(lambda t: special.sph_harm_y(n, m, t, phi))(theta), want, 1e-3)
    assert special.sph_harm_y(2, 3, 0.1, 0.2) == 0


X = np.array([0.3, 1.4, 2.7, 5.0])


def test_derivatives_are_those_of_finite_differences():
    """In reverse mode, which transposes what forward mode computes."""
    check = partial(check_grads, order=1, modes="rev")
    with px.enable_x64(True):
        for name in ("exp1", "expi", "dawsn", "erfcx", "spence", "sici", "fresnel", "loggamma"):
            check(getattr(special, name), (X,), rtol=1e-5)
        check(special.erfcinv, (np.array([0.1, 0.9, 1.5]),))
        check(lambda x: special.expn(np.array([0, 1, 2, 7]), x), (X,))
        check(special.owens_t, (X - 2, X[::-1] - 1))
        check(special.hyp1f1, (X, X[::-1], X - 2))
        check(special.hyp2f1, (X, X[::-1], X + 0.5, np.array([-2.0, -0.3, 0.2, 0.8])), rtol=1e-4)
        check(lambda z: special.bessel_jn(z, v=3), (X,))
        check(lambda t, p: special.sph_harm_y(np.arange(4), np.arange(4) - 1, t, p), (X / 2, X))
        z = np.array([0.3 + 0.5j, -1 - 0.4j, 12 + 1j])
        check(special.wofz, (z,))
        check(special.loggamma, (z,))
        far = np.array([40.0, 1e4])
        np.testing.assert_allclose(px.vmap(px.grad(special.dawsn))(far), -1 / (2 * far**2), rtol=1e-3)
        np.testing.assert_allclose(px.vmap(px.grad(special.erfcx))(far), -1 / (np.sqrt(np.pi) * far**2), rtol=1e-3)


@pytest.mark.slow
def test_second_derivatives_are_those_of_finite_differences():
    with px.enable_x64(True):
        for name in ("exp1", "expi", "dawsn", "erfcx", "spence", "sici", "fresnel", "loggamma"):
            check_grads(getattr(special, name), (X,), 2, rtol=1e-5)
        check_grads(lambda x: special.expn(np.array([0, 1, 2, 7]), x), (X,), 2)
        check_grads(special.owens_t, (X - 2, X[::-1] - 1), 2)
        check_grads(lambda z: special.bessel_jn(z, v=3), (X,), 2)


def test_derivatives_outside_of_the_domain_are_not_numbers():
    for name in ("exp1", "spence", "loggamma"):
        assert np.isnan(px.grad(getattr(special, name))(-1.5)), name
    assert float(special.loggamma(1.0)) == float(special.loggamma(2.0)) == 0


def test_functions_are_mapped():
    x = pnp.array([0.5, 2.0])
    np.testing.assert_allclose(px.vmap(special.exp1)(x), special.exp1(x), rtol=1e-6)
    np.testing.assert_allclose(px.vmap(special.hyp1f1, (None, 0, None))(1.0, x, 0.3), special.hyp1f1(1.0, x, 0.3))


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: special.exp1(1j), TypeError, "exp1: arguments must be real"),
        (lambda: special.sici([1.0]), TypeError, "sici: argument 0 must be an array"),
        (lambda: special.expn(2, 1j), TypeError, "expn: arguments must be real"),
        (lambda: special.bessel_jn(1.0, v=-1), ValueError, "bessel_jn: v must not be negative, got -1"),
        (lambda: special.bessel_jn(1, v=1), TypeError, "bessel_jn: z must be floating, got i32"),
        (lambda: special.sph_harm_y(1.0, 0, 0.0, 0.0), TypeError, "sph_harm_y: n must be integers"),
        (lambda: special.sph_harm_y(1, 0, 0.0, 0.0, diff_n=1), NotImplementedError, "diff_n must be None"),
        (lambda: px.jit(special.sph_harm_y)(1, 0, 0.0, 0.0), ValueError, "n_max must be given where n is traced"),
    ],
)
def test_wrong_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
