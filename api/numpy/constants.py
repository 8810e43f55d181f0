"""Numbers, dtypes and scalar types under NumPy's names."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from primax.extend.core import Array, Tracer, dtypes
from primax.numpy.creation import asarray

__all__ = [
    "ComplexWarning",
    "bfloat16",
    "bool_",
    "character",
    "complex128",
    "complex64",
    "complexfloating",
    "e",
    "euler_gamma",
    "flexible",
    "float16",
    "float32",
    "float4_e2m1fn",
    "float64",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float_",
    "floating",
    "generic",
    "inexact",
    "inf",
    "int16",
    "int2",
    "int32",
    "int4",
    "int64",
    "int8",
    "int_",
    "integer",
    "nan",
    "ndarray",
    "newaxis",
    "number",
    "object_",
    "pi",
    "signedinteger",
    "uint",
    "uint16",
    "uint2",
    "uint32",
    "uint4",
    "uint64",
    "uint8",
    "unsignedinteger",
]


class ScalarType:
    """A dtype that makes arrays when it is called: `float32(3)` is an array of rank 0."""

    __slots__ = ("__name__", "dtype")

    def __init__(self, name: str, dtype: Any) -> None:
        self.__name__ = name
        self.dtype = np.dtype(dtype)

    def __call__(self, x: Any = 0) -> Array:
        """An array of this dtype with the value of `x`."""
        return asarray(x, dtype=self.dtype)

    def __instancecheck__(self, x: Any) -> bool:
        return isinstance(x, self.dtype.type)

    def __eq__(self, other: object) -> bool:
        return self is other or self.dtype.type is other or (isinstance(other, np.dtype) and self.dtype == other)

    def __hash__(self) -> int:
        return hash(self.dtype.type)

    def __repr__(self) -> str:
        return f"<scalar type {self.__name__}>"

    def __reduce__(self) -> str:
        return self.__name__


bool_ = ScalarType("bool_", np.bool_)
int2 = ScalarType("int2", dtypes.int2)
int4 = ScalarType("int4", dtypes.int4)
int8 = ScalarType("int8", np.int8)
int16 = ScalarType("int16", np.int16)
int32 = ScalarType("int32", np.int32)
int64 = ScalarType("int64", np.int64)
uint2 = ScalarType("uint2", dtypes.uint2)
uint4 = ScalarType("uint4", dtypes.uint4)
uint8 = ScalarType("uint8", np.uint8)
uint16 = ScalarType("uint16", np.uint16)
uint32 = ScalarType("uint32", np.uint32)
uint64 = ScalarType("uint64", np.uint64)
bfloat16 = ScalarType("bfloat16", dtypes.bfloat16)
float4_e2m1fn = ScalarType("float4_e2m1fn", dtypes.float4_e2m1fn)
float6_e2m3fn = ScalarType("float6_e2m3fn", dtypes.float6_e2m3fn)
float6_e3m2fn = ScalarType("float6_e3m2fn", dtypes.float6_e3m2fn)
float8_e3m4 = ScalarType("float8_e3m4", dtypes.float8_e3m4)
float8_e4m3 = ScalarType("float8_e4m3", dtypes.float8_e4m3)
float8_e4m3b11fnuz = ScalarType("float8_e4m3b11fnuz", dtypes.float8_e4m3b11fnuz)
float8_e4m3fn = ScalarType("float8_e4m3fn", dtypes.float8_e4m3fn)
float8_e4m3fnuz = ScalarType("float8_e4m3fnuz", dtypes.float8_e4m3fnuz)
float8_e5m2 = ScalarType("float8_e5m2", dtypes.float8_e5m2)
float8_e5m2fnuz = ScalarType("float8_e5m2fnuz", dtypes.float8_e5m2fnuz)
float8_e8m0fnu = ScalarType("float8_e8m0fnu", dtypes.float8_e8m0fnu)
float16 = ScalarType("float16", np.float16)
float32 = ScalarType("float32", np.float32)
float64 = ScalarType("float64", np.float64)
complex64 = ScalarType("complex64", np.complex64)
complex128 = ScalarType("complex128", np.complex128)

int_ = int64
uint = uint64
float_ = float64
complex_ = complex128

ComplexWarning = np.exceptions.ComplexWarning
generic = np.generic
number = np.number
integer = np.integer
signedinteger = np.signedinteger
unsignedinteger = np.unsignedinteger
inexact = np.inexact
floating = np.floating
complexfloating = np.complexfloating
flexible = np.flexible
character = np.character
object_ = np.object_

pi = math.pi
e = math.e
inf = math.inf
nan = math.nan
euler_gamma = float(np.euler_gamma)
newaxis = None


class _AnyArray(type):
    """Tracers stand for arrays, so they count as instances."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Array | Tracer)


class ndarray(metaclass=_AnyArray):
    """What functions take and return: `isinstance(x, ndarray)` is true of arrays, traced or not."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: arrays are made by functions."""
        raise TypeError("ndarray: arrays are made by functions such as zeros and array, not by calling the class")
