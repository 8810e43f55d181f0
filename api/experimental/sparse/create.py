"""Sparse arrays of zeros, ones and random numbers, and conversion to dense arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, prod
from typing import Any

import numpy as np

from primax import numpy as pnp
from primax import random
from primax.experimental.sparse.arrays import BCOO, bcoo_fromdense
from primax.experimental.sparse.compressed import BCSR, compressed
from primax.experimental.sparse.coo import COO
from primax.experimental.sparse.coordinates import JAXSparse, as_array, check_index_dtype, over_batch, shape_of
from primax.experimental.sparse.csr import CSC, CSR
from primax.experimental.sparse.matrices import diagonal
from primax.extend.core import Array
from primax.extend.provisional.arguments import among, check_function, integer, numpy_dtype, real_number
from primax.extend.provisional.typing import DTypeLike, KeyLike
from primax.plugins.sparse import rows_of

_MATRICES: dict[str, type[COO | CSR | CSC]] = {"coo": COO, "csr": CSR, "csc": CSC}


def empty(
    shape: Sequence[int],
    dtype: DTypeLike | None = None,
    index_dtype: DTypeLike = "int32",
    sparse_format: str = "bcoo",
    *,
    nse: int = 0,
    n_batch: int = 0,
    n_dense: int = 0,
) -> BCOO | BCSR | COO | CSR | CSC:
    """A sparse array of zeros.

    Args:
      shape: the shape.
      dtype: the dtype; that of `primax.numpy.zeros` if None.
      index_dtype: the dtype of the indices.
      sparse_format: "bcoo", "bcsr", "coo", "csr" or "csc".
      nse: the number of elements that can be stored; 0 for COO, CSR and CSC.
      n_batch: the number of leading batch dimensions; 0 for COO, CSR and CSC.
      n_dense: the number of trailing dense dimensions; 0 for COO, CSR and CSC.

    Raises:
      TypeError: the format does not take an argument.
      ValueError: a number is out of range, or the format is unknown.
    """
    sizes = shape_of("empty", "shape", shape)
    _check_format("empty", sparse_format)
    n, dense, nse = (integer("empty", k, x) for k, x in (("n_batch", n_batch), ("n_dense", n_dense), ("nse", nse)))
    if min(n, dense, nse) < 0 or n + dense > len(sizes):
        raise ValueError(
            f"empty: n_batch, n_dense and nse must be at least 0, and n_batch + n_dense at most {len(sizes)}, got {n}, "
            f"{dense} and {nse}"
        )
    if sparse_format in _MATRICES:
        _check_plain("empty", sparse_format, nse=nse, n_batch=n, n_dense=dense)
        return _MATRICES[sparse_format]._empty(sizes, dtype=dtype, index_dtype=index_dtype)
    kind = numpy_dtype("empty", "index_dtype", index_dtype)
    middle = sizes[n : len(sizes) - dense]
    check_index_dtype("empty", "index_dtype", kind, middle)
    data = pnp.zeros((*sizes[:n], nse, *sizes[len(sizes) - dense :]), dtype)
    indices = pnp.broadcast_to(pnp.array(middle, kind), (*sizes[:n], nse, len(middle)))
    return _as_format(BCOO((data, indices), shape=sizes, indices_sorted=True, unique_indices=True), sparse_format)


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike | None = None,
    index_dtype: DTypeLike = "int32",
    sparse_format: str = "bcoo",
    *,
    n_batch: int = 0,
    n_dense: int = 0,
) -> BCOO | BCSR | COO | CSR | CSC:
    """A sparse matrix with ones on a diagonal.

    Args:
      N: the number of rows.
      M: the number of columns; N if None.
      k: the diagonal: above the main one if positive, below it if negative.
      dtype: the dtype; that of `primax.numpy.eye` if None.
      index_dtype: the dtype of the indices.
      sparse_format: "bcoo", "bcsr", "coo", "csr" or "csc".
      n_batch: the number of leading batch dimensions; 0 for COO, CSR and CSC.
      n_dense: the number of trailing dense dimensions; 0 for COO, CSR and CSC.

    Raises:
      TypeError: a size is not an integer, or the format does not take an argument.
      ValueError: a number is out of range, or the format is unknown.
    """
    _check_format("eye", sparse_format)
    columns = N if M is None else M
    n, dense = integer("eye", "n_batch", n_batch), integer("eye", "n_dense", n_dense)
    if sparse_format in _MATRICES:
        _check_plain("eye", sparse_format, n_batch=n, n_dense=dense)
        return _MATRICES[sparse_format]._eye(N, columns, k, dtype=dtype, index_dtype=index_dtype)
    sizes, data, row, col = diagonal("eye", N, columns, k, dtype, index_dtype)
    mat = BCOO((data, pnp.stack([row, col], axis=1)), shape=sizes, indices_sorted=True, unique_indices=True)
    if n or dense:
        mat = bcoo_fromdense(mat.todense(), n_batch=n, n_dense=dense, index_dtype=index_dtype)
    return _as_format(mat, sparse_format)


def _check_format(function: str, sparse_format: Any) -> None:
    formats = ("bcoo", "bcsr", *_MATRICES)
    if not among(sparse_format, formats):
        raise ValueError(f"{function}: sparse_format must be one of {', '.join(formats)}, got {sparse_format!r}")


def _check_plain(function: str, sparse_format: str, **numbers: int) -> None:
    for name, number in numbers.items():
        if number:
            raise TypeError(f'{function}: {name} must be 0 for sparse_format "{sparse_format}", got {number}')


def _as_format(mat: BCOO, sparse_format: str) -> BCOO | BCSR:
    return compressed(mat) if sparse_format == "bcsr" else mat


def random_bcoo(
    key: KeyLike,
    shape: Sequence[int],
    *,
    dtype: DTypeLike = float,
    indices_dtype: DTypeLike | None = None,
    nse: float = 0.2,
    n_batch: int = 0,
    n_dense: int = 0,
    unique_indices: bool = True,
    sorted_indices: bool = False,
    generator: Callable[..., Any] = random.uniform,
    **kwds: object,
) -> BCOO:
    """A BCOO array of random numbers at random indices.

    Args:
      key: a random key.
      shape: the shape.
      dtype: the dtype of the elements.
      indices_dtype: the dtype of the indices; int32 if None.
      nse: the number of stored elements per element of the batch; if between 0 and 1, the fraction of elements stored.
      n_batch: the number of leading batch dimensions.
      n_dense: the number of trailing dense dimensions.
      unique_indices: whether the indices are unique.
      sorted_indices: whether the indices are sorted.
      generator: a function that returns the elements, `generator(key, shape, dtype=dtype, **kwds)`.
      kwds: further arguments of `generator`.

    Raises:
      TypeError: an argument has the wrong type.
      ValueError: a number is out of range.

    >>> import primax as px
    >>> from primax.experimental.sparse import random_bcoo
    >>> random_bcoo(px.random.key(0), (3, 4), nse=0.5)
    BCOO(float32[3, 4], nse=6)
    """
    name = "random_bcoo"
    sizes = shape_of(name, "shape", shape)
    n, dense = integer(name, "n_batch", n_batch), integer(name, "n_dense", n_dense)
    if min(n, dense) < 0 or n + dense > len(sizes):
        raise ValueError(
            f"{name}: n_batch and n_dense must be at least 0 and at most {len(sizes)} together, the number of "
            f"dimensions, got {n} and {dense}"
        )
    batch, middle, tail = sizes[:n], sizes[n : len(sizes) - dense], sizes[len(sizes) - dense :]
    total = prod(middle)
    part = real_number(name, "nse", nse)
    count = ceil(part * total) if 0 < part < 1 else integer(name, "nse", nse)
    if not 0 <= count <= total:
        raise ValueError(f"{name}: nse must be from 0 to {total}, the number of elements, got {nse}")
    check_function(name, "generator", generator)
    of_data, of_indices = random.split(key)
    data = generator(of_data, shape=(*batch, count, *tail), dtype=dtype, **kwds)
    kind = np.dtype(np.int32) if indices_dtype is None else numpy_dtype(name, "indices_dtype", indices_dtype)
    check_index_dtype(name, "indices_dtype", kind, middle)

    def places(single: Any) -> Any:
        chosen = random.choice(single, max(total, 1), (count,), replace=not unique_indices)
        return rows_of(chosen, middle, kind)

    keys = random.split(of_indices, batch) if batch else of_indices
    mat = BCOO((data, over_batch(places, n)(keys)), shape=sizes, unique_indices=bool(unique_indices))
    return mat.sort_indices() if sorted_indices else mat


def todense(arr: object) -> Array:
    """Convert a sparse array to a dense one; return a dense array unchanged.

    Args:
      arr: a sparse array, or an array.

    Raises:
      TypeError: `arr` is neither.
    """
    if isinstance(arr, JAXSparse):
        return arr.todense()
    out: Array = as_array("todense", "arr", arr)
    return out
