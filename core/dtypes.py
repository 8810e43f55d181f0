"""The element types of arrays: NumPy's, those of ml_dtypes, and the base class of extended dtypes.

A dtype is a `numpy.dtype`, or an `ExtendedDType` that a plugin defines. Without `enable_x64` the canonical
form of a 64-bit dtype is its 32-bit one.
"""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from primax.core.arguments import numpy_dtype
from primax.core.config import enable_x64
from primax.core.diagnostics import of_call


class extended(np.generic):
    """The superclass of all extended scalar types; abstract, for `issubdtype`."""


class ExtendedDType(abc.ABC):
    """The base class of dtypes that NumPy lacks; instances are hashable and compare by value.

    A subclass may override `tangent_dtype`, which is `float0` by default. Arrays of the dtype exist at run time if the
    subclass defines the contents of an element, by `element_shape` and `element_dtype`.

    Attributes:
        how_to_read: the end of the error message for arrays of this dtype where a NumPy array is needed.
        how_to_compute: the end of the error message of an operation that is not defined for this dtype.
    """

    how_to_read = "its elements are not numbers"
    how_to_compute = "the package that defines this dtype has functions for its values"

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
        """The dtype of tangents of arrays of this dtype; this dtype itself if its elements are added as numbers."""
        return float0

    @property
    def element_shape(self) -> tuple[int, ...]:
        """The shape of the array that represents an element, by default of one number."""
        return self.element_dtype.shape

    @property
    def element_dtype(self) -> np.dtype[Any]:
        """The dtype of the array that represents an element."""
        raise TypeError(f"dtype {self} has no representation: it defines no element_shape and element_dtype")

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return np.dtype((self.element_dtype, self.element_shape)).itemsize

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


DType: TypeAlias = "np.dtype[Any] | ExtendedDType"

float0: np.dtype[Any] = np.dtype([("float0", np.void, 0)])


def _dtypes(*types: Any) -> tuple[np.dtype[Any], ...]:
    return tuple(np.dtype(t) for t in types if t is not None)


# ml_dtypes gained one-bit integers after the release that jaxlib requires.
BOOL = np.dtype(bool)
NARROW_SIGNED = _dtypes(getattr(ml_dtypes, "int1", None), ml_dtypes.int2, ml_dtypes.int4)
NARROW_UNSIGNED = _dtypes(getattr(ml_dtypes, "uint1", None), ml_dtypes.uint2, ml_dtypes.uint4)
SIGNED = (*NARROW_SIGNED, *_dtypes(np.int8, np.int16, np.int32, np.int64))
UNSIGNED = (*NARROW_UNSIGNED, *_dtypes(np.uint8, np.uint16, np.uint32, np.uint64))
_FLOATS = "4_e2m1fn 6_e2m3fn 6_e3m2fn 8_e3m4 8_e4m3 8_e4m3b11fnuz 8_e4m3fn 8_e4m3fnuz 8_e5m2 8_e5m2fnuz 8_e8m0fnu"
NARROW_FLOATS = _dtypes(*[getattr(ml_dtypes, f"float{name}") for name in _FLOATS.split()])
FLOATS = (*NARROW_FLOATS, *_dtypes(ml_dtypes.bfloat16, np.float16, np.float32, np.float64))
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

    >>> issubdtype(ml_dtypes.bfloat16, np.floating)
    True
    """
    return _issubdtype(_hashable_type(a), _hashable_type(b))


def _hashable_type(x: Any) -> Any:
    return x if isinstance(x, type | np.dtype | ExtendedDType) else numpy_dtype("issubdtype", "its argument", x)


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


def kind_test(kind: type, doc: str) -> Callable[[Any], bool]:
    """A function that returns whether a dtype is of a kind; durations, integers for NumPy, are of none."""

    @functools.lru_cache(maxsize=256)
    def test(dtype: Any) -> bool:
        return issubdtype(dtype, kind) and _scalar_class(dtype) is not np.timedelta64

    test.__doc__ = doc
    return test


is_numeric = kind_test(np.number, "Return True for an integer, floating or complex dtype.")
is_integer = kind_test(np.integer, "Return True for a signed or unsigned integer dtype; bool is not one.")
is_inexact = kind_test(np.inexact, "Return True for a floating or complex dtype.")
is_floating = kind_test(np.floating, "Return True for a real floating dtype of any width.")
is_complex = kind_test(np.complexfloating, "Return True for complex64 and complex128.")


@functools.lru_cache(maxsize=256)
def short_dtype_name(dtype: DType) -> str:
    """Return the name in the text of jaxprs.

    >>> short_dtype_name(np.dtype(ml_dtypes.bfloat16)), short_dtype_name(np.dtype(np.uint32))
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


# The 32-bit form of each 64-bit dtype, and complex64 for complex128; used unless `enable_x64` is set.
NARROWED = {
    np.dtype(f"{kind}{n}"): np.dtype(f"{kind}{n // 2}") for kind, n in (("i", 8), ("u", 8), ("f", 8), ("c", 16))
}
SCALARS_64 = {bool: BOOL, int: np.dtype("i8"), float: np.dtype("f8"), complex: np.dtype("c16")}
SCALARS_32 = {scalar: NARROWED.get(d, d) for scalar, d in SCALARS_64.items()}
CANONICAL_64 = {d: d for d in array_dtypes}
CANONICAL_32 = {d: NARROWED.get(d, d) for d in array_dtypes}


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = True) -> Any:
    """Return a dtype, narrowed from 64 bits to 32 unless `enable_x64` is set.

    Extended dtypes, such as those of keys, are returned unchanged, whatever the value of `allow_extended_dtype`.
    """
    if not isinstance(dtype, np.dtype | ExtendedDType):
        dtype = numpy_dtype("canonicalize_dtype", "dtype", dtype)
    return dtype if enable_x64.value else NARROWED.get(dtype, dtype)


def array_dtype(dtype: np.dtype[Any]) -> Any:
    """Return the dtype of an array made from a NumPy array of this dtype; None if there is no such array.

    Arrays have the byte order of the machine; the byte order of the NumPy dtype does not matter.
    """
    valid = CANONICAL_64 if enable_x64.value else CANONICAL_32
    canonical = valid.get(dtype)
    if canonical is None and not dtype.isnative:
        canonical = valid.get(dtype.newbyteorder("="))
    return canonical


def scalar_dtype(value: bool | int | float | complex, scalar: type | None = None) -> np.dtype[Any]:
    """Return the dtype of a Python scalar.

    Args:
        value: the scalar.
        scalar: bool, int, float or complex, if the type of the value is a subclass of it.

    Raises:
        OverflowError: an int does not fit the default int dtype.
    """
    dtype = (SCALARS_64 if enable_x64.value else SCALARS_32)[scalar or type(value)]
    if dtype.kind == "i":
        limit = 2**63 if dtype.itemsize == 8 else 2**31
        if not -limit <= value < limit:  # type: ignore[operator]
            shown = value if -(2**128) < value < 2**128 else f"one of {value.bit_length()} bits"  # type: ignore[union-attr,operator]
            raise OverflowError(f"Python int must fit {dtype.name} (set enable_x64 for int64), got {shown}{of_call()}")
    return dtype


def tangent_dtype(dtype: DType) -> DType:
    """Return the dtype of tangents: the dtype itself if it is inexact, else `float0`."""
    if isinstance(dtype, ExtendedDType):
        return dtype.tangent_dtype
    return dtype if is_inexact(dtype) else float0
