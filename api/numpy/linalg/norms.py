"""Norms of vectors and matrices, condition numbers and ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import canonical_axes, canonical_axis
from primax.extend.provisional.typing import ArrayLike, Axes
from primax.numpy.division import power
from primax.numpy.linalg.equations import inv
from primax.numpy.linalg.factorizations import svd, svdvals
from primax.numpy.linalg.operands import inexact, matrices
from primax.numpy.predicates import isnan
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of
from primax.numpy.reductions import all as all_
from primax.numpy.reductions import any as any_
from primax.numpy.reductions import in_single_precision, with_axes
from primax.numpy.reductions import max as max_
from primax.numpy.reductions import min as min_
from primax.numpy.reductions import sum as sum_
from primax.numpy.selection import where
from primax.numpy.shaping import moveaxis
from primax.numpy.ufuncs import absolute, conjugate, divide, multiply, real, sqrt
from primax.plugins.structural import stop_gradient

__all__ = ["cond", "matrix_norm", "matrix_rank", "norm", "vector_norm"]


@one_program("ord axis keepdims")
def norm(x: ArrayLike, ord: int | str | float | None = None, axis: Axes | None = None, keepdims: bool = False) -> Array:
    """Norms of vectors or matrices.

    Args:
      x: an array.
      ord: for vectors: 2 or None, inf, -inf, 0 for the number of nonzero elements, or any other number p for
        `sum(abs(x) ** p) ** (1 / p)`. For matrices: "fro" or None, "nuc", inf, -inf, 1, -1, 2 or -2.
      axis: the axis of the vectors, or the two axes of the matrices. If None, `x` is one vector or matrix; if `ord` is
        None too, `x` has any rank and is raveled.
      keepdims: whether these axes stay with length 1.

    Raises:
      ValueError: `ord` is unknown, or `axis` is not one or two distinct axes in range.

    >>> import primax as px
    >>> px.numpy.linalg.norm(px.numpy.array([3.0, 4.0]))
    Array(5., dtype=float32)
    """
    return _norm(x, ord, tuple(axis) if isinstance(axis, list) else axis, bool(keepdims))


@in_single_precision
def _norm(x: Any, ord: Any, axis: Any, keepdims: bool) -> Array:
    (x,) = inexact("norm", x)
    shape = get_aval(x).shape
    if axis is None:
        axes = tuple(range(len(shape)))
        if ord is None:
            return with_axes(_root(_squares(x, None)), shape, axes, keepdims)
    else:
        axes = canonical_axes(axis if isinstance(axis, tuple) else (axis,), len(shape), "norm", "axis")
    if len(axes) == 1:
        return with_axes(_of_vectors(x, ord, axes), shape, axes, keepdims)
    if len(axes) == 2:
        return with_axes(_of_matrices(x, ord, axes), shape, axes, keepdims)
    raise ValueError(f"norm: axis must be one axis, or two, got {axes} for shape {shape}")


def _squares(x: Any, axes: Any) -> Array:
    product = multiply(x, x) if not dtypes.is_complex(get_aval(x).dtype) else real(multiply(x, conjugate(x)))
    return sum_(product, axis=axes)


def _root(squares: Any) -> Array:
    """Square roots, whose derivative at zero is zero: that is a subgradient of a norm."""
    zero = squares == 0
    return where(zero, squares, sqrt(where(zero, 1, squares)))


def _of_vectors(x: Any, ord: Any, axes: tuple[int, ...]) -> Array:
    """The norm over all elements along some axes."""
    if ord is None or _equal(ord, 2):
        return _root(_squares(x, axes))
    if isinstance(ord, str):
        raise ValueError(f"norm: ord must be a number for vectors, got {ord!r}")
    sizes = absolute(x)
    if _equal(ord, np.inf):
        return max_(sizes, axis=axes, initial=0)
    if _equal(ord, -np.inf):
        return min_(sizes, axis=axes)
    if _equal(ord, 0):
        return sum_(x != 0, axis=axes, dtype=get_aval(sizes).dtype)
    if _equal(ord, 1):
        return sum_(sizes, axis=axes)
    if not _above_one(ord):
        return power(sum_(power(sizes, ord), axis=axes), divide(1.0, ord))
    # Powers of sizes relative to the largest stay in range. The derivative doesn't depend on the unit.
    largest = stop_gradient(max_(sizes, axis=axes, initial=0, keepdims=True))
    unit = where((largest > 0) & (largest < np.inf), largest, 1)
    total = sum_(power(divide(sizes, unit), ord), axis=axes)
    zero = total == 0
    return multiply(
        unit.reshape(get_aval(total).shape), where(zero, total, power(where(zero, 1, total), divide(1.0, ord)))
    )


def _above_one(ord: Any) -> bool:
    """Whether the norm of this order has the subgradient zero at zero."""
    return isinstance(ord, int | float | np.number) and bool(ord > 1)


def _equal(ord: Any, value: float) -> bool:
    return isinstance(ord, int | float | np.number) and ord == value


def _of_matrices(x: Any, ord: Any, axes: tuple[int, ...]) -> Array:
    if ord is None or (isinstance(ord, str) and ord == "fro"):
        return _root(_squares(x, axes))
    rows, columns = axes
    if _equal(ord, 1) or _equal(ord, -1):
        return _extreme(sum_(absolute(x), axis=rows), columns - (columns > rows), ord)
    if _equal(ord, np.inf) or _equal(ord, -np.inf):
        return _extreme(sum_(absolute(x), axis=columns), rows - (rows > columns), ord)
    if _equal(ord, 2) or _equal(ord, -2) or (isinstance(ord, str) and ord == "nuc"):
        s = svdvals(moveaxis(x, axes, (-2, -1)))
        return sum_(s, axis=-1) if ord == "nuc" else _extreme(s, -1, ord)
    raise ValueError(f"norm: ord must be 'fro', 'nuc', inf, -inf, 1, -1, 2 or -2 for matrices, got {ord!r}")


def _extreme(sizes: Any, axis: int, ord: Any) -> Array:
    """The maximum along an axis for positive orders, the minimum for negative ones."""
    return max_(sizes, axis=axis, initial=0) if ord > 0 else min_(sizes, axis=axis)


@one_program("keepdims ord")
def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: int | str | float = "fro") -> Array:
    """Norms of stacks of matrices.

    Args:
      x: an array of shape (..., m, n).
      keepdims: whether the last two axes stay with length 1.
      ord: "fro", "nuc", inf, -inf, 1, -1, 2 or -2.

    Raises:
      ValueError: the rank of `x` is below 2, or `ord` is unknown.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.linalg.matrix_norm(pnp.array([[3.0, 0.0], [4.0, 0.0]])), pnp.linalg.matrix_norm(pnp.ones((2, 3)), ord=1)
      (Array(5., dtype=float32), Array(2., dtype=float32))
    """
    return norm(matrices("matrix_norm", x, "x"), ord, (-2, -1), keepdims)


def vector_norm(
    x: ArrayLike, /, *, axis: Axes | None = None, keepdims: bool = False, ord: int | str | float = 2
) -> Array:
    """Norms of vectors.

    Args:
      x: an array.
      axis: the axis of the vectors, or several axes that are raveled to one; all if None.
      keepdims: whether these axes stay with length 1.
      ord: 2, inf, -inf, 0 for the number of nonzero elements, or any other number p for
        `sum(abs(x) ** p) ** (1 / p)`.

    Raises:
      ValueError: an axis is out of range or repeated, or `ord` is not a number.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.linalg.vector_norm(pnp.array([[3.0, 4.0]])), pnp.linalg.vector_norm(pnp.array([0.0, 2.0]), ord=0)
      (Array(5., dtype=float32), Array(1., dtype=float32))
    """
    return _vector_norm(x, tuple(axis) if isinstance(axis, list) else axis, bool(keepdims), ord)


@one_program(static=1)
@in_single_precision
def _vector_norm(x: Any, axis: Any, keepdims: bool, ord: Any) -> Array:
    (x,) = inexact("vector_norm", x)
    shape = get_aval(x).shape
    if axis is None:
        axes = tuple(range(len(shape)))
    elif isinstance(axis, tuple):
        axes = canonical_axes(axis, len(shape), "vector_norm", "axis")
    else:
        axes = (canonical_axis(axis, len(shape), "vector_norm"),)
    return with_axes(_of_vectors(x, ord, axes), shape, axes, keepdims)


def cond(x: ArrayLike, p: int | float | str | None = None) -> Array:
    """Condition numbers of matrices.

    Args:
      x: matrices of shape (..., m, n); square unless `p` is None, 2 or -2.
      p: the order of the norm, as `ord` of `norm`; for None or 2, the result is the ratio of the largest to the
        smallest singular value.

    Returns:
      An array of shape (...); infinity for singular matrices.

    Raises:
      ValueError: the rank of `x` is below 2, `x` is empty, or the matrices are not square and `p` needs it.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.linalg.cond(pnp.diag(pnp.array([4.0, 2.0]))), pnp.linalg.cond(pnp.zeros((2, 2)))
      (Array(2., dtype=float32), Array(inf, dtype=float32))
    """
    return _cond(x, p)


@one_program(static=1)
def _cond(x: Any, p: Any) -> Array:
    x = matrices("cond", x, "x")
    shape = get_aval(x).shape
    if 0 in shape:
        raise ValueError(f"cond: x must hold elements, got shape {shape}")
    axes = (-2, -1)
    if p is None or _equal(p, 2) or _equal(p, -2):
        s = svdvals(x)
        greatest, least = s[..., 0], s[..., -1]
        number = divide(least, greatest) if _equal(p, -2) else divide(greatest, least)
    elif shape[-1] != shape[-2]:
        raise ValueError(f"cond: x must have as many rows as columns unless p is 2 or -2, got shape {shape} and p {p}")
    else:
        number = multiply(norm(x, p, axes), norm(inv(x), p, axes))
    undefined = isnan(number) & all_(~isnan(x), axis=axes)
    return where(undefined, np.inf, number)


@one_program("hermitian")
def matrix_rank(
    M: ArrayLike, rtol: ArrayLike | None = None, *, hermitian: bool = False, tol: ArrayLike | None = None
) -> Array:
    """The ranks of matrices: the numbers of singular values above a tolerance.

    Args:
      M: matrices of shape (..., m, n); a vector or a number has rank 0 if all elements are zero, and rank 1 otherwise.
      rtol: the tolerance, relative to the largest singular value; by default max(m, n) times the machine epsilon.
      hermitian: whether `M` is Hermitian.
      tol: the absolute tolerance; replaces `rtol`.

    Returns:
      An integer array of shape (...).

    Raises:
      ValueError: both `rtol` and `tol` are given.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.linalg.matrix_rank(pnp.ones((3, 3))), pnp.linalg.matrix_rank(pnp.zeros((2, 2)))
      (Array(1, dtype=int32), Array(0, dtype=int32))
    """
    if rtol is not None and tol is not None:
        raise ValueError(f"matrix_rank: one of rtol and tol must be None, got {rtol} and {tol}")
    (M,) = inexact("matrix_rank", M)
    aval = get_aval(M)
    if aval.ndim < 2:
        return any_(M != 0).astype(dtypes.default_int_dtype())
    s = svd(M, full_matrices=False, compute_uv=False, hermitian=hermitian)
    if tol is None:
        if rtol is None:
            rtol = max(aval.shape[-2:]) * float(dtypes.finfo(get_aval(s).dtype).eps)
        tol = multiply(max_(s, axis=-1, initial=0), rtol)
    return sum_(s > _column(tol), axis=-1)


def _column(tolerance: Any) -> Any:
    """Add an axis to a tolerance for each matrix, so that it broadcasts over singular values."""
    return tolerance[..., None] if aval_of("matrix_rank", tolerance, "tol").shape else tolerance
