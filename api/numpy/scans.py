"""Cumulative sums and products, and differences of neighbors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import among, canonical_axes, canonical_axis, integer, listed
from primax.extend.provisional.typing import ArrayLike, Axes, DTypeLike
from primax.numpy.conversion import asarray, read_dtype
from primax.numpy.indexing import take_slice
from primax.numpy.joining import concatenate
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, broadcast_to_shape, convert, promote, strong
from primax.numpy.reductions import FLOAT32, is_half, refuse_out, wide_integer
from primax.numpy.shaping import ravel
from primax.numpy.ufuncs import add, divide, multiply, subtract, to_inexact
from primax.plugins import arithmetic, bitwise, cumulative
from primax.plugins.structural import pad_p

__all__ = ["cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "diff", "ediff1d", "gradient", "trapezoid"]


def cumulated(function: str, primitive: Any, a: Any, axis: Any, dtype: Any, out: Any) -> Array:
    """A cumulative function of NumPy: of the raveled array without an axis; a number is a vector of one element."""
    if out is not None:
        refuse_out(function)
    aval = aval_of(function, a)
    if dtype is not None:
        result_dtype = read_dtype(dtype, function)
    else:
        result_dtype = dtypes.default_int_dtype() if dtypes.is_bool(aval.dtype) else aval.dtype
    if axis is None or not aval.shape:
        a, axis = ravel(a), 0 if axis is None else axis
    axis = canonical_axis(axis, len(get_aval(a).shape), function)
    a = convert(a, get_aval(a), result_dtype)
    if dtypes.is_bool(result_dtype):  # convert to booleans before combining
        a = convert(a, get_aval(a), dtypes.default_int_dtype())
    elif is_half(result_dtype):
        a = convert(a, get_aval(a), FLOAT32)
    scanned = primitive.bind(a, axis=axis, reverse=False)
    return strong(convert(scanned, get_aval(scanned), result_dtype))


@one_program("axis dtype out")
def cumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None) -> Array:
    """The cumulative sums of the elements along an axis.

    Args:
      a: an array or a number.
      axis: the axis; None to ravel the array first.
      dtype: the dtype of the result; that of `a` if None, the default int dtype for booleans.
      out: None.

    Raises:
      ValueError: the axis is out of range.

    >>> import primax as px
    >>> px.numpy.cumsum(px.numpy.array([1, 2, 3]))
    Array([1, 3, 6], dtype=int32)
    """
    return cumulated("cumsum", cumulative.cumsum_p, a, axis, dtype, out)


@one_program("axis dtype out")
def cumprod(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None) -> Array:
    """The cumulative products of the elements along an axis. The arguments are those of `cumsum`.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.cumprod(pnp.array([[1, 2], [3, 4]])), pnp.cumprod(pnp.array([[1, 2], [3, 4]]), axis=0)
      (Array([ 1,  2,  6, 24], dtype=int32), Array([[1, 2],
             [3, 8]], dtype=int32))
    """
    return cumulated("cumprod", cumulative.cumprod_p, a, axis, dtype, out)


def _with_initial(function: str, scan: Any, neutral: int, x: Any, axis: Any, dtype: Any, initial: bool) -> Array:
    aval = aval_of(function, x)
    rank = len(aval.shape)
    if rank == 0 or (axis is None and rank > 1):
        raise ValueError(f"{function}: axis must be given for an array of rank {rank}; of rank 0 there is no axis")
    axis = canonical_axis(0 if axis is None else axis, rank, function)
    out = scan(x, axis, wide_integer(aval.dtype) if dtype is None else dtype)
    if not initial:
        return out
    config = tuple([(int(i == axis), 0, 0) for i in range(rank)])
    return pad_p.bind(out, get_aval(out).dtype.type(neutral), padding_config=config)


@one_program("axis dtype include_initial")
def cumulative_sum(
    x: ArrayLike, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False
) -> Array:
    """The cumulative sums of the elements along an axis.

    Args:
      x: an array of rank 1 or more.
      axis: the axis; None is allowed for rank 1 only.
      dtype: the dtype of the result; that of `x` if None, but at least of the default width for integers.
      include_initial: whether the result begins with 0.

    Raises:
      ValueError: `axis` is out of range, or None for a rank other than 1.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.cumulative_sum(pnp.array([1, 2, 3]), include_initial=True)
      Array([0, 1, 3, 6], dtype=int32)
    """
    return _with_initial("cumulative_sum", cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(
    x: ArrayLike, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False
) -> Array:
    """The cumulative products of the elements along an axis. The arguments are those of `cumulative_sum`.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.cumulative_prod(pnp.array([[1, 2], [3, 4]]), axis=1, include_initial=True)
      Array([[ 1,  1,  2],
             [ 1,  3, 12]], dtype=int32)
    """
    return _with_initial("cumulative_prod", cumprod, 1, x, axis, dtype, include_initial)


@one_program("n axis")
def diff(
    a: ArrayLike, n: int = 1, axis: int = -1, prepend: ArrayLike | None = None, append: ArrayLike | None = None
) -> Array:
    """The differences of neighbors along an axis; of booleans, whether they differ.

    Args:
      a: an array of rank 1 or more.
      n: the number of times that differences are taken.
      axis: the axis.
      prepend: values to put before `a`: an array, or a number for one element.
      append: values to put after `a`: an array, or a number for one element.

    Raises:
      ValueError: `n` is negative; or `n` is positive, and `a` is of rank 0 or `axis` is out of range.

    >>> import primax as px
    >>> px.numpy.diff(px.numpy.array([1, 4, 9]))
    Array([3, 5], dtype=int32)
    """
    shape = aval_of("diff", a, "a").shape
    n = integer("diff", "n", n)
    if n < 0:
        raise ValueError(f"diff: n must not be negative, got {n}")
    if n == 0:
        return asarray(a)
    if not shape:
        raise ValueError("diff: a must be of rank 1 or more, got rank 0")
    axis = canonical_axis(axis, len(shape), "diff")
    parts = [a]
    for place, part in ((0, prepend), (len(parts) + 1, append)):
        if part is not None:
            if not aval_of("diff", part).shape:
                part = broadcast_to_shape(part, (*shape[:axis], 1, *shape[axis + 1 :]))
            parts.insert(place, part)
    out: Any = concatenate(parts, axis) if len(parts) > 1 else a
    for _ in range(n):
        size = get_aval(out).shape[axis]
        if size == 0:
            return asarray(out)
        upper, lower = take_slice(out, 1, size, axis), take_slice(out, 0, size - 1, axis)
        if dtypes.is_bool(get_aval(out).dtype):
            out = bitwise.xor_p.bind(upper, lower)
        else:
            out = arithmetic.sub_p.bind(upper, lower)
    return out


@one_program("")
def ediff1d(ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None) -> Array:
    """The differences of neighbors in the raveled array.

    Args:
      ary: an array of numbers.
      to_end: values to put after the differences.
      to_begin: values to put before the differences.

    Raises:
      TypeError: `ary` is boolean.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.ediff1d(pnp.array([[1, 4], [9, 16]]), to_begin=0)
      Array([0, 3, 5, 7], dtype=int32)
    """
    dtype = aval_of("ediff1d", ary, "ary").dtype
    if dtypes.is_bool(dtype):
        raise TypeError("ediff1d: ary must be of numbers, got booleans; diff tells where they differ")
    out = diff(ravel(ary))
    parts = [out]
    if to_begin is not None:
        parts.insert(0, ravel(asarray(to_begin, dtype)))
    if to_end is not None:
        parts.append(ravel(asarray(to_end, dtype)))
    return concatenate(parts) if len(parts) > 1 else out


@one_program("axis edge_order")
def gradient(
    f: ArrayLike, *varargs: ArrayLike | Sequence[ArrayLike], axis: Axes | None = None, edge_order: int | None = None
) -> Array | list[Array]:
    """The derivative of a sampled function: central differences, one-sided at the edges.

    Args:
      f: an array of rank 1 or more.
      varargs: the spacing of the samples: one number for all axes, or for each axis a number or an array of positions.
      axis: an axis, a sequence of axes, or None for all.
      edge_order: 1.

    Returns:
      An array of the shape of `f`; a list with one array per axis if there are several axes.

    Raises:
      TypeError: the number of `varargs` is not 0, 1 or the number of axes.
      ValueError: an axis has fewer than 2 points, or `varargs` has positions of another shape than its axis.
      NotImplementedError: `edge_order` is not 1.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.gradient(pnp.array([1.0, 2.0, 4.0, 7.0]), 0.5)
      Array([2., 3., 5., 6.], dtype=float32)
      >>> [part.shape for part in pnp.gradient(pnp.ones((2, 3)))]
      [(2, 3), (2, 3)]
    """
    if not among(edge_order, (None, 1)):
        raise NotImplementedError(f"gradient: edge_order must be 1, got {edge_order}")
    spacings: list[Any]
    f, *spacings = promote("gradient", f, *varargs, to=to_inexact)
    shape = get_aval(f).shape
    if axis is None:
        axes = tuple(range(len(shape)))
    else:
        axes = canonical_axes(listed(axis), len(shape), "gradient", "axis")
    spacings = spacings or [1.0]
    if len(spacings) == 1 and not aval_of("gradient", spacings[0]).shape:
        spacings = spacings * len(axes)
    if len(spacings) != len(axes):
        raise TypeError(
            f"gradient: varargs must be one number, or a number or an array for each of {len(axes)} axes, "
            f"got {len(spacings)}"
        )
    out = [_slopes(f, i, spacing) for i, spacing in zip(axes, spacings, strict=True)]
    return out[0] if len(out) == 1 else out


def _slopes(f: Any, axis: int, spacing: Any) -> Array:
    shape = get_aval(f).shape
    size = shape[axis]
    if size < 2:
        raise ValueError(f"gradient: an axis must have 2 points or more, got {size} along axis {axis}")
    spacing_shape = aval_of("gradient", spacing).shape
    if spacing_shape not in ((), (size,)):
        raise ValueError(
            f"gradient: the distances along axis {axis} must be a number or {size} positions, got shape {spacing_shape}"
        )

    def part(start: int, limit: int) -> Array:
        return take_slice(f, start, limit, axis)

    first = arithmetic.sub_p.bind(part(1, 2), part(0, 1))
    last = arithmetic.sub_p.bind(part(size - 1, size), part(size - 2, size - 1))
    if spacing_shape:
        steps = diff(spacing)
        sizes = tuple([-1 if i == axis else 1 for i in range(len(shape))])
        steps = steps.reshape(sizes)
        count = size - 1
        low, high = take_slice(steps, 0, count - 1, axis), take_slice(steps, 1, count, axis)
        left = divide(subtract(part(1, size - 1), part(0, size - 2)), low)
        right = divide(subtract(part(2, size), part(1, size - 1)), high)
        inner = divide(add(multiply(left, high), multiply(right, low)), add(low, high))
        edges = (divide(first, take_slice(steps, 0, 1, axis)), divide(last, take_slice(steps, count - 1, count, axis)))
    else:
        inner = divide(arithmetic.sub_p.bind(part(2, size), part(0, size - 2)), multiply(spacing, 2.0))
        edges = divide(first, spacing), divide(last, spacing)
    return concatenate([edges[0], inner, edges[1]], axis)


@one_program("axis")
def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1) -> Array:
    """The integral of a sampled function, by the trapezoidal rule.

    Args:
      y: the values, an array of rank 1 or more.
      x: the positions of the samples; if None, they have distance `dx`.
      dx: the distance of neighbors.
      axis: the axis.

    Raises:
      ValueError: the axis is out of range.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.trapezoid(pnp.array([1.0, 2.0, 3.0])), pnp.trapezoid(pnp.array([1.0, 3.0]), x=pnp.array([0.0, 0.5]))
      (Array(4., dtype=float32), Array(1., dtype=float32))
    """
    rank = len(aval_of("trapezoid", y, "y").shape)
    if x is None:
        (y,) = promote("trapezoid", y, to=to_inexact)
    else:
        y, x = promote("trapezoid", y, x, to=to_inexact)  # differences of unsigned integers would wrap around
    axis = canonical_axis(axis, rank, "trapezoid")
    size = get_aval(y).shape[axis]
    pairs = add(take_slice(y, min(1, size), size, axis), take_slice(y, 0, max(size - 1, 0), axis))
    if x is not None:
        widths = diff(x) if len(aval_of("trapezoid", x, "x").shape) == 1 else diff(x, axis=axis)
        if len(get_aval(widths).shape) == 1:
            widths = widths.reshape(tuple([-1 if i == axis else 1 for i in range(rank)]))
        return multiply(multiply(pairs, widths).sum(axis), 0.5)
    return multiply(multiply(pairs, dx).sum(axis), 0.5)
