"""Reads and writes of rows at computed positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import Array, get_aval
from primax.extend.provisional.concretization import called_with
from primax.numpy.promotion import convert, host_values
from primax.plugins.comparison import lt_p
from primax.plugins.cumulative import cumsum_p
from primax.plugins.indexing import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers
from primax.plugins.indexing.primitives import gather_p, scatter_add_p, scatter_p
from primax.plugins.structural import as_scalar, broadcast_in_dim_p, iota_p, select_n_p

_INT32 = np.dtype(np.int32)


def concrete(function: str, argument: str, x: Any, hint: str = "") -> np.ndarray:
    """The value of an array on the host.

    Args:
      function: the name of the function in messages.
      argument: the name of the argument in messages.
      x: the array.
      hint: the argument that would make the shape of the result independent of values.

    Raises:
      ConcretizationTypeError: `x` is traced.
    """
    if isinstance(x, core.Tracer):
        function, argument = called_with(x, function, argument)
        remedy = f"Pass {hint if '=' in hint else f'a static {hint}'} to {function}, or call" if hint else "Call"
        x = core.concrete_or_error(
            None,
            x,
            f"{function}: the shape of the result depends on the values of {argument}, which are not known",
            f"{remedy} it outside of transformed functions.",
        )
    return host_values(x)


def _column(positions: Any) -> Array:
    (count,) = get_aval(positions).shape
    return broadcast_in_dim_p.bind(positions, shape=(count, 1), broadcast_dimensions=(0,))


def take_rows(x: Any, positions: Any) -> Array:
    """The rows of an array at positions, a vector of integers; positions out of range are clamped."""
    shape = get_aval(x).shape
    return gather_p.bind(
        x,
        _column(positions),
        dimension_numbers=GatherDimensionNumbers(tuple(range(1, len(shape))), (0,), (0,)),
        slice_sizes=(1, *shape[1:]),
        indices_are_sorted=False,
        unique_indices=False,
        mode=GatherScatterMode.CLIP,
        fill_value=None,
    )


def _scatter(primitive: Any, x: Any, positions: Any, rows: Any, unique: bool) -> Array:
    windows = tuple(range(1, len(get_aval(rows).shape)))
    return primitive.bind(
        x,
        _column(positions),
        rows,
        dimension_numbers=ScatterDimensionNumbers(windows, (0,), (0,)),
        indices_are_sorted=False,
        unique_indices=unique,
        mode=GatherScatterMode.FILL_OR_DROP,
    )


def put_rows(x: Any, positions: Any, rows: Any) -> Array:
    """An array with rows replaced at distinct positions; positions out of range are ignored."""
    return _scatter(scatter_p, x, positions, rows, True)


def add_rows(x: Any, positions: Any, rows: Any) -> Array:
    """An array with rows added at positions; positions out of range are ignored."""
    return _scatter(scatter_add_p, x, positions, rows, False)


def true_places(mask: Any, size: int, fill: int) -> Array:
    """The first `size` positions where a vector mask is true, padded with `fill`."""
    (count,) = get_aval(mask).shape
    full = broadcast_in_dim_p.bind(as_scalar(fill, _INT32), shape=(size,), broadcast_dimensions=())
    if not count or not size:
        return full
    ranks = cumsum_p.bind(convert(mask, get_aval(mask), _INT32), axis=0, reverse=False) - 1
    nowhere = broadcast_in_dim_p.bind(as_scalar(size, _INT32), shape=(count,), broadcast_dimensions=())
    ranks = select_n_p.bind(mask, nowhere, ranks)
    # Several rows may have the position out of range; all others have different positions.
    return _scatter(scatter_p, full, ranks, iota_p.bind(dtype=_INT32, shape=(count,), dimension=0), False)


def count_true(mask: Any) -> Array:
    """The number of true elements of a mask."""
    return convert(mask, get_aval(mask), _INT32).sum(dtype=_INT32)


def below(count: Any, size: int) -> Array:
    """A mask of length `size` that is true at positions less than `count`."""
    limit = broadcast_in_dim_p.bind(count, shape=(size,), broadcast_dimensions=())
    return lt_p.bind(iota_p.bind(dtype=_INT32, shape=(size,), dimension=0), limit)
