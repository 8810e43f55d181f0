"""Operations on the bits of booleans and integers."""

from __future__ import annotations

from primax.extend import core, hookimpl
from primax.extend.core import Array
from primax.extend.provisional.elementwise import BOOL_OR_INT, INTEGER, row
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table

__all__ = [
    "and_p",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "clz",
    "clz_p",
    "not_p",
    "or_p",
    "population_count",
    "population_count_p",
    "shift_left",
    "shift_left_p",
    "shift_right_arithmetic",
    "shift_right_arithmetic_p",
    "shift_right_logical",
    "shift_right_logical_p",
    "xor_p",
]

and_p = core.Primitive("and")
clz_p = core.Primitive("clz")
not_p = core.Primitive("not")
or_p = core.Primitive("or")
population_count_p = core.Primitive("population_count")
shift_left_p = core.Primitive("shift_left")
shift_right_arithmetic_p = core.Primitive("shift_right_arithmetic")
shift_right_logical_p = core.Primitive("shift_right_logical")
xor_p = core.Primitive("xor")


def bitwise_not(x: ArrayLike) -> Array:
    """Elementwise ~x, for booleans or integers.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.bitwise_not(np.uint8(1)), lax.bitwise_not(np.int8(1)), lax.bitwise_not(True)
      (Array(254, dtype=uint8), Array(-2, dtype=int8), Array(False, dtype=bool))
    """
    return not_p.bind(x)


def bitwise_and(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise x & y, for booleans or integers of the same dtype and of shapes as in `add`.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.bitwise_and(np.uint8(12), np.uint8(10)), lax.bitwise_and(True, False)
      (Array(8, dtype=uint8), Array(False, dtype=bool))
    """
    return and_p.bind(x, y)


def bitwise_or(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise x | y, for booleans or integers of the same dtype and of shapes as in `add`.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.bitwise_or(np.uint8([12, 0]), np.uint8(3))
      Array([15,  3], dtype=uint8)
    """
    return or_p.bind(x, y)


def bitwise_xor(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise x ^ y, for booleans or integers of the same dtype and of shapes as in `add`.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.bitwise_xor(np.int32(5), np.int32(-1))
      Array(-6, dtype=int32)
    """
    return xor_p.bind(x, y)


def population_count(x: ArrayLike) -> Array:
    """Elementwise number of bits that are 1, for integers.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.population_count(np.int8([-1, 5]))
      Array([8, 2], dtype=int8)
    """
    return population_count_p.bind(x)


def clz(x: ArrayLike) -> Array:
    """Elementwise number of leading bits that are 0, for integers.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.clz(np.uint8([0, 1, 255])), lax.clz(np.int32(1))
      (Array([8, 7, 0], dtype=uint8), Array(31, dtype=int32))
    """
    return clz_p.bind(x)


def shift_left(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise x << y, for integers of the same dtype and of shapes as in `add`.

    The result is 0 if y is at least the number of bits.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.shift_left(np.uint8(255), np.uint8([1, 8]))
      Array([254,   0], dtype=uint8)
    """
    return shift_left_p.bind(x, y)


def shift_right_arithmetic(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise x >> y that repeats the sign bit, for integers of the same dtype and of shapes as in `add`.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.shift_right_arithmetic(np.int8(-8), np.int8([1, 100]))
      Array([-4, -1], dtype=int8)
    """
    return shift_right_arithmetic_p.bind(x, y)


def shift_right_logical(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise x >> y that shifts zeros in, for integers of the same dtype and of shapes as in `add`.

    >>> import primax as px
    >>> import numpy as np
    >>> px.lax.shift_right_logical(np.int8(-128), np.int8(7))
    Array(1, dtype=int8)
    >>> px.lax.shift_right_arithmetic(np.int8(-128), np.int8(7))
    Array(-1, dtype=int8)
    """
    return shift_right_logical_p.bind(x, y)


RULES: Table = dict(
    (
        row(not_p, BOOL_OR_INT, "stablehlo.not"),
        row(and_p, (BOOL_OR_INT, BOOL_OR_INT), "stablehlo.and"),
        row(or_p, (BOOL_OR_INT, BOOL_OR_INT), "stablehlo.or"),
        row(xor_p, (BOOL_OR_INT, BOOL_OR_INT), "stablehlo.xor"),
        row(population_count_p, INTEGER, "stablehlo.popcnt"),
        row(clz_p, INTEGER, "stablehlo.count_leading_zeros"),
        row(shift_left_p, (INTEGER, INTEGER), "stablehlo.shift_left"),
        row(shift_right_arithmetic_p, (INTEGER, INTEGER), "stablehlo.shift_right_arithmetic"),
        row(shift_right_logical_p, (INTEGER, INTEGER), "stablehlo.shift_right_logical"),
    )
)


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, **rules)
