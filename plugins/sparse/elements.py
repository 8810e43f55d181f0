"""Elements of arrays at rows of indices: the rows in range, reads of elements, and sums of updates.

Rows of indices are integers of shape (nse, count), a column for each dimension that they index. Indices below 0 count
from the end, and rows out of range count for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import ShapedArray, get_aval
from primax.plugins.arithmetic import add, div, mul, rem, sub
from primax.plugins.bitwise import bitwise_and
from primax.plugins.comparison import ge, lt
from primax.plugins.cumulative import cumsum
from primax.plugins.indexing import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    gather_p,
    scatter_add_p,
    scatter_max_p,
    scatter_p,
)
from primax.plugins.reductions import reduce_and, reduce_or
from primax.plugins.structural import (
    broadcast_in_dim_p,
    concatenate,
    convert_element_type,
    full,
    iota,
    reduce_sum,
    reshape,
    select,
    slice_in_dim,
    zeros_of,
)

_DROP = GatherScatterMode.FILL_OR_DROP


def within(indices: Any, sizes: Sequence[int]) -> tuple[Any, Any]:
    """Rows of indices counted from the front, and which of them are in range in all dimensions; also of batches."""
    positive = _from_the_front(indices, sizes)
    aval = get_aval(positive)
    if not len(sizes):
        return positive, full(aval.shape[:-1], True, np.bool_)
    inside = bitwise_and(ge(positive, aval.dtype.type(0)), lt(positive, _for_each_row(sizes, aval)))
    return positive, reduce_and(inside, (aval.ndim - 1,))


def _for_each_row(sizes: Sequence[int], aval: ShapedArray) -> Any:
    return broadcast_in_dim_p.bind(np.array(sizes, aval.dtype), shape=aval.shape, broadcast_dimensions=(aval.ndim - 1,))


def _from_the_front(indices: Any, sizes: Sequence[int]) -> Any:
    aval = get_aval(indices)
    if not len(sizes) or dtypes.is_unsigned_integer(aval.dtype):
        return indices
    return select(lt(indices, aval.dtype.type(0)), add(indices, _for_each_row(sizes, aval)), indices)


def scattered(sizes: Sequence[int], rows: Any, data: Any) -> Any:
    """The blocks `data`, of shape (nse, *dense), added at the indices `rows`, of shape (nse, len(sizes))."""
    aval = get_aval(data)
    logical = dtypes.is_bool(aval.dtype)
    if not len(sizes):
        return reduce_or(data, (0,)) if logical else reduce_sum(data, (0,))
    zeros = zeros_of(ShapedArray((*sizes, *aval.shape[1:]), aval.dtype))
    if 0 in sizes or 0 in aval.shape:
        return zeros
    count = len(sizes)
    return (scatter_max_p if logical else scatter_add_p).bind(
        zeros,
        _from_the_front(rows, sizes),
        data,
        dimension_numbers=ScatterDimensionNumbers(tuple(range(1, aval.ndim)), (*range(count),), (*range(count),)),
        indices_are_sorted=False,
        unique_indices=False,
        mode=_DROP,
    )


def taken(x: Any, rows: Any) -> Any:
    """The blocks of an array at the indices `rows`, of shape (nse, count), and zeros for rows out of range."""
    aval = get_aval(x)
    nse, count = get_aval(rows).shape
    sizes, block = aval.shape[:count], aval.shape[count:]
    if not count:
        return broadcast_in_dim_p.bind(x, shape=(nse, *block), broadcast_dimensions=tuple(range(1, aval.ndim + 1)))
    if 0 in sizes:
        return zeros_of(ShapedArray((nse, *block), aval.dtype))
    return gather_p.bind(
        x,
        _from_the_front(rows, sizes),
        dimension_numbers=GatherDimensionNumbers(
            tuple(range(1, len(block) + 1)), tuple(range(count)), tuple(range(count))
        ),
        slice_sizes=(1,) * count + block,
        indices_are_sorted=False,
        unique_indices=False,
        mode=_DROP,
        fill_value=0,
    )


def cleared(data: Any, mask: Any) -> Any:
    """The blocks of `data`, of shape (nse, *dense), with zeros where `mask`, of shape (nse,), is false."""
    aval = get_aval(data)
    repeated = broadcast_in_dim_p.bind(mask, shape=aval.shape, broadcast_dimensions=(0,))
    return select(repeated, data, zeros_of(ShapedArray(aval.shape, aval.dtype)))


def contracted(
    data: Any, indices: Any, x: Any, sizes: Sequence[int], summed: Sequence[int], kept: Sequence[int]
) -> Any:
    """The product of a sparse array with a dense one, summed over dimensions of both.

    Args:
      data: blocks of shape (nse, *dense).
      indices: their rows of indices.
      x: an array of the same dtype, whose leading dimensions are those that are summed over.
      sizes: those of the dimensions that `indices` index.
      summed: which of these are summed over.
      kept: which of them remain.

    Returns:
      An array with the dimensions that remain, the dense ones, and the other ones of `x`.
    """
    rows, valid = within(indices, sizes)
    data, partner = cleared(data, valid), taken(x, _columns(rows, summed))
    aval, other = get_aval(data), get_aval(partner)
    shape = aval.shape + other.shape[1:]
    factors = (
        broadcast_in_dim_p.bind(data, shape=shape, broadcast_dimensions=tuple(range(aval.ndim))),
        broadcast_in_dim_p.bind(partner, shape=shape, broadcast_dimensions=(0, *range(aval.ndim, len(shape)))),
    )
    blocks = (bitwise_and if dtypes.is_bool(aval.dtype) else mul)(*factors)
    return scattered([sizes[i] for i in kept], _columns(rows, kept), blocks)


def _columns(rows: Any, which: Sequence[int]) -> Any:
    columns = [slice_in_dim(rows, i, i + 1, axis=1) for i in which]
    return columns[0] if len(columns) == 1 else concatenate(columns or [slice_in_dim(rows, 0, 0, axis=1)], 1)


def positions(mask: Any, nse: int) -> tuple[Any, Any]:
    """Where a boolean array of rank 1 is true, and which of `nse` positions there are; the others are its length."""
    (size,) = get_aval(mask).shape
    dtype = dtypes.default_int_dtype()
    if not size or not nse:
        return full((nse,), size, dtype), full((nse,), False, np.bool_)
    ranks = cumsum(convert_element_type(mask, dtype))
    places = select(mask, sub(ranks, dtype.type(1)), full((size,), nse, dtype))
    first = scatter_p.bind(
        full((nse,), size, dtype),
        reshape(places, (size, 1)),
        iota(dtype, size),
        dimension_numbers=ScatterDimensionNumbers((), (0,), (0,)),
        indices_are_sorted=False,
        unique_indices=False,
        mode=_DROP,
    )
    return first, lt(first, dtype.type(size))


def rows_of(flat: Any, sizes: Sequence[int], dtype: Any) -> Any:
    """The indices, of shape (nse, len(sizes)), of elements of an array in order; past the end they are `sizes`."""
    aval = get_aval(flat)
    if not len(sizes):
        return zeros_of(ShapedArray((*aval.shape, 0), np.dtype(dtype)))
    inside = lt(flat, aval.dtype.type(prod(sizes)))
    columns, rest = [], flat
    for size in reversed(sizes):
        place = select(inside, rem(rest, aval.dtype.type(max(size, 1))), full(aval.shape, size, aval.dtype))
        columns.append(reshape(convert_element_type(place, dtype), (*aval.shape, 1)))
        rest = div(rest, aval.dtype.type(max(size, 1)))
    return concatenate(columns[::-1], aval.ndim)


def row_starts(rows: Any, count: int) -> Any:
    """Where each of `count` rows starts and the last ends, among elements in the order of their row numbers."""
    aval = get_aval(rows)
    counts = scattered((count,), reshape(rows, (*aval.shape, 1)), full(aval.shape, 1, aval.dtype))
    return concatenate([full((1,), 0, aval.dtype), cumsum(counts)], 0)


def row_numbers(starts: Any, nse: int) -> Any:
    """The row of each of `nse` elements, given where rows start; after the last row it is out of range."""
    ends = slice_in_dim(starts, 1, None)
    aval = get_aval(ends)
    return cumsum(scattered((nse,), reshape(ends, (*aval.shape, 1)), full(aval.shape, 1, aval.dtype)))
