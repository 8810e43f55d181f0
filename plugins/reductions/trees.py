"""Associative functions applied along axes of arrays, as trees of applications to whole arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.plugins.arithmetic import add
from primax.plugins.bitwise import bitwise_or
from primax.plugins.structural import concatenate, expand_dims, pad, reshape, rev, slice_in_dim, transpose

Combine = Callable[[Sequence[Any], Sequence[Any]], list[Any]]


def fold_along(
    combine: Combine, xs: Sequence[Any], axes: Sequence[int], identities: Sequence[Any] | None = None
) -> list[Any]:
    """The combination of all elements along axes by an associative function.

    Args:
      combine: `(a, b) -> c` on lists of arrays of the same shape, elementwise.
      xs: arrays of the same shape, whose `axes` have length 1 or more.
      axes: the axes to reduce.
      identities: for each array the identity of `combine`, which must then be commutative. Without them, earlier
        elements are the left operands.

    Returns:
      Arrays without these axes.
    """
    shape = get_aval(xs[0]).shape
    kept = [i for i in range(len(shape)) if i not in axes]
    order = (*sorted(axes), *kept)
    size = 1
    for axis in axes:
        size *= shape[axis]
    new_shape = (size, *(shape[i] for i in kept))
    xs = [reshape(transpose(x, order), new_shape) for x in xs]
    while size > 1:
        xs = _pairs(combine, xs, size) if identities is None else _halves(combine, xs, size, identities)
        size = (size + 1) // 2
    return [reshape(x, new_shape[1:]) for x in xs]


def _pairs(combine: Combine, xs: Sequence[Any], size: int) -> list[Any]:
    """Each element at an even position combined with the next."""
    even = size - size % 2
    combined = combine(
        [slice_in_dim(x, 0, even, 2) for x in xs],
        [slice_in_dim(x, 1, even, 2) for x in xs],
    )
    if even == size:
        return combined
    return [concatenate([c, slice_in_dim(x, even, size)], 0) for c, x in zip(combined, xs, strict=True)]


def _halves(combine: Combine, xs: Sequence[Any], size: int, identities: Sequence[Any]) -> list[Any]:
    """The first half of the elements combined with the second."""
    half = (size + 1) // 2
    left = [slice_in_dim(x, 0, half) for x in xs]
    right = [slice_in_dim(x, half, size) for x in xs]
    if size % 2:
        rest = [(0, 0, 0)] * (len(get_aval(xs[0]).shape) - 1)
        right = [pad(x, i, [(0, 1, 0), *rest]) for x, i in zip(right, identities, strict=True)]
    return combine(left, right)


def scan_along(combine: Combine, xs: Sequence[Any], axes: Sequence[int], reverse: bool = False) -> list[Any]:
    """The combination of the elements up to each position along an axis of each array by an associative function.

    Args:
      combine: `(a, b) -> c` on lists of arrays, elementwise along the axes; `a` has earlier elements.
      xs: arrays with the same length, 1 or more, along their axes.
      axes: the axis of each array.
      reverse: whether to begin at the end.

    Returns:
      Arrays of the shapes of `xs`.
    """
    if reverse:

        def reversed_(values: Sequence[Any]) -> list[Any]:
            return [rev(x, (axis,)) for x, axis in zip(values, axes, strict=True)]

        return reversed_(scan_along(combine, reversed_(xs), axes))
    size = get_aval(xs[0]).shape[axes[0]]
    if size == 1:
        return list(xs)

    def part(values: Sequence[Any], start: int, stop: int, step: int = 1) -> list[Any]:
        return [slice_in_dim(x, start, stop, step, axis) for x, axis in zip(values, axes, strict=True)]

    pairs = combine(part(xs, 0, size - size % 2, 2), part(xs, 1, size, 2))
    odd = scan_along(combine, pairs, axes)
    even = part(xs, 0, 1)
    if size > 2:
        before = part(odd, 0, (size - 1) // 2)
        later = combine(before, part(xs, 2, size, 2))
        even = [concatenate([x, y], axis) for x, y, axis in zip(even, later, axes, strict=True)]
    return [_interleave(x, y, axis, size) for x, y, axis in zip(even, odd, axes, strict=True)]


def _interleave(even: Any, odd: Any, axis: int, size: int) -> Array:
    """Elements at even positions and those at odd positions, in one array."""
    aval = get_aval(even)
    if dtypes.is_extended(aval.dtype):  # such values may have no sums
        last = [slice_in_dim(even, size // 2, None, 1, axis)] * (size % 2)
        pairs = [expand_dims(x, (axis + 1,)) for x in (even, concatenate([odd, *last], axis))]
        shape = (*aval.shape[:axis], size + size % 2, *aval.shape[axis + 1 :])
        return slice_in_dim(reshape(concatenate(pairs, axis + 1), shape), 0, size, 1, axis)
    zero = np.zeros((), aval.dtype)[()]
    config = [(0, 0, 0)] * len(aval.shape)

    def spread(x: Any, before: int, after: int) -> Array:
        config[axis] = (before, after, 1)
        return pad(x, zero, config)

    rest = size % 2
    join = bitwise_or if dtypes.is_bool(aval.dtype) else add
    return join(spread(even, 0, 1 - rest), spread(odd, 1, rest))
