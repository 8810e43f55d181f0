"""Interpolation of images under scipy.ndimage's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
from operator import mul
from typing import Any

from primax import lax
from primax import numpy as pnp
from primax.extend import dtypes
from primax.extend.core import Array
from primax.extend.provisional.arguments import among, integer, sequence
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.promotion import promote

__all__ = ["map_coordinates"]
__dir__ = __all__.copy


def _mirror(index: Any, size: int) -> Array:
    period = max(2 * (size - 1), 1)
    return pnp.abs((index + size - 1) % period - (size - 1))


def _reflect(index: Any, size: int) -> Array:
    inside = index % (2 * size)
    return pnp.minimum(inside, 2 * size - 1 - inside)


_FOLDS: dict[str, Callable[[Any, int], Any]] = {
    "constant": lambda index, size: index,
    "mirror": _mirror,
    "nearest": lambda index, size: pnp.clip(index, 0, size - 1),
    "reflect": _reflect,
    "wrap": lambda index, size: index % size,
}


def _nodes(coordinate: Any, order: int) -> list[tuple[Any, Any]]:
    """The positions around a coordinate, and their weights."""
    if order == 0 or not dtypes.is_inexact(coordinate.dtype):
        return [(lax.round(coordinate) if dtypes.is_inexact(coordinate.dtype) else coordinate, None)]
    low = pnp.floor(coordinate)
    above = coordinate - low
    return [(low, 1 - above), (low + 1, above)]


def map_coordinates(
    input: ArrayLike, coordinates: Sequence[Any], order: int, mode: str = "constant", cval: ArrayLike = 0.0
) -> Array:
    """Interpolate an array at given coordinates.

    Args:
      input: an array of rank n.
      coordinates: n arrays of the same shape, the positions along each axis.
      order: 0 for the nearest element, 1 for linear interpolation.
      mode: the values outside of the array: "constant" (`cval`), "nearest" (the last element), "wrap" (periodic),
        "reflect" and "mirror" (mirror images with and without the last element). As in JAX, "constant" and "wrap" are
        SciPy's "grid-constant" and "grid-wrap".
      cval: the value outside of the array for "constant".

    Returns:
      An array of the shape of the coordinates and the dtype of `input`; integers are rounded.

    Raises:
      NotImplementedError: `order` is above 1, or `mode` is unknown.
      TypeError: an argument is not an array.
      ValueError: the numbers of coordinates and of axes differ.

    >>> import primax as px
    >>> x = px.numpy.array([0.0, 1.0, 4.0])
    >>> px.scipy.ndimage.map_coordinates(x, [px.numpy.array([0.5, 1.5])], order=1).tolist()
    [0.5, 2.5]
    """
    function = "map_coordinates"
    order = integer(function, "order", order)
    if order not in (0, 1):
        raise NotImplementedError(f"{function}: order must be 0 or 1, got {order}")
    if not among(mode, _FOLDS):
        raise NotImplementedError(f"{function}: mode must be one of {', '.join(map(repr, _FOLDS))}, got {mode!r}")
    (array,) = promote(function, input)
    array = pnp.asarray(array)
    positions = [pnp.asarray(promote(function, x)[0]) for x in sequence(function, "coordinates", coordinates)]
    if len(positions) != array.ndim:
        raise ValueError(f"{function}: coordinates must be {array.ndim}, one for each axis, got {len(positions)}")
    fill = pnp.asarray(cval).astype(array.dtype)
    corners = []
    for position, size in zip(positions, array.shape, strict=True):
        rows = []
        for node, weight in _nodes(position, order):
            index = node.astype(pnp.int32)
            inside = (index >= 0) & (index < size)
            rows.append((_FOLDS[mode](index, size), inside, weight))
        corners.append(rows)
    total: Any = None
    for corner in product(*corners):
        value = array[tuple(index for index, _, _ in corner)]
        if mode == "constant":
            value = pnp.where(reduce(lambda a, b: a & b, [inside for _, inside, _ in corner], True), value, fill)
        weights = [weight for _, _, weight in corner if weight is not None]
        if weights and not dtypes.is_inexact(array.dtype):
            value = value.astype(weights[0].dtype)
        term = reduce(mul, weights, value)
        total = term if total is None else total + term
    if dtypes.is_integer(array.dtype) and dtypes.is_inexact(total.dtype):
        total = lax.round(total)
    return total.astype(array.dtype)
