"""Distributions under transformations, their derivatives, what they are distributed like, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp

pytestmark = [pytest.mark.usefixtures("in_32_bits"), pytest.mark.any_release]

KEY = px.random.key(3)


def test_a_parameter_has_the_derivative_that_it_has_in_jax():
    jax = pytest.importorskip("jax")
    parameters = np.float32([0.7, 1.3, 2.4, 3.0])

    def total(random, key, p):
        drawn = [
            random.beta(key, p[0], p[1], (3,)),
            random.truncated_normal(key, -p[1], p[2], (3,)),
            random.uniform(key, (3,), minval=p[0], maxval=p[3]),
            random.wald(key, p[3], (3,)),
            random.weibull_min(key, p[1], p[2], (3,)),
            random.triangular(key, p[0], p[1], p[2], (3,)),
        ]
        return sum(x @ np.float32([1, -2, 0.5]) for x in drawn)

    got = px.jit(px.grad(lambda p, key: total(px.random, key, p)))(parameters, KEY)
    want = jax.jit(jax.grad(lambda p, key: total(jax.random, key, p)))(parameters, jax.random.key(3))
    np.testing.assert_allclose(got, want, rtol=1e-4)


def test_the_derivative_of_gamma_variables_is_that_of_their_quantiles():
    special = pytest.importorskip("scipy.special")
    with px.enable_x64(True):
        a = np.array([0.3, 1.0, 4.0])
        x, slope = px.jvp(lambda a: px.random.gamma(px.random.key(1), a), (a,), (np.ones(3),))
        rank = special.gammainc(a, np.asarray(x))
        wanted = (special.gammaincinv(a + 1e-5, rank) - special.gammaincinv(a - 1e-5, rank)) / 2e-5
        np.testing.assert_allclose(slope, wanted, rtol=1e-6)
        log_slope = px.grad(lambda a: px.random.loggamma(px.random.key(1), a).sum())(a)
        np.testing.assert_allclose(log_slope, wanted / np.asarray(x), rtol=1e-6)


def test_logarithms_of_gamma_variables_have_derivatives_where_the_variables_underflow():
    a = np.float32([1e-3, 2e-3, 1e-2])
    draw = px.vmap(px.value_and_grad(lambda a, key: px.random.loggamma(key, a)))
    logs, slopes = px.jit(draw)(a, px.random.split(KEY, 3))
    assert np.min(logs) < -200
    # So small a number has the rank x**a / gamma(a + 1), which stays as a changes; digamma(1) is -0.5772.
    np.testing.assert_allclose(slopes, (-np.asarray(logs) - 0.5772 + 1.645 * a) / a, rtol=1e-4)


def test_mapped_over_keys_and_parameters_each_draws_what_it_draws_alone():
    keys = px.random.split(KEY, 3)
    a = np.float32([0.5, 2, 30])

    def draw(key, a):
        return [
            px.random.gamma(key, a, (2,)),
            px.random.randint(key, (2,), 0, 100),
            px.random.permutation(key, 5),
            px.random.choice(key, pnp.arange(4.0) * a, (3,), False),
        ]

    one = px.jit(draw)
    for keys_of, axes in ((lambda i: keys[i], 0), (lambda i: KEY, (None, 0))):
        mapped = px.jit(px.vmap(draw, axes))(keys if axes == 0 else KEY, a)
        alone = [one(keys_of(i), a[i]) for i in range(3)]
        for got, *each in zip(mapped, *alone, strict=True):
            np.testing.assert_array_equal(got, np.stack(each))


def test_programs_call_one_program_for_each_distribution():
    text = str(px.make_jaxpr(lambda key: (px.random.normal(key, (3,)), px.random.normal(key, (3,))))(KEY))
    assert text.count("erf_inv") == 1
    assert "random_bits[bit_width=32 shape=(3,)]" in text


def test_raw_keys_draw_like_the_keys_whose_words_they_are():
    np.testing.assert_array_equal(px.random.normal(px.random.PRNGKey(3), (3,)), px.random.normal(KEY, (3,)))


def test_other_generators_are_drawn_from_too():
    key = px.random.key(0, impl="rbg")
    drawn = px.jit(lambda key: (px.random.normal(key, (2000,)), px.random.poisson(key, 2.0, (2000,))))(key)
    for x, mean, variance in zip(drawn, (0, 2), (1, 2), strict=True):
        assert abs(np.mean(x) - mean) < 0.15
        assert abs(np.var(x) - variance) < 0.3


def test_they_are_distributed_as_they_should_be():
    stats = pytest.importorskip("scipy.stats")
    n = 20_000
    continuous = {
        "truncated_normal": (stats.truncnorm(-1, 2), (-1.0, 2.0)),
        "wald": (stats.invgauss(2.0), (2.0,)),
        "laplace": (stats.laplace(), ()),
        "logistic": (stats.logistic(), ()),
        "cauchy": (stats.cauchy(), ()),
        "gumbel": (stats.gumbel_r(), ()),
        "maxwell": (stats.maxwell(), ()),
        "rayleigh": (stats.rayleigh(scale=2), (2.0,)),
        "pareto": (stats.pareto(3), (3.0,)),
        "weibull_min": (stats.weibull_min(1.5, scale=2), (2.0, 1.5)),
        "triangular": (stats.triang(0.25, 0, 4), (0.0, 1.0, 4.0)),
        "t": (stats.t(4), (4.0,)),
    }

    def draw(key):
        keys = px.random.split(key, len(continuous))
        drawn = [
            getattr(px.random, name)(key, *args, shape=(n,))
            for key, (name, (_, args)) in zip(keys, continuous.items(), strict=True)
        ]
        return drawn, px.random.gamma(key, np.float32([0.6, 5]), (n, 2))

    drawn, gammas = px.jit(draw)(px.random.key(12))
    ranks = {name: each.cdf(np.asarray(x)) for (name, (each, _)), x in zip(continuous.items(), drawn, strict=True)}
    ranks |= {f"gamma({a})": stats.gamma(a).cdf(np.asarray(gammas)[:, i]) for i, a in enumerate((0.6, 5))}
    for name, rank in ranks.items():
        assert stats.kstest(rank, "uniform").pvalue > 1e-3, name


def test_counts_are_distributed_as_they_should_be():
    stats = pytest.importorskip("scipy.stats")
    n = 20_000
    means, trials, chances = np.float32([3, 40]), np.float32([6, 100]), np.float32([0.3, 0.6])

    def draw(key):
        counted = px.random.poisson(key, means, (n, 2)), px.random.binomial(key, trials, chances, (n, 2))
        return *counted, px.random.geometric(key, 0.2, (n, 1))

    wanted = [*map(stats.poisson, means), *map(stats.binom, trials, chances), stats.geom(0.2)]
    counts = np.concatenate([np.asarray(x).astype(int) for x in px.jit(draw)(px.random.key(12))], 1)
    for i, distribution in enumerate(wanted):
        values = counts[:, i]
        expected = n * distribution.pmf(np.arange(values.max() + 1))
        enough = expected > 5
        observed = np.bincount(values)
        chi = ((observed - expected)[enough] ** 2 / expected[enough]).sum()
        assert stats.chi2(enough.sum()).sf(chi) > 1e-3, i


def test_points_of_a_ball_and_orthogonal_matrices_are_such():
    points, matrices = px.jit(lambda key: (px.random.ball(key, 3, shape=(5000,)), px.random.orthogonal(key, 3, (50,))))(
        KEY
    )
    radii = np.linalg.norm(points, axis=-1)
    assert radii.max() <= 1.0001
    assert abs((radii**3).mean() - 0.5) < 0.02
    np.testing.assert_allclose(
        matrices @ np.swapaxes(matrices, 1, 2), np.broadcast_to(np.eye(3), (50, 3, 3)), atol=1e-5
    )
    assert 0 < (np.linalg.det(matrices) > 0).mean() < 1


def test_a_poisson_variable_of_infinite_mean_is_as_great_as_can_be():
    assert px.random.poisson(KEY, np.float32([np.inf, 1.0]))[0] == np.iinfo(np.int32).max


def test_correlated_normals_of_16_bits_are_computed_in_32():
    x = px.random.multivariate_normal(KEY, np.zeros(2, np.float16), np.eye(2, dtype=np.float16))
    assert x.dtype == np.float16


REFUSED = [
    ("normal", ((3,), "int32"), ValueError, "normal: dtype must be a float or complex dtype, got int32"),
    ("uniform", ((3,), complex), ValueError, "uniform: dtype must be a float dtype, got complex64"),
    (
        "uniform",
        ((3,), None, np.ones(2)),
        ValueError,
        r"uniform: parameters must broadcast to shape \(3,\), got minval",
    ),
    ("uniform", ((-1,),), TypeError, "uniform: shape must consist of non-negative integers"),
    ("randint", ((3,), 0, 1, float), TypeError, "randint: dtype must be an integer dtype, got float32"),
    ("randint", ((3,), 0, 1j), TypeError, "randint: maxval must be real"),
    ("bernoulli", (1,), TypeError, "bernoulli: p must be of a float dtype, got i32"),
    ("bernoulli", (0.5, None, "x"), ValueError, "bernoulli: mode must be 'high' or 'low', got 'x'"),
    ("gumbel", ((), None, "x"), ValueError, "gumbel: mode must be 'highest', 'high', 'low' or None, got 'x'"),
    ("rademacher", ((), "uint8"), TypeError, "rademacher: dtype must be one of signed numbers, got uint8"),
    ("truncated_normal", (0.0, np.ones(3), (2,)), ValueError, r"upper of shape \(3,\)"),
    ("gamma", ([1.0],), TypeError, "gamma: a must be an array or a number, got list"),
    ("gamma", (1j,), TypeError, "gamma: a must be real, got c64"),
    ("dirichlet", (1.0,), ValueError, "dirichlet: alpha must be of rank 1 or more"),
    ("poisson", (1.0, (), "float32"), ValueError, "poisson: dtype must be an integer dtype, got float32"),
    ("multinomial", (3, 0.5), ValueError, "multinomial: p must be of rank 1 or more"),
    ("ball", (2, np.ones(2)), ValueError, r"ball: p must be a number, got f32\[2\]"),
    ("orthogonal", (-1,), TypeError, "orthogonal: shape must consist of non-negative integers"),
    ("permutation", (5.0,), TypeError, "permutation: x must be an integer or an array with an axis, got 5.0"),
    ("permutation", (np.ones((2, 3)), 2), ValueError, r"permutation: axis must be in \[-2, 2\), got 2"),
    ("choice", (0, (2,)), ValueError, "choice: a must have elements to choose 2 of, got 0"),
    (
        "choice",
        (5, (7,), False),
        ValueError,
        r"choice: without replacement there are 5 to choose, got shape \(7,\) of 7",
    ),
    (
        "choice",
        (5, (), True, np.ones(4)),
        ValueError,
        r"choice: p must be of shape \(5,\), one number per element, got f32",
    ),
    ("categorical", (np.ones((2, 0)),), ValueError, "categorical: logits must have categories along axis 1"),
    ("categorical", (np.ones(3, int),), TypeError, "categorical: logits must be of a float dtype, got i32"),
    ("categorical", (np.ones((2, 3)), -1, (4, 2), False), ValueError, "as many to draw as categories, 3, got shape"),
    (
        "categorical",
        (np.ones((3, 1, 4)), -1, (2, 3, 5), False),
        ValueError,
        r"shape must end with \(3, 1\), got \(2, 3, 5\)",
    ),
    ("multivariate_normal", (np.ones(2), np.eye(3)), ValueError, r"axes of the size of mean, 2, got f32\[3,3\]"),
    ("multivariate_normal", (1.0, np.eye(3)), ValueError, "multivariate_normal: mean must be of rank 1 or more"),
    (
        "multivariate_normal",
        (np.ones(2), np.eye(2), None, None, "lu"),
        ValueError,
        "method must be one of .*, got 'lu'",
    ),
]


@pytest.mark.parametrize(
    "name, args, error, message", REFUSED, ids=[f"{i}-{case[0]}" for i, case in enumerate(REFUSED)]
)
def test_wrong_arguments_are_refused_by_name(name, args, error, message):
    with pytest.raises(error, match=message):
        getattr(px.random, name)(KEY, *args)


@pytest.mark.parametrize("name", sorted({case[0] for case in REFUSED} - {"randint"}))
def test_what_is_no_single_key_is_refused(name):
    args = next(case[1] for case in REFUSED if case[0] == name)
    with pytest.raises(TypeError, match=f"{name}: key must be "):
        getattr(px.random, name)(3.0, *args)
    with pytest.raises(ValueError, match=f"{name}: key must be one key"):
        getattr(px.random, name)(px.random.split(KEY), *args)


def test_a_dtype_that_is_too_wide_is_warned_of_where_it_is_asked_for():
    asked = [
        (px.random.uniform, (), "float64"),
        (px.random.exponential, (), "float64"),
        (px.random.gamma, (1.0, None), "float64"),
        (px.random.randint, ((), 0, 3), "int64"),
        (px.random.rademacher, (), "int64"),
    ]
    for draw, args, dtype in asked:
        with pytest.warns(UserWarning, match=f"{draw.__name__}: dtype {dtype} is not available") as caught:
            assert draw(KEY, *args, dtype=dtype).dtype.itemsize == 4
        assert caught[0].filename == __file__


def test_without_jit_they_draw_the_same():
    def draw():
        return px.random.normal(KEY, (2,)), px.random.permutation(KEY, 3), px.random.bernoulli(KEY, 0.5, (2,))

    with px.disable_jit():
        got = draw()
    for x, y in zip(got, draw(), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_truncated_normal_numbers_far_from_zero_are_finite_and_in_their_bounds(dtype):
    key = px.random.key(0)
    low = np.array([10, 40, 1.9, -np.inf, -np.inf, 30, 1e5, 3, -5], np.float32)
    high = np.array([np.inf, np.inf, np.inf, -40, np.inf, 30.5, np.inf, 3, -4.5], np.float32)
    low, high = (px.numpy.asarray(x, dtype) for x in (low, high))

    def draw(low, high):
        return px.random.truncated_normal(key, low, high, (4000, low.size), dtype)

    x = np.asarray(draw(low, high)).astype(float)
    assert np.isfinite(x).all()
    assert (x >= np.asarray(low, float)).all()
    assert (x <= np.asarray(high, float)).all()
    slopes = px.grad(lambda *ends: draw(*ends).astype("float32").mean(0).sum(), (0, 1))(low, high)
    assert all(np.isfinite(np.asarray(slope, float)).all() for slope in slopes)
    if dtype == "float32":
        np.testing.assert_allclose(x.mean(0)[:4], [10.0981, 40.0249, 2.2825, -40.0249], rtol=2e-3)
        np.testing.assert_allclose(slopes[0][:2], [0.9906, 0.9994], rtol=2e-2)
