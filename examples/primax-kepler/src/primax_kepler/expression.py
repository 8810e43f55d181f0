"""StableHLO values with Python's operators, so that a lowering reads like its formula."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.interpreters import mlir

__all__ = ["Expression"]


class Expression:
    """A StableHLO value of a floating type. Python numbers in operations with it become constants of its type."""

    __slots__ = ("aval", "value")

    def __init__(self, value: Any, aval: core.ShapedArray) -> None:
        self.value = value
        self.aval = aval

    def full(self, number: float) -> Expression:
        """The constant `number`, with the type of this value."""
        splat = np.broadcast_to(self.aval.dtype.type(number), self.aval.shape)
        return Expression(mlir.ir_constant(splat), self.aval)

    def astype(self, dtype: Any) -> Expression:
        """This value in another floating dtype."""
        if self.aval.dtype == dtype:
            return self
        aval = self.aval.update(dtype=np.dtype(dtype))
        return Expression(mlir.hlo.convert(mlir.aval_to_ir_type(aval), self.value), aval)

    def _apply(self, operation: Callable[..., Any], *operands: Expression | float) -> Expression:
        return Expression(operation(*(self._value(x) for x in operands)), self.aval)

    def _value(self, x: Expression | float) -> Any:
        return x.value if isinstance(x, Expression) else self.full(x).value

    def __add__(self, other: Expression | float) -> Expression:
        return self._apply(mlir.hlo.add, self, other)

    def __sub__(self, other: Expression | float) -> Expression:
        return self._apply(mlir.hlo.subtract, self, other)

    def __mul__(self, other: Expression | float) -> Expression:
        return self._apply(mlir.hlo.multiply, self, other)

    def __truediv__(self, other: Expression | float) -> Expression:
        return self._apply(mlir.hlo.divide, self, other)

    def __radd__(self, other: float) -> Expression:
        return self.full(other) + self

    def __rsub__(self, other: float) -> Expression:
        return self.full(other) - self

    def __rmul__(self, other: float) -> Expression:
        return self.full(other) * self

    def __neg__(self) -> Expression:
        return self._apply(mlir.hlo.negate, self)

    def __abs__(self) -> Expression:
        return self._apply(mlir.hlo.abs, self)

    def sqrt(self) -> Expression:
        return self._apply(mlir.hlo.sqrt, self)

    def cbrt(self) -> Expression:
        return self._apply(mlir.hlo.cbrt, self)

    def wrapped(self) -> Expression:
        """This angle modulo a full turn, between -pi and pi, with the accuracy of sine."""
        sine, cosine = self._apply(mlir.hlo.sine, self), self._apply(mlir.hlo.cosine, self)
        return self._apply(mlir.hlo.atan2, sine, cosine)

    def at_least(self, other: Expression | float) -> Expression:
        """The larger of the two."""
        return self._apply(mlir.hlo.maximum, self, other)

    def except_where(
        self, tested: Expression, direction: str, bound: Expression | float, other: Expression | float
    ) -> Expression:
        """`other` where the comparison (`"LT"`, `"GT"`, ...) of `tested` with `bound` is true, else this value."""
        sense = mlir.hlo.ComparisonDirectionAttr.get(direction)
        holds = mlir.hlo.compare(tested.value, self._value(bound), sense)
        return Expression(mlir.hlo.select(holds, self._value(other), self.value), self.aval)
