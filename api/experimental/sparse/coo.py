"""COO arrays: matrices whose elements are stored with their rows and columns, and their products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primax import numpy as pnp
from primax import tree_util
from primax.experimental.sparse.coordinates import as_array
from primax.experimental.sparse.matrices import Matrix, check_matrix, diagonal, no_elements
from primax.experimental.sparse.storage import stored_count
from primax.extend.core import Array
from primax.extend.provisional.arguments import numpy_dtype
from primax.extend.provisional.typing import ArrayLike, DTypeLike
from primax.plugins.sparse import BY_COORDINATES, COOInfo, coo_fromdense_p, coo_matmat_p, coo_matvec_p, coo_todense_p

__all__ = [
    "COO",
    "COOInfo",
    "coo_fromdense",
    "coo_fromdense_p",
    "coo_matmat",
    "coo_matmat_p",
    "coo_matvec",
    "coo_matvec_p",
    "coo_todense",
    "coo_todense_p",
]


@tree_util.register_pytree_node_class
class COO(Matrix):
    """A sparse matrix: elements with their rows and columns. A pytree.

    Args:
      args: (data, row, col): the elements, and integers of the same shape (nse,). Elements with the same indices are
        added; those with an index out of range are ignored.
      shape: the numbers of rows and columns.
      rows_sorted: a promise that the elements are sorted by rows.
      cols_sorted: a promise that the elements are sorted by columns.

    Raises:
      TypeError: an argument is not an array, or the indices are not integers of the same dtype.
      ValueError: the shapes do not fit.

    >>> import primax.numpy as pnp
    >>> from primax.experimental.sparse import COO
    >>> mat = COO.fromdense(pnp.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> mat, mat.row.tolist(), mat.col.tolist()
    (COO(float32[2, 2], nse=2), [0, 1], [1, 0])
    >>> (mat @ pnp.array([1.0, 10.0])).tolist()
    [20.0, 3.0]
    """

    __slots__ = ("_cols_sorted", "_rows_sorted", "col", "row")

    _layout = BY_COORDINATES
    row: Any
    col: Any
    _rows_sorted: bool
    _cols_sorted: bool

    def __init__(
        self, args: Any, *, shape: Sequence[int], rows_sorted: bool = False, cols_sorted: bool = False
    ) -> None:
        super().__init__(args, shape=shape)
        self._rows_sorted = bool(rows_sorted)
        self._cols_sorted = bool(cols_sorted)

    @property
    def _info(self) -> COOInfo:
        rows, columns = self.shape
        return COOInfo((rows, columns), self._rows_sorted, self._cols_sorted)

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> COO:
        """Convert a dense matrix; see `coo_fromdense`."""
        return coo_fromdense(mat, nse=nse, index_dtype=index_dtype)

    @classmethod
    def _empty(cls, shape: Sequence[int], *, dtype: Any = None, index_dtype: Any = "int32") -> COO:
        sizes, data, indices = no_elements("COO._empty", shape, dtype, index_dtype)
        return cls((data, indices, indices), shape=sizes, rows_sorted=True, cols_sorted=True)

    @classmethod
    def _eye(cls, N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32") -> COO:
        sizes, *parts = diagonal("COO._eye", N, M, k, dtype, index_dtype)
        return cls(parts, shape=sizes, rows_sorted=True, cols_sorted=True)

    def _sort_indices(self) -> COO:
        """The same matrix with its elements sorted by rows, and by columns within a row."""
        if self._rows_sorted:
            return self
        order = pnp.lexsort((self.col, self.row))
        return COO((self.data[order], self.row[order], self.col[order]), shape=self.shape, rows_sorted=True)

    def todense(self) -> Array:
        """The dense matrix; see `coo_todense`."""
        return coo_todense(self)

    def _transposed(self) -> COO:
        return COO(
            (self.data, self.col, self.row),
            shape=self.shape[::-1],
            rows_sorted=self._cols_sorted,
            cols_sorted=self._rows_sorted,
        )

    def _times(self, x: Any) -> Array:
        return coo_matvec(self, x) if x.ndim == 1 else coo_matmat(self, x)

    def tree_flatten(self) -> tuple[tuple[Any, Any, Any], dict[str, Any]]:
        """The arrays as leaves, and the static data."""
        return self._bufs, self._info._asdict()

    @classmethod
    def tree_unflatten(cls, aux_data: dict[str, Any], children: Sequence[Any]) -> COO:
        """Rebuild the array from its leaves."""
        out = super().tree_unflatten(aux_data, children)
        out._rows_sorted, out._cols_sorted = aux_data["rows_sorted"], aux_data["cols_sorted"]
        return out


def coo_fromdense(mat: ArrayLike, *, nse: int | None = None, index_dtype: DTypeLike = np.int32) -> COO:
    """Convert a dense matrix to a COO array, which stores the elements that are not 0.

    Args:
      mat: a two-dimensional array.
      nse: the number of stored elements. If it exceeds the number of nonzero elements, zeros at row and column 0 fill
        the rest; if it is smaller, later elements are dropped. If None, it is the number of nonzero elements; traced
        arrays need a number.
      index_dtype: the dtype of the indices.

    Raises:
      TypeError: `mat` is not an array, `nse` not an integer, or `index_dtype` not a dtype of integers.
      ValueError: `mat` is not two-dimensional, `index_dtype` cannot hold its sizes, or `nse` is negative, or None
        where `mat` is traced.

    >>> import primax.numpy as pnp
    >>> from primax.experimental.sparse import coo_fromdense
    >>> coo_fromdense(pnp.array([[0, 2], [3, 0]])).data.tolist()
    [2, 3]
    """
    dense = as_array("coo_fromdense", "mat", mat)
    count = stored_count("coo_fromdense", nse, None if nse is not None else pnp.sum(dense != 0))
    kind = numpy_dtype("coo_fromdense", "index_dtype", index_dtype)
    return COO(coo_fromdense_p.bind(dense, nse=count, index_dtype=kind), shape=dense.shape, rows_sorted=True)


def coo_todense(mat: COO) -> Array:
    """Convert to a dense matrix; elements with the same indices are added.

    Args:
      mat: a COO array.

    Raises:
      TypeError: `mat` is not a COO array.
    """
    check_matrix("coo_todense", COO, mat)
    return coo_todense_p.bind(*mat._bufs, spinfo=mat._info)


def coo_matvec(mat: COO, v: ArrayLike, transpose: bool = False) -> Array:
    """The product of a COO array and a dense vector.

    Args:
      mat: a COO array.
      v: a vector of the dtype of `mat`.
      transpose: whether to multiply by the transpose of `mat`.

    Raises:
      TypeError: `mat` is not a COO array, or `v` not an array of its dtype.
      ValueError: the shape of `v` does not fit.
    """
    check_matrix("coo_matvec", COO, mat)
    vector = as_array("coo_matvec", "v", v)
    return coo_matvec_p.bind(*mat._bufs, vector, spinfo=mat._info, transpose=bool(transpose))


def coo_matmat(mat: COO, B: ArrayLike, *, transpose: bool = False) -> Array:
    """The product of a COO array and a dense matrix.

    Args:
      mat: a COO array.
      B: a matrix of the dtype of `mat`.
      transpose: whether to multiply by the transpose of `mat`.

    Raises:
      TypeError: `mat` is not a COO array, or `B` not an array of its dtype.
      ValueError: the shape of `B` does not fit.
    """
    check_matrix("coo_matmat", COO, mat)
    columns = as_array("coo_matmat", "B", B)
    return coo_matmat_p.bind(*mat._bufs, columns, spinfo=mat._info, transpose=bool(transpose))
