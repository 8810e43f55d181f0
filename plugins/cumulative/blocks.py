"""Cumulative operations along a short last axis on CPUs: an unrolled program without a loop, which all cores share."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from primax.extend import core, dtypes
from primax.extend.core import Array, ShapedArray
from primax.extend.provisional.dimensions import is_symbolic
from primax.plugins.arithmetic import add_p, mul_p
from primax.plugins.structural import broadcast_in_dim, convert_element_type_p, pad, reshape, slice_in_dim, stack

# XLA computes the elements of a result anew for each use, so a chain of operations in a block must be short.
_BLOCK = 4
_SHORTEST, _LONGEST, _FEWEST_ROWS = 8, 32, 1024


def fits_blocks(combine: core.Primitive, aval: ShapedArray, dtype: Any, axis: int) -> bool:
    """Whether blocks are faster than a loop along the axis, and as exact.

    Args:
      combine: the operation.
      aval: the type of the operand.
      dtype: the dtype in which elements are combined. Sums and products of numbers need a wider one than that of the
        operand: then no product of the elements of a block overflows.
      axis: the axis.
    """
    shape = aval.shape
    if is_symbolic(shape) or axis != len(shape) - 1 or not _SHORTEST <= shape[-1] <= _LONGEST:
        return False
    wide_enough = dtype != aval.dtype or dtypes.is_integer(dtype) or combine not in (add_p, mul_p)
    return wide_enough and not dtypes.is_complex(dtype) and aval.size >= _FEWEST_ROWS * shape[-1]


def in_blocks(combine: core.Primitive, start: Any, x: Any, reverse: bool) -> Array:
    """The cumulative operation along the last axis: in each block, then of the blocks before each one, then both.

    Args:
      combine: the operation.
      start: its identity, a NumPy scalar of the dtype in which elements are combined.
      x: an array of shape (..., count).
      reverse: whether to begin at the end.

    Returns:
      An array of the shape and dtype of `x`.
    """

    def converted(x: Any, dtype: Any) -> Array:
        return x if x.dtype == dtype else convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)

    def joined(parts: list[Any], axis: int) -> Array:
        return stack(parts[::direction], axis)

    axis, narrow, dtype, direction = x.ndim - 1, x.dtype, start.dtype, -1 if reverse else 1
    count, start = x.shape[axis], start.astype(narrow)  # programs hold no constant of 64 bits if enable_x64 is off
    rest = -count % _BLOCK
    first = rest if reverse else 0
    x = converted(pad(x, start, [(0, 0, 0)] * axis + [(first, rest - first, 0)]), dtype)

    elements = [slice_in_dim(x, i, None, _BLOCK, axis) for i in range(_BLOCK)]
    within = list(accumulate(elements[::direction], combine.bind))
    totals = [slice_in_dim(within[-1], i, i + 1, 1, axis) for i in range(elements[0].shape[axis])][::direction]
    nothing = converted(broadcast_in_dim(start, totals[0].shape, ()), dtype)
    before = reshape(joined(list(accumulate([nothing, *totals[:-1]], combine.bind)), axis), elements[0].shape)
    blocks = joined(within, axis + 1)
    out = combine.bind(broadcast_in_dim(before, blocks.shape, range(axis + 1)), blocks)
    return slice_in_dim(converted(reshape(out, x.shape), narrow), first, first + count, 1, axis)
