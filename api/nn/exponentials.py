"""Softmax and log-softmax, and logarithms of sums and means of exponentials."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Literal, overload

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.elementwise import like
from primax.extend.provisional.typing import ArrayLike, Axes
from primax.nn.arguments import inexact
from primax.numpy import reductions
from primax.numpy.promotion import aval_of, broadcast, broadcast_to_shape, cast, promote
from primax.numpy.reductions import read_axes
from primax.numpy.selection import choose, where
from primax.numpy.ufuncs import real, to_inexact
from primax.plugins.arithmetic import abs_p, sign_p
from primax.plugins.calls import jit
from primax.plugins.custom_derivatives import custom_jvp
from primax.plugins.exponential import exp_p, log_p
from primax.plugins.structural import stop_gradient

__all__ = ["log_softmax", "logmeanexp", "logsumexp", "softmax"]

_where = where


def softmax(x: ArrayLike, axis: Axes | None = -1, where: ArrayLike | None = None) -> Array:
    """exp(x) / sum(exp(x)) along axes, without overflow.

    Args:
      x: an array; integers are converted to a floating dtype.
      axis: an axis, a sequence of axes, or None for all.
      where: a boolean array that broadcasts with x; elements where it is false are ignored, and become 0.

    Raises:
      ValueError: an axis is out of range or repeated.

    >>> import primax as px
    >>> px.nn.softmax(px.numpy.array([0.0, 1000.0]))
    Array([0., 1.], dtype=float32)
    """
    return _softmax(x, _axes("softmax", x, axis), where)


@partial(jit, static_argnums=1)
@reductions.in_single_precision
def _softmax(x: Any, axes: tuple[int, ...], where: Any) -> Array:
    _, powers = _powers(x, axes, where)
    out = powers / reductions.sum(powers, axes, where=where, keepdims=True)
    return out if where is None else _where(where, out, 0)


def log_softmax(x: ArrayLike, axis: Axes | None = -1, where: ArrayLike | None = None) -> Array:
    """The logarithm of `softmax`, x - log(sum(exp(x))), without overflow.

    Args:
      x: an array; integers are converted to a floating dtype.
      axis: an axis, a sequence of axes, or None for all.
      where: a boolean array that broadcasts with x; elements where it is false are ignored, and become -inf.

    Raises:
      ValueError: an axis is out of range or repeated.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.nn.log_softmax(pnp.array([0.0, 1000.0]))
      Array([-1000.,     0.], dtype=float32)
    """
    return _log_softmax(x, _axes("log_softmax", x, axis), where)


@partial(jit, static_argnums=1)
@reductions.in_single_precision
def _log_softmax(x: Any, axes: tuple[int, ...], where: Any) -> Array:
    shifted, powers = _powers(x, axes, where)
    out = shifted - log_p.bind(reductions.sum(powers, axes, where=where, keepdims=True), accuracy=None)
    return out if where is None else _where(where, out, -np.inf)


def _axes(function: str, x: Any, axis: Any) -> tuple[int, ...]:
    return read_axes(axis, len(aval_of(function, x).shape), function)


def _powers(x: Any, axes: tuple[int, ...], mask: Any) -> tuple[Any, Any]:
    """x minus its maximum along axes, and the exponential of the difference."""
    x = inexact("softmax", x)
    greatest = reductions.max(x, axes, where=mask, initial=-np.inf, keepdims=True)
    shifted = (x if mask is None else _where(mask, x, -np.inf)) - stop_gradient(greatest)
    return shifted, exp_p.bind(shifted, accuracy=None)


@overload
def logsumexp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: Literal[False] = False,
    where: Any = None,
) -> Array: ...
@overload
def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, *, return_sign: bool, where: Any = None
) -> Array | tuple[Array, Array]: ...
def logsumexp(
    a: ArrayLike,
    axis: Axes | None = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike | None = None,
) -> Array | tuple[Array, Array]:
    """log(sum(b * exp(a))) over axes, without overflow.

    Args:
      a: an array or a number; integers are converted to a floating dtype.
      axis: an axis, a sequence of axes, or None for all.
      b: factors, 1 if None; they broadcast with a.
      keepdims: whether the axes stay, with length 1.
      return_sign: whether to return the sign of the sum too; without it, a negative sum gives NaN.
      where: a boolean array that broadcasts with a; elements where it is false are ignored.

    Returns:
      An array; if `return_sign`, two: the logarithm of the absolute value of the sum, and its sign.

    Raises:
      ValueError: an axis is out of range or repeated.

    >>> import primax as px
    >>> px.nn.logsumexp(px.numpy.array([1000.0, 1000.0]))
    Array(1000.6932, dtype=float32)
    """
    if b is not None:
        a, b = broadcast("logsumexp", promote("logsumexp", a, b, to=to_inexact), scalars=False)
    return _logsumexp(a, _axes("logsumexp", a, axis), b, bool(keepdims), bool(return_sign), where)


@partial(jit, static_argnums=(1, 3, 4))
@reductions.in_single_precision
def _logsumexp(
    a: Any, axes: tuple[int, ...], b: Any, keepdims: bool, return_sign: bool, where: Any
) -> tuple[Array, Array] | Array:
    total, scale = _scaled_sum(a, axes, b, keepdims, where)
    if return_sign:
        sign = sign_p.bind(choose(real(scale) == -np.inf, like(total, 0), total))
        return log_p.bind(abs_p.bind(total), accuracy=None) + real(scale), sign
    return log_p.bind(total, accuracy=None) + scale


def logmeanexp(x: ArrayLike, axis: Axes | None = None, where: ArrayLike | None = None, keepdims: bool = False) -> Array:
    """log(mean(exp(x))) over axes, without overflow.

    Args:
      x: an array or a number; integers are converted to a floating dtype.
      axis: an axis, a sequence of axes, or None for all.
      where: a boolean array that broadcasts with x; elements where it is false are ignored.
      keepdims: whether the axes stay, with length 1.

    Raises:
      ValueError: an axis is out of range or repeated.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> px.nn.logmeanexp(pnp.array([1000.0, 1000.0]))
      Array(1000., dtype=float32)
      >>> px.nn.logmeanexp(pnp.array([3.0, 9.0]), where=np.array([True, False]))
      Array(3., dtype=float32)
    """
    return _logmeanexp(x, _axes("logmeanexp", x, axis), where, bool(keepdims))


@partial(jit, static_argnums=(1, 3))
@reductions.in_single_precision
def _logmeanexp(x: Any, axes: tuple[int, ...], where: Any, keepdims: bool) -> Array:
    total, scale = _scaled_sum(x, axes, None, keepdims, where)
    out = log_p.bind(total, accuracy=None) + scale
    shape = get_aval(x).shape
    if where is None:
        count = math.prod(shape[i] for i in axes)
        return out - (math.log(count) if count else -math.inf)
    counted = broadcast_to_shape(reductions.read_where("logmeanexp", where, shape), shape)
    return out - log_p.bind(cast(reductions.sum(counted, axes, keepdims=keepdims), out.dtype), accuracy=None)


@custom_jvp
def _minus(a: Any, greatest: Any) -> Array:
    """a - greatest, but 0 where both are -inf: elements that all tend to -inf have the limit 0. NaN stays NaN.

    XLA for CPUs may return -inf as the largest of elements that are all NaN.
    """
    return _where((real(greatest) == -np.inf) & (a == a), 0, a - greatest)


_minus.defjvps(lambda t, out, a, greatest: t, None)


def _scaled_sum(a: Any, axes: tuple[int, ...], b: Any, keepdims: bool, mask: Any) -> tuple[Any, Any]:
    """A sum of exponentials divided by the largest one, and the logarithm of the largest one."""
    a = inexact("logsumexp", a)
    if mask is not None:
        a = _where(mask, a, -np.inf)
    weightless = None if b is None else b == like(b, 0)
    greatest = reductions.max(
        real(a if weightless is None else _where(weightless, -np.inf, a)), axes, initial=-np.inf, keepdims=True
    )
    greatest = stop_gradient(choose(greatest == np.inf, like(greatest, 0), greatest))
    shifted = _minus(a, cast(greatest, a.dtype))
    if weightless is not None:
        # Elements of weight 0 contribute to the weight's derivative. An infinite or NaN power times 0 would be NaN.
        most = 0.99 * math.log(float(dtypes.finfo(get_aval(greatest).dtype).max))
        shifted = _where(weightless & ~(real(shifted) <= most), most, shifted)
    powers = exp_p.bind(shifted, accuracy=None)
    if b is not None:
        powers = powers * b
    total = reductions.sum(powers, axes, where=mask, keepdims=keepdims)
    scale = cast(greatest, a.dtype)
    return total, scale if keepdims else scale.reshape(total.shape)
