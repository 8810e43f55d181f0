"""The accuracy of functions of one argument: the modes that a caller may choose, and their form in StableHLO."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from primax.extend.interpreters import mlir
from primax.extend.provisional.arguments import real_number
from primax.extend.provisional.elementwise import FLOATING

__all__ = ["AccuracyMode", "Tolerance", "accurate", "require_accuracy"]


class AccuracyMode(enum.Enum):
    """The implementation of a function: the most accurate, or the platform's default.

    Examples:
      >>> import primax as px
      >>> px.lax.sin(0.0, accuracy=px.lax.AccuracyMode.HIGHEST)
      Array(0., dtype=float32, weak_type=True)
      >>> px.make_jaxpr(lambda x: px.lax.sin(x, accuracy=px.lax.AccuracyMode.HIGHEST))(0.0).eqns[0].params
      {'accuracy': AccuracyMode.HIGHEST}
    """

    HIGHEST = 1
    DEFAULT = 2

    def __repr__(self) -> str:
        return f"AccuracyMode.{self.name}"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The tolerated error of a result; XLA chooses the fastest implementation within it.

    Attributes:
      atol: the absolute error.
      rtol: the error relative to the result.
      ulps: the error in units in the last place of the result.

    Raises:
      ValueError: one of them is negative, or all are 0.

    Examples:
      >>> import primax as px
      >>> px.lax.exp(0.0, accuracy=px.lax.Tolerance(atol=0.0, rtol=1e-3, ulps=2))
      Array(1., dtype=float32, weak_type=True)
    """

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0

    def __post_init__(self) -> None:
        bounds = tuple(real_number("Tolerance", name, getattr(self, name)) for name in ("atol", "rtol", "ulps"))
        if not all(0 <= x < math.inf for x in bounds) or not any(bounds):
            raise ValueError(f"Tolerance: atol, rtol and ulps must not be negative, nor all 0, got {bounds}")


def require_accuracy(function: str, accuracy: Any) -> Any:
    """The validated accuracy.

    Raises:
      TypeError: `accuracy` is neither a mode nor a tolerance.
    """
    if not isinstance(accuracy, AccuracyMode | Tolerance):
        raise TypeError(f"{function}: accuracy must be an AccuracyMode, a Tolerance or None, got {accuracy!r}")
    return accuracy


def _attribute(accuracy: AccuracyMode | Tolerance) -> Any:
    if isinstance(accuracy, Tolerance):
        atol, rtol, ulps = float(accuracy.atol), float(accuracy.rtol), int(accuracy.ulps)
        return mlir.hlo.ResultAccuracyAttr.get(atol, rtol, ulps, "TOLERANCE")
    return mlir.hlo.ResultAccuracyAttr.get(0.0, 0.0, 0, accuracy.name)


def accurate(operation: str) -> Callable[..., Any]:
    """The lowering rule of a StableHLO operation of one argument that takes an accuracy.

    Complex numbers are computed with XLA's default accuracy.
    """

    def lowering(ctx: mlir.LoweringRuleContext, x: Any, *, accuracy: Any = None) -> Any:
        asked = accuracy is not None and ctx.avals_in[0].dtype in FLOATING
        attributes = {"result_accuracy": _attribute(accuracy)} if asked else None
        return mlir.ir.Operation.create(operation, [x.type], [x], attributes).results

    lowering.__name__ = f"lower_to({operation})"
    return lowering
