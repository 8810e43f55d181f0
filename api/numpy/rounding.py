"""Rounding, clipping and replacement of NaN."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import integer, naming
from primax.extend.provisional.elementwise import like
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.conversion import asarray
from primax.numpy.predicates import isnan
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, cast, convert, number_aval, operands, promote, strong
from primax.numpy.reductions import refuse_out
from primax.numpy.selection import choose, where
from primax.numpy.ufuncs import document, imag, real, require_real, to_inexact
from primax.plugins import arithmetic, comparison, rounding
from primax.plugins.calls import jit

__all__ = ["ceil", "clip", "floor", "modf", "nan_to_num", "rint", "round", "trunc"]


def _rounded(name: str, primitive: Any, sentence: str) -> Callable[[ArrayLike], Array]:
    @one_program("")
    def function(x: ArrayLike, /) -> Array:
        aval = number_aval(name, x)
        require_real(name, x)
        return primitive.bind(x) if dtypes.is_floating(aval.dtype) else asarray(x)

    return document(function, name, sentence, 1, "real")


floor = _rounded("floor", rounding.floor_p, "The largest integer that is at most x, in the dtype of x.")


ceil = _rounded("ceil", rounding.ceil_p, "The smallest integer that is at least x, in the dtype of x.")


@one_program("")
def trunc(x: ArrayLike) -> Array:
    """x rounded towards zero, in the dtype of x.

    Args:
      x: an array or a number, real.

    Raises:
      TypeError: x is complex.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.trunc(pnp.array([-1.7, 1.7])), pnp.trunc(pnp.array([3])).dtype
      (Array([-1.,  1.], dtype=float32), dtype('int32'))
    """
    aval = number_aval("trunc", x)
    require_real("trunc", x)
    if not dtypes.is_floating(aval.dtype):
        return asarray(x)
    return choose(comparison.lt_p.bind(x, like(x, 0)), rounding.ceil_p.bind(x), rounding.floor_p.bind(x))


@one_program("")
def rint(x: ArrayLike, /) -> Array:
    """x rounded to the nearest integer, halves to the even one.

    Args:
      x: an array or a number; integers are converted to a floating dtype.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.rint(pnp.array([-1.5, 0.5, 2.6]))
      Array([-2.,  0.,  3.], dtype=float32)
    """
    aval = aval_of("rint", x)
    return _round_even(x if dtypes.is_inexact(aval.dtype) else cast(x, dtypes.default_float_dtype()))


def _round_even(x: Any) -> Array:
    if dtypes.is_complex(get_aval(x).dtype):
        return arithmetic.complex(_round_even(real(x)), _round_even(imag(x)))
    return rounding.round(x, rounding.RoundingMethod.TO_NEAREST_EVEN)


@one_program("decimals out")
def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """a rounded to a number of decimals, halves to the even neighbor.

    Args:
      a: an array or a number, not boolean.
      decimals: the number of decimals; a negative one rounds digits before the point.
      out: None.

    Raises:
      NotImplementedError: `a` holds integers and `decimals` is negative.
      TypeError: `a` is boolean.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.round(pnp.array([0.5, 1.5, 2.5]))  # halves go to the even number
      Array([0., 2., 2.], dtype=float32)
      >>> pnp.round(pnp.array([1234, -5678]), -2)
      Traceback (most recent call last):
          ...
      NotImplementedError: round: decimals must not be negative for integers, got -2
    """
    if out is not None:
        raise NotImplementedError("round: out must be None: arrays are immutable")
    aval = aval_of("round", a, "a")
    if dtypes.is_bool(aval.dtype):
        raise TypeError(f"round: a must be a number, got {aval.str_short()}")
    decimals = integer("round", "decimals", decimals)
    if dtypes.is_integer(aval.dtype):
        if decimals < 0:
            raise NotImplementedError(f"round: decimals must not be negative for integers, got {decimals}")
        return asarray(a)
    if decimals and dtypes.is_complex(aval.dtype):  # a complex product with an infinite part would be NaN
        return arithmetic.complex(round(real(a), decimals), round(imag(a), decimals))
    if decimals == 0:
        return _round_even(a)
    if dtypes.is_inexact(aval.dtype) and decimals > math.log10(float(dtypes.finfo(aval.dtype).max)):
        return asarray(a)  # the factor would overflow, and no float has so many decimals
    wide = dtypes.itemsize_bits(aval.dtype) < 32
    x = convert(a, aval, dtypes.dtype("float32")) if wide else a
    with naming("round"):
        factor = like(x, 10.0**decimals)
    x = arithmetic.div_p.bind(_round_even(arithmetic.mul_p.bind(x, factor)), factor)
    return convert(x, get_aval(x), aval.dtype, aval.weak_type)


def round_(x: Any, decimals: Any = None) -> Array:
    """Python's `round`: `round(x)` returns integers, `round(x, decimals)` numbers of the dtype of x."""
    if decimals is not None:
        return round(x, decimals)
    out = round(x)
    return strong(convert(out, get_aval(out), dtypes.default_int_dtype()))


@one_program("out")
def modf(x: ArrayLike, /, out: None = None) -> tuple[Any, Any]:
    """The fractional and the integral part of x, both with the sign of x.

    Args:
      x: an array or a number, real.
      out: None.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.modf(pnp.array([-1.75, 2.5]))
      (Array([-0.75,  0.5 ], dtype=float32), Array([-1.,  2.], dtype=float32))
    """
    if out is not None:
        refuse_out("modf")
    (x,) = promote("modf", x, to=to_inexact)
    require_real("modf", x)
    whole = trunc(x)
    return arithmetic.sub_p.bind(x, whole), whole


@one_program("")
def clip(arr: ArrayLike, /, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array:
    """arr clipped to bounds.

    Args:
      arr: an array or a number, real.
      min: the lower bound, an array or a number; None for no bound.
      max: the upper bound, an array or a number; None for no bound.

    Raises:
      TypeError: an argument is complex.

    >>> import primax as px
    >>> px.numpy.clip(px.numpy.arange(4), 1, 2)
    Array([1, 1, 2, 2], dtype=int32)
    """
    for x, argument in ((arr, "arr"), (min, "min"), (max, "max")):
        aval = aval_of("clip", arr if x is None else x, argument)
        if dtypes.is_complex(aval.dtype):
            raise TypeError(f"clip: {argument} must be real, got {aval.str_short()}")
    return _clipped(arr, min, max)


def _clipped(arr: Any, lower: Any, upper: Any) -> Array:
    out = arr if lower is None else arithmetic.max_p.bind(*operands("clip", lower, arr))
    out = out if upper is None else arithmetic.min_p.bind(*operands("clip", upper, out))
    return asarray(out)


@one_program("copy")
def nan_to_num(
    x: ArrayLike,
    copy: bool = True,
    nan: ArrayLike = 0.0,
    posinf: ArrayLike | None = None,
    neginf: ArrayLike | None = None,
) -> Array:
    """x with NaN and infinities replaced by numbers.

    Args:
      x: an array or a number.
      copy: ignored, since arrays are immutable.
      nan: the replacement of NaN.
      posinf: the replacement of infinity; the largest number of the dtype if None.
      neginf: the replacement of minus infinity; the lowest number of the dtype if None.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.nan_to_num(pnp.array([np.nan, np.inf, -2.0]), nan=7.0, posinf=9.0)
      Array([ 7.,  9., -2.], dtype=float32)
    """
    aval = number_aval("nan_to_num", x)
    if dtypes.is_complex(aval.dtype):
        parts = [nan_to_num(part, copy, nan, posinf, neginf) for part in (real(x), imag(x))]
        return arithmetic.complex(*parts)
    if not dtypes.is_floating(aval.dtype):
        return asarray(x)
    limits = dtypes.finfo(aval.dtype)
    upper = limits.max if posinf is None else posinf
    lower = limits.min if neginf is None else neginf
    return _compiled_replacement(x, nan, upper, lower)


def _replaced(x: Any, nan: Any, upper: Any, lower: Any) -> Array:
    out = where(isnan(x), *_like(x, nan), x)
    out = where(comparison.eq_p.bind(x, like(x, math.inf)), *_like(x, upper), out)
    return where(comparison.eq_p.bind(x, like(x, -math.inf)), *_like(x, lower), out)


_compiled_replacement = jit(_replaced)


def _like(x: Any, value: Any) -> tuple[Any]:
    dtype = get_aval(x).dtype
    return (convert(value, get_aval(value), dtype),)
