"""The convolution of StableHLO: its options and its type."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from operator import index
from typing import Any, NamedTuple

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import Array, ShapedArray
from primax.extend.provisional.arguments import integers
from primax.extend.provisional.padding import dilated, explicit_padding, named_padding, result_size
from primax.extend.provisional.precision import PrecisionLike, canonicalize_precision
from primax.extend.provisional.sharding import with_out_sharding
from primax.extend.provisional.typing import ArrayLike, DTypeLike, ShardingLike
from primax.plugins.convolution.dimension_numbers import (
    ConvDimensionNumbers,
    ConvGeneralDilatedDimensionNumbers,
    conv_dimension_numbers,
)

conv_general_dilated_p = core.Primitive("conv_general_dilated")


def conv_general_dilated(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str | Sequence[Sequence[int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """A general convolution with strides, padding, dilation and groups.

    As usual in machine learning, the kernel is not reversed.

    Args:
      lhs: the image, an array with a batch dimension, a feature dimension, and any number of spatial dimensions.
      rhs: the kernel, an array of the same dtype with dimensions of output and input features, and as many spatial
        dimensions.
      window_strides: for each spatial dimension the step between places of the kernel.
      padding: 'SAME', 'SAME_LOWER', 'VALID' (see `padtype_to_pads`), or for each spatial dimension the numbers of zeros
        before and after the image; negative numbers crop it.
      lhs_dilation: for each spatial dimension the step between elements of the image, with zeros between them. With
        a step other than 1 the padding must be explicit.
      rhs_dilation: for each spatial dimension the step between the positions of the kernel's elements.
      dimension_numbers: the meaning of the dimensions; see `conv_dimension_numbers`.
      feature_group_count: the number of groups of features that are convolved, each with its own group of output
        features of the kernel. The kernel has as many input features as a group.
      batch_group_count: the number of groups of the batch that are convolved, each with its own group of output
        features.
      precision: None, 'default', 'high', 'highest', a `Precision`, or a pair of these, one for each operand. None
        means the option `default_matmul_precision`.
      preferred_element_type: the dtype to accumulate in and to return; by default that of the operands.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; by default as types
        determine.

    Returns:
      An array whose features are the output features of the kernel.

    Raises:
      TypeError: the ranks or dtypes of the operands differ, or an option is invalid.
      ValueError: numbers of features, groups or spatial dimensions do not match, or a number is too small.

    >>> import primax as px, numpy as np
    >>> image, kernel = np.ones((1, 200, 198, 3)), np.ones((3, 3, 3, 8))
    >>> px.lax.conv_general_dilated(
    ...     image, kernel, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    ... ).shape
    (1, 100, 99, 8)
    """
    lhs_shape, rhs_shape = shape_of(lhs), shape_of(rhs)
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    ones = (1,) * (len(lhs_shape) - 2)
    strides = integers(window_strides, "conv_general_dilated", "window_strides")
    lhs_steps = ones if lhs_dilation is None else integers(lhs_dilation, "conv_general_dilated", "lhs_dilation")
    rhs_steps = ones if rhs_dilation is None else integers(rhs_dilation, "conv_general_dilated", "rhs_dilation")
    if isinstance(padding, str):
        if lhs_steps != ones:
            raise ValueError(
                "conv_general_dilated: padding must be explicit if the image is dilated (or see conv_transpose), "
                f"got {padding!r} for lhs_dilation {lhs_steps}"
            )
        check_steps("conv_general_dilated", len(ones), window_strides=strides, rhs_dilation=rhs_steps)
        sizes = [lhs_shape[d] for d in numbers.lhs_spec[2:]]
        window = [dilated(rhs_shape[d], step) for d, step in zip(numbers.rhs_spec[2:], rhs_steps, strict=True)]
        pads = tuple(named_padding("conv_general_dilated", sizes, window, strides, padding))
    else:
        pads = explicit_padding(padding, "conv_general_dilated")
    if preferred_element_type is not None:
        preferred_element_type = dtypes.check_user_dtype(
            preferred_element_type, "preferred_element_type", "conv_general_dilated"
        )
    bind = functools.partial(
        conv_general_dilated_p.bind,
        window_strides=strides,
        padding=pads,
        lhs_dilation=lhs_steps,
        rhs_dilation=rhs_steps,
        dimension_numbers=numbers,
        feature_group_count=_count("feature_group_count", feature_group_count),
        batch_group_count=_count("batch_group_count", batch_group_count),
        precision=canonicalize_precision(precision, "conv_general_dilated"),
        preferred_element_type=preferred_element_type,
    )
    return with_out_sharding("conv_general_dilated", bind, (lhs, rhs), out_sharding)


def _count(name: str, value: Any) -> int:
    try:
        return index(value)
    except core.ConcretizationTypeError:
        raise
    except TypeError:
        raise TypeError(f"conv_general_dilated: {name} must be an integer, got {value!r}") from None


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of an array or a number."""
    return core.get_aval(x).shape


class Options(NamedTuple):
    """The parameters of a convolution; see `conv_general_dilated`."""

    window_strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    lhs_dilation: tuple[int, ...]
    rhs_dilation: tuple[int, ...]
    dimension_numbers: ConvDimensionNumbers
    feature_group_count: int
    batch_group_count: int
    precision: Any
    preferred_element_type: Any


def conv_general_dilated_abstract_eval(
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    window_strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    lhs_dilation: tuple[int, ...],
    rhs_dilation: tuple[int, ...],
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    precision: Any,
    preferred_element_type: Any,
) -> ShapedArray:
    """The type of a convolution."""
    lhs_spec, rhs_spec, out_spec = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    rank = len(lhs.shape)
    steps = {"window_strides": window_strides, "lhs_dilation": lhs_dilation, "rhs_dilation": rhs_dilation}
    check_steps("conv_general_dilated", rank - 2, **steps)
    if len(padding) != rank - 2:
        raise ValueError(
            "conv_general_dilated: padding must have one pair for each spatial dimension, "
            f"got {len(padding)} in {padding} for {rank - 2}"
        )
    batch, out_features = _check_channels(
        lhs,
        rhs,
        lhs.shape[lhs_spec[0]],
        lhs.shape[lhs_spec[1]],
        rhs.shape[rhs_spec[0]],
        rhs.shape[rhs_spec[1]],
        feature_group_count,
        batch_group_count,
    )
    out = [0] * rank
    out[out_spec[0]], out[out_spec[1]] = batch, out_features
    for n, (low, high) in enumerate(padding):
        size, window = lhs.shape[lhs_spec[2 + n]], rhs.shape[rhs_spec[2 + n]]
        if window < 1:
            raise ValueError(
                "conv_general_dilated: spatial dimensions of rhs must not be empty, "
                f"got {window} in dimension {rhs_spec[2 + n]} of {rhs.str_short()}"
            )
        length = dilated(size, lhs_dilation[n])
        if length + low + high < 0:
            raise ValueError(
                "conv_general_dilated: padding must not crop more than there is, "
                f"got {(low, high)} for length {length} in dimension {lhs_spec[2 + n]} of {lhs.str_short()}"
            )
        out[out_spec[2 + n]] = result_size(length + low + high, dilated(window, rhs_dilation[n]), window_strides[n])
    return ShapedArray(out, _result_dtype(lhs, rhs, preferred_element_type), lhs.weak_type and rhs.weak_type)


def check_steps(function: str, count: int, **options: tuple[int, ...]) -> None:
    """Raise ValueError unless each option has a positive number for each of `count` spatial dimensions."""
    for name, values in options.items():
        if len(values) != count:
            raise ValueError(
                f"{function}: {name} must have one entry for each spatial dimension, "
                f"got {len(values)} in {values} for {count}"
            )
        if any(value < 1 for value in values):
            raise ValueError(f"{function}: {name} must be positive, got {values}")


def _check_channels(
    lhs: ShapedArray,
    rhs: ShapedArray,
    batch: int,
    features: int,
    out_features: int,
    in_features: int,
    feature_groups: int,
    batch_groups: int,
) -> tuple[int, int]:
    """The batch size and the number of features of the result."""
    for name, groups, whole, what, aval in (
        ("feature_group_count", feature_groups, features, "features of lhs", lhs),
        ("feature_group_count", feature_groups, out_features, "output features of rhs", rhs),
        ("batch_group_count", batch_groups, batch, "batch of lhs", lhs),
        ("batch_group_count", batch_groups, out_features, "output features of rhs", rhs),
    ):
        if groups < 1:
            raise ValueError(f"conv_general_dilated: {name} must be positive, got {groups}")
        if whole % groups:
            raise ValueError(
                f"conv_general_dilated: {name} must divide the {what}, got {groups} for {whole} in {aval.str_short()}"
            )
    if feature_groups > 1 and batch_groups > 1:
        raise ValueError(
            "conv_general_dilated: feature_group_count or batch_group_count must be 1, "
            f"got {feature_groups} and {batch_groups}"
        )
    if in_features != features // feature_groups:
        raise ValueError(
            "conv_general_dilated: rhs must have as many input features as lhs has features in each of its "
            f"{feature_groups} groups, got {in_features} in {rhs.str_short()} for {features // feature_groups} "
            f"in {lhs.str_short()}"
        )
    return batch // batch_groups, out_features


def _result_dtype(lhs: ShapedArray, rhs: ShapedArray, preferred: Any) -> np.dtype[Any]:
    dtype = lhs.dtype
    if dtype != rhs.dtype:
        raise TypeError(f"conv_general_dilated: lhs and rhs must have the same dtype, got {dtype} and {rhs.dtype}")
    if not (dtypes.is_numeric(dtype) or dtypes.is_bool(dtype)):
        raise TypeError(f"conv_general_dilated: operands must be numbers or booleans, got dtype {dtype}")
    if preferred is None or preferred == dtype or dtypes.is_bool(dtype):
        return dtype if preferred is None else preferred
    kinds = (
        (dtypes.is_unsigned_integer(dtype) and dtypes.is_integer(preferred))
        or (dtypes.is_integer(dtype) and (dtypes.is_signed_integer(preferred) or dtypes.is_floating(preferred)))
        or (dtypes.is_floating(dtype) and dtypes.is_floating(preferred))
        or (dtypes.is_complex(dtype) and dtypes.is_complex(preferred))
    )
    if not kinds:
        raise TypeError(
            "conv_general_dilated: preferred_element_type must be of the kind of the operands, signed if they are, or "
            f"floating for integers, got {preferred} for {dtype}"
        )
    if dtypes.itemsize_bits(preferred) < dtypes.itemsize_bits(dtype):
        raise TypeError(
            f"conv_general_dilated: preferred_element_type must not be narrower than the operands, got {preferred} "
            f"for {dtype}"
        )
    return preferred
