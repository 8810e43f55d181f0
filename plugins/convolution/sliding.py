"""Convolutions of arrays without batch and features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primax.extend.core import Array, get_aval
from primax.plugins.convolution.dimension_numbers import conv_dimension_numbers
from primax.plugins.convolution.primitive import conv_general_dilated_p
from primax.plugins.structural import reshape, reshape_p

MODES = ("full", "same", "valid")


def mode_padding(mode: str, window: int) -> tuple[int, int]:
    """The padding before and after an axis along which a window slides, for a result whose length `mode` defines.

    Args:
      mode: 'full' for all positions where the window touches the axis; 'same' for those in their middle, as many as the
        length of the axis; 'valid' for those where the window is inside the axis.
      window: the length of the window.
    """
    if mode == "full":
        return window - 1, window - 1
    return (window // 2, window - window // 2 - 1) if mode == "same" else (0, 0)


def slide(
    x: Any, kernel: Any, padding: Sequence[tuple[int, int]], precision: Any, preferred_element_type: Any
) -> Array:
    """The sums of products of an array and a kernel of the same rank and dtype, for each position of the kernel inside.

    Args:
      x: the array.
      kernel: the kernel, which is not reversed.
      padding: the numbers of zeros before and after each axis of `x`.
      precision: in the form of the parameters of primitives.
      preferred_element_type: see `conv_general_dilated`.
    """
    shape, window = get_aval(x).shape, get_aval(kernel).shape
    ones = (1,) * len(shape)
    out = conv_general_dilated_p.bind(
        reshape(x, (1, 1, *shape)),
        reshape(kernel, (1, 1, *window)),
        window_strides=ones,
        padding=tuple(padding),
        lhs_dilation=ones,
        rhs_dilation=ones,
        dimension_numbers=conv_dimension_numbers((1, 1, *shape), (1, 1, *window), None),
        feature_group_count=1,
        batch_group_count=1,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )
    return reshape_p.bind(out, new_sizes=get_aval(out).shape[2:], dimensions=None)
