"""Joining and splitting of arrays along axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, SupportsIndex

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, ShapeError, Tracer, get_aval
from primax.extend.provisional.arguments import canonical_axis, integers, read_size, sequence
from primax.extend.provisional.typing import ArrayLike, Arrays, DTypeLike
from primax.numpy.conversion import asarray, read_dtype
from primax.numpy.indexing import take_slice, unstack
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, convert
from primax.numpy.shaping import atleast_1d, atleast_2d, atleast_3d, ravel, reshaped
from primax.plugins.structural import concatenate_p, split_p, stack_p

__all__ = [
    "append",
    "array_split",
    "block",
    "column_stack",
    "concatenate",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "split",
    "stack",
    "vsplit",
    "vstack",
]


def _parts(function: str, arrays: Any, dtype: Any, at_least: int = 1) -> list[Any]:
    """Convert the arrays of a sequence, or an array's parts along its first axis, to one dtype."""
    if isinstance(arrays, Array | Tracer | np.ndarray):
        if not aval_of(function, arrays, "arrays").shape:
            raise TypeError(f"{function}: arrays must be a sequence of arrays, got an array of rank 0")
        # Convert a NumPy array as a whole: if it is too large for memory, this fails before any part is copied.
        parts = list(unstack(arrays if isinstance(arrays, Array | Tracer) else asarray(arrays)))
    elif isinstance(arrays, list | tuple):
        parts = list(arrays)
    else:
        raise TypeError(f"{function}: arrays must be a sequence of arrays, got {type(arrays).__name__}")
    if len(parts) < at_least:
        raise ValueError(f"{function}: arrays must be one array or more, got none")
    avals = [aval_of(function, x, f"arrays[{i}]") for i, x in enumerate(parts)]
    if dtype is not None:
        common, weak = read_dtype(dtype, function), False
    else:
        common, weak = dtypes.result_type(*avals, return_weak_type=True)
    return [convert(x, aval, common, weak) for x, aval in zip(parts, avals, strict=True)]


def _join(parts: list[Any], axis: int) -> Array:
    return asarray(parts[0]) if len(parts) == 1 else concatenate_p.bind(*parts, dimension=axis)


def concatenate(arrays: Arrays, axis: int | None = 0, dtype: DTypeLike | None = None) -> Array:
    """Concatenate arrays along an axis.

    Args:
      arrays: a sequence of arrays whose shapes agree except along `axis`.
      axis: the axis; None to ravel the arrays first.
      dtype: the dtype of the result; that to which the arrays promote if None.

    Raises:
      ValueError: `arrays` is empty, or `axis` is out of range.
      ShapeError: the ranks differ, or an array is of rank 0.
      TypeError: shapes differ along another axis.

    >>> import primax as px
    >>> px.numpy.concatenate([px.numpy.array([1, 2]), px.numpy.array([3.5])])
    Array([1. , 2. , 3.5], dtype=float32)
    """
    return (_concatenate_one if type(arrays) is Array else _concatenate)(arrays, axis, dtype)


def _concatenate(arrays: Any, axis: int | None, dtype: Any) -> Array:
    parts = _parts("concatenate", arrays, dtype)
    if axis is None:
        return _join([ravel(x) for x in parts], 0)
    ranks = {len(get_aval(x).shape) for x in parts}
    if len(ranks) > 1 or 0 in ranks:
        raise ShapeError(f"concatenate: arrays must be of the same rank, of 1 or more, got ranks {sorted(ranks)}")
    return _join(parts, canonical_axis(axis, ranks.pop(), "concatenate"))


_concatenate_one = one_program("axis dtype")(_concatenate)


def stack(arrays: ArrayLike | Sequence[Any], axis: int = 0, out: None = None, dtype: DTypeLike | None = None) -> Array:
    """Stack arrays of the same shape along a new axis.

    Args:
      arrays: a sequence of arrays.
      axis: the position of the new axis in the result.
      out: None.
      dtype: the dtype of the result; that to which the arrays promote if None.

    Raises:
      ValueError: `arrays` is empty, shapes differ, or `axis` is out of range.

    >>> import primax as px
    >>> px.numpy.stack([px.numpy.array([1, 2]), px.numpy.array([3, 4])], axis=1)
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    if out is not None:
        raise NotImplementedError("stack: out must be None: arrays are immutable")
    return (_stack_of_one if type(arrays) is Array else _stack)(arrays, axis, dtype)


def _stack(arrays: Any, axis: int, dtype: Any) -> Array:
    parts = _parts("stack", arrays, dtype)
    shapes = [get_aval(x).shape for x in parts]
    if any(shape != shapes[0] for shape in shapes):
        other = next(shape for shape in shapes if shape != shapes[0])
        raise ValueError(f"stack: arrays must be of the same shape, got {shapes[0]} and {other}")
    return stack_p.bind(*parts, axis=canonical_axis(axis, len(shapes[0]) + 1, "stack"))


_stack_of_one = one_program("axis dtype")(_stack)


def _all(function: str, raised: Any, tup: Any, dtype: Any, axis: int) -> Array:
    return _join([raised(x) for x in _parts(function, tup, dtype)], axis)


def vstack(tup: Arrays, dtype: DTypeLike | None = None) -> Array:
    """Concatenate along the first axis; vectors become rows. The arguments are those of `concatenate`.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.vstack((pnp.arange(2), pnp.ones((2, 2)))).shape
      (3, 2)
    """
    return _all("vstack", atleast_2d, tup, dtype, 0)


def hstack(tup: Arrays, dtype: DTypeLike | None = None) -> Array:
    """Concatenate along the second axis, or vectors along the first. The arguments are those of `concatenate`.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.hstack((pnp.arange(2), pnp.ones(1))), pnp.hstack((pnp.ones((2, 1)), pnp.ones((2, 3)))).shape
      (Array([0., 1., 1.], dtype=float32), (2, 4))
    """
    parts = [atleast_1d(x) for x in _parts("hstack", tup, dtype)]
    return _join(parts, 0 if len(get_aval(parts[0]).shape) == 1 else 1)


def dstack(tup: Arrays, dtype: DTypeLike | None = None) -> Array:
    """Concatenate along the third axis. The arguments are those of `concatenate`.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.dstack((pnp.arange(2), pnp.arange(2)))
      Array([[[0, 0],
              [1, 1]]], dtype=int32)
    """
    return _all("dstack", atleast_3d, tup, dtype, 2)


def column_stack(tup: Arrays) -> Array:
    """Concatenate arrays along the second axis; vectors become columns.

    Args:
      tup: a sequence of arrays of rank 2 or less.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.column_stack((pnp.arange(3), pnp.ones((3, 2), np.int32))).shape
      (3, 3)
    """
    parts = []
    for x in _parts("column_stack", tup, None):
        shape = get_aval(x).shape
        parts.append(x if len(shape) > 1 else reshaped(x, (shape[0] if shape else 1, 1)))
    return _join(parts, 1)


def block(arrays: ArrayLike | Sequence[Any]) -> Array:
    """Join nested lists of blocks: the innermost lists along the last axis, and so on.

    Args:
      arrays: nested lists of arrays, all of the same depth.

    Raises:
      ValueError: a list is empty, or the lists have different depths.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.block([[pnp.eye(2), pnp.zeros((2, 1))], [pnp.ones((1, 2)), 7]])
      Array([[1., 0., 0.],
             [0., 1., 0.],
             [1., 1., 7.]], dtype=float32)
    """
    depths = set(_depths(arrays, 0))
    if len(depths) != 1:
        raise ValueError(f"block: lists must be nested to the same depth, got depths {sorted(depths)}")
    depth = depths.pop()
    rank = max(depth, _greatest_rank(arrays))

    def join(item: Any, level: int) -> Any:
        if level == depth:
            shape = get_aval(item).shape
            return reshaped(item, (1,) * (rank - len(shape)) + shape)
        return concatenate([join(x, level + 1) for x in item], axis=level - depth)

    return join(arrays, 0)


def _depths(item: Any, level: int) -> Iterator[int]:
    if isinstance(item, tuple):
        raise TypeError("block: arrays must be nested lists, got a tuple")
    if not isinstance(item, list):
        yield level
    elif not item:
        raise ValueError("block: lists must not be empty")
    else:
        for x in item:
            yield from _depths(x, level + 1)


def _greatest_rank(item: Any) -> int:
    if isinstance(item, list):
        return max(map(_greatest_rank, item))
    return len(aval_of("block", item, "a block").shape)


@one_program("axis")
def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    """Concatenate two arrays.

    Args:
      arr, values: arrays whose shapes agree except along `axis`.
      axis: the axis; None to ravel both first.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.append(pnp.array([[1, 2]]), 3)
      Array([1, 2, 3], dtype=int32)
      >>> pnp.append(pnp.array([[1, 2]]), pnp.array([[3, 4]]), axis=0)
      Array([[1, 2],
             [3, 4]], dtype=int32)
    """
    return concatenate([arr, values], axis)


def _split(function: str, ary: Any, indices_or_sections: Any, axis: int, uneven: bool) -> list[Any]:
    shape = aval_of(function, ary, "ary").shape
    axis = canonical_axis(axis, len(shape), function)
    size = shape[axis]
    if hasattr(indices_or_sections, "__iter__") and np.ndim(indices_or_sections):
        cuts = integers(sequence(function, "indices_or_sections", indices_or_sections), function, "indices_or_sections")
        bounds = [0, *[slice(cut).indices(size)[1] for cut in cuts], size]
        sizes = [max(0, high - low) for low, high in pairwise(bounds)]
        if sum(sizes) != size or bounds != sorted(bounds):
            return _overlapping(ary, bounds, axis)
    else:
        (count,) = integers((indices_or_sections,), function, "indices_or_sections")
        if count <= 0:
            raise ValueError(f"{function}: indices_or_sections must be positive, got {count}")
        quotient, rest = divmod(size, read_size(function, "indices_or_sections", count))
        if rest and not uneven:
            raise ValueError(
                f"{function}: indices_or_sections must divide the length of the axis, got {count} for {size}"
            )
        sizes = [quotient + 1] * rest + [quotient] * (count - rest)
    if len(sizes) == 1:
        return [asarray(ary)]
    full = tuple([size for size in sizes if size])
    parts = list(split_p.bind(ary, sizes=full, axis=axis)) if len(full) > 1 else [asarray(ary)]
    if len(full) == len(sizes):
        return parts
    # There may be very many empty parts, which are equal.
    empty, full_parts = asarray(take_slice(ary, 0, 0, axis)), iter(parts)
    return [next(full_parts) if size else empty for size in sizes]


def _overlapping(ary: Any, bounds: list[int], axis: int) -> list[Any]:
    """The parts between bounds that do not ascend; a part whose end precedes its start is empty."""
    index = (slice(None),) * axis
    ary = asarray(ary)
    empty = ary[(*index, slice(0, 0))]
    return [ary[(*index, slice(low, high))] if low < high else empty for low, high in pairwise(bounds)]


def split(ary: ArrayLike, indices_or_sections: ArrayLike | Sequence[SupportsIndex], axis: int = 0) -> list[Any]:
    """Split an array into parts along an axis.

    Args:
      ary: an array.
      indices_or_sections: the number of equal parts, or the start positions of all parts but the first.
      axis: the axis.

    Raises:
      ValueError: the length of the axis is not a multiple of the number of parts, or `axis` is out of range.

    >>> import primax as px
    >>> px.numpy.split(px.numpy.arange(4), 2)
    [Array([0, 1], dtype=int32), Array([2, 3], dtype=int32)]
    """
    return _split("split", ary, indices_or_sections, axis, False)


def array_split(ary: ArrayLike, indices_or_sections: ArrayLike | Sequence[SupportsIndex], axis: int = 0) -> list[Any]:
    """Split an array along an axis; some parts may be longer by 1. The arguments are those of `split`.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.array_split(pnp.arange(5), 3)
      [Array([0, 1], dtype=int32), Array([2, 3], dtype=int32), Array([4], dtype=int32)]
    """
    return _split("array_split", ary, indices_or_sections, axis, True)


def vsplit(ary: ArrayLike, indices_or_sections: ArrayLike | Sequence[SupportsIndex]) -> list[Any]:
    """Split an array along its first axis. The arguments are those of `split`.

    Examples:
      >>> import primax.numpy as pnp
      >>> [part.shape for part in pnp.vsplit(pnp.ones((5, 2)), [2])]
      [(2, 2), (3, 2)]
    """
    return _split("vsplit", ary, indices_or_sections, 0, False)


def hsplit(ary: ArrayLike, indices_or_sections: ArrayLike | Sequence[SupportsIndex]) -> list[Any]:
    """Split an array along its second axis, or a vector along its first. The arguments are those of `split`.

    Examples:
      >>> import primax.numpy as pnp
      >>> [part.shape for part in pnp.hsplit(pnp.ones((2, 4)), 2)], [part.shape for part in pnp.hsplit(pnp.ones(4), 2)]
      ([(2, 2), (2, 2)], [(2,), (2,)])
    """
    return _split("hsplit", ary, indices_or_sections, 0 if len(aval_of("hsplit", ary, "ary").shape) == 1 else 1, False)


def dsplit(ary: ArrayLike, indices_or_sections: ArrayLike | Sequence[SupportsIndex]) -> list[Any]:
    """Split an array along its third axis. The arguments are those of `split`.

    Examples:
      >>> import primax.numpy as pnp
      >>> [part.shape for part in pnp.dsplit(pnp.ones((2, 2, 4)), [1])]
      [(2, 2, 1), (2, 2, 3)]
    """
    return _split("dsplit", ary, indices_or_sections, 2, False)
