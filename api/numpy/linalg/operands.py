"""Conversion of the operands of functions of matrices."""

from __future__ import annotations

from typing import Any

from primax.extend.core import Array, ShapeError, get_aval
from primax.numpy.promotion import broadcast_to_shape, promote
from primax.numpy.ufuncs import to_inexact
from primax.plugins.structural import broadcast_shapes


def inexact(function: str, *arrays: Any) -> list[Array]:
    """Convert operands to one floating or complex dtype."""
    return promote(function, *arrays, to=to_inexact)


def matrices(function: str, a: Any, argument: str = "a") -> Any:
    """Convert to a stack of matrices of a floating or complex dtype.

    Raises:
      ValueError: the rank is below 2.
    """
    (a,) = inexact(function, a)
    if len(get_aval(a).shape) < 2:
        raise ShapeError(f"{function}: {argument} must have rank 2 or more, got shape {get_aval(a).shape}")
    return a


def square(function: str, a: Any, argument: str = "a") -> Any:
    """Convert to a stack of square matrices of a floating or complex dtype.

    Raises:
      ValueError: the rank is below 2, or the matrices are not square.
    """
    a = matrices(function, a, argument)
    require_square(function, get_aval(a).shape, argument)
    return a


def require_square(function: str, shape: tuple[int, ...], argument: str = "a") -> None:
    """Raise an error unless a shape is that of square matrices."""
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"{function}: {argument} must have as many rows as columns, got shape {shape}")


def stacked(function: str, a: Any, b: Any) -> tuple[Any, Any]:
    """Broadcast the leading axes of two stacks of matrices."""
    x, y = get_aval(a).shape, get_aval(b).shape
    if x[:-2] == y[:-2]:
        return a, b
    try:
        outer = broadcast_shapes(x[:-2], y[:-2])
    except (TypeError, ValueError):
        raise ValueError(
            f"{function}: leading axes must broadcast together, got {x[:-2]} and {y[:-2]} for shapes {x} and {y}"
        ) from None
    return broadcast_to_shape(a, (*outer, *x[-2:])), broadcast_to_shape(b, (*outer, *y[-2:]))
