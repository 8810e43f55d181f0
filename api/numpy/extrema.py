"""The least and the greatest elements of arrays together, and several of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend.api_util import among, integer
from primax.extend.core import dtypes, get_aval
from primax.plugins.numpy.promotion import promote
from primax.plugins.numpy.reductions import max as max_
from primax.plugins.numpy.reductions import min as min_
from primax.plugins.numpy.sorting import argsort
from primax.plugins.numpy.taking import take_along_axis
from primax.plugins.numpy.ufuncs import invert
from primax.plugins.sorting import top_k as greatest
from primax.plugins.structural import slice_in_dim
from primax.plugins.structural.arguments import canonical_axis

__all__ = ["minmax", "top_k"]


def minmax(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> tuple[Any, Any]:
    """The minimum and the maximum along axes.

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all.
      out: None.
      keepdims: whether the axes stay, with length 1.
      initial: a number that both include; or two, the highest minimum and the lowest maximum.
      where: booleans, which elements count; `initial` must be given then.

    Raises:
      NotImplementedError: `out` is given.
      TypeError: `a` is no array.
      ValueError: there are no elements and no `initial`, or an axis is out of range.

    >>> import primax.numpy as pnp
    >>> pnp.minmax(pnp.array([3, 1, 2]))
    (Array(1, dtype=int32), Array(3, dtype=int32))
    """
    if out is not None:
        raise NotImplementedError("minmax: out must be None, since arrays do not change")
    low, high = initial if isinstance(initial, tuple | list) and len(initial) == 2 else (initial, initial)
    (a,) = promote("minmax", a)
    return min_(a, axis, keepdims=keepdims, initial=low, where=where), max_(
        a, axis, keepdims=keepdims, initial=high, where=where
    )


def top_k(a: Any, k: int, /, *, axis: int = -1, mode: str = "largest", sorted: bool = True) -> tuple[Any, Any]:
    """The greatest or least elements along an axis, with their positions.

    Args:
      a: an array of real numbers.
      k: how many, from 0 to the length of the axis.
      axis: the axis.
      mode: "largest", in descending order, where NaN is the greatest; or "smallest", in ascending order.
      sorted: whether they must be in order; here they always are.

    Returns:
      Two arrays of length `k` along the axis: the elements, and their positions as int32.

    Raises:
      TypeError: `a` is complex or no array.
      ValueError: `mode` is unknown, `axis` out of range, or there are not `k` elements.

    >>> import primax.numpy as pnp
    >>> pnp.top_k(pnp.array([5, 9, 7]), 2, mode="smallest")
    (Array([5, 7], dtype=int32), Array([0, 2], dtype=int32))
    """
    if not among(mode, ("largest", "smallest")):
        raise ValueError(f'top_k: mode must be "largest" or "smallest", got {mode!r}')
    (a,) = promote("top_k", a)
    aval = get_aval(a)
    k, axis = integer("top_k", "k", k), canonical_axis(axis, len(aval.shape), "top_k")
    if mode == "largest":
        return greatest(a, k, axis=axis)
    if dtypes.is_complex(aval.dtype):
        raise TypeError(f"top_k: a must be real, got {aval.str_short()}")
    if not dtypes.is_inexact(aval.dtype):
        _, positions = greatest(invert(a), k, axis=axis)
    else:
        order = argsort(a, axis=axis)  # NaN comes last
        if not 0 <= k <= aval.shape[axis]:
            raise ValueError(f"top_k: k must be from 0 to {aval.shape[axis]}, the length of axis {axis}, got {k}")
        positions = slice_in_dim(order, 0, k, axis=axis).astype(np.int32)
    return take_along_axis(a, positions, axis), positions
