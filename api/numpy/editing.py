"""Insertion and deletion of elements, and packing of bits into bytes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, Tracer, get_aval
from primax.extend.provisional.arguments import among, canonical_axes, canonical_axis, listed
from primax.extend.provisional.avals import unwrap
from primax.extend.provisional.dimensions import bounds, is_symbolic, sliced
from primax.extend.provisional.typing import ArrayLike, Axes
from primax.numpy.at import Reference
from primax.numpy.conversion import asarray
from primax.numpy.creation import ones, zeros
from primax.numpy.indexing import take_slice
from primax.numpy.joining import concatenate
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, boolean, broadcast_to_shape, cast, convert, known_integers
from primax.numpy.rows import concrete
from primax.numpy.searching import known, nonzero
from primax.numpy.selection import choose
from primax.numpy.shaping import moveaxis, ravel, reshaped
from primax.numpy.sorting import argsort
from primax.numpy.taking import take
from primax.plugins import bitwise, comparison
from primax.plugins.indexing.positions import from_the_end
from primax.plugins.structural import iota_p, pad_p, reduce_sum_p, rev_p

__all__ = ["delete", "fill_diagonal", "insert", "packbits", "trim_zeros", "unpackbits"]


# For more parts than this, one gather compiles much faster than a concatenation of slices.
_MOST_SLICES = 8


def _positions(function: str, obj: Any, size: int) -> list[int]:
    """The positions in a number, a slice or a sequence of numbers."""
    if isinstance(obj, slice):
        try:
            if is_symbolic((size,)):
                start, count, step = sliced(obj, size)
                return [start + step * i for i in range(count)]
            return list(range(*obj.indices(size)))
        except (TypeError, ValueError) as error:
            raise type(error)(f"{function}: obj must be a slice of integers with a step, got {obj!r}") from None
    if isinstance(obj, Array | np.ndarray) and obj.dtype == bool:
        return np.flatnonzero(np.asarray(obj)).tolist()
    positions = []
    for position in known_integers(function, "obj", obj):
        if not -size <= position <= size:
            raise IndexError(f"{function}: obj must be in [{-size}, {size}], got {position}")
        positions.append(position + size if position < 0 else position)
    return positions


def delete(
    arr: ArrayLike,
    obj: ArrayLike | slice | Sequence[int],
    axis: int | None = None,
    *,
    assume_unique_indices: bool = False,
) -> Array:
    """An array without the elements at some positions.

    Args:
      arr: an array.
      obj: the positions: a number, a slice, a sequence or array of numbers, or a boolean for each position.
      axis: the axis; None to ravel the array first.
      assume_unique_indices: a promise that positions are unique; traced positions need it.

    Raises:
      IndexError: a position is out of range.
      TypeError: positions are traced and not promised to be unique.
      ValueError: the number of booleans is not the length of the axis.

    >>> import primax as px
    >>> px.numpy.delete(px.numpy.arange(4), 1)
    Array([0, 2, 3], dtype=int32)
    """
    aval_of("delete", arr, "arr")
    obj = unwrap(obj)
    x = ravel(arr) if axis is None else asarray(arr)
    axis = canonical_axis(0 if axis is None else axis, len(x.shape), "delete")
    size = x.shape[axis]
    if isinstance(obj, Tracer) and assume_unique_indices and known(obj) is None:
        kept = Reference(ones(size, bool), ravel(obj)).set(False)
        return take(x, nonzero(kept, size=max(size - obj.size, 0))[0], axis)
    if isinstance(obj, list | tuple) and obj and all(isinstance(x, bool | np.bool_) for x in obj):
        obj = np.array(obj)
    if isinstance(obj, Array | np.ndarray) and obj.dtype == bool and obj.shape != (size,):
        raise ValueError(f"delete: obj must be of shape ({size},) if it is boolean, got shape {obj.shape}")
    if not isinstance(obj, Tracer) and getattr(obj, "ndim", 0) > 1:
        obj = np.ravel(np.asarray(obj))
    gone = set(_positions("delete", obj, size))
    if size in gone:
        raise IndexError(f"delete: obj must be in [{-size}, {size}), got {size}")
    cuts = [-1, *sorted(gone), size]
    if len(cuts) > _MOST_SLICES:
        return take(x, np.delete(np.arange(size), list(gone)), axis)
    parts = [take_slice(x, low + 1, high, axis) for low, high in pairwise(cuts) if bounds(high - low)[1] > 1]
    return concatenate(parts, axis) if parts else take_slice(x, 0, 0, axis)


def insert(arr: ArrayLike, obj: ArrayLike | slice | Sequence[int], values: ArrayLike, axis: int | None = None) -> Array:
    """An array with elements inserted before some positions.

    Args:
      arr: an array.
      obj: the positions: a number, a slice, or a sequence of numbers.
      values: the values to insert, an array that broadcasts to the required shape.
      axis: the axis; None to ravel the array first.

    Raises:
      IndexError: a position is out of range.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.insert(pnp.array([1, 2, 3]), pnp.array([0, 3]), pnp.array([10, 20]))
      Array([10,  1,  2,  3, 20], dtype=int32)
      >>> pnp.insert(pnp.array([[1, 2], [3, 4]]), 1, 9, axis=1)
      Array([[1, 9, 2],
             [3, 9, 4]], dtype=int32)
    """
    aval_of("insert", arr, "arr")
    x = ravel(arr) if axis is None else asarray(arr)
    rank = len(x.shape)
    axis = canonical_axis(0 if axis is None else axis, rank, "insert")
    size = x.shape[axis]
    values = cast(asarray(values), x.dtype)
    obj = unwrap(obj)
    traced = isinstance(obj, Tracer) and known(obj) is None
    places: Any = obj if traced else _positions("insert", obj, size)
    if not isinstance(obj, slice) and not np.ndim(obj):
        values = moveaxis(reshaped(values, (1,) * (rank - values.ndim) + values.shape), 0, axis)
        count = values.shape[axis]
        places = places + np.arange(count) * 0 if traced else places * count
    else:
        count = places.size if traced else len(places)
    sizes = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    values = broadcast_to_shape(reshaped(values, (1,) * (rank - values.ndim) + values.shape), sizes)
    order: Any
    if is_symbolic((size,)) and not traced:
        return _inserted_slices(x, places, values, axis)
    if traced:
        order = _order_of_traced(places, size, count)
    else:
        order = np.insert(np.arange(size), places, size + np.arange(count))
    runs = [] if traced else np.split(order, np.flatnonzero(np.diff(order) != 1) + 1)
    joined = concatenate([x, values], axis)
    if traced or len(runs) > _MOST_SLICES:
        return take(joined, order, axis)
    parts = [take_slice(joined, int(run[0]), int(run[-1]) + 1, axis) for run in runs if run.size]
    return concatenate(parts, axis) if parts else x


def _inserted_slices(x: Any, places: Any, values: Any, axis: int) -> Array:
    """An array of symbolic size with values inserted, each before its place."""
    parts, start = [], 0
    for k in sorted(range(len(places)), key=places.__getitem__):
        parts += [take_slice(x, start, places[k], axis), take_slice(values, k, k + 1, axis)]
        start = places[k]
    return concatenate([*parts, take_slice(x, start, x.shape[axis], axis)], axis)


def _order_of_traced(places: Any, size: int, count: int) -> Array:
    """For each element of the result, its position in the array followed by the inserted values."""
    aval = get_aval(places)
    if not dtypes.is_integer(aval.dtype) or len(aval.shape) > 1:
        raise TypeError(f"insert: obj must be integers of rank 0 or 1, got {aval.str_short()}")
    places = from_the_end(places, size)
    order = argsort(places)
    new = places[order] + np.arange(count, dtype=np.int32)
    old = nonzero(Reference(ones(size + count, bool), new).set(False), size=size)[0]
    order_of_old = Reference(zeros(size + count, np.int32), new).set(size + order)
    return Reference(order_of_old, old).set(np.arange(size, dtype=np.int32))


def fill_diagonal(a: ArrayLike, val: ArrayLike, wrap: bool = False, *, inplace: bool = True) -> Array:
    """An array with a new main diagonal.

    Args:
      a: an array of rank 2, or of a higher rank with axes of the same length.
      val: a number, or an array whose raveled elements are repeated along the diagonal.
      wrap: False.
      inplace: must be False, since the array itself cannot change.

    Raises:
      NotImplementedError: `inplace` or `wrap` is True.
      ValueError: `a` is of rank 0 or 1, or is of rank 3 or more and has axes of different lengths.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.fill_diagonal(pnp.zeros((2, 3), np.int32), pnp.array([5, 6]), inplace=False)
      Array([[5, 0, 0],
             [0, 6, 0]], dtype=int32)
      >>> pnp.fill_diagonal(pnp.zeros((2, 3)), 1)
      Traceback (most recent call last):
          ...
      NotImplementedError: fill_diagonal: inplace and wrap must be False: arrays are immutable
    """
    if inplace or wrap:
        raise NotImplementedError("fill_diagonal: inplace and wrap must be False: arrays are immutable")
    aval = aval_of("fill_diagonal", a, "a")
    shape = aval.shape
    if len(shape) < 2 or (len(shape) > 2 and len(set(shape)) > 1):
        raise ValueError(
            "fill_diagonal: a must be of rank 2, or of a higher one with axes of the same length, got "
            f"{aval.str_short()}"
        )
    integer = np.dtype(np.int32)
    places = [iota_p.bind(dtype=integer, shape=shape, dimension=i) for i in range(len(shape))]
    here = comparison.eq_p.bind(places[0], places[1])
    for place in places[2:]:
        here = bitwise.and_p.bind(here, comparison.eq_p.bind(places[0], place))
    value = aval_of("fill_diagonal", val, "val")
    new = convert(val, value, aval.dtype)
    if value.shape:
        flat = ravel(new)
        count = min(shape)
        copies = -(-count // value.size)
        flat = take_slice(concatenate([flat] * copies), 0, count, 0)
        if shape[0] > count:
            flat = pad_p.bind(flat, aval.dtype.type(0), padding_config=((0, shape[0] - count, 0),))
        new = broadcast_to_shape(reshaped(flat, (shape[0], *[1] * (len(shape) - 1))), shape)
    return choose(here, new, a)


def _bit_order(function: str, bitorder: str) -> bool:
    if not among(bitorder, ("big", "little")):
        raise ValueError(f"{function}: bitorder must be 'big' or 'little', got {bitorder!r}")
    return bitorder == "big"


_BYTE = np.dtype(np.uint8)


def trim_zeros(filt: ArrayLike, trim: str = "fb", axis: Axes | None = None) -> Array:
    """An array without leading and trailing zeros.

    Args:
      filt: an array with known values.
      trim: "f" to trim the front, "b" the back, "fb" both.
      axis: an axis or several; all if None. A slice is trimmed if all of its elements are zero.

    Raises:
      ConcretizationTypeError: `filt` is traced.
      ValueError: `trim` is another value, or an axis is out of range.

    >>> import primax as px
    >>> px.numpy.trim_zeros(px.numpy.array([0, 0, 1, 0, 2, 0]))
    Array([1, 0, 2], dtype=int32)
    """
    aval = aval_of("trim_zeros", filt, "filt")
    rank = len(aval.shape)
    if not isinstance(trim, str) or not set(trim.lower()) <= {"f", "b"}:
        raise ValueError(f"trim_zeros: trim must be 'f', 'b' or 'fb', got {trim!r}")
    axes = range(rank) if axis is None else canonical_axes(listed(axis), rank, "trim_zeros", "axis")
    if not rank:
        return asarray(filt)
    places = np.nonzero(concrete("trim_zeros", "filt", filt))
    out = asarray(filt)
    for d in axes:
        start, limit = (places[d].min(), places[d].max() + 1) if places[d].size else (0, 0)
        if places[d].size:
            start = start if "f" in trim.lower() else 0
            limit = limit if "b" in trim.lower() else aval.shape[d]
        out = take_slice(out, int(start), int(limit), d)
    return out


@one_program("axis bitorder")
def packbits(a: ArrayLike, axis: int | None = None, bitorder: str = "big") -> Array:
    """Pack bits along an axis into bytes, eight each; the last byte is padded with zeros.

    Args:
      a: an array of a boolean or integer dtype; a nonzero element is a set bit.
      axis: the axis; None to ravel the array first.
      bitorder: "big" if the first bit is the highest, "little" if it is the lowest.

    Raises:
      TypeError: `a` is neither boolean nor integer.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.packbits(pnp.array([1, 0, 1])), pnp.packbits(pnp.array([1, 0, 1]), bitorder="little")
      (Array([160], dtype=uint8), Array([5], dtype=uint8))
    """
    aval = aval_of("packbits", a)
    big = _bit_order("packbits", bitorder)
    if not (dtypes.is_bool(aval.dtype) or dtypes.is_integer(aval.dtype)):
        raise TypeError(f"packbits: a must be boolean or integer, got {aval.str_short()}")
    x = ravel(a) if axis is None else asarray(a)
    axis = canonical_axis(0 if axis is None else axis, len(x.shape), "packbits")
    bits = cast(moveaxis(boolean(x), axis, -1), _BYTE)
    *rest, size = get_aval(bits).shape
    count = -(-size // 8)
    config = (*[(0, 0, 0)] * len(rest), (0, count * 8 - size, 0))
    bits = reshaped(pad_p.bind(bits, _BYTE.type(0), padding_config=config), (*rest, count, 8))
    shifts = iota_p.bind(dtype=_BYTE, shape=(*rest, count, 8), dimension=len(rest) + 1)
    if big:
        shifts = rev_p.bind(shifts, dimensions=(len(rest) + 1,))
    return moveaxis(reduce_sum_p.bind(bitwise.shift_left_p.bind(bits, shifts), axes=(len(rest) + 1,)), -1, axis)


def unpackbits(a: ArrayLike, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Array:
    """The bits of bytes along an axis, as zeros and ones.

    Args:
      a: an array of dtype uint8.
      axis: the axis; None to ravel the array first.
      count: the number of bits to return; if negative, the number of bits to omit at the end; all if None.
      bitorder: "big" if the first bit is the highest, "little" if it is the lowest.

    Raises:
      TypeError: `a` is not of dtype uint8.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.unpackbits(pnp.array([5], np.uint8), count=-2)
      Array([0, 0, 0, 0, 0, 1], dtype=uint8)
    """
    aval = aval_of("unpackbits", a)
    big = _bit_order("unpackbits", bitorder)
    if aval.dtype != _BYTE:
        raise TypeError(f"unpackbits: a must be of dtype uint8, got {aval.str_short()}")
    x = ravel(a) if axis is None else asarray(a)
    axis = canonical_axis(0 if axis is None else axis, len(x.shape), "unpackbits")
    x = moveaxis(x, axis, -1)
    *rest, size = get_aval(x).shape
    shape = (*rest, size, 8)
    shifts = iota_p.bind(dtype=_BYTE, shape=shape, dimension=len(shape) - 1)
    if big:
        shifts = rev_p.bind(shifts, dimensions=(len(shape) - 1,))
    spread = broadcast_to_shape(reshaped(x, (*rest, size, 1)), shape)
    bits = bitwise.and_p.bind(bitwise.shift_right_logical_p.bind(spread, shifts), _BYTE.type(1))
    bits = reshaped(bits, (*rest, size * 8))
    if count is not None:
        length = count if count >= 0 else max(size * 8 + count, 0)
        if length > size * 8:
            config = (*[(0, 0, 0)] * len(rest), (0, length - size * 8, 0))
            bits = pad_p.bind(bits, _BYTE.type(0), padding_config=config)
        bits = take_slice(bits, 0, length, len(rest))
    return moveaxis(bits, -1, axis)
