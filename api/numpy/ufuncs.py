"""Elementwise functions, which NumPy calls ufuncs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import rename
from primax.extend.provisional.elementwise import like
from primax.extend.provisional.sharding import match_placement
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.complexes import RULES, of_complex
from primax.numpy.conversion import asarray
from primax.numpy.creation import constant
from primax.numpy.examples import EXAMPLES, examples
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, convert, number_aval, operands, promote, refuse_options, strong
from primax.numpy.selection import choose
from primax.plugins import arithmetic, bitwise, comparison, exponential, rounding, trigonometry

__all__ = [
    "absolute",
    "angle",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "cbrt",
    "conjugate",
    "cos",
    "cosh",
    "deg2rad",
    "divide",
    "equal",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "greater",
    "greater_equal",
    "imag",
    "invert",
    "left_shift",
    "less",
    "less_equal",
    "log",
    "log10",
    "log1p",
    "log2",
    "nextafter",
    "not_equal",
    "positive",
    "rad2deg",
    "real",
    "right_shift",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
]

_BOOL = np.dtype(np.bool_)
_FLOAT32 = np.dtype(np.float32)
_COMPLEX = (np.dtype(np.complex64), np.dtype(np.complex128))

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

if TYPE_CHECKING:
    Unary = Callable[[ArrayLike], Array]

    class Binary(Protocol):
        """An elementwise function of two arguments."""

        def __call__(self, x: ArrayLike, y: ArrayLike, /, out: None = None, where: None = None) -> Array: ...


def document(function: FunctionT, name: str, sentence: str, count: int, kinds: str) -> FunctionT:
    rename(function, name)
    code = getattr(function, "__wrapped__", function).__code__
    parameters = code.co_varnames[: code.co_argcount]
    names = ", ".join(parameters[:count])
    kind = "an array or a number" if count == 1 else "arrays or numbers, of shapes that broadcast together"
    absent = ", ".join(name for name in ("out", "where") if name in parameters[count:])
    function.__doc__ = (
        f"{sentence}\n\n"
        f"    Args:\n      {names}: {kind}, {kinds}.\n{f'      {absent}: None.{chr(10)}' if absent else ''}\n"
        f"    Raises:\n      TypeError: an argument is neither an array nor a number, or has another dtype"
        f"{'; the shapes do not broadcast' if count == 2 else ''}.\n"
        f"{examples(EXAMPLES[name]) if name in EXAMPLES else '    '}"
    )
    return function


def to_number(dtype: Any) -> np.dtype[Any]:
    return dtypes.to_numeric_dtype(dtype)


def to_inexact(dtype: Any) -> np.dtype[Any]:
    return dtypes.to_inexact_dtype(dtype)


_ANY_NUMBER = "of any number dtype"
_INEXACT = "of a floating or complex dtype; integers are converted to a floating dtype"
_REAL = "real; integers are converted to a floating dtype"
_INTEGER = "of a boolean or integer dtype"


def _unary(
    name: str, primitive: Any, sentence: str, kinds: str = _ANY_NUMBER, to: Any = None
) -> Callable[[ArrayLike], Array]:
    """A function of one argument, which is converted by `to` first."""
    rule = RULES.get(name)
    complex_rule = None if rule is None else of_complex(primitive, rule)

    @one_program("")
    def function(x: ArrayLike, /) -> Array:
        aval = aval_of(name, x)
        if to is not None and to(aval.dtype) != aval.dtype:
            (x,) = promote(name, x, to=to)
        return primitive.bind(x) if complex_rule is None or aval.dtype not in _COMPLEX else complex_rule(x)

    return document(function, name, sentence, 1, kinds)


def _binary(name: str, primitive: Any, sentence: str, kinds: str = _ANY_NUMBER, to: Any = None) -> Binary:
    """A function of two arguments, which are promoted, converted by `to`, and broadcast."""

    def apply(x: Any, y: Any) -> Array:
        x, y = operands(name, x, y, to)
        return primitive.bind(x, y)

    converted = one_program("")(apply)

    def function(x: ArrayLike, y: ArrayLike, /, out: None = None, where: None = None) -> Array:
        if out is not where:
            refuse_options(name, out, where)
        if type(x) is not Array or type(y) is not Array:
            return apply(x, y)
        aval = x.aval
        return (
            primitive.bind(x, y) if aval is y.aval and (to is None or to(aval.dtype) == aval.dtype) else converted(x, y)
        )

    return document(function, name, sentence, 2, kinds)


def _with_logic(name: str, primitive: Any, logic: Any, sentence: str) -> Binary:
    """Like `_binary`, with another primitive for booleans."""

    def apply(x: Any, y: Any) -> Array:
        x, y = operands(name, x, y)
        return logic.bind(x, y) if get_aval(x).dtype is _BOOL else primitive.bind(x, y)

    converted = one_program("")(apply)

    def function(x: ArrayLike, y: ArrayLike, /, out: None = None, where: None = None) -> Array:
        if out is not where:
            refuse_options(name, out, where)
        if type(x) is not Array or type(y) is not Array:
            return apply(x, y)
        aval = x.aval
        return primitive.bind(x, y) if aval is y.aval and aval.dtype is not _BOOL else converted(x, y)

    return document(function, name, sentence, 2, "of any dtype")


sin = _unary("sin", trigonometry.sin_p, "The sine of x, an angle in radians.", _INEXACT, to_inexact)
cos = _unary("cos", trigonometry.cos_p, "The cosine of x, an angle in radians.", _INEXACT, to_inexact)
tan = _unary("tan", trigonometry.tan_p, "The tangent of x, an angle in radians.", _INEXACT, to_inexact)
arcsin = _unary("arcsin", trigonometry.asin_p, "The angle in radians whose sine is x.", _INEXACT, to_inexact)
arccos = _unary("arccos", trigonometry.acos_p, "The angle in radians whose cosine is x.", _INEXACT, to_inexact)
arctan = _unary("arctan", trigonometry.atan_p, "The angle in radians whose tangent is x.", _INEXACT, to_inexact)
sinh = _unary("sinh", trigonometry.sinh_p, "The hyperbolic sine of x.", _INEXACT, to_inexact)
cosh = _unary("cosh", trigonometry.cosh_p, "The hyperbolic cosine of x.", _INEXACT, to_inexact)
tanh = _unary("tanh", trigonometry.tanh_p, "The hyperbolic tangent of x.", _INEXACT, to_inexact)
arcsinh = _unary("arcsinh", trigonometry.asinh_p, "The number whose hyperbolic sine is x.", _INEXACT, to_inexact)
arccosh = _unary("arccosh", trigonometry.acosh_p, "The number whose hyperbolic cosine is x.", _INEXACT, to_inexact)
arctanh = _unary("arctanh", trigonometry.atanh_p, "The number whose hyperbolic tangent is x.", _INEXACT, to_inexact)
exp = _unary("exp", exponential.exp_p, "e to the power x.", _INEXACT, to_inexact)
exp2 = _unary("exp2", exponential.exp2_p, "2 to the power x.", _INEXACT, to_inexact)
expm1 = _unary("expm1", exponential.expm1_p, "exp(x) - 1, precise near 0.", _INEXACT, to_inexact)
log = _unary("log", exponential.log_p, "The natural logarithm of x.", _INEXACT, to_inexact)
log1p = _unary("log1p", exponential.log1p_p, "log(1 + x), precise near 0.", _INEXACT, to_inexact)
sqrt = _unary("sqrt", exponential.sqrt_p, "The square root of x.", _INEXACT, to_inexact)
cbrt = _unary("cbrt", exponential.cbrt_p, "The cube root of x.", _REAL, to_inexact)
_negative = _unary("negative", arithmetic.neg_p, "-x.")


def negative(x: ArrayLike, /, out: None = None, where: None = None) -> Any:
    if out is not where:
        refuse_options("negative", out, where)
    return _negative(x)


negative.__doc__ = (_negative.__doc__ or "").replace(f"{_ANY_NUMBER}.\n", f"{_ANY_NUMBER}.\n      out, where: None.\n")
square = _unary("square", arithmetic.square_p, "x * x.", to=to_number)
invert = _unary("invert", bitwise.not_p, "The bits that are not set in x.", _INTEGER)

add = _with_logic("add", arithmetic.add_p, bitwise.or_p, "x + y; the logical or of booleans.")
subtract = _binary("subtract", arithmetic.sub_p, "x - y.")
multiply = _with_logic("multiply", arithmetic.mul_p, bitwise.and_p, "x * y; the logical and of booleans.")
divide = _binary("divide", arithmetic.div_p, "x / y, in a floating or complex dtype.", _INEXACT, to_inexact)
maximum = _binary("maximum", arithmetic.max_p, "The larger of x and y; NaN if either is NaN.")
minimum = _binary("minimum", arithmetic.min_p, "The smaller of x and y; NaN if either is NaN.")
equal = _binary("equal", comparison.eq_p, "Whether x == y.", "of any dtype")
not_equal = _binary("not_equal", comparison.ne_p, "Whether x != y.", "of any dtype")
bitwise_and = _binary("bitwise_and", bitwise.and_p, "The bits that are set in both x and y.", _INTEGER)
bitwise_or = _binary("bitwise_or", bitwise.or_p, "The bits that are set in x or in y.", _INTEGER)
bitwise_xor = _binary("bitwise_xor", bitwise.xor_p, "The bits that are set in exactly one of x and y.", _INTEGER)
left_shift = _binary("left_shift", bitwise.shift_left_p, "x * 2**y, by shifting bits.", _INTEGER, to_number)
nextafter = _binary("nextafter", rounding.nextafter_p, "The next number from x towards y.", _REAL, to_inexact)
arctan2 = _binary(
    "arctan2", trigonometry.atan2_p, "The angle in radians of the point (y, x), in (-pi, pi].", _INEXACT, to_inexact
)


@one_program("")
def right_shift(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x divided by 2**y and rounded down, by a shift of bits.

    Args:
      x, y: arrays or numbers, of a boolean or integer dtype, of shapes that broadcast together.

    Raises:
      TypeError: an argument has another dtype, or the shapes do not broadcast.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.right_shift(pnp.array([8, -8]), 1), pnp.right_shift(pnp.uint8(248), 1)
      (Array([ 4, -4], dtype=int32), Array(124, dtype=uint8))
    """
    x, y = operands("right_shift", x, y, to=to_number)
    signed = dtypes.is_signed_integer(get_aval(x).dtype)
    return (bitwise.shift_right_arithmetic_p if signed else bitwise.shift_right_logical_p).bind(x, y)


def _ordering(name: str, primitive: Any, sign: str) -> Callable[[ArrayLike, ArrayLike], Array]:
    """A comparison; complex numbers are ordered by their real parts, then by their imaginary parts."""

    @one_program("")
    def function(x: ArrayLike, y: ArrayLike, /) -> Array:
        x, y = operands(name, x, y)
        if dtypes.is_complex(get_aval(x).dtype):
            a, b = real(x), real(y)
            return choose(equal(a, b), primitive.bind(imag(x), imag(y)), primitive.bind(a, b))
        return primitive.bind(x, y)

    return document(
        function, name, f"Whether x {sign} y.", 2, "of any dtype; complex numbers are ordered by real part first"
    )


less = _ordering("less", comparison.lt_p, "<")
less_equal = _ordering("less_equal", comparison.le_p, "<=")
greater = _ordering("greater", comparison.gt_p, ">")
greater_equal = _ordering("greater_equal", comparison.ge_p, ">=")


def real(x: ArrayLike, /) -> Array:
    """The real part of x.

    Args:
      x: an array or a number.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.real(pnp.array([1 + 2j])), pnp.real(pnp.array([3])).dtype
      (Array([1.], dtype=float32), dtype('int32'))
    """
    aval = number_aval("real", x)
    return arithmetic.real_p.bind(x) if dtypes.is_complex(aval.dtype) else asarray(x)


@one_program("")
def imag(x: ArrayLike, /) -> Array:
    """The imaginary part of x; zeros if x is real.

    Args:
      x: an array or a number.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.imag(pnp.array([1 + 2j])), pnp.imag(pnp.array([3]))
      (Array([2.], dtype=float32), Array([0], dtype=int32))
    """
    aval = number_aval("imag", x)
    return (
        arithmetic.imag_p.bind(x)
        if dtypes.is_complex(aval.dtype)
        else match_placement(constant(0, aval.shape, aval.dtype, aval.weak_type), aval)
    )


def conjugate(x: ArrayLike, /) -> Array:
    """The complex conjugate of x.

    Args:
      x: an array or a number.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.conjugate(pnp.array([1 + 2j])), pnp.conjugate(pnp.array([3]))
      (Array([1.-2.j], dtype=complex64), Array([3], dtype=int32))
    """
    aval = number_aval("conjugate", x)
    return arithmetic.conj_p.bind(x) if dtypes.is_complex(aval.dtype) else asarray(x)


def absolute(x: ArrayLike, /) -> Array:
    """The absolute value of x; a complex x has a real one.

    Args:
      x: an array or a number, of any dtype.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.absolute(pnp.array([3 + 4j])), pnp.absolute(pnp.int8(-128))
      (Array([5.], dtype=float32), Array(-128, dtype=int8))
    """
    dtype = aval_of("absolute", x).dtype
    if dtypes.is_bool(dtype) or dtypes.is_unsigned_integer(dtype):
        return asarray(x)
    return arithmetic.abs_p.bind(x)


@one_program("")
def fabs(x: ArrayLike, /) -> Array:
    """The absolute value of x, as a floating number.

    Args:
      x: an array or a number, real.

    Raises:
      TypeError: x is complex.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.fabs(pnp.array([-3, 2]))
      Array([3., 2.], dtype=float32)
    """
    (x,) = promote("fabs", x, to=to_inexact)
    require_real("fabs", x)
    return arithmetic.abs_p.bind(x)


def positive(x: ArrayLike, /) -> Array:
    """x, unchanged.

    Args:
      x: an array or a number.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.positive(pnp.array([-3, 2]))
      Array([-3,  2], dtype=int32)
    """
    return asarray(x)


def sign(x: ArrayLike, /) -> Array:
    """-1, 0 or 1 for negative, zero and positive x; x / abs(x) if x is complex.

    Args:
      x: an array or a number, not boolean.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.sign(pnp.array([-2.5, -0.0, np.nan])), pnp.sign(pnp.array([-3j]))
      (Array([-1.,  0., nan], dtype=float32), Array([-0.-1.j], dtype=complex64))
    """
    return _sign(x) if dtypes.is_inexact(aval_of("sign", x).dtype) else arithmetic.sign_p.bind(x)


@one_program(static=1)
def _sign(x: Any) -> Array:
    out = arithmetic.sign_p.bind(x)
    return choose(comparison.eq_p.bind(out, like(out, 0)), like(out, 0), out)  # positive zero for both zeros


def require_real(function: str, *args: Any) -> None:
    for x in args:
        aval = get_aval(x)
        if dtypes.is_complex(aval.dtype):
            raise TypeError(f"{function}: arguments must be real, got {aval.str_short()}")


def _logarithm(name: str, base: int, keeps_weak: bool) -> Unary:
    scale = math.log(base)

    def divide(x: Any) -> Array:
        return arithmetic.div_p.bind(x, like(x, scale) if keeps_weak else get_aval(x).dtype.type(scale))

    @one_program("")
    def function(x: ArrayLike, /) -> Array:
        (x,) = promote(name, x, to=to_inexact)
        if not dtypes.is_complex(get_aval(x).dtype):
            return exponential.log2_p.bind(x) if base == 2 else divide(exponential.log_p.bind(x))
        # A complex quotient would be NaN where a part is infinite.
        out = log(x)
        return arithmetic.complex_p.bind(divide(arithmetic.real_p.bind(out)), divide(arithmetic.imag_p.bind(out)))

    return document(function, name, f"The logarithm of x to base {base}.", 1, _INEXACT)


log2 = _logarithm("log2", 2, keeps_weak=True)
log10 = _logarithm("log10", 10, keeps_weak=False)


def _scaled(name: str, factor: float, sentence: str) -> Unary:
    @one_program("")
    def function(x: ArrayLike, /) -> Array:
        (x,) = promote(name, x, to=to_inexact)
        return arithmetic.mul_p.bind(x, like(x, factor))

    return document(function, name, sentence, 1, _INEXACT)


deg2rad = _scaled("deg2rad", math.pi / 180, "Convert an angle in degrees to radians.")
rad2deg = _scaled("rad2deg", 180 / math.pi, "Convert an angle in radians to degrees.")


@one_program("deg")
def angle(z: ArrayLike, deg: bool = False) -> Array:
    """The angle of complex numbers, in (-pi, pi].

    Args:
      z: an array or a number.
      deg: whether the result is in degrees instead of radians.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.angle(pnp.array([1j, -1 + 0j, 0j]), deg=True)
      Array([ 90., 180.,   0.], dtype=float32)
    """
    aval = aval_of("angle", z)
    z = z if dtypes.is_inexact(aval.dtype) else convert(z, aval, dtypes.default_float_dtype())
    part = imag(z)
    out = trigonometry.atan2_p.bind(part if dtypes.is_complex(get_aval(z).dtype) else strong(part), real(z))
    return rad2deg(out) if deg else out
