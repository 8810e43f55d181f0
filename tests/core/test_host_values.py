"""Values of the host become arrays of the type that programs give them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primax as px
from primax.core import host_values
from primax.core.avals import ShapedArray
from primax.core.dtypes import float0
from primax.core.host_values import array_of, arrays_of, from_host, maker

pytestmark = pytest.mark.usefixtures("in_32_bits")


@pytest.mark.parametrize(
    "x, aval",
    [
        (True, ShapedArray((), np.bool_)),
        (2, ShapedArray((), np.int32, True)),
        (2.5, ShapedArray((), np.float32, True)),
        (1j, ShapedArray((), np.complex64, True)),
        (np.float16(1), ShapedArray((), np.float16)),
        (np.arange(3), ShapedArray((3,), np.int32)),
    ],
)
def test_a_host_value_becomes_an_array_of_its_type(x: Any, aval: ShapedArray) -> None:
    array = from_host(x)
    assert px.typeof(array) == aval
    np.testing.assert_array_equal(array, x)


def test_other_values_stay_as_they_are() -> None:
    array = px.numpy.ones(2)
    zeros = np.zeros(2, float0)
    for x in (array, zeros, "text", None, [1.0]):
        assert from_host(x) is x


def test_arrays_of_a_dtype_do_not_depend_on_the_word_size() -> None:
    wide = array_of(1, ShapedArray((), np.float64, True))
    assert (wide.dtype, px.typeof(wide).weak_type) == (np.float64, True)
    parts = arrays_of(np.arange(6, dtype=np.int64).reshape(3, 2), False)
    assert [(x.dtype, x.tolist()) for x in parts] == [(np.int64, [0, 1]), (np.int64, [2, 3]), (np.int64, [4, 5])]


def test_without_a_runtime_values_stay_those_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = type(maker)()
    monkeypatch.setattr(host_values, "maker", alone)
    assert from_host(2.5).dtype == np.float32
    assert type(from_host(2.5)) is np.ndarray
    assert [x.tolist() for x in arrays_of(np.eye(2), False)] == [[1, 0], [0, 1]]
