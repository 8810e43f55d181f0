"""Convolutions with fewer or other options than the general one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import integers
from primax.extend.provisional.padding import dilated, explicit_padding, transposed_padding
from primax.extend.provisional.precision import PrecisionLike
from primax.extend.provisional.typing import ArrayLike, DTypeLike
from primax.plugins.convolution.dimension_numbers import (
    ConvDimensionNumbers,
    ConvGeneralDilatedDimensionNumbers,
    conv_dimension_numbers,
)
from primax.plugins.convolution.primitive import check_steps, conv_general_dilated, shape_of
from primax.plugins.dot import dot_general
from primax.plugins.structural import broadcast_in_dim_p, reshape_p, rev, transpose


def conv(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str | Sequence[Sequence[int]],
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """A convolution of an image of shape (N, C, spatial...) with a kernel of shape (O, C, spatial...).

    Args:
      lhs: the image.
      rhs: the kernel.
      window_strides: see `conv_general_dilated`.
      padding: see `conv_general_dilated`.
      precision: see `conv_general_dilated`.
      preferred_element_type: see `conv_general_dilated`.

    Raises:
      TypeError, ValueError: as for `conv_general_dilated`.

    >>> import primax as px, numpy as np
    >>> px.lax.conv(np.ones((1, 1, 2, 3)), np.ones((1, 1, 1, 2)), (1, 1), "VALID")
    Array([[[[2., 2.],
             [2., 2.]]]], dtype=float32)
    """
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, precision=precision, preferred_element_type=preferred_element_type
    )


def conv_with_general_padding(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str | Sequence[Sequence[int]],
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Like `conv`, with dilation of the image and of the kernel; see `conv_general_dilated`.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> image, kernel = np.ones((1, 1, 5), np.float32), np.ones((1, 1, 2), np.float32)
      >>> lax.conv_with_general_padding(image, kernel, (1,), ((0, 0),), None, (3,))
      Array([[[2., 2.]]], dtype=float32)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_transpose(
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: Sequence[int],
    padding: str | Sequence[Sequence[int]],
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    transpose_kernel: bool = False,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    use_consistent_padding: bool = False,
) -> Array:
    """A transposed convolution, which enlarges an image by inserting zeros between its elements.

    With `transpose_kernel` and a string for `padding` this is the derivative of a convolution with the same kernel,
    strides and padding, with respect to its image.

    Args:
      lhs: the image.
      rhs: the kernel.
      strides: for each spatial dimension the step between elements of the image.
      padding: 'SAME' for a result of `size * stride` elements, 'VALID' for all elements that the kernel touches, or
        explicit pairs, the padding before and after the dilated image.
      rhs_dilation: see `conv_general_dilated`.
      dimension_numbers: see `conv_dimension_numbers`; None means features last, and for the kernel input features
        before output features: ("NHWC", "HWIO", "NHWC") in two dimensions.
      transpose_kernel: whether the kernel is reversed in its spatial dimensions, and its input and output features
        exchanged.
      precision: see `conv_general_dilated`.
      preferred_element_type: see `conv_general_dilated`.
      use_consistent_padding: whether explicit pairs are the padding of the convolution that this one transposes;
        larger ones then make the result smaller.

    Raises:
      TypeError, ValueError: as for `conv_general_dilated`.

    >>> import primax as px, numpy as np
    >>> px.lax.conv_transpose(np.ones((1, 2, 1)), np.ones((3, 1, 1)), (2,), "VALID").ravel()
    Array([1., 1., 2., 1., 1.], dtype=float32)
    """
    lhs_shape, rhs_shape = shape_of(lhs), shape_of(rhs)
    rank = len(lhs_shape)
    if dimension_numbers is None:
        spatial = tuple(range(1, rank - 1))
        image = (0, rank - 1, *spatial)
        dimension_numbers = ConvDimensionNumbers(image, (rank - 1, rank - 2, *range(rank - 2)), image)
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    kernel = tuple(numbers.rhs_spec)
    steps = integers(strides, "conv_transpose", "strides")
    holes = (1,) * (rank - 2) if rhs_dilation is None else integers(rhs_dilation, "conv_transpose", "rhs_dilation")
    check_steps("conv_transpose", rank - 2, strides=steps, rhs_dilation=holes)
    window = [dilated(rhs_shape[d], step) for d, step in zip(kernel[2:], holes, strict=True)]
    if isinstance(padding, str) and padding.upper() in ("SAME", "VALID"):
        full = padding.upper() == "VALID"
        padding = [transposed_padding(size, step, full) for size, step in zip(window, steps, strict=True)]
    elif use_consistent_padding:
        padding = explicit_padding(padding, "conv_transpose")
        if len(padding) != rank - 2:
            raise ValueError(
                "conv_transpose: padding must have one pair for each spatial dimension, "
                f"got {len(padding)} in {padding} for {rank - 2}"
            )
        padding = [(size - 1 - low, size - 1 - high) for size, (low, high) in zip(window, padding, strict=True)]
    if transpose_kernel:
        rhs = rev(rhs, kernel[2:])
        kernel = (kernel[1], kernel[0], *kernel[2:])
    return conv_general_dilated(
        lhs,
        rhs,
        (1,) * (rank - 2),
        padding,
        steps,
        holes,
        ConvDimensionNumbers(numbers.lhs_spec, kernel, numbers.out_spec),
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_patches(
    lhs: ArrayLike,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[Sequence[int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The patches of an image that a kernel would cover, each flattened along the features.

    Args:
      lhs: the image.
      filter_shape: the lengths of a patch in the spatial dimensions.
      window_strides: see `conv_general_dilated`.
      padding: see `conv_general_dilated`.
      lhs_dilation: see `conv_general_dilated`.
      rhs_dilation: see `conv_general_dilated`.
      dimension_numbers: see `conv_dimension_numbers`; for the kernel only the order of spatial letters matters.
      precision: see `conv_general_dilated`.
      preferred_element_type: see `conv_general_dilated`.

    Returns:
      An array whose features are all elements of a patch for the first feature of the image, then for the second, ...

    Raises:
      TypeError, ValueError: as for `conv_general_dilated`.

    >>> import primax as px, numpy as np
    >>> px.lax.conv_general_dilated_patches(np.arange(4.0).reshape(1, 1, 4), (2,), (1,), "VALID")
    Array([[[0., 1., 2.],
            [1., 2., 3.]]], dtype=float32)
    """
    window = integers(filter_shape, "conv_general_dilated_patches", "filter_shape")
    shape = shape_of(lhs)
    if len(window) != len(shape) - 2:
        raise ValueError(
            "conv_general_dilated_patches: filter_shape must have one entry for each spatial dimension of lhs, "
            f"got {len(window)} in {window} for {get_aval(lhs).str_short()}"
        )
    count = math.prod(window)
    lhs_spec, _, out_spec = conv_dimension_numbers(shape, (1, 1, *window), dimension_numbers)
    features = shape[lhs_spec[1]]
    dtype = get_aval(lhs).dtype
    # Each output feature is one element of a patch.
    try:
        same = np.eye(count, dtype=dtype)
    except (MemoryError, ValueError):
        raise ValueError(
            f"conv_general_dilated_patches: filter_shape must be small enough for memory, got {window}"
        ) from None
    kernel = broadcast_in_dim_p.bind(same, shape=(features, count, count), broadcast_dimensions=(1, 2))
    kernel = reshape_p.bind(kernel, new_sizes=(features * count, min(features, 1), *window), dimensions=None)
    return conv_general_dilated(
        lhs,
        kernel,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        ConvDimensionNumbers(lhs_spec, tuple(range(len(shape))), out_spec),
        max(features, 1),
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_local(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str | Sequence[Sequence[int]],
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
) -> Array:
    """A convolution with a separate kernel at each position.

    Args:
      lhs: the image.
      rhs: the kernels. The axis of input features has all elements of a kernel for the first feature of the image, then
        for the second, ...; the spatial dimensions are those of the result.
      window_strides: see `conv_general_dilated`.
      padding: see `conv_general_dilated`.
      filter_shape: the lengths of a kernel in the spatial dimensions.
      lhs_dilation: see `conv_general_dilated`.
      rhs_dilation: see `conv_general_dilated`.
      dimension_numbers: see `conv_dimension_numbers`.
      precision: see `conv_general_dilated`.

    Raises:
      TypeError, ValueError: as for `conv_general_dilated`.

    >>> import primax as px, numpy as np
    >>> kernels = np.arange(6.0).reshape(1, 2, 3)
    >>> px.lax.conv_general_dilated_local(np.ones((1, 1, 4)), kernels, (1,), "VALID", (2,))
    Array([[[3., 5., 7.]]], dtype=float32)
    """
    lhs_spec, rhs_spec, out_spec = conv_dimension_numbers(shape_of(lhs), shape_of(rhs), dimension_numbers)
    rank = len(lhs_spec)
    places = tuple(range(rank))
    patches = conv_general_dilated_patches(
        lhs,
        filter_shape,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        ConvDimensionNumbers(lhs_spec, places, places),
        precision,
    )
    one, other = shape_of(patches)[1:], [shape_of(rhs)[d] for d in rhs_spec[1:]]
    if list(one) != other:
        raise ValueError(
            "conv_general_dilated_local: rhs must have an input feature for each element of a part of lhs, and the "
            f"spatial dimensions of the result, got sizes {tuple(other)} of {get_aval(rhs).str_short()} for {one}"
        )
    contracted, spatial = ((1,), (rhs_spec[1],)), (places[2:], tuple(rhs_spec[2:]))
    product = dot_general(patches, rhs, (contracted, spatial), precision)
    # The product has the spatial dimensions first, then the batch, then the features.
    order = [0] * rank
    for position, dim in enumerate(out_spec):
        order[dim] = rank - 2 + position if position < 2 else position - 2
    return transpose(product, order)
