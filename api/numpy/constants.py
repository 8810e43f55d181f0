"""Numbers, dtypes and scalar types under NumPy's names."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, Tracer
from primax.numpy.conversion import asarray

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


class ScalarType(type):
    """A dtype as a class; a call creates an array: `float32(3)` is an array of rank 0.

    NumPy's scalars of the dtype are instances of the class. A subclass has the same dtype.
    """

    dtype: np.dtype[Any]

    def __call__(cls, x: Any = 0) -> Array:
        """An array of this dtype with the value of `x`."""
        return asarray(x, dtype=cls.dtype)

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, cls.dtype.type)

    def __eq__(cls, other: object) -> bool:
        return cls is other or cls.dtype.type is other or (isinstance(other, np.dtype) and cls.dtype == other)

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __repr__(cls) -> str:
        return f"<scalar type {cls.__name__}>"


def _scalar_type(name: str, dtype: Any) -> ScalarType:
    return ScalarType(name, (), {"dtype": np.dtype(dtype), "__module__": "primax.numpy"})


bool_ = _scalar_type("bool_", np.bool_)
int2 = _scalar_type("int2", dtypes.int2)
int4 = _scalar_type("int4", dtypes.int4)
int8 = _scalar_type("int8", np.int8)
int16 = _scalar_type("int16", np.int16)
int32 = _scalar_type("int32", np.int32)
int64 = _scalar_type("int64", np.int64)
uint2 = _scalar_type("uint2", dtypes.uint2)
uint4 = _scalar_type("uint4", dtypes.uint4)
uint8 = _scalar_type("uint8", np.uint8)
uint16 = _scalar_type("uint16", np.uint16)
uint32 = _scalar_type("uint32", np.uint32)
uint64 = _scalar_type("uint64", np.uint64)
bfloat16 = _scalar_type("bfloat16", dtypes.bfloat16)
float4_e2m1fn = _scalar_type("float4_e2m1fn", dtypes.float4_e2m1fn)
float6_e2m3fn = _scalar_type("float6_e2m3fn", dtypes.float6_e2m3fn)
float6_e3m2fn = _scalar_type("float6_e3m2fn", dtypes.float6_e3m2fn)
float8_e3m4 = _scalar_type("float8_e3m4", dtypes.float8_e3m4)
float8_e4m3 = _scalar_type("float8_e4m3", dtypes.float8_e4m3)
float8_e4m3b11fnuz = _scalar_type("float8_e4m3b11fnuz", dtypes.float8_e4m3b11fnuz)
float8_e4m3fn = _scalar_type("float8_e4m3fn", dtypes.float8_e4m3fn)
float8_e4m3fnuz = _scalar_type("float8_e4m3fnuz", dtypes.float8_e4m3fnuz)
float8_e5m2 = _scalar_type("float8_e5m2", dtypes.float8_e5m2)
float8_e5m2fnuz = _scalar_type("float8_e5m2fnuz", dtypes.float8_e5m2fnuz)
float8_e8m0fnu = _scalar_type("float8_e8m0fnu", dtypes.float8_e8m0fnu)
float16 = _scalar_type("float16", np.float16)
float32 = _scalar_type("float32", np.float32)
float64 = _scalar_type("float64", np.float64)
complex64 = _scalar_type("complex64", np.complex64)
complex128 = _scalar_type("complex128", np.complex128)

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
    """`isinstance` is also true for tracers, which stand for arrays."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Array | Tracer)


class ndarray(metaclass=_AnyArray):
    """The type of arrays: `isinstance(x, ndarray)` is true for arrays and tracers."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise an error: functions create arrays."""
        raise TypeError("ndarray: arrays are made by functions such as zeros and array, not by calling the class")
