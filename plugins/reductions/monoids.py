"""Associative operations of two elements, with their identities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import Array, ShapedArray
from primax.extend.interpreters import mlir
from primax.extend.provisional.elementwise import BOOL_OR_INT, NUMERIC, SUMMABLE, Accepts
from primax.plugins.arithmetic import add_p, max_p, min_p, mul_p
from primax.plugins.bitwise import and_p, or_p, xor_p


@dataclass(frozen=True, slots=True)
class Monoid:
    """An associative and commutative elementwise operation with an identity.

    Attributes:
      combine: the primitive.
      identity: from a dtype to the identity.
      accepts: the dtypes for which it is defined.
    """

    combine: core.Primitive
    identity: Callable[[Any], Any]
    accepts: Accepts

    def start(self, dtype: Any) -> Any:
        """The identity as a NumPy scalar."""
        return np.asarray(self.identity(dtype), dtype)[()]

    def ir_start(self, dtype: Any) -> mlir.ir.Value:
        """The identity as an IR value."""
        return mlir.ir_constant(self.start(dtype))

    def program(self, dtype: Any) -> core.ClosedJaxpr:
        """The operation on scalars, for the region of a StableHLO operation."""
        scalar = ShapedArray((), dtype)
        combine = self.combine
        return core.trace_to_jaxpr(lambda x, y: [combine.bind(x, y)], [scalar, scalar], combine.name)


def _least(dtype: Any) -> Any:
    if dtypes.is_bool(dtype):
        return False
    if dtypes.is_inexact(dtype):
        return -np.inf if dtypes.is_complex(dtype) or dtypes.supports_inf(dtype) else dtypes.finfo(dtype).min
    return dtypes.iinfo(dtype).min


def _greatest(dtype: Any) -> Any:
    if dtypes.is_bool(dtype):
        return True
    if dtypes.is_inexact(dtype):
        return np.inf if dtypes.is_complex(dtype) or dtypes.supports_inf(dtype) else dtypes.finfo(dtype).max
    return dtypes.iinfo(dtype).max


def _all_bits(dtype: Any) -> Array | int:
    return _greatest(dtype) if dtypes.is_unsigned_integer(dtype) or dtypes.is_bool(dtype) else -1


ADD = Monoid(add_p, lambda dtype: 0, SUMMABLE)
MUL = Monoid(mul_p, lambda dtype: 1, NUMERIC)
_WITH_EXTREMES = Accepts("a number or a boolean", lambda dtype: dtype != dtypes.float0)
MAX = Monoid(max_p, _least, _WITH_EXTREMES)
MIN = Monoid(min_p, _greatest, _WITH_EXTREMES)
AND = Monoid(and_p, _all_bits, BOOL_OR_INT)
OR = Monoid(or_p, lambda dtype: 0, BOOL_OR_INT)
XOR = Monoid(xor_p, lambda dtype: 0, BOOL_OR_INT)
