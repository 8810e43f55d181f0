"""Algebra of stacks of matrices, bound directly; the derivatives of factorizations use it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.interpreters import batching
from primax.extend.provisional.elementwise import FLOAT32_64_OR_COMPLEX, Accepts
from primax.extend.provisional.precision import Precision
from primax.plugins import arithmetic, comparison, structural
from primax.plugins.dot import dot_general_p
from primax.plugins.indexing import put_along, take_along

_INT32 = np.dtype(np.int32)
_HIGHEST = Precision.HIGHEST, Precision.HIGHEST


def require_matrix(function: str, aval: ShapedArray, argument: str, accepts: Accepts = FLOAT32_64_OR_COMPLEX) -> None:
    """Raise unless an argument is a matrix, or a stack of them, of a dtype that is accepted."""
    if aval.dtype not in accepts:
        raise TypeError(f"{function}: {argument} must be {accepts.name}, got {aval.str_short()}")
    if aval.ndim < 2:
        raise TypeError(f"{function}: {argument} must have rank 2 or more, got {aval.str_short()}")


def require_square(function: str, aval: ShapedArray, argument: str, accepts: Accepts = FLOAT32_64_OR_COMPLEX) -> None:
    """Raise unless an argument is a square matrix, or a stack of them, of a dtype that is accepted."""
    require_matrix(function, aval, argument, accepts)
    rows, columns = aval.shape[-2:]
    if rows != columns:
        raise ValueError(
            f"{function}: {argument} must have as many rows as columns, got {rows} and {columns} for {aval.str_short()}"
        )


def front_batch(primitive: Any) -> Callable[..., Any]:
    """The batch rule of a primitive that takes stacks: every mapped axis goes to the front."""

    def batch(axis: batching.AxisData, args: Any, dims: Any, **params: Any) -> tuple[Any, Any]:
        if all(dim is None for dim in dims):
            outs = primitive.bind(*args, **params)
            return outs, [None] * len(outs) if primitive.multiple_results else None
        moved = [batching.to_dim(x, axis.size, dim, 0) for x, dim in zip(args, dims, strict=True)]
        outs = primitive.bind(*moved, **params)
        return outs, [0] * len(outs) if primitive.multiple_results else 0

    batch.__name__ = f"front_batch({primitive})"
    return batch


def real_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype of the real parts of numbers of a dtype."""
    return np.dtype(np.float32 if dtype == np.complex64 else np.float64) if dtypes.is_complex(dtype) else dtype


def as_complex(x: Any) -> Any:
    """An array in the complex dtype of its precision."""
    dtype = get_aval(x).dtype
    if dtypes.is_complex(dtype):
        return x
    wide = np.dtype(np.complex128 if dtype == np.float64 else np.complex64)
    return structural.convert_element_type_p.bind(x, new_dtype=wide, weak_type=False)


def conj(x: Any) -> Any:
    """The conjugates of the elements; real arrays stay as they are."""
    return arithmetic.conj(x) if dtypes.is_complex(get_aval(x).dtype) else x


def mt(x: Any) -> Array:
    """Transposed matrices."""
    rank = len(get_aval(x).shape)
    return structural.transpose_p.bind(x, permutation=(*range(rank - 2), rank - 1, rank - 2))


def adjoint(x: Any) -> Array:
    """Transposed and conjugated matrices."""
    return conj(mt(x))


def matmul(x: Any, y: Any) -> Array:
    """Products of matrices, in full precision."""
    rank = len(get_aval(x).shape)
    batch = tuple(range(rank - 2))
    numbers = ((rank - 1,), (rank - 2,)), (batch, batch)
    return dot_general_p.bind(x, y, dimension_numbers=numbers, precision=_HIGHEST, preferred_element_type=None)


def full_like(x: Any, value: Any, shape: Sequence[int] | None = None) -> Array:
    """An array of one number, of the dtype of `x`, and of its shape if none is given."""
    aval = get_aval(x)
    shape = aval.shape if shape is None else tuple(shape)
    return structural.broadcast_in_dim_p.bind(aval.dtype.type(value), shape=shape, broadcast_dimensions=())


def _positions(shape: tuple[int, ...]) -> tuple[Any, Any]:
    """The row and the column of each element of matrices."""
    rank = len(shape)
    rows, columns = (structural.iota_p.bind(dtype=_INT32, shape=shape, dimension=d) for d in (rank - 2, rank - 1))
    return rows, columns


def _triangle(shape: tuple[int, ...], k: int, lower: bool) -> Array:
    """Where elements are on or below the diagonal `k` of matrices, or on or above it."""
    rows, columns = _positions(shape)
    if k:
        rows = arithmetic.add(rows, np.int32(k))
    return (comparison.ge_p if lower else comparison.le_p).bind(rows, columns)


def on_diagonals(shape: tuple[int, ...]) -> Array:
    """Where elements are on the diagonals of matrices."""
    return comparison.eq_p.bind(*_positions(shape))


def half_diagonal(x: Any) -> Array:
    """Matrices with halved diagonals."""
    return structural.select_n_p.bind(on_diagonals(get_aval(x).shape), x, half(x))


def tril(x: Any, k: int = 0) -> Array:
    """Matrices with zeros above the diagonal `k`."""
    return only(x, _triangle(get_aval(x).shape, k, True))


def triu(x: Any, k: int = 0) -> Array:
    """Matrices with zeros below the diagonal `k`."""
    return only(x, _triangle(get_aval(x).shape, k, False))


def only(x: Any, where: Any) -> Array:
    """The elements of an array where a condition holds, and zeros elsewhere."""
    return structural.select_n_p.bind(where, full_like(x, 0), x)


def eye(dtype: Any, shape: tuple[int, ...]) -> Array:
    """Matrices with ones on the diagonal and zeros elsewhere."""
    same = on_diagonals(shape)
    return structural.convert_element_type_p.bind(same, new_dtype=np.dtype(dtype), weak_type=False)


def real_part(x: Any) -> Array:
    """The real parts of the elements; real arrays stay as they are."""
    return arithmetic.real(x) if dtypes.is_complex(get_aval(x).dtype) else x


def scaled(x: Any, factors: Any) -> Array:
    """The products of elements with real factors."""
    return arithmetic.mul(x, as_complex(factors) if dtypes.is_complex(get_aval(x).dtype) else factors)


def half(x: Any) -> Array:
    """Half of an array."""
    return arithmetic.mul(x, get_aval(x).dtype.type(0.5))


def inexact(x: Any) -> Any:
    """An array unchanged, or in the default floating dtype if it has integers or booleans."""
    dtype = get_aval(x).dtype
    if dtypes.is_inexact(dtype):
        return x
    promoted = dtypes.result_type(dtype, float)
    return structural.convert_element_type_p.bind(x, new_dtype=promoted, weak_type=False)


def from_triangle(x: Any, lower: bool = True) -> Array:
    """The Hermitian matrices with one triangle of `x`; the other triangle of `x` is not read."""
    strict = tril(x, -1) if lower else triu(x, 1)
    both = arithmetic.add(strict, adjoint(strict))
    on_diagonal = only(x, on_diagonals(get_aval(x).shape))
    if dtypes.is_complex(get_aval(x).dtype):
        on_diagonal = as_complex(arithmetic.real(on_diagonal))
    return arithmetic.add(both, on_diagonal)


def diagonal(x: Any) -> Array:
    """The diagonals of square matrices."""
    aval = get_aval(x)
    same = only(x, on_diagonals(aval.shape))
    return structural.reduce_sum_p.bind(same, axes=(aval.ndim - 1,))


def along_rows(v: Any, shape: tuple[int, ...]) -> Array:
    """Matrices with the vector as each row: element (i, j) is `v[j]`."""
    rank = len(shape)
    dims = (*range(rank - 2), rank - 1)
    return structural.broadcast_in_dim_p.bind(v, shape=shape, broadcast_dimensions=dims)


def along_columns(v: Any, shape: tuple[int, ...]) -> Array:
    """Matrices with the vector as each column: element (i, j) is `v[i]`."""
    dims = tuple(range(len(shape) - 1))
    return structural.broadcast_in_dim_p.bind(v, shape=shape, broadcast_dimensions=dims)


def picked(x: Any, subset: tuple[int, int], axis: int) -> Array:
    """A range along an axis, which is counted from the end."""
    limits = list(get_aval(x).shape)
    starts = [0] * len(limits)
    starts[axis], limits[axis] = subset
    return structural.slice_p.bind(x, start_indices=tuple(starts), limit_indices=tuple(limits), strides=None)


def rows_at(x: Any, permutation: Any) -> Array:
    """Matrices with their rows permuted: row i is row `permutation[i]` of `x`."""
    return take_along(x, along_columns(permutation, get_aval(x).shape), len(get_aval(x).shape) - 2)


def columns_at(x: Any, permutation: Any) -> Array:
    """Matrices with their columns permuted: column i is column `permutation[i]` of `x`."""
    shape = get_aval(x).shape
    return take_along(x, along_rows(permutation, shape), len(shape) - 1)


def rows_to(x: Any, permutation: Any) -> Array:
    """Matrices with their rows permuted back: row `permutation[i]` is row i of `x`."""
    shape = get_aval(x).shape
    return put_along(x, along_columns(permutation, shape), len(shape) - 2, shape[-2])


def columns_merged(primitive: Any, known: Sequence[Any], b: Any, dim: int, free: int, **params: Any) -> tuple[Any, Any]:
    """The batch rule of a solver with a common matrix: the batch becomes more columns, or rows, of one right-hand side.

    Args:
      primitive: the solver.
      known: its first arguments, not mapped.
      b: its last argument.
      dim: the mapped axis of `b`.
      free: the new position of that axis, before the axis with which it is merged.
      params: the parameters of the solver.
    """
    b = batching.moveaxis(b, dim, free)
    shape = get_aval(b).shape
    merged = (*shape[:free], shape[free] * shape[free + 1], *shape[free + 2 :])
    b = structural.reshape_p.bind(b, new_sizes=merged, dimensions=None)
    out = primitive.bind(*known, b, **params)
    return structural.reshape_p.bind(out, new_sizes=shape, dimensions=None), free
