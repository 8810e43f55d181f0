"""Slices of BCOO arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from primax import lax
from primax import numpy as pnp
from primax.experimental.sparse.coordinates import (
    Coordinates,
    axes_of,
    check_sparse,
    over_batch,
    shape_of,
    with_full_batch,
)
from primax.experimental.sparse.shapes import bcoo_broadcast_in_dim, bcoo_squeeze
from primax.experimental.sparse.storage import capped
from primax.extend import dtypes
from primax.extend.provisional.arguments import sequence
from primax.plugins.sparse import cleared, within

_T = TypeVar("_T", bound=Coordinates)


def bcoo_slice(
    mat: _T, *, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None
) -> _T:
    """Slice each dimension.

    Args:
      mat: a BCOO array.
      start_indices: the start of each slice.
      limit_indices: the end of each slice.
      strides: the step of each slice; 1 if None.

    Raises:
      TypeError: `mat` is not a BCOO array.
      ValueError: an argument has too few or too many numbers, or they are out of range.
    """
    name = "bcoo_slice"
    check_sparse(name, "mat", mat)
    starts, limits = shape_of(name, "start_indices", start_indices), shape_of(name, "limit_indices", limit_indices)
    steps = (1,) * mat.ndim if strides is None else shape_of(name, "strides", strides)
    for argument, numbers in (("start_indices", starts), ("limit_indices", limits), ("strides", steps)):
        if len(numbers) != mat.ndim:
            raise ValueError(f"{name}: {argument} must have a number for each of {mat.ndim} dimensions, got {numbers}")
    if any(not start <= limit <= size for start, limit, size in zip(starts, limits, mat.shape, strict=True)):
        raise ValueError(
            f"{name}: limit_indices must be from start_indices {starts} to the sizes {mat.shape}, got {limits}"
        )
    if any(step < 1 for step in steps):
        raise ValueError(f"{name}: strides must be at least 1, got {steps}")
    shape = tuple(-((start - limit) // step) for start, limit, step in zip(starts, limits, steps, strict=True))
    return _sliced(mat, starts, shape, steps)


def bcoo_dynamic_slice(mat: _T, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> _T:
    """Slice each dimension; the starts may be traced.

    Args:
      mat: a BCOO array.
      start_indices: an integer for each dimension; negative ones count from the end. A slice that would pass the end
        starts earlier, as in `primax.lax.dynamic_slice`.
      slice_sizes: the size of each slice.

    Raises:
      TypeError: `mat` is not a BCOO array, or the starts are not integers.
      ValueError: an argument has too few or too many numbers, or a size is larger than that of `mat`.
    """
    name = "bcoo_dynamic_slice"
    check_sparse(name, "mat", mat)
    sizes = shape_of(name, "slice_sizes", slice_sizes)
    starts = [pnp.asarray(start) for start in sequence(name, "start_indices", start_indices)]
    for argument, count in (("start_indices", len(starts)), ("slice_sizes", len(sizes))):
        if count != mat.ndim:
            raise ValueError(f"{name}: {argument} must have a number for each of {mat.ndim} dimensions, got {count}")
    if any(start.ndim or start.dtype.kind not in "iu" for start in starts):
        raise TypeError(f"{name}: start_indices must be integers, got {[start.aval for start in starts]}")
    if any(size > own for size, own in zip(sizes, mat.shape, strict=True)):
        raise ValueError(f"{name}: slice_sizes must be at most the sizes {mat.shape}, got {sizes}")
    first = [
        pnp.clip(pnp.where(start < 0, start + own, start), 0, own - size)
        for start, size, own in zip(starts, sizes, mat.shape, strict=True)
    ]
    return _sliced(mat, first, sizes, (1,) * mat.ndim)


def _sliced(mat: _T, starts: Sequence[Any], shape: tuple[int, ...], steps: Sequence[int]) -> _T:
    n, k = mat.n_batch, mat.n_sparse
    data, indices = with_full_batch(mat)
    for axis in range(mat.ndim):
        if axis < n or axis >= n + k:
            place = axis if axis < n else axis - k + 1
            data = _along(data, place, starts[axis], shape[axis], steps[axis])
            indices = _along(indices, axis, starts[axis], shape[axis], steps[axis]) if axis < n else indices
    new_sizes = shape[n : n + k]
    columns = [axis for axis in range(n, n + k) if shape[axis] != mat.shape[axis]]
    if not columns:
        return mat.remade(data, indices, shape)

    def of_one(x: Any, rows: Any) -> tuple[Any, Any]:
        rows, valid = within(rows, mat.sparse_shape)
        for axis in columns:
            distance = rows[:, axis - n] - pnp.asarray(starts[axis]).astype(rows.dtype)
            place = distance // steps[axis]
            valid &= (distance >= 0) & (distance % steps[axis] == 0) & (place < shape[axis])
            rows = rows.at[:, axis - n].set(place)
        return cleared(x, valid), pnp.where(valid[:, None], rows, np.array(new_sizes, rows.dtype))

    data, indices = over_batch(of_one, n)(data, indices)
    return capped(mat.remade(data, indices, shape))


def _along(x: Any, axis: int, start: Any, size: int, step: int) -> Any:
    if x.shape[axis] == size:
        return x
    if step == 1:
        return lax.dynamic_slice_in_dim(x, start, size, axis)
    return lax.slice_in_dim(x, start, min(start + size * step, x.shape[axis]), step, axis)


def bcoo_rev(operand: _T, dimensions: Sequence[int]) -> _T:
    """Reverse an array along dimensions.

    Args:
      operand: a BCOO array.
      dimensions: the dimensions to reverse.

    Raises:
      TypeError: `operand` is not a BCOO array.
      ValueError: a dimension is out of range or repeated.
    """
    check_sparse("bcoo_rev", "operand", operand)
    axes = axes_of("bcoo_rev", "dimensions", dimensions, operand.ndim)
    n, k = operand.n_batch, operand.n_sparse
    data, indices = with_full_batch(operand)
    data = pnp.flip(data, tuple(axis if axis < n else axis - k + 1 for axis in axes if not n <= axis < n + k))
    indices = pnp.flip(indices, tuple(axis for axis in axes if axis < n))
    columns = [axis for axis in axes if n <= axis < n + k]
    if columns:
        rows, valid = within(indices, operand.sparse_shape)
        for axis in columns:
            rows = rows.at[..., axis - n].set(operand.shape[axis] - 1 - rows[..., axis - n])
        indices = pnp.where(valid[..., None], rows, np.array(operand.sparse_shape, rows.dtype))
    return operand.remade(data, indices, unique_indices=operand.unique_indices)


def indexed(mat: _T, index: Any) -> _T:
    """`mat[index]`, for an index of integers, slices, None and an ellipsis."""
    items = list(index) if isinstance(index, tuple) else [index]
    for item in items:
        if not (item is None or item is Ellipsis or isinstance(item, slice) or _is_integer(item)):
            raise NotImplementedError(
                f"BCOO.__getitem__: index must be of integers, slices, None and an ellipsis, got {item!r}; index the "
                "dense array, .todense()"
            )
    if sum(item is Ellipsis for item in items) > 1:
        raise IndexError(f"BCOO.__getitem__: index must have one ellipsis at most, got {index!r}")
    count = sum(item is not None and item is not Ellipsis for item in items)
    if count > mat.ndim:
        raise IndexError(f"BCOO.__getitem__: index must have at most {mat.ndim} dimensions, got {count}")
    rest: list[Any] = [slice(None)] * (mat.ndim - count)
    where = next((i for i, item in enumerate(items) if item is Ellipsis), None)
    items = items + rest if where is None else [*items[:where], *rest, *items[where + 1 :]]
    own = [item for item in items if item is not None]
    starts: list[Any] = []
    sizes: list[int] = []
    steps: list[int] = []
    backwards: list[int] = []
    for axis, (item, size) in enumerate(zip(own, mat.shape, strict=True)):
        if isinstance(item, slice):
            start, stop, step = item.indices(size)
            length = len(range(start, stop, step))
            starts.append((size - 1 - start if step < 0 else start) if length else 0)
            sizes.append(length)
            steps.append(abs(step))
            if step < 0:
                backwards.append(axis)
        else:
            if not size:
                raise IndexError(
                    f"BCOO.__getitem__: index must be in range of size 0 in dimension {axis}, got {item!r}"
                )
            position = pnp.asarray(item)
            starts.append(pnp.clip(pnp.where(position < 0, position + size, position), 0, size - 1))
            sizes.append(1)
            steps.append(1)
    out = bcoo_rev(mat, backwards) if backwards else mat
    out = _sliced(out, starts, tuple(sizes), steps)
    out = bcoo_squeeze(out, dimensions=[axis for axis, item in enumerate(own) if not isinstance(item, slice)])
    kept = [item for item in items if item is None or isinstance(item, slice)]
    places = [i for i, item in enumerate(kept) if item is not None]
    if len(places) == len(kept):
        return out
    shape = [1] * len(kept)
    for place, size in zip(places, out.shape, strict=True):
        shape[place] = size
    return bcoo_broadcast_in_dim(out, shape=shape, broadcast_dimensions=places)


def _is_integer(item: Any) -> bool:
    if isinstance(item, (bool, np.bool_)):
        return False
    if isinstance(item, (int, np.integer)):
        return True
    dtype = getattr(item, "dtype", None)
    return dtype is not None and getattr(item, "ndim", None) == 0 and dtypes.is_integer(dtype)
