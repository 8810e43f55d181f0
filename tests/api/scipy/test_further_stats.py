"""Samples, estimated densities and further distributions of px.scipy.stats against SciPy and jax."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.scipy import stats
from primax.test_util import check_grads

scipy_stats = pytest.importorskip("scipy.stats")

pytestmark = [pytest.mark.usefixtures("in_32_bits"), pytest.mark.any_release]

TABLE = np.array([[1, 2, 2, 3], [3, 3, 1, 2], [1, 3, 2, 2.0]])
NAN, INF = np.nan, np.inf


def test_modes_ranks_and_errors_of_means_are_those_of_scipy():
    missing = TABLE.copy()
    missing[0, 0] = NAN
    for x, axis in itertools.product((TABLE, missing, TABLE.astype(int)), (0, 1, -1, None)):
        for keepdims in (False, True):
            got, want = stats.mode(x, axis, keepdims=keepdims), scipy_stats.mode(x, axis, keepdims=keepdims)
            np.testing.assert_array_equal(got.mode, want.mode)
            assert got.mode.shape == np.shape(want.mode)
            np.testing.assert_array_equal(got.count, want.count)
            np.testing.assert_allclose(
                stats.sem(x, axis, keepdims=keepdims), scipy_stats.sem(x, axis, keepdims=keepdims), rtol=1e-6
            )
        for method in ("average", "min", "max", "dense", "ordinal"):
            want = scipy_stats.rankdata(x, method, axis=axis).astype(float)
            got = stats.rankdata(x, method, axis=axis)
            np.testing.assert_array_equal(got, want.reshape(got.shape))
    assert np.isnan(stats.mode(np.float32([NAN, 1, NAN])).mode)
    omitted = scipy_stats.sem(missing, 0, nan_policy="omit")
    np.testing.assert_allclose(stats.sem(missing, 0, nan_policy="omit"), omitted, rtol=1e-6)
    assert stats.rankdata(np.zeros(0)).shape == (0,)
    assert px.jit(stats.mode)(np.int32([4, 4, 1])).mode == 4


@pytest.mark.parametrize("shape, axis", [((0, 3), 0), ((2, 0), 1), ((0, 3), 1), ((0,), None)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_modes_of_nothing_are_those_of_jax(shape, axis, keepdims):
    jax = pytest.importorskip("jax")
    jax_stats = pytest.importorskip("jax.scipy.stats")
    for dtype in ("float32", "int8"):
        x = np.zeros(shape, dtype)
        got, want = stats.mode(x, axis, keepdims=keepdims), jax_stats.mode(x, axis, keepdims=keepdims)
        for ours, theirs in zip(got, want, strict=True):
            assert (ours.shape, ours.dtype, ours.weak_type) == (theirs.shape, theirs.dtype, theirs.weak_type)
            np.testing.assert_array_equal(ours, jax.device_get(theirs))
    with px.enable_x64(True):
        assert stats.rankdata(TABLE).dtype == np.float64


def test_further_distributions_are_those_of_scipy():
    x = np.array([-7.0, -3.0, -1.0, 0.0, 0.3, 1.0, 2.0, 6.0, 6.5, 40.0, NAN, INF, -INF])
    ends = np.array([(-1, 2), (2, 1), (5, 9), (-40, -30), (-INF, 0.5), (1, INF), (-0.5, 0.5), (30, 45)]).T
    grid, low = np.meshgrid(x, ends[0], indexing="ij")
    high = np.broadcast_to(ends[1], low.shape)
    with px.enable_x64(True), np.errstate(all="ignore"):
        for method in ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"):
            got = getattr(stats.truncnorm, method)(grid, low, high)
            want = getattr(scipy_stats.truncnorm, method)(grid, low, high)
            np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-16, err_msg=method)
        for method in ("pdf", "logpdf"):
            for kappa in (0.01, 2.0, 300.0):
                got = getattr(stats.vonmises, method)(x, kappa, 0.1, 2.0)
                want = getattr(scipy_stats.vonmises, method)(x, kappa, 0.1, 2.0)
                finite = np.isfinite(x)
                np.testing.assert_allclose(got[finite], want[finite], rtol=1e-9, err_msg=method)
            for c in (0.3, 0.999, 1.3):
                got = getattr(stats.wrapcauchy, method)(x, c)
                np.testing.assert_allclose(got, getattr(scipy_stats.wrapcauchy, method)(x, c), rtol=1e-9)
    np.testing.assert_allclose(
        stats.truncnorm.logpdf(np.float32(31), 30, 45), scipy_stats.truncnorm.logpdf(31, 30, 45), rtol=1e-5
    )


def test_the_multinomial_distribution_is_that_of_scipy():
    p = np.array([0.2, 0.3, 0.5])
    counts = np.array([[1, 2, 3], [6, 0, 0], [1, 2, 4], [-1, 4, 3]])
    with px.enable_x64(True):
        np.testing.assert_allclose(stats.multinomial.logpmf(counts, 6, p), scipy_stats.multinomial.logpmf(counts, 6, p))
        check_grads(lambda p: stats.multinomial.pmf(counts[:2], 6, p), (p,), 2)
        certain = stats.multinomial.pmf(np.array([0, 3]), 3, np.array([0.0, 1.0]))
        np.testing.assert_allclose(certain, 1, rtol=1e-14)


def test_densities_have_right_gradients_in_and_out_of_their_support():
    with px.enable_x64(True):
        inside = np.array([-0.5, 0.2, 1.4])
        for name in ("logpdf", "logcdf", "logsf"):
            check_grads(getattr(stats.truncnorm, name), (inside, inside - 1, inside + 1.5), 1, "rev")
        check_grads(
            lambda x, a: stats.truncnorm.logsf(x, a, a + 9), (np.array([31.0]), np.array([30.0])), 1, "rev", rtol=1e-4
        )
        check_grads(stats.vonmises.logpdf, (inside, inside + 1), 2, "rev")
        check_grads(stats.wrapcauchy.logpdf, (inside + 1, np.array([0.2, 0.5, 0.9])), 2, "rev")
    gradients = px.vmap(px.grad(stats.truncnorm.pdf), (0, None, None))(pnp.array([-2.0, 3.0]), -1.0, 2.0)
    assert gradients.tolist() == [0, 0]


@pytest.mark.parametrize("method", [None, "scott", "silverman", 0.3])
def test_estimated_densities_are_those_of_scipy(method):
    rng = np.random.default_rng(0)
    for d in (1, 2):
        data, weights, points = rng.normal(size=(d, 20)), rng.uniform(0.5, 1, 20), rng.normal(size=(d, 7))
        want = scipy_stats.gaussian_kde(data, method, weights)
        other = scipy_stats.gaussian_kde(data + 1, method)
        with px.enable_x64(True):
            got = stats.gaussian_kde(data, method, weights)
            np.testing.assert_allclose(got.covariance, want.covariance, rtol=1e-10)
            np.testing.assert_allclose(got.inv_cov, want.inv_cov, rtol=1e-9)
            np.testing.assert_allclose(got(points), want(points), rtol=1e-9)
            np.testing.assert_allclose(got.logpdf(points), want.logpdf(points), rtol=1e-9)
            np.testing.assert_allclose(got.pdf(points[:, 0]), want.pdf(points[:, 0]), rtol=1e-9)
            cov = np.eye(d) * 0.3
            np.testing.assert_allclose(
                got.integrate_gaussian(points[:, 0], cov), want.integrate_gaussian(points[:, 0], cov), rtol=1e-9
            )
            again = stats.gaussian_kde(data + 1, method)
            np.testing.assert_allclose(got.integrate_kde(again), want.integrate_kde(other), rtol=1e-9)
            if d == 1:
                np.testing.assert_allclose(got.integrate_box_1d(-1, 0.5), want.integrate_box_1d(-1, 0.5), rtol=1e-9)
    assert stats.gaussian_kde(np.float32([1, 2, 4]), lambda kde: kde.neff / 30).covariance.dtype == np.float32


def test_estimates_are_resampled_as_in_jax(jax):
    data = np.random.default_rng(0).normal(size=(2, 30)).astype(np.float32)
    got = stats.gaussian_kde(data).resample(px.random.key(3), shape=(4,))
    want = pytest.importorskip("jax.scipy.stats").gaussian_kde(data).resample(jax.random.key(3), shape=(4,))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_estimates_are_pytrees():
    data = pnp.array([0.0, 1.0, 3.0])
    at = px.jit(lambda kde, x: kde.logpdf(x))(stats.gaussian_kde(data), pnp.array([0.5]))
    np.testing.assert_allclose(at, stats.gaussian_kde(data).logpdf(0.5), rtol=1e-6)
    check_grads(lambda data: stats.gaussian_kde(data).logpdf(pnp.array([0.5])), (data,), 1, rtol=2e-2)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (
            lambda: stats.mode(TABLE, nan_policy="omit"),
            NotImplementedError,
            "mode: nan_policy must be 'propagate', got",
        ),
        (lambda: stats.rankdata([1.0]), TypeError, "rankdata: argument 0 must be an array"),
        (lambda: stats.rankdata(TABLE, "last"), ValueError, "rankdata: method must be one of 'average'"),
        (lambda: stats.rankdata(TABLE, axis=2), ValueError, "rankdata: axis must be from -2 to 1, got 2"),
        (
            lambda: stats.sem(TABLE, nan_policy="raise"),
            NotImplementedError,
            "must be 'propagate' or 'omit', got 'raise'",
        ),
        (lambda: stats.sem(TABLE, 5), ValueError, "sem: axis must be from"),
        (lambda: stats.gaussian_kde(TABLE[:, :1]), ValueError, r"shape \(d, n\) with d > 0 and n > 1"),
        (lambda: stats.gaussian_kde(TABLE[:0]), ValueError, r"shape \(d, n\) with d > 0 and n > 1, got \(0, "),
        (lambda: stats.gaussian_kde(1j * TABLE), TypeError, "gaussian_kde: dataset must be real"),
        (lambda: stats.gaussian_kde(TABLE, "box"), ValueError, "bw_method must be"),
        (lambda: stats.gaussian_kde(TABLE, weights=TABLE), ValueError, "weights must have the shape"),
        (lambda: stats.gaussian_kde(TABLE[:2])(TABLE), ValueError, "evaluate: points must have the shape"),
        (lambda: stats.gaussian_kde(TABLE[:2]).integrate_box_1d(0, 1), ValueError, "must have 1 dimension, got 2"),
        (lambda: stats.gaussian_kde(TABLE[:2]).set_bandwidth(), NotImplementedError, "must keep its bandwidth"),
        (lambda: stats.truncnorm.ppf(0.5, 0, 1), NotImplementedError, "truncnorm.ppf has no formula here"),
    ],
)
def test_wrong_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
