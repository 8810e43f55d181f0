"""Scatters as loops over their windows, for derivatives with overlapping windows."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from primax.extend.core import Array, get_aval
from primax.plugins.control_flow import scan
from primax.plugins.indexing.dimensions import ScatterDimensionNumbers, scatter_axes
from primax.plugins.structural import reshape_p, transpose_p


def one_by_one(
    step: Callable[..., Any], operand: Any, indices: Any, updates: Any, numbers: ScatterDimensionNumbers
) -> Array:
    """An operand after a step for each index vector in turn; those of different batches are processed together.

    Args:
      step: `(operand, indices, updates, numbers) -> operand` for one index vector.
      operand: the array to change.
      indices: the index vectors.
      updates: the corresponding windows, or None.
      numbers: the dimension numbers.
    """
    window, inserted, index_map, batching, indices_batching = numbers
    count = len(get_aval(indices).shape) - 1
    free = [d for d in range(count) if d not in indices_batching]
    places = scatter_axes(numbers, len(window) + count)
    moving = [places[d] for d in free]
    rest = [d for d in range(len(window) + count) if d not in moving]
    kept = [d for d in range(count) if d in indices_batching]
    single = ScatterDimensionNumbers(
        tuple([rest.index(d) for d in window]),
        inserted,
        index_map,
        batching,
        tuple([kept.index(d) for d in indices_batching]),
    )
    xs = [_rows(indices, free)]
    if updates is not None:
        xs.append(_rows(updates, moving))
    return scan(lambda x, row: (step(x, *row, *[None] * (2 - len(row)), single), None), operand, tuple(xs))[0]


def _rows(x: Any, axes: list[int]) -> Any:
    """An array with some axes merged into one, the first."""
    shape = get_aval(x).shape
    rest = [d for d in range(len(shape)) if d not in axes]
    order = (*axes, *rest)
    if order != tuple(range(len(shape))):
        x = transpose_p.bind(x, permutation=order)
    sizes = (prod([shape[d] for d in axes]), *[shape[d] for d in rest])
    return x if len(axes) == 1 else reshape_p.bind(x, new_sizes=sizes, dimensions=None)
