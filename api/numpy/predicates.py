"""Predicates of numbers, and logical operations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.elementwise import like
from primax.extend.provisional.sharding import match_placement
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.conversion import asarray
from primax.numpy.creation import constant
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, boolean, broadcast, convert, number_aval, operands, refuse_options, strong
from primax.numpy.reductions import all as all_
from primax.numpy.ufuncs import document, equal, imag, real, require_real, to_inexact
from primax.plugins import arithmetic, bitwise, comparison, rounding, structural

__all__ = [
    "allclose",
    "array_equal",
    "array_equiv",
    "isclose",
    "iscomplex",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "logical_not",
    "signbit",
]

_BOOL = np.dtype(np.bool_)

Function = Callable[..., Any]


@one_program("")
def isfinite(x: ArrayLike, /) -> Array:
    """Whether x is neither infinite nor NaN.

    Args:
      x: an array or a number.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.isfinite(pnp.array([1.0, np.inf, np.nan]))
      Array([ True, False, False], dtype=bool)
      >>> pnp.isfinite(pnp.array([1, 2]))
      Array([ True,  True], dtype=bool)
    """
    aval = number_aval("isfinite", x)
    if dtypes.is_complex(aval.dtype):
        return bitwise.and_p.bind(isfinite(real(x)), isfinite(imag(x)))
    if dtypes.is_floating(aval.dtype):
        return rounding.is_finite_p.bind(x)
    return match_placement(constant(True, aval.shape, _BOOL), aval)


@one_program("")
def isnan(x: ArrayLike, /) -> Array:
    """Whether x, or a part of x, is NaN.

    Args:
      x: an array or a number.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.isnan(pnp.array([1.0, np.nan, complex(0, np.nan)]))
      Array([False,  True,  True], dtype=bool)
    """
    aval = number_aval("isnan", x)
    if dtypes.is_inexact(aval.dtype):
        return comparison.ne_p.bind(x, x)
    return match_placement(constant(False, aval.shape, _BOOL), aval)


@one_program("")
def isinf(x: ArrayLike, /) -> Array:
    """Whether x, or a part of x, is infinite.

    Args:
      x: an array or a number.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.isinf(pnp.array([-np.inf, np.nan, complex(np.inf, np.nan)]))
      Array([ True, False,  True], dtype=bool)
    """
    aval = number_aval("isinf", x)
    if dtypes.is_complex(aval.dtype):
        return bitwise.or_p.bind(isinf(real(x)), isinf(imag(x)))
    if dtypes.is_floating(aval.dtype):
        return comparison.eq_p.bind(arithmetic.abs_p.bind(x), aval.dtype.type(math.inf))
    return match_placement(constant(False, aval.shape, _BOOL), aval)


def _infinity(name: str, value: float, sentence: str) -> Callable[[ArrayLike], Array]:
    def function(x: ArrayLike, /, out: None = None) -> Array:
        if out is not None:
            refuse_options(name, out, None)
        aval = number_aval(name, x)
        require_real(name, x)
        if dtypes.is_floating(aval.dtype):
            return comparison.eq_p.bind(x, aval.dtype.type(value))
        return match_placement(constant(False, aval.shape, _BOOL), aval)

    return document(function, name, sentence, 1, "real")


isposinf = _infinity("isposinf", math.inf, "Whether x is plus infinity.")


isneginf = _infinity("isneginf", -math.inf, "Whether x is minus infinity.")


@one_program("")
def logical_not(x: ArrayLike, /) -> Array:
    """Whether x is zero.

    Args:
      x: an array or a number.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.logical_not(pnp.array([0, 2, -1]))
      Array([ True, False, False], dtype=bool)
    """
    aval_of("logical_not", x)
    return bitwise.not_p.bind(boolean(x))


def _logical(name: str, primitive: Any, sentence: str) -> Function:
    @one_program("out where")
    def function(x: ArrayLike, y: ArrayLike, /, out: None = None, where: None = None) -> Array:
        if out is not where:
            refuse_options(name, out, where)
        aval_of(name, x, 0)
        aval_of(name, y, 1)
        return primitive.bind(*broadcast(name, [boolean(x), boolean(y)]))

    return document(function, name, sentence, 2, "of any dtype; nonzero numbers are true")


logical_and = _logical("logical_and", bitwise.and_p, "Whether both x and y are true.")


logical_or = _logical("logical_or", bitwise.or_p, "Whether x or y is true.")


logical_xor = _logical("logical_xor", bitwise.xor_p, "Whether one of x and y is true.")


@one_program("")
def iscomplex(x: ArrayLike) -> Array:
    """Whether the imaginary part of x is not zero.

    Args:
      x: an array or a number.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.iscomplex(pnp.array([1 + 0j, 1j]))
      Array([False,  True], dtype=bool)
    """
    aval = number_aval("iscomplex", x)
    if dtypes.is_complex(aval.dtype):
        part = imag(x)
        return comparison.ne_p.bind(part, like(part, 0))
    return match_placement(constant(False, aval.shape, _BOOL), aval)


@one_program("")
def isreal(x: ArrayLike) -> Array:
    """Whether the imaginary part of x is zero.

    Args:
      x: an array or a number.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.isreal(pnp.array([1 + 0j, 1j]))
      Array([ True, False], dtype=bool)
    """
    aval = number_aval("isreal", x)
    if dtypes.is_complex(aval.dtype):
        part = imag(x)
        return comparison.eq_p.bind(part, like(part, 0))
    return match_placement(constant(True, aval.shape, _BOOL), aval)


@one_program("")
def signbit(x: ArrayLike, /) -> Array:
    """Whether the sign bit of x is set: x is negative, negative zero, or a NaN with its sign set.

    Args:
      x: an array or a number, real.

    Raises:
      TypeError: x is complex.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.signbit(pnp.array([-0.0, 0.0, -1.0]))
      Array([ True, False,  True], dtype=bool)
    """
    aval = number_aval("signbit", x)
    require_real("signbit", x)
    if dtypes.is_floating(aval.dtype):
        integer = np.dtype(f"int{dtypes.itemsize_bits(aval.dtype)}")
        return comparison.lt_p.bind(structural.bitcast_convert_type(x, integer), integer.type(0))
    if dtypes.is_signed_integer(aval.dtype):
        return comparison.lt_p.bind(x, aval.dtype.type(0))
    return match_placement(constant(False, aval.shape, _BOOL), aval)


@one_program("equal_nan")
def isclose(
    a: ArrayLike, b: ArrayLike, rtol: ArrayLike = 1e-05, atol: ArrayLike = 1e-08, equal_nan: bool = False
) -> Array:
    """Whether a and b differ by at most atol + rtol * abs(b).

    Args:
      a, b: arrays or numbers, of shapes that broadcast together.
      rtol: the relative tolerance.
      atol: the absolute tolerance.
      equal_nan: whether NaN is close to NaN.

    >>> import primax as px
    >>> px.numpy.isclose(1.0, px.numpy.array([1.0000001, 1.1]))
    Array([ True, False], dtype=bool)
    """
    if any(dtypes.is_extended(aval_of("isclose", x, i).dtype) for i, x in enumerate((a, b))):
        return equal(a, b)
    a, b = operands("isclose", a, b, to=to_inexact)
    rtol, atol = (_tolerance(name, x, b) for name, x in (("rtol", rtol), ("atol", atol)))
    a, b, rtol, atol = broadcast("isclose", [a, b, rtol, atol])
    distance = arithmetic.abs_p.bind(arithmetic.sub_p.bind(a, b))
    allowed = arithmetic.add_p.bind(atol, arithmetic.mul_p.bind(rtol, arithmetic.abs_p.bind(b)))
    near = bitwise.and_p.bind(comparison.le_p.bind(distance, allowed), isfinite(b))
    out = bitwise.or_p.bind(near, comparison.eq_p.bind(a, b))
    return bitwise.or_p.bind(out, bitwise.and_p.bind(isnan(a), isnan(b))) if equal_nan else out


def _tolerance(name: str, x: Any, compared: Any) -> Any:
    """Convert a tolerance to the real dtype of the compared numbers."""
    dtype = dtypes.to_floating_dtype(get_aval(compared).dtype)
    return strong(convert(x, aval_of("isclose", x, name), dtype))


@one_program("equal_nan")
def allclose(
    a: ArrayLike, b: ArrayLike, rtol: ArrayLike = 1e-05, atol: ArrayLike = 1e-08, equal_nan: bool = False
) -> Array:
    """Whether all elements of a and b are close. The arguments are those of `isclose`.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.allclose(1.0, 1.0 + 1e-6), pnp.allclose(np.nan, np.nan), pnp.allclose(np.nan, np.nan, equal_nan=True)
      (Array(True, dtype=bool), Array(False, dtype=bool), Array(True, dtype=bool))
    """
    return all_(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Array:
    """Whether two arrays have the same shape and equal elements.

    Args:
      a1, a2: arrays or numbers.
      equal_nan: whether NaN equals NaN.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.array_equal(pnp.ones(2), pnp.ones((1, 2))), pnp.array_equal(pnp.ones(2), [1, 1])
      (Array(False, dtype=bool), Array(True, dtype=bool))
    """
    a1, a2 = asarray(a1), asarray(a2)
    if a1.shape != a2.shape:
        return asarray(False)
    same = equal(a1, a2)
    if equal_nan:
        same = logical_or(same, logical_and(isnan(a1), isnan(a2)))
    return all_(same)


def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Whether two arrays broadcast and then have equal elements.

    Args:
      a1, a2: arrays or numbers.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.array_equiv(pnp.ones(2), pnp.ones((3, 2)))  # shapes may broadcast
      Array(True, dtype=bool)
    """
    a1, a2 = asarray(a1), asarray(a2)
    try:
        structural.broadcast_shapes(a1.shape, a2.shape)
    except ValueError:
        return asarray(False)
    return all_(equal(a1, a2))
