"""The dtypes of arrays: their kinds, names and canonical forms."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import primax as px
from primax.core import dtypes
from primax.core.dtypes import ExtendedDType, extended, float0

pytestmark = pytest.mark.usefixtures("in_32_bits")


class letter(extended):
    """Letters."""


class Letters(ExtendedDType):
    type = letter
    name = "letter"

    def __eq__(self, other: object) -> bool:
        return type(other) is Letters

    def __hash__(self) -> int:
        return 7


def test_every_number_is_of_one_kind_and_has_a_short_name_of_its_own() -> None:
    kinds = (dtypes.is_integer, dtypes.is_floating, dtypes.is_complex)
    for dtype in dtypes.NUMBERS:
        assert [kind(dtype) for kind in kinds].count(True) == 1
        assert dtypes.is_numeric(dtype)
        assert dtypes.is_inexact(dtype) != dtypes.is_integer(dtype)
    names = [dtypes.short_dtype_name(dtype) for dtype in dtypes.array_dtypes]
    assert len(set(names)) == len(names)
    assert {"bf16", "f8_e4m3fn", "c64", "u4", "i32", "bool", "float0"} <= set(names)


def test_bools_durations_and_extended_dtypes_are_no_numbers() -> None:
    for dtype in (np.dtype(bool), np.dtype("m8[s]"), Letters()):
        assert not dtypes.is_integer(dtype)
        assert not dtypes.is_inexact(dtype)


def test_an_extended_dtype_is_a_subtype_of_its_class_and_of_itself() -> None:
    letters = Letters()
    assert dtypes.issubdtype(letters, letter)
    assert dtypes.issubdtype(letters, extended)
    assert dtypes.issubdtype(letters, Letters())
    assert not dtypes.issubdtype(np.float32, letters)
    assert not dtypes.issubdtype(letters, np.number)
    assert (str(letters), dtypes.short_dtype_name(letters)) == ("letter", "letter")
    assert dtypes.canonicalize_dtype(letters) is letters
    assert dtypes.tangent_dtype(letters) == float0
    with pytest.raises(TypeError, match=r"^dtype letter has no representation: it defines no element_shape and"):
        _ = letters.element_shape


def test_wide_dtypes_have_half_the_bits_unless_there_are_64() -> None:
    pairs = {np.int64: np.int32, np.uint64: np.uint32, np.float64: np.float32, np.complex128: np.complex64}
    for wide, narrow in pairs.items():
        assert dtypes.canonicalize_dtype(wide) == dtypes.array_dtype(np.dtype(wide)) == narrow
        with px.enable_x64(True):
            assert dtypes.canonicalize_dtype(wide) == dtypes.array_dtype(np.dtype(wide)) == wide
    assert dtypes.canonicalize_dtype(ml_dtypes.bfloat16) == ml_dtypes.bfloat16


def test_arrays_have_the_byte_order_of_the_machine() -> None:
    assert dtypes.array_dtype(np.dtype(np.float64).newbyteorder()) == np.float32
    assert dtypes.array_dtype(np.dtype("U3")) is None
    assert dtypes.array_dtype(np.dtype("U3").newbyteorder()) is None


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1, 2**200])
def test_an_int_that_does_not_fit_is_refused(value: int) -> None:
    shown = "one of 201 bits" if value == 2**200 else str(value)
    with pytest.raises(OverflowError, match=rf"^Python int must fit int32 \(set enable_x64 for int64\), got {shown}"):
        dtypes.scalar_dtype(value)
    assert dtypes.scalar_dtype(2**31 - 1) == dtypes.scalar_dtype(-(2**31)) == np.int32
    with px.enable_x64(True):
        assert dtypes.scalar_dtype(2**31) == np.int64


@pytest.mark.parametrize("value, dtype", [(True, bool), (1.0, np.float32), (1j, np.complex64)])
def test_scalars_of_python_have_the_default_dtypes(value: Any, dtype: Any) -> None:
    assert dtypes.scalar_dtype(value) == dtype


def test_tangents_of_what_is_not_inexact_are_of_float0() -> None:
    exact = {dtype for dtype in dtypes.array_dtypes if dtypes.tangent_dtype(dtype) == float0}
    assert exact == {float0, dtypes.BOOL, *dtypes.SIGNED, *dtypes.UNSIGNED}
    assert all(dtypes.tangent_dtype(dtype) == dtype for dtype in dtypes.array_dtypes - exact)
