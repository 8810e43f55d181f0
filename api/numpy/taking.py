"""Reads and updates of elements at positions or under masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import backend, dtypes
from primax.extend.core import Array, ConcretizationTypeError, Tracer, get_aval
from primax.extend.provisional.arguments import ArgumentError, among, canonical_axis, sequence
from primax.extend.provisional.avals import array_of
from primax.extend.provisional.typing import ArrayLike, Arrays
from primax.numpy.at import Reference, converted
from primax.numpy.brackets import read_entries, resolve
from primax.numpy.conversion import asarray
from primax.numpy.creation import constant
from primax.numpy.indexing import read, readable
from primax.numpy.joining import stack
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, boolean, broadcast, broadcast_to_shape, cast, joint_shape, promote, strong
from primax.numpy.reductions import refuse_out
from primax.numpy.scans import cumsum
from primax.numpy.searching import around, inside, known, nonzero
from primax.numpy.selection import where
from primax.numpy.shaping import ravel, reshaped
from primax.plugins.indexing import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    gather_p,
    scatter_p,
)
from primax.plugins.indexing.gather import fill_of
from primax.plugins.indexing.positions import clipped, from_the_end
from primax.plugins.indexing.taking import along
from primax.plugins.structural import slice_p

__all__ = ["choose", "compress", "extract", "place", "put", "put_along_axis", "take", "take_along_axis"]

_CLIP, _FILL, _PROMISE = (GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP, GatherScatterMode.PROMISE_IN_BOUNDS)
_ALL = slice(None)


def _integers(function: str, indices: Any) -> Any:
    aval = aval_of(function, indices, "indices")
    if not dtypes.is_integer(aval.dtype):
        raise ArgumentError(f"{function}: indices must be integers, got {aval.str_short()}")
    return read_entries((indices,))[0]


def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Elements of an array along an axis.

    Args:
      a: an array.
      indices: the positions, an array of integers of any shape; booleans are 0 and 1.
      axis: the axis, which the axes of `indices` replace; None to ravel the array first.
      out: None.
      mode: the treatment of positions out of range: 'fill' (the default) reads `fill_value`, and negative positions
        count from the end; 'wrap' takes positions modulo the length; 'clip' clips them, negative ones to 0.
      unique_indices: a promise that positions are unique.
      indices_are_sorted: a promise that positions ascend.
      fill_value: a number; by default NaN, the smallest signed integer, the largest unsigned integer, or True.

    Raises:
      TypeError: `indices` does not hold integers.
      ValueError: `axis` is out of range, or `mode` is unknown.
      IndexError: positions are given for an axis of length 0.

    >>> import primax as px
    >>> px.numpy.take(px.numpy.array([10., 20., 30.]), px.numpy.array([2, 0, 5]))
    Array([30., 10., nan], dtype=float32)
    """
    if out is not None:
        refuse_out("take")
    # Positions that are known on the host may need no program.
    run = _taken if type(indices) is Array else _taken_by_operations
    return run(a, indices, axis, mode, bool(unique_indices), bool(indices_are_sorted), fill_value)


def _taken_by_operations(
    a: Any,
    indices: Any,
    axis: int | None,
    mode: str | None,
    unique_indices: bool,
    indices_are_sorted: bool,
    fill_value: Any,
) -> Array:
    shape = aval_of("take", a, "a").shape
    if dtypes.is_bool(aval_of("take", indices, "indices").dtype):
        indices = cast(indices, dtypes.default_int_dtype())
    position = _integers("take", indices)
    if axis is None:
        a, axis = ravel(a) if len(shape) != 1 else a, 0
        shape = get_aval(a).shape
    axis = canonical_axis(axis, len(shape), "take")
    how = _FILL
    if not among(mode, (None, "fill", "wrap", "clip", "raise")):
        raise ValueError(f"take: mode must be 'fill', 'wrap' or 'clip', got {mode!r}")
    if not shape[axis] and get_aval(position).size:
        raise IndexError(f"take: a must hold elements along axis {axis}, got shape {shape}")
    if mode == "wrap":
        position, how = around(position, shape[axis]), _PROMISE
    elif mode == "clip":
        how = _CLIP
    elif mode == "raise":
        raise NotImplementedError("take: mode must be 'fill', 'wrap' or 'clip': programs cannot raise, got 'raise'")
    if readable(a) and isinstance(position, int | np.ndarray):
        taken = _taken_on_host(a, position, axis, how)
        if taken is not None:
            return taken
    if how is _FILL and _is_inside(position, -shape[axis], shape[axis]):
        how = _PROMISE
    index = resolve(shape, [*[_ALL] * axis, position])
    return asarray(read(a, index, how, fill_value, unique_indices, indices_are_sorted, how is not _CLIP))


_taken = one_program(static=2)(_taken_by_operations)


def _is_inside(position: Any, first: int, limit: int) -> bool:
    """Whether positions are known and in [first, limit)."""
    if type(position) is int:
        return first <= position < limit
    known_now = isinstance(position, int | np.ndarray)
    return known_now and (np.size(position) == 0 or bool(np.min(position) >= first and np.max(position) < limit))


def _taken_on_host(a: Any, position: Any, axis: int, mode: GatherScatterMode) -> Any:
    """The elements, copied on the host; None if a position is out of range and needs a fill value."""
    host = backend.host_value(a)
    size = host.shape[axis]
    if mode is _CLIP:
        position = clipped(position, 0, size - 1)
    elif not _is_inside(position, -size, size):
        return None
    return array_of(host.take(position, axis), a.aval)


@one_program("axis mode fill_value wrap_negative_indices")
def take_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    axis: int | None = -1,
    mode: str | GatherScatterMode | None = None,
    fill_value: ArrayLike | None = None,
    *,
    wrap_negative_indices: bool = True,
) -> Array:
    """Elements of an array along an axis, at separate positions for each index of the other axes.

    Args:
      arr: an array.
      indices: the positions, an array of integers of the rank of `arr`; axes other than `axis` broadcast.
      axis: the axis; None to ravel the array first, and `indices` then has rank 1.
      mode: the treatment of positions out of range, as for `x.at[...].get`, 'fill' by default; or 'one_hot', which
        fills with zeros.
      fill_value: the value for 'fill'; by default NaN, the smallest signed integer, the largest unsigned integer, or
        True.
      wrap_negative_indices: whether negative positions count from the end; if False they are out of range.

    Raises:
      TypeError: `indices` does not hold integers.
      ValueError: ranks differ, shapes do not broadcast, `axis` is out of range, or `mode` is unknown.

    >>> import primax as px
    >>> px.numpy.take_along_axis(px.numpy.array([[1, 2], [3, 4]]), px.numpy.array([[0], [1]]), 1)
    Array([[1],
           [4]], dtype=int32)
    """
    aval_of("take_along_axis", arr, "arr")
    position = _integers("take_along_axis", indices)
    if axis is None:
        arr, axis = ravel(arr), 0
    shape, own = get_aval(arr).shape, get_aval(position).shape
    axis = _common_axis("take_along_axis", "arr", shape, own, axis)
    how = GatherScatterMode.from_any(mode)
    if how is GatherScatterMode.ONE_HOT:  # a product with a one-hot array, which is zero for positions out of range
        how, fill_value = _FILL, 0
    if wrap_negative_indices:
        position = from_the_end(position, shape[axis])
    if how is _FILL and _is_inside(position, 0, shape[axis]):
        how = _PROMISE
    free = [d for d in range(len(own)) if own[d] != 1 or shape[d] == 1 or d == axis]
    windows = tuple([d for d in range(len(own)) if d not in free])
    batch = tuple([d for d in free if d != axis and own[d] == shape[d]])
    out_shape = tuple([shape[d] if d in windows else size for d, size in enumerate(own)])
    if 0 in out_shape:
        return reshaped(slice_p.bind(ravel(arr), start_indices=(0,), limit_indices=(0,), strides=None), out_shape)
    if not shape[axis]:
        if how is not _FILL:
            raise IndexError(f"take_along_axis: arr must hold elements along axis {axis}, got shape {shape}")
        aval = get_aval(arr)
        return constant(fill_of(aval.dtype, fill_value), out_shape, aval.dtype, aval.weak_type)
    vectors = reshaped(position, (*[own[d] for d in free], 1))
    return gather_p.bind(
        arr,
        vectors,
        dimension_numbers=GatherDimensionNumbers(
            windows, tuple([d for d in free if d not in batch]), (axis,), batch, tuple([free.index(d) for d in batch])
        ),
        slice_sizes=tuple([shape[d] if d in windows else 1 for d in range(len(shape))]),
        fill_value=fill_value,
        indices_are_sorted=False,
        unique_indices=False,
        mode=how,
    )


def _common_axis(function: str, argument: str, shape: Any, indices: Any, axis: int) -> int:
    """Apply a function along an axis of two arrays whose other axes broadcast."""
    if len(shape) != len(indices):
        raise ValueError(
            f"{function}: {argument} and indices must have the same rank, got shapes {tuple(shape)} and "
            f"{tuple(indices)}"
        )
    axis = canonical_axis(axis, len(shape), function)
    others = [tuple([size for d, size in enumerate(sizes) if d != axis]) for sizes in (shape, indices)]
    if joint_shape(others) is None:
        raise ValueError(
            f"{function}: shapes of {argument} and indices must broadcast, except along axis {axis}, got "
            f"{tuple(shape)} "
            f"and {tuple(indices)}"
        )
    return axis


def _copy_only(function: str, inplace: bool) -> None:
    if inplace:
        raise ValueError(
            f"{function}: inplace must be False, which returns a changed copy: arrays are immutable, got {inplace}"
        )


def put_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    values: ArrayLike,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: str | None = None,
) -> Array:
    """A copy of an array updated along an axis, at separate positions for each index of the other axes.

    Args:
      arr: an array.
      indices: the positions, an array of integers of the rank of `arr`; axes other than `axis` broadcast to those of
        `arr`. Negative positions count from the end.
      values: the values to write; their shape broadcasts to that of `indices`.
      axis: the axis; None to write to the raveled array.
      inplace: False.
      mode: the treatment of positions out of range, as for `x.at[...].set`; 'drop' by default.

    Raises:
      TypeError: `indices` does not hold integers.
      ValueError: `inplace` is not False, ranks differ, shapes do not broadcast, or the axis is out of range.

    >>> import primax as px
    >>> px.numpy.put_along_axis(px.numpy.zeros((2, 2)), px.numpy.array([[0], [1]]), 9, 1, inplace=False)
    Array([[9., 0.],
           [0., 9.]], dtype=float32)
    """
    _copy_only("put_along_axis", inplace)
    aval = aval_of("put_along_axis", arr, "arr")
    position = _integers("put_along_axis", indices)
    if axis is None:
        flat = put_along_axis(ravel(arr), position, values, 0, False, mode=mode)
        return reshaped(flat, aval.shape)
    shape = aval.shape
    axis = _common_axis("put_along_axis", "arr", shape, get_aval(position).shape, axis)
    size = get_aval(position).shape[axis]
    indices_shape = (*shape[:axis], size, *shape[axis + 1 :])
    position = broadcast_to_shape(from_the_end(position, shape[axis]), indices_shape)
    if 0 in indices_shape:
        return asarray(arr)
    return scatter_p.bind(
        arr,
        reshaped(position, (*indices_shape, 1)),
        broadcast_to_shape(converted(values, aval, "put_along_axis"), indices_shape),
        dimension_numbers=ScatterDimensionNumbers(*along(len(shape), axis)),
        indices_are_sorted=False,
        unique_indices=False,
        mode=GatherScatterMode.from_any(mode),
    )


def put(a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: str | None = None, *, inplace: bool = True) -> Array:
    """A copy of an array with elements of the raveled array replaced.

    Args:
      a: an array.
      ind: positions in the raveled array, integers.
      v: the values to write, repeated if there are fewer values than positions.
      mode: the treatment of positions out of range: 'wrap' takes them modulo the size; 'clip' clips them, negative ones
        to 0; None clips them after negative ones are counted from the end.
      inplace: False.

    Raises:
      TypeError: `ind` does not hold integers.
      ValueError: `inplace` is not False, or the mode is unknown.

    >>> import primax as px
    >>> px.numpy.put(px.numpy.zeros(4), px.numpy.array([0, -1]), 5, inplace=False)
    Array([5., 0., 0., 5.], dtype=float32)
    """
    _copy_only("put", inplace)
    aval = aval_of("put", a, "a")
    position = _integers("put", ind)
    values = ravel(asarray(v))
    if isinstance(position, int):
        position = np.asarray(position)
    count, value_count = get_aval(position).size, get_aval(values).size
    if not among(mode, (None, "wrap", "clip", "raise")):
        raise ValueError(f"put: mode must be 'wrap', 'clip' or None, got {mode!r}")
    if mode == "wrap":
        position = around(position, aval.size)
    elif mode == "clip":
        position = inside(position, aval.size)
    elif mode == "raise":
        raise NotImplementedError("put: mode must be 'wrap', 'clip' or None: programs cannot raise, got 'raise'")
    if not count or not value_count or not aval.size:
        return asarray(a)
    values = take(values, np.arange(count) % value_count) if value_count != count else values
    return reshaped(Reference(ravel(a), reshaped(position, (count,))).set(values, mode="clip"), aval.shape)


def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = True) -> Array:
    """A copy of an array in which successive values replace the elements where a mask is true.

    Args:
      arr: an array.
      mask: an array with the same number of elements; nonzero elements are true.
      vals: the values, repeated if there are too few.
      inplace: False.

    Raises:
      ValueError: `inplace` is not False, `mask` has another size, or `vals` is empty.

    >>> import primax as px
    >>> px.numpy.place(px.numpy.arange(4), px.numpy.array([1, 0, 1, 1]), px.numpy.array([7, 8]), inplace=False)
    Array([7, 1, 8, 7], dtype=int32)
    """
    _copy_only("place", inplace)
    aval, mask_aval = aval_of("place", arr, "arr"), aval_of("place", mask, "mask")
    values = ravel(asarray(vals))
    if aval.size != mask_aval.size:
        raise ValueError(
            f"place: mask must have as many elements as arr, got {mask_aval.str_short()} for {aval.str_short()}"
        )
    value_count = get_aval(values).size
    if not value_count:
        if not aval.size:
            return asarray(arr)
        raise ValueError("place: vals must hold a value, got none")
    flat = ravel(boolean(mask))
    ranks = around(cumsum(flat) - 1, value_count)
    values = converted(take(values, ranks), aval, "place")
    return reshaped(where(flat, values, ravel(arr)), aval.shape)


def choose(a: ArrayLike, choices: Arrays, out: None = None, mode: str = "raise") -> Array:
    """For each index, the element of the array that it selects.

    Args:
      a: integers: the number of a choice for each element.
      choices: a sequence of arrays, or an array of choices along its first axis; all broadcast together with `a`.
      out: None.
      mode: the treatment of numbers out of range: 'raise', which a traced `a` does not allow, 'wrap' or 'clip'.

    Raises:
      TypeError: `a` does not hold integers.
      ValueError: a number is out of range, `choices` is empty, or `mode` is unknown.
      ConcretizationTypeError: `a` is traced, and `mode` is 'raise'.

    >>> import primax as px
    >>> px.numpy.choose(px.numpy.array([1, 0]), (px.numpy.array([1, 2]), 9))
    Array([9, 2], dtype=int32)
    """
    if out is not None:
        refuse_out("choose")
    number = _integers("choose", a)
    arrays = sequence("choose", "choices", choices)
    if not arrays:
        raise ValueError("choose: choices must hold an array, got none")
    if not among(mode, ("raise", "wrap", "clip")):
        raise ValueError(f"choose: mode must be 'raise', 'wrap' or 'clip', got {mode!r}")
    if mode == "raise":
        values = known(number)
        if values is None:
            raise ConcretizationTypeError("choose: mode must be 'wrap' or 'clip' where a is traced, got 'raise'")
        if values.size and not (values.min() >= 0 and values.max() < len(arrays)):
            raise ValueError(
                f"choose: a must be in [0, {len(arrays)}), got numbers from {values.min()} to {values.max()}"
            )
    elif mode == "wrap":
        number = around(number, len(arrays))
    else:
        number = inside(number, len(arrays))
    number, *arrays = broadcast("choose", [number, *promote("choose", *arrays)], scalars=False)
    place = reshaped(number, (1, *get_aval(number).shape))
    chosen = take_along_axis(stack(arrays), place, 0, "promise_in_bounds", wrap_negative_indices=False)
    return strong(reshaped(chosen, get_aval(number).shape))


def compress(
    condition: ArrayLike,
    a: ArrayLike,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: ArrayLike = 0,
    out: None = None,
) -> Array:
    """The elements along an axis where a condition is true.

    Args:
      condition: a vector; nonzero elements are true. If it is shorter than the axis, missing elements are false.
      a: an array.
      axis: the axis; None to ravel the array first.
      size: the number of elements to return, which a traced `condition` needs. Missing elements are `fill_value`.
      fill_value: a number.
      out: None.

    Raises:
      ValueError: `condition` is not of rank 1, or is true beyond the end of the axis, or `axis` is out of range.
      ConcretizationTypeError: `condition` is traced and `size` is None.

    >>> import primax as px
    >>> px.numpy.compress(px.numpy.array([True, False, True]), px.numpy.array([1, 2, 3]))
    Array([1, 3], dtype=int32)
    """
    if out is not None:
        refuse_out("compress")
    condition_shape = aval_of("compress", condition, "condition").shape
    aval_of("compress", a, "a")
    if len(condition_shape) != 1:
        raise ValueError(f"compress: condition must be of rank 1, got shape {condition_shape}")
    if axis is None:
        a, axis = ravel(a), 0
    shape = get_aval(a).shape
    axis = canonical_axis(axis, len(shape), "compress")
    values = known(condition)
    if values is not None:
        if values[shape[axis] :].any():
            raise ValueError(
                f"compress: condition must not hold beyond the length of the axis, {shape[axis]}, "
                f"got length {condition_shape[0]}"
            )
        condition = values[: shape[axis]]
    elif condition_shape[0] > shape[axis]:
        condition = slice_p.bind(condition, start_indices=(0,), limit_indices=(shape[axis],), strides=None)
    (positions,) = nonzero(condition, size=size, fill_value=None if size is None else shape[axis])
    if not shape[axis]:
        positions = np.zeros(0, np.int32)
    if isinstance(fill_value, Tracer):
        taken = take(a, positions, axis, mode="fill", fill_value=0)
        sizes = tuple([-1 if d == axis else 1 for d in range(len(shape))])
        return where((asarray(positions) < shape[axis]).reshape(sizes), taken, fill_value)
    return take(a, positions, axis, mode="fill", fill_value=np.asarray(fill_value).item())


def extract(condition: ArrayLike, arr: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = 0) -> Array:
    """The elements of an array where a condition is true, as a vector. The arguments are those of `compress`.

    >>> import primax as px
    >>> x = px.numpy.arange(4)
    >>> px.numpy.extract(x > 1, x)
    Array([2, 3], dtype=int32)
    """
    aval_of("extract", condition, "condition")
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)
