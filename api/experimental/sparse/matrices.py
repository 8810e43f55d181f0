"""The base class of sparse matrices without batch and dense dimensions, and the checks of their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from primax import numpy as pnp
from primax.experimental.sparse.arrays import BCOO
from primax.experimental.sparse.coordinates import JAXSparse, as_array, check_index_dtype, shape_of
from primax.experimental.sparse.products import matmul
from primax.extend.core import get_aval
from primax.extend.provisional.arguments import integer, numpy_dtype, sequence
from primax.plugins.sparse import Layout

_T = TypeVar("_T", bound="Matrix")


class Matrix(JAXSparse):
    """A sparse matrix of one array of elements and two arrays of indices.

    Args:
      args: the three arrays.
      shape: the numbers of rows and columns.

    Raises:
      TypeError: an argument is not an array, or the indices are not integers of the same dtype.
      ValueError: the shapes do not fit.
    """

    __slots__ = ("data",)

    _layout: Layout
    data: Any

    def __init__(self, args: Any, *, shape: Sequence[int]) -> None:
        name = type(self).__name__
        super().__init__(args, shape=shape)
        parts, names = sequence(name, "args", args), ("data", *self._layout.parts)
        if len(parts) != 3:
            raise ValueError(f"{name}: args must be ({', '.join(names)}), got {len(parts)} values")
        arrays = [as_array(name, part, x) for part, x in zip(names, parts, strict=True)]
        data, first, second = map(get_aval, arrays)
        self._layout.check(name, data, first, second, self.shape)
        for part, x in zip(names, arrays, strict=True):
            setattr(self, part, x)

    def __repr__(self) -> str:
        children, _ = self.tree_flatten()
        name = type(self).__name__
        if not all(hasattr(x, "dtype") and hasattr(x, "ndim") for x in children):
            parts = zip(("data", *self._layout.parts), children, strict=True)
            return f"{name}({', '.join(f'{part}={x!r}' for part, x in parts)}, shape={self.shape})"
        return f"{name}({self.dtype}{list(self.shape)}, nse={self.nse})"

    @property
    def _bufs(self) -> tuple[Any, Any, Any]:
        first, second = self._layout.parts
        return self.data, getattr(self, first), getattr(self, second)

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self.data.dtype

    @property
    def nse(self) -> int:
        """The number of stored elements."""
        return int(self.data.size)

    @property
    def T(self) -> Any:
        """The transpose."""
        return self.transpose()

    def transpose(self, axes: None = None) -> Any:
        """The transpose.

        Args:
          axes: None.

        Raises:
          NotImplementedError: `axes` is not None.
        """
        if axes is not None:
            raise NotImplementedError(f"{type(self).__name__}.transpose: axes must be None, got {axes!r}")
        return self._transposed()

    def _transposed(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._transposed: the class must define it")

    def sum(self, *args: Any, **kwargs: Any) -> Any:
        """Raise an error: only BCOO arrays have sums.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(f"{type(self).__name__}.sum: {self!r} has no sums; use .to_bcoo().sum()")

    def to_bcoo(self) -> BCOO:
        """The same matrix as a BCOO array."""
        data, first, second = self._bufs
        return BCOO((data, self._layout.rows(first, second)), shape=self.shape)

    def block_until_ready(self: _T) -> _T:
        """Wait until the parts are computed, and return this array."""
        for x in self._bufs:
            x.block_until_ready()
        return self

    def _times(self, x: Any) -> Any:
        """The product with an array of one or two dimensions of the same dtype."""
        raise NotImplementedError(f"{type(self).__name__}._times: the class must define it")

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, JAXSparse):
            return matmul(self, other)
        x = as_array("matmul", "rhs", other)
        if x.ndim not in (1, 2):
            return matmul(self, x)
        dtype = pnp.result_type(self.data, x)
        if dtype == self.dtype:
            return self._times(x.astype(dtype))
        (data, *others), aux = self.tree_flatten()
        return type(self).tree_unflatten(aux, (data.astype(dtype), *others))._times(x.astype(dtype))

    def __rmatmul__(self, other: Any) -> Any:
        return matmul(other, self)

    def tree_flatten(self) -> tuple[tuple[Any, Any, Any], dict[str, Any]]:
        """The arrays as leaves, and the static data."""
        return self._bufs, {"shape": self.shape}

    @classmethod
    def tree_unflatten(cls: type[_T], aux_data: dict[str, Any], children: Sequence[Any]) -> _T:
        """Rebuild the array from its leaves."""
        out = object.__new__(cls)
        for part, x in zip(("data", *cls._layout.parts), children, strict=True):
            setattr(out, part, x)
        out.shape = aux_data["shape"]
        return out


def check_matrix(function: str, kind: type[Matrix], mat: Any) -> None:
    """Check that an argument is a matrix of a class.

    Raises:
      TypeError: it is not.
    """
    if not isinstance(mat, kind):
        name = kind.__name__
        raise TypeError(f"{function}: mat must be a {name}, got {mat!r}; {name}.fromdense makes one of an array")


def no_elements(function: str, shape: Any, dtype: Any, index_dtype: Any) -> tuple[tuple[int, ...], Any, Any]:
    """The shape of a matrix without stored elements, and its arrays of elements and of indices.

    Raises:
      ValueError: `shape` does not have two sizes.
    """
    sizes = shape_of(function, "shape", shape)
    if len(sizes) != 2:
        raise ValueError(f"{function}: shape must be two sizes, got {sizes}")
    kind = numpy_dtype(function, "index_dtype", index_dtype)
    check_index_dtype(function, "index_dtype", kind, sizes)
    return sizes, pnp.zeros(0, dtype), pnp.zeros(0, kind)


def diagonal(
    function: str, N: Any, M: Any, k: Any, dtype: Any, index_dtype: Any
) -> tuple[tuple[int, int], Any, Any, Any]:
    """The shape of a matrix with ones on a diagonal, and its elements, rows and columns.

    Raises:
      TypeError: a size is not an integer.
      ValueError: a size is negative, or `index_dtype` does not hold it.
    """
    rows, columns = integer(function, "N", N), integer(function, "M", M)
    place = min(max(integer(function, "k", k), -rows), columns)
    if min(rows, columns) < 0:
        raise ValueError(f"{function}: N and M must be at least 0, got {rows} and {columns}")
    kind = numpy_dtype(function, "index_dtype", index_dtype)
    check_index_dtype(function, "index_dtype", kind, (rows, columns))
    count = max(min(rows + min(place, 0), columns - max(place, 0)), 0)
    steps = pnp.arange(count, dtype=kind)
    return (rows, columns), pnp.ones(count, dtype), steps + max(-place, 0), steps + max(place, 0)
