"""Grids, images, samples and codes against SciPy and jax."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.scipy import integrate, ndimage
from primax.scipy.cluster import vq
from primax.scipy.interpolate import RegularGridInterpolator
from primax.test_util import check_grads

scipy = pytest.importorskip("scipy")
scipy_interpolate = pytest.importorskip("scipy.interpolate")

pytestmark = [pytest.mark.usefixtures("in_32_bits"), pytest.mark.any_release]

RNG = np.random.default_rng(0)
GRID = (np.array([0.0, 1.0, 3.0]), np.array([-1.0, 0.0, 0.5, 2.0]))
VALUES = RNG.normal(size=(3, 4))
POINTS = np.array([[0.2, -0.3], [3.0, 2.0], [0.0, -1.0], [2.5, 0.5], [-1.0, 0.0], [4.0, 3.0]])
IMAGE = RNG.normal(size=(4, 5)).astype(np.float32)


@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("fill", [np.nan, None, 7.0])
def test_grids_are_interpolated_as_by_scipy(method, fill):
    with px.enable_x64(True):
        for values in (VALUES, np.stack([VALUES, 2 * VALUES], -1)):
            got = RegularGridInterpolator(GRID, values, method, fill_value=fill)
            want = scipy_interpolate.RegularGridInterpolator(GRID, values, method, bounds_error=False, fill_value=fill)
            np.testing.assert_allclose(got(POINTS), want(POINTS), rtol=1e-12)
            np.testing.assert_allclose(got(POINTS.reshape(2, 3, 2)), want(POINTS.reshape(2, 3, 2)), rtol=1e-12)
        np.testing.assert_allclose(got((POINTS[:, 0], POINTS[:, 1])), want((POINTS[:, 0], POINTS[:, 1])))


def test_coordinates_may_decrease():
    with px.enable_x64(True):
        grid = GRID[0][::-1].copy(), GRID[1]
        got = RegularGridInterpolator(grid, VALUES)(POINTS)
        want = scipy_interpolate.RegularGridInterpolator(grid, VALUES, bounds_error=False)(POINTS)
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_interpolation_on_grids_is_differentiated_and_compiled():
    with px.enable_x64(True):
        inside = POINTS[[0, 3]] + 0.01
        check_grads(lambda v, x: RegularGridInterpolator(GRID, v)(x), (VALUES, inside), 2)
        np.testing.assert_allclose(
            px.jit(lambda v, x: RegularGridInterpolator(GRID, v)(x))(VALUES, inside),
            RegularGridInterpolator(GRID, VALUES)(inside),
        )
    line = RegularGridInterpolator((np.arange(3),), np.float32([1, 3, 7]))
    assert line(np.float32([0.5, 1.5, 2.0])).tolist() == [2, 5, 7]
    assert (line(0.5).tolist(), line((0.5,)).tolist()) == ([2], 2)
    assert RegularGridInterpolator((np.arange(2),), np.int32([1, 3]))(np.float32([0.5])).tolist() == [2.0]


@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("dtypes", [("float16", "float32"), ("float32", "float16"), ("bfloat16", "float16")])
def test_interpolated_values_have_the_dtype_of_those_in_jax(jax, method, dtypes):
    of_jax = pytest.importorskip("jax.scipy.interpolate").RegularGridInterpolator
    of_values, of_points = map(jax.numpy.dtype, dtypes)
    got, want = (
        of(GRID, VALUES.astype(of_values), method)(POINTS.astype(of_points)) for of in (RegularGridInterpolator, of_jax)
    )
    assert got.dtype == want.dtype
    np.testing.assert_allclose(np.float32(got), np.float32(want), rtol=1e-5)


def test_the_nearest_of_values_that_promote_to_nothing_are_found(jax):
    values = np.array([[-1, 1], [0.5, 2], [-3, 4]]).astype(jax.numpy.float8_e4m3b11fnuz)
    interpolate = RegularGridInterpolator((np.arange(3.0), np.arange(2.0)), values, "nearest", fill_value=None)
    found = interpolate(np.float32([[2.5, 0.3], [1.5, 0.9]]))
    assert (found.dtype, found.tolist()) == (values.dtype, [-3, 2])


@pytest.mark.parametrize("mode", ["constant", "nearest", "mirror", "wrap", "reflect"])
@pytest.mark.parametrize("order", [0, 1])
def test_coordinates_are_mapped_as_in_jax(jax, mode, order):
    from_jax = pytest.importorskip("jax.scipy.ndimage")
    coordinates = RNG.uniform(-9, 12, (2, 40)).astype(np.float32)
    coordinates = np.concatenate([coordinates, [[-0.5, 1.5, 2.0, -4.0], [0.5, 2.5, 3.0, 9.0]]], 1).astype(np.float32)
    for image in (IMAGE, (10 * IMAGE).astype(np.int32), IMAGE * np.complex64(1j)):
        got = ndimage.map_coordinates(image, list(coordinates), order, mode, cval=2)
        want = from_jax.map_coordinates(image, list(coordinates), order, mode, cval=2)
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_mapped_coordinates_are_differentiated():
    with px.enable_x64(True):
        check_grads(
            lambda image, x: ndimage.map_coordinates(image, [x, x + 1.3], 1, "nearest"),
            (IMAGE.astype(np.float64), np.array([0.3, 1.6, 2.2])),
            2,
        )
    assert ndimage.map_coordinates(np.int32([1, 4]), [np.int32([1, 0])], 1).tolist() == [4, 1]


def test_samples_are_integrated_and_coded_as_by_scipy():
    x = np.sort(RNG.uniform(size=5)).astype(np.float32)
    np.testing.assert_allclose(integrate.trapezoid(IMAGE, x), np.trapezoid(IMAGE, x), rtol=1e-5)
    np.testing.assert_allclose(
        integrate.trapezoid(IMAGE, dx=0.5, axis=0), np.trapezoid(IMAGE, dx=0.5, axis=0), rtol=1e-5
    )
    codes = pytest.importorskip("scipy.cluster.vq")
    for a, b in ((IMAGE, IMAGE[::-1] + 0.1), (IMAGE[0], IMAGE[1])):
        got, want = vq.vq(a, b), codes.vq(a, b)
        np.testing.assert_array_equal(got[0], want[0])
        np.testing.assert_allclose(got[1], want[1], rtol=1e-5)
    assert vq.vq(np.float32([1e30]), np.float32([-1]))[1].tolist() == np.float32([1e30]).tolist()
    slopes = px.grad(lambda x: vq.vq(x, IMAGE)[1].sum())
    assert not np.asarray(slopes(IMAGE)).any()  # the distance is least there
    away = np.float32([3, 0, 0, 4, 0]) * 1e-3
    np.testing.assert_allclose(slopes(IMAGE + away), np.broadcast_to(away / 5e-3, IMAGE.shape), rtol=1e-3, atol=1e-3)
    assert px.vmap(lambda row: vq.vq(row, pnp.array([0.0, 1.0]))[0])(IMAGE).shape == (4, 5)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: RegularGridInterpolator(GRID, VALUES, "cubic"), ValueError, "method must be"),
        (lambda: RegularGridInterpolator(GRID, VALUES, bounds_error=True), NotImplementedError, "bounds_error must be"),
        (lambda: RegularGridInterpolator(GRID, VALUES[:2]), ValueError, r"points\[0\] must be of rank 1"),
        (lambda: RegularGridInterpolator(GRID, VALUES[0]), ValueError, "values must have an axis for each of 2 points"),
        (lambda: RegularGridInterpolator((abs(GRID[0] - 1), GRID[1]), VALUES), ValueError, "increasing or decreasing"),
        (lambda: RegularGridInterpolator(GRID, VALUES)(np.zeros(3)), ValueError, "xi must have 2 coordinates"),
        (lambda: ndimage.map_coordinates(IMAGE, [1, 2], 2), NotImplementedError, "order must be 0 or 1, got 2"),
        (lambda: ndimage.map_coordinates(IMAGE, [1, 2], 1, "edge"), NotImplementedError, "mode must be one of"),
        (lambda: ndimage.map_coordinates(IMAGE, [1], 1), ValueError, "coordinates must be 2, one for each axis, got 1"),
        (lambda: vq.vq(IMAGE, IMAGE[0]), ValueError, "vq: obs and code_book must both be of rank 1 or 2"),
        (lambda: vq.vq(IMAGE, IMAGE[:, :2]), ValueError, "code_book must have vectors of length 5, got 2"),
    ],
)
def test_wrong_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
