"""Comparisons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from typing import Any

from primax.extend import core, dtypes, hookimpl
from primax.extend.core import Array, get_aval
from primax.extend.interpreters import mlir
from primax.extend.provisional.avals import physical_aval
from primax.extend.provisional.elementwise import ORDERED, Accepts, boolean, row
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table
from primax.plugins.bitwise import and_p, or_p
from primax.plugins.structural import reshape_p, slice_p

__all__ = [
    "eq",
    "eq_p",
    "eq_to",
    "eq_to_p",
    "ge",
    "ge_p",
    "gt",
    "gt_p",
    "le",
    "le_p",
    "le_to",
    "le_to_p",
    "lt",
    "lt_p",
    "lt_to",
    "lt_to_p",
    "ne",
    "ne_p",
]

eq_p = core.Primitive("eq")
ne_p = core.Primitive("ne")
ge_p = core.Primitive("ge")
gt_p = core.Primitive("gt")
le_p = core.Primitive("le")
lt_p = core.Primitive("lt")
eq_to_p = core.Primitive("eq_to")
le_to_p = core.Primitive("le_to")
lt_to_p = core.Primitive("lt_to")


def eq(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise x == y, for arrays of the same dtype and of shapes as in `add`.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.eq(np.float32([1, np.nan]), np.float32([1, np.nan]))
      Array([ True, False], dtype=bool)
      >>> lax.eq(np.float32(1), np.int32(1))
      Traceback (most recent call last):
          ...
      TypeError: eq: arguments must have the same dtype, got f32[] and i32[]; convert one of them, or use
      primax.numpy, which promotes
    """
    return eq_p.bind(x, y)


def ne(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise x != y, for arrays of the same dtype and of shapes as in `add`.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.ne(np.nan, np.nan), lax.ne(-0.0, 0.0)
      (Array(True, dtype=bool, weak_type=True), Array(False, dtype=bool, weak_type=True))
    """
    return ne_p.bind(x, y)


def ge(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise x >= y, for real arrays of the same dtype and of shapes as in `add`.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.ge(np.array([1, 2, 3]), 2)
      Array([False,  True,  True], dtype=bool)
    """
    return ge_p.bind(x, y)


def gt(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise x > y, for real arrays of the same dtype and of shapes as in `add`.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.gt(np.float32([1, np.nan]), np.float32(0))
      Array([ True, False], dtype=bool)
    """
    return gt_p.bind(x, y)


def le(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise x <= y, for real arrays of the same dtype and of shapes as in `add`.

    Examples:
      >>> from primax import lax
      >>> lax.le(-0.0, 0.0), lax.le(0.0, -0.0)
      (Array(True, dtype=bool, weak_type=True), Array(True, dtype=bool, weak_type=True))
    """
    return le_p.bind(x, y)


def lt(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise x < y, for real arrays of the same dtype and of shapes as in `add`.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.lt(np.array([1, 2, 3]), np.array([3, 2, 1]))
      Array([ True, False, False], dtype=bool)
    """
    return lt_p.bind(x, y)


def eq_to(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise x == y in the total order of `lt_to`: NaNs are equal to themselves, -0.0 is not 0.0.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.eq_to(np.float32([np.nan, -0.0]), np.float32([np.nan, 0.0]))
      Array([ True, False], dtype=bool)
    """
    return eq_to_p.bind(x, y)


def le_to(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise x <= y in the total order of `lt_to`.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.le_to(np.float32([-0.0, 0.0, np.inf]), np.float32([0.0, -0.0, np.nan]))
      Array([ True, False,  True], dtype=bool)
    """
    return le_to_p.bind(x, y)


def lt_to(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise x < y in a total order, for real arrays of the same dtype and of shapes as in `add`.

    For floats it is the order of IEEE 754: -NaN < -inf < ... < -0.0 < 0.0 < ... < inf < NaN.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.lt_to(np.float32([-0.0, np.inf, np.nan]), np.float32([0.0, np.nan, np.nan]))
      Array([ True,  True, False], dtype=bool)
    """
    return lt_to_p.bind(x, y)


def _compare(direction: str, floats: str = "FLOAT") -> Callable[..., Any]:
    def lowering(ctx: mlir.LoweringRuleContext, x: Any, y: Any) -> Sequence[mlir.ir.Value]:
        dtype = ctx.avals_in[0].dtype
        if dtypes.is_inexact(dtype):
            kind = floats
        elif dtypes.is_bool(dtype) or dtypes.is_unsigned_integer(dtype):
            kind = "UNSIGNED"
        else:
            kind = "SIGNED"
        compare = mlir.nary(
            "stablehlo.compare",
            comparison_direction=lambda: mlir.hlo.ComparisonDirectionAttr.get(direction),
            compare_type=lambda: mlir.hlo.ComparisonTypeAttr.get(kind),
        )
        return compare(ctx, x, y)

    lowering.__name__ = f"compare_{direction}"
    return lowering


def _compare_whole(direction: str, primitive: core.Primitive, combine: core.Primitive) -> Callable[..., Any]:
    """The lowering of a comparison of all numbers in an element of an extended dtype, such as a key."""
    plain = _compare(direction)

    def lowering(ctx: mlir.LoweringRuleContext, x: Any, y: Any) -> list[Any] | Array:
        dtype = ctx.avals_in[0].dtype
        if not dtypes.is_extended(dtype):
            return plain(ctx, x, y)

        def by_numbers(*xs: Any) -> list[Any]:
            pairs = zip(*(_numbers(x, dtype.element_shape) for x in xs), strict=True)
            return [reduce(combine.bind, [primitive.bind(*pair) for pair in pairs])]

        avals = [physical_aval(aval) for aval in ctx.avals_in]
        return mlir.inline_jaxpr(ctx, core.trace_to_jaxpr(by_numbers, avals, primitive.name), [x, y])

    lowering.__name__ = plain.__name__
    return mlir.physical_lowering(lowering)


def _numbers(x: Any, element_shape: tuple[int, ...]) -> list[Any]:
    """For each position in an element an array of the numbers there."""
    shape = get_aval(x).shape
    shape, count = shape[: len(shape) - len(element_shape)], prod(element_shape)
    flat = reshape_p.bind(x, new_sizes=(*shape, count), dimensions=None)
    starts = (0,) * len(shape)
    places = [
        slice_p.bind(flat, start_indices=(*starts, i), limit_indices=(*shape, i + 1), strides=None)
        for i in range(count)
    ]
    return [reshape_p.bind(place, new_sizes=shape, dimensions=None) for place in places]


_COMPARABLE = Accepts("of any dtype with values", lambda dtype: dtype != dtypes.float0, extended=True)
_TIE = ((0.3, -1.2, 2.6), (0.3, 0.8, -0.6))

RULES: Table = dict(
    (
        row(eq_p, (_COMPARABLE, _COMPARABLE), _compare_whole("EQ", eq_p, and_p), out=boolean, at=_TIE),
        row(ne_p, (_COMPARABLE, _COMPARABLE), _compare_whole("NE", ne_p, or_p), out=boolean, at=_TIE),
        row(ge_p, (ORDERED, ORDERED), _compare("GE"), out=boolean, at=_TIE),
        row(gt_p, (ORDERED, ORDERED), _compare("GT"), out=boolean, at=_TIE),
        row(le_p, (ORDERED, ORDERED), _compare("LE"), out=boolean, at=_TIE),
        row(lt_p, (ORDERED, ORDERED), _compare("LT"), out=boolean, at=_TIE),
        row(eq_to_p, (ORDERED, ORDERED), _compare("EQ", "TOTALORDER"), out=boolean, at=_TIE),
        row(le_to_p, (ORDERED, ORDERED), _compare("LE", "TOTALORDER"), out=boolean, at=_TIE),
        row(lt_to_p, (ORDERED, ORDERED), _compare("LT", "TOTALORDER"), out=boolean, at=_TIE),
    )
)


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, **rules)
