"""Lowerings of functions of complex numbers to operations on their parts.

They are right on both sides of a branch cut, whose side the sign of a zero decides, as in C and NumPy; near poles; and
where the squares of the parts leave the range. Formulas: W. Kahan, "Branch cuts for complex elementary functions"
(1987).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import ShapedArray
from primax.extend.interpreters import mlir
from primax.extend.provisional.elementwise import ir_full

__all__ = [
    "Real",
    "atan",
    "atanh",
    "direction",
    "division",
    "expm1",
    "for_complex",
    "like_the_argument",
    "like_the_imaginary_part",
    "log1p",
    "logistic",
    "modulus",
    "on_its_side",
    "tan",
    "tanh",
    "unlike_the_imaginary_part",
]

Lowering = Callable[..., Sequence[Any]]


@dataclasses.dataclass(frozen=True)
class Real:
    """Real numbers in the program that is being built, with operators."""

    value: Any
    aval: ShapedArray

    def _operand(self, other: Any) -> Any:
        return other.value if isinstance(other, Real) else ir_full(other, self.aval)

    def _new(self, operation: Callable[..., Any], *others: Any) -> Real:
        return Real(operation(self.value, *map(self._operand, others)), self.aval)

    def __add__(self, other: Any) -> Real:
        return self._new(mlir.hlo.add, other)

    def __sub__(self, other: Any) -> Real:
        return self._new(mlir.hlo.subtract, other)

    def __rsub__(self, other: float) -> Real:
        return Real(self._operand(other), self.aval) - self

    def __mul__(self, other: Any) -> Real:
        return self._new(mlir.hlo.multiply, other)

    def __truediv__(self, other: Any) -> Real:
        return self._new(mlir.hlo.divide, other)

    def __neg__(self) -> Real:
        return self._new(mlir.hlo.negate)

    def __abs__(self) -> Real:
        return self._new(mlir.hlo.abs)

    def of(self, operation: str, *others: Any) -> Real:
        """An operation of StableHLO, such as ``sine``."""
        return self._new(getattr(mlir.hlo, operation), *others)

    def bits(self, dtype: Any = None) -> Real:
        """The same bits as signed integers, or in another dtype of that size."""
        aval = self.aval.update(dtype=np.dtype(dtype or f"int{self.aval.dtype.itemsize * 8}"))
        return Real(mlir.hlo.bitcast_convert(mlir.aval_to_ir_type(aval), self.value), aval)

    def at_most(self, other: Any) -> Real:
        return self._new(mlir.hlo.minimum, other)

    def at_least(self, other: Any) -> Real:
        return self._new(mlir.hlo.maximum, other)

    def angle(self, abscissa: Real) -> Real:
        return self._new(mlir.hlo.atan2, abscissa)

    def where(self, condition: Any, other: Any) -> Real:
        """These numbers where a condition holds, and other ones elsewhere."""
        return Real(mlir.hlo.select(condition, self.value, self._operand(other)), self.aval)

    def compared(self, direction: str, other: Any) -> Any:
        order = mlir.hlo.ComparisonDirectionAttr.get(direction)
        return mlir.hlo.compare(self.value, self._operand(other), order)

    def __lt__(self, other: Any) -> Any:
        return self.compared("LT", other)

    def __gt__(self, other: Any) -> Any:
        return self.compared("GT", other)

    def is_zero(self) -> Any:
        return self.compared("EQ", 0.0)

    def signed(self, other: Real) -> Real:
        """These numbers with the signs of others, zeros included."""
        return (-abs(self)).where(other.bits() < 0, abs(self))

    @property
    def most(self) -> float:
        return float(dtypes.finfo(self.aval.dtype).max)


Parts = tuple[Real, Real]


def _parts(ctx: Any, z: Any) -> Parts:
    aval = ctx.avals_in[0]
    part = aval.update(dtype=np.empty(0, aval.dtype).real.dtype)
    return Real(mlir.hlo.real(z), part), Real(mlir.hlo.imag(z), part)


def _joined(parts: Parts) -> list[Any]:
    return [mlir.hlo.complex(parts[0].value, parts[1].value)]


def for_complex(real: Lowering, compute: Callable[[Real, Real], Parts]) -> Lowering:
    """A lowering of real numbers by another one, and of complex numbers by a function of their parts."""

    def lowering(ctx: mlir.LoweringRuleContext, x: Any, /, **params: Any) -> Sequence[Any]:
        return _joined(compute(*_parts(ctx, x))) if dtypes.is_complex(ctx.avals_in[0].dtype) else real(ctx, x, **params)

    lowering.__name__ = real.__name__
    return lowering


def on_its_side(plain: Lowering, signs: Callable[[Real, Real, Real, Real], Parts]) -> Lowering:
    """A lowering by another one; complex results get the signs of the argument, also if it is zero.

    XLA's functions take every zero to be positive. `signs` has the parts of the argument and of the result.
    """

    def lowering(ctx: mlir.LoweringRuleContext, x: Any, /, **params: Any) -> Sequence[Any]:
        (out,) = plain(ctx, x, **params)
        return _joined(signs(*_parts(ctx, x), *_parts(ctx, out))) if dtypes.is_complex(ctx.avals_in[0].dtype) else [out]

    lowering.__name__ = plain.__name__
    return lowering


def like_the_argument(x: Real, y: Real, u: Real, v: Real) -> Parts:
    """The signs of asin, asinh, atan and atanh."""
    return u.signed(x), v.signed(y)


def like_the_imaginary_part(x: Real, y: Real, u: Real, v: Real) -> Parts:
    """The signs of the square root and acosh, whose real parts are not negative."""
    return u, v.signed(y)


def unlike_the_imaginary_part(x: Real, y: Real, u: Real, v: Real) -> Parts:
    """The signs of the reciprocal of a square root, and of acos."""
    return u, v.signed(-y)


def modulus(plain: Lowering) -> Lowering:
    """A lowering of absolute values; of complex numbers with an infinite part they are infinite, even beside NaN."""

    def lowering(ctx: mlir.LoweringRuleContext, x: Any) -> Sequence[Any]:
        (out,) = plain(ctx, x)
        if not dtypes.is_complex(ctx.avals_in[0].dtype):
            return [out]
        real, imaginary = _parts(ctx, x)
        infinite = mlir.hlo.or_(*(abs(part).compared("EQ", math.inf) for part in (real, imaginary)))
        return [Real(ir_full(math.inf, real.aval), real.aval).where(infinite, Real(out, real.aval)).value]

    lowering.__name__ = plain.__name__
    return lowering


def direction(x: Real, y: Real) -> Parts:
    """z / abs(z), and z for 0; the parts are scaled first, so that no square leaves the range.

    If a part is infinite, only infinite parts count.
    """
    larger = abs(x).at_least(abs(y))
    none, infinite = larger.is_zero(), larger.compared("EQ", math.inf)

    def scaled(part: Real) -> Real:
        end = mlir.hlo.and_(infinite, abs(part).compared("EQ", larger))
        return part.where(none, part.of("sign").where(end, part / larger))

    u, v = scaled(x), scaled(y)
    size = (u * u + v * v).of("sqrt")
    return x.where(none, u / size), y.where(none, v / size)


def tanh(x: Real, y: Real) -> Parts:
    """tanh(z) by tan(y) and sinh(x), whose squares stay in the range; from 10 (float64: 20) on by exp(-2 abs(x))."""
    far = 10.0 if x.aval.dtype.itemsize == 4 else 20.0
    size = abs(x)
    sine, cosine = y.of("sine"), y.of("cosine")
    tan, grown = sine / cosine, size.at_most(far).of("exponential_minus_one")
    sinh = (grown + grown / (grown + 1.0)) * 0.5
    secant = tan * tan + 1.0
    below = secant * sinh * sinh + 1.0
    along = secant * sinh * (sinh * sinh + 1.0).of("sqrt") / below
    shrunk = (-size).of("exponential")
    wave = sine * cosine * 4.0
    # At infinity the phase does not matter.
    wave = wave.where(mlir.hlo.or_(size < math.inf, mlir.hlo.is_finite(y.value)), 0.0)
    across = (wave * shrunk * shrunk).where(size > far, tan / below)
    one = wave * 0.0 + 1.0  # NaN with the wave
    return one.where(size > far, along).signed(x), y.where(y.is_zero(), across)


def tan(x: Real, y: Real) -> Parts:
    """-i tanh(i z)."""
    u, v = tanh(-y, x)
    return v, -u


def logistic(x: Real, y: Real, u: Real, v: Real) -> Parts:
    """The logistic function: by tanh near the imaginary axis, where the poles are; XLA's elsewhere."""
    near = abs(x) < 1.0
    along, across = tanh(x * 0.5, y * 0.5)
    return (along * 0.5 + 0.5).where(near, u), (across * 0.5).where(near, v)


def expm1(x: Real, y: Real) -> Parts:
    """(exp(x) - 1) cos(y) - 2 sin(y / 2)**2 and exp(x) sin(y): near multiples of 2 pi i nothing cancels."""
    cosine, sine, half = y.of("cosine"), y.of("sine"), (y * 0.5).of("sine")
    large = x > math.log(x.most) - 1.0
    root = (x * 0.5).of("exponential")
    along = (root * cosine * root).where(large, x.of("exponential_minus_one") * cosine - half * half * 2.0)
    across = (root * sine * root).where(large, x.of("exponential") * sine)
    return along, y.where(y.is_zero(), across)


def log1p(x: Real, y: Real, u: Real, v: Real) -> Parts:
    """The logarithm of 1 + z near z = -1, where the sum is exact; XLA's log1p elsewhere."""
    below = x + 1.0
    near = mlir.hlo.and_(abs(below) < 0.5, abs(y) < 0.5)
    return _log_modulus(below, y).where(near, u), y.angle(below).where(near, v)


def _log_modulus(x: Real, y: Real) -> Real:
    """log(abs(x + i y)), if the squares do not leave the range."""
    larger, smaller = abs(x).at_least(abs(y)), abs(x).at_most(abs(y))
    ratio = smaller.where(larger.is_zero(), smaller / larger)
    return larger.of("log") + (ratio * ratio).of("log_plus_one") * 0.5


def atanh(x: Real, y: Real, u: Real, v: Real) -> Parts:
    """atanh(z) near 1 and -1 by logarithms of the distances to both; XLA's elsewhere."""
    size = abs(x)
    low, high = 1.0 - size, size + 1.0
    near = mlir.hlo.and_(abs(low) < 0.5, abs(y) < 0.5)
    along = (_log_modulus(high, y) - _log_modulus(low, y)) * 0.5
    across = (y.angle(high) + y.angle(low)) * 0.5
    return along.where(near, u).signed(x), across.where(near, v).signed(y)


def atan(x: Real, y: Real, u: Real, v: Real) -> Parts:
    """-i atanh(i z)."""
    along, across = atanh(-y, x, -v, u)
    return across, -along


def division(plain: Lowering) -> Lowering:
    """A lowering of quotients by another one; complex numbers are scaled where squares would leave the range."""

    def lowering(ctx: mlir.LoweringRuleContext, x: Any, y: Any) -> Sequence[Any]:
        if not dtypes.is_complex(ctx.avals_in[0].dtype):
            return plain(ctx, x, y)
        (out,) = plain(ctx, x, y)
        (aval,) = ctx.avals_out
        x, y = (
            z
            if a.shape == aval.shape
            else mlir.broadcast_in_dim(ctx, z, aval, broadcast_dimensions=range(len(a.shape)))
            for z, a in zip((x, y), ctx.avals_in, strict=True)
        )
        ctx = ctx.replace(avals_in=ctx.avals_out)
        return _joined(_quotient(*_parts(ctx, x), *_parts(ctx, y), *_parts(ctx, out)))

    lowering.__name__ = plain.__name__
    return lowering


def _quotient(a: Real, b: Real, c: Real, d: Real, u: Real, v: Real) -> Parts:
    """(a + i b) / (c + i d), and (u, v) where no square leaves the range, or a number is zero, infinite or NaN.

    A power of 2 brings c and d near 1, so that no square leaves the range. Very large and very small a and b are scaled
    by a small power, so that no sum of products does.
    """
    above, below = abs(a).at_least(abs(b)), abs(c).at_least(abs(d))
    limit = 2.0 ** (int(dtypes.finfo(a.aval.dtype).maxexp) // 4)
    ordinary = _between(above, 1 / limit, limit), _between(below, 1 / limit, limit)
    defined = mlir.hlo.and_(_between(above, 0.0, math.inf), _between(below, 0.0, math.inf))
    scaled = mlir.hlo.and_(defined, mlir.hlo.not_(mlir.hlo.and_(*ordinary)))
    near = _reciprocal_power_of_two(below)
    c, d = c * near, d * near
    norm = c * c + d * d
    edge = float(2.0 ** (int(dtypes.finfo(a.aval.dtype).maxexp) - 28))
    large, small = above > edge, above < 1 / edge
    less, more, one = (Real(ir_full(f, a.aval), a.aval) for f in (2.0**-8, 2.0**8, 1.0))
    there, back = less.where(large, more.where(small, one)), more.where(large, less.where(small, one))
    a, b = a * there, b * there
    along, across = (part / norm * near * back for part in (a * c + b * d, b * c - a * d))
    return along.where(scaled, u), across.where(scaled, v)


def _between(x: Real, low: float, high: float) -> Any:
    return mlir.hlo.and_(x > low, x < high)


def _reciprocal_power_of_two(x: Real) -> Real:
    """1 / 2**n for the largest 2**n that is at most a positive number, and no less than the least normal number."""
    limits = dtypes.finfo(x.aval.dtype)
    bias, digits = int(limits.maxexp) - 1, int(limits.nmant)
    power = x.bits().of("shift_right_logical", digits)
    return (2 * bias - power).at_least(1).of("shift_left", digits).bits(x.aval.dtype)
