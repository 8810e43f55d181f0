"""Capsules of DLPack are read without NumPy's help."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import primax.numpy as pnp
from primax.interpreters.runtime.dlpack import capsule_address, capsule_dtype, capsule_view


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint16", "complex64", "bool"])
def test_a_capsule_of_numpy_is_read(dtype: str) -> None:
    x = np.arange(6).reshape(2, 3).astype(dtype)
    assert capsule_dtype(x.__dlpack__()) == x.dtype
    assert capsule_address(x.__dlpack__()) == x.ctypes.data
    view = capsule_view(x.__dlpack__())
    assert np.shares_memory(view, x)
    np.testing.assert_array_equal(view, x)


def test_strides_and_offsets_are_kept() -> None:
    x = np.arange(12, dtype=np.int32).reshape(3, 4)
    for part in (x[:, 1::2], x.T, x[1:, 2:]):
        np.testing.assert_array_equal(capsule_view(part.__dlpack__()), part)
    assert capsule_view(np.zeros((0, 3)).__dlpack__()).shape == (0, 3)


def test_dtypes_of_ml_dtypes_are_known_by_their_codes() -> None:
    x = pnp.asarray([1.5, -2], ml_dtypes.bfloat16)
    assert capsule_dtype(x.__dlpack__()) == ml_dtypes.bfloat16
    assert capsule_view(x.__dlpack__()).tolist() == [1.5, -2]


def test_a_view_keeps_the_memory_alive() -> None:
    view = capsule_view(pnp.arange(1000.0).__dlpack__())
    for _ in range(20):
        pnp.zeros(1000)
    assert view.sum() == 499500
