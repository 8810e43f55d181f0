"""Elementwise functions: what NumPy calls ufuncs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primax.extend.core import Array, dtypes, get_aval
from primax.plugins import arithmetic, bitwise, comparison, exponential, rounding, trigonometry
from primax.plugins.elementwise import like
from primax.plugins.numpy.creation import asarray, constant
from primax.plugins.numpy.promotion import (
    aval_of,
    boolean,
    broadcast,
    broadcast_to_shape,
    convert,
    operands,
    promote,
)
from primax.plugins.structural import select_n_p

__all__ = [
    "absolute",
    "add",
    "angle",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "cbrt",
    "ceil",
    "conjugate",
    "cos",
    "cosh",
    "deg2rad",
    "divide",
    "divmod",
    "equal",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "floor",
    "floor_divide",
    "fmod",
    "greater",
    "greater_equal",
    "imag",
    "invert",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "left_shift",
    "less",
    "less_equal",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "power",
    "rad2deg",
    "real",
    "reciprocal",
    "remainder",
    "right_shift",
    "rint",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
    "where",
]

_BOOL = np.dtype(np.bool_)

Function = Callable[..., Any]


def _document(function: Function, name: str, sentence: str, count: int, kinds: str) -> Function:
    function.__name__ = function.__qualname__ = name
    arguments = {
        1: "x: an array or a number",
        2: "x, y: arrays or numbers, of shapes that broadcast together",
    }[count]
    function.__doc__ = (
        f"{sentence}\n\n"
        f"    Args:\n      {arguments}, {kinds}.\n\n"
        f"    Raises:\n      TypeError: an argument is no array and no number, or not of such a dtype"
        f"{'; the shapes do not broadcast' if count == 2 else ''}.\n    "
    )
    return function


def _to_number(dtype: Any) -> Any:
    return dtypes.to_numeric_dtype(dtype)


def _to_inexact(dtype: Any) -> Any:
    return dtypes.to_inexact_dtype(dtype)


_ANY_NUMBER = "of any number dtype"
_INEXACT = "of a floating or complex dtype; others are converted to a floating one"
_REAL = "real; integers are converted to a floating dtype"
_INTEGER = "of a boolean or integer dtype"


def _unary(name: str, primitive: Any, sentence: str, kinds: str = _ANY_NUMBER, to: Any = None) -> Function:
    """A function of one argument, whose dtype is converted by `to` first."""
    bind = primitive.bind

    def function(x: Any, /) -> Any:
        aval = aval_of(name, x)
        if to is not None and to(aval.dtype) != aval.dtype:
            (x,) = promote(name, x, to=to)
        return bind(x)

    return _document(function, name, sentence, 1, kinds)


def _binary(name: str, primitive: Any, sentence: str, kinds: str = _ANY_NUMBER, to: Any = None) -> Function:
    """A function of two arguments, which are promoted, converted by `to`, and broadcast."""
    bind = primitive.bind

    def function(x: Any, y: Any, /) -> Any:
        if to is None and type(x) is Array and type(y) is Array:
            a, b = x._b.aval, y._b.aval
            if a is b or (a.dtype is b.dtype and a.shape == b.shape):
                return bind(x, y)
        return bind(*operands(name, x, y, to=to))

    return _document(function, name, sentence, 2, kinds)


sin = _unary("sin", trigonometry.sin_p, "The sine of x, an angle in radians.", _INEXACT, _to_inexact)
cos = _unary("cos", trigonometry.cos_p, "The cosine of x, an angle in radians.", _INEXACT, _to_inexact)
tan = _unary("tan", trigonometry.tan_p, "The tangent of x, an angle in radians.", _INEXACT, _to_inexact)
arcsin = _unary("arcsin", trigonometry.asin_p, "The angle in radians whose sine is x.", _INEXACT, _to_inexact)
arccos = _unary(
    "arccos", trigonometry.acos_p, "The angle in radians whose cosine is x.", _INEXACT, _to_inexact
)
arctan = _unary(
    "arctan", trigonometry.atan_p, "The angle in radians whose tangent is x.", _INEXACT, _to_inexact
)
sinh = _unary("sinh", trigonometry.sinh_p, "The hyperbolic sine of x.", _INEXACT, _to_inexact)
cosh = _unary("cosh", trigonometry.cosh_p, "The hyperbolic cosine of x.", _INEXACT, _to_inexact)
tanh = _unary("tanh", trigonometry.tanh_p, "The hyperbolic tangent of x.", _INEXACT, _to_inexact)
arcsinh = _unary(
    "arcsinh", trigonometry.asinh_p, "The number whose hyperbolic sine is x.", _INEXACT, _to_inexact
)
arccosh = _unary(
    "arccosh", trigonometry.acosh_p, "The number whose hyperbolic cosine is x.", _INEXACT, _to_inexact
)
arctanh = _unary(
    "arctanh", trigonometry.atanh_p, "The number whose hyperbolic tangent is x.", _INEXACT, _to_inexact
)
exp = _unary("exp", exponential.exp_p, "e to the power x.", _INEXACT, _to_inexact)
exp2 = _unary("exp2", exponential.exp2_p, "2 to the power x.", _INEXACT, _to_inexact)
expm1 = _unary("expm1", exponential.expm1_p, "exp(x) - 1, precise near 0.", _INEXACT, _to_inexact)
log = _unary("log", exponential.log_p, "The natural logarithm of x.", _INEXACT, _to_inexact)
log1p = _unary("log1p", exponential.log1p_p, "log(1 + x), precise near 0.", _INEXACT, _to_inexact)
sqrt = _unary("sqrt", exponential.sqrt_p, "The square root of x.", _INEXACT, _to_inexact)
cbrt = _unary("cbrt", exponential.cbrt_p, "The cube root of x.", _REAL, _to_inexact)
negative = _unary("negative", arithmetic.neg_p, "-x.")
square = _unary("square", arithmetic.square_p, "x * x.", to=_to_number)
invert = _unary("invert", bitwise.not_p, "The bits that are not set in x.", _INTEGER)

add = _binary("add", arithmetic.add_p, "x + y; the logical or of booleans.")
subtract = _binary("subtract", arithmetic.sub_p, "x - y.")
multiply = _binary("multiply", arithmetic.mul_p, "x * y; the logical and of booleans.")
divide = _binary("divide", arithmetic.div_p, "x / y, which is never an integer.", _INEXACT, _to_inexact)
maximum = _binary("maximum", arithmetic.max_p, "The larger of x and y; NaN if either is.")
minimum = _binary("minimum", arithmetic.min_p, "The smaller of x and y; NaN if either is.")
equal = _binary("equal", comparison.eq_p, "Whether x == y.", "of any dtype")
not_equal = _binary("not_equal", comparison.ne_p, "Whether x != y.", "of any dtype")
bitwise_and = _binary("bitwise_and", bitwise.and_p, "The bits that are set in both x and y.", _INTEGER)
bitwise_or = _binary("bitwise_or", bitwise.or_p, "The bits that are set in x or in y.", _INTEGER)
bitwise_xor = _binary("bitwise_xor", bitwise.xor_p, "The bits that are set in one of x and y.", _INTEGER)
left_shift = _binary("left_shift", bitwise.shift_left_p, "x * 2**y, by shifting bits.", _INTEGER, _to_number)
nextafter = _binary(
    "nextafter", rounding.nextafter_p, "The next number from x towards y.", _REAL, _to_inexact
)
arctan2 = _binary(
    "arctan2",
    trigonometry.atan2_p,
    "The angle in radians of the point (y, x), in (-pi, pi].",
    _INEXACT,
    _to_inexact,
)


def right_shift(x: Any, y: Any, /) -> Any:
    """x divided by 2**y and rounded down, by shifting bits.

    Args:
      x, y: arrays or numbers, of a boolean or integer dtype, of shapes that broadcast together.

    Raises:
      TypeError: an argument is not of such a dtype; the shapes do not broadcast.
    """
    x, y = operands("right_shift", x, y, to=_to_number)
    signed = dtypes.is_signed_integer(get_aval(x).dtype)
    return (bitwise.shift_right_arithmetic_p if signed else bitwise.shift_right_logical_p).bind(x, y)


def _ordering(name: str, primitive: Any, sign: str) -> Function:
    """A comparison; complex numbers are ordered by their real parts, then by their imaginary parts."""
    bind = primitive.bind

    def function(x: Any, y: Any, /) -> Any:
        x, y = operands(name, x, y)
        if dtypes.is_complex(get_aval(x).dtype):
            a, b = real(x), real(y)
            return choose(equal(a, b), bind(imag(x), imag(y)), bind(a, b))
        return bind(x, y)

    return _document(
        function,
        name,
        f"Whether x {sign} y.",
        2,
        "of any dtype; complex numbers are ordered by real part first",
    )


less = _ordering("less", comparison.lt_p, "<")
less_equal = _ordering("less_equal", comparison.le_p, "<=")
greater = _ordering("greater", comparison.gt_p, ">")
greater_equal = _ordering("greater_equal", comparison.ge_p, ">=")


def choose(which: Any, x: Any, y: Any) -> Any:
    """x where `which` is true, else y; of one dtype, and of the shape of `which` or scalars."""
    shape = get_aval(which).shape
    return select_n_p.bind(which, *(broadcast_to_shape(a, shape) for a in (y, x)))


def real(x: Any, /) -> Any:
    """The real part of x.

    Args:
      x: an array or a number.
    """
    aval = aval_of("real", x)
    return arithmetic.real_p.bind(x) if dtypes.is_complex(aval.dtype) else asarray(x)


def imag(x: Any, /) -> Any:
    """The imaginary part of x, zeros if x is real.

    Args:
      x: an array or a number.
    """
    aval = aval_of("imag", x)
    return (
        arithmetic.imag_p.bind(x)
        if dtypes.is_complex(aval.dtype)
        else constant(0, aval.shape, aval.dtype, aval.weak_type)
    )


def conjugate(x: Any, /) -> Any:
    """The complex conjugate of x.

    Args:
      x: an array or a number.
    """
    aval = aval_of("conjugate", x)
    return arithmetic.conj_p.bind(x) if dtypes.is_complex(aval.dtype) else asarray(x)


def absolute(x: Any, /) -> Any:
    """The absolute value of x, real if x is complex.

    Args:
      x: an array or a number, of any dtype.
    """
    dtype = aval_of("absolute", x).dtype
    if dtypes.is_bool(dtype) or dtypes.is_unsigned_integer(dtype):
        return asarray(x)
    return arithmetic.abs_p.bind(x)


def fabs(x: Any, /) -> Any:
    """The absolute value of x, as a floating number.

    Args:
      x: an array or a number, real.

    Raises:
      TypeError: x is complex.
    """
    (x,) = promote("fabs", x, to=_to_inexact)
    _require_real("fabs", x)
    return arithmetic.abs_p.bind(x)


def positive(x: Any, /) -> Any:
    """x itself.

    Args:
      x: an array or a number.
    """
    return asarray(x)


def sign(x: Any, /) -> Any:
    """-1, 0 or 1 for negative, zero and positive x; x / abs(x) if x is complex.

    Args:
      x: an array or a number, not boolean.
    """
    aval_of("sign", x)
    return arithmetic.sign_p.bind(x)


def _require_real(function: str, *args: Any) -> None:
    for x in args:
        aval = get_aval(x)
        if dtypes.is_complex(aval.dtype):
            raise TypeError(f"{function}: arguments must be real, got {aval.str_short()}")


def _rounded(name: str, primitive: Any, sentence: str) -> Function:
    def function(x: Any, /) -> Any:
        aval = aval_of(name, x)
        _require_real(name, x)
        return primitive.bind(x) if dtypes.is_floating(aval.dtype) else asarray(x)

    return _document(function, name, sentence, 1, "real")


floor = _rounded("floor", rounding.floor_p, "The largest integer that is not above x, in the dtype of x.")
ceil = _rounded("ceil", rounding.ceil_p, "The smallest integer that is not below x, in the dtype of x.")


def trunc(x: Any, /) -> Any:
    """x rounded towards zero, in the dtype of x.

    Args:
      x: an array or a number, real.

    Raises:
      TypeError: x is complex.
    """
    aval = aval_of("trunc", x)
    _require_real("trunc", x)
    if not dtypes.is_floating(aval.dtype):
        return asarray(x)
    return choose(comparison.lt_p.bind(x, like(x, 0)), rounding.ceil_p.bind(x), rounding.floor_p.bind(x))


def rint(x: Any, /) -> Any:
    """x rounded to the nearest integer, to the even one of two.

    Args:
      x: an array or a number; integers are converted to a floating dtype.
    """
    (x,) = promote("rint", x, to=_to_inexact)
    return _round_even(x)


def _round_even(x: Any) -> Any:
    if dtypes.is_complex(get_aval(x).dtype):
        return arithmetic.complex(_round_even(real(x)), _round_even(imag(x)))
    return rounding.round(x, rounding.RoundingMethod.TO_NEAREST_EVEN)


def reciprocal(x: Any, /) -> Any:
    """1 / x.

    Args:
      x: an array or a number; integers are converted to a floating dtype.
    """
    (x,) = promote("reciprocal", x, to=_to_inexact)
    return arithmetic.integer_pow_p.bind(x, y=-1)


def _logarithm(name: str, base: int) -> Function:
    scale = math.log(base)

    def function(x: Any, /) -> Any:
        (x,) = promote(name, x, to=_to_inexact)
        return arithmetic.div_p.bind(exponential.log_p.bind(x), like(x, scale))

    return _document(function, name, f"The logarithm of x to base {base}.", 1, _INEXACT)


log2 = _logarithm("log2", 2)
log10 = _logarithm("log10", 10)


def _scaled(name: str, factor: float, sentence: str) -> Function:
    def function(x: Any, /) -> Any:
        (x,) = promote(name, x, to=_to_inexact)
        return arithmetic.mul_p.bind(x, like(x, factor))

    return _document(function, name, sentence, 1, _INEXACT)


deg2rad = _scaled("deg2rad", math.pi / 180, "An angle in degrees as radians.")
rad2deg = _scaled("rad2deg", 180 / math.pi, "An angle in radians as degrees.")


def angle(z: Any, deg: bool = False) -> Any:
    """The angle of complex numbers, in (-pi, pi].

    Args:
      z: an array or a number.
      deg: whether the result is in degrees instead of radians.
    """
    (z,) = promote("angle", z, to=_to_inexact)
    re, im = real(z), imag(z)
    out = trigonometry.atan2_p.bind(im, re)
    return rad2deg(out) if deg else out


def isfinite(x: Any, /) -> Any:
    """Whether x is neither infinite nor NaN.

    Args:
      x: an array or a number.
    """
    aval = aval_of("isfinite", x)
    if dtypes.is_complex(aval.dtype):
        return bitwise.and_p.bind(isfinite(real(x)), isfinite(imag(x)))
    if dtypes.is_floating(aval.dtype):
        return rounding.is_finite_p.bind(x)
    return constant(True, aval.shape, _BOOL)


def isnan(x: Any, /) -> Any:
    """Whether x is NaN, or has a part that is.

    Args:
      x: an array or a number.
    """
    aval = aval_of("isnan", x)
    if dtypes.is_inexact(aval.dtype):
        return comparison.ne_p.bind(x, x)
    return constant(False, aval.shape, _BOOL)


def isinf(x: Any, /) -> Any:
    """Whether x is infinite, or has a part that is.

    Args:
      x: an array or a number.
    """
    aval = aval_of("isinf", x)
    if dtypes.is_complex(aval.dtype):
        return bitwise.or_p.bind(isinf(real(x)), isinf(imag(x)))
    if dtypes.is_floating(aval.dtype):
        return comparison.eq_p.bind(arithmetic.abs_p.bind(x), like(x, math.inf))
    return constant(False, aval.shape, _BOOL)


def _infinity(name: str, value: float, sentence: str) -> Function:
    def function(x: Any, /) -> Any:
        aval = aval_of(name, x)
        _require_real(name, x)
        if dtypes.is_floating(aval.dtype):
            return comparison.eq_p.bind(x, like(x, value))
        return constant(False, aval.shape, _BOOL)

    return _document(function, name, sentence, 1, "real")


isposinf = _infinity("isposinf", math.inf, "Whether x is plus infinity.")
isneginf = _infinity("isneginf", -math.inf, "Whether x is minus infinity.")


def logical_not(x: Any, /) -> Any:
    """Whether x is zero.

    Args:
      x: an array or a number.
    """
    aval_of("logical_not", x)
    return bitwise.not_p.bind(boolean(x))


def _logical(name: str, primitive: Any, sentence: str) -> Function:
    def function(x: Any, y: Any, /) -> Any:
        aval_of(name, x, 0)
        aval_of(name, y, 1)
        return primitive.bind(*broadcast(name, [boolean(x), boolean(y)]))

    return _document(function, name, sentence, 2, "of any dtype; numbers other than zero count as true")


logical_and = _logical("logical_and", bitwise.and_p, "Whether both x and y are true.")
logical_or = _logical("logical_or", bitwise.or_p, "Whether x or y is true.")
logical_xor = _logical("logical_xor", bitwise.xor_p, "Whether one of x and y is true.")


def fmod(x: Any, y: Any, /) -> Any:
    """The remainder of x / y that has the sign of x.

    Args:
      x, y: arrays or numbers, real, of shapes that broadcast together.
    """
    x, y = operands("fmod", x, y, to=_to_number)
    _require_real("fmod", x)
    if not dtypes.is_floating(get_aval(x).dtype):
        y = _nonzero(y)
    return arithmetic.rem_p.bind(x, y)


def _nonzero(y: Any) -> Any:
    """A divisor of integers, with 1 for 0; a host scalar needs no equation."""
    if isinstance(y, int | np.integer):
        return y if y else like(y, 1)
    return choose(comparison.eq_p.bind(y, like(y, 0)), like(y, 1), y)


def remainder(x: Any, y: Any, /) -> Any:
    """The remainder of x / y that has the sign of y; integers modulo 0 give 0.

    Args:
      x, y: arrays or numbers, real, of shapes that broadcast together.
    """
    x, y = operands("remainder", x, y, to=_to_number)
    _require_real("remainder", x)
    return _remainder(x, y)


def _remainder(x: Any, y: Any) -> Any:
    dtype = get_aval(x).dtype
    if not dtypes.is_floating(dtype):
        y = _nonzero(y)
    rest = arithmetic.rem_p.bind(x, y)
    if dtypes.is_unsigned_integer(dtype):
        return rest
    return _moved_towards(rest, y, rest, arithmetic.add_p, y)


def _moved_towards(rest: Any, y: Any, x: Any, primitive: Any, step: Any) -> Any:
    """`primitive(x, step)` where a remainder is not zero and has not the sign of the divisor, else x."""
    zero = like(rest, 0)
    if isinstance(y, int | float | np.number):
        crossed = (comparison.lt_p if y >= 0 else comparison.gt_p).bind(rest, zero)
    else:
        other_sign = comparison.ne_p.bind(
            comparison.lt_p.bind(rest, zero), comparison.lt_p.bind(y, like(y, 0))
        )
        crossed = bitwise.and_p.bind(other_sign, comparison.ne_p.bind(rest, zero))
    return choose(crossed, primitive.bind(x, step), x)


def floor_divide(x: Any, y: Any, /) -> Any:
    """x / y rounded down.

    Args:
      x, y: arrays or numbers, real, of shapes that broadcast together.
    """
    x, y = operands("floor_divide", x, y, to=_to_number)
    _require_real("floor_divide", x)
    return _quotient(x, y)


def _quotient(x: Any, y: Any) -> Any:
    dtype = get_aval(x).dtype
    if dtypes.is_unsigned_integer(dtype):
        return arithmetic.div_p.bind(x, y)
    rest = arithmetic.rem_p.bind(x, y)
    if dtypes.is_integer(dtype):
        whole = arithmetic.div_p.bind(x, y)
        return _moved_towards(rest, y, whole, arithmetic.sub_p, like(x, 1))
    whole = arithmetic.div_p.bind(arithmetic.sub_p.bind(x, rest), y)
    return rounding.round(_moved_towards(rest, y, whole, arithmetic.sub_p, like(x, 1)))


def divmod(x: Any, y: Any, /) -> tuple[Any, Any]:
    """The pair of `floor_divide(x, y)` and `remainder(x, y)`.

    Args:
      x, y: arrays or numbers, real, of shapes that broadcast together.
    """
    x, y = operands("divmod", x, y, to=_to_number)
    _require_real("divmod", x)
    return _quotient(x, y), _remainder(x, y)


def power(x: Any, y: Any, /) -> Any:
    """x to the power y.

    Args:
      x: an array or a number.
      y: an array or a number; not a negative Python int if x is of integers.

    Raises:
      TypeError: x is of integers and y a negative Python int; the shapes do not broadcast.
    """
    aval = aval_of("power", x, 0)
    if type(y) is int:
        if dtypes.is_bool(aval.dtype):
            x = convert(x, aval, dtypes.default_int_dtype())
        return arithmetic.integer_pow_p.bind(x, y=y)
    x, y = operands("power", x, y, to=_to_number)
    if dtypes.is_inexact(get_aval(x).dtype):
        return exponential.pow_p.bind(x, y)
    return _integer_power(x, y)


def _integer_power(x: Any, y: Any) -> Any:
    """Integers to the power of integers, of which the lowest six bits count, by repeated squaring."""
    one, zero = like(x, 1), like(x, 0)
    vanishes = logical_and(comparison.eq_p.bind(x, zero), comparison.ne_p.bind(y, zero))
    shape = broadcast_shape_of(x, y)
    out = choose(broadcast_to_shape(vanishes, shape), zero, one)
    base = x
    for bit in range(6):
        factor = bitwise.and_p.bind(
            bitwise.shift_right_logical_p.bind(y, like(y, bit)) if bit else y, like(y, 1)
        )
        wanted = broadcast_to_shape(comparison.ne_p.bind(factor, like(y, 0)), shape)
        out = choose(wanted, arithmetic.mul_p.bind(out, base), out)
        base = arithmetic.mul_p.bind(base, base)
    return out


def broadcast_shape_of(x: Any, y: Any) -> tuple[int, ...]:
    """The shape of the result of an elementwise primitive on operands of one shape, or scalars."""
    return get_aval(x).shape or get_aval(y).shape  # type: ignore[no-any-return]


def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """x where the condition holds, elsewhere y.

    Args:
      condition: a boolean array; numbers other than zero count as true.
      x, y: arrays or numbers; all three are of shapes that broadcast together.

    Raises:
      NotImplementedError: x and y are not given: the positions of what is true have no static number.
      TypeError: an argument is no array and no number; the shapes do not broadcast.

    >>> import primax as px
    >>> px.numpy.where(px.numpy.array([True, False]), 1.0, px.numpy.array([2.0, 3.0]))
    Array([1., 3.], dtype=float32)
    """
    if x is None or y is None:
        if x is None and y is None:
            raise NotImplementedError(
                "where: with one argument it is nonzero, which no active plugin supplies; give x and y too"
            )
        raise ValueError("where: x and y must both be given or both be left out, got one of them")
    aval_of("where", condition, "condition")
    condition = boolean(condition)
    x, y = promote("where", x, y)
    if not get_aval(condition).shape:
        x, y = broadcast("where", [x, y], scalars=False)
        return select_n_p.bind(condition, y, x)
    return select_n_p.bind(*_reordered(*broadcast("where", [condition, x, y], scalars=False)))


def _reordered(which: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
    return which, y, x
