"""Changes of shape, and permutations of axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, SupportsIndex, overload

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, ShapeError, get_aval
from primax.extend.provisional.arguments import among, canonical_axes, canonical_axis, integer, integers, listed
from primax.extend.provisional.sharding import with_out_sharding
from primax.extend.provisional.typing import ArrayLike, Axes, DeviceLike, DTypeLike, ShapeLike, ShardingLike
from primax.numpy.conversion import asarray, place, read_copy, read_dtype, read_shape
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, broadcast_to_shape
from primax.plugins import structural
from primax.plugins.structural import reshape_p, squeeze_p, transpose_p
from primax.plugins.structural.shapes import insert_axes

__all__ = [
    "astype",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "expand_dims",
    "matrix_transpose",
    "moveaxis",
    "ravel",
    "reshape",
    "resize",
    "rollaxis",
    "squeeze",
    "swapaxes",
    "transpose",
]


def reshaped(a: Any, shape: tuple[int, ...]) -> Array:
    """Reshape an array; add no equation if the shape is unchanged."""
    return asarray(a) if get_aval(a).shape == shape else reshape_p.bind(a, new_sizes=shape, dimensions=None)


def permuted(a: Any, order: tuple[int, ...]) -> Array:
    """Permute the axes of an array; add no equation if the order is unchanged."""
    return asarray(a) if order == tuple(range(len(order))) else transpose_p.bind(a, permutation=order)


def reshape(
    a: ArrayLike,
    shape: ShapeLike,
    order: str = "C",
    *,
    copy: bool | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Reshape an array; the order of elements is unchanged.

    A NumPy array is returned as a NumPy array of its own dtype, inside `jit` too, as in JAX: its values are known
    there.

    Args:
      a: an array or a number.
      shape: a sequence of sizes, or one size; one of them may be -1, and is then computed.
      order: "C" to read and write the last axis fastest, "F" the first axis; "A" is "F" for NumPy arrays whose first
        axis is the fastest in memory, and "C" otherwise.
      copy: True always copies; otherwise the result may share memory, since arrays are immutable.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError: the shapes have different numbers of elements.
      ValueError: several sizes are -1, or `order` is unknown.

    >>> import primax as px
    >>> px.numpy.reshape(px.numpy.arange(6), (2, -1))
    Array([[0, 1, 2],
           [3, 4, 5]], dtype=int32)
    """
    if out_sharding is not None:
        return with_out_sharding("reshape", lambda a: _reshape(a, shape, order, copy), (a,), out_sharding)
    if not isinstance(a, np.ndarray | np.generic):
        return _reshape(a, shape, order, copy)
    sizes = _resolved(aval_of("reshape", a, "a").shape, shape)
    if not among(order, ("C", "F", "A")):
        raise ValueError(f"reshape: order must be 'C' or 'F', got {order!r}")
    array: Any = a.copy() if read_copy("reshape", copy) else a
    return array.reshape(sizes, order=order)


def _reshape(a: Any, shape: Any, order: str, copy: bool | None) -> Array:
    """`reshape`; the result is an array of primax even for a NumPy array."""
    own = aval_of("reshape", a, "a").shape
    if read_copy("reshape", copy):
        a = asarray(a, copy=True)
    sizes = _resolved(own, shape)
    if isinstance(order, str) and order in ("C", "A"):
        return reshaped(a, sizes)
    if not among(order, ("F",)):
        raise ValueError(f"reshape: order must be 'C' or 'F', got {order!r}")
    return transpose(reshaped(transpose(a), sizes[::-1]))


def _resolved(own: tuple[int, ...], shape: Any) -> tuple[int, ...]:
    if type(shape) is int or not hasattr(shape, "__iter__"):
        shape = (shape,)
    sizes = new_sizes = integers(shape, "reshape", "shape")
    total = math.prod(own)
    if -1 in sizes:
        if sizes.count(-1) > 1:
            raise ShapeError(f"reshape: shape can only specify one unknown axis size with a -1, got {sizes}")
        known = -math.prod(sizes)
        missing = total // known if known and total % known == 0 else 0
        if missing * known != total or (known == 0 and total):
            raise TypeError(
                f"reshape: the sizes other than -1 must divide {total}, the number of elements, got {known} for "
                f"{sizes} "
                f"and an array of shape {own}"
            )
        sizes = tuple([missing if size == -1 else size for size in sizes])
    negative = any(size < 0 for size in sizes)
    if negative or math.prod(sizes) != total:
        if negative:
            raise TypeError(f"reshape: shape must consist of non-negative integers and at most one -1, got {new_sizes}")
        raise TypeError(
            f"reshape: shape must have as many elements as a, got {math.prod(sizes)} in {sizes} and {total} in {own}"
        )
    return sizes


def reshape_method(x: Any, *shape: Any, order: str = "C", copy: bool | None = None, out_sharding: Any = None) -> Array:
    """`reshape` with the sizes as one argument or as several."""
    sizes = shape[0] if len(shape) == 1 else shape
    if out_sharding is not None:
        return with_out_sharding("reshape", lambda x: _reshape(x, sizes, order, copy), (x,), out_sharding)
    return _reshape(x, sizes, order, copy)


@one_program("order out_sharding")
def ravel(a: ArrayLike, order: str = "C", *, out_sharding: ShardingLike | None = None) -> Array:
    """The elements of an array as a vector.

    Args:
      a: an array or a number.
      order: "C" to read the last axis fastest, "F" the first axis.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.ravel(np.array([[1, 2], [3, 4]]), order="F")
      Array([1, 3, 2, 4], dtype=int32)
    """
    if out_sharding is not None:
        return with_out_sharding("ravel", lambda a: ravel(a, order), (a,), out_sharding)
    if among(order, ("K",)):
        raise NotImplementedError("ravel: order must be 'C' or 'F': arrays have no memory order, got 'K'")
    return _reshape(a, (aval_of("ravel", a, "a").size,), order, None)


def transpose(a: ArrayLike, axes: Sequence[SupportsIndex] | None = None) -> Array:
    """Permute the axes of an array.

    Args:
      a: an array.
      axes: for each axis of the result, the axis of `a`; the reverse order if None.

    Raises:
      ValueError: `axes` is not a permutation of the axes.

    >>> import primax as px
    >>> px.numpy.transpose(px.numpy.ones((2, 3))).shape
    (3, 2)
    """
    rank = len(aval_of("transpose", a, "a").shape)
    if axes is None:
        return permuted(a, tuple(range(rank))[::-1])
    order = canonical_axes(axes, rank, "transpose")
    if len(order) != rank:
        raise ShapeError(f"transpose: axes must name each of {rank} axes, got {tuple(axes)}")
    return permuted(a, order)


def transpose_method(x: Any, *axes: Any) -> Array:
    """`transpose` with the axes as one argument or as several."""
    if not axes or (len(axes) == 1 and axes[0] is None):
        return transpose(x)
    return transpose(x, axes[0] if len(axes) == 1 and hasattr(axes[0], "__iter__") else axes)


def matrix_transpose(x: ArrayLike, /) -> Array:
    """An array with its last two axes swapped.

    Args:
      x: an array of shape (..., m, n).

    Raises:
      ValueError: `x` is of rank 0 or 1.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.matrix_transpose(pnp.ones((5, 2, 3))).shape
      (5, 3, 2)
    """
    rank = len(aval_of("matrix_transpose", x, "x").shape)
    if rank < 2:
        raise ValueError(f"matrix_transpose: x must be of rank 2 or more, got rank {rank}")
    return permuted(x, (*range(rank - 2), rank - 1, rank - 2))


@one_program("axis1 axis2")
def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """An array with two of its axes swapped.

    Args:
      a: an array.
      axis1, axis2: the axes.

    Raises:
      ValueError: an axis is out of range.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.swapaxes(pnp.ones((2, 3, 4)), 0, -1).shape
      (4, 3, 2)
    """
    rank = len(aval_of("swapaxes", a, "a").shape)
    first = canonical_axis(axis1, rank, "swapaxes", "axis1")
    second = canonical_axis(axis2, rank, "swapaxes", "axis2")
    order = list(range(rank))
    order[first], order[second] = second, first
    return permuted(a, tuple(order))


@one_program("source destination")
def moveaxis(a: ArrayLike, source: Axes, destination: Axes) -> Array:
    """Move axes; the other axes keep their order.

    Args:
      a: an array.
      source: an axis or a sequence of axes.
      destination: the positions of these axes in the result, as many as there are sources.

    Raises:
      ValueError: an axis is out of range or repeated, or the numbers of axes differ.

    >>> import primax as px
    >>> px.numpy.moveaxis(px.numpy.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    rank = len(aval_of("moveaxis", a, "a").shape)
    sources = canonical_axes(listed(source), rank, "moveaxis", "source")
    places = canonical_axes(listed(destination), rank, "moveaxis", "destination")
    if len(sources) != len(places):
        raise ValueError(
            f"moveaxis: source and destination must name as many axes, got {len(sources)} and {len(places)}"
        )
    order = [i for i in range(rank) if i not in sources]
    for place_, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place_, axis)
    return permuted(a, tuple(order))


@one_program("axis start")
def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """Move one axis before the axis `start`.

    Args:
      a: an array.
      axis: the axis to move.
      start: the axis before which `axis` is moved; the rank of `a` moves it to the end.

    Raises:
      ValueError: an axis is out of range.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.rollaxis(pnp.ones((2, 3, 4)), 2).shape, pnp.rollaxis(pnp.ones((2, 3, 4)), 0, 3).shape
      ((4, 2, 3), (3, 4, 2))
    """
    rank = len(aval_of("rollaxis", a, "a").shape)
    axis = canonical_axis(axis, rank, "rollaxis")
    start = integer("rollaxis", "start", start)
    start = canonical_axis(start, rank + 1, "rollaxis", "start") if start >= 0 else start + rank
    if not 0 <= start <= rank:
        raise ValueError(f"rollaxis: start must be in [{-rank}, {rank}], got {start - rank}")
    return moveaxis(a, axis, start - (axis < start))


def squeeze(a: ArrayLike, axis: Axes | None = None) -> Array:
    """Remove axes of length 1.

    Args:
      a: an array.
      axis: an axis, a sequence of axes, or None for all axes of length 1.

    Raises:
      ValueError: an axis is out of range or repeated, or its length is not 1.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.squeeze(pnp.ones((1, 3, 1))).shape, pnp.squeeze(pnp.ones((1, 3, 1)), axis=0).shape
      ((3,), (3, 1))
      >>> pnp.squeeze(pnp.ones((1, 3)), axis=1)
      Traceback (most recent call last):
          ...
      ValueError: squeeze: axis must be of length 1, got axis 1 of shape (1, 3)
    """
    shape = aval_of("squeeze", a, "a").shape
    if axis is None:
        # The first comparison raises an error for a symbolic size that may be 1.
        axes = tuple([i for i, size in enumerate(shape) if not size > 1 and size == 1])
    else:
        axes = canonical_axes(listed(axis), len(shape), "squeeze", "axis")
        for i in axes:
            if shape[i] != 1:
                raise ValueError(f"squeeze: axis must be of length 1, got axis {i} of shape {shape}")
    return squeeze_p.bind(a, dimensions=tuple(sorted(axes))) if axes else asarray(a)


@one_program("axis")
def expand_dims(a: ArrayLike, axis: Axes) -> Array:
    """Add axes of length 1.

    Args:
      a: an array or a number.
      axis: the position of the new axis in the result, or a sequence of positions.

    Raises:
      ValueError: an axis is out of range or repeated.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.expand_dims(pnp.ones((2, 3)), (0, -1)).shape
      (1, 2, 3, 1)
    """
    aval_of("expand_dims", a, "a")
    return insert_axes(a, listed(axis), "axis")


def broadcast_to(array: ArrayLike, shape: ShapeLike, *, out_sharding: ShardingLike | None = None) -> Array:
    """An array broadcast to a shape.

    Args:
      array: an array or a number.
      shape: a sequence of sizes, or one size.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      ValueError: the shape of `array` does not broadcast to `shape`.

    >>> import primax as px
    >>> px.numpy.broadcast_to(px.numpy.array([1, 2]), (2, 2))
    Array([[1, 2],
           [1, 2]], dtype=int32)
    """
    if out_sharding is not None:
        return with_out_sharding("broadcast_to", lambda array: broadcast_to(array, shape), (array,), out_sharding)
    own = aval_of("broadcast_to", array, "array").shape
    shape = read_shape(shape, "broadcast_to")
    tail = shape[len(shape) - len(own) :] if len(own) <= len(shape) else None
    if tail is None or any(a not in (1, b) for a, b in zip(own, tail, strict=True)):
        raise ValueError(f"broadcast_to: array must be of a shape that broadcasts to {shape}, got {own}")
    return asarray(array) if own == shape else broadcast_to_shape(array, shape, own)


broadcast_shapes = structural.broadcast_shapes


def broadcast_arrays(*args: ArrayLike) -> list[Any]:
    """Broadcast arrays to their common shape, and return them in a list.

    Args:
      args: arrays or numbers.

    Raises:
      ValueError: the shapes do not broadcast.

    Examples:
      >>> import primax.numpy as pnp
      >>> a, b = pnp.broadcast_arrays(pnp.arange(3), pnp.ones((2, 1)))
      >>> a.shape, a.dtype, b.dtype
      ((2, 3), dtype('int32'), dtype('float32'))
    """
    shape = broadcast_shapes(*[aval_of("broadcast_arrays", x, i).shape for i, x in enumerate(args)])
    return [asarray(broadcast_to_shape(x, shape)) for x in args]


def _at_least(function: str, arrays: Any, shape_of: Any) -> Array | tuple[Array, ...]:
    out = [reshaped(x, shape_of(aval_of(function, x, i).shape)) for i, x in enumerate(arrays)]
    return out[0] if len(out) == 1 else tuple(out)


@overload
def atleast_1d(ary: Any, /) -> Array: ...
@overload
def atleast_1d(*arys: Any) -> Array | tuple[Array, ...]: ...
def atleast_1d(*arys: ArrayLike) -> Array | tuple[Array, ...]:
    """Add axes of length 1 so that each array has at least one axis; several arrays give a tuple.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.atleast_1d(3.0, np.ones(2))
      (Array([3.], dtype=float32, weak_type=True), Array([1., 1.], dtype=float32))
    """
    return _at_least("atleast_1d", arys, lambda shape: shape or (1,))


@overload
def atleast_2d(ary: Any, /) -> Array: ...
@overload
def atleast_2d(*arys: Any) -> Array | tuple[Array, ...]: ...
def atleast_2d(*arys: ArrayLike) -> Array | tuple[Array, ...]:
    """Add leading axes of length 1 so that each array has at least two axes; several arrays give a tuple.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.atleast_2d(pnp.arange(3)).shape
      (1, 3)
    """
    return _at_least("atleast_2d", arys, lambda shape: (1,) * (2 - len(shape)) + shape)


@overload
def atleast_3d(ary: Any, /) -> Array: ...
@overload
def atleast_3d(*arys: Any) -> Array | tuple[Array, ...]: ...
def atleast_3d(*arys: ArrayLike) -> Array | tuple[Array, ...]:
    """Add axes of length 1 so that each array has at least three axes; several arrays give a tuple.

    A vector of length n becomes (1, n, 1), a matrix of shape (m, n) becomes (m, n, 1).

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.atleast_3d(pnp.arange(3)).shape, pnp.atleast_3d(pnp.ones((3, 4))).shape
      ((1, 3, 1), (3, 4, 1))
    """

    def with_three(shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape if len(shape) > 2 else (*(1,) * (2 - len(shape)), *shape, 1)

    return _at_least("atleast_3d", arys, with_three)


def astype(x: ArrayLike, dtype: DTypeLike | None, /, *, copy: bool = False, device: DeviceLike | None = None) -> Array:
    """Convert an array to another dtype.

    Args:
      x: an array or a number.
      dtype: the dtype of the result; the default floating dtype if None, as in NumPy.
      copy: whether to copy an array that has the dtype already.
      device: the device or sharding of the result; that of `x` if None.

    Raises:
      TypeError: `dtype` is not a dtype of arrays.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.astype(pnp.array([-1.7, 2.7]), "int32")
      Array([-1,  2], dtype=int32)
      >>> pnp.astype(pnp.array([1, 2]), None).dtype
      dtype('float32')
    """
    aval_of("astype", x, "x")
    dtype = dtypes.default_float_dtype() if dtype is None else read_dtype(dtype, "astype")
    return place(asarray(asarray(x), dtype, copy=read_copy("astype", copy) or None), device)


@one_program("new_shape")
def resize(a: ArrayLike, new_shape: ShapeLike) -> Array:
    """An array of a new shape with the elements of another one, repeated as often as needed.

    Args:
      a: an array or a number.
      new_shape: a sequence of sizes, or one size.

    If `a` is empty, the new elements are zeros.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.resize(pnp.arange(3), (2, 4))
      Array([[0, 1, 2, 0],
             [1, 2, 0, 1]], dtype=int32)
    """
    shape = read_shape(new_shape, "resize")
    size, total = aval_of("resize", a, "a").size, math.prod(shape)
    if total == 0 or size == 0:
        return broadcast_to(asarray(a).dtype.type(0), shape)
    flat = ravel(a)
    copies = -(-total // size)
    if copies > 1:
        flat = reshaped(broadcast_to_shape(flat, (copies, size)), (copies * size,))
    if copies * size > total:
        flat = structural.slice(flat, (0,), (total,))
    return reshaped(flat, shape)
