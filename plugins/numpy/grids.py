"""Grids and indices written with brackets: `mgrid[0:3, 0:2]`."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import backend
from primax.extend.core import dtypes, get_aval
from primax.plugins.numpy.joining import stack
from primax.plugins.numpy.promotion import aval_of
from primax.plugins.numpy.ranges import arange, linspace, meshgrid
from primax.plugins.numpy.shaping import reshaped

__all__ = ["diag_indices", "diag_indices_from", "index_exp", "ix_", "mgrid", "ogrid", "s_"]


def _points(part: Any) -> Any:
    """The points that a slice stands for; an imaginary step is their number, and the end is included."""
    if not isinstance(part, slice):
        return arange(part)
    start = 0 if part.start is None else part.start
    if isinstance(part.step, complex):
        return linspace(start, part.stop, int(abs(part.step)))
    return arange(start, part.stop, part.step)


class _Grid:
    """What makes a grid of the slices in its brackets."""

    __slots__ = ("_sparse",)

    def __init__(self, sparse: bool) -> None:
        self._sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, tuple):
            return _points(key)
        points = [_points(part) for part in key]
        dtype = dtypes.result_type(*points)
        found = meshgrid(*[x.astype(dtype) for x in points], sparse=self._sparse, indexing="ij")
        return found if self._sparse else stack(found)


mgrid = _Grid(False)
ogrid = _Grid(True)
s_ = np.s_
index_exp = np.index_exp


def ix_(*args: Any) -> tuple[Any, ...]:
    """Vectors as arrays that broadcast against each other, one along each axis.

    Args:
      args: arrays of rank 1.

    Raises:
      ValueError: an array is not of rank 1.
      NotImplementedError: an array is boolean.
    """
    out = []
    for i, x in enumerate(args):
        aval = aval_of("ix_", x, i)
        if len(aval.shape) != 1:
            raise ValueError(f"ix_: arguments must be of rank 1, got {aval.str_short()}")
        if dtypes.is_bool(aval.dtype):
            raise NotImplementedError("ix_: arguments must not be boolean: what is true has no static number")
        out.append(reshaped(x, tuple([get_aval(x).shape[0] if k == i else 1 for k in range(len(args))])))
    return tuple(out)


def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """The indices of the main diagonal of an array with axes of one length.

    Args:
      n: the length.
      ndim: the number of axes.
    """
    found = backend.put_value(np.arange(n, dtype=dtypes.default_int_dtype()))
    return (found,) * ndim


def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    """`diag_indices` for the shape of an array.

    Raises:
      ValueError: its axes are not of one length, or it has fewer than two.
    """
    shape = aval_of("diag_indices_from", arr).shape
    if len(shape) < 2 or len(set(shape)) > 1:
        raise ValueError(f"diag_indices_from: arr must have two axes or more, of one length, got shape {shape}")
    return diag_indices(shape[0], len(shape))
