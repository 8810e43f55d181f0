"""Removal of trends from signals."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import among, canonical_axis
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.joining import concatenate
from primax.numpy.promotion import known_integers, promote
from primax.numpy.reductions import sum as sum_
from primax.numpy.statistics import mean
from primax.numpy.ufuncs import multiply, subtract
from primax.plugins.structural import slice_in_dim

__all__ = ["detrend"]

_TYPES = {"linear": "linear", "l": "linear", "constant": "constant", "c": "constant"}


def detrend(
    data: ArrayLike, axis: int = -1, type: str = "linear", bp: int | Sequence[int] = 0, overwrite_data: None = None
) -> Array:
    """A signal minus its least-squares line, or minus its mean.

    Args:
      data: an array of numbers.
      axis: the axis.
      type: 'linear' or 'l' for a line, 'constant' or 'c' for the mean.
      bp: the positions at which a new line begins.
      overwrite_data: None.

    Returns:
      An array of a floating or complex dtype.

    Raises:
      NotImplementedError: `overwrite_data` is true.
      ValueError: `type` is unknown, or `axis` or a position is out of range.

    >>> import primax as px
    >>> px.scipy.signal.detrend(px.numpy.array([1.0, 2.0, 6.0]), type="constant")
    Array([-2., -1.,  3.], dtype=float32)
    """
    if overwrite_data:
        raise NotImplementedError("detrend: overwrite_data must be None, since arrays do not change, got True")
    if not among(type, _TYPES):
        raise ValueError(f"detrend: type must be one of {', '.join(map(repr, _TYPES))}, got {type!r}")
    (data,) = promote("detrend", data, to=dtypes.to_inexact_dtype)
    shape = get_aval(data).shape
    axis = canonical_axis(axis, len(shape), "detrend")
    if _TYPES[type] == "constant":
        return subtract(data, mean(data, axis, keepdims=True))
    size = shape[axis]
    breaks = sorted({0, size, *known_integers("detrend", "bp", bp)})
    if breaks[0] < 0 or breaks[-1] > size:
        raise ValueError(f"detrend: bp must lie in [0, {size}), got {bp} for {get_aval(data).str_short()}")
    parts = [_without_line(slice_in_dim(data, start, stop, 1, axis), axis) for start, stop in pairwise(breaks)]
    return parts[0] if len(parts) == 1 else concatenate(parts, axis)


def _without_line(x: Any, axis: int) -> Array:
    aval = get_aval(x)
    size = aval.shape[axis]
    level = subtract(x, mean(x, axis, keepdims=True))
    if size < 2:
        return level
    # Of unit length and without a mean, so that the line is a projection.
    line = np.arange(size) - (size - 1) / 2
    line /= np.sqrt(np.sum(line**2))
    line = line.reshape([size if i == axis else 1 for i in range(len(aval.shape))]).astype(aval.dtype)
    return subtract(level, multiply(line, sum_(multiply(level, line), axis, keepdims=True)))
