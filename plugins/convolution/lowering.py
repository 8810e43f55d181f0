"""The lowerings of a convolution."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import ShapedArray
from primax.extend.interpreters import mlir
from primax.extend.provisional.dimensions import is_symbolic
from primax.extend.provisional.elementwise import ir_full
from primax.extend.provisional.lowering import cached_ir_type, padded
from primax.extend.provisional.precision import precision_attribute
from primax.plugins.convolution.forms import faster_form
from primax.plugins.convolution.primitive import Options

_real = {np.dtype(np.complex64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.float64)}


def conv_general_dilated_lowering(ctx: mlir.LoweringRuleContext, lhs: Any, rhs: Any, **params: Any) -> list[Any]:
    """One operation."""
    lhs, params = _padded(ctx, lhs, params)
    return [_convolution(ctx, lhs, rhs, ctx.avals_out[0], _attributes(Options(**params)))]


def conv_general_dilated_cpu_lowering(ctx: mlir.LoweringRuleContext, lhs: Any, rhs: Any, **params: Any) -> list[Any]:
    """One operation, or three for complex numbers: CPUs have fast convolutions only for real numbers.

    Forms of convolutions for which XLA has slow loops become other programs.
    """
    aval = ctx.avals_out[0]
    image, kernel = ctx.avals_in
    form = faster_form(image, kernel, aval, params)
    if form is not None:
        return mlir.lower_fun(form, multiple_results=False)(ctx, lhs, rhs)
    lhs, params = _cropped(ctx, *_padded(ctx, lhs, params))
    attributes = _attributes(Options(**params))
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
    config = [
        (low, high, step - 1) for (low, high), step in zip(params["padding"], params["lhs_dilation"], strict=True)
    ]
    none = {"padding": ((0, 0),) * len(config), "lhs_dilation": (1,) * len(config)}
    return _with_padding(ctx, lhs, params, config), params | none


def _cropped(ctx: mlir.LoweringRuleContext, lhs: Any, params: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The image and the parameters; the image is cropped before where padding at its beginning is negative.

    On CPUs XLA reads other memory than that of the image for such padding.
    """
    lows = [min(low, 0) for low, _ in params["padding"]]
    sizes = [ctx.avals_in[0].shape[axis] for axis in params["dimension_numbers"][0][2:]]
    left = [size + low for size, low in zip(sizes, lows, strict=True)]
    if not any(lows) or min(left) <= 0 or any(step != 1 for step in params["lhs_dilation"]):
        return lhs, params
    rest = tuple([(max(low, 0), high) for low, high in params["padding"]])
    return _with_padding(ctx, lhs, params, [(low, 0, 0) for low in lows]), params | {"padding": rest}


def _with_padding(ctx: mlir.LoweringRuleContext, lhs: Any, params: dict[str, Any], pads: Any) -> mlir.ir.Value:
    aval = ctx.avals_in[0]
    config: list[tuple[Any, Any, Any]] = [(0, 0, 0)] * len(aval.shape)
    for axis, pad in zip(params["dimension_numbers"][0][2:], pads, strict=True):
        config[axis] = pad
    return padded(ctx, lhs, ir_full(0, ShapedArray((), aval.dtype)), aval, config)


def _convolution(
    ctx: mlir.LoweringRuleContext, lhs: Any, rhs: Any, aval: ShapedArray, attributes: Any
) -> mlir.ir.Value:
    result = cached_ir_type(ctx.module_context.shared, aval)
    return mlir.ir.Operation.create("stablehlo.convolution", [result], [lhs, rhs], attributes).result


def _attributes(options: Options) -> dict[str, Any]:
    array = mlir.ir.DenseI64ArrayAttr.get
    numbers = options.dimension_numbers
    (batch, features, *spatial), (out_features, in_features, *window), (out_batch, outs, *places) = numbers
    return {
        "dimension_numbers": mlir.hlo.ConvDimensionNumbers.get(
            batch, features, spatial, in_features, out_features, window, out_batch, outs, places
        ),
        "window_strides": array(options.window_strides),
        "padding": mlir.dense_int_elements(np.reshape(options.padding, (-1, 2))),
        "lhs_dilation": array(options.lhs_dilation),
        "rhs_dilation": array(options.rhs_dilation),
        "feature_group_count": mlir.i64_attr(options.feature_group_count),
        "batch_group_count": mlir.i64_attr(options.batch_group_count),
        "precision_config": precision_attribute(options.precision),
    }
