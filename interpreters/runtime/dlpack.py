"""DLPack capsules of host memory as NumPy arrays without a copy, including dtypes that NumPy lacks."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]
_VERSIONED = b"dltensor_versioned"
_OFFSET = 32  # of the tensor in a versioned capsule: after version, context, deleter and flags


class _Tensor(ctypes.Structure):
    """The struct `DLTensor` of DLPack."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Lent:
    """Memory that a capsule owns, for NumPy, whose array keeps this object and thereby the capsule alive."""

    def __init__(self, capsule: Any, interface: dict[str, Any]) -> None:
        self.capsule = capsule
        self.__array_interface__ = interface


_KINDS = {0: "int", 1: "uint", 2: "float", 5: "complex"}
_CODES = {
    4: "bfloat16",
    7: "float8_e3m4",
    8: "float8_e4m3",
    9: "float8_e4m3b11fnuz",
    10: "float8_e4m3fn",
    11: "float8_e4m3fnuz",
    12: "float8_e5m2",
    13: "float8_e5m2fnuz",
    14: "float8_e8m0fnu",
}


def _tensor(capsule: Any) -> _Tensor:
    if _is_valid(capsule, _VERSIONED):
        return _Tensor.from_address(_pointer(capsule, _VERSIONED) + _OFFSET)
    return _Tensor.from_address(_pointer(capsule, b"dltensor"))


def capsule_address(capsule: Any) -> int:
    """The address of the first element of a capsule."""
    tensor = _tensor(capsule)
    return int((tensor.data or 0) + tensor.byte_offset)


def capsule_dtype(capsule: Any) -> np.dtype[Any]:
    """The dtype of a capsule's elements.

    Raises:
      TypeError: NumPy and ml_dtypes have no such dtype.
    """
    tensor = _tensor(capsule)
    code, bits = tensor.code, tensor.bits
    if tensor.lanes == 1:
        if code == 6 and bits == 8:
            return np.dtype(np.bool_)
        if code in _KINDS and bits in (8, 16, 32, 64, 128):
            return np.dtype(f"{_KINDS[code]}{bits}")
        if code in _CODES:
            dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, _CODES[code]))
            return dtype
    raise TypeError(f"from_dlpack: no dtype for DLPack's type code {code} with {bits} bits and {tensor.lanes} lanes")


def capsule_view(capsule: Any, shape: tuple[int, ...] | None = None, dtype: Any = None) -> np.ndarray[Any, Any]:
    """An array over the memory of a capsule, which lives as long as the array.

    Args:
      capsule: a capsule for host memory that has not been consumed.
      shape: its shape if it is known; otherwise the shape and the strides are read.
      dtype: its dtype if it is known; otherwise it is read.
    """
    tensor = _tensor(capsule)
    if dtype is None:
        dtype = capsule_dtype(capsule)
    interface: dict[str, Any] = {
        "version": 3,
        "typestr": f"|V{dtype.itemsize}",
        "data": (capsule_address(capsule), True),
    }
    if shape is None:
        shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
        if 0 in shape:
            return np.empty(shape, dtype)
        if tensor.strides:
            interface["strides"] = tuple(tensor.strides[i] * dtype.itemsize for i in range(tensor.ndim))
    interface["shape"] = shape
    return np.asarray(_Lent(capsule, interface)).view(dtype)
