"""Numbers drawn by px.random are those of jax.random, of the same shape and dtype."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from oracle import jax_does, lacking

import primax as px

pytestmark = pytest.mark.usefixtures("in_32_bits")

SHAPE = (2, 50)
MATRIX = np.arange(24.0, dtype=np.float32).reshape(4, 6)
WEIGHTS = np.float32([0.1, 0.25, 0.05, 0.4, 0.2])


def compare(draw, exact=True, x64=False):
    """Draws the same in primax and jax, each in one program: `draw` gets the module and a key."""
    jax = pytest.importorskip("jax")
    with px.enable_x64(x64), jax.enable_x64(x64):
        got = px.jit(lambda key: draw(px.random, key))(px.random.key(7))
        want = jax.jit(lambda key: draw(jax.random, key))(jax.random.key(7))
        assert len(got) == len(want)
        for i, (x, y) in enumerate(zip(got, want, strict=True)):
            assert (x.shape, x.dtype) == (y.shape, y.dtype), i
            x, y = np.asarray(x), np.asarray(y)
            if exact or not np.issubdtype(x.dtype, np.inexact):
                np.testing.assert_array_equal(x, y, err_msg=f"result {i}")
            else:
                np.testing.assert_allclose(x, y, rtol=2e-6 if x.dtype.itemsize < 8 else 1e-13, err_msg=f"result {i}")


def test_names_arguments_and_defaults_are_those_of_jax():
    jax = pytest.importorskip("jax")

    def signatures(random):
        found = {}
        for name in dir(random):
            function = getattr(random, name)
            if not name.startswith("_") and inspect.isfunction(inspect.unwrap(function)):
                parameters = inspect.signature(function).parameters.values()
                found[name] = [(p.name, p.kind, p.default) for p in parameters if p.name not in lacking(name)]
        return found

    got, want = signatures(px.random), signatures(jax.random)
    assert len(want) > 40
    assert got == want


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float8_e4m3fn"])
def test_uniform_and_normal_numbers(dtype):
    ends = np.zeros(3, np.float32), np.float32([[2], [3]])
    compare(
        lambda random, key: [
            random.uniform(key, SHAPE, dtype),
            random.uniform(key, SHAPE, dtype, -2, maxval=3.0),
            random.uniform(key, (2, 3), dtype, *ends),
            random.normal(key, SHAPE, dtype),
            random.normal(key, (), dtype),
            random.normal(key, (2, 0), dtype),
        ]
    )


def test_one_uniform_number_between_arrays_of_one_element_has_the_shape_of_the_first():
    shapes = [(), (1,), (1, 1)]
    compare(
        lambda random, key: [
            random.uniform(key, (), None, np.full(low, -1.0, np.float32), np.full(high, 2.0, np.float32))
            for low in shapes
            for high in shapes
        ]
    )


def test_numbers_of_64_bits():
    compare(
        lambda random, key: [
            random.uniform(key, SHAPE),
            random.normal(key, SHAPE),
            random.normal(key, (5,), complex),
            random.randint(key, SHAPE, 0, 10),
            random.randint(key, SHAPE, -(2**62), 2**62),
            random.randint(key, SHAPE, 0, np.uint64(2**64 - 1), "uint64"),
            random.randint(key, SHAPE, -5, 2**40, "int32"),
            random.bernoulli(key, 0.3, SHAPE),
            random.bernoulli(key, np.float32(0.3), SHAPE),
            random.permutation(key, 10),
            random.choice(key, MATRIX, (2, 3), axis=1),
            random.categorical(key, MATRIX),
        ],
        x64=True,
    )


def test_integers():
    low, high = np.int32([[0, 10], [-5, 7], [3, 3], [9, 2], [-300, 300], [-(2**31), 2**31 - 1]]).T[:, :, None]
    dtypes = ("int32", "uint32", "int8", "uint16", "int4")
    compare(lambda random, key: [random.randint(key, (6, 50), low, high, dtype) for dtype in dtypes])


def test_integers_between_arrays_of_other_dtypes():
    compare(
        lambda random, key: [
            random.randint(key, (2, 3), np.arange(3), np.int8([[9], [5]])),
            random.randint(key, SHAPE, 0, np.uint32(2**32 - 1), "uint32"),
            random.randint(key, SHAPE, np.int8(-3), np.uint8(200)),
            random.randint(key, SHAPE, 0.0, 10.7),
            random.rademacher(key, SHAPE),
            random.rademacher(key, SHAPE, "float16"),
        ]
    )


def test_gumbel_numbers_in_the_highest_mode():
    compare(
        lambda random, key: [
            random.gumbel(key, SHAPE, mode="highest"),
            random.gumbel(key, SHAPE, "float16", "highest"),
            random.categorical(key, MATRIX / 10, mode="highest"),
            random.categorical(key, MATRIX / 10, shape=(2, len(MATRIX)), replace=False, mode="highest"),
            random.choice(key, 5, (3,), False, WEIGHTS, mode="highest"),
        ],
        exact=False,
    )


@pytest.mark.parametrize("mode", ["low", "high"])
def test_truths_and_what_else_has_modes(mode):
    away = jax_does("gumbel in mode high stays away from zero by half a step squared")
    compare(
        lambda random, key: [
            random.bernoulli(key, 0.3, SHAPE, mode),
            random.bernoulli(key, 1e-3, SHAPE, mode=mode),
            random.bernoulli(key, np.linspace(0, 1, 50, dtype=np.float16), SHAPE, mode=mode),
            random.gumbel(key, SHAPE, mode=mode),
            random.gumbel(key, SHAPE, "bfloat16" if mode != "high" or away else "float32", mode),
            random.categorical(key, MATRIX / 10, mode=mode),
            random.choice(key, 5, (3,), False, WEIGHTS, mode=mode),
        ],
        exact=mode == "low",
    )


@pytest.mark.any_release
def test_elementary_distributions():
    compare(
        lambda random, key: [
            random.truncated_normal(key, -1, 2.0, SHAPE),
            random.truncated_normal(key, -1.0, np.float32([1, 2, 3]), (2, 3)),
            random.exponential(key, SHAPE),
            random.laplace(key, SHAPE),
            random.logistic(key, SHAPE),
            random.cauchy(key, SHAPE),
            random.maxwell(key, SHAPE),
            random.double_sided_maxwell(key, 1.0, 2.0, SHAPE),
            random.double_sided_maxwell(key, 1.0, np.float32([1, 2]), SHAPE),
            random.double_sided_maxwell(key, np.float32([[0], [1]]), np.float32([1, 2, 3])),
            random.weibull_min(key, 2.0, 1.5, SHAPE),
            random.pareto(key, 1.5, SHAPE),
            random.rayleigh(key, np.float32([[1.5], [2]]), SHAPE),
            random.wald(key, 1.5, SHAPE),
            random.triangular(key, 0, 1, 4.0, SHAPE),
            random.lognormal(key, 1.5, SHAPE),
            random.lognormal(key, dtype="complex64"),
            random.geometric(key, 0.3, SHAPE),
            random.geometric(key, np.float16([0.1, 1]), dtype="int8"),
        ],
        exact=False,
    )


def test_permutations():
    compare(
        lambda random, key: [
            random.permutation(key, 10),
            random.permutation(key, 2000),
            random.permutation(key, 1),
            random.permutation(key, 0),
            random.permutation(key, MATRIX),
            random.permutation(key, MATRIX, 1),
            random.permutation(key, MATRIX, -1, independent=True),
            random.permutation(key, MATRIX[0] > 2),
        ]
    )


@pytest.mark.parametrize("count", [True, np.True_, np.array(True), 1])
def test_one_is_chosen_of_true_elements(count):
    assert px.random.choice(px.random.key(0), count, (3,)).tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="a must have elements to choose 1 of, got 0"):
        px.random.choice(px.random.key(0), type(count)(0) if not isinstance(count, np.ndarray) else np.array(False))


@pytest.mark.any_release
def test_choices():
    compare(
        lambda random, key: [
            random.choice(key, 10, (3, 4)),
            random.choice(key, 10, (5,), False),
            random.choice(key, 0, (0,)),
            random.choice(key, MATRIX, (2, 3), axis=1),
            random.choice(key, MATRIX, (2, 2), False, axis=-1),
            random.choice(key, MATRIX),
            random.choice(key, 5, (200,), p=WEIGHTS),
            random.choice(key, MATRIX, (7,), p=np.ones(4, int)),
        ]
    )


def test_categories():
    rows = np.zeros((3, 1, 4), np.float32)
    compare(
        lambda random, key: [
            random.categorical(key, MATRIX / 5),
            random.categorical(key, MATRIX, 0, (3, 6)),
            random.categorical(key, MATRIX / 5, 1, (3, 2, 4)),
            random.categorical(key, MATRIX / 5, 0, (2, 2, 6), replace=False),
            random.categorical(key, rows, -1, (2, 3, 5)),
            random.categorical(key, np.log(WEIGHTS), shape=(100,)),
        ]
    )


def test_gamma_variables():
    compare(
        lambda random, key: [
            random.gamma(key, np.float32([0.01, 0.3, 1, 2.5, 100]), (20, 5)),
            random.loggamma(key, np.float32([0.01, 0.3, 1, 2.5, 100]), (20, 5)),
        ]
    )


@pytest.mark.any_release
def test_distributions_made_of_gamma_variables():
    compare(
        lambda random, key: [
            random.beta(key, 0.5, np.float32([2, 3]), (9, 2)),
            random.dirichlet(key, np.float32([0.1, 1, 3]), (5,)),
            random.f(key, 3, 4.0, (9,)),
            random.ball(key, 3, 1.5, (4,)),
        ],
        exact=False,
    )


def test_counts():
    means = np.float32([0, 0.3, 9.99, 10, 50, -1, np.nan])
    trials = np.float32([5, 5, 100, 1000, -3, np.nan, np.inf, 3])
    chances = np.float32([0.2, 0.9, 0.3, 0.99, 0.2, 0.2, 0.2, np.nan])
    compare(lambda random, key: [random.poisson(key, means, (20, 7)), random.binomial(key, trials, chances, (20, 8))])


@pytest.mark.any_release
def test_large_counts_are_those_of_jax_but_where_rounding_decides_which_are_taken():
    jax = pytest.importorskip("jax")
    means, trials = np.float32([1e4, 1e6]), np.float32([1e4, 1e5])
    for draw in (
        lambda random, key: random.poisson(key, means, (100, 2)),
        lambda random, key: random.binomial(key, trials, 0.5, (100, 2)),
    ):
        got, want = (np.asarray(draw(module.random, module.random.key(7))) for module in (px, jax))
        assert np.mean(got == want) > 0.9
        np.testing.assert_allclose(got.mean(0), want.mean(0), rtol=5e-3)


def test_counts_of_outcomes():
    outcomes = () if jax_does("the shape of multinomial leaves out the outcomes") else (5,)

    def draw(random, key):
        shape = (3, 2) if random is px.random else (3, 2, *outcomes)
        return [random.multinomial(key, np.int32([10, 200]), WEIGHTS, shape=shape)]

    compare(draw)


@pytest.mark.any_release
def test_matrices_and_correlated_vectors():
    cov = np.float32([[2, 0.5, 0.1], [0.5, 1, 0.2], [0.1, 0.2, 3]])
    mean = np.float32([1, 2, 3])
    compare(
        lambda random, key: [
            random.orthogonal(key, 3, (2,)),
            random.orthogonal(key, 4, m=2),
            random.orthogonal(key, 2, (2,), m=4),
            random.orthogonal(key, 3, (), "complex64"),
            random.multivariate_normal(key, mean, cov, (5,)),
            random.multivariate_normal(key, np.stack([mean, mean]), np.stack([cov, cov]), (3, 2), method="eigh"),
            random.multivariate_normal(key, mean, cov, method="svd"),
        ],
        exact=False,
    )


@pytest.mark.any_release
def test_trials_without_end_come_to_an_end():
    key = px.random.key(0)
    assert px.random.binomial(key, np.inf, np.float32([0.0, 0.3, 1.0])).tolist() == [np.inf] * 3
    counts = px.random.multinomial(key, 1e300, np.float32([0.0, 1.0, 2.0]))
    assert np.isinf(counts[0])
    assert np.isnan(counts[1:]).all()
    assert px.random.binomial(key, 2, -0.0) == 0


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "float16"])
def test_binomial_counts_with_narrow_parameters(dtype):
    trials, chances = px.numpy.asarray([1.0, 2.0], dtype), px.numpy.asarray([0.9, 0.25], dtype)
    drawn = np.asarray(px.random.binomial(px.random.key(0), trials, chances, (50, 2)))
    assert (drawn.min(0) >= 0).all()
    assert (drawn.max(0) <= [1, 2]).all()
