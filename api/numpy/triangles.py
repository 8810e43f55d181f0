"""Diagonals and triangles of matrices, without gathers."""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, Tracer, get_aval
from primax.extend.provisional.arguments import canonical_axis, integer, naming
from primax.extend.provisional.tracing import thread
from primax.extend.provisional.typing import ArrayLike, DeviceLike, DTypeLike
from primax.numpy.conversion import read_dtype
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, broadcast_to_shape, cast
from primax.numpy.reductions import sum as sum_
from primax.numpy.selection import choose
from primax.numpy.shaping import permuted, ravel, reshaped
from primax.plugins import arithmetic, comparison
from primax.plugins.resharding import from_host
from primax.plugins.structural import iota_p, pad_p, slice_p

__all__ = [
    "diag",
    "diagflat",
    "diagonal",
    "eye",
    "identity",
    "trace",
    "tri",
    "tril",
    "tril_indices",
    "tril_indices_from",
    "triu",
    "triu_indices",
    "triu_indices_from",
]


def _positions(shape: tuple[int, ...], k: Any) -> tuple[Any, Any]:
    """For each element of matrices, its row plus k, and its column; k is an int or a traced integer."""
    rank = len(shape)
    rows = iota_p.bind(dtype=np.dtype(np.int32), shape=shape, dimension=rank - 2)
    columns = iota_p.bind(dtype=np.dtype(np.int32), shape=shape, dimension=rank - 1)
    if isinstance(k, Tracer):
        return arithmetic.add_p.bind(rows, broadcast_to_shape(cast(k, np.dtype(np.int32)), shape)), columns
    return arithmetic.add_p.bind(rows, np.int32(k)) if k else rows, columns


def eye(
    N: SupportsIndex,
    M: SupportsIndex | None = None,
    k: ArrayLike = 0,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike | None = None,
) -> Array:
    """A matrix of zeros with ones on a diagonal.

    Args:
      N: the number of rows.
      M: the number of columns, `N` if None.
      k: the diagonal: above the main one if positive, below if negative. It may be traced.
      dtype: the dtype; the default float dtype if None.
      device: the device or sharding of the result; if None, it is uncommitted on the default device.

    Raises:
      TypeError: a number is not an integer, or `dtype` is not a dtype of arrays.

    >>> import primax as px
    >>> px.numpy.eye(2, 3, 1)
    Array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    return _matrix("eye", N, M, k, dtype, device, comparison.eq_p, np.eye)


def identity(n: SupportsIndex, dtype: DTypeLike | None = None) -> Array:
    """A square matrix of zeros with ones on its diagonal. The arguments are those of `eye`.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.identity(2, dtype="bool")
      Array([[ True, False],
             [False,  True]], dtype=bool)
    """
    return _matrix("identity", integer("identity", "n", n), None, 0, dtype, None, comparison.eq_p, np.eye)


def tri(N: SupportsIndex, M: SupportsIndex | None = None, k: ArrayLike = 0, dtype: DTypeLike | None = None) -> Array:
    """A matrix with ones on a diagonal and below it, and zeros above it. The arguments are those of `eye`.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.tri(2, 3, 1)
      Array([[1., 1., 0.],
             [1., 1., 1.]], dtype=float32)
    """
    return _matrix("tri", N, M, k, dtype, None, comparison.ge_p, np.tri)


def _matrix(function: str, N: Any, M: Any, k: Any, dtype: Any, device: Any, compare: Any, on_host: Any) -> Array:
    rows = integer(function, "N", N)
    columns = rows if M is None else integer(function, "M", M)
    traced = isinstance(k, Tracer) and not k.is_concrete
    if not traced:
        k = integer(function, "k", k)
    elif k.aval.shape or not dtypes.is_integer(k.aval.dtype):
        raise TypeError(f"{function}: k must be an integer, got a traced array of type {k.aval.str_short()}")
    dtype = dtypes.default_float_dtype() if dtype is None else read_dtype(dtype, function)
    if rows < 0 or columns < 0:
        raise TypeError(f"{function}: N and M must not be negative, got {rows} and {columns}")
    if not traced and not thread.trace.tracing:
        with naming(function):
            host = on_host(rows, columns, k)
        return from_host(host.astype(dtype), False, device)
    return cast(compare.bind(*_positions((rows, columns), k)), dtype)


def _triangle(function: str, m: Any, k: Any, lower: bool) -> Array:
    aval = aval_of(function, m, "m")
    if len(aval.shape) < 2:
        raise ValueError(f"{function}: m must be of rank 2 or more, got {aval.str_short()}")
    return _masked(m, integer(function, "k", k), lower)


def _masked(m: Any, k: int, lower: bool) -> Array:
    aval = get_aval(m)
    rows, columns = _positions(aval.shape, k if lower else k - 1)
    inside = (comparison.ge_p if lower else comparison.lt_p).bind(rows, columns)
    return choose(inside, m, aval.dtype.type(0))


@one_program("k")
def tril(m: ArrayLike, k: ArrayLike = 0) -> Array:
    """A matrix, or a stack of them, with zeros above a diagonal.

    Args:
      m: an array of shape (..., m, n).
      k: the diagonal: above the main one if positive, below if negative.

    Raises:
      ValueError: `m` is of rank 0 or 1.

    >>> import primax as px
    >>> px.numpy.tril(px.numpy.ones((2, 2)))
    Array([[1., 0.],
           [1., 1.]], dtype=float32)
    """
    return _triangle("tril", m, k, True)


@one_program("k")
def triu(m: ArrayLike, k: ArrayLike = 0) -> Array:
    """A matrix, or a stack of them, with zeros below a diagonal. The arguments are those of `tril`.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.triu(pnp.ones((3, 3), np.int32), k=1)
      Array([[0, 1, 1],
             [0, 0, 1],
             [0, 0, 0]], dtype=int32)
    """
    return _triangle("triu", m, k, False)


@one_program("offset axis1 axis2")
def diagonal(a: ArrayLike, offset: SupportsIndex = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The diagonals of matrices.

    Args:
      a: an array of rank 2 or more.
      offset: the diagonal: above the main one if positive, below if negative.
      axis1, axis2: the axes of the rows and of the columns.

    Returns:
      An array without these axes, with the elements of the diagonal along a new last axis.

    Raises:
      ValueError: an axis is out of range, or `axis1` and `axis2` are equal.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.diagonal(pnp.arange(8).reshape(2, 2, 2))  # of the first two axes; the diagonal is the last axis
      Array([[0, 6],
             [1, 7]], dtype=int32)
      >>> pnp.diagonal(pnp.ones((2, 3)), offset=1).shape
      (2,)
    """
    shape = aval_of("diagonal", a, "a").shape
    if len(shape) < 2:
        raise ValueError(f"diagonal: a must be of rank 2 or more, got shape {shape}")
    first = canonical_axis(axis1, len(shape), "diagonal", "axis1")
    second = canonical_axis(axis2, len(shape), "diagonal", "axis2")
    if first == second:
        raise ValueError(f"diagonal: axis1 and axis2 must differ, got {axis1} and {axis2}")
    others = tuple([i for i in range(len(shape)) if i not in (first, second)])
    return last_diagonal(permuted(a, (*others, first, second)), integer("diagonal", "offset", offset))


def last_diagonal(a: Any, k: int) -> Array:
    """The diagonals over the last two axes: every (columns + 1)-th element in row-major order."""
    *outer, rows, columns = get_aval(a).shape
    start = k if k >= 0 else -k * columns
    count = max(0, min(rows, columns - k) if k >= 0 else min(rows + k, columns))
    flat = reshaped(a, (*outer, rows * columns))
    if not count:
        start, limit = 0, 0
    else:
        limit = start + (count - 1) * (columns + 1) + 1
    return slice_p.bind(
        flat,
        start_indices=(*[0] * len(outer), start),
        limit_indices=(*outer, limit),
        strides=(*[1] * len(outer), columns + 1),
    )


@one_program("k")
def diag(v: ArrayLike, k: SupportsIndex = 0) -> Array:
    """The matrix with a vector on a diagonal, or the diagonal of a matrix.

    Args:
      v: an array of rank 1 or 2.
      k: the diagonal: above the main one if positive, below if negative.

    Raises:
      ValueError: the rank of `v` is not 1 or 2.

    >>> import primax as px
    >>> px.numpy.diag(px.numpy.array([1, 2]))
    Array([[1, 0],
           [0, 2]], dtype=int32)
    """
    aval = aval_of("diag", v, "v")
    k = integer("diag", "k", k)
    if len(aval.shape) == 2:
        return last_diagonal(v, k)
    if len(aval.shape) != 1:
        raise ValueError(f"diag: v must be of rank 1 or 2, got {aval.str_short()}")
    count = aval.shape[0]
    size = count + abs(k)
    before = k if k >= 0 else -k * size
    used = before + (count - 1) * (size + 1) + 1 if count else 0
    config = (before if count else 0, size * size - used, size if count else 0)
    spread = pad_p.bind(v, aval.dtype.type(0), padding_config=(config,))
    return reshaped(spread, (size, size))


def diagflat(v: ArrayLike, k: SupportsIndex = 0) -> Array:
    """A matrix with the raveled elements of an array on a diagonal. The arguments are those of `diag`.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.diagflat(pnp.array([[1, 2]]), 1)
      Array([[0, 1, 0],
             [0, 0, 2],
             [0, 0, 0]], dtype=int32)
    """
    return diag(ravel(v), k)


@one_program("offset axis1 axis2 dtype out")
def trace(
    a: ArrayLike,
    offset: SupportsIndex = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DTypeLike | None = None,
    out: None = None,
) -> Array:
    """The sums of the diagonals of matrices.

    Args:
      a: an array of rank 2 or more.
      offset: the diagonal: above the main one if positive, below if negative.
      axis1, axis2: the axes of the rows and of the columns.
      dtype: the dtype of the result, as in `sum`.
      out: None.

    Raises:
      ValueError: an axis is out of range, or `axis1` and `axis2` are equal.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.trace(pnp.arange(6).reshape(2, 3), offset=1), pnp.trace(pnp.ones((2, 2, 5))).shape
      (Array(6, dtype=int32), (5,))
    """
    return sum_(diagonal(a, offset, axis1, axis2), -1, dtype, out)


def _indices(positions: Any) -> tuple[Any, ...]:
    return tuple([from_host(x.astype(dtypes.default_int_dtype())) for x in positions])


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """The rows and the columns of the elements on a diagonal and below it.

    Args:
      n: the number of rows.
      k: the diagonal: above the main one if positive, below if negative.
      m: the number of columns, `n` if None.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.tril_indices(2)
      (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    with naming("tril_indices"):
        return _indices(np.tril_indices(n, k, m))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """The rows and the columns of the elements on a diagonal and above it.

    The arguments are those of `tril_indices`.

    Examples:
      >>> import primax.numpy as pnp
      >>> rows, columns = pnp.triu_indices(3, k=1)
      >>> pnp.arange(9).reshape(3, 3)[rows, columns]
      Array([1, 2, 5], dtype=int32)
    """
    with naming("triu_indices"):
        return _indices(np.triu_indices(n, k, m))


def _sides(function: str, arr: Any) -> tuple[int, int]:
    shape = aval_of(function, arr, "arr").shape
    if len(shape) != 2:
        raise ValueError(f"{function}: arr must be of rank 2, got shape {shape}")
    return shape[0], shape[1]


def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Any, Any]:
    """`tril_indices` for the shape of a matrix.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.tril_indices_from(pnp.ones((2, 2)), k=-1)
      (Array([1], dtype=int32), Array([0], dtype=int32))
    """
    rows, columns = _sides("tril_indices_from", arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Any, Any]:
    """`triu_indices` for the shape of a matrix.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.triu_indices_from(pnp.ones((2, 2)), k=1)
      (Array([0], dtype=int32), Array([1], dtype=int32))
    """
    rows, columns = _sides("triu_indices_from", arr)
    return triu_indices(rows, k, columns)
