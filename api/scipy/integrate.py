"""Integrals of samples under scipy.integrate's names."""

from __future__ import annotations

from primax import numpy as pnp
from primax.extend.core import Array
from primax.extend.provisional.typing import ArrayLike

__all__ = ["trapezoid"]
__dir__ = __all__.copy


def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1) -> Array:
    """The integral of samples by the trapezoidal rule.

    Args:
      y: the samples.
      x: the positions of the samples, of the shape of `y` or of the length of `axis`; if None, they have distance `dx`.
      dx: the distance of neighbors.
      axis: the axis.

    Raises:
      TypeError: `y` or `x` is not an array.
      ValueError: the shapes do not broadcast, or `axis` is out of range.

    >>> import primax as px
    >>> float(px.scipy.integrate.trapezoid(px.numpy.array([1.0, 2.0, 3.0])))
    4.0
    """
    return pnp.trapezoid(y, x, dx, axis)
