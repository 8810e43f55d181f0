"""Derivatives and batches of convolutions, which are convolutions with other options."""

from __future__ import annotations

from typing import Any

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.interpreters import ad
from primax.extend.provisional.padding import dilated
from primax.plugins.convolution.dimension_numbers import ConvDimensionNumbers
from primax.plugins.convolution.primitive import Options, conv_general_dilated_abstract_eval, conv_general_dilated_p
from primax.plugins.structural import convert_element_type_p, reshape_p, rev_p, transpose_p


def conv_general_dilated_transpose_lhs(ct: Any, lhs: Any, rhs: Any, **params: Any) -> Array:
    """The cotangent of the image: the result's, dilated by the strides, convolved with the reversed kernel.

    In one dimension the result is `out[o] = sum of lhs[i] * rhs[j]` where `i * lhs_dilation + low = o * stride + j *
    rhs_dilation`, so element i collects from `o * stride = i * lhs_dilation + low - j * rhs_dilation`.
    """
    options = Options(**params)
    aval = lhs.aval
    lhs_spec, rhs_spec, out_spec = options.dimension_numbers
    rhs_shape, out_shape = get_aval(rhs).shape, get_aval(ct).shape
    pads = []
    for n, (low, _) in enumerate(options.padding):
        window = dilated(rhs_shape[rhs_spec[2 + n]], options.rhs_dilation[n])
        length = dilated(aval.shape[lhs_spec[2 + n]], options.lhs_dilation[n])
        places = dilated(out_shape[out_spec[2 + n]], options.window_strides[n])
        pads.append((window - 1 - low, length - places + low))
    groups = options.feature_group_count * options.batch_group_count
    if groups > 1:
        # Output features of a group become its input features; input features of all groups become the output features.
        out_features, in_features, *_ = rhs_spec
        rhs = _merge(_split(rhs, out_features, groups), out_features, in_features)
    if len(rhs_spec) > 2:
        rhs = rev_p.bind(rhs, dimensions=tuple(rhs_spec[2:]))
    ct, rhs = _in_one_dtype(ct, rhs)
    bar = conv_general_dilated_p.bind(
        ct,
        rhs,
        window_strides=options.lhs_dilation,
        padding=tuple(pads),
        lhs_dilation=options.window_strides,
        rhs_dilation=options.rhs_dilation,
        dimension_numbers=ConvDimensionNumbers(out_spec, _swapped(rhs_spec), lhs_spec),
        feature_group_count=groups,
        batch_group_count=1,
        precision=options.precision,
        preferred_element_type=None,
    )
    if options.batch_group_count > 1:
        batch, features, *_ = lhs_spec
        bar = _merge(_split(bar, features, options.batch_group_count), features, batch)
    return _converted(bar, aval.dtype)


def conv_general_dilated_transpose_rhs(ct: Any, lhs: Any, rhs: Any, **params: Any) -> Any:
    """The cotangent of the kernel: the image convolved with the result's cotangent, over the batch.

    Features become the batch, and vice versa; the same holds for their groups.
    """
    options = Options(**params)
    aval = rhs.aval
    lhs_spec, rhs_spec, out_spec = options.dimension_numbers
    lhs_shape, out_shape = get_aval(lhs).shape, get_aval(ct).shape
    if 0 in out_shape:
        return ad.Zero(aval)  # an empty array is not a valid kernel
    pads = []
    for n, (low, _) in enumerate(options.padding):
        window = dilated(aval.shape[rhs_spec[2 + n]], options.rhs_dilation[n])
        length = dilated(lhs_shape[lhs_spec[2 + n]], options.lhs_dilation[n])
        places = dilated(out_shape[out_spec[2 + n]], options.window_strides[n])
        pads.append((low, window - 1 + places - length - low))
    ct, lhs = _in_one_dtype(ct, lhs)
    bar = conv_general_dilated_p.bind(
        lhs,
        ct,
        window_strides=options.rhs_dilation,
        padding=tuple(pads),
        lhs_dilation=options.lhs_dilation,
        rhs_dilation=options.window_strides,
        dimension_numbers=ConvDimensionNumbers(_swapped(lhs_spec), _swapped(out_spec), _swapped(rhs_spec)),
        feature_group_count=options.batch_group_count,
        batch_group_count=options.feature_group_count,
        precision=options.precision,
        preferred_element_type=None,
    )
    return _converted(bar, aval.dtype)


def _swapped(spec: Any) -> tuple[int, ...]:
    """Dimensions with the first two exchanged."""
    return (spec[1], spec[0], *spec[2:])


def _in_one_dtype(x: Any, y: Any) -> tuple[Any, Any]:
    """Operands in their common dtype; they differ if the result has a preferred wider one."""
    one, other = get_aval(x).dtype, get_aval(y).dtype
    if one == other:
        return x, y
    dtype = dtypes.promote_types(one, other)
    return _converted(x, dtype), _converted(y, dtype)


def _converted(x: Any, dtype: Any) -> Array:
    return x if get_aval(x).dtype == dtype else convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)


def conv_general_dilated_batch(
    args: Any, dims: Any, *, dimension_numbers: Any, feature_group_count: int, batch_group_count: int, **params: Any
) -> tuple[Any, Any]:
    """The mapped axis joins the batch of the image or the output features of the kernel, or forms more groups."""
    lhs, rhs = args
    lhs_dim, rhs_dim = dims
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    size = get_aval(rhs).shape[rhs_dim] if lhs_dim is None else get_aval(lhs).shape[lhs_dim]
    if size == 0:
        return _nothing(args, dims, dimension_numbers, feature_group_count, batch_group_count, params), 0
    # The axis becomes the outer part of a dimension, often without a move, except for groups.
    if rhs_dim is None:
        inner = batch_group_count > 1
        lhs = _merge(lhs, lhs_dim, lhs_spec[0], inner)
        out_axis = out_spec[0]
    elif lhs_dim is None:
        inner = feature_group_count > 1 or batch_group_count > 1
        rhs = _merge(rhs, rhs_dim, rhs_spec[0], inner)
        out_axis = out_spec[1]
    else:
        inner = False
        if batch_group_count > 1:
            lhs = _merge(lhs, lhs_dim, lhs_spec[0])
            batch_group_count *= size
        else:
            lhs = _merge(lhs, lhs_dim, lhs_spec[1])
            feature_group_count *= size
        rhs = _merge(rhs, rhs_dim, rhs_spec[0])
        out_axis = out_spec[1]
    out = conv_general_dilated_p.bind(
        lhs,
        rhs,
        dimension_numbers=dimension_numbers,
        feature_group_count=feature_group_count,
        batch_group_count=batch_group_count,
        **params,
    )
    return _split(out, out_axis, size, inner), out_axis + inner


def _nothing(args: Any, dims: Any, numbers: Any, feature_groups: int, batch_groups: int, params: Any) -> Array:
    """The results of an empty batch of convolutions, which cannot be groups."""
    avals = [get_aval(x).mapped(0, dim) for x, dim in zip(args, dims, strict=True)]
    out = conv_general_dilated_abstract_eval(
        *avals, dimension_numbers=numbers, feature_group_count=feature_groups, batch_group_count=batch_groups, **params
    )
    return ad.zeros_like_aval(out.unmapped(0, 0))


def _merge(x: Any, axis: int, into: int, inner: bool = False) -> Array:
    """An array with an axis merged into another as the outer or the inner of the two.

    `into` is counted without the axis.
    """
    shape = list(get_aval(x).shape)
    order = list(range(len(shape)))
    order.insert(into + inner, order.pop(axis))
    size = shape.pop(axis)
    shape[into] *= size
    if order != sorted(order):
        x = transpose_p.bind(x, permutation=tuple(order))
    return reshape_p.bind(x, new_sizes=tuple(shape), dimensions=None)


def _split(x: Any, axis: int, size: int, inner: bool = False) -> Array:
    """An array with an axis split in two, the outer or the inner of which has the given size."""
    shape = get_aval(x).shape
    rest = shape[axis] // size
    sizes = (rest, size) if inner else (size, rest)
    return reshape_p.bind(x, new_sizes=(*shape[:axis], *sizes, *shape[axis + 1 :]), dimensions=None)


def conv_general_dilated_sharding_rule(
    lhs: Any, rhs: Any, *, dimension_numbers: Any, batch_group_count: int, **params: Any
) -> str:
    """Only the batch may be divided."""
    batch = "b" if batch_group_count == 1 else "_"

    def term(rank: int, spec: Any, name: str) -> str:
        return " ".join(name if i == spec[0] else "_" for i in range(rank))

    rank = len(lhs.shape)
    of_lhs, of_out = (term(rank, spec, batch) for spec in (dimension_numbers.lhs_spec, dimension_numbers.out_spec))
    return f"{of_lhs}, {term(rank, dimension_numbers.rhs_spec, '_')} -> {of_out}"
