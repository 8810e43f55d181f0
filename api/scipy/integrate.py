"""Integrals of samples under scipy.integrate's names."""

from __future__ import annotations

from typing import Any

from primax import numpy as pnp
from primax.extend.core import Array

__all__ = ["trapezoid"]


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Array:
    """The integral of samples by the trapezoidal rule.

    Args:
      y: the samples.
      x: where they are, of the shape of y or of its axis; `dx` apart if None.
      dx: how far apart they are.
      axis: along which axis.

    Raises:
      TypeError: `y` or `x` is not an array.
      ValueError: the shapes do not broadcast, or `axis` is out of range.

    >>> import primax as px
    >>> float(px.scipy.integrate.trapezoid(px.numpy.array([1.0, 2.0, 3.0])))
    4.0
    """
    return pnp.trapezoid(y, x, dx, axis)
