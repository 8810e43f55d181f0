"""Functions that make and read quantized arrays."""

from __future__ import annotations

from typing import Any

import primax as px
import primax.numpy as pnp
from primax_quantized.array import Quantized, quantized_p

__all__ = ["quantize", "take"]


def quantize(x: Any, block: int = 32) -> Quantized:
    """The nearest quantized array; each block of the last axis is scaled so that its largest number is 127.

    Args:
      x: a floating array with one axis or more.
      block: the number of elements that share a scale. It must divide the last axis, or be longer: then the axis is
        one block.

    Raises:
      TypeError: x is not floating.
      ValueError: x has no axes, or the block does not fit.

    >>> quantize(pnp.ones((4, 64)))
    Quantized(int8[4,64], block=32)
    """
    x = pnp.asarray(x)
    if not pnp.issubdtype(x.dtype, pnp.floating):
        raise TypeError(f"quantize: x must be floating, got {x.dtype}")
    if x.ndim == 0 or x.shape[-1] == 0:
        raise ValueError(f"quantize: x must have a last axis with elements, got shape {x.shape}")
    block = min(block, x.shape[-1])
    if block < 1 or x.shape[-1] % block:
        raise ValueError(f"quantize: block must divide the last axis, got {block} for shape {x.shape}")
    blocks = x.reshape(*x.shape[:-1], -1, block)
    scales = pnp.max(pnp.abs(blocks), -1) / 127
    ints = pnp.round(px.lax.stop_gradient(blocks / pnp.where(scales == 0, 1, scales)[..., None]))
    return quantized_p.bind(ints.astype(pnp.int8).reshape(x.shape), scales)


def take(table: Quantized, rows: Any) -> Any:
    """Rows of a table, dequantized: an embedding lookup, which reads no other rows.

    Args:
      table: a quantized matrix, with a row for each symbol.
      rows: an integer array.

    Returns:
      A floating array of shape [*rows.shape, table.shape[1]].

    >>> take(quantize(pnp.eye(3)), pnp.array([2, 0]))
    Array([[0.99999994, 0.        , 0.        ],
           [1.        , 0.        , 0.        ]], dtype=float32)
    """
    if len(table.shape) != 2:
        raise ValueError(f"take: table must be a matrix, got {table}")
    return quantized_p.bind(table.ints[rows], table.scales[rows]).dequantize()
