"""The shapes of the results of convolutions, from shapes alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.extend.core import ShapedArray
from primax.extend.provisional.arguments import canonical_shape, integers
from primax.extend.provisional.padding import explicit_padding, named_padding, transposed_padding
from primax.plugins.convolution.dimension_numbers import ConvGeneralDilatedDimensionNumbers, conv_dimension_numbers
from primax.plugins.convolution.primitive import check_steps, conv_general_dilated_abstract_eval

_FLOAT = np.dtype(np.float32)


def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: str | Sequence[Sequence[int]],
    batch_group_count: int = 1,
) -> tuple[int, ...]:
    """The shape of the result of `conv`.

    Args:
      lhs_shape: the shape of the image.
      rhs_shape: the shape of the kernel.
      strides: see `conv_general_dilated`.
      pads: the padding.
      batch_group_count: see `conv_general_dilated`.

    >>> import primax as px
    >>> px.lax.conv_shape_tuple((1, 2, 8, 8), (4, 2, 3, 3), (2, 2), "SAME")
    (1, 4, 4, 4)
    """
    return _shape(lhs_shape, rhs_shape, strides, pads, None, batch_groups=batch_group_count)


def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[Sequence[int]],
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> tuple[int, ...]:
    """The shape of the result of `conv_general_dilated` without dilation and groups; see there.

    Examples:
      >>> from primax import lax
      >>> names = ("NCHW", "OIHW", "NCHW")
      >>> lax.conv_general_shape_tuple((1, 3, 8, 8), (16, 3, 3, 3), (2, 2), "SAME", names)
      (1, 16, 4, 4)
    """
    return _shape(lhs_shape, rhs_shape, window_strides, padding, dimension_numbers)


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[Sequence[int]],
    dimension_numbers: Any,
) -> tuple[int, ...]:
    """The shape of the result of `conv_transpose` without dilation of the kernel; see there.

    Examples:
      >>> from primax import lax
      >>> names = ("NCHW", "OIHW", "NCHW")
      >>> lax.conv_transpose_shape_tuple((1, 3, 4, 4), (16, 3, 3, 3), (2, 2), "SAME", names)
      (1, 16, 8, 8)
    """
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    steps = integers(window_strides, "conv_transpose_shape_tuple", "window_strides")
    check_steps("conv_transpose_shape_tuple", len(lhs_shape) - 2, window_strides=steps)
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise ValueError(f"conv_transpose_shape_tuple: padding must be 'SAME', 'VALID' or pairs, got {padding!r}")
        full = padding.upper() == "VALID"
        window = [rhs_shape[d] for d in numbers.rhs_spec[2:]]
        padding = [transposed_padding(size, step, full) for size, step in zip(window, steps, strict=True)]
    return _shape(lhs_shape, rhs_shape, (1,) * len(steps), padding, numbers, steps)


def _shape(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    padding: Any,
    dimension_numbers: Any,
    lhs_dilation: tuple[int, ...] | None = None,
    batch_groups: int = 1,
) -> tuple[int, ...]:
    lhs_shape = canonical_shape(lhs_shape, "conv_general_dilated", "lhs_shape")
    rhs_shape = canonical_shape(rhs_shape, "conv_general_dilated", "rhs_shape")
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    ones = (1,) * (len(lhs_shape) - 2)
    steps = integers(strides, "conv_general_dilated", "window_strides")
    if isinstance(padding, str):
        check_steps("conv_general_dilated", len(ones), window_strides=steps)
        image = [lhs_shape[d] for d in numbers.lhs_spec[2:]]
        window = [rhs_shape[d] for d in numbers.rhs_spec[2:]]
        padding = named_padding("conv_general_dilated", image, window, steps, padding)
    return conv_general_dilated_abstract_eval(
        ShapedArray(lhs_shape, _FLOAT),
        ShapedArray(rhs_shape, _FLOAT),
        window_strides=steps,
        padding=explicit_padding(padding, "conv_general_dilated"),
        lhs_dilation=ones if lhs_dilation is None else lhs_dilation,
        rhs_dilation=ones,
        dimension_numbers=numbers,
        feature_group_count=1,
        batch_group_count=batch_groups,
        precision=None,
        preferred_element_type=None,
    ).shape
