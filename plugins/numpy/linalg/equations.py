"""Systems of linear equations, and inverses."""

from __future__ import annotations

from operator import index
from typing import Any

from primax.extend.core import get_aval
from primax.plugins.linalg.matrices import eye
from primax.plugins.linalg.solve import by_lu
from primax.plugins.numpy.linalg.operands import inexact, require_square, square, stacked
from primax.plugins.numpy.shaping import moveaxis, reshaped
from primax.plugins.structural.arguments import canonical_axis

__all__ = ["inv", "solve", "tensorinv", "tensorsolve"]


def solve(a: Any, b: Any) -> Any:
    """The solutions X of a @ X = b.

    Args:
      a: square matrices of shape (..., n, n).
      b: a vector of shape (n,), or matrices of shape (..., n, k); leading axes broadcast with those of `a`.

    Returns:
      An array of shape (..., n) for a vector, else (..., n, k). Where a matrix is singular there are infinities
      or NaN.

    Raises:
      ValueError: `a` is not square, or shapes do not fit.

    >>> import primax as px
    >>> px.numpy.linalg.solve(px.numpy.array([[2.0, 0.0], [1.0, 4.0]]), px.numpy.array([2.0, 9.0]))
    Array([1., 2.], dtype=float32)
    """
    a, b = inexact("solve", a, b)
    x, y = get_aval(a).shape, get_aval(b).shape
    require_square("solve", x)
    vector = len(y) == 1
    if not y or y[-1 if vector else -2] != x[-1]:
        raise ValueError(f"solve: b must have as many rows as a, {x[-1]}, got shapes {x} and {y}")
    out = by_lu(*stacked("solve", a, reshaped(b, (*y, 1)) if vector else b))
    return reshaped(out, get_aval(out).shape[:-1]) if vector else out


def inv(a: Any) -> Any:
    """The inverses of square matrices.

    Args:
      a: matrices of shape (..., n, n).

    Returns:
      An array of the shape of `a`; infinities or NaN where a matrix is singular.

    Raises:
      ValueError: the matrices are not square.

    >>> import primax as px
    >>> px.numpy.linalg.inv(px.numpy.array([[2.0, 0.0], [0.0, 4.0]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    a = square("inv", a)
    aval = get_aval(a)
    return by_lu(a, eye(aval.dtype, aval.shape))


def _size(shape: tuple[int, ...]) -> int:
    total = 1
    for length in shape:
        total *= length
    return total


def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of an array with respect to `tensordot(..., ind)`.

    Args:
      a: an array whose first `ind` axes have as many elements as the others.
      ind: a positive integer.

    Raises:
      ValueError: `ind` is not positive, or the two groups of axes differ in size.
    """
    ind = index(ind)
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


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """The solution x of `tensordot(a, x, x.ndim) == b`.

    Args:
      a: an array whose first axes are those of `b`; the others have as many elements.
      b: an array.
      axes: axes of `a` that are moved to its end first.

    Raises:
      ValueError: the axes of `a` that `b` does not have hold another number of elements.
    """
    a, b = inexact("tensorsolve", a, b)
    rank = len(get_aval(a).shape)
    if axes is not None:
        for axis in [canonical_axis(axis, rank, "tensorsolve", "axes") for axis in axes]:
            a = moveaxis(a, axis, rank - 1)
    shape, given = get_aval(a).shape, get_aval(b).shape
    out = shape[len(given) :]
    if _size(out) != _size(given) or shape[: len(given)] != given:
        raise ValueError(f"tensorsolve: a must have the axes of b, and as many elements again, got {shape} and {given}")
    size = _size(given)
    return reshaped(solve(reshaped(a, (size, size)), reshaped(b, (size,))), out)
