"""The storage of BCOO arrays: conversion from and to dense arrays, sorting, unique indices, other layouts."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from math import prod
from typing import Any, TypeVar

import numpy as np

from primax import numpy as pnp
from primax.experimental.sparse.coordinates import (
    Coordinates,
    SparseEfficiencyError,
    SparseEfficiencyWarning,
    as_array,
    check_index_dtype,
    check_sparse,
    over_batch,
    with_full_batch,
    with_joint_batch,
)
from primax.extend.core import Array, Tracer
from primax.extend.provisional.arguments import integer, numpy_dtype
from primax.extend.provisional.typing import ArrayLike
from primax.plugins.sparse import cleared, positions, rows_of, scattered, taken, within

_T = TypeVar("_T", bound=Coordinates)


def parts_of_dense(function: str, mat: Any, nse: Any, n_batch: Any, n_dense: Any, index_dtype: Any) -> tuple[Any, Any]:
    """The data and indices of the nonzero elements of a dense array; see `bcoo_fromdense`."""
    mat = as_array(function, "mat", mat)
    n_batch, n_dense = integer(function, "n_batch", n_batch), integer(function, "n_dense", n_dense)
    if min(n_batch, n_dense) < 0 or n_batch + n_dense > mat.ndim:
        raise ValueError(
            f"{function}: n_batch and n_dense must be at least 0 and at most {mat.ndim} together, the number of "
            f"dimensions, got {n_batch} and {n_dense}"
        )
    kind = numpy_dtype(function, "index_dtype", index_dtype)
    check_index_dtype(function, "index_dtype", kind, mat.shape[n_batch : mat.ndim - n_dense])
    mask = mat != 0
    if n_dense:
        mask = pnp.any(mask, axis=tuple(range(-n_dense, 0)))
    nse = stored_count(function, nse, pnp.sum(mask, axis=tuple(range(n_batch, mask.ndim))))
    sizes = mask.shape[n_batch:]
    total = prod(sizes)

    def of_one(x: Any, nonzero: Any) -> tuple[Any, Any]:
        flat, _ = positions(nonzero.reshape(-1), nse)
        data = taken(x.reshape(total, *x.shape[len(sizes) :]), flat[:, None])
        return data, rows_of(flat, sizes, kind)

    return over_batch(of_one, n_batch)(mat, mask)


def stored_count(function: str, nse: Any, counts: Any) -> int:
    """The number of elements to store: `nse`, or the largest of `counts` if it is None; `counts` must then be known."""
    if nse is not None:
        nse = integer(function, "nse", nse)
        if nse < 0:
            raise ValueError(f"{function}: nse must be at least 0, got {nse}")
        return nse
    if isinstance(counts, Tracer):
        raise ValueError(f"{function}: nse must be given where the array is traced, as in jit and vmap, got None")
    return int(np.max(np.asarray(counts), initial=0))


def bcoo_todense(mat: Coordinates) -> Array:
    """Convert to a dense array; elements with the same indices are added, those with an index out of range are ignored.

    Args:
      mat: a BCOO array.

    Raises:
      TypeError: `mat` is not a BCOO array.
    """
    out: Array = _map_over_batch("bcoo_todense", mat, lambda data, rows: scattered(mat.sparse_shape, rows, data))
    return out


def _map_over_batch(function: str, mat: Any, of_one: Callable[[Any, Any], Any]) -> Any:
    """Map a function of the data and indices of one element of the batch over the batch."""
    check_sparse(function, "mat", mat)
    return over_batch(of_one, mat.n_batch)(*with_full_batch(mat))


def bcoo_extract(sparr: _T, arr: ArrayLike, *, assume_unique: bool | None = None) -> _T:
    """The elements of a dense array at the indices of a sparse one.

    Args:
      sparr: a BCOO array; only its indices are used.
      arr: an array of the same shape.
      assume_unique: whether each index gets its element. If False, only the first of equal indices does, and the others
        get 0, so that `todense` gives the elements of `arr`. By default `sparr.unique_indices`.

    Raises:
      TypeError: `sparr` is not a BCOO array.
      ValueError: the shapes differ.
    """
    check_sparse("bcoo_extract", "sparr", sparr)
    dense = as_array("bcoo_extract", "arr", arr)
    if dense.shape != sparr.shape:
        raise ValueError(f"bcoo_extract: arr must have the shape {sparr.shape} of sparr, got {dense.shape}")
    unique = sparr.unique_indices if assume_unique is None else bool(assume_unique)
    sizes = sparr.sparse_shape

    def of_one(indices: Any, x: Any) -> Any:
        data = taken(x, indices)
        return data if unique else cleared(data, _first_of_each(indices, sizes))

    _, indices = with_full_batch(sparr)
    return sparr.remade(over_batch(of_one, sparr.n_batch)(indices, dense))


def _order(indices: Any) -> Any:
    keys = tuple(indices[:, i] for i in reversed(range(indices.shape[1])))
    return pnp.lexsort(keys) if keys else pnp.arange(len(indices))


def _differ_from_previous(rows: Any) -> Any:
    return pnp.concatenate([pnp.ones(min(len(rows), 1), bool), pnp.any(rows[1:] != rows[:-1], axis=1)])


def _first_of_each(indices: Any, sizes: tuple[int, ...]) -> Any:
    rows, _ = within(indices, sizes)
    order = _order(rows)
    return pnp.zeros(len(rows), bool).at[order].set(_differ_from_previous(rows[order]))


def bcoo_sort_indices(mat: _T) -> _T:
    """The same array with its elements sorted by their indices.

    Args:
      mat: a BCOO array.

    Raises:
      TypeError: `mat` is not a BCOO array.
    """

    def in_order(data: Any, indices: Any) -> tuple[Any, Any]:
        order = _order(indices)
        return data[order], indices[order]

    check_sparse("bcoo_sort_indices", "mat", mat)
    data, indices = over_batch(in_order, mat.n_batch)(*with_joint_batch(mat))
    return mat.remade(data, indices, indices_sorted=True, unique_indices=mat.unique_indices)


def bcoo_sum_duplicates(mat: _T, nse: int | None = None) -> _T:
    """The same array with sorted, unique indices; elements with the same indices are added.

    Elements with an index out of range are dropped; zeros are kept (`BCOO.sum_duplicates` drops stored zeros).

    Args:
      mat: a BCOO array.
      nse: the number of elements that the result stores; further elements are dropped. If None, as many as are unique;
        traced arrays need a number.

    Raises:
      TypeError: `mat` is not a BCOO array.
      ValueError: `nse` is negative, or `nse` is None and the array is traced.
    """
    return without_duplicates("bcoo_sum_duplicates", mat, nse, False)


def without_duplicates(function: str, mat: _T, nse: Any, remove_zeros: Any) -> _T:
    """`bcoo_sum_duplicates`; stored zeros are kept if `remove_zeros` is false."""
    check_sparse(function, "mat", mat)
    sizes = mat.sparse_shape

    def sort(data: Any, indices: Any) -> tuple[Any, ...]:
        indices, valid = within(indices, sizes)
        if remove_zeros:
            valid &= pnp.any(data != 0, axis=tuple(range(1, data.ndim)))
        indices = pnp.where(valid[:, None], indices, np.array(sizes, indices.dtype))
        order = _order(indices) if sizes else pnp.argsort(~valid)
        rows, valid = indices[order], valid[order]
        first = _differ_from_previous(rows) & valid
        return cleared(data[order], valid), rows, pnp.where(valid, pnp.cumsum(first) - 1, len(rows)), pnp.sum(first)

    data, rows, places, counts = over_batch(sort, mat.n_batch)(*with_joint_batch(mat))
    size = stored_count(function, nse, counts)

    def gather(data: Any, rows: Any, places: Any) -> tuple[Any, Any]:
        summed = scattered((size,), places[:, None], data)
        padding = pnp.broadcast_to(np.array(sizes, rows.dtype), (size, len(sizes)))
        return summed, padding.at[places].set(rows, mode="drop") if size else padding

    data, rows = over_batch(gather, mat.n_batch)(data, rows, places)
    return mat.remade(data, rows, indices_sorted=True, unique_indices=True)


def with_unique_indices(mat: _T) -> _T:
    """The array with unique indices, which nonlinear elementwise functions need."""
    return mat if mat.unique_indices else without_duplicates("bcoo_sum_duplicates", mat, mat.nse, False)


def capped(mat: _T) -> _T:
    """The array, without duplicates if it stores more elements than its size."""
    most = prod(mat.sparse_shape)
    return mat if mat.nse <= most else without_duplicates("bcoo_sum_duplicates", mat, most, False)


def bcoo_update_layout(
    mat: _T, *, n_batch: int | None = None, n_dense: int | None = None, on_inefficient: str | None = "error"
) -> _T:
    """The same array with other numbers of batch and dense dimensions.

    Args:
      mat: a BCOO array.
      n_batch: the number of leading batch dimensions; unchanged if None.
      n_dense: the number of trailing dense dimensions; unchanged if None.
      on_inefficient: what to do if the result stores more elements because batch or dense dimensions are added: raise
        an error ("error"), warn ("warn"), or nothing (None).

    Raises:
      TypeError: `mat` is not a BCOO array.
      ValueError: the numbers do not fit the shape, or `on_inefficient` is unknown.
      SparseEfficiencyError: the result stores more elements and `on_inefficient` is "error".
    """
    name = "bcoo_update_layout"
    check_sparse(name, "mat", mat)
    if on_inefficient not in ("error", "warn", None):
        raise ValueError(f'{name}: on_inefficient must be "error", "warn" or None, got {on_inefficient!r}')
    batch = mat.n_batch if n_batch is None else integer(name, "n_batch", n_batch)
    dense = mat.n_dense if n_dense is None else integer(name, "n_dense", n_dense)
    if min(batch, dense) < 0 or batch + dense > mat.ndim:
        raise ValueError(
            f"{name}: n_batch and n_dense must be at least 0 and at most {mat.ndim} together, the number of "
            f"dimensions, got {batch} and {dense}"
        )
    if (batch, dense) == (mat.n_batch, mat.n_dense):
        return mat
    out = mat
    for _ in range(mat.n_dense - dense):
        out = _dense_to_sparse(out)
    for _ in range(mat.n_batch - batch):
        out = _batch_to_sparse(out)
    stored = out.data.size
    for _ in range(dense - mat.n_dense):
        out = _sparse_to_dense(out)
    for _ in range(batch - mat.n_batch):
        out = _sparse_to_batch(out)
    if out.data.size > stored and on_inefficient is not None:
        text = (
            f"{name}: n_batch={batch}, n_dense={dense} store {out.data.size} elements where {stored} are stored now, "
            f"of an array of shape {mat.shape}; on_inefficient=None allows it"
        )
        if on_inefficient == "error":
            raise SparseEfficiencyError(text)
        warnings.warn(text, SparseEfficiencyWarning, stacklevel=2)
    return out


def _dense_to_sparse(mat: _T) -> _T:
    size = mat.dense_shape[0]

    def of_one(data: Any, indices: Any) -> tuple[Any, Any]:
        column = pnp.tile(pnp.arange(size, dtype=indices.dtype), len(indices))[:, None]
        rows = pnp.concatenate([pnp.repeat(indices, size, axis=0), column], axis=1)
        return data.reshape(-1 if data.size else len(rows), *data.shape[2:]), rows

    return mat.remade(*over_batch(of_one, mat.n_batch)(*with_full_batch(mat)))


def _batch_to_sparse(mat: _T) -> _T:
    size = mat.batch_shape[-1]

    def of_one(data: Any, indices: Any) -> tuple[Any, Any]:
        nse = indices.shape[1]
        column = pnp.repeat(pnp.arange(size, dtype=indices.dtype), nse)[:, None]
        rows = pnp.concatenate([column, indices.reshape(size * nse, indices.shape[2])], axis=1)
        return data.reshape(size * nse, *data.shape[2:]), rows

    return mat.remade(*over_batch(of_one, mat.n_batch - 1)(*with_full_batch(mat)))


def _selected(data: Any, column: Any, size: int) -> Any:
    """For each index of a dimension, the data with zeros at other indices, of shape (size, nse, *dense)."""
    rows, _ = within(column[:, None], (size,))
    mask = pnp.arange(size, dtype=rows.dtype)[:, None] == rows[:, 0]
    return pnp.where(pnp.expand_dims(mask, tuple(range(2, data.ndim + 1))), data, pnp.zeros((), data.dtype))


def _sparse_to_dense(mat: _T) -> _T:
    size = mat.sparse_shape[-1]

    def of_one(data: Any, indices: Any) -> tuple[Any, Any]:
        return pnp.moveaxis(_selected(data, indices[:, -1], size), 0, 1), indices[:, :-1]

    return mat.remade(*over_batch(of_one, mat.n_batch)(*with_full_batch(mat)))


def _sparse_to_batch(mat: _T) -> _T:
    size = mat.sparse_shape[0]

    def of_one(data: Any, indices: Any) -> tuple[Any, Any]:
        rows = pnp.broadcast_to(indices[:, 1:], (size, len(indices), indices.shape[1] - 1))
        return _selected(data, indices[:, 0], size), rows

    return mat.remade(*over_batch(of_one, mat.n_batch)(*with_full_batch(mat)))
