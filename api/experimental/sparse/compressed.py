"""BCSR arrays: matrices whose elements are stored row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primax import numpy as pnp
from primax import tree_util
from primax.experimental.sparse.arrays import BCOO, bcoo_fromdense
from primax.experimental.sparse.coordinates import (
    Coordinates,
    JAXSparse,
    as_array,
    check_index_dtype,
    check_sparse,
    known_shape,
    over_batch,
    refused,
    shape_of,
    with_full_batch,
)
from primax.experimental.sparse.products import bcoo_dot_general, matmul
from primax.experimental.sparse.shapes import bcoo_broadcast_in_dim, bcoo_concatenate
from primax.experimental.sparse.storage import bcoo_sort_indices, without_duplicates
from primax.extend.core import Array
from primax.extend.provisional.arguments import numpy_dtype, sequence
from primax.extend.provisional.precision import PrecisionLike
from primax.extend.provisional.typing import ArrayLike, DotDimensionNumbers, DTypeLike
from primax.plugins.sparse import row_numbers, row_starts, taken, within


@tree_util.register_pytree_node_class
class BCSR(JAXSparse):
    """A sparse matrix: elements by rows, and their columns; with batch and dense dimensions. A pytree.

    Args:
      args: (data, indices, indptr): `data` of shape (*batch, nse, *dense), and integers: `indices`, the columns, of
        shape (*batch, nse), and `indptr` of shape (*batch, rows + 1): row i has the elements indptr[i] to indptr[i +
        1]. Elements after the last row are ignored. Batch dimensions of size 1 broadcast.
      shape: the sizes of batch dimensions, rows, columns and dense dimensions.
      indices_sorted: a promise that the indices of each row are sorted.
      unique_indices: a promise that the indices of each row are unique.

    Raises:
      TypeError: an argument is not an array, or the indices are not integers.
      ValueError: the shapes do not fit.

    >>> import primax.numpy as pnp
    >>> from primax.experimental.sparse import BCSR
    >>> mat = BCSR.fromdense(pnp.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> mat, mat.indptr.tolist()
    (BCSR(float32[2, 2], nse=2), [0, 1, 2])
    >>> (mat @ pnp.array([1.0, 10.0])).tolist()
    [20.0, 3.0]
    """

    __slots__ = ("data", "indices", "indices_sorted", "indptr", "unique_indices")

    data: Any
    indices: Any
    indptr: Any
    indices_sorted: bool
    unique_indices: bool

    def __init__(
        self, args: Any, *, shape: Sequence[int], indices_sorted: bool = False, unique_indices: bool = False
    ) -> None:
        parts = sequence("BCSR", "args", args)
        if len(parts) != 3:
            raise ValueError(f"BCSR: args must be (data, indices, indptr), got {len(parts)} values")
        names = ("data", "indices", "indptr")
        self.data, self.indices, self.indptr = (as_array("BCSR", name, x) for name, x in zip(names, parts, strict=True))
        self.shape = shape_of("BCSR", "shape", shape)
        self.indices_sorted = bool(indices_sorted)
        self.unique_indices = bool(unique_indices)
        _check_parts(self)

    def __repr__(self) -> str:
        if not all(hasattr(x, "dtype") and hasattr(x, "ndim") for x in (self.data, self.indices, self.indptr)):
            return f"BCSR(data={self.data!r}, indices={self.indices!r}, indptr={self.indptr!r}, shape={self.shape})"
        kinds = "".join(f", {name}={getattr(self, name)}" for name in ("n_batch", "n_dense") if getattr(self, name))
        return f"BCSR({self.dtype}{list(self.shape)}, nse={self.nse}{kinds})"

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self.data.dtype

    @property
    def nse(self) -> int:
        """The number of stored elements, or blocks of the dense dimensions, per element of the batch."""
        return int(self.indices.shape[-1])

    @property
    def n_batch(self) -> int:
        """The number of leading dimensions whose elements have their own indices."""
        return self.indptr.ndim - 1

    @property
    def n_sparse(self) -> int:
        """The number of dimensions that are stored as indices: rows and columns."""
        return 2

    @property
    def n_dense(self) -> int:
        """The number of trailing dimensions that are stored whole."""
        return self.data.ndim - 1 - self.n_batch

    @classmethod
    def fromdense(
        cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32, n_dense: int = 0, n_batch: int = 0
    ) -> BCSR:
        """Convert a dense array; see `bcsr_fromdense`."""
        return bcsr_fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> BCSR:
        """Convert a BCOO array, with its elements sorted by indices.

        Args:
          arr: a BCOO array with two sparse dimensions.

        Raises:
          TypeError: `arr` is not a BCOO array.
          ValueError: `arr` does not have two sparse dimensions.
        """
        check_sparse("BCSR.from_bcoo", "arr", arr)
        sizes = arr.sparse_shape

        def counted_from_the_front(rows: Any) -> Any:
            positive, valid = within(rows, sizes)
            return pnp.where(valid[:, None], positive, np.array(sizes, positive.dtype))

        _check_matrix("BCSR.from_bcoo", "arr", arr)
        indices = over_batch(counted_from_the_front, arr.n_batch)(arr.indices)
        return compressed(bcoo_sort_indices(arr.remade(arr.data, indices, unique_indices=arr.unique_indices)))

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0) -> BCSR:
        """Convert a sparse array of SciPy.

        Args:
          mat: an object with SciPy's method `tocsr`.
          index_dtype: the dtype of the indices; int32 if None.
          n_dense: 0.
          n_batch: 0.

        Raises:
          TypeError: `mat` is not a sparse array of SciPy.
          NotImplementedError: `n_dense` or `n_batch` is not 0.
        """
        name = "BCSR.from_scipy_sparse"
        if not hasattr(mat, "tocsr"):
            raise TypeError(f"{name}: mat must be a sparse array of SciPy, got {mat!r}")
        if n_dense or n_batch:
            raise NotImplementedError(f"{name}: n_dense and n_batch must be 0, got {n_dense!r} and {n_batch!r}")
        kind = numpy_dtype(name, "index_dtype", np.int32 if index_dtype is None else index_dtype)
        rows = mat.tocsr()
        parts = pnp.asarray(rows.data), rows.indices.astype(kind), rows.indptr.astype(kind)
        return cls(parts, shape=rows.shape, indices_sorted=bool(rows.has_sorted_indices))

    def to_bcoo(self) -> BCOO:
        """The same array as a BCOO array."""
        flags = {"indices_sorted": self.indices_sorted, "unique_indices": self.unique_indices}
        batch = self.shape[: self.n_batch]
        columns, starts = (pnp.broadcast_to(x, (*batch, x.shape[-1])) for x in (self.indices, self.indptr))
        return BCOO((self.data, over_batch(_pairs, self.n_batch)(columns, starts)), shape=self.shape, **flags)

    def block_until_ready(self) -> BCSR:
        """Wait until the parts are computed, and return this array."""
        for x in (self.data, self.indices, self.indptr):
            x.block_until_ready()
        return self

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCSR:
        """The same array with the indices of each row sorted and unique; see `BCOO.sum_duplicates`."""
        return compressed(without_duplicates("BCSR.sum_duplicates", self.to_bcoo(), nse, remove_zeros))

    def transpose(self, *axes: Any) -> Any:
        """Raise an error: columns would become rows.

        Raises:
          NotImplementedError: always; BCOO arrays have a transpose.
        """
        raise NotImplementedError(f"BCSR.transpose: {self!r} is stored by rows; use .to_bcoo().transpose()")

    @property
    def T(self) -> Any:
        """Raise an error, as `transpose` does."""
        return self.transpose()

    def sum(self, *args: Any, **kwargs: Any) -> Any:
        """Raise an error: only BCOO arrays have sums.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(f"BCSR.sum: {self!r} has no sums; use .to_bcoo().sum()")

    def __matmul__(self, other: Any) -> Any:
        return matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return matmul(other, self)

    __eq__ = refused("equal")
    __ne__ = refused("not_equal")

    def __bool__(self) -> bool:
        raise TypeError(f"the truth of {self!r} is not defined; use .todense()")

    def tree_flatten(self) -> tuple[tuple[Any, Any, Any], tuple[Any, ...]]:
        """The arrays as leaves, and the static data."""
        return (self.data, self.indices, self.indptr), (self.shape, self.indices_sorted, self.unique_indices)

    @classmethod
    def tree_unflatten(cls, aux: tuple[Any, ...], children: Sequence[Any]) -> BCSR:
        """Rebuild the array; leaves may have more or fewer batch dimensions, as in `vmap` and `scan`."""
        out = object.__new__(cls)
        out.data, out.indices, out.indptr = children
        out.shape, out.indices_sorted, out.unique_indices = aux
        dims: list[Any] = [getattr(x, "ndim", None) for x in children]
        if None not in dims and dims[0] >= dims[1] == dims[2] >= 1:
            out.shape = known_shape(out.shape, out)
        return out


def _pairs(columns: Any, starts: Any) -> Any:
    """Indices of shape (nse, 2) from columns and the starts of rows."""
    return pnp.stack([row_numbers(starts, len(columns)).astype(columns.dtype), columns], axis=1)


def _check_matrix(function: str, argument: str, mat: Coordinates) -> None:
    if mat.n_sparse != 2:
        raise ValueError(
            f"{function}: {argument} must have two sparse dimensions, got {mat.n_sparse} of shape {mat.shape} with "
            f"n_batch={mat.n_batch} and n_dense={mat.n_dense}"
        )


def _check_parts(mat: BCSR) -> None:
    data, columns, starts = mat.data, mat.indices, mat.indptr
    n = starts.ndim - 1
    for name, x in (("indices", columns), ("indptr", starts)):
        check_index_dtype("BCSR", name, x.dtype, ())
    if n < 0 or columns.ndim != n + 1 or data.ndim < n + 1:
        raise ValueError(
            "BCSR: data, indices and indptr must have shapes (*batch, nse, *dense), (*batch, nse) and "
            f"(*batch, rows + 1), got {data.shape}, {columns.shape} and {starts.shape}"
        )
    if mat.ndim != data.ndim + 1:
        raise ValueError(
            f"BCSR: shape must have {data.ndim + 1} dimensions for data of shape {data.shape}, got {mat.shape}"
        )
    batch, (rows, width), dense = mat.shape[:n], mat.shape[n : n + 2], mat.shape[n + 2 :]
    if starts.shape[n] != rows + 1:
        raise ValueError(f"BCSR: indptr must have {rows + 1} starts for {rows} rows, got shape {starts.shape}")
    if data.shape[n:] != (mat.nse, *dense):
        data_shape = (*batch, mat.nse, *dense)
        raise ValueError(f"BCSR: data must have shape {data_shape} for indices of {columns.shape}, got {data.shape}")
    check_index_dtype("BCSR", "indices", columns.dtype, (rows, width))
    check_index_dtype("BCSR", "indptr", starts.dtype, (mat.nse,))
    for name, x in (("data", data), ("indices", columns), ("indptr", starts)):
        if any(size not in (1, whole) for size, whole in zip(x.shape[:n], batch, strict=True)):
            raise ValueError(f"BCSR: {name} must have batch dimensions of {batch}, or of 1, got {x.shape[:n]}")


def _check_bcsr(function: str, argument: str, value: Any) -> None:
    if not isinstance(value, BCSR):
        raise TypeError(f"{function}: {argument} must be a BCSR, got {value!r}; BCSR.fromdense makes one of an array")


def compressed(mat: BCOO) -> BCSR:
    """Convert a BCOO array whose elements are sorted, with those out of range last, to a BCSR array."""
    _check_matrix("BCSR", "args", mat)
    data, indices = with_full_batch(mat)
    rows = mat.sparse_shape[0]

    parts = data, indices[..., 1], over_batch(lambda places: row_starts(places[:, 0], rows), mat.n_batch)(indices)
    return BCSR(parts, shape=mat.shape, indices_sorted=True, unique_indices=mat.unique_indices)


def bcsr_fromdense(
    mat: ArrayLike, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0, index_dtype: DTypeLike = np.int32
) -> BCSR:
    """Convert a dense array to a BCSR array, which stores the elements that are not 0.

    Args:
      mat: an array with two dimensions between its batch and its dense dimensions.
      nse: the number of stored elements; see `bcoo_fromdense`.
      n_batch: the number of leading batch dimensions.
      n_dense: the number of trailing dense dimensions.
      index_dtype: the dtype of the indices.

    Raises:
      TypeError: `mat` is not an array, or a number is not an integer.
      ValueError: a number is out of range, or `nse` is None and `mat` is traced.
    """
    out = bcoo_fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)
    _check_matrix("bcsr_fromdense", "mat", out)
    return compressed(out)


def bcsr_todense(mat: BCSR) -> Array:
    """Convert to a dense array; elements with the same indices are added.

    Args:
      mat: a BCSR array.

    Raises:
      TypeError: `mat` is not a BCSR array.
    """
    _check_bcsr("bcsr_todense", "mat", mat)
    return mat.todense()


def bcsr_extract(indices: ArrayLike, indptr: ArrayLike, mat: ArrayLike) -> Array:
    """The elements of a dense array at the indices of a BCSR array: the data of such an array.

    Args:
      indices: the columns, integers of shape (*batch, nse).
      indptr: the starts of rows, integers of shape (*batch, rows + 1).
      mat: an array of shape (*batch, rows, columns, *dense).

    Raises:
      TypeError: an argument is not an array, or the indices are not integers.
      ValueError: the shapes do not fit.
    """
    dense = as_array("bcsr_extract", "mat", mat)
    columns, starts = as_array("bcsr_extract", "indices", indices), as_array("bcsr_extract", "indptr", indptr)
    n = starts.ndim - 1
    if not 0 <= n <= dense.ndim - 2 or columns.ndim != n + 1:
        raise ValueError(
            "bcsr_extract: indices, indptr and mat must have shapes (*batch, nse), (*batch, rows + 1) and "
            f"(*batch, rows, columns, *dense), got {columns.shape}, {starts.shape} and {dense.shape}"
        )
    shape = (*columns.shape, *dense.shape[n + 2 :])
    layout = BCSR((pnp.zeros(shape, dense.dtype), columns, starts), shape=dense.shape)
    out: Array = over_batch(taken, n)(dense, layout.to_bcoo().indices)
    return out


def bcsr_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: None = None,
) -> Any:
    """`primax.lax.dot_general` of two arrays; one or both are BCSR arrays.

    Args:
      lhs: a sparse or dense array.
      rhs: a sparse or dense array.
      dimension_numbers: see `bcoo_dot_general`.
      precision: the precision of dense products; see `primax.lax.dot_general`.
      preferred_element_type: the dtype of the result.
      out_sharding: None.

    Returns:
      A dense array, or a BCOO array if both operands are sparse.

    Raises:
      TypeError: an operand is not an array.
      ValueError: the dimensions do not fit.
      NotImplementedError: see `bcoo_dot_general`.
    """
    return bcoo_dot_general(
        lhs,
        rhs,
        dimension_numbers=dimension_numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
        out_sharding=out_sharding,
    )


def bcsr_broadcast_in_dim(
    mat: BCSR, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: None = None
) -> BCSR:
    """The array with more dimensions, along which its elements are repeated; see `bcoo_broadcast_in_dim`.

    Args:
      mat: a BCSR array.
      shape: the shape of the result.
      broadcast_dimensions: for each dimension of `mat`, the dimension of the result, in ascending order.
      sharding: None.

    Raises:
      TypeError: `mat` is not a BCSR array.
      ValueError: the dimensions do not fit, or the result would not have two sparse dimensions.
      NotImplementedError: elements would be repeated along a sparse dimension, or `sharding` is not None.
    """
    _check_bcsr("bcsr_broadcast_in_dim", "mat", mat)
    out = bcoo_broadcast_in_dim(
        mat.to_bcoo(), shape=shape, broadcast_dimensions=broadcast_dimensions, sharding=sharding
    )
    _check_matrix("bcsr_broadcast_in_dim", "the result", out)
    return BCSR.from_bcoo(out)


def bcsr_concatenate(operands: Sequence[BCSR], *, dimension: int) -> BCSR:
    """Join arrays along a dimension; see `bcoo_concatenate`.

    Args:
      operands: BCSR arrays with the same numbers of batch and dense dimensions, whose shapes agree except in
        `dimension`.
      dimension: the dimension along which they are joined; not a dense one.

    Raises:
      TypeError: an operand is not a BCSR array.
      ValueError: `operands` is empty, or shapes or layouts differ.
      NotImplementedError: `dimension` is dense.
    """
    arrays = sequence("bcsr_concatenate", "operands", operands)
    for i, array in enumerate(arrays):
        _check_bcsr("bcsr_concatenate", f"operands[{i}]", array)
    return BCSR.from_bcoo(bcoo_concatenate([array.to_bcoo() for array in arrays], dimension=dimension))


def bcsr_sum_duplicates(mat: BCSR, nse: int | None = None) -> BCSR:
    """The same array with the indices of each row sorted and unique; see `bcoo_sum_duplicates`.

    Args:
      mat: a BCSR array.
      nse: the number of elements that the result stores. If None, as many as are unique; traced arrays need a number.

    Raises:
      TypeError: `mat` is not a BCSR array.
      ValueError: `nse` is negative, or `nse` is None and the array is traced.
    """
    _check_bcsr("bcsr_sum_duplicates", "mat", mat)
    return mat.sum_duplicates(nse)
