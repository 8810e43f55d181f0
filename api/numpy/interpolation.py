"""Piecewise linear interpolation."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.conversion import asarray
from primax.numpy.predicates import isnan
from primax.numpy.promotion import aval_of, promote
from primax.numpy.rows import take_rows
from primax.numpy.selection import where
from primax.numpy.shaping import ravel, reshaped
from primax.numpy.sorting import searchsorted
from primax.numpy.ufuncs import maximum, minimum
from primax.plugins.calls import jit
from primax.plugins.sorting import sort_p
from primax.plugins.structural import concatenate_p

__all__ = ["interp"]


def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLike | str | None = None,
    right: ArrayLike | str | None = None,
    period: ArrayLike | None = None,
) -> Array:
    """Interpolate linearly between points.

    Args:
      x: the positions to interpolate at, an array or a number.
      xp: the positions of the points, an array of rank 1 in ascending order.
      fp: the values at the points, an array of the shape of `xp`, real or complex.
      left: the value before the first point; `fp[0]` if None, or "extrapolate" to continue the first line.
      right: the value after the last point; `fp[-1]` if None, or "extrapolate" to continue the last line.
      period: the period of the function. If given, `xp` may be in any order, and `left` and `right` are ignored.

    Raises:
      ValueError: `xp` and `fp` are not of rank 1 and of equal, positive length, or `period` is 0.

    >>> import primax as px
    >>> px.numpy.interp(px.numpy.array([1.5, 9.]), px.numpy.array([1., 2.]), px.numpy.array([10., 20.]))
    Array([15., 20.], dtype=float32)
    """
    shapes = [aval_of("interp", v, name).shape for v, name in ((xp, "xp"), (fp, "fp"))]
    if shapes[0] != shapes[1] or len(shapes[0]) != 1 or not shapes[0][0]:
        raise ValueError(
            f"interp: xp and fp must be of rank 1 and of the same length, 1 or more, got {shapes[0]} and {shapes[1]}"
        )
    aval_of("interp", x, "x")
    if dtypes.is_complex(get_aval(x).dtype) or dtypes.is_complex(get_aval(xp).dtype):
        raise ValueError(f"interp: x and xp must be real, got {get_aval(x).str_short()} and {get_aval(xp).str_short()}")
    if period is not None and (np.ndim(period) or not period):
        raise ValueError(f"interp: period must be a number other than 0, got {period!r}")
    for end in (left, right):
        if isinstance(end, str) and end != "extrapolate":
            raise ValueError(f"interp: left and right must be numbers or 'extrapolate', got {end!r}")
    bounded = tuple([period is None and not isinstance(end, str) for end in (left, right)])
    ends = [end if bound else None for end, bound in zip((left, right), bounded, strict=True)]
    return _compiled(x, xp, fp, ends, None if period is None else abs(period), bounded)


def _interpolated(x: Any, xp: Any, fp: Any, ends: Any, period: Any, bounded: tuple[bool, ...]) -> Array:
    x, xp = map(asarray, promote("interp", x, xp, to=dtypes.to_inexact_dtype))
    (fp,) = map(asarray, promote("interp", fp, to=dtypes.to_inexact_dtype))
    if period is not None:
        x, xp = x % period, xp % period
        xp, fp = sort_p.bind(xp, fp, dimension=0, is_stable=True, num_keys=1)
        inner = xp  # in order even where some are NaN
        xp = concatenate_p.bind(xp[-1:] - period, xp, xp[:1] + period, dimension=0)
        fp = concatenate_p.bind(fp[-1:], fp, fp[:1], dimension=0)
    count, flat = xp.shape[0], ravel(x)
    if count == 1:  # a value for every number, even for NaN
        flat = where(isnan(flat), xp[0], flat)
    if period is not None:
        place = searchsorted(inner, flat, "right") + 1
    else:
        place = minimum(maximum(searchsorted(xp, flat, "right"), 1), max(count - 1, 1))
    x0, f0 = take_rows(xp, place - 1), take_rows(fp, place - 1)
    run, rise = take_rows(xp, place) - x0, take_rows(fp, place) - f0
    # The first of several points at the same position counts; derivatives do not divide by 0 either.
    no_run = abs(run) <= np.spacing(dtypes.finfo(xp.dtype).eps)
    out = f0 + (flat - x0) * where(no_run, 0, rise / where(no_run, 1, run))
    outside = ((flat < xp[0], fp[0]), (flat > xp[count - 1], fp[count - 1]))
    for end, bound, (beyond, value) in zip(ends, bounded, outside, strict=True):
        if bound:
            out = where(beyond, value if end is None else end, out)
    return reshaped(out, x.shape)


# One call in programs, and one program outside of them.
_compiled = jit(_interpolated, static_argnums=5)
