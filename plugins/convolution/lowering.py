"""The lowerings of a convolution."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend.core import ShapedArray, dtypes
from primax.extend.dimensions import is_symbolic
from primax.extend.elementwise import ir_full
from primax.extend.interpreters import mlir
from primax.extend.precision import precision_attribute

__all__ = ["conv_general_dilated_cpu_lowering", "conv_general_dilated_lowering"]


_real = {np.dtype(np.complex64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.float64)}


def conv_general_dilated_lowering(ctx: mlir.LoweringRuleContext, lhs: Any, rhs: Any, **params: Any) -> list[Any]:
    """One operation."""
    lhs, params = _padded(ctx, lhs, params)
    return [_convolution(ctx, lhs, rhs, ctx.avals_out[0], _attributes(**params))]


def conv_general_dilated_cpu_lowering(ctx: mlir.LoweringRuleContext, lhs: Any, rhs: Any, **params: Any) -> list[Any]:
    """One operation, or three for complex numbers: CPUs have fast convolutions only for real numbers."""
    aval = ctx.avals_out[0]
    lhs, params = _padded(ctx, lhs, params)
    attributes = _attributes(**params)
    if not dtypes.is_complex(ctx.avals_in[0].dtype):
        return [_convolution(ctx, lhs, rhs, aval, attributes)]
    hlo = mlir.hlo
    real = ShapedArray(aval.shape, _real[aval.dtype])
    a, b, c, d = hlo.real(lhs), hlo.imag(lhs), hlo.real(rhs), hlo.imag(rhs)
    # Gauss: (a + ib)(c + id) = (k - b(c + d)) + i(k + a(d - c)) with k = (a + b)c.
    both = _convolution(ctx, hlo.add(a, b), c, real, attributes)
    less = _convolution(ctx, b, hlo.add(c, d), real, attributes)
    more = _convolution(ctx, a, hlo.subtract(d, c), real, attributes)
    return [hlo.complex(hlo.subtract(both, less), hlo.add(both, more))]


def _padded(ctx: mlir.LoweringRuleContext, lhs: Any, params: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The image and the parameters; if the padding is symbolic, the image is dilated and padded before."""
    if not is_symbolic([size for pair in params["padding"] for size in pair]):
        return lhs, params
    config: list[tuple[Any, Any, Any]] = [(0, 0, 0)] * len(ctx.avals_in[0].shape)
    spatial = params["dimension_numbers"][0][2:]
    for axis, (low, high), step in zip(spatial, params["padding"], params["lhs_dilation"], strict=True):
        config[axis] = (low, high, step - 1)
    none = {"padding": ((0, 0),) * len(spatial), "lhs_dilation": (1,) * len(spatial)}
    zero = ir_full(0, ShapedArray((), ctx.avals_in[0].dtype))
    return mlir.padded(ctx, lhs, zero, ctx.avals_in[0], config), params | none


def _convolution(
    ctx: mlir.LoweringRuleContext, lhs: Any, rhs: Any, aval: ShapedArray, attributes: Any
) -> mlir.ir.Value:
    result = mlir.cached_ir_type(ctx.module_context.shared, aval)
    return mlir.ir.Operation.create("stablehlo.convolution", [result], [lhs, rhs], attributes).result


def _attributes(
    *,
    window_strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    lhs_dilation: tuple[int, ...],
    rhs_dilation: tuple[int, ...],
    dimension_numbers: Any,
    feature_group_count: int,
    batch_group_count: int,
    precision: Any,
    preferred_element_type: Any,
) -> dict[str, Any]:
    array = mlir.ir.DenseI64ArrayAttr.get
    (batch, features, *spatial), (out_features, in_features, *window), (out_batch, outs, *places) = dimension_numbers
    return {
        "dimension_numbers": mlir.hlo.ConvDimensionNumbers.get(
            batch, features, spatial, in_features, out_features, window, out_batch, outs, places
        ),
        "window_strides": array(window_strides),
        "padding": mlir.dense_int_elements(np.reshape(padding, (-1, 2))),
        "lhs_dilation": array(lhs_dilation),
        "rhs_dilation": array(rhs_dilation),
        "feature_group_count": mlir.i64_attr(feature_group_count),
        "batch_group_count": mlir.i64_attr(batch_group_count),
        "precision_config": precision_attribute(precision),
    }
