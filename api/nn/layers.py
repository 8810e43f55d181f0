"""Layers without parameters."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import ArgumentError, among, canonical_axis, integer
from primax.extend.provisional.typing import ArrayLike, Axes, DTypeLike, ShardingLike
from primax.nn.arguments import inexact, number
from primax.numpy import rounding, statistics
from primax.numpy.conversion import read_dtype
from primax.numpy.promotion import aval_of, broadcast_to_shape, cast
from primax.numpy.reductions import FLOAT32, is_half, read_axes
from primax.numpy.shaping import expand_dims
from primax.plugins.arithmetic import square_p
from primax.plugins.calls import jit
from primax.plugins.comparison import eq_p
from primax.plugins.exponential import rsqrt
from primax.plugins.resharding import divided_call
from primax.plugins.structural import iota_p

__all__ = ["one_hot", "standardize"]

_ALGORITHMS = ("fast", "stable")


def one_hot(
    x: ArrayLike,
    num_classes: int,
    *,
    dtype: DTypeLike | None = None,
    axis: int = -1,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Vectors that are 1 at one position and 0 elsewhere.

    Args:
      x: the positions, an array of any shape; a position out of range gives a vector of zeros.
      num_classes: the length of the vectors.
      dtype: the dtype of the result, the default floating dtype if None.
      axis: the axis of the vectors in the result.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      ValueError: `axis` is out of range, or `num_classes` is negative.

    >>> import primax as px
    >>> px.nn.one_hot(px.numpy.array([0, 2, 3]), 3)
    Array([[1., 0., 0.],
           [0., 0., 1.],
           [0., 0., 0.]], dtype=float32)
    """
    if out_sharding is not None:
        return divided_call(one_hot, (x, num_classes), {"dtype": dtype, "axis": axis}, out_sharding)
    axis = canonical_axis(axis, len(aval_of("one_hot", x).shape) + 1, "one_hot")
    dtype = dtypes.default_float_dtype() if dtype is None else read_dtype(dtype, "one_hot")
    count = integer("one_hot", "num_classes", num_classes)
    if count < 0:
        raise ArgumentError(f"one_hot: num_classes must not be negative, got {count}")
    return _one_hot(x, count, dtype, axis)


@partial(jit, static_argnums=(1, 2, 3))
def _one_hot(x: Any, num_classes: int, dtype: Any, axis: int) -> Array:
    x = expand_dims(number("one_hot", x), axis)
    shape = (*x.shape[:axis], num_classes, *x.shape[axis + 1 :])
    classes = cast(iota_p.bind(dtype=np.dtype(np.int32), shape=shape, dimension=axis), x.dtype)
    return cast(eq_p.bind(broadcast_to_shape(x, shape), classes), dtype)


@partial(jit, static_argnames=("axis", "algorithm"))
def standardize(
    x: ArrayLike,
    axis: Axes | None = -1,
    mean: ArrayLike | None = None,
    variance: ArrayLike | None = None,
    epsilon: ArrayLike = 1e-5,
    where: ArrayLike | None = None,
    *,
    algorithm: str = "fast",
) -> Array:
    """(x - mean) / sqrt(variance + epsilon), with mean 0 and variance 1 along axes.

    Args:
      x: an array; integers are converted to a floating dtype.
      axis: an axis, a sequence of axes, or None for all; unused if the mean and the variance are given.
      mean: the mean, with `axis` kept as size 1; computed if None.
      variance: the variance, with `axis` kept as size 1; computed if None.
      epsilon: a number added to the variance.
      where: a boolean array that broadcasts with x; elements where it is false are ignored.
      algorithm: the formula for the variance: "fast" is mean(x**2) - mean(x)**2, "stable" is mean((x - mean)**2).

    Raises:
      ValueError: an axis is out of range or repeated, or the algorithm is unknown.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.nn.standardize(pnp.array([[1.0, 3.0], [0.0, 100.0]]), epsilon=0.0)
      Array([[-1.,  1.],
             [-1.,  1.]], dtype=float32)
    """
    if not among(algorithm, _ALGORITHMS):
        raise ValueError(f"standardize: algorithm must be 'fast' or 'stable', got {algorithm!r}")
    x = inexact("standardize", x)
    for name, value in (("mean", mean), ("variance", variance), ("epsilon", epsilon)):
        if value is not None or name == "epsilon":
            aval_of("standardize", value, name)
    if mean is None or variance is None:
        read_axes(axis, get_aval(x).ndim, "standardize")
    dtype = get_aval(x).dtype
    narrow = is_half(dtype) and all(y is None or get_aval(y).dtype == dtype for y in (mean, variance))
    if narrow:
        x = cast(x, FLOAT32)
        mean = mean if mean is None else cast(mean, FLOAT32)
        variance = variance if variance is None else cast(variance, FLOAT32)
    if mean is None:
        mean = statistics.mean(x, axis, keepdims=True, where=where)
    elif not dtypes.is_inexact(get_aval(mean).dtype):
        mean = cast(mean, get_aval(x).dtype)
    if variance is None:
        if algorithm == "stable":
            variance = statistics.mean(square_p.bind(x - mean), axis, keepdims=True, where=where)
        else:
            squares = statistics.mean(square_p.bind(x), axis, keepdims=True, where=where)
            # Rounding errors must not make the variance negative.
            variance = rounding.clip(squares - square_p.bind(mean), 0)
    out = (x - mean) * rsqrt(variance + epsilon)
    return cast(out, dtype) if narrow else out
