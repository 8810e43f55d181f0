"""Products of block-quantized matrices: low-precision elements in blocks that share a scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np

from primax import lax
from primax import numpy as pnp
from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import among, numpy_dtype, rename, sequence
from primax.extend.provisional.typing import ArrayLike, DotDimensionNumbers, DTypeLike
from primax.numpy.promotion import promote
from primax.plugins.custom_derivatives import custom_vjp

__all__ = ["BlockScaleConfig", "get_scaled_dot_general_config", "scaled_dot_general", "scaled_matmul"]


@dataclass(frozen=True, eq=False)
class BlockScaleConfig:
    """The parameters of block quantization.

    Attributes:
      mode: "mxfp8", "mxfp4" or "nvfp4".
      block_size: the number of elements that share a scale.
      data_type: the dtype of the numbers.
      scale_type: the dtype of the scales.
      global_scale: a factor of all scales, of shape (1,); None except for "nvfp4".
      infer_only: whether the product has no derivative.
    """

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any
    global_scale: Any
    infer_only: bool


_MODES = {
    "mxfp8": (32, pnp.float8_e4m3fn, pnp.float8_e8m0fnu),
    "mxfp4": (32, pnp.float4_e2m1fn, pnp.float8_e8m0fnu),
    "nvfp4": (16, pnp.float4_e2m1fn, pnp.float8_e4m3fn),
}


def get_scaled_dot_general_config(mode: str, global_scale: ArrayLike | None = None) -> BlockScaleConfig:
    """A configuration of block quantization for `scaled_dot_general`.

    Args:
      mode: "mxfp8", "mxfp4" (OCP Microscaling Formats, 2023) or "nvfp4".
      global_scale: for "nvfp4", an array of shape (1,) by which all scales are multiplied; 1 if None.

    Raises:
      ValueError: `mode` is unknown, or takes no global scale.

    >>> import primax as px
    >>> px.nn.get_scaled_dot_general_config("mxfp8").block_size
    32
    """
    if not among(mode, _MODES):
        raise ValueError(
            f"get_scaled_dot_general_config: mode must be one of {', '.join(map(repr, _MODES))}, got {mode!r}"
        )
    if mode != "nvfp4" and global_scale is not None:
        raise ValueError(f"get_scaled_dot_general_config: global_scale must be None for {mode}, got {global_scale!r}")
    block, data, scale = _MODES[mode]
    if mode == "nvfp4":
        global_scale = pnp.ones(1, np.float32) if global_scale is None else pnp.asarray(global_scale)
    return BlockScaleConfig(mode, block, data, scale, global_scale, False)


def _dequantized(x: Any, scales: Any, dtype: Any) -> Array:
    block = x.shape[-1] // scales.shape[-1] if scales.shape[-1] else 1
    return x.astype(dtype) * pnp.repeat(scales.astype(dtype), block, axis=-1)


def scaled_matmul(
    lhs: ArrayLike,
    rhs: ArrayLike,
    lhs_scales: ArrayLike,
    rhs_scales: ArrayLike,
    preferred_element_type: DTypeLike = np.float32,
) -> Array:
    """Products of matrices whose elements are first multiplied by the scale of their block, in float32.

    Args:
      lhs: of shape (b, m, k).
      rhs: of shape (b, n, k).
      lhs_scales: of shape (b, m, s), where s divides k: a block has k / s elements.
      rhs_scales: of shape (b, n, s).
      preferred_element_type: the dtype of the result.

    Returns:
      An array of shape (b, m, n).

    Raises:
      TypeError: an argument is not an array.
      ValueError: the ranks or shapes do not fit.

    >>> import primax as px
    >>> x, half = px.numpy.array([[[1.0, 2.0, 3.0]]]), px.numpy.array([[[0.5]]])
    >>> px.nn.scaled_matmul(x, x, half, half).tolist()
    [[[3.5]]]
    """
    names = ("lhs", "rhs", "lhs_scales", "rhs_scales")
    arrays = [pnp.asarray(promote("scaled_matmul", x)[0]) for x in (lhs, rhs, lhs_scales, rhs_scales)]
    for name, x in zip(names, arrays, strict=True):
        if x.ndim != 3:
            raise ValueError(f"scaled_matmul: {name} must be of rank 3, got {get_aval(x).str_short()}")
    lhs, rhs, lhs_scales, rhs_scales = arrays
    if lhs.shape[0] != rhs.shape[0] or lhs.shape[2] != rhs.shape[2]:
        raise ValueError(
            f"scaled_matmul: rhs must have the batch and the contracted axis of lhs, got {lhs.shape} and {rhs.shape}"
        )
    for name, x, scales in (("lhs", lhs, lhs_scales), ("rhs", rhs, rhs_scales)):
        if scales.shape[:2] != x.shape[:2] or scales.shape[2] != lhs_scales.shape[2]:
            raise ValueError(
                f"scaled_matmul: {name}_scales must have the shape {x.shape[:2]} and as many blocks as the other, got "
                f"{scales.shape}"
            )
        if not scales.shape[2] or x.shape[2] % scales.shape[2]:
            raise ValueError(
                f"scaled_matmul: {name}_scales must have a number of blocks that divides {x.shape[2]}, "
                f"got {scales.shape[2]}"
            )
    a, b = _dequantized(lhs, lhs_scales, np.float32), _dequantized(rhs, rhs_scales, np.float32)
    product = lax.dot_general(a, b, (((2,), (2,)), ((0,), (0,))), preferred_element_type=np.float32)
    return product.astype(preferred_element_type)


def _quantized(x: Any, config: BlockScaleConfig) -> tuple[Any, Any]:
    """Quantized numbers and their scales, along the last axis."""
    block, most = config.block_size, float(dtypes.finfo(config.data_type).max)
    blocks = x.astype(np.float32).reshape(*x.shape[:-1], -1, block)
    largest = pnp.max(pnp.abs(blocks), axis=-1)
    scale = largest / most
    if config.mode == "nvfp4":
        scales = (scale / config.global_scale).astype(config.scale_type)
        factor = scales.astype(np.float32) * config.global_scale
    else:
        # The least normal power of two with which nothing overflows; logarithms of powers of two are not exact.
        mantissa, exponent = pnp.frexp(pnp.where(largest > 0, scale, 1))
        exponent = pnp.maximum(pnp.where(mantissa == 0.5, exponent - 1, exponent), dtypes.finfo(np.float32).minexp)
        scales = pnp.ldexp(pnp.ones_like(scale), exponent).astype(config.scale_type)
        factor = scales.astype(np.float32)
    narrow = blocks / pnp.where(factor == 0, 1, factor)[..., None]
    narrow = pnp.clip(narrow, -most, most).astype(config.data_type)
    return narrow.reshape(x.shape), scales


@partial(custom_vjp, nondiff_argnums=(2, 3))
def _scaled(lhs: Any, rhs: Any, configs: tuple[BlockScaleConfig, ...], dtype: Any) -> Array:
    (a, a_scales), (b, b_scales) = _quantized(lhs, configs[0]), _quantized(rhs, configs[1])
    out = scaled_matmul(a, b, a_scales, b_scales, np.float32)
    for config in configs[:2]:
        if config.global_scale is not None:
            out = out * config.global_scale
    return out.astype(dtype)


def _scaled_fwd(lhs: Any, rhs: Any, configs: Any, dtype: Any) -> tuple[Any, Any]:
    return _scaled(lhs, rhs, configs, dtype), (lhs, rhs)


def _scaled_bwd(configs: Any, dtype: Any, residuals: Any, ct: Any) -> tuple[Any, Any]:
    """The derivative of the unquantized product: rounding has derivative 1."""
    lhs, rhs = residuals
    ct = ct.astype(np.float32)
    by_lhs = lax.dot_general(ct, rhs.astype(np.float32), (((2,), (1,)), ((0,), (0,))))
    by_rhs = lax.dot_general(ct, lhs.astype(np.float32), (((1,), (1,)), ((0,), (0,))))
    return by_lhs.astype(lhs.dtype), by_rhs.astype(rhs.dtype)


_scaled.defvjp(_scaled_fwd, _scaled_bwd)
rename(_scaled.fun, "scaled_dot_general")


def _arranged(x: Any, contracted: Any, batch: Any) -> tuple[Any, tuple[int, ...], tuple[int, ...]]:
    """An array of shape (batch, others, contracted), and the shapes of the batch axes and of the others."""
    others = [i for i in range(x.ndim) if i not in (*contracted, *batch)]
    shapes = [tuple(x.shape[i] for i in axes) for axes in (batch, others, contracted)]
    flat = pnp.transpose(x, (*batch, *others, *contracted)).reshape([prod(shape) for shape in shapes])
    return flat, shapes[0], shapes[1]


def scaled_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: DotDimensionNumbers,
    preferred_element_type: DTypeLike = np.float32,
    configs: Sequence[BlockScaleConfig] | None = None,
    implementation: None = None,
) -> Array:
    """`lax.dot_general` of arrays that are quantized first.

    Args:
      lhs: an array.
      rhs: an array.
      dimension_numbers: `((lhs_contracted, rhs_contracted), (lhs_batch, rhs_batch))`.
      preferred_element_type: the dtype of the result.
      configs: the quantization of `lhs`, `rhs` and cotangents, three results of `get_scaled_dot_general_config`; None
        for no quantization. primax does not quantize cotangents.
      implementation: None.

    Returns:
      An array with the batch axes, the other axes of `lhs`, and the other axes of `rhs`. Its derivatives are those of
      the unquantized product.

    Raises:
      TypeError: an argument is not an array, or a config is not a `BlockScaleConfig`.
      ValueError: `configs` does not have three entries, or the contracted axes are not a multiple of the block size.

    Examples:
      >>> import primax.numpy as pnp
      >>> from primax.nn import get_scaled_dot_general_config, scaled_dot_general
      >>> configs = [get_scaled_dot_general_config("mxfp8")] * 3
      >>> numbers = (((2,), (2,)), ((0,), (0,)))
      >>> scaled_dot_general(pnp.ones((1, 2, 32)), pnp.ones((1, 3, 32)), numbers, configs=configs)
      Array([[[32., 32., 32.],
              [32., 32., 32.]]], dtype=float32)
    """
    function = "scaled_dot_general"
    lhs, rhs = (pnp.asarray(promote(function, x)[0]) for x in (lhs, rhs))
    if configs is None:
        return lax.dot_general(lhs, rhs, dimension_numbers, preferred_element_type=preferred_element_type)
    configs = tuple(sequence(function, "configs", configs))
    for config in configs:
        if not isinstance(config, BlockScaleConfig):
            raise TypeError(f"{function}: configs must be made by get_scaled_dot_general_config, got {config!r}")
    if len(configs) not in (2, 3):
        raise ValueError(f"{function}: configs must be three, for lhs, rhs and cotangents, got {len(configs)}")
    contracted, batch = dimension_numbers
    a, batch_shape, a_shape = _arranged(lhs, tuple(contracted[0]), tuple(batch[0]))
    b, _, b_shape = _arranged(rhs, tuple(contracted[1]), tuple(batch[1]))
    for config in configs[:2]:
        if a.shape[-1] % config.block_size or a.shape[-1] != b.shape[-1] or not a.shape[-1]:
            raise ValueError(
                f"{function}: the contracted axes must have a multiple of {config.block_size} elements for "
                f"{config.mode}, got {a.shape[-1]} and {b.shape[-1]}"
            )
    out: Array = _scaled(a, b, configs, numpy_dtype(function, "preferred_element_type", preferred_element_type))
    return out.reshape(*batch_shape, *a_shape, *b_shape)
