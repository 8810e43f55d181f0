"""Interpolation on grids under scipy.interpolate's names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product
from operator import or_
from typing import Any

import numpy as np

from primax import numpy as pnp
from primax.extend import dtypes
from primax.extend.core import Array, Tracer
from primax.extend.provisional.arguments import among, sequence
from primax.numpy.promotion import host_values, promote

__all__ = ["RegularGridInterpolator"]
__dir__ = __all__.copy

_METHODS = ("linear", "nearest")
_NAME = "RegularGridInterpolator"


def _check_method(method: Any) -> str:
    if not among(method, _METHODS):
        raise ValueError(f'{_NAME}: method must be "linear" or "nearest", got {method!r}')
    return str(method)


class RegularGridInterpolator:
    """Interpolation of values on a rectangular grid, which may be unevenly spaced.

    Args:
      points: for each axis, two or more coordinates, strictly increasing; or strictly decreasing outside of traces.
      values: an array whose first axes are those of the grid.
      method: "linear" or "nearest".
      bounds_error: False; compiled functions cannot raise an error for points outside of the grid.
      fill_value: the value outside of the grid; None extrapolates.

    Raises:
      NotImplementedError: `bounds_error` is true.
      TypeError: an argument is not an array.
      ValueError: `method` is unknown, or the shapes do not fit.

    >>> import primax as px
    >>> import primax.numpy as pnp
    >>> values = pnp.array([[10, 20, 30], [40, 50, 60], [70, 80, 90]])
    >>> grid = pnp.array([1, 2, 3]), pnp.array([4, 5, 6])
    >>> interpolate = px.scipy.interpolate.RegularGridInterpolator(grid, values)
    >>> interpolate(pnp.array([[1.5, 4.5], [2.2, 5.8]])).tolist()
    [30.0, 64.0]
    """

    def __init__(
        self,
        points: Sequence[Any],
        values: Any,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: Any = np.nan,
    ) -> None:
        self.method = _check_method(method)
        if bounds_error:
            raise NotImplementedError(f"{_NAME}: bounds_error must be False, got {bounds_error!r}")
        self.bounds_error = False
        (values,) = promote(_NAME, values, to=dtypes.to_inexact_dtype)
        self.values = pnp.asarray(values)
        self.grid: tuple[Any, ...] = tuple(
            pnp.asarray(promote(_NAME, line, to=dtypes.to_inexact_dtype)[0])
            for line in sequence(_NAME, "points", points)
        )
        self.fill_value = fill_value
        if len(self.grid) > self.values.ndim:
            raise ValueError(
                f"{_NAME}: values must have an axis for each of {len(self.grid)} points, got shape {self.values.shape}"
            )
        for i, line in enumerate(self.grid):
            if line.ndim != 1 or line.shape[0] != self.values.shape[i] or line.shape[0] < 2:
                raise ValueError(
                    f"{_NAME}: points[{i}] must be of rank 1 and have the length of axis {i} of values, "
                    f"{self.values.shape[i]}, and 2 at least, got shape {line.shape}"
                )
            if isinstance(line, Tracer):
                continue
            steps = np.diff(host_values(line))
            if np.all(steps < 0):  # as in SciPy
                self.grid = (*self.grid[:i], line[::-1], *self.grid[i + 1 :])
                self.values = pnp.flip(self.values, i)
            elif not np.all(steps > 0):
                raise ValueError(f"{_NAME}: points[{i}] must be strictly increasing or decreasing, got {line}")

    def __call__(self, xi: Any, method: str | None = None) -> Array:
        """Interpolate the values at points.

        Args:
          xi: points along the last axis, of shape (..., n); or n arrays of coordinates that broadcast together.
          method: overrides the method of the class.

        Returns:
          An array of shape (..., *values.shape[n:]).

        Raises:
          TypeError: `xi` is not an array.
          ValueError: points have a wrong number of coordinates, or `method` is unknown.
        """
        method = self.method if method is None else _check_method(method)
        rank = len(self.grid)
        if isinstance(xi, tuple):
            return self(pnp.stack(pnp.broadcast_arrays(*promote(_NAME, *xi)), axis=-1)[None], method)[0]
        xi = pnp.asarray(promote(_NAME, xi, to=dtypes.to_inexact_dtype)[0])
        if xi.ndim < 2 and xi.size % rank == 0:
            xi = xi.reshape(-1, rank)  # one point, or the coordinates of several points in a row, as in SciPy
        if not xi.ndim or xi.shape[-1] != rank:
            raise ValueError(f"{_NAME}: xi must have {rank} coordinates along its last axis, got shape {xi.shape}")
        shape = xi.shape[:-1]
        # Weights have the dtype to which all arguments promote; "nearest" does not promote values.
        weighted = (xi, *self.grid) if method == "nearest" else (self.values, *self.grid, xi)
        real = dtypes.result_type(*(dtypes.finfo(x.dtype).dtype for x in weighted))
        grid = [line.astype(real) for line in self.grid]
        columns = list(xi.astype(real).reshape(-1, rank).T)
        cells = [self._place(line, x) for line, x in zip(grid, columns, strict=True)]
        out = self._nearest(cells) if method == "nearest" else self._linear(real, cells)
        if self.fill_value is not None:
            outside = reduce(or_, [(x < line[0]) | (x > line[-1]) for line, x in zip(grid, columns, strict=True)])
            out = pnp.where(outside.reshape(-1, *(1,) * (out.ndim - 1)), self.fill_value, out)
        return out.reshape(*shape, *self.values.shape[rank:])

    def _place(self, line: Any, x: Any) -> tuple[Any, Any]:
        """The interval of each position, and the position in the interval as a fraction."""
        below = pnp.clip(pnp.searchsorted(line, x, side="right") - 1, 0, line.shape[0] - 2)
        return below, (x - line[below]) / (line[below + 1] - line[below])

    def _linear(self, real: Any, cells: Any) -> Array:
        values = self.values.astype(dtypes.result_type(self.values.dtype, real))
        total: Any = 0
        for corner in product(*([(0, 1)] * len(cells))):
            weight: Any = 1
            for step, (_, part) in zip(corner, cells, strict=True):
                weight = weight * (part if step else 1 - part)
            value = values[tuple(below + step for step, (below, _) in zip(corner, cells, strict=True))]
            total = total + value * weight.reshape(-1, *(1,) * (value.ndim - 1))
        return total

    def _nearest(self, cells: Any) -> Array:
        return self.values[tuple(pnp.where(part <= 0.5, below, below + 1) for below, part in cells)]
