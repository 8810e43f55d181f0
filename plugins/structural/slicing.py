"""Slices of arrays, and arrays joined from parts, at static positions."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.dimensions import max_dim
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.interpreters.ad import linear_together
from primax.extend.provisional.arguments import (
    canonical_axes,
    canonical_axis,
    canonical_shape,
    inserted,
    integer,
    integers,
    is_value,
    sequence,
)
from primax.extend.provisional.lowering import cached_ir_type
from primax.extend.provisional.narrow import in_whole_bytes
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table
from primax.plugins.structural.conversion import host_scalar
from primax.plugins.structural.creation import zero_of, zeros_of
from primax.plugins.structural.selection import select, select_n_p
from primax.plugins.structural.shapes import broadcast_in_dim_p, reduce_sum, reshape, squeeze_p, transpose

slice_p = core.Primitive("slice")
pad_p = core.Primitive("pad")
concatenate_p = core.Primitive("concatenate")
split_p = core.Primitive("split", multiple_results=True)
rev_p = core.Primitive("rev")


def slice(
    operand: ArrayLike, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None
) -> Array:
    """A part of an array between static bounds.

    Args:
      operand: an array.
      start_indices: for each axis the first index.
      limit_indices: for each axis the index after the last.
      strides: for each axis the step between indices; 1 everywhere if None.

    Raises:
      TypeError: the length of a sequence is not the rank of `operand`, or the bounds leave the array or cross.

    >>> import primax as px
    >>> px.lax.slice(px.numpy.array([0, 1, 2, 3]), (1,), (4,), (2,))
    Array([1, 3], dtype=int32)
    """
    starts = integers(start_indices, "slice", "start_indices")
    limits = integers(limit_indices, "slice", "limit_indices")
    if strides is not None:
        strides = integers(strides, "slice", "strides")
        if all(step == 1 for step in strides) and len(strides) == len(starts):
            strides = None
    if strides is None and is_value(operand) and operand.aval.shape == limits and not any(starts):
        return operand
    return slice_p.bind(operand, start_indices=starts, limit_indices=limits, strides=strides)


def slice_in_dim(
    operand: ArrayLike, start_index: int | None, limit_index: int | None, stride: int = 1, axis: int = 0
) -> Array:
    """A part of an array along one axis; bounds may be None or count from the end.

    Raises:
      ValueError: `axis` is out of range.
      TypeError: the bounds leave the array or cross.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.slice_in_dim(np.arange(6), 1, -1, stride=2)
      Array([1, 3], dtype=int32)
    """
    shape = get_aval(operand).shape
    axis = canonical_axis(axis, len(shape), "slice_in_dim")
    size = shape[axis]
    start = 0 if start_index is None else integer("slice_in_dim", "start_index", start_index)
    limit = size if limit_index is None else integer("slice_in_dim", "limit_index", limit_index)
    starts = [0] * len(shape)
    limits = list(shape)
    steps = [1] * len(shape)
    starts[axis] = start + size if start < 0 else start
    limits[axis] = limit + size if limit < 0 else limit
    steps[axis] = integer("slice_in_dim", "stride", stride)
    return slice(operand, starts, limits, steps)


def index_in_dim(operand: ArrayLike, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """One element along an axis; the axis is kept with length 1 or removed.

    Raises:
      ValueError: `axis` is out of range.
      IndexError: `index` is out of range.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.index_in_dim(np.arange(6).reshape(2, 3), -1, axis=1)
      Array([[2],
             [5]], dtype=int32)
      >>> lax.index_in_dim(np.arange(3), 3)
      Traceback (most recent call last):
          ...
      IndexError: index_in_dim: index must be in [-3, 3) along axis 0, got 3 for shape (3,)
    """
    shape = get_aval(operand).shape
    axis = canonical_axis(axis, len(shape), "index_in_dim")
    size = shape[axis]
    (position,) = integers((index,), "index_in_dim", "index")
    if not -size <= position < size:
        raise IndexError(
            f"index_in_dim: index must be in [{-size}, {size}) along axis {axis}, got {position} for shape {shape}"
        )
    position = position % size
    part = slice_in_dim(operand, position, position + 1, 1, axis)
    return part if keepdims else squeeze_p.bind(part, dimensions=(axis,))


def pad(operand: ArrayLike, padding_value: ArrayLike, padding_config: Sequence[tuple[int, int, int]]) -> Array:
    """Pads an array around it and between its elements; negative numbers crop.

    Args:
      operand: an array.
      padding_value: a scalar of its dtype.
      padding_config: for each axis the numbers of values before, after, and between any two elements.

    Raises:
      TypeError: dtypes differ, or `padding_config` does not have one triple for each axis.
      ValueError: padding between elements is negative, or an axis would have a negative length.

    >>> import primax as px
    >>> px.lax.pad(px.numpy.array([1, 2]), px.numpy.int32(0), ((1, 0, 2),))
    Array([0, 1, 0, 0, 2], dtype=int32)
    """
    config = _triples(padding_config)
    if is_value(operand) and not any(map(any, config)) and len(config) == len(operand.aval.shape):
        return operand
    value = host_scalar(padding_value, get_aval(operand).dtype)
    return pad_p.bind(operand, padding_value if value is None else value, padding_config=config)


def _triples(padding_config: Any) -> tuple[tuple[int, int, int], ...]:
    try:
        config = tuple([(index(low), index(high), index(interior)) for low, high, interior in padding_config])
    except core.ConcretizationTypeError:
        raise
    except (TypeError, ValueError):
        raise TypeError(
            f"pad: padding_config must be a sequence of triples of integers (low, high, interior), "
            f"got {padding_config!r}"
        ) from None
    return config


def concatenate(operands: Sequence[Any], dimension: int) -> Array:
    """Concatenates arrays along an axis.

    Args:
      operands: arrays of the same dtype and rank, and of the same shape except along the axis.
      dimension: the axis.

    Raises:
      TypeError: there are no operands, or they do not fit.
      ValueError: `dimension` is out of range.

    >>> import primax as px
    >>> px.lax.concatenate([px.numpy.array([1, 2]), px.numpy.array([3])], 0)
    Array([1, 2, 3], dtype=int32)
    """
    together: Any = operands
    if (type(together) is np.ndarray or is_value(together)) and _has_rows(get_aval(together).shape):
        return _concatenate_rows(together, dimension)
    operands = sequence("concatenate", "operands", operands)
    if not operands:
        raise TypeError("concatenate: operands must be one array or more, got none")
    if len(operands) == 1 and is_value(operands[0]):
        canonical_axis(dimension, len(operands[0].aval.shape), "concatenate", "dimension")
        return operands[0]
    axis = dimension
    if type(axis) is not int or axis < 0:
        axis = canonical_axis(axis, len(get_aval(operands[0]).shape), "concatenate", "dimension")
    return concatenate_p.bind(*operands, dimension=axis)


def _has_rows(shape: tuple[int, ...]) -> bool:
    return len(shape) > 1 and shape[0] > 0


def _concatenate_rows(x: Any, dimension: int) -> Array:
    """The concatenated rows of an array, by a reshape; with that many operands, compilation would take long."""
    count, *row = get_aval(x).shape
    axis = canonical_axis(dimension, len(row), "concatenate", "dimension")
    beside = transpose(x, inserted(tuple(range(1, 1 + len(row))), axis, 0))
    return reshape(beside, (*row[:axis], count * row[axis], *row[axis + 1 :]))


def split(operand: ArrayLike, sizes: Sequence[int], axis: int = 0) -> list[Any]:
    """An array split into parts along an axis.

    Args:
      operand: an array.
      sizes: the lengths of the parts; their sum is the length of the axis.
      axis: the axis.

    Raises:
      ValueError: `axis` is out of range, or the sum of the sizes is wrong.

    >>> import primax as px
    >>> px.lax.split(px.numpy.array([1, 2, 3]), (1, 2))
    [Array([1], dtype=int32), Array([2, 3], dtype=int32)]
    """
    axis = canonical_axis(axis, len(get_aval(operand).shape), "split")
    return split_p.bind(operand, sizes=canonical_shape(sizes, "split", "sizes"), axis=axis)


def rev(operand: ArrayLike, dimensions: Sequence[int]) -> Array:
    """An array with the order along some axes reversed.

    Args:
      operand: an array.
      dimensions: the axes; negative ones count from the end.

    Raises:
      ValueError: an axis is out of range or repeated.

    >>> import primax as px
    >>> px.lax.rev(px.numpy.array([1, 2, 3]), (0,))
    Array([3, 2, 1], dtype=int32)
    """
    axes = canonical_axes(dimensions, len(get_aval(operand).shape), "rev", "dimensions")
    if not axes and is_value(operand):
        return operand
    return rev_p.bind(operand, dimensions=axes)


def _slice_abstract_eval(
    operand: ShapedArray,
    *,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> ShapedArray:
    shape = operand.shape
    params = {"start_indices": start_indices, "limit_indices": limit_indices, "strides": strides}
    for name, values in params.items():
        if values is not None and len(values) != len(shape):
            raise core.ShapeError(
                f"slice: {name} must have one entry per axis of operand, got {len(values)} in {values} "
                f"for {operand.str_short()}"
            )
    steps = (1,) * len(shape) if strides is None else strides
    sizes = []
    for axis, (start, limit, step, size) in enumerate(zip(start_indices, limit_indices, steps, shape, strict=True)):
        if not 0 <= start <= limit <= size:
            raise TypeError(
                f"slice: bounds must satisfy 0 <= start <= limit <= {size} in axis {axis}, "
                f"got start {start} and limit {limit} for {operand.str_short()}"
            )
        if step < 1:
            raise TypeError(f"slice: strides must be positive, got {step} in axis {axis} for {operand.str_short()}")
        sizes.append(-((start - limit) // step))
    return ShapedArray(sizes, operand.dtype, operand.weak_type)


def _slice_transpose(ct: Any, operand: Any, *, start_indices: Any, limit_indices: Any, strides: Any) -> list[Any]:
    config = []
    steps = (1,) * len(start_indices) if strides is None else strides
    for start, step, size, part in zip(start_indices, steps, operand.aval.shape, get_aval(ct).shape, strict=True):
        covered = (part - 1) * step + 1 if part else 0
        config.append((start, size - start - covered, step - 1))
    return [pad_p.bind(ct, zero_of(get_aval(ct).dtype), padding_config=tuple(config))]


def _slice_batch(args: Any, dims: Any, *, start_indices: Any, limit_indices: Any, strides: Any) -> tuple[Any, Any]:
    (x,), (dim,) = args, dims
    out = slice_p.bind(
        x,
        start_indices=inserted(start_indices, dim, 0),
        limit_indices=inserted(limit_indices, dim, get_aval(x).shape[dim]),
        strides=None if strides is None else inserted(strides, dim, 1),
    )
    return out, dim


def _slice_lowering(
    ctx: Any, x: Any, *, start_indices: Any, limit_indices: Any, strides: Any
) -> Sequence[mlir.ir.Value]:
    bounds = {"start_indices": start_indices, "limit_indices": limit_indices, "strides": strides}
    return [mlir.slice_op(ctx, x, ctx.avals_out[0], **bounds)]


def _pad_abstract_eval(
    operand: ShapedArray, padding_value: ShapedArray, *, padding_config: tuple[tuple[int, int, int], ...]
) -> ShapedArray:
    shape = operand.shape
    if operand.dtype != padding_value.dtype:
        raise TypeError(
            f"pad: padding_value must have the dtype of operand, got {padding_value.str_short()} "
            f"for {operand.str_short()}"
        )
    if padding_value.shape:
        raise TypeError(f"pad: padding_value must be a scalar, got {padding_value.str_short()}")
    if len(padding_config) != len(shape):
        raise TypeError(
            f"pad: padding_config must have one triple per axis of operand, got {len(padding_config)} in "
            f"{padding_config} for {operand.str_short()}"
        )
    sizes = []
    for axis, ((low, high, interior), size) in enumerate(zip(padding_config, shape, strict=True)):
        if interior < 0:
            raise ValueError(
                f"pad: interior padding must not be negative, got {interior} in axis {axis} for {operand.str_short()}"
            )
        padded = low + high + size + (max_dim(size - 1, 0) * interior if interior else 0)
        if padded < 0:
            raise ValueError(
                f"pad: padding_config must not crop more than there is, got {(low, high, interior)} "
                f"in axis {axis} of length {size} for {operand.str_short()}, which leaves {padded}"
            )
        sizes.append(padded)
    return ShapedArray(sizes, operand.dtype, operand.weak_type and padding_value.weak_type)


def _pad_jvp(primals: Any, tangents: Any, *, padding_config: Any) -> tuple[Any, Any]:
    out = pad_p.bind(*primals, padding_config=padding_config)
    t, t_value = tangents
    if type(t) is ad.Zero and type(t_value) is ad.Zero:
        return out, ad.Zero.from_primal_value(out)
    t = ad.instantiate_zeros(t)
    if type(t_value) is ad.Zero:
        t_value = zero_of(get_aval(t).dtype)
    return out, pad_p.bind(t, t_value, padding_config=padding_config)


linear_together(_pad_jvp, 0, 1, scalars=True)


def _pad_transpose(ct: Any, operand: Any, padding_value: Any, *, padding_config: Any) -> list[Any]:
    of_operand = type(operand) is ad.UndefinedPrimal
    of_value = type(padding_value) is ad.UndefinedPrimal
    if type(ct) is ad.Zero:
        return [ad.Zero(operand.aval) if of_operand else None, ad.Zero(padding_value.aval) if of_value else None]
    t_operand = t_value = None
    aval = get_aval(ct)
    shape = operand.aval.shape if of_operand else get_aval(operand).shape
    if of_operand:
        undo = tuple([(-low, -high, 0) for low, high, _ in padding_config])
        t_operand = pad_p.bind(ct, zero_of(aval.dtype), padding_config=undo) if any(map(any, undo)) else ct
        if any(interior for _, _, interior in padding_config):
            t_operand = slice_p.bind(
                t_operand,
                start_indices=(0,) * len(shape),
                limit_indices=get_aval(t_operand).shape,
                strides=tuple([interior + 1 for _, _, interior in padding_config]),
            )
    if of_value:
        inside = broadcast_in_dim_p.bind(_FALSE, shape=shape, broadcast_dimensions=())
        around = pad_p.bind(inside, _TRUE, padding_config=padding_config)
        of_padding = select(around, ct, zeros_of(aval))
        t_value = reduce_sum(of_padding, range(len(aval.shape)))
    return [t_operand, t_value]


_FALSE, _TRUE = np.False_, np.True_


def _pad_batch(args: Any, dims: Any, *, padding_config: Any) -> tuple[Any, Any]:
    (x, value), (dim, value_dim) = args, dims
    if value_dim is None:
        return pad_p.bind(x, value, padding_config=inserted(padding_config, dim, (0, 0, 0))), dim
    # Each element has its own padding value, which replaces a constant one.
    size = get_aval(value).shape[0]
    if dim is None:
        x, dim = batching.broadcast(x, size, 0), 0
    config = inserted(padding_config, dim, (0, 0, 0))
    aval = get_aval(x)
    padded = pad_p.bind(x, zero_of(aval.dtype), padding_config=config)
    inside = broadcast_in_dim_p.bind(_FALSE, shape=aval.shape, broadcast_dimensions=())
    around = pad_p.bind(inside, _TRUE, padding_config=config)
    values = broadcast_in_dim_p.bind(value, shape=get_aval(padded).shape, broadcast_dimensions=(dim,))
    return select_n_p.bind(around, padded, values), dim


def _pad_lowering(ctx: Any, x: Any, value: Any, *, padding_config: Any) -> Sequence[mlir.ir.Value]:
    columns = list(zip(*padding_config, strict=True)) or [(), (), ()]
    return [mlir.pad(ctx, ctx.avals_out[0], x, value, *columns)]


def _concatenate_abstract_eval(*operands: ShapedArray, dimension: int) -> ShapedArray:
    first = operands[0]
    rank = len(first.shape)
    if not rank:
        raise TypeError(f"concatenate: operands must have rank 1 or more, got {first.str_short()}")
    if not 0 <= dimension < rank:
        raise ValueError(f"concatenate: dimension must be in [0, {rank}), got {dimension} for {first.str_short()}")
    total = 0
    weak = True
    for i, operand in enumerate(operands):
        shape = operand.shape
        if operand.dtype != first.dtype:
            raise TypeError(
                f"concatenate: operands must have the same dtype, got {first.str_short()} for operand 0 and "
                f"{operand.str_short()} for operand {i}"
            )
        if (
            len(shape) != rank
            or shape[:dimension] != first.shape[:dimension]
            or shape[dimension + 1 :] != first.shape[dimension + 1 :]
        ):
            raise TypeError(
                f"concatenate: operands must have the same shape, except along axis {dimension}, got {first.shape} "
                f"for operand 0 and {shape} for operand {i}"
            )
        total += shape[dimension]
        weak = weak and operand.weak_type
    return ShapedArray((*first.shape[:dimension], total, *first.shape[dimension + 1 :]), first.dtype, weak)


def _concatenate_transpose(ct: Any, *operands: Any, dimension: int) -> list[Any]:
    avals = [x.aval if type(x) is ad.UndefinedPrimal else get_aval(x) for x in operands]
    if type(ct) is ad.Zero:
        return [ad.Zero(x.aval) if type(x) is ad.UndefinedPrimal else None for x in operands]
    starts = [0] * len(avals[0].shape)
    limits = list(get_aval(ct).shape)
    parts: list[Any] = []
    for x, aval in zip(operands, avals, strict=True):
        limits[dimension] = starts[dimension] + aval.shape[dimension]
        if type(x) is ad.UndefinedPrimal:
            parts.append(slice_p.bind(ct, start_indices=tuple(starts), limit_indices=tuple(limits), strides=None))
        else:
            parts.append(None)
        starts[dimension] = limits[dimension]
    return parts


def _concatenate_batch(args: Any, dims: Any, *, dimension: int) -> tuple[Any, Any]:
    size, dim = next((get_aval(x).shape[d], d) for x, d in zip(args, dims, strict=True) if d is not None)
    moved = [batching.to_dim(x, size, d, dim) for x, d in zip(args, dims, strict=True)]
    return concatenate_p.bind(*moved, dimension=dimension + (dim <= dimension)), dim


def _concatenate_lowering(ctx: Any, *xs: Any, dimension: int) -> Sequence[mlir.ir.Value]:
    axis = mlir.ir.IntegerAttr.get(mlir.ir.IntegerType.get_signless(64), dimension)
    result = cached_ir_type(ctx.module_context.shared, ctx.avals_out[0])
    return mlir.ir.Operation.create("stablehlo.concatenate", [result], list(xs), {"dimension": axis}).results


def _split_abstract_eval(operand: ShapedArray, *, sizes: tuple[int, ...], axis: int) -> list[ShapedArray]:
    shape = operand.shape
    if not 0 <= axis < len(shape):
        raise ValueError(f"split: axis must be in [0, {len(shape)}), got {axis} for {operand.str_short()}")
    if sum(sizes) != shape[axis]:
        raise ValueError(
            f"split: sizes must add up to the length of axis {axis}, got {sum(sizes)} for {sizes} "
            f"and {shape[axis]} for {operand.str_short()}"
        )
    return [ShapedArray((*shape[:axis], size, *shape[axis + 1 :]), operand.dtype, operand.weak_type) for size in sizes]


def _split_transpose(cts: Any, operand: Any, *, sizes: Any, axis: int) -> list[Any]:
    if all(type(ct) is ad.Zero for ct in cts):
        return [ad.Zero(operand.aval)]
    return [concatenate_p.bind(*map(ad.instantiate_zeros, cts), dimension=axis)]


def _split_batch(args: Any, dims: Any, *, sizes: Any, axis: int) -> tuple[Any, Any]:
    (x,), (dim,) = args, dims
    return split_p.bind(x, sizes=sizes, axis=axis + (dim <= axis)), [dim] * len(sizes)


def _split_lowering(ctx: Any, x: Any, *, sizes: Any, axis: int) -> list[Any]:
    shape = ctx.avals_in[0].shape
    starts, limits = [0] * len(shape), list(shape)
    parts = []
    for size, aval in zip(sizes, ctx.avals_out, strict=True):
        limits[axis] = starts[axis] + size
        parts.append(mlir.slice_op(ctx, x, aval, start_indices=starts, limit_indices=limits))
        starts[axis] = limits[axis]
    return parts


def _rev_abstract_eval(operand: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    canonical_axes(dimensions, len(operand.shape), "rev", "dimensions")
    return operand


def _rev_transpose(ct: Any, *, dimensions: Any) -> list[Any]:
    return [rev_p.bind(ct, dimensions=dimensions)]


def _rev_batch(args: Any, dims: Any, *, dimensions: Any) -> tuple[Any, Any]:
    (x,), (dim,) = args, dims
    return rev_p.bind(x, dimensions=tuple([i + (dim <= i) for i in dimensions])), dim


def _rev_lowering(ctx: Any, x: Any, *, dimensions: Any) -> list[Any]:
    return [mlir.hlo.reverse(x, mlir.ir.DenseI64ArrayAttr.get(dimensions))]


RULES: Table = {
    slice_p: {
        "abstract_eval": _slice_abstract_eval,
        "jvp": ad.linear_jvp(slice_p),
        "transpose": ad.linear_transpose2(slice_p, _slice_transpose),
        "batch": _slice_batch,
        "lowering": _slice_lowering,
        "key_use": lambda uses, eqn, walk: walk.row(eqn.params["start_indices"]),
    },
    pad_p: {
        "abstract_eval": _pad_abstract_eval,
        "jvp": _pad_jvp,
        "transpose": _pad_transpose,
        "batch": _pad_batch,
        "lowering": in_whole_bytes(_pad_lowering),
        "makes_nan": True,
    },
    concatenate_p: {
        "abstract_eval": _concatenate_abstract_eval,
        "jvp": ad.linear_jvp(concatenate_p),
        "transpose": _concatenate_transpose,
        "batch": _concatenate_batch,
        "lowering": in_whole_bytes(_concatenate_lowering),
        "key_use": lambda uses, eqn, walk: walk.joined(),
    },
    split_p: {
        "abstract_eval": _split_abstract_eval,
        "jvp": ad.linear_jvp(split_p),
        "transpose": _split_transpose,
        "batch": _split_batch,
        "lowering": _split_lowering,
    },
    rev_p: {
        "abstract_eval": _rev_abstract_eval,
        "jvp": ad.linear_jvp(rev_p),
        "transpose": ad.linear_transpose(rev_p, _rev_transpose),
        "batch": _rev_batch,
        "lowering": _rev_lowering,
    },
}
