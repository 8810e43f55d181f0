"""Normalized exponentials, and logarithms of their sums and means."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primax.plugins.arithmetic import abs_p, sign_p
from primax.plugins.elementwise import like
from primax.plugins.exponential import exp_p, log_p
from primax.plugins.nn.arguments import inexact
from primax.plugins.numpy import reductions
from primax.plugins.numpy.promotion import boolean, cast, promote
from primax.plugins.numpy.reductions import read_axes
from primax.plugins.numpy.selection import choose, where
from primax.plugins.numpy.ufuncs import real, to_inexact
from primax.plugins.rounding import is_finite_p
from primax.plugins.structural import stop_gradient

__all__ = ["log_softmax", "logmeanexp", "logsumexp", "softmax"]

_where = where


def softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """exp(x) / sum(exp(x)) along axes, without overflow.

    Args:
      x: an array; integers are converted to a floating dtype.
      axis: an axis, a sequence of axes, or None for all.
      where: a boolean array that broadcasts with x; elements where it is false do not count, and become 0.

    Raises:
      ValueError: an axis is out of range or repeated.

    >>> import primax as px
    >>> px.nn.softmax(px.numpy.array([0.0, 1000.0]))
    Array([0., 1.], dtype=float32)
    """
    x, _, powers = _powers("softmax", x, axis, where)
    out = powers / reductions.sum(powers, axis, where=where, keepdims=True)
    return out if where is None else _where(where, out, 0)


def log_softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """The logarithm of `softmax`, x - log(sum(exp(x))), without overflow.

    Args:
      x: an array; integers are converted to a floating dtype.
      axis: an axis, a sequence of axes, or None for all.
      where: a boolean array that broadcasts with x; elements where it is false do not count, and become -inf.

    Raises:
      ValueError: an axis is out of range or repeated.
    """
    x, shifted, powers = _powers("log_softmax", x, axis, where)
    out = shifted - log_p.bind(reductions.sum(powers, axis, where=where, keepdims=True), accuracy=None)
    return out if where is None else _where(where, out, -np.inf)


def _powers(function: str, x: Any, axis: Any, mask: Any) -> tuple[Any, Any, Any]:
    """x, x less its greatest element along axes, and the exponential of that."""
    x = inexact(function, x)
    read_axes(axis, x.ndim, function)
    greatest = reductions.max(x, axis, where=mask, initial=-np.inf, keepdims=True)
    shifted = (x if mask is None else _where(mask, x, -np.inf)) - stop_gradient(greatest)
    return x, shifted, exp_p.bind(shifted, accuracy=None)


def logsumexp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """log(sum(b * exp(a))) over axes, without overflow.

    Args:
      a: an array or a number; integers are converted to a floating dtype.
      axis: an axis, a sequence of axes, or None for all.
      b: factors, 1 if None; they broadcast with a.
      keepdims: whether the axes stay, with length 1.
      return_sign: whether the sign of the sum is returned too; without it, a negative sum has the logarithm NaN.
      where: a boolean array that broadcasts with a; elements where it is false do not count.

    Returns:
      An array; or two, the logarithm of the absolute value of the sum, and its sign.

    Raises:
      ValueError: an axis is out of range or repeated.

    >>> import primax as px
    >>> px.nn.logsumexp(px.numpy.array([1000.0, 1000.0]))
    Array(1000.6932, dtype=float32)
    """
    total, scale = _scaled_sum("logsumexp", a, axis, b, keepdims, where)
    if return_sign:
        return log_p.bind(abs_p.bind(total), accuracy=None) + real(scale), sign_p.bind(total)
    return log_p.bind(total, accuracy=None) + scale


def logmeanexp(x: Any, axis: Any = None, where: Any = None, keepdims: bool = False) -> Any:
    """log(mean(exp(x))) over axes, without overflow.

    Args:
      x: an array or a number; integers are converted to a floating dtype.
      axis: an axis, a sequence of axes, or None for all.
      where: a boolean array that broadcasts with x; elements where it is false do not count.
      keepdims: whether the axes stay, with length 1.

    Raises:
      ValueError: an axis is out of range or repeated.
    """
    total, scale = _scaled_sum("logmeanexp", x, axis, None, keepdims, where)
    out = log_p.bind(total, accuracy=None) + scale
    shape = np.shape(x)
    if where is None:
        count = math.prod(shape[i] for i in read_axes(axis, len(shape), "logmeanexp"))
        return out - (math.log(count) if count else -math.inf)
    count = reductions.sum(boolean(where) | np.zeros(shape, bool), axis, keepdims=keepdims)
    return out - log_p.bind(inexact("logmeanexp", count), accuracy=None)


def _scaled_sum(function: str, a: Any, axis: Any, b: Any, keepdims: bool, mask: Any) -> tuple[Any, Any]:
    """A sum of exponentials, divided by the greatest of them; and the logarithm of that."""
    if b is None:
        a = inexact(function, a)
    else:
        a, b = promote(function, a, b, to=to_inexact)
        a = _where(b != like(b, 0), inexact(function, a), -np.inf)
    read_axes(axis, a.ndim, function)
    if mask is not None:
        a = _where(mask, a, -np.inf)
    greatest = reductions.max(real(a), axis, initial=-np.inf, keepdims=True)
    greatest = stop_gradient(choose(is_finite_p.bind(greatest), greatest, like(greatest, 0)))
    greatest = cast(greatest, a.dtype)
    powers = exp_p.bind(a - greatest, accuracy=None)
    if b is not None:
        powers = powers * b
    total = reductions.sum(powers, axis, where=mask, keepdims=keepdims)
    return total, greatest if keepdims else greatest.reshape(total.shape)
