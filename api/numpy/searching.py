"""Positions of nonzero elements, and conversion between flat positions and positions along axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, ConcretizationTypeError, Tracer, get_aval
from primax.extend.dimensions import max_dim
from primax.extend.provisional.arguments import among, canonical_shape, naming, read_size, sequence
from primax.extend.provisional.avals import unwrap
from primax.extend.provisional.typing import ArrayLike, DTypeLike, Shape
from primax.numpy.conversion import asarray, read_dtype
from primax.numpy.creation import constant
from primax.numpy.promotion import aval_of, boolean, broadcast, cast, host_values, promote
from primax.numpy.rows import concrete
from primax.plugins.arithmetic import add_p, clamp_p, div_p, mul_p, rem_p, sub_p
from primax.plugins.comparison import lt_p
from primax.plugins.cumulative import cumsum_p
from primax.plugins.indexing import GatherScatterMode, ScatterDimensionNumbers, scatter_p
from primax.plugins.indexing.positions import from_the_end
from primax.plugins.structural import (
    as_scalar,
    broadcast_in_dim_p,
    concatenate_p,
    convert_element_type_p,
    iota_p,
    reshape_p,
    select_n_p,
    slice_p,
)

__all__ = ["argwhere", "flatnonzero", "nonzero", "ravel_multi_index", "unravel_index"]


def known(x: Any) -> Any:
    """The values of an array as a NumPy array; None if it is traced."""
    if isinstance(x, Tracer):
        if not x.is_concrete:
            return None
        x = x.concrete()
    return host_values(x)


def nonzero(
    a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | tuple[ArrayLike, ...] | None = None
) -> tuple[Any, ...]:
    """The positions of nonzero elements, for each axis.

    Args:
      a: an array of rank 1 or more.
      size: the number of positions to return, which a traced `a` needs. Further positions are dropped; missing ones are
        filled with `fill_value`.
      fill_value: a number, or a tuple of one number per axis; 0 if None.

    Returns:
      A tuple of arrays of the default int dtype, one for each axis.

    Raises:
      ValueError: `a` is of rank 0, or `fill_value` does not have one number per axis.
      ConcretizationTypeError: `a` is traced and `size` is None.

    >>> import primax as px
    >>> px.numpy.nonzero(px.numpy.array([0, 5, 0, 7]))
    (Array([1, 3], dtype=int32),)
    >>> px.numpy.nonzero(px.numpy.array([0, 5, 0, 7]), size=3, fill_value=-1)
    (Array([ 1,  3, -1], dtype=int32),)
    """
    shape = aval_of("nonzero", a, "a").shape
    if not shape:
        raise ValueError("nonzero: a must be of rank 1 or more, got rank 0; use nonzero(atleast_1d(a))")
    dtype = dtypes.default_int_dtype()
    if size is None:
        values = known(a)
        if values is None:
            concrete("nonzero", "a", a, "size")
        return tuple([asarray(x.astype(dtype)) for x in np.nonzero(values)])
    size = read_size("nonzero", "size", size)
    count = prod(shape)
    fills = _fills(fill_value, len(shape))
    if not size or not count:
        return tuple([constant(0 if fill is None else fill, (size,), dtype) for fill in fills])
    flat = boolean(a)
    if len(shape) > 1:
        flat = reshape_p.bind(flat, new_sizes=(count,), dimensions=None)
    ranks = cumsum_p.bind(cast(flat, dtype), axis=0, reverse=False)
    places = select_n_p.bind(flat, constant(size, (count,), dtype), sub_p.bind(ranks, constant(1, (count,), dtype)))
    flat_positions = scatter_p.bind(
        constant(0, (size,), dtype),
        reshape_p.bind(places, new_sizes=(count, 1), dimensions=None),
        iota_p.bind(dtype=dtype, shape=(count,), dimension=0),
        dimension_numbers=ScatterDimensionNumbers((), (0,), (0,)),
        indices_are_sorted=False,
        unique_indices=False,
        mode=GatherScatterMode.FILL_OR_DROP,
    )
    positions = _unraveled(flat_positions, shape)
    if all(fill is None for fill in fills):
        return tuple(positions)
    total = slice_p.bind(ranks, start_indices=(count - 1,), limit_indices=(count,), strides=None)
    total = broadcast_in_dim_p.bind(total, shape=(size,), broadcast_dimensions=(0,))
    used = lt_p.bind(iota_p.bind(dtype=dtype, shape=(size,), dimension=0), total)
    return tuple(
        [select_n_p.bind(used, constant(fill, (size,), dtype), x) for x, fill in zip(positions, fills, strict=True)]
    )


def _fills(fill_value: Any, rank: int) -> list[Any]:
    if isinstance(fill_value, tuple):
        if len(fill_value) != rank:
            raise ValueError(
                f"nonzero: fill_value must have one number per axis, got {len(fill_value)} in {fill_value} for {rank}"
            )
        return list(fill_value)
    if fill_value is not None and get_aval(fill_value).shape:
        raise ValueError(
            f"nonzero: fill_value must be a number or a tuple of one per axis, {rank}, got "
            f"{get_aval(fill_value).str_short()}"
        )
    return [fill_value] * rank


def _unraveled(flat: Any, shape: Sequence[int]) -> list[Any]:
    """Convert positions in the raveled array, which are in range, to positions along each axis."""
    if len(shape) == 1:
        return [flat]
    aval = get_aval(flat)
    positions = []
    for size in reversed(shape[1:]):
        length = as_scalar(max_dim(size, 1), aval.dtype)
        positions.append(rem_p.bind(flat, length))
        flat = div_p.bind(flat, length)
    return [flat, *positions[::-1]]


def flatnonzero(a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """The positions of nonzero elements in the raveled array. The arguments are those of `nonzero`.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> pnp.flatnonzero(pnp.array([[0, 2], [3, 0]]))
      Array([1, 2], dtype=int32)
      >>> px.jit(lambda x: pnp.flatnonzero(x, size=3, fill_value=-1))(pnp.array([0, 2, 3, 0]))
      Array([ 1,  2, -1], dtype=int32)
    """
    count = aval_of("flatnonzero", a, "a").size
    if size is None and known(a) is not None:
        a = known(a)
    return nonzero(a.reshape(count) if isinstance(a, np.ndarray) else _flat(a), size=size, fill_value=fill_value)[0]


def _flat(a: Any) -> Array:
    aval = get_aval(a)
    return a if len(aval.shape) == 1 else reshape_p.bind(a, new_sizes=(aval.size,), dimensions=None)


def argwhere(
    a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | tuple[ArrayLike, ...] | None = None
) -> Array:
    """The positions of nonzero elements, one per row. The arguments are those of `nonzero`.

    >>> import primax as px
    >>> px.numpy.argwhere(px.numpy.array([[0, 5], [7, 0]]))
    Array([[0, 1],
           [1, 0]], dtype=int32)
    """
    shape = aval_of("argwhere", a, "a").shape
    if not shape:
        flat = reshape_p.bind(asarray(a), new_sizes=(1,), dimensions=None)
        (positions,) = nonzero(flat, size=size)
        return constant(0, (get_aval(positions).shape[0], 0), dtypes.default_int_dtype())
    columns = nonzero(a, size=size, fill_value=fill_value)
    count = get_aval(columns[0]).shape[0]
    if known(columns[0]) is not None:
        return asarray(np.stack([known(x) for x in columns], 1))
    rows = [broadcast_in_dim_p.bind(x, shape=(count, 1), broadcast_dimensions=(0,)) for x in columns]
    return rows[0] if len(rows) == 1 else concatenate_p.bind(*rows, dimension=1)


def unravel_index(indices: ArrayLike, shape: Shape) -> tuple[Any, ...]:
    """Convert positions in the raveled array to positions along each axis.

    Args:
      indices: integers; negative ones count from the end, and those out of range are clipped.
      shape: the shape of the array.

    Returns:
      A tuple of arrays, one for each axis.

    Raises:
      TypeError: `indices` does not hold integers, or `shape` does not consist of integers.

    >>> import primax as px
    >>> px.numpy.unravel_index(px.numpy.array([1, 5]), (2, 3))
    (Array([0, 1], dtype=int32), Array([1, 2], dtype=int32))
    """
    aval = aval_of("unravel_index", indices, "indices")
    if not dtypes.is_integer(aval.dtype):
        raise TypeError(f"unravel_index: indices must be integers, got {aval.str_short()}")
    sizes = canonical_shape((shape,) if hasattr(shape, "__index__") else shape, "unravel_index", "shape")
    if not sizes:
        return ()
    own, weak = aval.dtype, aval.weak_type
    # The size of the array may be beyond a narrow dtype, whatever the positions are.
    flat = cast(asarray(indices), np.int32) if dtypes.itemsize_bits(own) < 32 else asarray(indices)
    total = prod(sizes)
    with naming("unravel_index"):
        flat = from_the_end(flat, total)
        aval = get_aval(flat)
        flat = clamp_p.bind(aval.dtype.type(0), flat, as_scalar(max_dim(total - 1, 0), aval.dtype))
    places = [cast(x, own) for x in _unraveled(flat, sizes)]
    return tuple([convert_element_type_p.bind(x, new_dtype=own, weak_type=True) for x in places] if weak else places)


def ravel_multi_index(
    multi_index: Sequence[ArrayLike],
    dims: Shape,
    mode: str | Sequence[str] = "raise",
    order: str = "C",
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """Convert positions along each axis to positions in the raveled array.

    Args:
      multi_index: integers, one array for each axis.
      dims: the shape of the array.
      mode: the treatment of positions out of range: 'raise', which traced positions do not allow, 'wrap' or 'clip'.
      order: 'C' if the last axis varies fastest, 'F' if the first one does.
      dtype: the dtype of the result; that of the positions if None.

    Raises:
      TypeError: positions are not integers.
      ValueError: the numbers of arrays and of axes differ, a position is out of range, the dtype of the positions
        cannot count the elements, or `mode` or `order` is unknown.
      ConcretizationTypeError: positions are traced, and `mode` is 'raise'.

    >>> import primax as px
    >>> px.numpy.ravel_multi_index((px.numpy.array([0, 1]), px.numpy.array([1, 2])), (2, 3))
    Array([1, 5], dtype=int32)
    """
    sizes = canonical_shape(dims, "ravel_multi_index", "dims")
    arrays = [unwrap(x) for x in sequence("ravel_multi_index", "multi_index", multi_index)]
    if len(arrays) != len(sizes):
        raise ValueError(
            f"ravel_multi_index: multi_index must have one array per axis, got {len(arrays)} for dims {sizes}"
        )
    if not among(order, ("C", "F")):
        raise ValueError(f"ravel_multi_index: order must be 'C' or 'F', got {order!r}")
    modes = [mode] * len(sizes) if isinstance(mode, str) else sequence("ravel_multi_index", "mode", mode)
    for i, x in enumerate(arrays):
        aval = aval_of("ravel_multi_index", x, i)
        if not dtypes.is_integer(aval.dtype):
            raise TypeError(f"ravel_multi_index: positions must be integers, got {aval.str_short()}")
    if not arrays:
        return asarray(0)
    arrays = promote("ravel_multi_index", *arrays)
    own = get_aval(arrays[0]).dtype
    result = own if dtype is None else read_dtype(dtype, "ravel_multi_index")
    if not dtypes.is_integer(result):
        raise TypeError(f"ravel_multi_index: dtype must be one of integers, got {result}")
    longest, count = max(sizes), prod(max(size, 1) for size in sizes)
    if count - 1 > dtypes.iinfo(result).max or longest > dtypes.iinfo(dtypes.default_int_dtype()).max:
        raise ValueError(
            f"ravel_multi_index: dims must be those of an array whose positions {result} can hold, got {sizes}; "
            f"a wider dtype can be given"
        )
    if dtypes.itemsize_bits(result) > dtypes.itemsize_bits(own):
        arrays = [cast(x, result) for x in arrays]
    arrays = [_in_range(x, size, how) for x, size, how in zip(arrays, sizes, modes, strict=True)]
    positions = broadcast("ravel_multi_index", [cast(x, result) for x in arrays])
    total: Any = None
    stride = 1
    steps = list(zip(positions, sizes, strict=True))
    for x, size in reversed(steps) if order == "C" else steps:
        term = x if stride == 1 else mul_p.bind(x, result.type(stride))
        total = term if total is None else add_p.bind(term, total)
        stride *= size
    return asarray(total)


def _in_range(x: Any, size: int, mode: Any) -> Any:
    if not among(mode, ("raise", "wrap", "clip")):
        raise ValueError(f"ravel_multi_index: mode must be 'raise', 'wrap' or 'clip', got {mode!r}")
    if mode == "raise":
        values = known(x)
        if values is None:
            raise ConcretizationTypeError(
                "ravel_multi_index: mode must be 'wrap' or 'clip' for positions that are traced, got 'raise'"
            )
        if values.size and not (values.min() >= 0 and values.max() < size):
            raise ValueError(
                f"ravel_multi_index: positions must be in [0, {size}), got {values.min()} to {values.max()}"
            )
        return x
    if mode == "wrap":
        return around(x, size)
    return inside(x, size)


def around(x: Any, size: int) -> Any:
    """Positions modulo the length of an axis."""
    values = known(x)
    if values is not None:
        values = _with_room(values, size)
        return np.mod(values, max(size, 1)) if values.ndim else int(values) % max(size, 1)
    x = _with_room(x, size)
    return from_the_end(rem_p.bind(x, get_aval(x).dtype.type(max(size, 1))), size)


def inside(x: Any, size: int) -> Any:
    """Positions clipped to an axis."""
    values = known(x)
    if values is not None:
        values = _with_room(values, size)
        return np.clip(values, 0, max(size - 1, 0)) if values.ndim else min(max(int(values), 0), max(size - 1, 0))
    x = _with_room(x, size)
    scalar = get_aval(x).dtype.type
    return clamp_p.bind(scalar(0), x, scalar(max(size - 1, 0)))


def _with_room(x: Any, size: int) -> Any:
    """Convert positions to a dtype that can hold the length of the axis too."""
    if size <= dtypes.iinfo(get_aval(x).dtype).max:
        return x
    return x.astype(np.int64) if isinstance(x, np.ndarray) else cast(x, dtypes.default_int_dtype())
