"""Reductions that ignore NaN."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.provisional.elementwise import like
from primax.extend.provisional.typing import ArrayLike, Axes, DTypeLike
from primax.numpy.predicates import isnan
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, broadcast
from primax.numpy.reductions import all as all_
from primax.numpy.reductions import argmax, argmin, prod, read_axes, read_where
from primax.numpy.reductions import max as max_
from primax.numpy.reductions import min as min_
from primax.numpy.reductions import sum as sum_
from primax.numpy.scans import cumulated
from primax.numpy.selection import choose
from primax.numpy.statistics import mean, var
from primax.plugins import comparison, cumulative, exponential

__all__ = [
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]


def _read(function: str, a: Any, axis: Any) -> ShapedArray:
    """The type of an array, after a check of `axis`."""
    aval = aval_of(function, a)
    if axis is not None:
        read_axes(axis, len(aval.shape), function)
    return aval


def _without(function: str, a: Any, value: float, axis: Any) -> Array:
    """An array with NaN replaced by a value."""
    aval = _read(function, a, axis)
    if not dtypes.is_inexact(aval.dtype):
        return a
    return choose(isnan(a), like(a, value), a)


@one_program("axis dtype out keepdims")
def nansum(
    a: ArrayLike,
    axis: Axes | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """The sum of the elements along axes, with NaN as 0. The arguments are those of `sum`.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.nansum(pnp.array([2.0, np.nan])), pnp.nansum(pnp.array([np.nan]))
      (Array(2., dtype=float32), Array(0., dtype=float32))
    """
    return sum_(_without("nansum", a, 0, axis), axis, dtype, out, keepdims, initial, where)


@one_program("axis dtype out keepdims")
def nanprod(
    a: ArrayLike,
    axis: Axes | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """The product of the elements along axes, with NaN as 1. The arguments are those of `prod`.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.nanprod(pnp.array([2.0, np.nan])), pnp.nanprod(pnp.array([np.nan]))
      (Array(2., dtype=float32), Array(1., dtype=float32))
    """
    return prod(_without("nanprod", a, 1, axis), axis, dtype, out, keepdims, initial, where)


def _extremum(
    function: str,
    reduce: Any,
    worst: float,
    a: Any,
    axis: Any,
    out: Any,
    keepdims: bool,
    initial: Any,
    keep: Any,
) -> Array:
    aval = aval_of(function, a)
    extremum = reduce(_without(function, a, worst, axis), axis, out, keepdims, initial, keep)
    if not dtypes.is_inexact(aval.dtype) or initial is not None:
        return extremum
    return choose(all_(isnan(a), axis, keepdims=keepdims), like(extremum, math.nan), extremum)


@one_program("axis out keepdims")
def nanmax(
    a: ArrayLike,
    axis: Axes | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """The largest element along axes, ignoring NaN unless all are NaN. The arguments are those of `max`.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.nanmax(pnp.array([[1.0, np.nan], [np.nan, np.nan]]), axis=1)
      Array([ 1., nan], dtype=float32)
    """
    return _extremum("nanmax", max_, -math.inf, a, axis, out, keepdims, initial, where)


@one_program("axis out keepdims")
def nanmin(
    a: ArrayLike,
    axis: Axes | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """The smallest element along axes, ignoring NaN unless all are NaN. The arguments are those of `max`.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.nanmin(pnp.array([3.0, np.nan, 1.0]))
      Array(1., dtype=float32)
    """
    return _extremum("nanmin", min_, math.inf, a, axis, out, keepdims, initial, where)


def _position(function: str, find: Any, worst: float, a: Any, axis: Any, out: Any, keepdims: Any) -> Array:
    aval = _read(function, a, axis)
    if not dtypes.is_inexact(aval.dtype):
        return find(a, axis, out, keepdims)
    position = find(_without(function, a, worst, axis), axis, out, keepdims)
    nothing = all_(isnan(a), axis, keepdims=bool(keepdims))
    return choose(nothing, get_aval(position).dtype.type(-1), position)


@one_program("axis out keepdims")
def nanargmax(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array:
    """The position of the largest element along an axis, ignoring NaN; -1 if all are NaN.

    The arguments are those of `argmax`.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.nanargmax(pnp.array([np.nan, 2.0, 1.0])), pnp.nanargmax(pnp.array([np.nan]))
      (Array(1, dtype=int32), Array(-1, dtype=int32))
    """
    return _position("nanargmax", argmax, -math.inf, a, axis, out, keepdims)


@one_program("axis out keepdims")
def nanargmin(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array:
    """The position of the smallest element along an axis, ignoring NaN; -1 if all are NaN.

    The arguments are those of `argmax`.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.nanargmin(pnp.array([[np.nan, 2.0], [1.0, np.nan]]), axis=1)
      Array([1, 0], dtype=int32)
    """
    return _position("nanargmin", argmin, math.inf, a, axis, out, keepdims)


def _present(function: str, a: Any, keep: Any) -> Array:
    """The mask of the elements that are not NaN and not excluded by `where`."""
    present = comparison.eq_p.bind(a, a)
    if keep is None:
        return present
    keep = read_where(function, keep, get_aval(present).shape)
    return choose(*broadcast("where", [keep, present, np.False_]))


@one_program("axis dtype out keepdims")
def nanmean(
    a: ArrayLike,
    axis: Axes | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    where: ArrayLike | None = None,
) -> Array:
    """The mean of the elements along axes, ignoring NaN. The arguments are those of `mean`.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.nanmean(pnp.array([1.0, np.nan, 3.0])), pnp.nanmean(pnp.array([np.nan]))
      (Array(2., dtype=float32), Array(nan, dtype=float32))
    """
    aval = _read("nanmean", a, axis)
    if not dtypes.is_inexact(aval.dtype):
        return mean(a, axis, dtype, out, keepdims, where=where)
    return mean(a, axis, dtype, out, keepdims, where=_present("nanmean", a, where))


@one_program("axis dtype out ddof keepdims", named="nanvar")
def nanvar(
    a: ArrayLike,
    axis: Axes | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """The variance of the elements along axes, ignoring NaN. The arguments are those of `var`.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.nanvar(pnp.array([1.0, np.nan, 3.0]), ddof=1)
      Array(2., dtype=float32)
    """
    aval = _read("nanvar", a, axis)
    if not dtypes.is_inexact(aval.dtype):
        return var(a, axis, dtype, out, ddof, keepdims, where=where, mean=mean)
    return var(a, axis, dtype, out, ddof, keepdims, where=_present("nanvar", a, where), mean=mean)


@one_program("axis dtype out ddof keepdims", named="nanstd")
def nanstd(
    a: ArrayLike,
    axis: Axes | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """The standard deviation of the elements along axes, ignoring NaN. The arguments are those of `var`.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.nanstd(pnp.array([1.0, np.nan, 3.0]))
      Array(1., dtype=float32)
    """
    _read("nanstd", a, axis)
    return exponential.sqrt_p.bind(nanvar(a, axis, dtype, out, ddof, keepdims, where, mean))


@one_program("axis dtype out")
def nancumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None) -> Array:
    """The cumulative sums of the elements, with NaN as 0. The arguments are those of `cumsum`.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.nancumsum(pnp.array([2.0, np.nan, 3.0]))
      Array([2., 2., 5.], dtype=float32)
    """
    return cumulated("nancumsum", cumulative.cumsum_p, _without("nancumsum", a, 0, None), axis, dtype, out)


@one_program("axis dtype out")
def nancumprod(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None) -> Array:
    """The cumulative products of the elements, with NaN as 1. The arguments are those of `cumsum`.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.nancumprod(pnp.array([2.0, np.nan, 3.0]))
      Array([2., 2., 6.], dtype=float32)
    """
    return cumulated("nancumprod", cumulative.cumprod_p, _without("nancumprod", a, 1, None), axis, dtype, out)
