"""Windows that slide over an array: their positions and their number.

Along each axis, window `i` holds at its place `k` the element at `i * stride + k * window_dilation` of the array whose
elements have been moved `base_dilation` apart, and then padded or, where padding is negative, cropped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.provisional.arguments import inserted, integers
from primax.extend.provisional.padding import dilated, explicit_padding, named_padding, result_size
from primax.plugins.structural import pad_p, slice_p

Params = dict[str, Any]
_MOST_ELEMENTS = 2**31  # of a window; XLA's loops over more elements do not end

# The value of each parameter along an axis that has no windows.
PLAIN: Params = {"window_dimensions": 1, "window_strides": 1, "padding": (0, 0)}
DILATED: Params = {**PLAIN, "base_dilation": 1, "window_dilation": 1}


def batched(params: Params, dim: int) -> Params:
    """The parameters of windows over an array with an additional axis `dim`."""
    return {name: inserted(value, dim, DILATED[name]) for name, value in params.items()}


def read_window(
    function: str,
    shape: tuple[int, ...],
    window_dimensions: Any,
    window_strides: Any,
    padding: Any,
    base_dilation: Any = None,
    window_dilation: Any = None,
) -> Params:
    """A user's arguments for windows, as parameters of primitives.

    Raises:
      TypeError: an argument is not a sequence of integers, or its length is not the rank.
      ValueError: there is no such kind of padding.
    """
    ones = (1,) * len(shape)
    params: Params = {
        "window_dimensions": integers(window_dimensions, function, "window_dimensions"),
        "window_strides": ones if window_strides is None else integers(window_strides, function, "window_strides"),
        "padding": (),
        "base_dilation": ones if base_dilation is None else integers(base_dilation, function, "base_dilation"),
        "window_dilation": ones if window_dilation is None else integers(window_dilation, function, "window_dilation"),
    }
    if isinstance(padding, str):
        _check_sizes(function, shape, params)
        # As in jax, these are the lengths of axes before dilation.
        window = list(map(dilated, params["window_dimensions"], params["window_dilation"]))
        params["padding"] = tuple(named_padding(function, shape, window, params["window_strides"], padding))
    else:
        params["padding"] = explicit_padding(padding, function)
    return params


def _check_sizes(function: str, shape: tuple[int, ...], params: Params) -> None:
    rank = len(shape)
    for name, values in params.items():
        if name == "padding":
            continue
        if len(values) != rank:
            raise TypeError(f"{function}: {name} must have one entry per axis, {rank}, got {values} for shape {shape}")
        if any(value < 1 for value in values):
            raise TypeError(f"{function}: {name} must be positive, got {values} for shape {shape}")


def check_window(function: str, operand: ShapedArray, params: Params) -> tuple[int, ...]:
    """The number of windows along each axis.

    Raises:
      TypeError: the length of a parameter is not the rank, or a size, stride or dilation is not positive.
    """
    shape = operand.shape
    _check_sizes(function, shape, params)
    if len(params["padding"]) != len(shape):
        raise TypeError(
            f"{function}: padding must have one pair per axis, {len(shape)}, got {params['padding']} for shape {shape}"
        )
    out_shape = shape_of_windows(shape, **params)
    if math.prod(params["window_dimensions"]) >= _MOST_ELEMENTS and all(out_shape):
        raise ValueError(
            f"{function}: window_dimensions must have fewer than 2**31 elements, got {params['window_dimensions']}"
        )
    return out_shape


def shape_of_windows(
    shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """The number of windows along each axis, for valid parameters."""
    ones = (1,) * len(shape)
    sizes = []
    for size, length, stride, (low, high), base, step in zip(
        shape, window_dimensions, window_strides, padding, base_dilation or ones, window_dilation or ones, strict=True
    ):
        sizes.append(result_size(dilated(size, base) + low + high, dilated(length, step), stride))
    return tuple(sizes)


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """The shape of the result of `reduce_window`.

    Args:
      operand_shape: the shape of the operand.
      window_dimensions: as for `reduce_window`, like the others.
      window_strides: the strides.
      padding: pairs, or a name.
      base_dilation: the distance of elements after dilation.
      window_dilation: the distance of the elements of a window.

    Raises:
      TypeError: the length of an argument is not the rank, or a size, stride or dilation is not positive.

    >>> import primax as px
    >>> px.lax.reduce_window_shape_tuple((5, 4), (2, 2), (1, 2), ((0, 0), (1, 1)))
    (4, 3)
    """
    name = "reduce_window_shape_tuple"
    shape = integers(operand_shape, name, "operand_shape")
    params = read_window(name, shape, window_dimensions, window_strides, padding, base_dilation, window_dilation)
    return check_window(name, ShapedArray(shape, np.dtype(np.float32)), params)


def padded(x: Any, fill: Any, padding: Any, base_dilation: Any = None, **_: Any) -> Array:
    """The array over which windows slide, with its gaps and margins filled."""
    steps = base_dilation or (1,) * len(padding)
    config = tuple([(low, high, step - 1) for (low, high), step in zip(padding, steps, strict=True)])
    return pad_p.bind(x, fill, padding_config=config) if any(map(any, config)) else x


def unpadded(x: Any, zero: Any, shape: tuple[int, ...], padding: Any, base_dilation: Any = None, **_: Any) -> Array:
    """The inverse of `padded` for a given shape; `zero` for elements that were cropped."""
    config = tuple([(-low, -high, 0) for low, high in padding])
    x = pad_p.bind(x, zero, padding_config=config) if any(map(any, config)) else x
    if base_dilation is None or all(step == 1 for step in base_dilation):
        return x
    # An array of length 0 has no gaps, and needs no stride.
    return slice_p.bind(x, start_indices=(0,) * len(shape), limit_indices=get_aval(x).shape, strides=base_dilation)


def places(window_dimensions: Sequence[int], **_: Any) -> Iterator[tuple[int, ...]]:
    """The places of a window, in row-major order."""
    return product(*map(range, window_dimensions))


def _starts(place: Sequence[int], params: Params) -> list[int]:
    steps = params.get("window_dilation") or (1,) * len(place)
    return [k * step for k, step in zip(place, steps, strict=True)]


def views(x: Any, out_shape: Sequence[int], params: Params) -> list[Any]:
    """For each place of a window, the elements of all windows at that place; `x` is `padded`, and there are windows."""
    strides = params["window_strides"]
    slices = []
    for place in places(**params):
        starts = _starts(place, params)
        limits = [
            start + dilated(count, stride) for start, count, stride in zip(starts, out_shape, strides, strict=True)
        ]
        slices.append(slice_p.bind(x, start_indices=tuple(starts), limit_indices=tuple(limits), strides=strides))
    return slices


def placed(x: Any, zero: Any, place: Sequence[int], padded_shape: Sequence[int], params: Params) -> Array:
    """The elements of windows at a place, in an array of zeros with the shape of the result of `padded`."""
    config = []
    for start, count, stride, size in zip(
        _starts(place, params), get_aval(x).shape, params["window_strides"], padded_shape, strict=True
    ):
        config.append((start, size - start - dilated(count, stride), stride - 1))
    return pad_p.bind(x, zero, padding_config=tuple(config))


def inside(shape: Sequence[int], out_shape: Sequence[int], params: Params) -> list[Any]:
    """For each place of a window, the windows that have an element there, as NumPy booleans."""
    ones = (1,) * len(shape)
    along = []
    for size, count, length, stride, (low, _), base, step in zip(
        shape,
        out_shape,
        params["window_dimensions"],
        params["window_strides"],
        params["padding"],
        params.get("base_dilation", ones),
        params.get("window_dilation", ones),
        strict=True,
    ):
        at = np.arange(length)[:, None] * step + np.arange(count) * stride - low
        along.append((at >= 0) & (at < dilated(size, base)) & (at % base == 0))
    outer: Callable[[Any, Any], Any] = np.logical_and.outer
    return [
        reduce(outer, [one[k] for one, k in zip(along, place, strict=True)], np.True_) for place in places(**params)
    ]
