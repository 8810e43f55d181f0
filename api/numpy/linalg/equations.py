"""Linear systems, least squares and inverses."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import canonical_axis, integer, listed
from primax.extend.provisional.transformations import jvp
from primax.extend.provisional.typing import ArrayLike, Axes
from primax.numpy.conversion import asarray
from primax.numpy.creation import zeros
from primax.numpy.linalg.operands import inexact, matrices, require_square, square, stacked
from primax.numpy.programs import one_program
from primax.numpy.promotion import cast
from primax.numpy.reductions import min as min_
from primax.numpy.reductions import sum as sum_
from primax.numpy.selection import where
from primax.numpy.shaping import broadcast_to, permuted, reshaped
from primax.numpy.triangles import eye
from primax.numpy.ufuncs import conjugate, multiply, real
from primax.plugins.custom_derivatives import custom_jvp
from primax.plugins.linalg.matrices import adjoint, real_dtype
from primax.plugins.linalg.positive import symmetrize
from primax.plugins.linalg.pseudoinverse import pinv_p
from primax.plugins.linalg.singular import svd_p
from primax.plugins.linalg.solve import by_lu

__all__ = ["inv", "lstsq", "pinv", "solve", "tensorinv", "tensorsolve"]


def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """The solutions X of a @ X = b.

    Args:
      a: square matrices of shape (..., n, n).
      b: a vector of shape (n,), or matrices of shape (..., n, k); leading axes broadcast with those of `a`.

    Returns:
      An array of shape (..., n) for a vector, else (..., n, k). The solution for a singular matrix has infinities
      or NaN.

    Raises:
      ValueError: `a` is not square, or shapes do not fit.

    >>> import primax as px
    >>> px.numpy.linalg.solve(px.numpy.array([[2.0, 0.0], [1.0, 4.0]]), px.numpy.array([2.0, 9.0]))
    Array([1., 2.], dtype=float32)
    """
    return _solve(a, b)


@one_program(static=2, named="solve")
def _solve(a: Any, b: Any) -> Array:
    a, b = inexact("solve", a, b)
    x, y = get_aval(a).shape, get_aval(b).shape
    require_square("solve", x)
    vector = len(y) == 1
    if not y or y[-1 if vector else -2] != x[-1]:
        raise ValueError(f"solve: b must have as many rows as a, {x[-1]}, got shapes {x} and {y}")
    out = by_lu(*stacked("solve", a, reshaped(b, (*y, 1)) if vector else b))
    return reshaped(out, get_aval(out).shape[:-1]) if vector else out


def inv(a: ArrayLike) -> Array:
    """The inverses of square matrices.

    Args:
      a: matrices of shape (..., n, n).

    Returns:
      An array of the shape of `a`; the result for a singular matrix has infinities or NaN.

    Raises:
      ValueError: the matrices are not square.

    >>> import primax as px
    >>> px.numpy.linalg.inv(px.numpy.array([[2.0, 0.0], [0.0, 4.0]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    return _inv(a)


@one_program(static=1, named="inv")
def _inv(a: Any) -> Array:
    a = square("inv", a)
    aval = get_aval(a)
    return by_lu(a, broadcast_to(eye(aval.shape[-1], dtype=aval.dtype), aval.shape))


def pinv(
    a: ArrayLike, rtol: ArrayLike | None = None, hermitian: bool = False, *, rcond: ArrayLike | None = None
) -> Array:
    """The Moore-Penrose inverses of matrices.

    Args:
      a: matrices of shape (..., m, n).
      rtol: singular values up to `rtol` times the largest one are treated as zero; a number, or one for each matrix. By
        default 10 max(m, n) times the machine epsilon.
      hermitian: whether `a` is Hermitian.
      rcond: an alias of `rtol`.

    Returns:
      An array of shape (..., n, m).

    Raises:
      ValueError: the rank of `a` is below 2, or both `rtol` and `rcond` are given.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.linalg.pinv(pnp.array([[2.0, 0.0], [0.0, 0.0]]))
      Array([[0.5, 0. ],
             [0. , 0. ]], dtype=float32)
    """
    if rtol is not None and rcond is not None:
        raise ValueError(f"pinv: one of rtol and rcond must be None, got {rtol} and {rcond}")
    a = symmetrize("pinv", square("pinv", a)) if hermitian else matrices("pinv", a)
    aval = get_aval(a)
    dtype = real_dtype(aval.dtype)
    cutoff = rcond if rtol is None else rtol
    if cutoff is None:
        cutoff = 10 * max(aval.shape[-2:]) * float(dtypes.finfo(dtype).eps)
    tolerance = broadcast_to(asarray(cutoff, dtype), aval.shape[:-2])
    return pinv_p.bind(a, tolerance, hermitian=bool(hermitian))


@one_program("rcond numpy_resid")
def lstsq(
    a: ArrayLike, b: ArrayLike, rcond: float | None = None, *, numpy_resid: bool = False
) -> tuple[Any, Any, Any, Any]:
    """Minimize the norm of a @ X - b; of several solutions, return the one of least norm.

    Args:
      a: a matrix of shape (m, n).
      b: a vector of shape (m,), or a matrix of shape (m, k).
      rcond: singular values below `rcond` times the largest one are treated as zero; by default, and for negative
        values, max(m, n) times the machine epsilon.
      numpy_resid: whether the residuals are empty if the rank is below n, or m <= n, as in NumPy. The
        arguments must then not be traced.

    Returns:
      X, the sum of squared residuals of each column, the rank of `a`, and the singular values of `a`.

    Raises:
      TypeError: `a` is not a matrix, or `b` is not a vector or matrix.
      ValueError: `a` and `b` differ in their numbers of rows.

    Examples:
      >>> import primax.numpy as pnp
      >>> a = pnp.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
      >>> x, residuals, rank, values = pnp.linalg.lstsq(a, pnp.array([1.0, 4.0, 3.0]))
      >>> rank, residuals.shape
      (Array(2, dtype=int32), (1,))
    """
    a, b = inexact("lstsq", a, b)
    x, y = get_aval(a).shape, get_aval(b).shape
    if len(x) != 2 or len(y) not in (1, 2):
        raise TypeError(f"lstsq: a must be a matrix and b a vector or a matrix, got shapes {x} and {y}")
    if x[0] != y[0]:
        raise ValueError(f"lstsq: a and b must have as many rows, got {x[0]} and {y[0]} for shapes {x} and {y}")
    m, n = x
    columns = b if len(y) == 2 else reshaped(b, (*y, 1))
    dtype = real_dtype(get_aval(a).dtype)
    eps = float(dtypes.finfo(dtype).eps)
    if m and n:
        s, u, vh = svd_p.bind(a, compute_uv=True, full_matrices=False, subset_by_index=None, algorithm=None)
        least = asarray(eps * max(m, n) if rcond is None else rcond, dtype)
        kept = (s > 0) & (s >= where(least < 0, eps, least) * s[0])
        rank = sum_(kept, dtype=dtypes.default_int_dtype())
        inverse = cast(where(kept, 1 / where(kept, s, 1), 0), get_aval(a).dtype)
        # Just below the least value that is kept: the pseudoinverse keeps greater values.
        cutoff = min_(where(kept, s, np.inf)) / where(s[0] > 0, s[0], 1) * (1 - 4 * eps)
        solution = _least_squares(a, columns, (u, inverse, vh, cutoff))
    else:
        s, rank = zeros((0,), dtype), zeros((), dtypes.default_int_dtype())
        solution = zeros((n, get_aval(columns).shape[1]), get_aval(a).dtype)
    if numpy_resid and (m <= n or int(rank) < n):
        residuals = zeros((0,), dtype)
    else:
        residuals = sum_(_absolute_squares(columns - a @ solution), axis=0)
    return reshaped(solution, (n,)) if len(y) == 1 else solution, residuals, rank, s


@custom_jvp
def _least_squares(a: Any, b: Any, factors: Any) -> Array:
    u, inverse, vh, _ = factors
    return adjoint(vh) @ (inverse[:, None] * (adjoint(u) @ b))


@_least_squares.defjvp
def _least_squares_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """The derivative of P b for the pseudoinverse P, whose derivatives do not depend on singular vectors."""
    a, b, factors = primals

    def product(a: Any, b: Any) -> Array:
        return pinv_p.bind(a, factors[3], hermitian=False) @ b

    return _least_squares(*primals), jvp(product, (a, b), tangents[:2])[1]


def _absolute_squares(x: Any) -> Array:
    return real(multiply(x, conjugate(x)))


def _size(shape: tuple[int, ...]) -> int:
    total = 1
    for length in shape:
        total *= length
    return total


def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """The inverse of an array with respect to `tensordot(..., ind)`.

    Args:
      a: an array whose first `ind` axes have as many elements as its other axes.
      ind: a positive integer.

    Raises:
      ValueError: `ind` is not positive, or the two groups of axes differ in size.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.linalg.tensorinv(pnp.eye(6).reshape(2, 3, 6)).shape
      (6, 2, 3)
    """
    ind = integer("tensorinv", "ind", ind)
    (a,) = inexact("tensorinv", a)
    shape = get_aval(a).shape
    if ind <= 0:
        raise ValueError(f"tensorinv: ind must be positive, got {ind}")
    sizes = _size(shape[:ind]), _size(shape[ind:])
    if sizes[0] != sizes[1]:
        raise ValueError(
            f"tensorinv: the axes before and after ind must have as many elements, got {sizes[0]} and {sizes[1]} for "
            f"shape {shape} and ind {ind}"
        )
    return reshaped(inv(reshaped(a, sizes)), (*shape[ind:], *shape[:ind]))


def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Axes | None = None) -> Array:
    """The solution x of `tensordot(a, x, x.ndim) == b`.

    Args:
      a: an array whose first axes are those of `b`; its other axes have as many elements.
      b: an array.
      axes: axes of `a` to move to its end first.

    Raises:
      ValueError: the other axes of `a` do not have as many elements as `b`.

    Examples:
      >>> import primax.numpy as pnp
      >>> a = pnp.eye(6).reshape(2, 3, 6)
      >>> pnp.linalg.tensorsolve(a, pnp.arange(6.0).reshape(2, 3))
      Array([0., 1., 2., 3., 4., 5.], dtype=float32)
    """
    a, b = inexact("tensorsolve", a, b)
    rank = len(get_aval(a).shape)
    if axes is not None:
        last = [canonical_axis(axis, rank, "tensorsolve", "axes") for axis in listed(axes)]
        a = permuted(a, (*[axis for axis in range(rank) if axis not in last], *dict.fromkeys(last)))
    shape, front = get_aval(a).shape, get_aval(b).shape
    out = shape[len(front) :]
    if _size(out) != _size(front) or shape[: len(front)] != front:
        raise ValueError(f"tensorsolve: a must have the axes of b, and as many elements again, got {shape} and {front}")
    size = _size(front)
    return reshaped(solve(reshaped(a, (size, size)), reshaped(b, (size,))), out)
