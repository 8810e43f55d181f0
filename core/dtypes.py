"""Element types: what they are called, which are numbers of which sort, and how they promote.

A dtype is a `numpy.dtype`, or an `ExtendedDType` that a plugin defines. Without `enable_x64` the canonical
form of a 64-bit dtype is its 32-bit one. Promotion follows the lattice of JAX's design document "Design of
type promotion semantics" (JEP 9407), in which Python scalars are weakly typed: they take the width of
whatever they meet.
"""

from __future__ import annotations

import abc
import contextlib
import functools
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias, overload

import ml_dtypes
import numpy as np

from primax.core.arguments import numpy_dtype
from primax.core.config import enable_x64, numpy_dtype_promotion
from primax.core.diagnostics import of_call

__all__ = [
    "DType",
    "ExtendedDType",
    "TypePromotionError",
    "array_dtype",
    "array_dtypes",
    "bfloat16",
    "canonicalize_dtype",
    "check_user_dtype",
    "default_complex_dtype",
    "default_float_dtype",
    "default_int_dtype",
    "default_uint_dtype",
    "dtype",
    "extended",
    "finfo",
    "float0",
    "float4_e2m1fn",
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
    "iinfo",
    "int2",
    "int4",
    "is_bool",
    "is_complex",
    "is_extended",
    "is_floating",
    "is_inexact",
    "is_integer",
    "is_numeric",
    "is_signed_integer",
    "is_unsigned_integer",
    "is_valid_dtype",
    "is_weakly_typed",
    "issubdtype",
    "itemsize_bits",
    "promote_types",
    "python_scalar_dtypes",
    "result_type",
    "safe_to_cast",
    "scalar_dtype",
    "scalar_type_of",
    "short_dtype_name",
    "supports_inf",
    "tangent_dtype",
    "to_complex_dtype",
    "to_floating_dtype",
    "to_inexact_dtype",
    "to_numeric_dtype",
    "uint2",
    "uint4",
    "weak_type_of",
]


class TypePromotionError(ValueError):
    """Operands have no common dtype that they may be promoted to without a cast."""


class extended(np.generic):
    """The scalar type above every extended dtype's; an abstract class for `issubdtype`."""


class ExtendedDType(abc.ABC):
    """The base of dtypes that numpy does not have; instances are hashable and compare by value.

    A subclass may override `tangent_dtype`, which is `float0` otherwise. Arrays of the dtype exist at run time if it
    says what an element consists of, in `element_shape` and `element_dtype`.

    Attributes:
        how_to_read: ends the message when such an array is taken for one of NumPy's.
    """

    how_to_read = "its elements are not numbers"

    @property
    @abc.abstractmethod
    def type(self) -> type[extended]:
        """The scalar class of the dtype, a subclass of `extended`."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name that jaxprs print."""

    @property
    def tangent_dtype(self) -> DType:
        """The dtype of tangents of arrays of this dtype."""
        return float0

    @property
    def element_shape(self) -> tuple[int, ...]:
        """The shape of the array that an element is."""
        raise TypeError(f"dtype {self} has no representation: it defines no element_shape and element_dtype")

    @property
    def element_dtype(self) -> np.dtype[Any]:
        """The dtype of the array that an element is."""
        raise TypeError(f"dtype {self} has no representation: it defines no element_shape and element_dtype")

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

finfo = ml_dtypes.finfo
iinfo = ml_dtypes.iinfo

float0: np.dtype[Any] = np.dtype([("float0", np.void, 0)])


def _dtypes(*types: Any) -> tuple[np.dtype[Any], ...]:
    return tuple(np.dtype(t) for t in types)


# ml_dtypes gained one-bit integers after the release that jaxlib requires.
_SIGNED_1 = tuple(getattr(ml_dtypes, name) for name in ("int1",) if hasattr(ml_dtypes, name))
_UNSIGNED_1 = tuple(getattr(ml_dtypes, name) for name in ("uint1",) if hasattr(ml_dtypes, name))

_BOOL = np.dtype(bool)
_NARROW_SIGNED = _dtypes(*_SIGNED_1, int2, int4)
_NARROW_UNSIGNED = _dtypes(*_UNSIGNED_1, uint2, uint4)
_SIGNED = (*_NARROW_SIGNED, *_dtypes(np.int8, np.int16, np.int32, np.int64))
_UNSIGNED = (*_NARROW_UNSIGNED, *_dtypes(np.uint8, np.uint16, np.uint32, np.uint64))
_NARROW_FLOATS = _dtypes(
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
_FLOATS = (*_NARROW_FLOATS, *_dtypes(bfloat16, np.float16, np.float32, np.float64))
_COMPLEX = _dtypes(np.complex64, np.complex128)
_NUMBERS = (*_SIGNED, *_UNSIGNED, *_FLOATS, *_COMPLEX)
_VALID = frozenset({float0, _BOOL, *_NUMBERS})
array_dtypes = _VALID

# ml_dtypes' scalar types do not inherit from numpy's abstract ones, so their place in that hierarchy is here.
_ABSTRACT_BASES: dict[type, frozenset[type]] = {
    **{d.type: frozenset({np.floating, np.inexact, np.number, np.generic}) for d in _FLOATS[:-3]},
    **{d.type: frozenset({np.signedinteger, np.integer, np.number, np.generic}) for d in _NARROW_SIGNED},
    **{d.type: frozenset({np.unsignedinteger, np.integer, np.number, np.generic}) for d in _NARROW_UNSIGNED},
}

_NARROWED = dict(
    zip(
        _dtypes(np.int64, np.uint64, np.float64, np.complex128),
        _dtypes(np.int32, np.uint32, np.float32, np.complex64),
        strict=True,
    )
)
_SCALARS_64 = dict(zip((bool, int, float, complex), _dtypes(bool, np.int64, np.float64, np.complex128), strict=True))
WIDE = frozenset(_NARROWED)  # the dtypes that are narrowed unless `enable_x64` is set
_SCALARS_32 = {scalar: _NARROWED.get(d, d) for scalar, d in _SCALARS_64.items()}


_VALID_64 = {d: d for d in _VALID}
_VALID_32 = {d: _NARROWED.get(d, d) for d in _VALID}


def is_valid_dtype(dtype: DType) -> bool:
    """Return True if arrays may have this dtype."""
    return isinstance(dtype, ExtendedDType) or dtype in _VALID


def canonicalize_dtype(dtype: Any) -> Any:
    """Return the dtype that x stands for, narrowed from 64 bits to 32 unless `enable_x64` is set."""
    if not isinstance(dtype, np.dtype):
        if isinstance(dtype, ExtendedDType):
            return dtype
        dtype = numpy_dtype("canonicalize_dtype", "dtype", dtype)
    return dtype if enable_x64.value else _NARROWED.get(dtype, dtype)


def is_canonical(dtype: Any) -> bool:
    """Whether a value of NumPy's keeps a dtype: those of 64 bits are narrowed unless `enable_x64` is set."""
    return enable_x64.value or dtype not in WIDE


def array_dtype(dtype: np.dtype[Any]) -> Any:
    """Return the canonical dtype of an array with the values of one of numpy's; None if there is none.

    Arrays have the byte order of the machine, so that of numpy's dtype does not matter.
    """
    valid = _VALID_64 if enable_x64.value else _VALID_32
    found = valid.get(dtype)
    if found is None and not dtype.isnative:
        found = valid.get(dtype.newbyteorder("="))
    return found


def check_user_dtype(dtype: Any, argument: str, function: str, *, stacklevel: int = 3) -> Any:
    """Return the canonical form of a dtype that a user asked for.

    Args:
        dtype: a dtype, its name, or a scalar type; `int`, `float` and `complex` mean the default width.
        argument: the name of the argument, for errors.
        function: the name of the function that takes it, for errors.
        stacklevel: where the warning points; the default is the caller of the function that calls this one.

    Raises:
        TypeError: it is not a dtype that arrays may have.

    Warns:
        UserWarning: a 64-bit dtype was asked for by name, and `enable_x64` is not set.
    """
    if isinstance(dtype, ExtendedDType):
        return dtype
    if isinstance(dtype, type) and dtype in _SCALARS_64:
        return python_scalar_dtypes[dtype]
    wanted = None
    if dtype is not None and not hasattr(dtype, "aval") and not isinstance(dtype, np.ndarray):
        with contextlib.suppress(TypeError, ValueError, SyntaxError, KeyError, AttributeError):
            wanted = np.dtype(dtype)
    if wanted is None or wanted not in _VALID:
        raise TypeError(f"{function}: {argument} must be a bool, number or extended dtype, got {dtype!r}")
    given = canonicalize_dtype(wanted)
    if given != wanted:
        warnings.warn(
            f"{function}: {argument} {wanted.name} is not available, and {given.name} is used; "
            "to have 64-bit dtypes, set enable_x64 (environment variable PRIMAX_ENABLE_X64)",
            UserWarning,
            stacklevel=stacklevel,
        )
    return given


def default_int_dtype() -> np.dtype[Any]:
    """Return int64 with `enable_x64`, else int32."""
    return python_scalar_dtypes[int]


def default_uint_dtype() -> np.dtype[Any]:
    """Return uint64 with `enable_x64`, else uint32."""
    return np.dtype(np.uint64 if enable_x64.value else np.uint32)


def default_float_dtype() -> np.dtype[Any]:
    """Return float64 with `enable_x64`, else float32."""
    return python_scalar_dtypes[float]


def default_complex_dtype() -> np.dtype[Any]:
    """Return complex128 with `enable_x64`, else complex64."""
    return python_scalar_dtypes[complex]


class _ScalarDtypes(Mapping[type, "np.dtype[Any]"]):
    """The dtype of each Python scalar type, which depends on `enable_x64`."""

    def __getitem__(self, scalar: type) -> np.dtype[Any]:
        return (_SCALARS_64 if enable_x64.value else _SCALARS_32)[scalar]

    def __iter__(self) -> Iterator[type]:
        return iter(_SCALARS_64)

    def __len__(self) -> int:
        return len(_SCALARS_64)


python_scalar_dtypes: Mapping[type, np.dtype[Any]] = _ScalarDtypes()


def scalar_dtype(value: bool | int | float | complex, scalar: type | None = None) -> np.dtype[Any]:
    """Return the dtype of a Python scalar.

    Args:
        value: the scalar.
        scalar: which of bool, int, float and complex it is, if its type is a subclass of that.

    Raises:
        OverflowError: an int does not fit the default int dtype.
    """
    found = python_scalar_dtypes[scalar or type(value)]
    if found.kind == "i":
        limits = np.iinfo(found)
        if not limits.min <= value <= limits.max:  # type: ignore[operator]
            shown = value if -(2**128) < value < 2**128 else f"one of {value.bit_length()} bits"  # type: ignore[union-attr,operator]
            raise OverflowError(f"Python int must fit {found.name} (set enable_x64 for int64), got {shown}{of_call()}")
    return found


def issubdtype(a: Any, b: Any) -> bool:
    """Return True if dtype or scalar type `a` is `b` or below it, as `numpy.issubdtype` does.

    It also knows where bfloat16, the narrow floats and integers, and extended dtypes belong.

    >>> issubdtype(bfloat16, np.floating)
    True
    """
    return _issubdtype(_hashable_type(a), _hashable_type(b))


def _hashable_type(x: Any) -> Any:
    return x if isinstance(x, (type, np.dtype, ExtendedDType)) else numpy_dtype("issubdtype", "its argument", x)


def _scalar_class(x: Any) -> type:
    if isinstance(x, ExtendedDType):
        scalar: type = x.type
        return scalar
    if isinstance(x, type) and issubclass(x, np.generic):
        return x
    scalar_type: type = np.dtype(x).type
    return scalar_type


@functools.lru_cache(maxsize=1024)
def _issubdtype(a: Any, b: Any) -> bool:
    if isinstance(b, ExtendedDType):
        return bool(a == b) if isinstance(a, ExtendedDType) else False
    a, b = _scalar_class(a), _scalar_class(b)
    bases = _ABSTRACT_BASES.get(a)
    return issubclass(a, b) if bases is None else (b is a or b in bases)


@functools.lru_cache(maxsize=256)
def is_floating(dtype: Any) -> bool:
    """Return True for a real floating dtype of any width."""
    return issubdtype(dtype, np.floating)


@functools.lru_cache(maxsize=256)
def is_complex(dtype: Any) -> bool:
    """Return True for complex64 and complex128."""
    return issubdtype(dtype, np.complexfloating)


@functools.lru_cache(maxsize=256)
def is_inexact(dtype: Any) -> bool:
    """Return True for a floating or complex dtype."""
    return issubdtype(dtype, np.inexact)


@functools.lru_cache(maxsize=256)
def is_integer(dtype: Any) -> bool:
    """Return True for a signed or unsigned integer dtype; bool is not one."""
    return issubdtype(dtype, np.integer)


@functools.lru_cache(maxsize=256)
def is_signed_integer(dtype: Any) -> bool:
    """Return True for a signed integer dtype."""
    return issubdtype(dtype, np.signedinteger)


@functools.lru_cache(maxsize=256)
def is_unsigned_integer(dtype: Any) -> bool:
    """Return True for an unsigned integer dtype."""
    return issubdtype(dtype, np.unsignedinteger)


@functools.lru_cache(maxsize=256)
def is_numeric(dtype: Any) -> bool:
    """Return True for an integer, floating or complex dtype."""
    return issubdtype(dtype, np.number)


@functools.lru_cache(maxsize=256)
def is_bool(dtype: Any) -> bool:
    """Return True for bool."""
    return issubdtype(dtype, np.bool_)


def is_extended(dtype: Any) -> bool:
    """Return True for a dtype that numpy does not have."""
    return isinstance(dtype, ExtendedDType)


def _of_numpy(dtype: Any) -> np.dtype[Any]:
    """Return the dtype of numpy, which arithmetic is defined for."""
    if not isinstance(dtype, ExtendedDType):
        found: np.dtype[Any] = np.dtype(dtype)
        if found.type is not np.void:
            return found
    raise TypeError(f"arithmetic is not defined for values of dtype {short_dtype_name(dtype)}{of_call()}")


@functools.lru_cache(maxsize=256)
def itemsize_bits(dtype: Any) -> int:
    """Return the number of bits in an element; a bool takes 8."""
    d = _of_numpy(dtype)
    if d == _BOOL:
        return 8
    if is_integer(d):
        return int(iinfo(d).bits)  # type: ignore[no-untyped-call]
    if is_floating(d):
        return int(finfo(d).bits)  # type: ignore[no-untyped-call]
    if is_complex(d):
        return int(8 * d.itemsize)
    raise ValueError(f"itemsize_bits: dtype must be bool or a number, got {dtype}")


@functools.lru_cache(maxsize=256)
def supports_inf(dtype: Any) -> bool:
    """Return True if the dtype has an infinity."""
    d = np.dtype(dtype)
    if not is_inexact(d):
        return False
    with np.errstate(all="ignore"):
        return bool(np.isinf(np.array(np.inf).astype(d)))


def scalar_type_of(x: Any) -> type:
    """Return the Python scalar type, of bool, int, float and complex, that a value or dtype is nearest to."""
    d = dtype(x)
    if is_bool(d):
        return bool
    if is_integer(d):
        return int
    if is_floating(d):
        return float
    if is_complex(d):
        return complex
    raise TypeError(f"scalar_type_of: x must have a bool or number dtype, got {d}")


def to_numeric_dtype(dtype: Any) -> np.dtype[Any]:
    """Return int32 for bool, and any other dtype unchanged."""
    d = _of_numpy(dtype)
    return np.dtype(np.int32) if d == _BOOL else d


def to_inexact_dtype(dtype: Any) -> np.dtype[Any]:
    """Return float64 for 64-bit integers, float32 for other integers and bool, and any other unchanged."""
    d = _of_numpy(dtype)
    if d == _BOOL or is_integer(d):
        return np.dtype(np.float64 if d.itemsize == 8 else np.float32)
    return d


def to_floating_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype of the real part of `to_inexact_dtype(dtype)`."""
    d = to_inexact_dtype(dtype)
    return np.dtype(f"f{d.itemsize // 2}") if is_complex(d) else d


def to_complex_dtype(dtype: Any) -> np.dtype[Any]:
    """Return complex128 for 64-bit integers, float64 and complex128, and complex64 for everything else."""
    wide = to_floating_dtype(dtype) == np.dtype(np.float64)
    return np.dtype(np.complex128 if wide else np.complex64)


def tangent_dtype(dtype: DType) -> DType:
    """Return the dtype of tangents: the dtype itself if it is inexact, else `float0`."""
    if isinstance(dtype, ExtendedDType):
        return dtype.tangent_dtype
    return dtype if is_inexact(dtype) else float0


@functools.lru_cache(maxsize=256)
def short_dtype_name(dtype: DType) -> str:
    """Return the name that jaxprs print.

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


def dtype(x: Any) -> Any:
    """Return the dtype of a value, or the one that a dtype, a dtype's name or a scalar type stands for.

    The dtypes of arrays, tracers and abstract values are returned as they are; others are made canonical.

    Raises:
        TypeError: x has no dtype, or one that arrays may not have.
    """
    return _signature(x)[0]


def is_weakly_typed(x: Any) -> bool:
    """Return True for a Python int, float or complex, and an array or tracer that stems from those alone."""
    scalar = type(x)
    if scalar is int or scalar is float or scalar is complex:
        return True
    return bool(getattr(getattr(x, "aval", x), "weak_type", False)) or _python_type(x) not in (None, bool)


def _python_type(x: Any) -> type | None:
    """Return the one of bool, int, float and complex whose instance x is; None for numpy's scalars and all else."""
    if isinstance(x, np.generic):
        return None
    return next((scalar for scalar in _SCALARS_64 if isinstance(x, scalar)), None)


def weak_type_of(x: Any) -> tuple[Any, bool]:
    """Return `(dtype(x), weak)`, where the scalar types int, float and complex count as weak too."""
    return _signature(x)


def _signature(x: Any) -> tuple[Any, bool]:
    aval = getattr(x, "aval", None)
    if aval is not None:
        try:
            return aval.dtype, getattr(aval, "weak_type", False)
        except AttributeError:
            raise TypeError(f"dtype: x must be an array, a number, or a dtype, got {x!r}") from None
    scalar = type(x)
    if scalar in _SCALARS_64:
        return (_SCALARS_64 if enable_x64.value else _SCALARS_32)[scalar], scalar is not bool
    if isinstance(x, np.dtype):
        return _checked(x, x), False
    if isinstance(x, (np.ndarray, np.generic)):
        return array_dtype(x.dtype) or _checked(x.dtype, x), False
    if isinstance(x, type):
        if x in _SCALARS_64:
            return python_scalar_dtypes[x], x is not bool
        return _checked(_foreign_dtype(x), x), False
    weak = getattr(x, "weak_type", None)
    if weak is not None:
        return x.dtype, weak
    base = _python_type(x)
    if base is not None:
        return python_scalar_dtypes[base], base is not bool
    return _checked(_foreign_dtype(x), x), False


def _foreign_dtype(x: Any) -> Any:
    if isinstance(x, ExtendedDType):
        return x
    found = None if isinstance(x, type) else getattr(x, "dtype", None)
    if isinstance(found, (np.dtype, ExtendedDType)):
        return found
    try:
        if isinstance(x, str) or (isinstance(x, type) and issubclass(x, np.generic)):
            return np.dtype(x)
        if x is not None and not isinstance(x, type):
            return np.result_type(x)
    except (TypeError, ValueError):
        pass
    raise TypeError(f"dtype: x must be an array, a number, or a dtype, got {x!r} of type {type(x).__name__}")


def _checked(found: Any, x: Any) -> Any:
    canonical = (_VALID_64 if enable_x64.value else _VALID_32).get(found)
    if canonical is not None:
        return canonical
    if isinstance(found, ExtendedDType):
        return found
    raise TypeError(f"dtype: x must have a bool, number or extended dtype, got {found} for {x!r}")


_Node: TypeAlias = "np.dtype[Any] | type"


def _edges(x64: bool) -> dict[_Node, tuple[_Node, ...]]:
    """Return what stands directly above each dtype, and each weak scalar type, in the promotion lattice."""
    u8, u16, u32, u64 = _UNSIGNED[-4:]
    i8, i16, i32, i64 = _SIGNED[-4:]
    bf16, f16, f32, f64 = _FLOATS[-4:]
    c64, c128 = _COMPLEX
    return {
        **dict.fromkeys((*_NARROW_UNSIGNED, *_NARROW_SIGNED, *_NARROW_FLOATS), ()),
        _BOOL: (int,),
        int: (*_NARROW_UNSIGNED, *_NARROW_SIGNED, u8, i8),
        u8: (u16, i16),
        u16: (u32, i32),
        # With 64-bit dtypes off, uint32 and a signed integer must not make an int64.
        u32: (u64, i64) if x64 else (u64, i32),
        u64: (float,),
        i8: (i16,),
        i16: (i32,),
        i32: (i64,),
        i64: (float,),
        float: (*_NARROW_FLOATS, bf16, f16, complex),
        bf16: (f32,),
        f16: (f32,),
        f32: (f64, c64),
        f64: (c128,),
        complex: (c64,),
        c64: (c128,),
        c128: (),
    }


def _strict_edges() -> dict[_Node, tuple[_Node, ...]]:
    """Return the lattice in which only weak scalar types promote, and only to dtypes that can hold them."""
    return {
        **dict.fromkeys((_BOOL, *_NUMBERS), ()),
        int: (float, *_UNSIGNED, *_SIGNED),
        float: (complex, *_FLOATS),
        complex: _COMPLEX,
    }


def _upper_bounds(edges: dict[_Node, tuple[_Node, ...]]) -> dict[_Node, frozenset[_Node]]:
    bounds: dict[_Node, frozenset[_Node]] = {}

    def above(node: _Node) -> frozenset[_Node]:
        if node not in bounds:
            bounds[node] = frozenset({node}).union(*(above(upper) for upper in edges[node]))
        return bounds[node]

    for node in edges:
        above(node)
    return bounds


@functools.cache
def _lattice(mode: str, x64: bool) -> dict[_Node, frozenset[_Node]]:
    return _upper_bounds(_strict_edges() if mode == "strict" else _edges(x64))


def _least_upper_bound(mode: str, x64: bool, nodes: frozenset[_Node]) -> _Node:
    bounds = _lattice(mode, x64)
    for node in nodes:
        if node not in bounds:
            raise TypePromotionError(f"result_type: {_name(node)} does not promote to or from another dtype{of_call()}")
    common = frozenset.intersection(*(bounds[node] for node in nodes))
    for candidate in common:
        if common <= bounds[candidate]:
            return candidate
    names = ", ".join(sorted(_name(node) for node in nodes))
    if mode == "strict":
        why = "numpy_dtype_promotion is 'strict'"
    else:
        why = "floats and integers of fewer than 8 bits, and 8-bit floats, do not promote implicitly"
    raise TypePromotionError(f"result_type: dtypes must have a common dtype, got {names}; {why}; cast one with astype")


def _name(node: Any) -> str:
    return node.__name__ if isinstance(node, type) else "float0" if node == float0 else str(node)


def _weak_node(dtype: Any) -> _Node:
    return _BOOL if dtype == _BOOL else scalar_type_of(dtype)


def _default_dtype(d: np.dtype[Any]) -> np.dtype[Any]:
    """Return the default dtype of the sort of number that `d` is."""
    if is_unsigned_integer(d):
        return default_uint_dtype()
    return python_scalar_dtypes[scalar_type_of(d)]


@functools.lru_cache(maxsize=8192)
def _promote(mode: str, x64: bool, signature: tuple[tuple[Any, bool], ...]) -> tuple[Any, bool]:
    first, weak = signature[0]
    dtypes = {d for d, _ in signature}
    if len(signature) > 1:
        weak = all(w for _, w in signature)
        if weak and mode != "strict":
            first = canonicalize_dtype(_least_upper_bound(mode, x64, frozenset(dtypes)))
        elif weak or len(dtypes) > 1:
            nodes = frozenset(_weak_node(d) if w else d for d, w in signature)
            bound = _least_upper_bound(mode, x64, nodes)
            first, weak = canonicalize_dtype(bound), isinstance(bound, type)
    weak = weak and first != _BOOL
    return (_default_dtype(first) if weak else first), weak


@overload
def result_type(*args: Any, return_weak_type: Literal[False] = False) -> Any: ...
@overload
def result_type(*args: Any, return_weak_type: Literal[True]) -> tuple[Any, bool]: ...


def result_type(*args: Any, return_weak_type: bool = False) -> Any:
    """Return the dtype to which an operation on these operands promotes them.

    Args:
        *args: arrays, tracers, abstract values, numbers, dtypes, or scalar types; int, float and complex, and
            values of those types, are weak. None stands for the default float dtype.
        return_weak_type: return `(dtype, weak)` instead.

    Raises:
        TypePromotionError: there is no common dtype.

    >>> result_type(np.int8(1), 2.0), result_type(np.float16(1), 2.0)
    (dtype('float32'), dtype('float16'))
    """
    if len(args) == 2:
        x, y = args
        a = _signature(default_float_dtype() if x is None else x)
        b = _signature(default_float_dtype() if y is None else y)
        if a[0] is b[0] and not (a[1] and b[1]):
            return (a[0], False) if return_weak_type else a[0]
        signature: tuple[tuple[Any, bool], ...] = (a, b)
    elif args:
        signature = tuple([_signature(default_float_dtype() if x is None else x) for x in args])
    else:
        raise ValueError("result_type: args must have one operand or more, got none")
    found = _promote(numpy_dtype_promotion.value, enable_x64.value, signature)
    return found if return_weak_type else found[0]


def promote_types(a: Any, b: Any) -> Any:
    """Return the dtype to which dtypes `a` and `b` promote; int, float and complex are weak.

    Raises:
        TypePromotionError: there is no common dtype.

    >>> promote_types("uint8", "int8"), promote_types("float16", float)
    (dtype('int16'), dtype('float16'))
    """
    nodes = [
        x if x is int or x is float or x is complex else numpy_dtype("promote_types", which, x)
        for which, x in (("a", a), ("b", b))
    ]
    return np.dtype(_least_upper_bound(numpy_dtype_promotion.value, enable_x64.value, frozenset(nodes)))


def safe_to_cast(value: Any, to: Any) -> bool:
    """Return True if promoting `value`, a value or dtype, against the dtype `to` gives `to`.

    Raises:
        TypePromotionError: the two have no common dtype.
    """
    target = dtype(to)
    return bool(dtype(value) == target or result_type(value, target) == target)
