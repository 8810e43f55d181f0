"""Associative functions applied along axes of arrays, as trees of applications to whole arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primax.extend.core import get_aval
from primax.plugins.structural import concatenate, pad, reshape, slice_in_dim, transpose

__all__ = ["fold"]

Combine = Callable[[Sequence[Any], Sequence[Any]], list[Any]]


def fold(
    combine: Combine, xs: Sequence[Any], axes: Sequence[int], identities: Sequence[Any] | None = None
) -> list[Any]:
    """What an associative function makes of all elements along axes.

    Args:
      combine: `(a, b) -> c` on lists of arrays of any one shape, elementwise.
      xs: arrays of one shape, whose `axes` have length 1 or more.
      axes: what is folded.
      identities: for each array the element that `combine`, which must be commutative, leaves others as they
        are with. Without them, earlier elements stand left of later ones.

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
