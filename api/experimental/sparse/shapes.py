"""Changes of the shapes of BCOO arrays."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, TypeVar

import numpy as np

from primax import lax
from primax import numpy as pnp
from primax.experimental.sparse.coordinates import (
    Coordinates,
    axes_of,
    check_none,
    check_sparse,
    over_batch,
    shape_of,
    with_full_batch,
)
from primax.extend.provisional.arguments import integer, sequence
from primax.plugins.sparse import cleared, rows_of, within

_T = TypeVar("_T", bound=Coordinates)


def bcoo_transpose(mat: _T, *, permutation: Sequence[int]) -> _T:
    """Permute dimensions; batch, sparse and dense dimensions keep their kinds.

    Args:
      mat: a BCOO array.
      permutation: for each dimension of the result, the dimension of `mat`.

    Raises:
      TypeError: `mat` is not a BCOO array.
      ValueError: `permutation` is not a permutation of the dimensions.
      NotImplementedError: the permutation mixes dimensions of different kinds.
    """
    name = "bcoo_transpose"
    check_sparse(name, "mat", mat)
    order = axes_of(name, "permutation", permutation, mat.ndim)
    if len(order) != mat.ndim:
        raise ValueError(f"{name}: permutation must name all of {mat.ndim} dimensions, got {order}")
    n, k = mat.n_batch, mat.n_sparse
    batch, middle, dense = order[:n], order[n : n + k], order[n + k :]
    if set(batch) != set(range(n)) or set(dense) != set(range(n + k, mat.ndim)):
        raise NotImplementedError(
            f"{name}: permutation must keep the {n} batch, {k} sparse and {mat.n_dense} dense dimensions apart, got "
            f"{order}; use update_layout first"
        )
    if order == tuple(range(mat.ndim)):
        return mat
    data = mat.data.transpose(*batch, n, *(axis - k + 1 for axis in dense))
    indices = mat.indices.transpose(*batch, n, n + 1)
    if middle != tuple(range(n, n + k)):
        indices = indices[..., np.array([axis - n for axis in middle], int)]
        flags = {"indices_sorted": False, "unique_indices": mat.unique_indices}
    else:
        flags = {"indices_sorted": mat.indices_sorted, "unique_indices": mat.unique_indices}
    return mat.remade(data, indices, tuple(mat.shape[axis] for axis in order), **flags)


def bcoo_reduce_sum(mat: _T, *, axes: Sequence[int]) -> _T:
    """Sum over dimensions, which the result does not have.

    Args:
      mat: a BCOO array.
      axes: the dimensions. Summing over a batch dimension joins the stored elements; `sum_duplicates` adds equal
        indices.

    Raises:
      TypeError: `mat` is not a BCOO array.
      ValueError: a dimension is out of range or repeated.
    """
    check_sparse("bcoo_reduce_sum", "mat", mat)
    summed = sorted(axes_of("bcoo_reduce_sum", "axes", axes, mat.ndim))
    n, k = mat.n_batch, mat.n_sparse
    data, indices = with_full_batch(mat)
    blocks = tuple(axis - n - k + n + 1 for axis in summed if axis >= n + k)
    if blocks:
        data = pnp.any(data, axis=blocks) if data.dtype == np.bool_ else pnp.sum(data, axis=blocks, dtype=data.dtype)
    columns = [axis - n for axis in summed if n <= axis < n + k]
    if columns:
        sizes = mat.sparse_shape

        def drop(x: Any, rows: Any) -> tuple[Any, Any]:
            left = [i for i in range(k) if i not in columns]
            _, valid = within(rows[:, np.array(columns)], [sizes[i] for i in columns])
            return cleared(x, valid), rows[:, np.array(left, int)]

        data, indices = over_batch(drop, n)(data, indices)
    together = [axis for axis in summed if axis < n]
    apart = [axis for axis in range(n) if axis not in together]
    if together:
        data = data.transpose(*apart, *together, *range(n, data.ndim))
        indices = indices.transpose(*apart, *together, n, n + 1)
        batch, nse = data.shape[: len(apart)], prod(data.shape[len(apart) : n + 1])
        data = data.reshape(*batch, nse, *data.shape[n + 1 :])
        indices = indices.reshape(*batch, nse, indices.shape[-1])
    return mat.remade(data, indices, tuple(size for axis, size in enumerate(mat.shape) if axis not in summed))


def bcoo_reshape(
    mat: _T, *, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None, sharding: None = None
) -> _T:
    """Reshape; batch, sparse and dense dimensions are reshaped separately.

    Args:
      mat: a BCOO array.
      new_sizes: the shape.
      dimensions: the order of dimensions in which elements are read, as in `bcoo_transpose`; ascending if None.
      sharding: None.

    Raises:
      TypeError: `mat` is not a BCOO array.
      ValueError: the numbers of elements differ, or a new dimension would mix kinds.
      NotImplementedError: `sharding` is not None.
    """
    name = "bcoo_reshape"
    check_sparse(name, "mat", mat)
    check_none(name, "sharding", sharding)
    shape = shape_of(name, "new_sizes", new_sizes)
    if prod(shape) != mat.size:
        raise ValueError(f"{name}: new_sizes must have {mat.size} elements as {mat.shape} has, got {shape}")
    if dimensions is not None:
        mat = bcoo_transpose(mat, permutation=dimensions)
    first = _split(shape, mat.batch_shape)
    last = _split(shape[::-1], mat.dense_shape[::-1])
    middle = shape[first or 0 : len(shape) - (last or 0)]
    if first is None or last is None or prod(middle) != prod(mat.sparse_shape):
        raise ValueError(
            f"{name}: new_sizes must have dimensions of their own for the batch {mat.batch_shape}, the sparse "
            f"dimensions {mat.sparse_shape} and the dense ones {mat.dense_shape}, got {shape}; use update_layout first"
        )
    data, indices = with_full_batch(mat)
    if middle != mat.sparse_shape:
        indices = _reshaped_rows(indices, mat.sparse_shape, middle)
    n = mat.n_batch
    data = data.reshape(*shape[:first], mat.nse, *shape[len(shape) - last :])
    return mat.remade(data, indices.reshape(*shape[:first], *indices.shape[n:]), shape)


def _split(shape: Sequence[int], part: Sequence[int]) -> int | None:
    """The number of leading sizes whose product is that of `part`; len(part) if they are the sizes of `part`."""
    if tuple(shape[: len(part)]) == tuple(part):
        return len(part)
    lengths = [*range(1, len(shape) + 1), 0] if part else [0]
    return next((length for length in lengths if prod(shape[:length]) == prod(part)), None)


def _reshaped_rows(indices: Any, sizes: Sequence[int], new_sizes: tuple[int, ...]) -> Any:
    rows, valid = within(indices, sizes)
    kind = pnp.asarray(0).dtype
    if prod(sizes) > np.iinfo(kind).max:
        raise ValueError(
            f"bcoo_reshape: sparse dimensions {tuple(sizes)} have {prod(sizes)} elements, which {kind} cannot count; "
            "enable_x64 counts them"
        )
    rows = rows.astype(kind)
    flat = pnp.zeros(rows.shape[:-1], kind)
    for i, size in enumerate(sizes):
        flat = flat * size + rows[..., i]
    return rows_of(pnp.where(valid, flat, prod(sizes)), new_sizes, indices.dtype)


def bcoo_squeeze(arr: _T, *, dimensions: Sequence[int]) -> _T:
    """Remove dimensions of size 1.

    Args:
      arr: a BCOO array.
      dimensions: the dimensions to remove.

    Raises:
      TypeError: `arr` is not a BCOO array.
      ValueError: a dimension is out of range or repeated, or its size is not 1.
    """
    check_sparse("bcoo_squeeze", "arr", arr)
    gone = axes_of("bcoo_squeeze", "dimensions", dimensions, arr.ndim)
    if any(arr.shape[axis] != 1 for axis in gone):
        raise ValueError(f"bcoo_squeeze: dimensions must have size 1, got {gone} of shape {arr.shape}")
    return bcoo_reduce_sum(arr, axes=gone) if gone else arr


def bcoo_broadcast_in_dim(
    mat: _T, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: None = None
) -> _T:
    """Add dimensions, along which elements are repeated.

    A new dimension before the sparse ones is a batch dimension, one among them is sparse and must have size 1, and one
    after them is dense, or sparse if the array has no dense dimensions.

    Args:
      mat: a BCOO array.
      shape: the shape of the result.
      broadcast_dimensions: for each dimension of `mat`, the dimension of the result, in ascending order.
      sharding: None.

    Raises:
      TypeError: `mat` is not a BCOO array.
      ValueError: the dimensions do not ascend or are out of range, or a size differs and is not 1.
      NotImplementedError: elements would be repeated along a sparse dimension, or `sharding` is not None.
    """
    name = "bcoo_broadcast_in_dim"
    check_sparse(name, "mat", mat)
    check_none(name, "sharding", sharding)
    sizes = shape_of(name, "shape", shape)
    places = axes_of(name, "broadcast_dimensions", broadcast_dimensions, len(sizes))
    if len(places) != mat.ndim or list(places) != sorted(places):
        raise ValueError(
            f"{name}: broadcast_dimensions must ascend and name one dimension for each of {mat.ndim}, got {places}"
        )
    if any(size not in (1, sizes[place]) for size, place in zip(mat.shape, places, strict=True)):
        raise ValueError(
            f"{name}: shape must have the sizes {mat.shape} at {places}, except of those of 1, got {sizes}"
        )
    n, k = mat.n_batch, mat.n_sparse
    start = places[n] if n < len(places) else len(sizes)
    end = (places[n + k - 1] + 1 if k else start) if mat.n_dense else len(sizes)
    if not k and not mat.n_dense:
        start = end = len(sizes)
    for place in range(start, end):
        if sizes[place] != (mat.shape[places.index(place)] if place in places else 1):
            raise NotImplementedError(
                f"{name}: shape must have size 1 in new sparse dimensions, got {sizes}, whose dimension {place} "
                "repeats; use update_layout first, or the dense array, .todense()"
            )
    old = [places[i] for i in range(n)]
    data = mat.data.reshape(*_ones(start, old, mat.data.shape), mat.nse, *_ones_of_dense(mat, places, end, len(sizes)))
    indices = mat.indices.reshape(*_ones(start, old, mat.indices.shape), mat.nse, k)
    columns = [
        indices[..., places.index(place) - n] if place in places else pnp.zeros_like(indices, shape=indices.shape[:-1])
        for place in range(start, end)
    ]
    indices = pnp.stack(columns, axis=-1) if columns else indices
    batch = sizes[:start]
    data = pnp.broadcast_to(data, (*batch, mat.nse, *sizes[end:]))
    return mat.remade(data, pnp.broadcast_to(indices, (*batch, *indices.shape[start:])), sizes)


def _ones(count: int, old: list[int], sizes: Sequence[int]) -> list[int]:
    return [sizes[old.index(place)] if place in old else 1 for place in range(count)]


def _ones_of_dense(mat: Coordinates, places: Sequence[int], start: int, end: int) -> list[int]:
    return [mat.shape[places.index(place)] if place in places else 1 for place in range(start, end)]


def bcoo_concatenate(operands: Sequence[_T], *, dimension: int) -> _T:
    """Join arrays along a dimension.

    Args:
      operands: BCOO arrays with the same numbers of batch and dense dimensions, whose shapes agree except in
        `dimension`.
      dimension: a batch or sparse dimension.

    Raises:
      TypeError: an operand is not a BCOO array.
      ValueError: `operands` is empty, shapes or layouts differ, or `dimension` is a batch dimension and the numbers of
        stored elements differ.
      NotImplementedError: `dimension` is dense.
    """
    name = "bcoo_concatenate"
    arrays = sequence(name, "operands", operands)
    if not arrays:
        raise ValueError(f"{name}: operands must be one array or more, got none")
    for i, array in enumerate(arrays):
        check_sparse(name, f"operands[{i}]", array)
    first: _T = arrays[0]
    (axis,) = axes_of(name, "dimension", [integer(name, "dimension", dimension)], first.ndim)
    n, k = first.n_batch, first.n_sparse
    for i, array in enumerate(arrays):
        layout = (array.n_batch, array.n_sparse, array.n_dense)
        if layout != (n, k, first.n_dense):
            raise ValueError(
                f"{name}: operands[{i}] must have {n} batch and {first.n_dense} dense dimensions and {k} sparse ones, "
                f"as operands[0] has, got {layout[0]}, {layout[2]} and {layout[1]}; use update_layout first"
            )
        if [*array.shape[:axis], *array.shape[axis + 1 :]] != [*first.shape[:axis], *first.shape[axis + 1 :]]:
            raise ValueError(
                f"{name}: operands[{i}] must have the shape {first.shape} of operands[0], except in dimension {axis}, "
                f"got {array.shape}"
            )
    if axis >= n + k:
        raise NotImplementedError(f"{name}: dimension must not be dense, got {axis}; use update_layout(n_dense=) first")
    shape = (*first.shape[:axis], sum(array.shape[axis] for array in arrays), *first.shape[axis + 1 :])
    parts = [with_full_batch(array) for array in arrays]
    dtype = pnp.result_type(*(data for data, _ in parts))
    kind = pnp.result_type(*(rows for _, rows in parts))
    if axis < n:
        if len({array.nse for array in arrays}) > 1:
            raise ValueError(
                f"{name}: operands must store the same number of elements along batch dimensions, got "
                f"{[array.nse for array in arrays]}; sum_duplicates(nse=) makes it so"
            )
        along = axis
    else:
        along = n
        ends = np.cumsum([array.shape[axis] for array in arrays])
        shifted = []
        for (data, rows), end, array in zip(parts, ends, arrays, strict=True):
            positive, valid = within(rows, array.sparse_shape)
            offset = np.zeros(k, kind)
            offset[axis - n] = end - array.shape[axis]
            padding = np.array(shape[n : n + k], kind)
            shifted.append((data, pnp.where(valid[..., None], positive.astype(kind) + offset, padding)))
        parts = shifted
    data = lax.concatenate([data.astype(dtype) for data, _ in parts], along)
    return first.remade(data, lax.concatenate([rows.astype(kind) for _, rows in parts], along), shape)
