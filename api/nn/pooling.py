"""Pooling: the maximum, minimum or mean of each window of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import integers, sequence
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.promotion import cast
from primax.numpy.reductions import FLOAT32, is_half
from primax.plugins.arithmetic import div_p
from primax.plugins.structural import broadcast_in_dim_p
from primax.plugins.windows.geometry import Params, inside, read_window, shape_of_windows
from primax.plugins.windows.reductions import (
    reduce_window,
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_sum_p,
)

__all__ = ["avg_pool", "max_pool", "min_pool", "pool"]


def pool(
    inputs: ArrayLike,
    init: ArrayLike,
    reduce_fn: Callable[[Any, Any], Any],
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] = "VALID",
) -> Array:
    """Reduce each window of images by a function of two elements.

    Args:
      inputs: an array of shape (..., *spatial, features), with any number of leading axes.
      init: a scalar of the dtype of `inputs`: the initial value of each window, and the value of the padding.
      reduce_fn: an associative function `(x, y) -> z` of scalars.
      window_shape: the window's size along each spatial axis.
      strides: the window's step along each spatial axis; 1 if None.
      padding: for each spatial axis the numbers of elements to add before and after; or "VALID", "SAME" or
        "SAME_LOWER".

    Returns:
      An array with one element per window along the spatial axes.

    Raises:
      TypeError: an argument does not have one entry per spatial axis, or `inputs` has too few axes.
      ValueError: the name of the padding is unknown.

    >>> import primax as px
    >>> from primax.nn import pool
    >>> pool(px.numpy.ones((1, 4, 4, 1)), 1.0, px.lax.mul, (2, 2), (2, 2)).shape
    (1, 2, 2, 1)
    """
    params = _read("pool", inputs, window_shape, strides, padding)
    return reduce_window(inputs, init, reduce_fn, **params)


def max_pool(
    inputs: ArrayLike,
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] = "VALID",
) -> Array:
    """The maximum of each window of images, ignoring the padding; see `pool`.

    >>> import primax as px
    >>> from primax.nn import max_pool
    >>> max_pool(px.numpy.arange(4.0).reshape(1, 4, 1), (2,), (2,)).reshape(2)
    Array([1., 3.], dtype=float32)
    """
    return reduce_window_max_p.bind(inputs, **_read("max_pool", inputs, window_shape, strides, padding))


def min_pool(
    inputs: ArrayLike,
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] = "VALID",
) -> Array:
    """The minimum of each window of images, ignoring the padding; see `pool`.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.nn.min_pool(pnp.array([4.0, 1.0, 2.0]).reshape(1, 3, 1), (2,), padding="SAME").reshape(3)
      Array([1., 1., 2.], dtype=float32)
    """
    return reduce_window_min_p.bind(inputs, **_read("min_pool", inputs, window_shape, strides, padding))


def avg_pool(
    inputs: ArrayLike,
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] = "VALID",
    count_include_pad: bool = True,
) -> Array:
    """The mean of the elements of each window of images; see `pool`.

    Args:
      inputs: an array of floating or complex numbers, of shape (..., *spatial, features).
      window_shape: the window's size along each spatial axis.
      strides: the window's step along each spatial axis; 1 if None.
      padding: pairs of numbers for each spatial axis, or "VALID", "SAME" or "SAME_LOWER".
      count_include_pad: whether the mean includes the zeros of the padding.

    Raises:
      TypeError: `inputs` is not floating or complex, or an argument does not have one entry per spatial axis.
      ValueError: the name of the padding is unknown.

    >>> import primax as px
    >>> from primax.nn import avg_pool
    >>> avg_pool(px.numpy.ones((1, 3, 1)), (2,), padding="SAME", count_include_pad=False).reshape(3)
    Array([1., 1., 1.], dtype=float32)
    """
    params = _read("avg_pool", inputs, window_shape, strides, padding)
    aval = get_aval(inputs)
    if not dtypes.is_inexact(aval.dtype):
        raise TypeError(f"avg_pool: inputs must be floating or complex, got {aval.str_short()}")
    if is_half(aval.dtype):
        wide = avg_pool(cast(inputs, FLOAT32), window_shape, strides, padding, count_include_pad)
        return cast(wide, aval.dtype)
    total = reduce_window_sum_p.bind(inputs, **params)
    if count_include_pad or not any(map(any, params["padding"])):
        return div_p.bind(total, np.asarray(np.prod(params["window_dimensions"]), aval.dtype)[()])
    return div_p.bind(total, _counts(aval, params))


def _counts(aval: core.ShapedArray, params: Params) -> Array:
    """The number of elements in each window, broadcastable along axes without windows."""
    shape = shape_of_windows(aval.shape, **params)
    windows = zip(params["window_dimensions"], params["padding"], strict=True)
    spatial = [d for d, (length, pads) in enumerate(windows) if length > 1 or any(pads)]
    along = {name: tuple([value[d] for d in spatial]) for name, value in params.items()}
    sizes, counts = [aval.shape[d] for d in spatial], [shape[d] for d in spatial]
    total = np.sum(inside(sizes, counts, along), axis=0)
    # A window that lies in the padding gives 0 instead of 0 / 0.
    values = np.maximum(total, 1).astype(aval.dtype)
    return broadcast_in_dim_p.bind(values, shape=shape, broadcast_dimensions=tuple(spatial))


def _read(function: str, inputs: Any, window_shape: Any, strides: Any, padding: Any) -> Params:
    """The windows, strides and padding of all axes, from those of the spatial axes; the last axis is not spatial."""
    shape = get_aval(inputs).shape
    window = integers(window_shape, function, "window_shape")
    count = len(window)
    leading = len(shape) - count - 1
    if leading < 0:
        raise TypeError(
            f"{function}: inputs must have {count} spatial axes for window_shape {window} and one of features, "
            f"got shape {shape}"
        )
    strides = (1,) * count if strides is None else integers(strides, function, "strides")
    if len(strides) != count:
        raise TypeError(f"{function}: strides must have one entry per spatial axis, {count}, got {strides}")
    if not isinstance(padding, str):
        padding = tuple(sequence(function, "padding", padding))
        if len(padding) != count:
            raise TypeError(f"{function}: padding must have one pair per spatial axis, {count}, got {padding}")
        padding = ((0, 0),) * leading + padding + ((0, 0),)
    ones = (1,) * leading
    return read_window(function, shape, (*ones, *window, 1), (*ones, *strides, 1), padding)
