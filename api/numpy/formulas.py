"""Elementwise functions of several primitives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import sequence
from primax.extend.provisional.elementwise import like
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.conversion import asarray
from primax.numpy.mapping import vectorize
from primax.numpy.predicates import isnan, signbit
from primax.numpy.programs import one_program
from primax.numpy.promotion import (
    aval_of,
    broadcast,
    broadcast_to_shape,
    cast,
    convert,
    operands,
    promote,
    refuse_options,
    strong,
)
from primax.numpy.selection import choose, where
from primax.numpy.ufuncs import absolute, document, require_real, to_inexact
from primax.plugins import arithmetic, bitwise, comparison, exponential, rounding, special, structural
from primax.plugins.calls import jit
from primax.plugins.control_flow import switch
from primax.plugins.custom_derivatives import custom_jvp
from primax.plugins.trigonometry import sin_p

__all__ = [
    "bitwise_count",
    "copysign",
    "fmax",
    "fmin",
    "frexp",
    "heaviside",
    "hypot",
    "i0",
    "ldexp",
    "piecewise",
    "sinc",
    "spacing",
]

Function = Callable[..., Any]


def _without_nan(name: str, primitive: Any, exceeds: Any, sentence: str) -> Callable[[ArrayLike, ArrayLike], Array]:
    """The maximum or minimum of two numbers; if one is NaN, the other one."""

    @one_program("")
    def function(x1: ArrayLike, x2: ArrayLike) -> Array:
        x, y = operands(name, x1, x2)
        dtype = get_aval(x).dtype
        if dtypes.is_floating(dtype):  # of two equal numbers, y is the result and has the derivative
            return choose(bitwise.or_p.bind(exceeds.bind(x, y), isnan(y)), x, y)
        out = primitive.bind(x, y)
        return choose(isnan(x), y, choose(isnan(y), x, out)) if dtypes.is_complex(dtype) else out

    return document(function, name, sentence, 2, "of any dtype")


fmax = _without_nan("fmax", arithmetic.max_p, comparison.gt_p, "The larger of x1 and x2; if one is NaN, the other one.")
fmin = _without_nan(
    "fmin", arithmetic.min_p, comparison.lt_p, "The smaller of x1 and x2; if one is NaN, the other one."
)


@one_program("")
def copysign(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The absolute value of x with the sign of y.

    Args:
      x, y: arrays or numbers, real, of shapes that broadcast together.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.copysign(pnp.array([1, 2]), pnp.array([-0.0, 3.0]))
      Array([-1.,  2.], dtype=float32)
    """
    x, y = operands("copysign", x, y, to=to_inexact)
    require_real("copysign", x)
    size = arithmetic.abs_p.bind(x)
    return choose(signbit(y), arithmetic.neg_p.bind(size), size)


@one_program("")
def heaviside(x: ArrayLike, y: ArrayLike, /) -> Array:
    """0 where x is negative, 1 where it is positive, and y where it is zero.

    Args:
      x, y: arrays or numbers, real, of shapes that broadcast together.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.heaviside(pnp.array([-1.0, 0.0, 2.0]), 0.5)
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    x, y = operands("heaviside", x, y, to=to_inexact)
    require_real("heaviside", x)
    zero = like(x, 0)
    y = strong(y) if get_aval(x).shape else y  # as in JAX, the result is weakly typed only for a scalar x
    nonzero = choose(comparison.lt_p.bind(x, zero), zero, choose(comparison.gt_p.bind(x, zero), like(x, 1), x))
    return choose(comparison.eq_p.bind(x, zero), y, nonzero)


@one_program("")
def hypot(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The square root of x**2 + y**2, without overflow.

    Args:
      x, y: arrays or numbers, real, of shapes that broadcast together.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.hypot(pnp.float32(3e30), pnp.float32(4e30)) < np.inf  # the squares would overflow
      Array(True, dtype=bool)
    """
    x, y = operands("hypot", x, y, to=to_inexact)
    require_real("hypot", x)
    return _compiled_hypot(x, y)


def _hypot(x: Any, y: Any) -> Array:
    """The modulus of x + iy, computed without overflow of intermediate results, for derivatives too."""
    dtype = get_aval(x).dtype
    wide = dtype if dtype in (np.float32, np.float64) else np.dtype(np.float32)
    x, y = (convert(part, get_aval(part), wide, get_aval(part).weak_type) for part in (x, y))
    out = arithmetic.abs_p.bind(arithmetic.complex_p.bind(x, y))
    longer = arithmetic.max_p.bind(arithmetic.abs_p.bind(x), arithmetic.abs_p.bind(y))
    out = choose(comparison.eq_p.bind(longer, like(longer, 0)), longer, out)  # at 0 the derivatives are 1/2
    return convert(out, get_aval(out), dtype, get_aval(out).weak_type)


# One call in programs, and one compiled program outside of them.
_compiled_hypot = jit(_hypot)


def _principal(x: Any, period: float) -> Array:
    """A complex number whose imaginary part is shifted by multiples of the period to within half a period of zero."""
    imaginary = arithmetic.imag_p.bind(x)
    imaginary = arithmetic.rem_p.bind(imaginary, like(imaginary, period))  # exact, for large numbers too
    turns = arithmetic.div_p.bind(imaginary, like(imaginary, period))
    turns = rounding.round_p.bind(turns, rounding_method=rounding.RoundingMethod.TO_NEAREST_EVEN)
    imaginary = arithmetic.sub_p.bind(imaginary, arithmetic.mul_p.bind(turns, like(imaginary, period)))
    return arithmetic.complex_p.bind(arithmetic.real_p.bind(x), imaginary)


def _half(x: Any) -> Array:
    """x / 2 by parts, so that an infinite part does not make the other part NaN."""
    if dtypes.is_complex(get_aval(x).dtype):
        return arithmetic.complex_p.bind(_half(arithmetic.real_p.bind(x)), _half(arithmetic.imag_p.bind(x)))
    return arithmetic.mul_p.bind(x, like(x, 0.5))


def _same_power(x: Any, y: Any) -> Array:
    """Whether two numbers are equal, or are complex numbers whose powers are zero and have no phase."""
    same = comparison.eq_p.bind(x, y)
    if not dtypes.is_complex(get_aval(x).dtype):
        return same
    x, y = arithmetic.real_p.bind(x), arithmetic.real_p.bind(y)
    lowest = comparison.eq_p.bind(arithmetic.max_p.bind(x, y), like(x, -math.inf))
    return bitwise.or_p.bind(same, lowest)


def _log_of_sum(name: str, sentence: str, log1p_of_power: Function, period: float) -> Function:
    @jit
    def log_of_sum(x: Any, y: Any) -> Array:
        difference = arithmetic.sub_p.bind(x, y)
        # Equal infinities have difference NaN, and NaN derivatives unless later operations exclude them.
        undefined = bitwise.and_p.bind(comparison.ne_p.bind(difference, difference), _same_power(x, y))
        difference = choose(undefined, like(difference, 0), difference)
        real = arithmetic.real_p.bind(difference) if dtypes.is_complex(get_aval(x).dtype) else difference
        # One of two equal numbers is treated as the larger one, so that derivatives of every order are right.
        positive = comparison.ge_p.bind(real, like(real, 0))
        smaller = choose(positive, arithmetic.neg_p.bind(difference), difference)
        larger = choose(positive, x, y)
        out = arithmetic.add_p.bind(larger, log1p_of_power(smaller))
        if dtypes.is_complex(get_aval(x).dtype):
            out = _principal(out, period)
        # The limit as both go to infinity together: each has derivative 1/2.
        return choose(undefined, _half(arithmetic.add_p.bind(x, y)), out)

    @one_program("out where")
    def function(x: ArrayLike, y: ArrayLike, /, out: None = None, where: None = None) -> Array:
        if out is not where:
            refuse_options(name, out, where)
        return log_of_sum(*operands(name, x, y, to=to_inexact))

    return document(function, name, sentence, 2, "of any number dtype; integers are converted to a floating one")


def _log1p_exp(x: Any) -> Array:
    return exponential.log1p_p.bind(exponential.exp_p.bind(x))


def _log2_1p_exp2(x: Any) -> Array:
    out = exponential.log1p_p.bind(exponential.exp2_p.bind(x))
    factor = like(out, 1 / math.log(2))
    return arithmetic.mul_p.bind(out, strong(factor) if get_aval(out).shape else factor)  # weakly typed as in JAX


logaddexp = _log_of_sum("logaddexp", "log(exp(x) + exp(y)), without overflow.", _log1p_exp, 2 * math.pi)
logaddexp2 = _log_of_sum("logaddexp2", "log2(2**x + 2**y), without overflow.", _log2_1p_exp2, 2 * math.pi / math.log(2))


@one_program("", named="sinc")
def sinc(x: ArrayLike, /) -> Array:
    """sin(pi x) / (pi x), which is 1 for x = 0, and 0 for infinite x.

    Args:
      x: an array or a number; integers are converted to a floating dtype.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> pnp.sinc(0.0)
      Array(1., dtype=float32, weak_type=True)
      >>> px.grad(pnp.sinc)(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    (x,) = promote("sinc", x, to=to_inexact)
    if dtypes.is_complex(get_aval(x).dtype):
        small = comparison.lt_p.bind(absolute(x), absolute(like(x, 0.15)))
        away = arithmetic.mul_p.bind(choose(small, like(x, 1), x), like(x, math.pi))
        return choose(small, _series_of_sinc(x, 8), arithmetic.div_p.bind(sin_p.bind(away), away))
    size, limits = arithmetic.abs_p.bind(x), dtypes.finfo(get_aval(x).dtype)
    small = comparison.lt_p.bind(size, like(size, 0.5))
    infinite = comparison.gt_p.bind(size, like(size, limits.max))
    away = choose(bitwise.or_p.bind(small, infinite), like(x, 1), x)
    # sin(pi x) from the distance to the next integer, which is exact.
    nearest = rounding.round_p.bind(away, rounding_method=rounding.RoundingMethod.TO_NEAREST_EVEN)
    sine = sin_p.bind(arithmetic.mul_p.bind(arithmetic.sub_p.bind(away, nearest), like(x, math.pi)))
    odd = comparison.ne_p.bind(arithmetic.rem_p.bind(nearest, like(x, 2)), like(x, 0))
    sine = arithmetic.mul_p.bind(choose(odd, arithmetic.neg_p.bind(sine), sine), like(x, 1 / math.pi))
    out = choose(infinite, like(x, 0), arithmetic.div_p.bind(sine, away))
    return choose(small, _series_of_sinc(choose(small, x, like(x, 0)), 7 if limits.bits <= 32 else 12), out)


def _series_of_sinc(x: Any, terms: int) -> Array:
    """The power series of `sinc`, whose derivatives of every order are right at 0 too."""
    angle = arithmetic.mul_p.bind(x, like(x, math.pi))
    squared = arithmetic.mul_p.bind(angle, angle)
    series = like(angle, 1)
    for n in range(terms, 0, -1):
        factor = arithmetic.mul_p.bind(squared, like(squared, -1 / ((2 * n) * (2 * n + 1))))
        product = factor if n == terms else arithmetic.mul_p.bind(factor, series)
        series = arithmetic.add_p.bind(product, like(product, 1))
    return series


@one_program("")
def i0(x: ArrayLike) -> Array:
    """The modified Bessel function of the first kind, of order 0.

    Args:
      x: an array or a number, real.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.grad(pnp.i0)(0.0)
      Array(0., dtype=float32, weak_type=True)
      >>> pnp.i0(pnp.array([1, -1])).dtype
      dtype('float32')
    """
    (x,) = promote("i0", x, to=to_inexact)
    require_real("i0", x)
    return bessel_i0(x)


def _grown(scaled: Any, x: Any) -> Array:
    """A Bessel function, from the function that is scaled by exp(-abs(x)); half precision is widened.

    The exponential is a square, since it may overflow where the product does not.
    """
    dtype = get_aval(x).dtype
    wide = dtype if dtype.itemsize > 2 else np.dtype(np.float32)
    x = cast(x, wide)
    x = arithmetic.max_p.bind(arithmetic.min_p.bind(x, like(x, 1e30)), like(x, -1e30))  # infinity times 0 is NaN
    root = exponential.exp_p.bind(arithmetic.mul_p.bind(arithmetic.abs_p.bind(x), like(x, 0.5)))
    out = arithmetic.mul_p.bind(root, arithmetic.mul_p.bind(scaled(x), root))
    return cast(out, dtype)


@custom_jvp
def bessel_i0(x: Any) -> Array:
    """`i0` of a floating array. Its derivative is `i1`, also at 0, where the derivative of abs(x) is not 0."""
    return _grown(special.bessel_i0e, x)


@bessel_i0.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    return bessel_i0(x), arithmetic.mul_p.bind(t, bessel_i1(x))


@custom_jvp
def bessel_i1(x: Any) -> Array:
    """The modified Bessel function of order 1 of a floating array. Its derivative is `i0(x) - i1(x) / x`, 1/2 at 0."""
    return _grown(special.bessel_i1e, x)


@bessel_i1.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    out = bessel_i1(x)
    # Near zero use the power series of i1(x) / x, so that derivatives of every order are right.
    squared = arithmetic.mul_p.bind(x, x)
    small = comparison.lt_p.bind(squared, like(x, 0.25))
    series = like(x, 1)
    for n in range(6, 0, -1):
        series = like(x, 1) + squared * like(x, 1 / (4 * n * (n + 1))) * series
    ratio = choose(small, like(x, 0.5) * series, arithmetic.div_p.bind(out, choose(small, like(x, 1), x)))
    return out, arithmetic.mul_p.bind(t, arithmetic.sub_p.bind(bessel_i0(x), ratio))


@one_program("")
def spacing(x: ArrayLike, /) -> Array:
    """The distance from x to the next larger number in absolute value, with the sign of x.

    Args:
      x: an array or a number, real.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.spacing(pnp.float32(1.0)) == np.finfo(np.float32).eps, pnp.spacing(pnp.float32(-1.0)) < 0
      (Array(True, dtype=bool), Array(True, dtype=bool))
    """
    (x,) = promote("spacing", x, to=to_inexact)
    require_real("spacing", x)
    x = strong(x)
    dtype = get_aval(x).dtype
    layout = _Layout(dtype)
    size = arithmetic.abs_p.bind(x)
    below = comparison.lt_p.bind(size, like(size, dtypes.finfo(dtype).max))
    step = choose(below, _compiled_spacing(size), arithmetic.sub_p.bind(like(size, math.inf), size))
    sign = bitwise.and_p.bind(structural.bitcast_convert_type(x, layout.integer), layout.integer.type(layout.sign))
    return choose(comparison.ne_p.bind(sign, like(sign, 0)), arithmetic.neg_p.bind(step), step)


def _spacing_of_bits(size: Any) -> Array:
    """The spacing of finite positive numbers, from their bits: processors may flush tiny differences to 0."""
    dtype = get_aval(size).dtype
    layout = _Layout(dtype)
    integer = layout.integer.type
    shift, one = integer(layout.shift), integer(1)
    bits = structural.bitcast_convert_type(size, layout.integer)
    exponent = bitwise.and_p.bind(bitwise.shift_right_logical_p.bind(bits, shift), integer(layout.mask))
    normal = bitwise.shift_left_p.bind(arithmetic.sub_p.bind(exponent, shift), shift)
    places = arithmetic.max_p.bind(arithmetic.sub_p.bind(exponent, one), integer(0))
    subnormal = bitwise.shift_left_p.bind(like(exponent, 1), places)
    return structural.bitcast_convert_type(choose(comparison.gt_p.bind(exponent, shift), normal, subnormal), dtype)


# One call in programs, and one compiled program outside of them, instead of a dozen operations.
_compiled_spacing = jit(_spacing_of_bits)


@one_program("")
def bitwise_count(x: ArrayLike, /) -> Array:
    """The number of set bits in the absolute value of x, as uint8.

    Args:
      x: an array or a number, of a boolean or integer dtype.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.bitwise_count(pnp.array([7, -1, 0], np.int8))
      Array([3, 1, 0], dtype=uint8)
    """
    aval = aval_of("bitwise_count", x)
    if dtypes.is_bool(aval.dtype):
        return asarray(convert(x, aval, np.dtype(np.uint8)))
    if not dtypes.is_integer(aval.dtype):
        raise TypeError(f"bitwise_count: x must be boolean or integer, got {aval.str_short()}")
    out = bitwise.population_count_p.bind(absolute(x))
    return convert(out, get_aval(out), np.dtype(np.uint8))


class _Layout:
    """The position of the exponent in a floating dtype, and its bias."""

    def __init__(self, dtype: Any) -> None:
        limits = dtypes.finfo(dtype)
        self.integer = np.dtype(f"int{limits.bits}")
        self.shift = int(limits.nmant)
        self.bias = int(limits.maxexp) - 1
        self.mask = (1 << int(limits.nexp)) - 1
        self.sign = -(1 << int(limits.bits) - 1)


def _power_of_two(exponent: Any, dtype: Any) -> Array:
    """2**exponent, exactly, for an exponent within the range of normal numbers."""
    layout = _Layout(dtype)
    exponent = convert(exponent, get_aval(exponent), layout.integer)
    biased = arithmetic.add_p.bind(exponent, layout.integer.type(layout.bias))
    bits = bitwise.shift_left_p.bind(biased, layout.integer.type(layout.shift))
    return structural.bitcast_convert_type(bits, dtype)


@one_program("")
def ldexp(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x * 2**y.

    Args:
      x: an array or a number, real.
      y: an array or a number, of an integer dtype, whose shape broadcasts with that of x.

    Raises:
      TypeError: x is complex, or y is not of an integer dtype.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.ldexp(pnp.array([1.0, 3.0]), pnp.array([-1, 2]))
      Array([ 0.5, 12. ], dtype=float32)
    """
    (x,) = promote("ldexp", x, to=to_inexact)
    require_real("ldexp", x)
    aval = aval_of("ldexp", y, 1)
    if not dtypes.is_integer(aval.dtype) and not dtypes.is_bool(aval.dtype):
        raise TypeError(f"ldexp: y must be of an integer dtype, got {aval.str_short()}")
    dtype = get_aval(x).dtype
    wide = dtype if dtypes.itemsize_bits(dtype) >= 32 else np.dtype(np.float32)
    layout = _Layout(wide)
    integer = np.dtype(np.int32)
    # After three steps of the greatest exponent every number is zero or infinite.
    y = convert(y, aval, integer)
    out, rest = broadcast("ldexp", [convert(x, get_aval(x), wide), y])
    most = layout.bias - 1
    for _ in range(3):
        step = arithmetic.min_p.bind(integer.type(most), arithmetic.max_p.bind(integer.type(-most), rest))
        out = arithmetic.mul_p.bind(out, _power_of_two(step, wide))
        rest = arithmetic.sub_p.bind(rest, step)
    return convert(out, get_aval(out), dtype)


@one_program("", named="frexp")
def frexp(x: ArrayLike, /) -> tuple[Any, Any]:
    """A mantissa m with abs(m) in [0.5, 1), and an integer e, with x = m * 2**e.

    Args:
      x: an array or a number, real.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.frexp(pnp.array([8.0, -0.75, 0.0]))
      (Array([ 0.5 , -0.75,  0.  ], dtype=float32), Array([4, 0, 0], dtype=int32))
    """
    (x,) = promote("frexp", x, to=to_inexact)
    require_real("frexp", x)
    dtype = get_aval(x).dtype
    limits, layout = dtypes.finfo(dtype), _Layout(dtype)
    integer = layout.integer.type
    tiny = comparison.lt_p.bind(arithmetic.abs_p.bind(x), dtype.type(limits.smallest_normal))
    lift = layout.shift + 2
    lifted = choose(tiny, arithmetic.mul_p.bind(x, dtype.type(2.0**lift)), x)
    bits = structural.bitcast_convert_type(lifted, layout.integer)
    exponent = bitwise.and_p.bind(bitwise.shift_right_logical_p.bind(bits, integer(layout.shift)), integer(layout.mask))
    exponent = arithmetic.sub_p.bind(exponent, integer(layout.bias - 1))
    exponent = convert(exponent, get_aval(exponent), np.dtype(np.int32))
    exponent = choose(tiny, arithmetic.sub_p.bind(exponent, np.int32(lift)), exponent)
    cleared = bitwise.and_p.bind(bits, integer(~(layout.mask << layout.shift)))
    mantissa = structural.bitcast_convert_type(
        bitwise.or_p.bind(cleared, integer((layout.bias - 1) << layout.shift)), dtype
    )
    plain = bitwise.and_p.bind(comparison.ne_p.bind(x, dtype.type(0)), rounding.is_finite_p.bind(x))
    exponent = choose(plain, exponent, np.int32(0))
    return _scaled(choose(plain, mantissa, x), x, exponent), exponent


@custom_jvp
def _scaled(mantissa: Any, x: Any, exponent: Any) -> Array:
    """The mantissa with its derivative: as x * 2**-exponent for a constant exponent."""
    return mantissa


@_scaled.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    mantissa, _, exponent = primals
    return mantissa, ldexp(tangents[1], arithmetic.neg_p.bind(exponent))


def piecewise(
    x: ArrayLike,
    condlist: ArrayLike | Sequence[ArrayLike],
    funclist: Sequence[ArrayLike | Callable[..., ArrayLike]],
    *args: object,
    **kw: object,
) -> Array:
    """A function defined by cases; where several conditions are true, the last one decides.

    Args:
      x: an array or a number.
      condlist: a list of boolean arrays of the shape of x, or of bools; or an array whose rows are the conditions.
      funclist: for each condition a number, or a function of one element of x; one more entry is the default, which is
        otherwise 0.
      args: further positional arguments of the functions.
      kw: further keyword arguments of the functions.

    Raises:
      ValueError: `funclist` does not have as many entries as `condlist`, or one more.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.piecewise(pnp.array([-2, 0, 3]), [pnp.array([True, False, False])], [lambda x: -x, 10])
      Array([ 2, 10, 10], dtype=int32)
    """
    if isinstance(condlist, list | tuple) or aval_of("piecewise", condlist, "condlist").shape:
        rows: Any = condlist
        conditions: list[Any] = [*rows]
    else:
        conditions = [condlist]
    functions = sequence("piecewise", "funclist", funclist)
    if len(functions) not in (len(conditions), len(conditions) + 1):
        raise ValueError(
            f"piecewise: funclist must have {len(conditions)} or {len(conditions) + 1} entries, as condlist has "
            f"{len(conditions)}, got {len(functions)}; put one condition in a list"
        )
    aval = aval_of("piecewise", x)
    case: Any = np.int32(0)
    for i, condition in enumerate(conditions, 1):
        case = where(condition, np.int32(i), case)

    def branch(f: Any) -> Function:
        def value(x: Any) -> Array:
            return structural.convert_element_type(f(x, *args, **kw) if callable(f) else f, aval.dtype)

        return value

    default = functions.pop() if len(functions) > len(conditions) else 0
    branches = [branch(f) for f in (default, *functions)]
    return vectorize(lambda case, x: switch(case, branches, x))(broadcast_to_shape(case, aval.shape), x)
