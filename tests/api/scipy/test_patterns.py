"""Matrices with a pattern, of several vectors at once, against jax and scipy.linalg."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px

scipy_linalg = pytest.importorskip("scipy.linalg")
jax = pytest.importorskip("jax")

pytestmark = [pytest.mark.usefixtures("in_32_bits"), pytest.mark.any_release]

ROWS = np.float32([[1.0, 2.0, 4.0], [3.0, 5.0, 6.0]])
NOTHING = np.zeros((2, 0), np.float32)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("hankel", (ROWS,)),
        ("hankel", (ROWS[0], ROWS)),
        ("hankel", (ROWS, ROWS[0])),
        ("hankel", (NOTHING,)),
        ("toeplitz", (ROWS[0], ROWS)),
        ("toeplitz", (ROWS[:, None], ROWS)),
        ("leslie", (ROWS, ROWS[:, 1:])),
        ("leslie", (ROWS[0], ROWS[:, 1:])),
        ("fiedler_companion", (ROWS,)),
        ("fiedler_companion", (ROWS[:, :2],)),
        ("fiedler_companion", (ROWS[:, :1],)),
        ("convolution_matrix", (ROWS, 4)),
        ("convolution_matrix", (ROWS, 4, "same")),
        ("convolution_matrix", (ROWS[None], 2, "valid")),
        ("circulant", (NOTHING,)),
        ("fiedler", (NOTHING,)),
    ],
)
def test_several_vectors_give_several_matrices(name, args):
    got, want = getattr(px.scipy.linalg, name)(*args), getattr(jax.scipy.linalg, name)(*args)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_matrices_of_one_vector_are_those_of_scipy():
    a = np.array([2.0, 3.0, 5.0, 7.0, 11.0], np.float32)
    for name, args in {"leslie": (a, a[1:]), "fiedler_companion": (a,), "convolution_matrix": (a, 3, "same")}.items():
        np.testing.assert_allclose(getattr(px.scipy.linalg, name)(*args), getattr(scipy_linalg, name)(*args), rtol=1e-6)


def test_infinite_elements_stay_where_they_are():
    a = np.array([1.0, np.inf, 2.0], np.float32)
    for name, args in {"hankel": (a,), "toeplitz": (a,), "convolution_matrix": (a, 2)}.items():
        np.testing.assert_array_equal(getattr(px.scipy.linalg, name)(*args), getattr(scipy_linalg, name)(*args))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.hankel(3.0), "hankel: c must have rank 1 or more, got a number"),
        (lambda m: m.toeplitz(ROWS, np.ones((3, 3), np.float32)), r"toeplitz: leading axes must broadcast, got shapes"),
        (lambda m: m.leslie(ROWS, ROWS), "leslie: f must have one element more than s"),
        (lambda m: m.fiedler_companion(NOTHING), "fiedler_companion: a must hold one coefficient or more"),
        (lambda m: m.convolution_matrix(NOTHING, 2), "convolution_matrix: a must hold vectors of one element or more"),
    ],
)
def test_what_gives_no_matrix_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(px.scipy.linalg)


def test_each_companion_matrix_holds_its_own_infinities_only():
    found = np.asarray(px.scipy.linalg.companion(np.array([[1, 2, 3], [0, 1, 0]], np.float32)))
    np.testing.assert_array_equal(found, [[[-2, -3], [1, 0]], [[-np.inf, np.nan], [1, 0]]])


@pytest.mark.parametrize("dtype", ["int32", "float32", bool])
def test_a_fourier_matrix_is_complex(dtype):
    with pytest.raises(ValueError, match=r"^dft: dtype must be complex, got"):
        px.scipy.linalg.dft(3, dtype=dtype)
    assert px.scipy.linalg.dft(3, dtype="complex64").dtype == np.complex64
