"""Quotients and remainders of integers and floats, and powers."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.elementwise import like
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.predicates import logical_and
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, broadcast, broadcast_to_shape, convert, operands, promote, strong
from primax.numpy.selection import choose
from primax.numpy.ufuncs import require_real, to_inexact, to_number
from primax.plugins import arithmetic, bitwise, comparison, exponential, reductions, rounding
from primax.plugins.calls import jit
from primax.plugins.control_flow import while_loop

__all__ = ["divmod", "float_power", "floor_divide", "fmod", "power", "reciprocal", "remainder"]


@one_program("")
def fmod(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The remainder of x / y that has the sign of x.

    Args:
      x, y: arrays or numbers, real, of shapes that broadcast together.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.fmod(pnp.array([7, -7]), 3)  # the sign is that of the dividend
      Array([ 1, -1], dtype=int32)
    """
    x, y = operands("fmod", x, y, to=to_number)
    require_real("fmod", x)
    if not dtypes.is_floating(get_aval(x).dtype):
        y = _nonzero(y)
    return arithmetic.rem_p.bind(x, y)


def _nonzero(y: Any) -> Any:
    """A divisor of integers, with 0 replaced by 1; a host scalar adds no equation."""
    if isinstance(y, int | np.integer):
        return y if y else like(y, 1)
    return choose(comparison.eq_p.bind(y, like(y, 0)), like(y, 1), y)


@one_program("")
def remainder(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The remainder of x / y that has the sign of y; integers modulo 0 give 0.

    Args:
      x, y: arrays or numbers, real, of shapes that broadcast together.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.mod(pnp.array([7, -7]), 3), pnp.mod(7, -3)  # the sign is that of the divisor
      (Array([1, 2], dtype=int32), Array(-2, dtype=int32, weak_type=True))
    """
    x, y = operands("remainder", x, y, to=to_number)
    require_real("remainder", x)
    return _remainder(x, y)


def _remainder(x: Any, y: Any) -> Array:
    dtype = get_aval(x).dtype
    floating = dtypes.is_floating(dtype)
    if not floating:
        y = _nonzero(y)
    rest = arithmetic.rem_p.bind(x, y)
    if dtypes.is_unsigned_integer(dtype):
        return rest
    if not floating:
        return choose(_has_other_sign(rest, y), arithmetic.add_p.bind(rest, y), rest)
    if _is_host_number(y) and y >= 0:
        return _moved(rest, _has_other_sign(rest, y), like(rest, y))
    # For a negative divisor swap the cases: the result has the divisor's sign, also where it is zero.
    if _is_host_number(y):
        sign, size = like(rest, -1), like(rest, -y)
    else:
        sign = choose(comparison.lt_p.bind(y, like(y, 0)), like(y, -1), like(y, 1))
        size = arithmetic.mul_p.bind(sign, y)
    turned = arithmetic.mul_p.bind(sign, rest)
    return arithmetic.mul_p.bind(sign, _moved(turned, comparison.lt_p.bind(turned, like(rest, 0)), size))


def _is_host_number(y: Any) -> bool:
    return isinstance(y, int | float | np.number)


def _moved(x: Any, condition: Any, step: Any) -> Array:
    """x + step where a condition holds, else x; negative zeros become positive."""
    return arithmetic.add_p.bind(x, choose(condition, step, like(x, 0)))


def _has_other_sign(rest: Any, y: Any) -> Array:
    """Whether a remainder is nonzero and lacks the sign of the divisor."""
    zero = like(rest, 0)
    if _is_host_number(y):
        return (comparison.lt_p if y >= 0 else comparison.gt_p).bind(rest, zero)
    other_sign = comparison.ne_p.bind(comparison.lt_p.bind(rest, zero), comparison.lt_p.bind(y, like(y, 0)))
    return bitwise.and_p.bind(other_sign, comparison.ne_p.bind(rest, zero))


@one_program("")
def floor_divide(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x / y rounded down.

    For floats, infinity divided by a number is infinity, and a number divided by infinity is 0 or -0, as in the array
    API standard. NumPy and JAX return NaN, and -1 instead of -0.

    Args:
      x, y: arrays or numbers, real, of shapes that broadcast together.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.floor_divide(pnp.array([7, -7]), 2), pnp.floor_divide(-7.0, 2.0)
      (Array([ 3, -4], dtype=int32), Array(-4., dtype=float32, weak_type=True))
    """
    x, y = operands("floor_divide", x, y, to=to_number)
    require_real("floor_divide", x)
    return _quotient(x, y)


def _quotient(x: Any, y: Any) -> Array:
    dtype = get_aval(x).dtype
    if dtypes.is_unsigned_integer(dtype):
        return arithmetic.div_p.bind(x, y)
    if dtypes.is_integer(dtype):
        rest = arithmetic.rem_p.bind(x, y)
        whole = arithmetic.div_p.bind(x, y)
        down = arithmetic.sub_p.bind(whole, like(whole, 1))
        if _is_host_number(y) and y:
            return choose(_has_other_sign(rest, y), down, whole)
        other_sign = comparison.ne_p.bind(arithmetic.sign_p.bind(rest), arithmetic.sign_p.bind(y))
        return choose(bitwise.and_p.bind(other_sign, comparison.ne_p.bind(rest, like(rest, 0))), down, whole)
    return _compiled_quotient(x, y)


def _floating_quotient(x: Any, y: Any) -> Array:
    rest = arithmetic.rem_p.bind(x, y)
    # Correct neither 0, where x / y is exact, nor NaN, where x / y is infinite or NaN; both signs of zero are right.
    rounded = comparison.gt_p.bind(arithmetic.abs_p.bind(rest), like(rest, 0))
    rounded = bitwise.and_p.bind(rounded, rounding.is_finite_p.bind(y))  # the standard's quotient by infinity is a zero
    whole = rounding.round(arithmetic.div_p.bind(arithmetic.sub_p.bind(x, rest), y))
    down = _moved(whole, _has_other_sign(rest, y), like(whole, -1))
    return choose(rounded, down, rounding.round(arithmetic.div_p.bind(x, y)))


# One call in programs, and one compiled program outside of them, instead of a dozen operations.
_compiled_quotient = jit(_floating_quotient)


@one_program("")
def divmod(x: ArrayLike, y: ArrayLike, /) -> tuple[Any, Any]:
    """The pair of `floor_divide(x, y)` and `remainder(x, y)`.

    Args:
      x, y: arrays or numbers, real, of shapes that broadcast together.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.divmod(pnp.array([7, -7]), 3)
      (Array([ 2, -3], dtype=int32), Array([1, 2], dtype=int32))
    """
    x, y = operands("divmod", x, y, to=to_number)
    require_real("divmod", x)
    return _quotient(x, y), _remainder(x, y)


def power(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x to the power y.

    Args:
      x: an array or a number.
      y: an array or a number; not a negative int if x holds integers.

    Raises:
      TypeError: x holds integers and y is a negative int, or the shapes do not broadcast.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.power(pnp.array([2, 3]), 2), pnp.power(2.0, pnp.array([-1, 0]))
      (Array([4, 9], dtype=int32), Array([0.5, 1. ], dtype=float32))
      >>> pnp.power(0, 0)
      Array(1, dtype=int32, weak_type=True)
    """
    aval = aval_of("power", x, 0)
    if isinstance(y, int) or (isinstance(y, np.generic) and y.dtype.kind in "iu"):  # timedelta64 is np.integer
        y = int(y)
        if dtypes.is_bool(aval.dtype):
            x = convert(x, aval, dtypes.to_numeric_dtype(aval.dtype))
        return arithmetic.integer_pow_p.bind(x, y=y)
    return _power(x, y)


@one_program("")
def _power(x: Any, y: Any) -> Array:
    aval, exponent = aval_of("power", x, 0), aval_of("power", y, 1)
    if dtypes.is_inexact(aval.dtype) and not dtypes.is_inexact(exponent.dtype):
        # The exponent stays an integer, so that derivatives at 0 are those of a power.
        dtype, weak = dtypes.result_type(aval, exponent, return_weak_type=True)
        y = convert(y, exponent, dtypes.to_numeric_dtype(exponent.dtype), dtypes.is_bool(exponent.dtype))
        return exponential.pow_p.bind(*broadcast("power", [convert(x, aval, dtype, weak), y]))
    x, y = operands("power", x, y, to=to_number)
    if dtypes.is_inexact(get_aval(x).dtype):
        return exponential.pow_p.bind(x, y)
    return _integer_power(x if exponent.weak_type else strong(x), y)


def _integer_power(x: Any, y: Any) -> Array:
    """Integers to the power of integers by repeated squaring, modulo 2 to the number of bits.

    The lowest six bits of exponents are a program without a loop; a loop treats the others, which are rarely set. Of
    a negative exponent, only the lowest six bits count.
    """
    one, zero = like(x, 1), like(x, 0)
    vanishes = logical_and(comparison.eq_p.bind(x, zero), comparison.ne_p.bind(y, zero))
    shape = broadcast_shape_of(x, y)
    out = choose(broadcast_to_shape(vanishes, shape), zero, one)
    base = x
    for bit in range(_BITS_WITHOUT_LOOP):
        out = _multiplied_where_odd(out, base, _shifted(y, bit) if bit else y)
        base = arithmetic.mul_p.bind(base, base)
    negative = comparison.lt_p.bind(y, like(y, 0))
    rest = choose(negative, like(y, 0), _shifted(y, _BITS_WITHOUT_LOOP))
    return while_loop(_any_left, _squaring_step, (out, broadcast_to_shape(base, shape), rest))[0]


_BITS_WITHOUT_LOOP = 6


def _shifted(y: Any, bits: int) -> Array:
    return bitwise.shift_right_logical_p.bind(y, like(y, bits))


def _multiplied_where_odd(out: Any, base: Any, exponent: Any) -> Array:
    odd = comparison.ne_p.bind(bitwise.and_p.bind(exponent, like(exponent, 1)), like(exponent, 0))
    return choose(broadcast_to_shape(odd, get_aval(out).shape), arithmetic.mul_p.bind(out, base), out)


def _any_left(state: Any) -> Array:
    rest = state[2]
    return reductions.reduce_or(comparison.ne_p.bind(rest, like(rest, 0)), range(len(get_aval(rest).shape)))


def _squaring_step(state: Any) -> tuple[Any, Any, Any]:
    out, base, rest = state
    return _multiplied_where_odd(out, base, rest), arithmetic.mul_p.bind(base, base), _shifted(rest, 1)


def broadcast_shape_of(x: Any, y: Any) -> tuple[int, ...]:
    """The result's shape of an elementwise primitive on operands of the same shape, or scalars."""
    return get_aval(x).shape or get_aval(y).shape


@one_program("")
def reciprocal(x: ArrayLike, /) -> Array:
    """1 / x.

    Args:
      x: an array or a number; integers are converted to a floating dtype.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.reciprocal(pnp.array([2.0, -0.0]))
      Array([ 0.5, -inf], dtype=float32)
    """
    (x,) = promote("reciprocal", x, to=to_inexact)
    return arithmetic.integer_pow_p.bind(x, y=-1)


@one_program("")
def float_power(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x to the power y, computed in a floating or complex dtype.

    Args:
      x, y: arrays or numbers, of shapes that broadcast together.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.float_power(pnp.array([1, 4]), -1)
      Array([1.  , 0.25], dtype=float32)
    """
    return exponential.pow_p.bind(*operands("float_power", x, y, to=to_inexact))
