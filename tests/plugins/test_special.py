"""Special functions are those of jax and SciPy, at the edges too, and their derivatives are."""

from __future__ import annotations

import math

import numpy as np
import pytest
from elementwise import DTYPES, check_against_jax_at_awkward_numbers, check_same_dtypes_as_jax, in_32_bits
from rulecheck import assert_close, equations

import primax as px

UNARY = ("erf", "erfc", "erf_inv", "lgamma", "digamma", "bessel_i0e", "bessel_i1e")
ITERATED = ("igamma", "igammac", "igamma_grad_a", "random_gamma_grad")
CALLS = {
    **{name: (1, lambda lax, x, name=name: getattr(lax, name)(x)) for name in UNARY},
    "polygamma": (2, lambda lax, m, x: lax.polygamma(m, x)),
    "zeta": (2, lambda lax, x, q: lax.zeta(x, q)),
}
ALL = {
    **CALLS,
    **{name: (2, lambda lax, a, x, name=name: getattr(lax, name)(a, x)) for name in ITERATED},
    "betainc": (3, lambda lax, a, b, x: lax.betainc(a, b, x)),
}
FLOATS = [d for d in DTYPES if "float" in d]


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_functions_take_the_dtypes_that_jax_takes(dtype):
    check_same_dtypes_as_jax(ALL, dtype)


GAMMA_FUNCTIONS = ("lgamma", "digamma", "polygamma", "zeta")


@pytest.mark.parametrize("dtype", FLOATS)
def test_special_functions_have_the_values_of_jax(dtype):
    check_against_jax_at_awkward_numbers({n: call for n, call in CALLS.items() if n not in GAMMA_FUNCTIONS}, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_lgamma_and_digamma_of_positive_numbers_are_those_of_jax(dtype):
    # jax loses digits beside 1, 2 and 1.4616, on older processors up to 2.5, and has NaN at zero.
    def domain(*args):
        x = args[-1].astype(float)
        return ~(x <= 0) & ~((x >= 0.75) & (x <= 2.5))

    check_against_jax_at_awkward_numbers({n: CALLS[n] for n in ("lgamma", "digamma")}, dtype, domain=domain)


GAMMA_POINTS = {
    "lgamma": [1e-30, 0.9999, 1.0001, 1.9999, 2.0001, 1.5, 2.5, 3.0, 8.25, 9.0, 1e30, -0.3, -0.9, -7.3, -1e-30],
    "digamma": [1e-30, 0.5, 1.46, 1.4616321, 1.462, 5.0, 11.0, 1e30, -0.3, -2.9, -1e-30, -300.25],
    "trigamma": [1e-15, 0.5, 3.0, 40.0, 1e20, 1e35, -0.3, -2.9, -10.01, -300.25],
    "hexagamma": [1e-5, 0.5, 3.0, 40.0, 1e5, 1e6, -0.3, -2.9, -10.01],
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gamma_functions_keep_their_digits_beside_zeros_and_for_negative_and_large_numbers(dtype):
    mp = pytest.importorskip("mpmath").mp
    exact = {
        "lgamma": lambda x: mp.log(abs(mp.gamma(x))) if x < 100 else mp.loggamma(x),
        "digamma": mp.digamma,
        "trigamma": lambda x: mp.psi(1, x) if x < 1e9 else 1 / x,
        "hexagamma": lambda x: mp.psi(5, x),
    }
    calls = {
        "lgamma": px.lax.lgamma,
        "digamma": px.lax.digamma,
        "trigamma": lambda x: px.lax.polygamma(px.numpy.full_like(x, 1), x),
        "hexagamma": lambda x: px.lax.polygamma(px.numpy.full_like(x, 5), x),
    }
    with px.enable_x64(dtype == "float64"), mp.workdps(60):
        points = {name: np.array(xs, dtype) for name, xs in GAMMA_POINTS.items()}
        got = px.jit(lambda points: {name: calls[name](x) for name, x in points.items()})(points)
        for name, xs in points.items():
            want = [float(exact[name](mp.mpf(float(x)))) for x in xs]
            np.testing.assert_allclose(got[name], want, rtol=40 * np.finfo(dtype).eps, err_msg=name)


def test_lgamma_has_the_values_of_python():
    x = np.concatenate([np.linspace(-9.75, 9.75, 79), 10.0 ** np.arange(2, 30)]).astype(np.float32)
    x = x[(x > 0) | (x != np.round(x))]
    expected = [math.lgamma(v) for v in x]
    np.testing.assert_allclose(px.lax.lgamma(x), expected, rtol=2e-6, atol=2e-6)
    np.testing.assert_array_equal(px.lax.lgamma(np.float32([0, -1, np.inf, -np.inf, np.nan])), [np.inf] * 4 + [np.nan])


def _gamma_parameters(dtype):
    random = np.random.default_rng(0)
    a = np.exp(random.uniform(np.log(1e-2), np.log(1e5), 1000))
    x = a * np.exp(random.normal(size=a.size) * 2 / np.sqrt(a))
    a, x = a.astype(dtype), x.astype(dtype)
    return a, x, a.astype(np.float64), x.astype(np.float64)


TOLERANCE = {"float32": 3e-6, "float64": 2e-14}


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_incomplete_gamma_functions_are_those_of_scipy(dtype):
    special = pytest.importorskip("scipy.special")
    a, x, wide_a, wide_x = _gamma_parameters(dtype)
    with px.enable_x64(dtype == "float64"):
        lower, upper = px.lax.igamma(a, x), px.lax.igammac(a, x)
        assert lower.dtype == upper.dtype == dtype
    np.testing.assert_allclose(lower, special.gammainc(wide_a, wide_x), rtol=0, atol=TOLERANCE[dtype])
    np.testing.assert_allclose(upper, special.gammaincc(wide_a, wide_x), rtol=0, atol=TOLERANCE[dtype])


LARGE = [
    # a, x, the lower function: the integral of its density, by quadrature in 50 digits
    (200000.0, 197763.9320225002, 2.610468557233915e-07),
    (3000000.0, 2992205.77136594, 3.3388573605652296e-06),
    (100000000.0, 99950000.0, 2.854642139958626e-07),
    (100000000.0, 100000000.0, 0.5000132980760141),
    (1000000000000.0, 1000001000000.0, 0.8413447460685832),
    (1000000000000000.0, 999999857697505.2, 3.3976698599826693e-06),
]


def test_incomplete_gamma_functions_of_large_parameters():
    with px.enable_x64(True):
        a, x, lower = np.array(LARGE).T
        np.testing.assert_allclose(px.lax.igamma(a, x), lower, rtol=1e-12)
        np.testing.assert_allclose(px.lax.igammac(a, x), 1 - lower, rtol=1e-12)


def test_small_tails_of_incomplete_gamma_functions_keep_their_digits():
    special = pytest.importorskip("scipy.special")
    a = np.array([0.5, 3.0, 20.0, 300.0, 5e4])
    with px.enable_x64(True):
        for distance in (3.0, 6.0):
            below = a * np.exp(-distance / np.sqrt(a))
            above = a + distance * np.sqrt(a)
            assert_close(px.lax.igamma(a, below), special.gammainc(a, below), 1e-10)
            got, want = px.lax.igammac(a, above), special.gammaincc(a, above)
            np.testing.assert_allclose(got, want, rtol=1e-10)


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_derivatives_of_incomplete_gamma_functions_are_those_of_jax(dtype):
    jax = pytest.importorskip("jax")
    random = np.random.default_rng(1)
    a = np.exp(random.uniform(np.log(0.05), np.log(50), 200)).astype(dtype)
    x = (a * np.exp(random.normal(size=a.size) / np.sqrt(a))).astype(dtype)
    wide = dtype == "float64"
    with px.enable_x64(wide), jax.enable_x64(wide):
        for name in ("igamma_grad_a", "random_gamma_grad"):
            got, want = getattr(px.lax, name)(a, x), getattr(jax.lax, name)(a, x)
            np.testing.assert_allclose(got, want, rtol=1e-9 if wide else 2e-3, atol=1e-7, err_msg=name)


def test_derivatives_of_incomplete_gamma_functions_with_large_parameters_are_those_of_differences():
    with px.enable_x64(True):
        a = np.array([2e3, 9e5, 1.2e6, 1e8])
        x = a + np.array([0.5, -1, 1, 2]) * np.sqrt(a)
        step = 1e-3 * np.sqrt(a)
        difference = (px.lax.igamma(a + step, x) - px.lax.igamma(a - step, x)) / (2 * step)
        slope = px.lax.igamma_grad_a(a, x)
        np.testing.assert_allclose(slope, difference, rtol=1e-6)
        density = px.grad(lambda x: px.lax.igamma(a, x).sum())(x)
        np.testing.assert_allclose(px.lax.random_gamma_grad(a, x), -slope / density, rtol=1e-6)


INF, NAN = np.inf, np.nan
GAMMA_EDGES = [
    # a, x, the lower function
    (0.0, 1.0, 1.0),
    (2.0, 0.0, 0.0),
    (2.0, INF, 1.0),
    (INF, 2.0, 0.0),
    (INF, INF, 1.0),
    (0.0, 0.0, NAN),
    (-1.0, 1.0, NAN),
    (1.0, -1.0, NAN),
    (NAN, 1.0, NAN),
    (1.0, NAN, NAN),
    (1e30, 1.0, 0.0),
    (1.0, 1e30, 1.0),
    (1e30, 1e30, 0.5),
]


def test_edges_of_the_incomplete_gamma_functions():
    a, x, lower = np.float32(GAMMA_EDGES).T
    np.testing.assert_array_equal(px.lax.igamma(a, x), lower)
    np.testing.assert_array_equal(px.lax.igammac(a, x), 1 - lower)


def test_derivatives_of_the_incomplete_gamma_function_at_zero_are_limits():
    special = pytest.importorskip("scipy.special")
    x = np.float32([1e-30, 0.1, 1, 2, 20, 80])
    for a in np.float32([0, 1e-38, 1e-20]):
        np.testing.assert_allclose(px.lax.igamma_grad_a(a, x), -special.exp1(x), rtol=1e-5)
    for zero in np.float32([0, -0.0]):
        np.testing.assert_array_equal(px.lax.random_gamma_grad(zero, x), INF)
    at = np.float32([[0, 0], [0, -1], [0, NAN]])
    np.testing.assert_array_equal(px.lax.igamma_grad_a(*at.T), NAN)
    assert float(px.lax.igamma_grad_a(0.0, INF)) == 0


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_the_incomplete_beta_function_is_that_of_scipy(dtype):
    special = pytest.importorskip("scipy.special")
    random = np.random.default_rng(2)
    a, b = np.exp(random.uniform(np.log(0.05), np.log(2000), (2, 1000)))
    x = np.clip(a / (a + b) * np.exp(0.2 * random.normal(size=a.size)), 1e-6, 1 - 1e-4)
    a, b, x = a.astype(dtype), b.astype(dtype), x.astype(dtype)
    want = special.betainc(a.astype(np.float64), b.astype(np.float64), x.astype(np.float64))
    with px.enable_x64(dtype == "float64"):
        got = px.lax.betainc(a, b, x)
    np.testing.assert_allclose(got, want, rtol=0, atol={"float32": 2e-5, "float64": 5e-14}[dtype])


BETA_EDGES = [
    # a, b, x, the result
    (2.0, 3.0, 0.0, 0.0),
    (2.0, 3.0, 1.0, 1.0),
    (0.0, 3.0, 0.0, 0.0),
    (0.0, 3.0, 0.5, 1.0),
    (2.0, 0.0, 0.5, 0.0),
    (2.0, 0.0, 1.0, 1.0),
    (INF, 3.0, 0.5, 0.0),
    (2.0, INF, 0.5, 1.0),
    (0.0, 0.0, 0.5, NAN),
    (INF, INF, 0.5, NAN),
    (2.0, 3.0, -0.1, NAN),
    (2.0, 3.0, 1.1, NAN),
    (-1.0, 3.0, 0.5, NAN),
    (2.0, NAN, 0.5, NAN),
]


def test_edges_of_the_incomplete_beta_function():
    a, b, x, want = np.float32(BETA_EDGES).T
    np.testing.assert_array_equal(px.lax.betainc(a, b, x), want)


def test_bessel_functions_are_those_of_scipy():
    special = pytest.importorskip("scipy.special")
    x = np.linspace(-60, 60, 2001)
    with px.enable_x64(True):
        np.testing.assert_allclose(px.lax.bessel_i0e(x), special.i0e(x), rtol=1e-15)
        np.testing.assert_allclose(px.lax.bessel_i1e(x), special.i1e(x), rtol=5e-15)
    narrow = x.astype(np.float32)
    np.testing.assert_allclose(px.lax.bessel_i0e(narrow), special.i0e(narrow), rtol=3e-7)


def test_derivatives_of_bessel_functions_at_zero():
    assert float(px.grad(px.lax.bessel_i0e)(0.0)) == 0.0
    for x in (0.0, 1e-20, -1e-20, 1e-38, -1e-44):
        assert float(px.grad(px.lax.bessel_i1e)(x)) == pytest.approx(0.5, rel=3e-7)
    assert float(px.grad(px.lax.bessel_i1e)(np.float16(1e-6))) == 0.5


@pytest.mark.parametrize(
    "call, args, message",
    [
        (px.lax.polygamma, (1.0, 2.0), "polygamma: its derivative with respect to m is not implemented"),
        (px.lax.zeta, (2.0, 2.0), "zeta: its derivative with respect to x is not implemented"),
        (px.lax.betainc, (1.0, 2.0, 0.5), "betainc: its derivative with respect to a is not implemented"),
        (px.lax.igamma_grad_a, (1.0, 2.0), "igamma_grad_a .* does not support jvp: its derivatives are not"),
        (px.lax.random_gamma_grad, (1.0, 2.0), "random_gamma_grad .* does not support jvp"),
    ],
)
def test_derivatives_that_are_missing_say_so(call, args, message):
    with pytest.raises(NotImplementedError, match=message):
        px.grad(call)(*args)


def test_iterations_stay_inside_lowerings():
    x = np.ones((2, 3), np.float32)
    assert equations(px.lax.igamma, x, x) == ["igamma"]
    text = px.jit(px.lax.igamma).lower(x, x).as_text()
    assert text.count("stablehlo.while") == 2
    assert px.lax.igamma(np.ones((0, 3), np.float32), x[:0]).shape == (0, 3)
    assert px.lax.igamma(1.0, 2.0).shape == ()


@in_32_bits
def test_bad_arguments_are_named():
    with pytest.raises(TypeError, match=r"erf: its argument must be floating, got i32\[\]"):
        px.lax.erf(1)
    with pytest.raises(TypeError, match=r"igamma: arguments must have the same dtype, got f32\[\] and bf16\[\]"):
        px.lax.igamma(1.0, px.lax.convert_element_type(1, "bfloat16"))
    with pytest.raises(TypeError, match=r"regularized_incomplete_beta: argument 2 must be floating, got c64"):
        px.lax.betainc(1.0, 1.0, 1j)
