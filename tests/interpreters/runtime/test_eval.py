"""The dispatch of compiled programs: what reaches a program that has been compiled before, without asking Python."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax

SWAPPED = np.array([1.0, 2.0, 3.0], np.dtype(np.float32).newbyteorder("S"))


class Labelled(np.ndarray):
    pass


def counted():
    """A jitted function, and how often it has been traced."""
    calls = []

    @px.jit
    def double(x):
        calls.append(None)
        return x + x

    return double, calls


def test_a_second_call_with_the_other_byte_order_reads_the_values():
    double, calls = counted()
    for x in (np.ones(3, np.float32), SWAPPED, SWAPPED, SWAPPED.astype(np.float32), SWAPPED):
        np.testing.assert_array_equal(double(x), 2 * x)
    assert len(calls) == 1
    for x in (SWAPPED, np.ones(3, np.float32), SWAPPED):
        np.testing.assert_array_equal(lax.neg(x), -x)
        np.testing.assert_array_equal(lax.add(x, np.float32(1)), x + 1)


@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
@pytest.mark.parametrize("kind", [np.int16, np.float16, np.complex64, np.float64, np.uint64])
def test_the_other_byte_order_in_every_dtype_and_shape(kind, shape):
    double, _ = counted()
    native = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(kind)
    swapped = native.astype(native.dtype.newbyteorder("S"))
    for x in (native, swapped, native.T, swapped.T):
        np.testing.assert_array_equal(double(x), 2 * native.reshape(shape) if x.shape == shape else 2 * native.T)


@pytest.mark.parametrize("kind", [np.matrix, np.recarray, Labelled])
def test_subclasses_of_numpy_arrays_are_read_after_plain_ones(kind):
    double, calls = counted()
    native = np.array([[1.0, 2.0]], np.float32)
    swapped = native.astype(native.dtype.newbyteorder("S"))
    for x in (native, native.view(kind), swapped.view(kind), native.view(kind)):
        np.testing.assert_array_equal(double(x), [[2.0, 4.0]])
    assert len(calls) == 1


def test_memory_maps_of_the_other_byte_order_are_read(tmp_path):
    np.save(tmp_path / "x.npy", SWAPPED)
    x = np.load(tmp_path / "x.npy", mmap_mode="r")
    double, _ = counted()
    for y in (SWAPPED.astype(np.float32), x, x):
        np.testing.assert_array_equal(double(y), [2.0, 4.0, 6.0])


def test_arrays_with_a_mask_are_refused_after_plain_ones():
    double, _ = counted()
    double(np.ones(3, np.float32))
    double(np.float32(1))
    for x in (np.ma.masked_array(np.ones(3, np.float32), [0, 1, 0]), np.ma.masked_array(np.float32(1), True)):
        with pytest.raises(ValueError, match="mask"):
            double(x)
    assert double(np.ones(3, np.float32)).tolist() == [2.0] * 3


def test_numpy_arrays_take_the_fast_path():
    double, calls = counted()
    x = np.ones(3, np.float32)
    double(x)
    before = double._cache_size()
    for _ in range(3):
        double(x)
    assert (double._cache_size(), len(calls)) == (before, 1)
    assert double(pnp.ones(3, np.float32)).tolist() == [2.0] * 3
    assert len(calls) == 1
