"""Repetition, reversal, rolling and rotation of elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, Tracer, get_aval
from primax.extend.provisional.arguments import (
    canonical_axes,
    canonical_axis,
    canonical_shape,
    integer,
    listed,
    read_size,
)
from primax.extend.provisional.avals import unwrap
from primax.extend.provisional.sharding import with_out_sharding
from primax.extend.provisional.typing import ArrayLike, Axes, ShardingLike
from primax.numpy.at import Reference
from primax.numpy.conversion import asarray
from primax.numpy.creation import zeros
from primax.numpy.indexing import take_slice, unstack
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, broadcast_to_shape, known_integers
from primax.numpy.reductions import read_axes
from primax.numpy.scans import cumsum
from primax.numpy.searching import around, known
from primax.numpy.shaping import permuted, ravel, reshaped
from primax.numpy.taking import take
from primax.plugins.arithmetic import neg_p
from primax.plugins.indexing import dynamic_slice_in_dim
from primax.plugins.structural import broadcast_in_dim_p, concatenate_p, rev_p, tile_p

__all__ = ["flip", "fliplr", "flipud", "repeat", "roll", "rot90", "tile"]


def flip(m: ArrayLike, axis: Axes | None = None) -> Array:
    """Reverse the order of elements along axes.

    Args:
      m: an array.
      axis: an axis, a sequence of axes, or None for all.

    Raises:
      ValueError: an axis is out of range or repeated.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.flip(pnp.array([[1, 2], [3, 4]])), pnp.flip(pnp.array([[1, 2], [3, 4]]), axis=1)
      (Array([[4, 3],
             [2, 1]], dtype=int32), Array([[2, 1],
             [4, 3]], dtype=int32))
    """
    axes = read_axes(axis, len(aval_of("flip", m, "m").shape), "flip")
    return rev_p.bind(m, dimensions=axes) if axes else asarray(m)


def fliplr(m: ArrayLike) -> Array:
    """An array reversed along its second axis.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.fliplr(pnp.array([[1, 2], [3, 4]]))
      Array([[2, 1],
             [4, 3]], dtype=int32)
    """
    return flip(m, 1)


def flipud(m: ArrayLike) -> Array:
    """An array reversed along its first axis.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.flipud(pnp.array([1, 2, 3]))
      Array([3, 2, 1], dtype=int32)
    """
    return flip(m, 0)


def tile(A: ArrayLike, reps: ArrayLike | Sequence[SupportsIndex]) -> Array:
    """Repeat an array as a whole along axes.

    Args:
      A: an array or a number.
      reps: the number of repetitions along each of the last axes, or one number for the last axis.

    Raises:
      TypeError: `reps` does not consist of integers.

    >>> import primax as px
    >>> px.numpy.tile(px.numpy.array([1, 2]), 2)
    Array([1, 2, 1, 2], dtype=int32)
    """
    shape = aval_of("tile", A, "A").shape
    counts = canonical_shape(listed(reps), "tile", "reps")
    counts = (1,) * (len(shape) - len(counts)) + counts
    x = reshaped(A, (1,) * (len(counts) - len(shape)) + shape)
    return tile_p.bind(x, reps=counts) if any(count != 1 for count in counts) else x


def repeat(
    a: ArrayLike,
    repeats: ArrayLike | Sequence[ArrayLike],
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Repeat the elements of an array along an axis.

    Args:
      a: an array or a number.
      repeats: the number of repetitions: one number, or one for each element along the axis.
      axis: the axis; None to ravel the array first.
      total_repeat_length: the length of the axis in the result, which traced `repeats` need. A longer result is cut
        off; a shorter one is filled with the last element.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      ValueError: `repeats` has neither one element nor one per element, or a negative one.
      TypeError: `repeats` is traced and `total_repeat_length` is None, or `repeats` does not hold integers.

    >>> import primax as px
    >>> px.numpy.repeat(px.numpy.array([1, 2]), 2)
    Array([1, 1, 2, 2], dtype=int32)
    """
    if out_sharding is not None:
        return with_out_sharding(
            "repeat", lambda a: repeat(a, repeats, axis, total_repeat_length=total_repeat_length), (a,), out_sharding
        )
    aval_of("repeat", a, "a")
    a = ravel(a) if axis is None or not get_aval(a).shape else a
    shape = get_aval(a).shape
    axis = canonical_axis(0 if axis is None else axis, len(shape), "repeat")
    size = shape[axis]
    if total_repeat_length is not None:
        total_repeat_length = read_size("repeat", "total_repeat_length", total_repeat_length)
    given: Any = repeats
    if total_repeat_length == 0 and np.shape(given) in ((), (1,), (size,)):
        return take_slice(a, 0, 0, axis)
    if total_repeat_length is not None and known(repeats) is None:
        return take(a, _traced_places(repeats, size, total_repeat_length), axis, mode="clip")
    counts = known_integers("repeat", "repeats", repeats)
    if len(counts) not in (1, size):
        raise ValueError(f"repeat: repeats must be one number or {size}, one for each element, got {len(counts)}")
    if min(counts, default=0) < 0:
        raise ValueError(f"repeat: repeats must not be negative, got {min(counts)}")
    total = counts[0] * size if len(counts) == 1 else sum(counts)
    if len(counts) == 1 and total_repeat_length in (None, total):
        return _repeat_elements(a, shape, axis, counts[0])
    places = np.repeat(np.arange(size), counts)
    if total_repeat_length is not None:
        missing = max(total_repeat_length - total, 0)
        places = np.append(places, np.full(missing, size - 1))[:total_repeat_length]
    return take(a, places, axis)


def _traced_places(repeats: Any, size: int, total: int) -> Array:
    """The position in the array of each element of the result: the number of elements that end at or before it."""
    aval = aval_of("repeat", repeats, "repeats")
    if not dtypes.is_integer(aval.dtype) or aval.shape not in ((), (1,), (size,)):
        raise TypeError(f"repeat: repeats must be one integer or {size}, one for each element, got {aval.str_short()}")
    counts = broadcast_to_shape(repeats, (size,))
    ends = Reference(zeros(total, aval.dtype), cumsum(counts)).add(1)
    return cumsum(ends)


def _repeat_elements(a: Any, shape: tuple[int, ...], axis: int, count: int) -> Array:
    if count == 1:
        return asarray(a)
    sizes = (*shape[: axis + 1], count, *shape[axis + 1 :])
    kept = tuple([i if i <= axis else i + 1 for i in range(len(shape))])
    spread = broadcast_in_dim_p.bind(a, shape=sizes, broadcast_dimensions=kept)
    return reshaped(spread, (*shape[:axis], shape[axis] * count, *shape[axis + 1 :]))


def roll(a: ArrayLike, shift: ArrayLike | Sequence[ArrayLike], axis: Axes | None = None) -> Array:
    """Roll the elements of an array along axes; elements beyond the end reappear at the beginning.

    Args:
      a: an array or a number.
      shift: the number of positions, or one number for each axis, as a sequence or an array.
      axis: an axis or a sequence of axes; None to roll the raveled array.

    Raises:
      ValueError: the numbers of shifts and of axes differ and neither is 1, or an axis is out of range.
      TypeError: `shift` does not consist of integers.

    >>> import primax as px
    >>> px.numpy.roll(px.numpy.arange(4), 1)
    Array([3, 0, 1, 2], dtype=int32)
    """
    shape = aval_of("roll", a, "a").shape
    if axis is None:
        return reshaped(roll(ravel(a), shift, 0), shape)
    if isinstance(shift, list | tuple) and any(isinstance(places, Tracer) for places in shift):
        shift = asarray(shift)
    shift = unwrap(shift)
    if known(shift) is None:
        kind = get_aval(shift)
        if not dtypes.is_integer(kind.dtype) or len(kind.shape) > 1:
            raise TypeError(f"roll: shift must be integers of rank 0 or 1, got {kind.str_short()}")
        shifts: Any = unstack(asarray(shift)) if kind.shape else (shift,)
    else:
        shifts = known_integers("roll", "shift", shift)
    axes = [canonical_axis(i, len(shape), "roll") for i in listed(axis)]
    if len(shifts) != len(axes):
        if 1 not in (len(shifts), len(axes)):
            raise ValueError(f"roll: there must be as many shifts as axes, got {len(shifts)} and {len(axes)}")
        shifts = shifts * len(axes) if len(shifts) == 1 else shifts
        axes = axes * len(shifts) if len(axes) == 1 else axes
    if all(type(places) is int for places in shifts):
        moves = dict.fromkeys(axes, 0)
        for i, places in zip(axes, shifts, strict=True):
            moves[i] += places
        return _rolled(a, tuple(moves), tuple(moves.values()))
    out = a
    for i, places in zip(axes, shifts, strict=True):
        size = shape[i]
        if size:
            twice = concatenate_p.bind(out, out, dimension=i)
            out = dynamic_slice_in_dim(twice, around(neg_p.bind(places), size), size, i)
    return asarray(out)


@one_program(static=1)
def _rolled(a: Any, axes: tuple[int, ...], shifts: tuple[int, ...]) -> Array:
    for i, places in zip(axes, shifts, strict=True):
        size = get_aval(a).shape[i]
        cut = -places % size if size else 0
        if cut:
            a = concatenate_p.bind(take_slice(a, cut, size, i), take_slice(a, 0, cut, i), dimension=i)
    return asarray(a)


@one_program("k axes")
def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """Rotate an array by 90 degrees, from the first of two axes towards the second.

    Args:
      m: an array.
      k: the number of quarter turns.
      axes: the two axes.

    Raises:
      ValueError: `axes` is not two different axes in range.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.rot90(pnp.array([[1, 2], [3, 4]])), pnp.rot90(pnp.array([[1, 2], [3, 4]]), k=-1)
      (Array([[2, 4],
             [1, 3]], dtype=int32), Array([[3, 1],
             [4, 2]], dtype=int32))
    """
    rank = len(aval_of("rot90", m, "m").shape)
    plane = canonical_axes(axes, rank, "rot90")
    if len(plane) != 2:
        raise ValueError(f"rot90: axes must be two axes, got {len(plane)}")
    first, second = plane
    order = list(range(rank))
    order[first], order[second] = second, first
    turns = integer("rot90", "k", k) % 4
    if turns == 0:
        return asarray(m)
    if turns == 2:
        return flip(m, plane)
    if turns == 1:
        return permuted(flip(m, second), tuple(order))
    return flip(permuted(m, tuple(order)), second)
