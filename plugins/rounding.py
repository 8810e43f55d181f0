"""Rounding and the representation of floating-point numbers."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from primax.extend import core, hookimpl
from primax.extend.core import Array
from primax.extend.interpreters import ad, mlir
from primax.extend.provisional.arguments import integer, naming
from primax.extend.provisional.elementwise import FLOATING, boolean, row
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table

__all__ = [
    "RoundingMethod",
    "ceil",
    "ceil_p",
    "floor",
    "floor_p",
    "is_finite",
    "is_finite_p",
    "nextafter",
    "nextafter_p",
    "reduce_precision",
    "reduce_precision_p",
    "round",
    "round_p",
]

ceil_p = core.Primitive("ceil")
floor_p = core.Primitive("floor")
is_finite_p = core.Primitive("is_finite")
nextafter_p = core.Primitive("nextafter")
reduce_precision_p = core.Primitive("reduce_precision")
round_p = core.Primitive("round")


class RoundingMethod(IntEnum):
    """The rule by which `round` breaks ties.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> halves = np.float32([0.5, 1.5])
      >>> lax.round(halves, lax.RoundingMethod.AWAY_FROM_ZERO), lax.round(halves, lax.RoundingMethod.TO_NEAREST_EVEN)
      (Array([1., 2.], dtype=float32), Array([0., 2.], dtype=float32))
    """

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def floor(x: ArrayLike) -> Array:
    """Elementwise largest integer not above x, for real floating arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.floor(np.float32([-0.5, 1.2]))
      Array([-1.,  1.], dtype=float32)
      >>> lax.floor(1)
      Traceback (most recent call last):
          ...
      TypeError: floor: its argument must be floating, got i32[]
    """
    return floor_p.bind(x)


def ceil(x: ArrayLike) -> Array:
    """Elementwise smallest integer not below x, for real floating arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.ceil(np.float32([-0.5, 1.2]))
      Array([-0.,  2.], dtype=float32)
    """
    return ceil_p.bind(x)


def round(x: ArrayLike, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Array:
    """Elementwise nearest integer, for real floating arrays.

    Args:
      x: real floating numbers.
      rounding_method: the direction for ties.

    Raises:
      ValueError: `rounding_method` is not a `RoundingMethod`.

    >>> import primax as px
    >>> import numpy as np
    >>> x = np.float32([0.5, 1.5, 2.5])
    >>> px.lax.round(x)
    Array([1., 2., 3.], dtype=float32)
    >>> px.lax.round(x, px.lax.RoundingMethod.TO_NEAREST_EVEN)
    Array([0., 2., 2.], dtype=float32)
    """
    with naming("round"):
        method = RoundingMethod(rounding_method)
    return round_p.bind(x, rounding_method=method)


def is_finite(x: ArrayLike) -> Array:
    """Elementwise whether x is neither infinite nor NaN, for real floating arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.is_finite(np.float32([1, np.inf, np.nan]))
      Array([ True, False, False], dtype=bool)
    """
    return is_finite_p.bind(x)


def nextafter(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Elementwise next number after x1 towards x2, for real floating arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.nextafter(np.float32(1), np.float32(2)) - 1 == np.finfo(np.float32).eps
      Array(True, dtype=bool)
    """
    return nextafter_p.bind(x1, x2)


def reduce_precision(operand: ArrayLike, exponent_bits: int, mantissa_bits: int) -> Array:
    """Round to the precision of a narrower floating format, keeping the dtype.

    Args:
      operand: real floating numbers.
      exponent_bits: the exponent bits of the narrower format, at least 1.
      mantissa_bits: the mantissa bits of the narrower format, at least 0.

    Raises:
      ValueError: the bits are out of range.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.reduce_precision(np.float32([1.01, 1e10]), exponent_bits=5, mantissa_bits=2)
      Array([ 1., inf], dtype=float32)
    """
    exponent_bits = integer("reduce_precision", "exponent_bits", exponent_bits)
    mantissa_bits = integer("reduce_precision", "mantissa_bits", mantissa_bits)
    if exponent_bits < 1:
        raise ValueError(f"reduce_precision: exponent_bits must be at least 1, got {exponent_bits}")
    if mantissa_bits < 0:
        raise ValueError(f"reduce_precision: mantissa_bits must not be negative, got {mantissa_bits}")
    for name, bits in (("exponent_bits", exponent_bits), ("mantissa_bits", mantissa_bits)):
        if bits >= 2**31:
            raise ValueError(f"reduce_precision: {name} must be below 2**31, got {bits}")
    return reduce_precision_p.bind(operand, exponent_bits=exponent_bits, mantissa_bits=mantissa_bits)


_ROUND = {
    RoundingMethod.AWAY_FROM_ZERO: mlir.nary("stablehlo.round_nearest_afz"),
    RoundingMethod.TO_NEAREST_EVEN: mlir.nary("stablehlo.round_nearest_even"),
}


def _round_lowering(
    ctx: mlir.LoweringRuleContext, x: Any, *, rounding_method: RoundingMethod
) -> Sequence[mlir.ir.Value]:
    return _ROUND[rounding_method](ctx, x)


def _reduce_precision_lowering(
    ctx: mlir.LoweringRuleContext, x: Any, *, exponent_bits: int, mantissa_bits: int
) -> Sequence[mlir.ir.Value]:
    def bits(n: int) -> Array:
        return mlir.ir.IntegerAttr.get(mlir.ir.IntegerType.get_signless(32), n)

    return mlir.hlo.reduce_precision(x, bits(exponent_bits), bits(mantissa_bits))


RULES: Table = dict(
    (
        row(floor_p, FLOATING, "stablehlo.floor"),
        row(ceil_p, FLOATING, "stablehlo.ceil"),
        row(round_p, FLOATING, _round_lowering, samples="primax.plugins.samples.rounding:SAMPLES"),
        row(is_finite_p, FLOATING, "stablehlo.is_finite", out=boolean),
        row(
            nextafter_p,
            (FLOATING, FLOATING),
            "chlo.next_after",
            unsupported={"jvp": "it steps from one representable number to the next"},
        ),
        row(
            reduce_precision_p,
            FLOATING,
            _reduce_precision_lowering,
            jvp_rule=ad.linear_jvp(reduce_precision_p),
            transpose=ad.linear_transpose(
                reduce_precision_p, lambda ct, **params: [reduce_precision_p.bind(ct, **params)]
            ),
            samples="primax.plugins.samples.rounding:SAMPLES",
        ),
    )
)


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, **rules)
