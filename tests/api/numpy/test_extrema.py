"""Extrema, bytes, files and polynomials that newer releases of NumPy and jax have."""

from __future__ import annotations

import io

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp

pytestmark = pytest.mark.usefixtures("in_32_bits")

X = np.array([[3, 1, 2, 5], [5, 5, 0, -1]])
NAN, INF = np.nan, np.inf


def test_minmax_is_the_minimum_and_the_maximum():
    for options in ({}, {"axis": 1}, {"axis": (0, 1), "keepdims": True}):
        low, high = pnp.minmax(X, **options)
        np.testing.assert_array_equal(low, np.min(X, **options))
        np.testing.assert_array_equal(high, np.max(X, **options))
    assert [x.tolist() for x in pnp.minmax(X, 1, initial=(2, 4))] == [[1, -1], [5, 5]]
    assert [x.tolist() for x in pnp.minmax(X, 1, initial=2)] == [[1, -1], [5, 5]]
    assert [x.tolist() for x in pnp.minmax(X, 1, where=X > 1, initial=(9, -9))] == [[2, 5], [5, 5]]
    assert all(np.isnan(x) for x in pnp.minmax(pnp.array([1.0, NAN])))
    low, high = px.jit(px.grad(lambda x: pnp.subtract(*pnp.minmax(x)[::-1])))(pnp.array([1.0, 4.0])).tolist()
    assert (low, high) == (-1, 1)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["int32", "float32", "uint8", "bool"])
def test_top_k_is_the_beginning_of_a_sort(axis, dtype):
    x = np.abs(X).astype(dtype)
    for mode, order in (("largest", -x.astype(float)), ("smallest", x.astype(float))):
        positions = np.argsort(order, axis=axis, kind="stable")
        positions = np.take(positions, np.arange(2), axis=axis)
        values, found = pnp.top_k(x, 2, axis=axis, mode=mode)
        np.testing.assert_array_equal(found, positions)
        np.testing.assert_array_equal(values, np.take_along_axis(x, positions, axis))
        assert (values.dtype, found.dtype) == (dtype, np.int32)


def test_nan_is_the_greatest_element():
    x = pnp.array([1.0, NAN, 3.0, -INF])
    np.testing.assert_array_equal(pnp.top_k(x, 2)[0], [NAN, 3])
    np.testing.assert_array_equal(pnp.top_k(x, 3, mode="smallest")[0], [-INF, 1, 3])
    gradient = px.grad(lambda x: pnp.top_k(x, 2, mode="smallest")[0].sum())(pnp.array([1.0, 3.0, 2.0]))
    assert gradient.tolist() == [1, 0, 1]


def test_bytes_are_swapped_as_by_numpy():
    for dtype in ("int16", "uint32", "int8", "bool", "float16", "bfloat16"):
        x = pnp.array([1, 2], dtype)
        words = np.frombuffer(np.asarray(x).tobytes(), f"u{x.dtype.itemsize}")  # ml_dtypes 0.5.0 swaps no bfloat16
        assert np.asarray(x.byteswap()).tobytes() == words.byteswap().tobytes()
    x = pnp.array([1.5 + 2.5j])
    assert x.byteswap().byteswap().tolist() == x.tolist()
    assert px.jit(lambda x: x.byteswap())(pnp.array(3)) == np.int32(3).byteswap()


def test_files_and_buffers_of_bfloat16_are_read():
    x = pnp.array([1.0, 2.0], "bfloat16")
    file = io.BytesIO()
    pnp.save(file, x)
    file.seek(0)
    again = pnp.load(file)
    assert (again.dtype, again.tolist()) == (pnp.bfloat16, [1, 2])
    assert pnp.frombuffer(np.asarray(x).tobytes(), dtype="bfloat16").tolist() == [1, 2]


def test_leading_zeros_of_polynomials_are_left_out():
    for a, b in (([0, 1.0], [0.0, 2]), ([0, 0.0], [0.0, 2]), ([1.0, 2], [3.0])):
        want = np.polymul(a, b)
        np.testing.assert_array_equal(pnp.polymul(pnp.array(a), pnp.array(b), trim_leading_zeros=True), want)
    with pytest.raises(px.errors.ConcretizationTypeError, match="trim_leading_zeros"):
        px.jit(lambda a: pnp.polymul(a, a, trim_leading_zeros=True))(pnp.ones(2))


def test_a_key_is_of_a_type_for_annotations():
    key = px.random.key(0)
    assert px.random.Key(key) is key


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: pnp.minmax(X, out=X), NotImplementedError, "minmax: out must be None"),
        (lambda: pnp.minmax([1, 2]), TypeError, "minmax: a must be an array"),
        (lambda: pnp.top_k(X, 9, mode="smallest"), ValueError, "k must be"),
        (lambda: pnp.top_k(np.float32(X), 9, mode="smallest"), ValueError, "top_k: k must be from 0 to 4"),
        (lambda: pnp.top_k(X, 1, mode="both"), ValueError, "top_k: mode must be 'largest' or 'smallest'"),
        (lambda: pnp.top_k(X, 2.0), TypeError, "top_k: k must be an integer"),
        (lambda: pnp.top_k(1j * X, 1, mode="smallest"), TypeError, "top_k: a must be real"),
        (lambda: pnp.top_k(X, 1, axis=2), ValueError, "top_k: axis must be"),
    ],
)
def test_wrong_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
