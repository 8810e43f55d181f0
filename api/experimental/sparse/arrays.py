"""BCOO arrays: their class, with operators, and their creation from dense arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from primax import numpy as pnp
from primax import tree_util
from primax.experimental.sparse.coordinates import Coordinates, JAXSparse, as_array, axes_of, is_single
from primax.experimental.sparse.products import added, bcoo_multiply_dense, bcoo_multiply_sparse, matmul
from primax.experimental.sparse.shapes import bcoo_broadcast_in_dim, bcoo_reduce_sum, bcoo_reshape, bcoo_transpose
from primax.experimental.sparse.slices import indexed
from primax.experimental.sparse.storage import (
    bcoo_sort_indices,
    bcoo_todense,
    bcoo_update_layout,
    parts_of_dense,
    with_unique_indices,
    without_duplicates,
)
from primax.extend.core import Array
from primax.extend.provisional.arguments import among, integer, numpy_dtype, sequence
from primax.extend.provisional.typing import ArrayLike, DTypeLike
from primax.numpy.reductions import wide_integer


@tree_util.register_pytree_node_class
class BCOO(Coordinates):
    """A sparse array: elements and their indices, with leading batch and trailing dense dimensions. A pytree.

    Args:
      args: (data, indices): `data` of shape (*batch, nse, *dense), and integers of shape (*batch, nse, n_sparse).
        Elements with the same indices are added; those with an index out of range are ignored. Batch dimensions of size
        1 broadcast.
      shape: the sizes of batch, sparse and dense dimensions.
      indices_sorted: a promise that the indices are sorted.
      unique_indices: a promise that the indices are unique.

    Raises:
      TypeError: an argument is not an array, or the indices are not integers.
      ValueError: the shapes do not fit.

    >>> import primax.numpy as pnp
    >>> from primax.experimental.sparse import BCOO
    >>> mat = BCOO.fromdense(pnp.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> mat
    BCOO(float32[2, 2], nse=2)
    >>> (mat @ pnp.array([1.0, 10.0])).tolist()
    [20.0, 3.0]
    """

    __slots__ = ()

    def __repr__(self) -> str:
        if not all(hasattr(x, "dtype") and hasattr(x, "ndim") for x in (self.data, self.indices)):
            return f"BCOO(data={self.data!r}, indices={self.indices!r}, shape={self.shape})"
        kinds = "".join(f", {name}={getattr(self, name)}" for name in ("n_batch", "n_dense") if getattr(self, name))
        return f"BCOO({self.dtype}{list(self.shape)}, nse={self.nse}{kinds})"

    @classmethod
    def fromdense(
        cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32, n_dense: int = 0, n_batch: int = 0
    ) -> BCOO:
        """Convert a dense array; see `bcoo_fromdense`."""
        return bcoo_fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0) -> BCOO:
        """Convert a sparse array of SciPy.

        Args:
          mat: an object with SciPy's method `tocoo`.
          index_dtype: the dtype of the indices; int32 if None.
          n_dense: 0; `update_layout` changes it.
          n_batch: 0; `update_layout` changes it.

        Raises:
          TypeError: `mat` is not a sparse array of SciPy.
          NotImplementedError: `n_dense` or `n_batch` is not 0.
        """
        name = "BCOO.from_scipy_sparse"
        if not hasattr(mat, "tocoo"):
            raise TypeError(f"{name}: mat must be a sparse array of SciPy, got {mat!r}")
        if n_dense or n_batch:
            raise NotImplementedError(
                f"{name}: n_dense and n_batch must be 0, got {n_dense!r} and {n_batch!r}; use update_layout afterwards"
            )
        kind = numpy_dtype(name, "index_dtype", np.int32 if index_dtype is None else index_dtype)
        coo = mat.tocoo()
        indices = np.stack([coo.row, coo.col], axis=-1).astype(kind)
        return cls((pnp.asarray(coo.data), indices), shape=coo.shape)

    @property
    def T(self) -> BCOO:
        """The array with its dimensions in reverse order."""
        return self.transpose()

    def todense(self) -> Array:
        """The dense array; see `bcoo_todense`."""
        return bcoo_todense(self)

    def block_until_ready(self) -> BCOO:
        """Wait until the parts are computed, and return this array."""
        for x in (self.data, self.indices):
            x.block_until_ready()
        return self

    def astype(self, dtype: Any) -> BCOO:
        """The array with elements of another dtype."""
        kind = numpy_dtype("BCOO.astype", "dtype", dtype)
        return self if kind == self.dtype else self.remade(self.data.astype(kind))

    def transpose(self, axes: Sequence[int] | None = None) -> BCOO:
        """The array with its dimensions permuted, or reversed if `axes` is None; see `bcoo_transpose`."""
        return bcoo_transpose(self, permutation=range(self.ndim)[::-1] if axes is None else axes)

    def reshape(self, *shape: Any, order: str = "C") -> BCOO:
        """The elements in another shape, in which one size may be -1; see `bcoo_reshape`.

        Args:
          shape: the sizes, or one sequence of them.
          order: "C".

        Raises:
          NotImplementedError: `order` is not "C".
          ValueError: the shape does not fit; see `bcoo_reshape`.
        """
        if not among(order, ("C",)):
            raise NotImplementedError(f'BCOO.reshape: order must be "C", got {order!r}; use transpose')
        requested = shape if len(shape) != 1 or is_single(shape[0]) else sequence("BCOO.reshape", "shape", shape[0])
        sizes = [integer("BCOO.reshape", f"shape[{i}]", size) for i, size in enumerate(requested)]
        if sizes.count(-1) == 1:
            rest = prod(size for size in sizes if size != -1)
            if not rest or self.size % rest:
                raise ValueError(f"BCOO.reshape: shape must have {self.size} elements as {self.shape} has, got {sizes}")
            sizes[sizes.index(-1)] = self.size // rest
        return bcoo_reshape(self, new_sizes=sizes)

    def sum(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        """Sum over dimensions: a sparse array, or a dense array of shape () if no dimension is left.

        Args:
          axis: one or several dimensions; all if None.
          dtype: the dtype of the sums; by default that of the elements, but at least of the default width for integers
            and booleans.
          keepdims: whether summed dimensions stay with size 1.
        """
        axes = tuple(range(self.ndim)) if axis is None else axes_of("BCOO.sum", "axis", axis, self.ndim)
        mat = self.astype(wide_integer(self.dtype) if dtype is None else dtype)
        out = bcoo_reduce_sum(mat, axes=axes)
        if keepdims:
            places = [i for i in range(self.ndim) if i not in axes]
            shape = [1 if i in axes else size for i, size in enumerate(self.shape)]
            return bcoo_broadcast_in_dim(out, shape=shape, broadcast_dimensions=places)
        return out if out.ndim else out.todense()

    def sort_indices(self) -> BCOO:
        """The same array with its elements sorted by their indices."""
        return bcoo_sort_indices(self)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
        """The same array with its indices sorted and unique; see `bcoo_sum_duplicates`.

        Args:
          nse: the number of elements that the result stores; all if None.
          remove_zeros: whether to drop elements that are 0.
        """
        return without_duplicates("BCOO.sum_duplicates", self, nse, remove_zeros)

    def update_layout(
        self, *, n_batch: int | None = None, n_dense: int | None = None, on_inefficient: str | None = "error"
    ) -> BCOO:
        """The same array with other numbers of batch and dense dimensions; see `bcoo_update_layout`."""
        return bcoo_update_layout(self, n_batch=n_batch, n_dense=n_dense, on_inefficient=on_inefficient)

    def __getitem__(self, index: Any) -> BCOO:
        return indexed(self, index)

    def __iter__(self) -> Iterator[BCOO]:
        return iter([self[i] for i in range(len(self))])

    def __pos__(self) -> BCOO:
        return self

    def __neg__(self) -> BCOO:
        return self.remade(-self.data)

    def __abs__(self) -> BCOO:
        mat = with_unique_indices(self)
        return mat.remade(abs(mat.data))

    def __add__(self, other: Any) -> Any:
        return added(self, other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return added(self, other, -1)

    def __rsub__(self, other: Any) -> Any:
        return added(-self, other, 1)

    def __mul__(self, other: Any) -> BCOO:
        if isinstance(other, Coordinates):
            return bcoo_multiply_sparse(self, other)
        return self.remade(bcoo_multiply_dense(self, other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> BCOO:
        if isinstance(other, JAXSparse):
            raise NotImplementedError(f"divide: a divisor must be dense, got {other!r}; use its .todense()")
        if is_single(other):
            return self.remade(self.data / other)
        return self.remade(bcoo_multiply_dense(self, 1 / as_array("divide", "the divisor", other)))

    def __rtruediv__(self, other: Any) -> Any:
        raise NotImplementedError(f"divide: a divisor must be dense, got {self!r}; use its .todense()")

    def __pow__(self, other: Any) -> BCOO:
        if not isinstance(other, (int, np.integer)) or other < 1:
            raise NotImplementedError(
                f"power: the exponent of {self!r} must be a positive int, got {other!r}; use .todense()"
            )
        mat = with_unique_indices(self)
        return mat.remade(mat.data**other)

    def __matmul__(self, other: Any) -> Any:
        return matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return matmul(other, self)

    def __eq__(self, other: object) -> Any:
        raise NotImplementedError(f"equal: the result for {self!r} is dense; compare the dense arrays, .todense()")

    def __ne__(self, other: object) -> Any:
        raise NotImplementedError(f"not_equal: the result for {self!r} is dense; compare the dense arrays, .todense()")

    def __bool__(self) -> bool:
        raise TypeError(f"the truth of {self!r} is not defined; use .todense()")


def bcoo_fromdense(
    mat: ArrayLike, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0, index_dtype: DTypeLike = np.int32
) -> BCOO:
    """Convert a dense array to a BCOO array, which stores the elements that are not 0.

    Args:
      mat: an array.
      nse: the number of stored elements per element of the batch. If it exceeds the number of nonzero elements, zeros
        with indices out of range fill the rest; if it is smaller, later elements are dropped. If None, it is the number
        of nonzero elements; traced arrays need a number.
      n_batch: the number of leading batch dimensions.
      n_dense: the number of trailing dense dimensions.
      index_dtype: the dtype of the indices.

    Raises:
      TypeError: `mat` is not an array, or a number is not an integer.
      ValueError: a number is out of range, or `nse` is None and `mat` is traced.
    """
    parts = parts_of_dense("bcoo_fromdense", mat, nse, n_batch, n_dense, index_dtype)
    return BCOO(parts, shape=np.shape(mat), indices_sorted=True, unique_indices=True)
