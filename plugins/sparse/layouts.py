"""How matrices are stored as elements and their indices: by coordinates, or row after row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from primax.extend import dtypes
from primax.extend.core import ShapedArray, get_aval
from primax.plugins.sparse.elements import row_numbers
from primax.plugins.structural import concatenate, reshape


class COOInfo(NamedTuple):
    """The known properties of a matrix that is stored by coordinates.

    Attributes:
      shape: its shape.
      rows_sorted: a promise that the elements are in the order of their rows.
      cols_sorted: a promise that they are in the order of their columns.
    """

    shape: tuple[int, int]
    rows_sorted: bool = False
    cols_sorted: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """A way to store a matrix in an array of elements and two of integers.

    Attributes:
      name: the first part of the names of its primitives.
      parts: the names of the arrays of integers.
      shape: from the parameter `shape` of primitives to the shape of the matrix.
      rows: from the arrays of integers to the rows of indices.
      lengths: `(nse, shape) -> lengths` of the arrays of integers.
    """

    name: str
    parts: tuple[str, str]
    shape: Callable[[Any], tuple[int, int]]
    rows: Callable[[Any, Any], Any]
    lengths: Callable[[int, Any], tuple[int, int]]

    def check(self, function: str, data: ShapedArray, first: ShapedArray, second: ShapedArray, shape: Any) -> None:
        """Refuse types that do not represent a matrix.

        Raises:
          TypeError: the indices are not integers, or differ in dtype.
          ValueError: the lengths do not fit, or the dtype of the indices does not hold the sizes.
        """
        if len(shape) != 2 or any(size < 0 for size in shape):
            raise ValueError(f"{function}: shape must be two sizes, got {tuple(shape)}")
        if data.ndim != 1:
            raise ValueError(f"{function}: data must have one dimension, got {data.str_short()}")
        for part, aval, length in zip(self.parts, (first, second), self.lengths(data.shape[0], shape), strict=True):
            check_indices(function, part, aval.dtype, (*shape, data.shape[0]) if part == "indptr" else shape)
            if aval.shape != (length,):
                raise ValueError(
                    f"{function}: {part} must have shape ({length},) for data of shape {data.shape} and a matrix of "
                    f"shape {tuple(shape)}, got {aval.str_short()}"
                )
        if first.dtype != second.dtype:
            raise TypeError(
                f"{function}: {self.parts[0]} and {self.parts[1]} must have the same dtype, got {first.dtype} and "
                f"{second.dtype}"
            )


def check_indices(function: str, argument: str, dtype: Any, sizes: tuple[int, ...]) -> None:
    """Refuse a dtype of indices.

    Raises:
      TypeError: it is not an integer, or a sequence of integers.
      ValueError: it does not hold the sizes.
    """
    if not dtypes.is_integer(dtype):
        raise TypeError(f"{function}: {argument} must be integers, got {dtype}")
    if any(size > dtypes.iinfo(dtype).max for size in sizes):
        raise ValueError(f"{function}: {argument} must hold the sizes {tuple(sizes)}, got {dtype}")


def _pairs(row: Any, col: Any) -> Any:
    """The rows of indices, of shape (nse, 2), from their two columns."""
    return concatenate([reshape(x, (*get_aval(x).shape, 1)) for x in (row, col)], 1)


BY_COORDINATES = Layout(
    "coo",
    ("row", "col"),
    lambda params: params["spinfo"].shape,
    _pairs,
    lambda nse, shape: (nse, nse),
)
BY_ROWS = Layout(
    "csr",
    ("indices", "indptr"),
    lambda params: params["shape"],
    lambda indices, indptr: _pairs(row_numbers(indptr, get_aval(indices).shape[0]), indices),
    lambda nse, shape: (nse, shape[0] + 1),
)
BY_COLUMNS = Layout(
    "csc",
    ("indices", "indptr"),
    lambda params: params["shape"],
    lambda indices, indptr: _pairs(indices, row_numbers(indptr, get_aval(indices).shape[0])),
    lambda nse, shape: (nse, shape[1] + 1),
)
