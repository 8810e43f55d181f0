"""The language of lowerings of special functions: values with Python's operators, and loops over them.

A formula is traced when a special function is lowered. It works elementwise on arrays of the same shape and the same
floating dtype; Python numbers in it take that dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import Array
from primax.extend.interpreters import mlir
from primax.plugins import arithmetic, bitwise, comparison, exponential, reductions, rounding
from primax.plugins.control_flow import while_loop
from primax.plugins.structural import broadcast_in_dim, convert_element_type, repeat, select_n


class Num:
    """An array in a formula."""

    __slots__ = ("value",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any) -> None:
        self.value = value

    @property
    def eps(self) -> float:
        """The distance from 1 to the next number of this dtype."""
        return float(np.finfo(core.get_aval(self.value).dtype).eps)

    def rounded(self, number: float) -> float:
        """The number of this dtype that is nearest to `number`."""
        return float(core.get_aval(self.value).dtype.type(number))

    def full(self, number: Any) -> Num:
        """An array like this one, all of whose elements are `number`."""
        aval = core.get_aval(self.value)
        return Num(broadcast_in_dim(aval.dtype.type(number), aval.shape, ()))

    def _with(self, primitive: Any, other: Any) -> Num:
        return Num(primitive.bind(self.value, self._operand(other)))

    def _after(self, primitive: Any, other: Any) -> Num:
        return Num(primitive.bind(self._operand(other), self.value))

    def _operand(self, other: Any) -> Any:
        return other.value if type(other) is Num else core.get_aval(self.value).dtype.type(other)

    def __add__(self, other: Any) -> Num:
        return self._with(arithmetic.add_p, other)

    def __radd__(self, other: Any) -> Num:
        return self._after(arithmetic.add_p, other)

    def __sub__(self, other: Any) -> Num:
        return self._with(arithmetic.sub_p, other)

    def __rsub__(self, other: Any) -> Num:
        return self._after(arithmetic.sub_p, other)

    def __mul__(self, other: Any) -> Num:
        return self._with(arithmetic.mul_p, other)

    def __rmul__(self, other: Any) -> Num:
        return self._after(arithmetic.mul_p, other)

    def __truediv__(self, other: Any) -> Num:
        return self._with(arithmetic.div_p, other)

    def __rtruediv__(self, other: Any) -> Num:
        return self._after(arithmetic.div_p, other)

    def __neg__(self) -> Num:
        return Num(arithmetic.neg(self.value))

    def __abs__(self) -> Num:
        return Num(arithmetic.abs(self.value))

    def __lt__(self, other: Any) -> Num:
        return self._with(comparison.lt_p, other)

    def __le__(self, other: Any) -> Num:
        return self._with(comparison.le_p, other)

    def __gt__(self, other: Any) -> Num:
        return self._with(comparison.gt_p, other)

    def __ge__(self, other: Any) -> Num:
        return self._with(comparison.ge_p, other)

    def __eq__(self, other: Any) -> Any:
        return self._with(comparison.eq_p, other)

    def __ne__(self, other: Any) -> Any:
        return self._with(comparison.ne_p, other)

    def __and__(self, other: Num) -> Num:
        return self._with(bitwise.and_p, other)

    def __or__(self, other: Num) -> Num:
        return self._with(bitwise.or_p, other)

    def __invert__(self) -> Num:
        return Num(bitwise.bitwise_not(self.value))

    def exp(self) -> Num:
        return Num(exponential.exp_p.bind(self.value))

    def expm1(self) -> Num:
        return Num(exponential.expm1_p.bind(self.value))

    def log(self) -> Num:
        return Num(exponential.log_p.bind(self.value))

    def log1p(self) -> Num:
        return Num(exponential.log1p_p.bind(self.value))

    def sqrt(self) -> Num:
        return Num(exponential.sqrt_p.bind(self.value))

    def power(self, exponent: Num) -> Num:
        return Num(exponential.pow_p.bind(self.value, exponent.value))

    def reduced(self, exponent_bits: int, mantissa_bits: int) -> Num:
        return Num(rounding.reduce_precision(self.value, exponent_bits, mantissa_bits))

    def nearest(self) -> Num:
        return Num(rounding.round(self.value))

    def floor(self) -> Num:
        return Num(rounding.floor_p.bind(self.value))


def select(condition: Num, then: Any, otherwise: Any) -> Num:
    """Elementwise `then` where the condition holds and `otherwise` elsewhere; one of them may be a number."""
    if type(then) is not Num:
        then = otherwise.full(then)
    elif type(otherwise) is not Num:
        otherwise = then.full(otherwise)
    return Num(select_n(condition.value, otherwise.value, then.value))


def chebyshev(y: Num, coefficients: Sequence[float]) -> Num:
    """The sum of Chebyshev polynomials, by Clenshaw's recurrence, to the precision of `y`."""
    eps = y.eps * abs(coefficients[0]) / 16
    kept = [c for c in coefficients if abs(c) > eps]
    twice = y + y
    before, last = y.full(0), y.full(kept[-1])
    for c in kept[-2:0:-1]:
        before, last = last, twice * last - before + c
    return y * last - before + kept[0]


def polynomial(y: Num, coefficients: Sequence[float]) -> Num:
    """The sum of Chebyshev polynomials of y in [-1, 1], to the precision of `y`, as powers of y by Horner's rule.

    The coefficients must decrease by a factor of more than 2.5, so that those of the powers do not cancel out.
    """
    least = y.eps * abs(coefficients[0]) / 64
    kept = [c for c in coefficients if abs(c) > least]
    powers = np.polynomial.chebyshev.cheb2poly(kept).tolist()
    total = y * powers[-1] + powers[-2]
    for c in powers[-3::-1]:
        total = total * y + c
    return total


def formula(function: Callable[..., Num]) -> Callable[..., list[Any]]:
    """The lowering rule of an elementwise primitive from a function of `Num`s.

    Half precision is computed in float32. Operands of rank 0, and axes of length 1, are repeated.
    """

    def compute(*xs: Any, **params: Any) -> Array:
        avals = [core.get_aval(x) for x in xs]
        dtype = avals[0].dtype
        wide = dtype if dtype.itemsize >= 4 else np.dtype(np.float32)
        shape = next((aval.shape for aval in avals if aval.shape), ())
        if any(aval.shape not in (shape, ()) for aval in avals):
            shape = np.broadcast_shapes(*(aval.shape for aval in avals))
        nums = []
        for x in xs:
            y = x if dtype == wide else convert_element_type(x, wide)
            nums.append(Num(repeat(y, shape)))
        out = function(*nums, **params).value
        return out if dtype == wide else convert_element_type(out, dtype)

    compute.__name__ = function.__name__
    return mlir.lower_fun(compute, multiple_results=False)


def iterate(step: Callable[..., Sequence[Num]], active: Num, state: Sequence[Num], most: int) -> list[Num]:
    """Repeat a step elementwise until no element is active.

    Args:
      step: `(n, *state) -> (active, *state)`, for n = 1, 2, ... of rank 0; it returns which elements continue.
        Elements that are not active keep their state.
      active: the elements that are active initially.
      state: the initial state.
      most: the maximal number of steps.

    Returns:
      The last state.
    """
    number = core.get_aval(state[0].value).dtype.type

    def continues(carry: Any) -> Any:
        n, active, _ = carry
        some = reductions.reduce_or(active, range(len(core.get_aval(active).shape)))
        return bitwise.bitwise_and(comparison.le(n, number(most)), some)

    def body(carry: Any) -> tuple[Any, Any, Any]:
        n, active, xs = carry
        now = Num(active)
        more, *new = step(Num(n), *map(Num, xs))
        kept = [select(now, y, Num(x)).value for x, y in zip(xs, new, strict=True)]
        return arithmetic.add(n, number(1)), (now & more).value, kept

    _, _, last = while_loop(continues, body, (number(1), active.value, [x.value for x in state]))
    return list(map(Num, last))
