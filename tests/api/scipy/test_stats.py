"""px.scipy.stats against scipy.stats."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import primax as px
from primax.scipy import stats
from primax.scipy.stats.families import Continuous, Discrete

scipy_stats = pytest.importorskip("scipy.stats")

pytestmark = [pytest.mark.usefixtures("in_32_bits"), pytest.mark.any_release]


def test_none_is_chosen_in_one_way():
    of = np.float32([0, 1, 5, 1000])
    assert (stats.betabinom.logpmf(0, 0, np.float32([0.3, 1, 5, 73]), 1) == 0).all()
    assert (stats.binom.logpmf(0, of, 0) == 0).all()
    assert (stats.nbinom.logpmf(0, np.float32([0.5, 1, 1000]), 1) == 0).all()


def test_vectors_are_distributed_as_in_scipy():
    random = np.random.default_rng(0)
    x, mean, root = (random.normal(size=shape).astype(np.float32) for shape in ((4, 3), (3,), (3, 3)))
    cov = root @ root.T + np.eye(3, dtype=np.float32)
    want = scipy_stats.multivariate_normal.logpdf(x, mean, cov)
    np.testing.assert_allclose(stats.multivariate_normal.logpdf(x, mean, cov), want, rtol=1e-4)
    np.testing.assert_allclose(stats.multivariate_normal.pdf(x, mean, cov), np.exp(want), rtol=1e-3)
    weights = np.float32([0.2, 0.5, 0.3])
    want = scipy_stats.dirichlet.logpdf(weights, [1.5, 2.0, 3.0])
    for given in (weights, weights[:2]):
        np.testing.assert_allclose(stats.dirichlet.logpdf(given, np.float32([1.5, 2.0, 3.0])), want, rtol=1e-5)


def test_arguments_are_given_by_position_or_by_name():
    by_name = stats.gamma.logpdf(1.5, a=2.0, scale=3.0)
    np.testing.assert_allclose(by_name, stats.gamma.logpdf(1.5, 2.0, 0, 3.0))
    np.testing.assert_allclose(stats.poisson.pmf(k=3, mu=2.0), stats.poisson.pmf(3, 2.0))
    np.testing.assert_allclose(stats.norm.ppf(q=0.3, loc=1.0), stats.norm.ppf(0.3, 1.0))
    for call, message in (
        (lambda: stats.gamma.pdf(1.5), r"gamma.pdf: missing a required argument: 'a'; its arguments are \(x, a, loc=0"),
        (lambda: stats.poisson.pmf(1, 2, 3, 4), r"poisson.pmf: too many .*; its arguments are \(k, mu, loc=0\)"),
        (lambda: stats.norm.isf(x=0.5), r"norm.isf: .*'q'; its arguments are \(q, loc=0, scale=1\)"),
        (lambda: stats.poisson.entropy(), r"poisson.entropy: .*'mu'; its arguments are \(mu, loc=0\)"),
    ):
        with pytest.raises(TypeError, match=message):
            call()
    with pytest.raises(NotImplementedError, match=r"t.cdf has no formula here; it has logpdf"):
        stats.t.cdf(0.0, 2.0)


def test_a_density_is_differentiated_with_respect_to_everything():
    def likelihood(loc: Any, scale: Any) -> Any:
        return stats.norm.logpdf(np.float32([0.5, 2.0]), loc, scale).sum()

    slopes = px.grad(likelihood, (0, 1))(np.float32(1.0), np.float32(2.0))
    np.testing.assert_allclose(slopes, [0.125, (0.25 + 1) / 8 - 1], rtol=1e-5)


def test_a_result_is_of_weak_type_only_if_all_arguments_are():
    flags, whole = np.array([True, False]), np.array([1, 2], np.uint8)
    calls = [
        stats.norm.logpdf(flags),
        stats.uniform.cdf(flags, loc=0.5),
        stats.chi2.logcdf(whole, 0.5),
        stats.beta.pdf(0.5, whole, 2),
        stats.cauchy.ppf(0.5, loc=flags),
        stats.bernoulli.ppf(flags, 0.5),
        stats.poisson.pmf(2, whole),
    ]
    assert not any(out.weak_type for out in calls)
    assert stats.cauchy.logpdf(2, 0.5).weak_type


def test_the_entropy_of_counts_agrees_with_scipy():
    mu = np.float32([1e-3, 0.5, 3, 10, 39.9, 40, 100])
    np.testing.assert_allclose(stats.poisson.entropy(mu), scipy_stats.poisson.entropy(mu), rtol=2e-5)
    assert np.asarray(stats.poisson.entropy(np.float32([0, -1, np.nan, np.inf]))).tolist()[::3] == [0, np.inf]
    assert np.isnan(stats.poisson.entropy(np.float32([-1, np.nan]))).all()
    assert stats.poisson.entropy(mu=3.0, loc=2.0) == stats.poisson.entropy(3.0)
    assert stats.poisson.entropy(3.0, loc=np.zeros((1, 3))).shape == (1, 3)
    slopes = px.vmap(px.grad(stats.poisson.entropy))(np.float32([0.5, 30, 50]))
    step = 1e-3
    of = scipy_stats.poisson.entropy
    want = [(of(mu + step) - of(mu - step)) / (2 * step) for mu in (0.5, 30, 50)]
    np.testing.assert_allclose(slopes, want, rtol=1e-2)
    with pytest.raises(NotImplementedError, match=r"bernoulli.entropy has no formula"):
        stats.bernoulli.entropy(0.5)


def test_arguments_have_the_names_that_they_have_in_jax():
    jax_stats = pytest.importorskip("jax.scipy.stats")
    compared = 0
    for name, family in vars(jax_stats).items():
        ours = getattr(stats, name, None)
        if not isinstance(ours, Continuous | Discrete):
            continue
        for method in ("pdf", "logpdf", "pmf", "logpmf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf", "entropy"):
            if hasattr(family, method):
                names = inspect.signature(getattr(family, method)).parameters
                getattr(ours, method)(**dict.fromkeys(names, np.float32(1)))
                compared += 1
    assert compared > 80
