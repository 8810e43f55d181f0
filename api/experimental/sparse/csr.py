"""CSR and CSC arrays: matrices whose elements are stored row by row, or column by column, and their products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from primax import numpy as pnp
from primax import tree_util
from primax.experimental.sparse.coordinates import as_array
from primax.experimental.sparse.matrices import Matrix, check_matrix, diagonal, no_elements
from primax.experimental.sparse.storage import stored_count
from primax.extend.core import Array
from primax.extend.provisional.arguments import numpy_dtype
from primax.extend.provisional.typing import ArrayLike, DTypeLike
from primax.plugins.sparse import (
    BY_COLUMNS,
    BY_ROWS,
    csr_fromdense_p,
    csr_matmat_p,
    csr_matvec_p,
    csr_todense_p,
    row_starts,
)

__all__ = [
    "CSC",
    "CSR",
    "csr_fromdense",
    "csr_fromdense_p",
    "csr_matmat",
    "csr_matmat_p",
    "csr_matvec",
    "csr_matvec_p",
    "csr_todense",
    "csr_todense_p",
]


class _Compressed(Matrix):
    """A sparse matrix by rows or by columns; `indptr` says where the elements of each begin."""

    __slots__ = ("indices", "indptr")

    _axis: int  # 0 by rows, 1 by columns
    indices: Any
    indptr: Any

    @classmethod
    def _empty(cls, shape: Sequence[int], *, dtype: Any = None, index_dtype: Any = "int32") -> Self:
        sizes, data, indices = no_elements(f"{cls.__name__}._empty", shape, dtype, index_dtype)
        return cls((data, indices, pnp.zeros(sizes[cls._axis] + 1, indices.dtype)), shape=sizes)

    @classmethod
    def _eye(cls, N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32") -> Self:
        sizes, data, *places = diagonal(f"{cls.__name__}._eye", N, M, k, dtype, index_dtype)
        starts = row_starts(places[cls._axis], sizes[cls._axis])
        return cls((data, places[1 - cls._axis], starts), shape=sizes)


@tree_util.register_pytree_node_class
class CSR(_Compressed):
    """A sparse matrix: elements by rows, and their columns. A pytree.

    Args:
      args: (data, indices, indptr): the elements, of shape (nse,), and integers: `indices`, the columns, of shape
        (nse,), and `indptr` of shape (rows + 1,): row i has the elements indptr[i] to indptr[i + 1]. Elements after the
        last row are ignored.
      shape: the numbers of rows and columns.

    Raises:
      TypeError: an argument is not an array, or the indices are not integers of the same dtype.
      ValueError: the shapes do not fit.

    >>> import primax.numpy as pnp
    >>> from primax.experimental.sparse import CSR
    >>> mat = CSR.fromdense(pnp.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> mat, mat.indices.tolist(), mat.indptr.tolist()
    (CSR(float32[2, 2], nse=2), [1, 0], [0, 1, 2])
    >>> (mat @ pnp.array([1.0, 10.0])).tolist()
    [20.0, 3.0]
    """

    __slots__ = ()

    _layout = BY_ROWS
    _axis = 0

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSR:
        """Convert a dense matrix; see `csr_fromdense`."""
        return csr_fromdense(mat, nse=nse, index_dtype=index_dtype)

    def todense(self) -> Array:
        """The dense matrix; see `csr_todense`."""
        return csr_todense(self)

    def _transposed(self) -> CSC:
        return CSC(self._bufs, shape=self.shape[::-1])

    def _times(self, x: Any) -> Array:
        return csr_matvec(self, x) if x.ndim == 1 else csr_matmat(self, x)


@tree_util.register_pytree_node_class
class CSC(_Compressed):
    """A sparse matrix: elements by columns, and their rows. A pytree.

    Args:
      args: (data, indices, indptr): the elements, of shape (nse,), and integers: `indices`, the rows, of shape (nse,),
        and `indptr` of shape (columns + 1,): column i has the elements indptr[i] to indptr[i + 1]. Elements after the
        last column are ignored.
      shape: the numbers of rows and columns.

    Raises:
      TypeError: an argument is not an array, or the indices are not integers of the same dtype.
      ValueError: the shapes do not fit.

    >>> import primax.numpy as pnp
    >>> from primax.experimental.sparse import CSC
    >>> mat = CSC.fromdense(pnp.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> mat, mat.data.tolist(), mat.T
    (CSC(float32[2, 2], nse=2), [3.0, 2.0], CSR(float32[2, 2], nse=2))
    >>> (mat @ pnp.array([1.0, 10.0])).tolist()
    [20.0, 3.0]
    """

    __slots__ = ()

    _layout = BY_COLUMNS
    _axis = 1

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSC:
        """Convert a dense matrix; see `csr_fromdense` for `nse` and `index_dtype`."""
        dense = as_array("CSC.fromdense", "mat", mat)
        if dense.ndim != 2:
            raise ValueError(f"CSC.fromdense: mat must have two dimensions, got {dense.ndim} of shape {dense.shape}")
        return csr_fromdense(dense.T, nse=nse, index_dtype=index_dtype)._transposed()

    def todense(self) -> Array:
        """The dense matrix; see `csr_todense`."""
        return csr_todense(self._transposed()).T

    def _transposed(self) -> CSR:
        return CSR(self._bufs, shape=self.shape[::-1])

    def _times(self, x: Any) -> Array:
        rows = self._transposed()
        return csr_matvec(rows, x, transpose=True) if x.ndim == 1 else csr_matmat(rows, x, transpose=True)


def csr_fromdense(mat: ArrayLike, *, nse: int | None = None, index_dtype: DTypeLike = np.int32) -> CSR:
    """Convert a dense matrix to a CSR array; see `coo_fromdense`. Zeros after the last row fill the rest.

    >>> import primax.numpy as pnp
    >>> from primax.experimental.sparse import csr_fromdense
    >>> csr_fromdense(pnp.array([[0, 2], [3, 0]])).indptr.tolist()
    [0, 1, 2]
    """
    dense = as_array("csr_fromdense", "mat", mat)
    count = stored_count("csr_fromdense", nse, None if nse is not None else pnp.sum(dense != 0))
    kind = numpy_dtype("csr_fromdense", "index_dtype", index_dtype)
    return CSR(csr_fromdense_p.bind(dense, nse=count, index_dtype=kind), shape=dense.shape)


def csr_todense(mat: CSR) -> Array:
    """Convert to a dense matrix; elements with the same indices are added; see `coo_todense`."""
    check_matrix("csr_todense", CSR, mat)
    return csr_todense_p.bind(*mat._bufs, shape=mat.shape)


def csr_matvec(mat: CSR, v: ArrayLike, transpose: bool = False) -> Array:
    """The product of a CSR array and a dense vector; see `coo_matvec`."""
    check_matrix("csr_matvec", CSR, mat)
    vector = as_array("csr_matvec", "v", v)
    return csr_matvec_p.bind(*mat._bufs, vector, shape=mat.shape, transpose=bool(transpose))


def csr_matmat(mat: CSR, B: ArrayLike, *, transpose: bool = False) -> Array:
    """The product of a CSR array and a dense matrix; see `coo_matmat`."""
    check_matrix("csr_matmat", CSR, mat)
    columns = as_array("csr_matmat", "B", B)
    return csr_matmat_p.bind(*mat._bufs, columns, shape=mat.shape, transpose=bool(transpose))
