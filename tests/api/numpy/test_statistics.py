"""Statistics and Fourier transforms of what is empty, masked or badly conditioned, against NumPy and jax."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp

jax = pytest.importorskip("jax")

pytestmark = [pytest.mark.usefixtures("in_32_bits"), pytest.mark.any_release]


@pytest.mark.parametrize("name", ["nanvar", "nanstd"])
def test_derivatives_leave_nan_out(name):
    x = np.array([[1.0, 2.0, np.nan, 4.0], [1e4, 1e4 + 1, 1e4 + 3, np.nan]], np.float32)
    for ddof in (0, 1):
        got = px.grad(lambda v, ddof=ddof: getattr(pnp, name)(v, 1, ddof=ddof).sum())(x)
        want = jax.grad(lambda v, ddof=ddof: getattr(jax.numpy, name)(v, 1, ddof=ddof).sum())(x)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    nothing = px.value_and_grad(getattr(pnp, name))(np.full(3, np.nan, np.float32))
    assert np.isnan(nothing[0])
    np.testing.assert_array_equal(nothing[1], np.zeros(3))


def test_the_derivative_of_a_variance_leaves_out_what_where_leaves_out():
    keep = np.array([True, False, True])
    got = px.grad(lambda v: pnp.var(v, where=keep))(np.float32([1.0, np.nan, 3.0]))
    np.testing.assert_allclose(got, [-1.0, 0.0, 1.0])


def test_a_deviation_around_a_large_mean_is_accurate():
    x = (1e4 + np.random.default_rng(0).normal(size=(3, 50))).astype(np.float32)
    x[0, :3] = np.nan
    wide = x.astype(float)
    np.testing.assert_allclose(pnp.nanstd(x, axis=1), np.nanstd(wide, axis=1), rtol=1e-4)
    slopes = px.grad(lambda v: pnp.nanstd(v, 1).sum())(x)
    away = wide - np.nanmean(wide, axis=1, keepdims=True)
    want = away / np.nanstd(wide, axis=1, keepdims=True) / np.isfinite(wide).sum(1, keepdims=True)
    np.testing.assert_allclose(slopes, np.nan_to_num(want), rtol=1e-2, atol=2e-5)


@pytest.mark.parametrize("name", ["cov", "corrcoef"])
@pytest.mark.parametrize("shape", [(0,), (0, 2), (2, 0), (0, 0)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64", "int32"])
def test_covariances_of_nothing_are_those_of_jax(name, shape, dtype):
    x = np.zeros(shape, dtype)
    for rowvar in (True, False):
        got, want = getattr(pnp, name)(x, rowvar=rowvar), getattr(jax.numpy, name)(x, rowvar=rowvar)
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("shapes", [((1, 3),), ((3,),), ((3, 1), (1, 3)), ((3, 1), (3,)), ((4, 1), (4, 2)), ((1, 1),)])
def test_columns_are_variables_of_one_row_too(shapes):
    arrays = [np.arange(1.0, 1 + np.prod(s), dtype=np.float32).reshape(s) ** 2 for s in shapes]
    got, want = pnp.cov(*arrays, rowvar=False), jax.numpy.cov(*arrays, rowvar=False)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_covariances_of_too_few_observations_are_those_of_numpy():
    x = np.float32([[1.0, 2.0, 4.0], [3.0, 1.0, 1.0]])
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning):
        want = np.cov(x, ddof=5)
    np.testing.assert_array_equal(pnp.cov(x, ddof=5), want)


def test_the_derivative_of_frexp_is_a_power_of_two():
    x = np.float32([3.0, -5.5, 0.75, 1e-30, 1e30])
    _, exponents = np.frexp(x)
    got = px.grad(lambda v: pnp.frexp(v)[0].sum())(x)
    np.testing.assert_array_equal(got, np.ldexp(np.float32(1), -exponents))
    for value in np.float32([0.0, np.inf, np.nan]):
        np.testing.assert_array_equal(
            px.grad(lambda v: pnp.frexp(v)[0])(value), jax.grad(lambda v: jax.numpy.frexp(v)[0])(value)
        )


@pytest.mark.parametrize("name", ["fft", "ifft", "irfft", "hfft", "fft2", "irfft2", "rfft2", "fftn", "ifftn", "irfftn"])
def test_transforms_of_nothing_are_those_of_jax(name):
    shapes = [(0,), (2, 0), (0, 2)] if name in ("fft", "ifft", "irfft", "hfft") else [(2, 0), (0, 2), (0, 0)]
    for shape in shapes:
        x = np.zeros(shape, np.float32)
        if name == "rfft2" and not shape[-1]:
            with pytest.raises(ValueError, match="rfft2: the number of points must be positive, got 0"):
                pnp.fft.rfft2(x)
            continue
        got, want = getattr(pnp.fft, name)(x), getattr(jax.numpy.fft, name)(x)
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
    with pytest.raises(ValueError, match=f"{name}: the number of points must be positive, got 0"):
        getattr(pnp.fft, name)(np.zeros((2, 2), np.float32), 0 if name in ("fft", "ifft", "irfft", "hfft") else (2, 0))


@pytest.mark.parametrize("x", [1, 2.0, 3j])
def test_transforms_of_numbers_along_no_axis_have_no_weak_type(x):
    got, want = pnp.fft.ifftn(x), jax.numpy.fft.ifftn(x)
    assert (got.weak_type, got.dtype) == (want.weak_type, want.dtype) == (False, np.complex64)
    assert complex(got) == x


def test_tensorsolve_moves_several_axes_to_the_end_in_their_order():
    random = np.random.default_rng(1)
    a = random.normal(size=(2, 3, 2, 3)).astype(np.float32)
    b = random.normal(size=(2, 3)).astype(np.float32)
    np.testing.assert_allclose(pnp.linalg.tensorsolve(a, b, (0, 1)), np.linalg.tensorsolve(a, b, (0, 1)), rtol=1e-3)
    a = random.normal(size=(3, 2, 3, 2)).astype(np.float32)
    np.testing.assert_allclose(pnp.linalg.tensorsolve(a, b, (0, 3)), np.linalg.tensorsolve(a, b, (0, 3)), rtol=1e-3)


def test_quantiles_of_nothing_and_at_no_place_are_nan():
    x, nothing = np.float32([1.0, 2.0, 4.0]), np.zeros((0, 2), np.float32)
    for name in ("quantile", "nanquantile"):
        quantile = getattr(pnp, name)
        assert quantile(x, np.zeros(0)).shape == (0,)
        np.testing.assert_allclose(quantile(x, [np.nan, 0.5]), [np.nan, 2.0])
        np.testing.assert_array_equal(quantile(nothing, 0.5, 0), [np.nan, np.nan])
    np.testing.assert_array_equal(pnp.nanmedian(nothing, 0), [np.nan, np.nan])
    np.testing.assert_array_equal(pnp.nanquantile(x, np.nan, method="lower"), np.nan)


def test_the_trapezoidal_rule_of_nothing_is_zero():
    np.testing.assert_array_equal(pnp.trapezoid(np.zeros((3, 0), np.float32)), np.zeros(3))
    np.testing.assert_array_equal(pnp.trapezoid(np.zeros(0, np.float32), np.zeros(0, np.float32)), 0.0)


@pytest.mark.parametrize(
    "name",
    "nansum nanprod nanmax nanmin nanargmax nanargmin nanmean nanvar nanstd nancumsum nancumprod ptp count_nonzero "
    "average".split(),
)
def test_an_axis_out_of_range_is_refused_in_the_name_of_the_function(name):
    with pytest.raises(ValueError, match=rf"^{name}: axis must be in \[-1, 1\), got 1"):
        getattr(pnp, name)(np.float32([1, 2]), axis=1)


def test_covariances_of_no_variables_are_none_whatever_others_are_given() -> None:
    for y in (np.ones(3, np.float32), np.ones((2, 3), np.float32)):
        assert pnp.cov(np.zeros((0, 3)), y).shape == pnp.corrcoef(np.zeros((0, 3)), y).shape == (0, 0)
    assert pnp.cov(np.ones(3), np.zeros((0, 3))).shape == ()
