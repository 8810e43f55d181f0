"""Products of matrices and vectors, diagonals and traces, along the last axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import canonical_axis, integer, sequence
from primax.extend.provisional.precision import PrecisionLike
from primax.extend.provisional.typing import ArrayLike, Axes, DTypeLike, ShardingLike
from primax.numpy import linear, triangles
from primax.numpy.conversion import asarray
from primax.numpy.linalg.equations import inv
from primax.numpy.linalg.operands import require_square
from primax.numpy.linear import matmul, vecdot
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, promote
from primax.numpy.shaping import matrix_transpose, reshaped
from primax.numpy.ufuncs import multiply
from primax.plugins.linalg.matrices import eye

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_power",
    "matrix_transpose",
    "multi_dot",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
]


@one_program("axis")
def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """The cross products of vectors of length 3.

    Args:
      x1, x2: arrays whose shapes broadcast except along `axis`.
      axis: the axis of the vectors.

    Raises:
      ValueError: a vector is not of length 3.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.linalg.cross(pnp.array([1, 0, 0]), pnp.array([[0, 1, 0], [0, 0, 1]]))
      Array([[ 0,  0,  1],
             [ 0, -1,  0]], dtype=int32)
      >>> pnp.linalg.cross(pnp.ones(2), pnp.ones(2))
      Traceback (most recent call last):
          ...
      ValueError: cross: vectors must be of length 3, got shapes (2,) and (2,) for axis -1
    """
    shapes = aval_of("cross", x1, 0).shape, aval_of("cross", x2, 1).shape
    axis = integer("cross", "axis", axis)
    if any(shape[canonical_axis(axis, len(shape), "cross")] != 3 for shape in shapes):
        raise ValueError(f"cross: vectors must be of length 3, got shapes {shapes[0]} and {shapes[1]} for axis {axis}")
    return linear.cross(x1, x2, axis=axis)


@one_program("offset")
def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """The diagonals of stacks of matrices.

    Args:
      x: an array of shape (..., m, n).
      offset: the diagonal: above the main one if positive, below if negative.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.linalg.diagonal(pnp.arange(8).reshape(2, 2, 2))  # of each matrix of the last axes
      Array([[0, 3],
             [4, 7]], dtype=int32)
    """
    return triangles.diagonal(x, offset, -2, -1)


@one_program("offset dtype")
def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Array:
    """The sums of the diagonals of stacks of matrices.

    Args:
      x: an array of shape (..., m, n).
      offset: the diagonal: above the main one if positive, below if negative.
      dtype: the dtype of the sums.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.linalg.trace(pnp.ones((5, 2, 2)))  # of the last two axes
      Array([2., 2., 2., 2., 2.], dtype=float32)
    """
    return triangles.trace(x, offset, -2, -1, dtype)


def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The products of each element of one vector with each element of another.

    Args:
      x1, x2: arrays of rank 1.

    Raises:
      ValueError: an argument is not of rank 1.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.linalg.outer(pnp.arange(2), pnp.array([1, 10]))
      Array([[ 0,  0],
             [ 1, 10]], dtype=int32)
      >>> pnp.linalg.outer(pnp.ones(2), pnp.ones((2, 3)))
      Traceback (most recent call last):
          ...
      ValueError: outer: arguments must be of rank 1, got shapes (2,) and (2, 3)
    """
    x1, x2 = promote("outer", x1, x2)
    shapes = get_aval(x1).shape, get_aval(x2).shape
    if any(len(shape) != 1 for shape in shapes):
        raise ValueError(f"outer: arguments must be of rank 1, got shapes {shapes[0]} and {shapes[1]}")
    return multiply(reshaped(x1, (*shapes[0], 1)), reshaped(x2, (1, *shapes[1])))


def tensordot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axes: Axes | Sequence[Sequence[int]] = 2,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """The sum of products of two arrays over several axes.

    Args:
      x1, x2: arrays.
      axes: the number of axes to sum over, the last of `x1` and the first of `x2`; or a pair of sequences of axes.
      precision: see `lax.dot_general`.
      preferred_element_type: the dtype of accumulation and result; the common dtype if None.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.linalg.tensordot(pnp.ones((2, 3, 4)), pnp.ones((3, 4, 5))).shape
      (2, 5)
    """
    return linear.tensordot(
        x1,
        x2,
        axes,
        precision=precision,
        preferred_element_type=preferred_element_type,
        out_sharding=out_sharding,
    )


def matrix_power(a: ArrayLike, n: int) -> Array | None:
    """Raise square matrices to an integer power.

    Args:
      a: matrices of shape (..., m, m).
      n: the power; a negative one is a power of the inverse.

    Raises:
      TypeError: `n` is not an integer.
      ValueError: the matrices are not square.

    >>> import primax as px
    >>> px.numpy.linalg.matrix_power(px.numpy.array([[1, 1], [0, 1]]), 5)
    Array([[1, 5],
           [0, 1]], dtype=int32)
    """
    n = integer("matrix_power", "n", n)
    aval = aval_of("matrix_power", a, "a")
    require_square("matrix_power", aval.shape)
    if n == 0:
        return eye(aval.dtype, aval.shape)
    if n < 0:
        a, n = inv(a), -n
    out, square = None, asarray(a)
    while True:
        if n & 1:
            out = square if out is None else matmul(out, square)
        n >>= 1
        if not n:
            return out
        square = matmul(square, square)


def multi_dot(arrays: Sequence[Any], *, precision: PrecisionLike = None) -> Array:
    """The product of several matrices, in the order with the fewest multiplications.

    Args:
      arrays: two or more matrices; the first and the last may be vectors.
      precision: see `lax.dot_general`.

    Raises:
      ValueError: there are fewer than two arrays, or an inner one is not a matrix.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.linalg.multi_dot([pnp.ones(2), pnp.ones((2, 3)), pnp.ones((3, 4))]).shape
      (4,)
    """
    arrays = sequence("multi_dot", "arrays", arrays)
    factors = promote("multi_dot", *arrays) if arrays else []
    if len(factors) < 2:
        raise ValueError(f"multi_dot: arrays must hold two or more, got {len(factors)}")
    shapes = [get_aval(x).shape for x in factors]
    for i, shape in enumerate(shapes):
        if len(shape) != 2 and not (len(shape) == 1 and i in (0, len(shapes) - 1)):
            raise ValueError(f"multi_dot: arrays must be matrices, or vectors at the ends, got shape {shape} at {i}")
    rows = [shapes[0][0] if len(shapes[0]) == 2 else 1, *(shape[0] for shape in shapes[1:])]
    sizes = [*rows, shapes[-1][1] if len(shapes[-1]) == 2 else 1]
    order = _best_order(sizes)

    def product(first: int, last: int) -> Any:
        if first == last:
            return factors[first]
        middle = order[first, last]
        return matmul(product(first, middle), product(middle + 1, last), precision=precision)

    return product(0, len(factors) - 1)


def _best_order(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """For each range of matrices, where to split it for the fewest operations, by dynamic programming."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    order = {}
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            ways = {
                k: cost[first, k] + cost[k + 1, last] + sizes[first] * sizes[k + 1] * sizes[last + 1]
                for k in range(first, last)
            }
            order[first, last] = min(ways, key=ways.__getitem__)
            cost[first, last] = ways[order[first, last]]
    return order
