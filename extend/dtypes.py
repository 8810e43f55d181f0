"""Dtypes: those of the kernel, the dtypes of values, and type promotion."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, overload

import ml_dtypes
import numpy as np
from ml_dtypes import (
    bfloat16,
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
    int2,
    int4,
    uint2,
    uint4,
)

from primax.core.arguments import nearest, numpy_dtype
from primax.core.caller import warn_caller
from primax.core.diagnostics import of_call, shorten
from primax.core.dtypes import (
    BOOL,
    CANONICAL_32,
    CANONICAL_64,
    NARROWED,
    SCALARS_32,
    SCALARS_64,
    DType,
    ExtendedDType,
    array_dtype,
    array_dtypes,
    canonicalize_dtype,
    extended,
    float0,
    is_complex,
    is_floating,
    is_inexact,
    is_integer,
    is_numeric,
    issubdtype,
    kind_test,
    scalar_dtype,
    short_dtype_name,
    tangent_dtype,
)
from primax.core.errors import ArgumentError
from primax.extend.options import enable_x64, numpy_dtype_promotion
from primax.extend.promotion import Node, TypePromotionError, least_upper_bound
from primax.extend.provisional.typing import ArrayLike, DTypeLike

__all__ = [
    "DType",
    "ExtendedDType",
    "NARROWED",
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
    "issubdtype",
    "itemsize_bits",
    "promote_types",
    "python_scalar_dtypes",
    "result_type",
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
]
__dir__ = __all__.copy


is_bool = kind_test(np.bool_, "Return True for bool.")
is_signed_integer = kind_test(np.signedinteger, "Return True for a signed integer dtype.")
is_unsigned_integer = kind_test(np.unsignedinteger, "Return True for an unsigned integer dtype.")
finfo: Callable[[Any], Any] = ml_dtypes.finfo


iinfo: Callable[[Any], Any] = ml_dtypes.iinfo


def is_extended(dtype: Any) -> bool:
    """Return True for a dtype that NumPy lacks."""
    return isinstance(dtype, ExtendedDType)


def is_canonical(dtype: Any) -> bool:
    """Whether NumPy values keep a dtype: dtypes of 64 bits are narrowed unless `enable_x64` is set."""
    return enable_x64.value or dtype not in NARROWED


def check_user_dtype(dtype: Any, argument: str, function: str) -> Any:
    """Return the canonical form of a dtype from a user.

    Args:
        dtype: a dtype, its name, or a scalar type; `int`, `float` and `complex` mean the default width.
        argument: the name of the argument, for errors.
        function: the name of the function that takes it, for errors.

    Raises:
        TypeError: `dtype` is not a dtype of arrays.

    Warns:
        UserWarning: the user named a 64-bit dtype, and `enable_x64` is not set.
    """
    if isinstance(dtype, ExtendedDType):
        return dtype
    if isinstance(dtype, type) and dtype in SCALARS_64:
        return python_scalar_dtypes[dtype]
    asked = None
    if dtype is not None and not hasattr(dtype, "aval") and not isinstance(dtype, np.ndarray):
        with contextlib.suppress(TypeError, ValueError, SyntaxError, KeyError, AttributeError):
            asked = np.dtype(dtype)
    if asked is None or asked not in array_dtypes:
        shown, hint = shorten(dtype), ""
        if isinstance(dtype, str):
            hint = nearest(dtype, [known.name for known in array_dtypes]) or "; no dtype has this name"
        elif hasattr(dtype, "dtype") and not isinstance(dtype, type):
            hint = "; pass the dtype of an array, as in x.dtype, and not the array"
        raise ArgumentError(f"{function}: {argument} must be a bool, number or extended dtype, got {shown}{hint}")
    canonical = canonicalize_dtype(asked)
    if canonical != asked:
        warn_caller(
            f"{function}: {argument} {asked.name} is not available, and {canonical.name} is used; "
            "to have 64-bit dtypes, set enable_x64 (environment variable PRIMAX_ENABLE_X64)"
        )
    return canonical


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
    """The dtype of each Python scalar type; it depends on `enable_x64`."""

    def __getitem__(self, scalar: type) -> np.dtype[Any]:
        return (SCALARS_64 if enable_x64.value else SCALARS_32)[scalar]

    def __iter__(self) -> Iterator[type]:
        return iter(SCALARS_64)

    def __len__(self) -> int:
        return len(SCALARS_64)


python_scalar_dtypes: Mapping[type, np.dtype[Any]] = _ScalarDtypes()


def _of_numpy(dtype: Any) -> np.dtype[Any]:
    """Return a dtype with arithmetic as a NumPy dtype."""
    if not isinstance(dtype, ExtendedDType):
        known: np.dtype[Any] = np.dtype(dtype)
        if known.type is not np.void:
            return known
    raise no_arithmetic(dtype)


def no_arithmetic(dtype: Any) -> TypeError:
    """The error for a value whose dtype has no arithmetic, such as a key, where numbers are needed."""
    name = short_dtype_name(dtype)
    return ArgumentError(
        f"arithmetic is not defined for values of dtype {name}{of_call()}{instead_of_arithmetic(dtype)}"
    )


def has_sums(dtype: Any) -> bool:
    """Whether values of a dtype can be added: numbers, and extended dtypes that are their own tangents' dtype."""
    if isinstance(dtype, ExtendedDType):
        return bool(dtype.tangent_dtype == dtype) and is_inexact(dtype.element_dtype)
    return is_numeric(dtype)


def instead_of_arithmetic(dtype: Any) -> str:
    """The remedy for values of a dtype without arithmetic, for the end of a message; empty for other dtypes."""
    hint = getattr(dtype, "how_to_compute", "")
    return hint and f"; {hint}"


def itemsize_bits(dtype: DTypeLike) -> int:
    """Return the number of bits in an element; a bool takes 8.

    Raises:
        TypeError: it is not a dtype, or is one without arithmetic, such as an extended dtype.
        ValueError: it is a dtype of other values than numbers and bools.
    """
    try:
        return _itemsize_bits(dtype)  # type: ignore[arg-type]  # a value without a hash raises TypeError
    except (TypeError, ValueError) as error:
        if isinstance(dtype, np.dtype | ExtendedDType) or "itemsize_bits" in str(error):
            raise
        raise TypeError(f"itemsize_bits: dtype must be that of numbers or bool, got {dtype!r}") from None


@functools.lru_cache(maxsize=256)
def _itemsize_bits(dtype: Any) -> int:
    d = _of_numpy(dtype)
    if d == BOOL:
        return 8
    if is_integer(d):
        return int(iinfo(d).bits)
    if is_floating(d):
        return int(finfo(d).bits)
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


def scalar_type_of(x: DTypeLike) -> type:
    """Return the nearest Python scalar type of a value or dtype: bool, int, float or complex."""
    d = dtype(x)
    for scalar, is_near in ((bool, is_bool), (int, is_integer), (float, is_floating), (complex, is_complex)):
        if is_near(d):
            return scalar
    raise TypeError(f"scalar_type_of: x must have a bool or number dtype, got {d}")


def to_numeric_dtype(dtype: Any) -> np.dtype[Any]:
    """Return int32 for bool, and other dtypes unchanged."""
    d = _of_numpy(dtype)
    return np.dtype(np.int32) if d == BOOL else d


def to_inexact_dtype(dtype: Any) -> np.dtype[Any]:
    """Return float64 for 64-bit integers, float32 for other integers and bool, and other dtypes unchanged."""
    d = _of_numpy(dtype)
    if d == BOOL or is_integer(d):
        return np.dtype(np.float64 if d.itemsize == 8 else np.float32)
    return d


def to_floating_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype of the real part of `to_inexact_dtype(dtype)`."""
    d = to_inexact_dtype(dtype)
    return np.dtype(f"f{d.itemsize // 2}") if is_complex(d) else d


def to_complex_dtype(dtype: Any) -> np.dtype[Any]:
    """Return complex128 for 64-bit integers, float64 and complex128, and complex64 for everything else."""
    return np.dtype(np.complex128 if to_floating_dtype(dtype) == np.float64 else np.complex64)


def dtype(x: object) -> Any:
    """Return the dtype of a value, a dtype, a dtype's name or a scalar type.

    The dtypes of arrays, tracers and abstract values are returned unchanged; other dtypes are made canonical.

    Raises:
        TypeError: x has no dtype, or one that arrays cannot have.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.dtype(1.0), lax.dtype(np.float64), lax.dtype("int8")
      (dtype('float32'), dtype('float32'), dtype('int8'))
    """
    return _dtype_and_weakness(x)[0]


def _python_type(x: Any) -> type | None:
    """Return bool, int, float or complex if x is an instance of it; None for NumPy scalars and other values."""
    if isinstance(x, np.generic):
        return None
    return next((scalar for scalar in SCALARS_64 if isinstance(x, scalar)), None)


def _dtype_and_weakness(x: Any) -> tuple[Any, bool]:
    aval = getattr(x, "aval", None)
    if aval is not None:
        try:
            return aval.dtype, getattr(aval, "weak_type", False)
        except AttributeError:
            raise TypeError(f"dtype: x must be an array, a number, or a dtype, got {x!r}") from None
    scalar = type(x)
    if scalar in SCALARS_64:
        return (SCALARS_64 if enable_x64.value else SCALARS_32)[scalar], scalar is not bool
    if isinstance(x, np.dtype):
        return _checked(x, x), False
    if isinstance(x, (np.ndarray, np.generic)):
        return array_dtype(x.dtype) or _checked(x.dtype, x), False
    if isinstance(x, type):
        if x in SCALARS_64:
            return python_scalar_dtypes[x], x is not bool
        return _checked(_dtype_of_object(x), x), False
    weak = getattr(x, "weak_type", None)
    if weak is not None:
        return x.dtype, weak
    base = _python_type(x)
    if base is not None:
        return python_scalar_dtypes[base], base is not bool
    return _checked(_dtype_of_object(x), x), False


def _dtype_of_object(x: Any) -> Any:
    if isinstance(x, ExtendedDType):
        return x
    dtype = getattr(x, "dtype", None)  # also for classes: scalar types have a dtype
    if isinstance(dtype, (np.dtype, ExtendedDType)):
        return dtype
    try:
        if isinstance(x, str) or (isinstance(x, type) and issubclass(x, np.generic)):
            return np.dtype(x)
        if x is not None and not isinstance(x, type):
            return np.result_type(x)
    except (TypeError, ValueError):
        pass
    raise TypeError(f"dtype: x must be an array, a number, or a dtype, got {x!r} of type {type(x).__name__}")


def _checked(dtype: Any, x: Any) -> Any:
    canonical = (CANONICAL_64 if enable_x64.value else CANONICAL_32).get(dtype)
    if canonical is not None:
        return canonical
    if isinstance(dtype, ExtendedDType):
        return dtype
    raise TypeError(f"dtype: x must have a bool, number or extended dtype, got {dtype} for {x!r}")


def _weak_node(dtype: Any) -> Node:
    return BOOL if dtype == BOOL else scalar_type_of(dtype)


def _default_dtype(d: np.dtype[Any]) -> np.dtype[Any]:
    """Return the default dtype for the kind of number of `d`."""
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
            first = canonicalize_dtype(least_upper_bound(mode, x64, frozenset(dtypes)))
        elif weak or len(dtypes) > 1:
            nodes = frozenset(_weak_node(d) if w else d for d, w in signature)
            bound = least_upper_bound(mode, x64, nodes)
            first, weak = canonicalize_dtype(bound), isinstance(bound, type)
    weak = weak and first != BOOL
    return (_default_dtype(first) if weak else first), weak


@overload
def result_type(*args: Any, return_weak_type: Literal[False] = False) -> Any: ...
@overload
def result_type(*args: Any, return_weak_type: Literal[True]) -> tuple[Any, bool]: ...


def result_type(*args: ArrayLike | DTypeLike, return_weak_type: bool = False) -> Any:
    """Return the dtype to which an operation on these operands promotes them.

    Args:
        *args: arrays, tracers, abstract values, numbers, dtypes, or scalar types. int, float and complex, and
            values of those types, are weak. None stands for the default float dtype.
        return_weak_type: return `(dtype, weak)` instead.

    Raises:
        TypePromotionError: there is no common dtype.

    >>> result_type(np.int8(1), 2.0), result_type(np.float16(1), 2.0)
    (dtype('float32'), dtype('float16'))
    """
    if len(args) == 2:
        x, y = args
        a = _dtype_and_weakness(default_float_dtype() if x is None else x)
        b = _dtype_and_weakness(default_float_dtype() if y is None else y)
        if a[0] is b[0] and not (a[1] and b[1]):
            return (a[0], False) if return_weak_type else a[0]
        signature: tuple[tuple[Any, bool], ...] = (a, b)
    elif args:
        signature = tuple([_dtype_and_weakness(default_float_dtype() if x is None else x) for x in args])
    else:
        raise ValueError("result_type: args must have one operand or more, got none")
    promoted = _promote(numpy_dtype_promotion.value, enable_x64.value, signature)
    return promoted if return_weak_type else promoted[0]


def promote_types(a: DTypeLike, b: DTypeLike) -> Any:
    """Return the dtype to which dtypes `a` and `b` promote; int, float and complex are weak.

    Raises:
        TypePromotionError: there is no common dtype.

    >>> promote_types("uint8", "int8"), promote_types("float16", float)
    (dtype('int16'), dtype('float16'))
    """
    nodes: list[Any] = [
        x if x is int or x is float or x is complex or is_extended(x) else numpy_dtype("promote_types", which, x)
        for which, x in (("a", a), ("b", b))
    ]
    if nodes[0] == nodes[1] and is_extended(nodes[0]):
        return nodes[0]
    return np.dtype(least_upper_bound(numpy_dtype_promotion.value, enable_x64.value, frozenset(nodes)))
