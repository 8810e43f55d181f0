"""Conversion of an index to the arguments of gather and scatter: index vectors, dimension numbers, and window sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, Tracer, get_aval
from primax.extend.dimensions import is_symbolic_dim
from primax.extend.provisional.arguments import index_dtype
from primax.numpy.brackets import ADVANCED, NEW, Index
from primax.plugins import arithmetic
from primax.plugins.indexing.dimensions import GatherDimensionNumbers
from primax.plugins.indexing.positions import from_the_end
from primax.plugins.structural import as_scalar, broadcast_in_dim_p, concatenate_p, convert_element_type_p, iota_p

_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)


class Windows(NamedTuple):
    """The windows that an index reads.

    Attributes:
      indices: the index vectors.
      numbers: the dimension numbers of the gather.
      sizes: the sizes of windows along all axes of the array.
      shape: the shape of all windows together: that of the indexed array, without new axes.
      unique: whether windows are known not to overlap.
      sorted: whether index vectors are known to ascend.
    """

    indices: Any
    numbers: GatherDimensionNumbers
    sizes: tuple[int, ...]
    shape: tuple[int, ...]
    unique: bool
    sorted: bool


def windows_of(index: Index, wrap: bool = True) -> Windows:
    """Convert an index to windows.

    Args:
      index: an index resolved for the shape of an array.
      wrap: whether negative integers count from the end.
    """
    axes, advanced = index.axes, index.advanced or ()
    sizes = [1] * len(axes)
    offset: list[int] = []
    batch: list[int] = []
    shape: list[int] = []
    columns: list[tuple[int, Any, int]] = []  # an axis, positions along it, and the first batch axis of these positions
    begin = 0
    increasing = index.advanced is None
    for place in index.places:
        if place is NEW:
            continue
        if place is ADVANCED:
            begin = len(batch)
            batch += advanced
            shape += advanced
            continue
        start, count, step = axes[place]
        if step == 1:
            sizes[place] = count
            offset.append(len(shape))
            if count != index.shape[place]:
                columns.append((place, start, 0))
        else:
            columns.append((place, _spaced(start, count, step), len(batch)))
            batch.append(count)
            increasing = increasing and step > 0
        shape.append(count)
    kept = {place for place in index.places if type(place) is int and axes[place][2] == 1}
    for axis, entry in enumerate(axes):
        if type(entry) is not tuple and not (index.shape[axis] == 1 and type(entry) is int and entry == 0):
            position = from_the_end(entry, index.shape[axis]) if wrap else entry
            columns.append((axis, position, begin + len(advanced) - len(get_aval(entry).shape)))
    columns.sort(key=lambda column: column[0])
    indices = _stacked(columns, tuple(batch), index.shape)
    numbers = GatherDimensionNumbers(
        tuple(offset),
        tuple([d for d in range(len(axes)) if d not in kept]),
        tuple([axis for axis, _, _ in columns]),
    )
    return Windows(indices, numbers, tuple(sizes), tuple(shape), index.advanced is None, increasing)


def _spaced(start: Any, count: Any, step: int) -> Any:
    """The positions of a slice."""
    if is_symbolic_dim(start) or is_symbolic_dim(count):
        dtype = index_dtype(count)
        places = iota_p.bind(dtype=dtype, shape=(count,), dimension=0)
        return arithmetic.add_p.bind(arithmetic.mul_p.bind(places, dtype.type(step)), as_scalar(start, dtype))
    return np.arange(start, start + count * step, step)


def _stacked(
    columns: Sequence[tuple[int, Any, int]], batch: tuple[int, ...], shape: Sequence[int]
) -> np.ndarray | Array:
    """Stack positions along each axis to index vectors."""
    known = [_known(position, shape[axis]) for axis, position, _ in columns]
    if not any(x is None for x in known):
        dtype = _INT64 if any(index_dtype(shape[axis]) == _INT64 for axis, _, _ in columns) else _INT32
        out = np.empty((*batch, len(columns)), dtype)
        for i, (x, (_, _, first)) in enumerate(zip(known, columns, strict=True)):
            out[..., i] = x.reshape(*x.shape, *[1] * (len(batch) - first - x.ndim)) if x.ndim else x
        return out
    dtype = common_dtype([get_aval(x).dtype for _, x, _ in columns if isinstance(x, Tracer | Array)])
    parts = []
    for (_, position, first), value in zip(columns, known, strict=True):
        x = position if value is None else value.astype(dtype)
        aval = get_aval(x)
        if aval.dtype != dtype:
            x = convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)
        dims = tuple(range(first, first + len(aval.shape)))
        parts.append(broadcast_in_dim_p.bind(x, shape=(*batch, 1), broadcast_dimensions=dims))
    return parts[0] if len(parts) == 1 else concatenate_p.bind(*parts, dimension=len(batch))


def _known(position: Any, size: int) -> Any:
    """Positions on the host, clipped to 32 bits, or to one beyond a longer axis; None for traced positions."""
    if isinstance(position, Tracer | Array):
        return None
    if is_symbolic_dim(size):
        size = 0
    most = max(size, 2**31 - 1)
    if isinstance(position, np.ndarray | np.generic) and position.dtype != np.int64:
        limit = dtypes.iinfo(position.dtype).max  # uint64 and narrow dtypes may not hold the bounds
        position = np.minimum(position, min(most, limit)).astype(np.int64)
    return np.minimum(np.maximum(position, -(2**31)), most)  # np.clip is several times slower


def common_dtype(position_dtypes: Sequence[Any]) -> np.dtype[Any]:
    """The common dtype of positions of several dtypes."""
    if len(set(position_dtypes)) == 1 and dtypes.itemsize_bits(position_dtypes[0]) >= 32:
        return position_dtypes[0]
    return _INT64 if any(dtypes.itemsize_bits(dtype) == 64 for dtype in position_dtypes) else _INT32
