"""The element types of arrays: NumPy's, those of ml_dtypes, and the base class of extended dtypes."""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from primax.core.arguments import numpy_dtype


class extended(np.generic):
    """The superclass of all extended scalar types; abstract, for `issubdtype`."""


class ExtendedDType(abc.ABC):
    """The base class of dtypes that NumPy lacks; instances are hashable and compare by value.

    A subclass may override `tangent_dtype`, which is `float0` by default. Arrays of the dtype exist at run time if the
    subclass defines the contents of an element, by `element_shape` and `element_dtype`.

    Attributes:
        how_to_read: the end of the error message for arrays of this dtype where a NumPy array is needed.
    """

    how_to_read = "its elements are not numbers"

    @property
    @abc.abstractmethod
    def type(self) -> type[extended]:
        """The scalar class of the dtype, a subclass of `extended`."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name in the text of jaxprs."""

    @property
    def tangent_dtype(self) -> DType:
        """The dtype of tangents of arrays of this dtype."""
        return float0

    @property
    def element_shape(self) -> tuple[int, ...]:
        """The shape of the array that represents an element."""
        raise self._opaque()

    @property
    def element_dtype(self) -> np.dtype[Any]:
        """The dtype of the array that represents an element."""
        raise self._opaque()

    def _opaque(self) -> TypeError:
        return TypeError(f"dtype {self} has no representation: it defines no element_shape and element_dtype")

    def __str__(self) -> str:
        return self.name


DType: TypeAlias = "np.dtype[Any] | ExtendedDType"

bfloat16 = ml_dtypes.bfloat16
float4_e2m1fn = ml_dtypes.float4_e2m1fn
float6_e2m3fn = ml_dtypes.float6_e2m3fn
float6_e3m2fn = ml_dtypes.float6_e3m2fn
float8_e3m4 = ml_dtypes.float8_e3m4
float8_e4m3 = ml_dtypes.float8_e4m3
float8_e4m3b11fnuz = ml_dtypes.float8_e4m3b11fnuz
float8_e4m3fn = ml_dtypes.float8_e4m3fn
float8_e4m3fnuz = ml_dtypes.float8_e4m3fnuz
float8_e5m2 = ml_dtypes.float8_e5m2
float8_e5m2fnuz = ml_dtypes.float8_e5m2fnuz
float8_e8m0fnu = ml_dtypes.float8_e8m0fnu
int2 = ml_dtypes.int2
int4 = ml_dtypes.int4
uint2 = ml_dtypes.uint2
uint4 = ml_dtypes.uint4
float0: np.dtype[Any] = np.dtype([("float0", np.void, 0)])


def _dtypes(*types: Any) -> tuple[np.dtype[Any], ...]:
    return tuple(np.dtype(t) for t in types if t is not None)


# ml_dtypes gained one-bit integers after the release that jaxlib requires.
BOOL = np.dtype(bool)
NARROW_SIGNED = _dtypes(getattr(ml_dtypes, "int1", None), int2, int4)
NARROW_UNSIGNED = _dtypes(getattr(ml_dtypes, "uint1", None), uint2, uint4)
SIGNED = (*NARROW_SIGNED, *_dtypes(np.int8, np.int16, np.int32, np.int64))
UNSIGNED = (*NARROW_UNSIGNED, *_dtypes(np.uint8, np.uint16, np.uint32, np.uint64))
NARROW_FLOATS = _dtypes(
    float4_e2m1fn,
    float6_e2m3fn,
    float6_e3m2fn,
    float8_e3m4,
    float8_e4m3,
    float8_e4m3b11fnuz,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
)
FLOATS = (*NARROW_FLOATS, *_dtypes(bfloat16, np.float16, np.float32, np.float64))
COMPLEX = _dtypes(np.complex64, np.complex128)
NUMBERS = (*SIGNED, *UNSIGNED, *FLOATS, *COMPLEX)
array_dtypes = frozenset({float0, BOOL, *NUMBERS})

# The scalar types of ml_dtypes do not inherit from NumPy's abstract ones; this table gives their place there.
_ABSTRACT_BASES: dict[type, frozenset[type]] = {
    **{d.type: frozenset({np.floating, np.inexact, np.number, np.generic}) for d in FLOATS[:-3]},
    **{d.type: frozenset({np.signedinteger, np.integer, np.number, np.generic}) for d in NARROW_SIGNED},
    **{d.type: frozenset({np.unsignedinteger, np.integer, np.number, np.generic}) for d in NARROW_UNSIGNED},
}


def issubdtype(a: Any, b: Any) -> bool:
    """Return True if dtype or scalar type `a` is `b` or a subtype of it, as `numpy.issubdtype` does.

    It also covers bfloat16, the narrow floats and integers, and extended dtypes.

    >>> issubdtype(bfloat16, np.floating)
    True
    """
    return _issubdtype(_hashable_type(a), _hashable_type(b))


def _hashable_type(x: Any) -> Any:
    return x if isinstance(x, (type, np.dtype, ExtendedDType)) else numpy_dtype("issubdtype", "its argument", x)


@functools.lru_cache(maxsize=1024)
def _issubdtype(a: Any, b: Any) -> bool:
    if isinstance(b, ExtendedDType):
        return bool(a == b) if isinstance(a, ExtendedDType) else False
    a, b = _scalar_class(a), _scalar_class(b)
    bases = _ABSTRACT_BASES.get(a)
    return issubclass(a, b) if bases is None else (b is a or b in bases)


def _scalar_class(x: Any) -> Any:
    if isinstance(x, ExtendedDType):
        return x.type
    return x if isinstance(x, type) and issubclass(x, np.generic) else np.dtype(x).type


def _test(kind: type, doc: str) -> Callable[[Any], bool]:
    """A function that returns whether a dtype is of a kind; it is not if it is a duration, an integer for NumPy."""

    @functools.lru_cache(maxsize=256)
    def test(dtype: Any) -> bool:
        return issubdtype(dtype, kind) and _scalar_class(dtype) is not np.timedelta64

    test.__doc__ = doc
    return test


is_bool = _test(np.bool_, "Return True for bool.")
is_numeric = _test(np.number, "Return True for an integer, floating or complex dtype.")
is_integer = _test(np.integer, "Return True for a signed or unsigned integer dtype; bool is not one.")
is_signed_integer = _test(np.signedinteger, "Return True for a signed integer dtype.")
is_unsigned_integer = _test(np.unsignedinteger, "Return True for an unsigned integer dtype.")
is_inexact = _test(np.inexact, "Return True for a floating or complex dtype.")
is_floating = _test(np.floating, "Return True for a real floating dtype of any width.")
is_complex = _test(np.complexfloating, "Return True for complex64 and complex128.")


def is_extended(dtype: Any) -> bool:
    """Return True for a dtype that NumPy lacks."""
    return isinstance(dtype, ExtendedDType)


@functools.lru_cache(maxsize=256)
def short_dtype_name(dtype: DType) -> str:
    """Return the name in the text of jaxprs.

    >>> short_dtype_name(np.dtype(bfloat16)), short_dtype_name(np.dtype(np.uint32))
    ('bf16', 'u32')
    """
    if isinstance(dtype, ExtendedDType):
        return dtype.name
    if dtype == float0:
        return "float0"
    name = dtype.name
    for long, short in (("bfloat", "bf"), ("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c")):
        if name.startswith(long):
            return short + name.removeprefix(long)
    return name
