"""The names that rules written for JAX use of `jax._src.interpreters.mlir` and of the lowerings in `jax._src.lax`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.extend.core import ShapedArray
from primax.extend.interpreters import mlir

__all__ = ["broadcast_in_dim", "broadcasting_select_hlo", "compare_hlo", "full_like_aval", "nan_like_hlo"]


def compare_hlo(x: Any, y: Any, direction: str, comparison_type: str | None = None) -> Any:
    """The elementwise comparison of two IR values of the same type, as an IR value of booleans.

    Args:
      x: an IR value.
      y: an IR value.
      direction: "EQ", "NE", "LT", "LE", "GT" or "GE".
      comparison_type: "FLOAT", "TOTALORDER", "SIGNED" or "UNSIGNED"; by default StableHLO decides by the type.
    """
    kind = None if comparison_type is None else mlir.hlo.ComparisonTypeAttr.get(comparison_type)
    return mlir.hlo.compare(x, y, mlir.hlo.ComparisonDirectionAttr.get(direction), compare_type=kind)


def full_like_aval(ctx: mlir.LoweringRuleContext, value: Any, aval: ShapedArray) -> Any:
    """An IR value of the type `aval`, filled with one number."""
    scalar = mlir.ir_constant(np.asarray(value, aval.dtype))
    return broadcast_in_dim(ctx, scalar, aval, broadcast_dimensions=())


def broadcast_in_dim(
    ctx: mlir.LoweringRuleContext, op: Any, aval_out: ShapedArray, *, broadcast_dimensions: Sequence[int]
) -> Any:
    """An IR value broadcast to the type `aval_out`; `broadcast_dimensions` are the positions of its axes in it."""
    axes = mlir.dense_int_array(broadcast_dimensions)
    return mlir.hlo.broadcast_in_dim(mlir.aval_to_ir_type(aval_out), op, axes)


def nan_like_hlo(ctx: mlir.LoweringRuleContext, aval: ShapedArray) -> Any:
    """An IR value of the type `aval`, filled with NaN, in both parts if it is complex."""
    nan = complex(np.nan, np.nan) if np.issubdtype(aval.dtype, np.complexfloating) else np.nan
    return full_like_aval(ctx, nan, aval)


def broadcasting_select_hlo(
    ctx: mlir.LoweringRuleContext,
    which: Any,
    which_aval: ShapedArray,
    x: Any,
    x_aval: ShapedArray,
    y: Any,
    y_aval: ShapedArray,
) -> Any:
    """The IR value that has the elements of `x` where `which` is true, and those of `y` elsewhere.

    The three IR values have the same rank, and are broadcast along axes of length 1.
    """
    shape = np.broadcast_shapes(which_aval.shape, x_aval.shape, y_aval.shape)

    def widened(value: Any, aval: ShapedArray) -> Any:
        if aval.shape == shape:
            return value
        return broadcast_in_dim(ctx, value, aval.update(shape=shape), broadcast_dimensions=range(len(shape)))

    return mlir.hlo.select(widened(which, which_aval), widened(x, x_aval), widened(y, y_aval))
