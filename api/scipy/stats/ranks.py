"""Statistics of samples: mode, ranks, and the standard error of the mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from primax import lax
from primax import numpy as pnp
from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import among, integer
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.programs import one_program
from primax.numpy.promotion import promote
from primax.numpy.reductions import FLOAT32, is_half

__all__ = ["mode", "rankdata", "sem"]

_METHODS = ("average", "min", "max", "dense", "ordinal")


class ModeResult(NamedTuple):
    """The most common value and its count."""

    mode: Any
    count: Any


def _policy(function: str, nan_policy: str, *others: str) -> None:
    if not among(nan_policy, ("propagate", *others)):
        allowed = " or ".join(repr(policy) for policy in ("propagate", *others))
        raise NotImplementedError(f"{function}: nan_policy must be {allowed}, got {nan_policy!r}")


def _sample(function: str, a: Any, axis: Any) -> tuple[Any, int]:
    (a,) = promote(function, a)
    a = pnp.asarray(a)
    if axis is None:
        return a.reshape(-1), 0
    axis = integer(function, "axis", axis)
    rank = max(a.ndim, 1)
    if not -rank <= axis < rank:
        raise ValueError(f"{function}: axis must be from {-rank} to {rank - 1}, got {axis}")
    return pnp.atleast_1d(a), axis % rank


def _positions(x: Any, axis: int) -> Array:
    return lax.broadcasted_iota(np.int32, x.shape, axis)


def _begins(ordered: Any, axis: int) -> Array:
    """Whether each element of a sorted array differs from its predecessor."""
    before = pnp.roll(ordered, 1, axis)
    return (ordered != before) | (_positions(ordered, axis) == 0)


def _is_nan(x: Any) -> Array:
    return x != x


def _most_common(a: Any, axis: int) -> tuple[Any, Any]:
    ordered = pnp.sort(a, axis=axis)
    place = _positions(ordered, axis)
    both_nan = _is_nan(ordered) & _is_nan(pnp.roll(ordered, 1, axis)) & (place > 0)
    start = lax.cummax(pnp.where(_begins(ordered, axis) & ~both_nan, place, 0), axis)
    length = place - start + 1
    at = pnp.argmax(length, axis=axis, keepdims=True)
    value = pnp.take_along_axis(ordered, at, axis)
    count = pnp.max(length, axis=axis, keepdims=True)
    return value, count.astype(int)


@one_program("axis nan_policy keepdims", named="mode")
def mode(
    a: ArrayLike | Sequence[Any], axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:
    """The most common value along an axis, the smallest of several, and its count.

    Args:
      a: an array.
      axis: an axis; None for all elements.
      nan_policy: "propagate": NaN is a value, and the largest one.
      keepdims: whether the axis stays with length 1.

    Returns:
      A named tuple `(mode, count)`; for an empty axis NaN and 0.0, as in SciPy.

    Raises:
      NotImplementedError: `nan_policy` is another value.
      TypeError: `a` is not an array.
      ValueError: `axis` is out of range.

    >>> import primax as px
    >>> px.scipy.stats.mode(px.numpy.array([2, 4, 1, 4]))
    ModeResult(mode=Array(4, dtype=int32), count=Array(2, dtype=int32))
    """
    _policy("mode", nan_policy)
    rank = get_aval(a).shape if not isinstance(a, list | tuple) else ()
    x, axis_read = _sample("mode", a, axis)
    if x.shape[axis_read]:
        value, count = _most_common(x, axis_read)
    else:
        kept = (*x.shape[:axis_read], 1, *x.shape[axis_read + 1 :])
        value, count = pnp.full(kept, np.nan, float), pnp.zeros(kept)
    if keepdims:
        shape = (1,) * len(rank) if axis is None else value.shape
        return ModeResult(value.reshape(shape), count.reshape(shape))
    return ModeResult(value.squeeze(axis_read), count.squeeze(axis_read))


def _ranks(a: Any, method: str, axis: int) -> Array:
    dtype = dtypes.default_float_dtype()
    if not a.size:
        return pnp.zeros(a.shape, dtype)
    order = pnp.argsort(a, axis=axis, stable=True)
    place = _positions(a, axis)
    back = pnp.put_along_axis(pnp.zeros_like(place), order, place, axis, inplace=False)
    if method == "ordinal":
        ranks = (back + 1).astype(dtype)
    else:
        begins = _begins(pnp.take_along_axis(a, order, axis), axis)
        ends = pnp.roll(begins, -1, axis)
        first = lax.cummax(pnp.where(begins, place, 0), axis) + 1
        last = lax.cummin(pnp.where(ends, place, a.shape[axis]), axis, reverse=True) + 1
        ranked = {
            "min": lambda: first,
            "max": lambda: last,
            "average": lambda: (first + last) / 2,
            "dense": lambda: pnp.cumsum(begins, axis=axis),
        }[method]()
        ranks = pnp.take_along_axis(ranked, back, axis).astype(dtype)
    if dtypes.is_inexact(a.dtype):
        ranks = pnp.where(pnp.any(_is_nan(a), axis=axis, keepdims=True), np.nan, ranks)
    return ranks


@one_program("method axis nan_policy", named="rankdata")
def rankdata(a: ArrayLike, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate") -> Array:
    """Ranks of the elements of an array, from 1 on.

    Args:
      a: an array.
      method: the rank of equal elements: "average", "min" or "max" of their positions; "dense", where ranks have no
        gaps; "ordinal", by their order.
      axis: an axis; None for all elements, flattened.
      nan_policy: "propagate": all ranks are NaN if an element is NaN.

    Returns:
      An array of a floating dtype.

    Raises:
      NotImplementedError: `nan_policy` is another value.
      TypeError: `a` is not an array.
      ValueError: `method` is unknown, or `axis` out of range.

    >>> import primax as px
    >>> px.scipy.stats.rankdata(px.numpy.array([1, 3, 2, 3]))
    Array([1. , 3.5, 2. , 3.5], dtype=float32)
    """
    _policy("rankdata", nan_policy)
    if not among(method, _METHODS):
        raise ValueError(f"rankdata: method must be one of {', '.join(map(repr, _METHODS))}, got {method!r}")
    x, axis_read = _sample("rankdata", a, axis)
    return _ranks(x, method, axis_read)


@one_program("axis ddof nan_policy keepdims")
def sem(
    a: ArrayLike, axis: int | None = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False
) -> Array:
    """The standard error of the mean: the standard deviation divided by the square root of the number of elements.

    Args:
      a: an array.
      axis: an axis; None for all elements.
      ddof: the divisor of the variance is the number of elements minus `ddof`.
      nan_policy: "propagate", or "omit" to ignore NaN.
      keepdims: whether the axis stays with length 1.

    Raises:
      NotImplementedError: `nan_policy` is another value.
      TypeError: `a` is not an array.
      ValueError: `axis` is out of range.

    >>> import primax as px
    >>> round(float(px.scipy.stats.sem(px.numpy.array([1.0, 2.0, 3.0]))), 4)
    0.5774
    """
    _policy("sem", nan_policy, "omit")
    (a,) = promote("sem", a, to=dtypes.to_inexact_dtype)
    a = pnp.asarray(a)
    if axis is not None:
        _sample("sem", a, axis)
        a = pnp.atleast_1d(a)
    if is_half(get_aval(a).dtype):  # the root of the number of elements may be beyond its range
        wide = sem(a.astype(FLOAT32), axis, ddof, nan_policy, keepdims=keepdims)
        return wide.astype(get_aval(a).dtype)
    if nan_policy == "omit":
        count = pnp.sum(~_is_nan(a), axis=axis, keepdims=keepdims)
        return pnp.nanstd(a, axis=axis, ddof=ddof, keepdims=keepdims) / pnp.sqrt(count).astype(a.dtype)
    size = a.size if axis is None else a.shape[axis]
    return pnp.std(a, axis=axis, ddof=ddof, keepdims=keepdims) / pnp.sqrt(pnp.asarray(size, a.dtype))
