"""Common divisors and multiples of integers."""

from __future__ import annotations

from typing import Any

from primax.extend import dtypes
from primax.extend.core import Array
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.conversion import asarray
from primax.numpy.programs import one_program
from primax.numpy.promotion import broadcast, promote
from primax.numpy.selection import choose
from primax.plugins.arithmetic import abs_p, div_p, mul_p, rem_p
from primax.plugins.comparison import ne_p
from primax.plugins.control_flow import while_loop
from primax.plugins.structural import zeros_like

__all__ = ["gcd", "lcm"]


@one_program("")
def gcd(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The elementwise greatest common divisor of integers; gcd(0, 0) is 0.

    Args:
      x1, x2: integers, of shapes that broadcast together.

    Raises:
      ValueError: an argument does not hold integers.

    >>> import primax as px
    >>> px.numpy.gcd(px.numpy.array([12, 18]), 8)
    Array([4, 2], dtype=int32)
    """
    return _gcd(*_magnitudes("gcd", x1, x2))


@one_program("")
def lcm(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The elementwise least common multiple of integers; 0 if one of them is 0. See `gcd`.

    >>> import primax as px
    >>> px.numpy.lcm(px.numpy.array([4, 6]), 10)
    Array([20, 30], dtype=int32)
    """
    x, y = _magnitudes("lcm", x1, x2)
    divisor = _gcd(x, y)
    zero = zeros_like(divisor)
    some = ne_p.bind(divisor, zero)
    quotient = div_p.bind(y, choose(some, divisor, zero + 1))
    return choose(some, mul_p.bind(x, quotient), zero)


def _magnitudes(function: str, x: Any, y: Any) -> list[Any]:
    x, y = broadcast(function, promote(function, x, y), scalars=False)
    x, y = asarray(x), asarray(y)
    if not dtypes.is_integer(x.dtype):
        raise ValueError(f"{function}: arguments must be integers, got dtype {x.dtype}")
    return [x, y] if dtypes.is_unsigned_integer(x.dtype) else [abs_p.bind(x), abs_p.bind(y)]


def _gcd(x: Any, y: Any) -> Array:
    """Euclid's algorithm, in a loop until all elements are done.

    The lowest integer has no absolute value in its dtype, and gives negative remainders.
    """
    divisor = while_loop(_unfinished, _step, (x, y))[0]
    return divisor if dtypes.is_unsigned_integer(divisor.dtype) else abs_p.bind(divisor)


def _unfinished(pair: Any) -> Array:
    return (pair[1] != 0).any()


def _step(pair: Any) -> tuple[Any, Any]:
    x, y = pair
    zero = zeros_like(y)
    is_nonzero = ne_p.bind(y, zero)
    rest = rem_p.bind(x, choose(is_nonzero, y, zero + 1))
    return choose(is_nonzero, y, x), choose(is_nonzero, rest, zero)
