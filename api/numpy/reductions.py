"""Sums, products, extrema, means and similar reductions over axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn, TypeVar

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, Tracer, get_aval
from primax.extend.provisional.arguments import canonical_axes, canonical_axis
from primax.extend.provisional.typing import ArrayLike, Axes, DTypeLike
from primax.numpy.conversion import asarray, read_dtype
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, boolean, cast, convert, number_aval, strong
from primax.numpy.selection import where
from primax.numpy.shaping import reshaped
from primax.plugins import arithmetic, bitwise
from primax.plugins import reductions as primitives
from primax.plugins.structural import broadcast_in_dim_p, reduce_sum_p

__all__ = ["all", "any", "argmax", "argmin", "count_nonzero", "max", "min", "minmax", "prod", "ptp", "sum"]

Function = TypeVar("Function", bound=Callable[..., Any])

_BOOL = np.dtype(np.bool_)
FLOAT32 = np.dtype(np.float32)
_INT32 = np.dtype(np.int32)


def read_axes(axis: Any, rank: int, function: str) -> tuple[int, ...]:
    """Convert an axis, a sequence of axes, or None for all, to a tuple of axes counted from the front."""
    if axis is None:
        return tuple(range(rank))
    if type(axis) is int or (hasattr(axis, "__index__") and not getattr(axis, "ndim", 0)):
        return (canonical_axis(axis, rank, function),)
    return canonical_axes(axis, rank, function, "axis")


def with_axes(out: Any, shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> Array:
    """A reduced array, in which the reduced axes stay with length 1 if `keepdims` is true."""
    if not keepdims or not axes:
        return out
    kept = tuple([i for i in range(len(shape)) if i not in axes])
    sizes = tuple([1 if i in axes else size for i, size in enumerate(shape)])
    return broadcast_in_dim_p.bind(out, shape=sizes, broadcast_dimensions=kept)


def wide_integer(dtype: Any) -> np.dtype[Any]:
    """The dtype of sums: integers narrower than the default are widened."""
    if dtypes.is_bool(dtype):
        return dtypes.default_int_dtype()
    if dtypes.is_integer(dtype):
        wide = dtypes.default_uint_dtype() if dtypes.is_unsigned_integer(dtype) else dtypes.default_int_dtype()
        return wide if dtypes.itemsize_bits(dtype) < dtypes.itemsize_bits(wide) else dtype
    return dtype


def is_half(dtype: Any) -> bool:
    return dtypes.is_floating(dtype) and dtypes.itemsize_bits(dtype) < 32


def in_single_precision(function: Function) -> Function:
    """A function that computes in float32 if its first argument is of half precision, and rounds its results once.

    Further arrays of half precision are widened too. Axes, masks and the like are passed on.
    """

    @wraps(function)
    def widened(x: Any, *args: Any) -> Any:
        dtype = get_aval(x).dtype
        if not is_half(dtype):
            return function(x, *args)
        out = function(*(cast(y, FLOAT32) if _is_half_array(y) else y for y in (x, *args)))
        return tuple([cast(y, dtype) for y in out]) if type(out) is tuple else cast(out, dtype)

    return widened  # type: ignore[return-value]


def _is_half_array(x: Any) -> bool:
    return isinstance(x, Array | Tracer | np.ndarray | np.generic) and is_half(get_aval(x).dtype)


def masked(function: str, x: Any, keep: Any, value: Any) -> Array:
    """x where the mask is true, and a neutral value elsewhere."""
    return where(read_where(function, keep, get_aval(x).shape), x, value)


def read_where(function: str, keep: Any, shape: tuple[int, ...]) -> Any:
    """Check the mask of a reduction.

    Raises:
      ValueError: the mask is not boolean, or is of a higher rank than the array.
    """
    aval = aval_of(function, keep, "where")
    if not dtypes.is_bool(aval.dtype):
        raise ValueError(f"{function}: where must be boolean, got {aval.str_short()}; compare it, as in where=x != 0")
    if len(aval.shape) > len(shape):
        raise ValueError(f"{function}: where must be of rank {len(shape)} or less, as a is, got {aval.str_short()}")
    return boolean(keep)


def _accumulate(
    function: str,
    primitive: Any,
    combine: Any,
    neutral: int,
    a: Any,
    axis: Any,
    dtype: Any,
    keepdims: bool,
    initial: Any,
    keep: Any,
    promote_integers: bool = True,
) -> Array:
    aval = number_aval(function, a)
    out_dtype = read_dtype(dtype, function) if dtype is not None else aval.dtype
    if dtype is None and promote_integers:
        out_dtype = wide_integer(out_dtype)
    elif dtypes.is_bool(out_dtype) and dtype is None:
        out_dtype = _INT32
    if dtypes.is_bool(out_dtype):
        return _as_bool(primitive, a, aval, axis, keepdims, initial, keep, function)
    axes = read_axes(axis, len(aval.shape), function)
    computed = FLOAT32 if is_half(out_dtype) and axes else out_dtype
    x = convert(a, aval, computed)
    if keep is not None:
        x = masked(function, x, keep, computed.type(neutral))
        axes = read_axes(axis, len(get_aval(x).shape), function)
    shape = get_aval(x).shape
    out = primitive.bind(x, axes=axes) if axes else x
    if initial is not None:
        start = cast(initial, computed)
        out = combine.bind(start, out)
    out = cast(out, out_dtype)
    return asarray(strong(with_axes(out, shape, axes, keepdims)))


def _as_bool(
    primitive: Any, a: Any, aval: Any, axis: Any, keepdims: bool, initial: Any, keep: Any, function: str
) -> Array:
    """Sums and products of dtype bool: whether any element, or all elements, are true."""
    reduce = any if primitive is reduce_sum_p else all
    out = reduce(a, axis, keepdims=keepdims, where=keep)
    if initial is None:
        return out
    return (bitwise.or_p if reduce is any else bitwise.and_p).bind(out, boolean(initial))


@one_program("axis dtype out keepdims promote_integers")
def sum(
    a: ArrayLike,
    axis: Axes | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """The sum of the elements along axes.

    Args:
      a: an array or a number.
      axis: an axis, a sequence of axes, or None for all.
      dtype: the dtype of the result; that of `a` if None, but at least of the default width for integers and booleans.
      out: None.
      keepdims: whether the axes stay, with length 1.
      initial: a number that is added to the sum; 0 if None.
      where: a boolean array that broadcasts with `a`; elements where it is false are ignored.
      promote_integers: whether narrow integers are widened.

    Raises:
      TypeError: an argument is neither an array nor a number.
      ValueError: an axis is out of range or repeated, or `where` is not boolean.

    >>> import primax as px
    >>> px.numpy.sum(px.numpy.array([[1, 2], [3, 4]]), axis=0)
    Array([4, 6], dtype=int32)
    """
    if out is not None:
        refuse_out("sum")
    if axis is None and dtype is None and initial is None and where is None and not keepdims and type(a) is Array:
        aval = a._b.aval
        if not aval.weak_type and (aval.dtype is FLOAT32 or aval.dtype == FLOAT32):
            return reduce_sum_p.bind(a, axes=tuple(range(len(aval.shape)))) if aval.shape else a
    return _accumulate(
        "sum", reduce_sum_p, arithmetic.add_p, 0, a, axis, dtype, keepdims, initial, where, promote_integers
    )


def refuse_out(function: str) -> NoReturn:
    raise NotImplementedError(f"{function}: out must be None: arrays are immutable")


@one_program("axis dtype out keepdims promote_integers")
def prod(
    a: ArrayLike,
    axis: Axes | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """The product of the elements along axes. The arguments are those of `sum`.

    >>> import primax as px
    >>> px.numpy.prod(px.numpy.array([2, 3, 4]))
    Array(24, dtype=int32)
    """
    if out is not None:
        refuse_out("prod")
    return _accumulate(
        "prod",
        primitives.reduce_prod_p,
        arithmetic.mul_p,
        1,
        a,
        axis,
        dtype,
        keepdims,
        initial,
        where,
        promote_integers,
    )


def _extremum(
    function: str,
    primitive: Any,
    combine: Any,
    lowest: bool,
    a: Any,
    axis: Any,
    keepdims: bool,
    initial: Any,
    keep: Any,
) -> Array:
    aval = number_aval(function, a)
    axes = read_axes(axis, len(aval.shape), function)
    if initial is None:
        for i in axes:
            if aval.shape[i] == 0:
                raise ValueError(
                    f"{function}: a must not be empty along axis where there is no initial, got axis {i} of "
                    f"{aval.str_short()}"
                )
        if keep is not None:
            raise ValueError(f"{function}: initial must be given if where is")
    x = a
    if keep is not None:
        x = masked(function, x, keep, limit(aval.dtype, lowest))
        axes = read_axes(axis, len(get_aval(x).shape), function)
    shape = get_aval(x).shape
    out = primitive.bind(x, axes=axes) if axes else x
    if initial is not None:
        out = combine.bind(convert(initial, get_aval(initial), aval.dtype), out)
    return asarray(strong(with_axes(out, shape, axes, keepdims)))


def limit(dtype: Any, lowest: bool) -> Any:
    """The minimum or the maximum of a dtype."""
    if dtypes.is_bool(dtype):
        return np.bool_(not lowest)
    if dtypes.is_integer(dtype):
        limits = dtypes.iinfo(dtype)
        return dtype.type(limits.min if lowest else limits.max)
    if dtypes.is_complex(dtype):
        return dtype.type(complex(-math.inf if lowest else math.inf, 0))
    if dtypes.supports_inf(dtype):
        return dtype.type(-math.inf if lowest else math.inf)
    return dtypes.finfo(dtype).min if lowest else dtypes.finfo(dtype).max


@one_program("axis out keepdims")
def max(
    a: ArrayLike,
    axis: Axes | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """The largest element along axes; NaN if an element is NaN.

    Args:
      a: an array or a number.
      axis: an axis, a sequence of axes, or None for all.
      out: None.
      keepdims: whether the axes stay, with length 1.
      initial: a lower bound of the result; none if None.
      where: a boolean array that broadcasts with `a`; elements where it is false are ignored.

    Raises:
      ValueError: an axis is out of range, repeated or empty, or `where` is given without `initial`.

    >>> import primax as px
    >>> px.numpy.max(px.numpy.array([[1, 2], [3, 4]]), axis=1)
    Array([2, 4], dtype=int32)
    """
    if out is not None:
        refuse_out("max")
    return _extremum("max", primitives.reduce_max_p, arithmetic.max_p, True, a, axis, keepdims, initial, where)


@one_program("axis out keepdims")
def min(
    a: ArrayLike,
    axis: Axes | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """The smallest element along axes; NaN if an element is NaN. The arguments are those of `max`.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.min(pnp.array([[3, 1], [2, 5]]), axis=0)
      Array([2, 1], dtype=int32)
      >>> pnp.min(pnp.array([1.0, np.nan]))
      Array(nan, dtype=float32)
      >>> pnp.min(pnp.array([]), initial=np.inf)
      Array(inf, dtype=float32)
    """
    if out is not None:
        refuse_out("min")
    return _extremum("min", primitives.reduce_min_p, arithmetic.min_p, False, a, axis, keepdims, initial, where)


def minmax(
    a: ArrayLike,
    axis: Axes | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    where: ArrayLike | None = None,
) -> tuple[Array, Array]:
    """The smallest and the largest element along axes; NaN if an element is NaN.

    Args:
      a: an array of real numbers.
      axis: an axis, a sequence of axes, or None for all.
      out: None.
      keepdims: whether the axes stay, with length 1.
      initial: a number that takes part as an element, or a pair: one for the minimum, one for the maximum.
      where: a boolean array that broadcasts with `a`; elements where it is false are ignored.

    Raises:
      ValueError: there are no elements and `initial` is None, or it is a tuple of another length.

    >>> import primax as px
    >>> px.numpy.minmax(px.numpy.array([3, 1, 2]))
    (Array(1, dtype=int32), Array(3, dtype=int32))
    """
    if out is not None:
        refuse_out("minmax")
    aval_of("minmax", a, "a")
    if isinstance(initial, tuple) and len(initial) != 2:
        raise ValueError(f"minmax: initial must be a number or two numbers, got {initial!r}")
    low, high = initial if isinstance(initial, tuple) else (initial, initial)
    return min(a, axis, None, keepdims, low, where), max(a, axis, None, keepdims, high, where)


def _truth(function: str, primitive: Any, neutral: bool, a: Any, axis: Any, keepdims: bool, keep: Any) -> Array:
    aval_of(function, a)
    x = boolean(a)
    if keep is not None:
        x = masked(function, x, keep, neutral)
    shape = get_aval(x).shape
    axes = read_axes(axis, len(shape), function)
    out = primitive.bind(x, axes=axes) if axes else asarray(x)
    return with_axes(out, shape, axes, keepdims)


@one_program("axis out keepdims")
def all(
    a: ArrayLike, axis: Axes | None = None, out: None = None, keepdims: bool = False, *, where: ArrayLike | None = None
) -> Array:
    """Whether all elements along axes are nonzero.

    Args:
      a: an array or a number.
      axis: an axis, a sequence of axes, or None for all.
      out: None.
      keepdims: whether the axes stay, with length 1.
      where: a boolean array that broadcasts with `a`; elements where it is false are ignored.

    Raises:
      ValueError: an axis is out of range or repeated.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.all(pnp.zeros((0, 2)), axis=0)
      Array([ True,  True], dtype=bool)
    """
    if out is not None:
        refuse_out("all")
    return _truth("all", primitives.reduce_and_p, True, a, axis, keepdims, where)


@one_program("axis out keepdims")
def any(
    a: ArrayLike, axis: Axes | None = None, out: None = None, keepdims: bool = False, *, where: ArrayLike | None = None
) -> Array:
    """Whether any element along axes is nonzero. The arguments are those of `all`.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.any(pnp.array([[0.0, np.nan], [0.0, 0.0]]), axis=1)  # NaN counts as true
      Array([ True, False], dtype=bool)
    """
    if out is not None:
        refuse_out("any")
    return _truth("any", primitives.reduce_or_p, False, a, axis, keepdims, where)


def _position(function: str, find: Any, a: Any, axis: Any, keepdims: Any) -> Array:
    aval = aval_of(function, a)
    shape = aval.shape
    if dtypes.is_complex(aval.dtype):
        raise TypeError(f"{function}: a must be real, got {aval.str_short()}")
    if axis is None:
        flat = reshaped(a, (aval.size,))
        place, axes = 0, tuple(range(len(shape)))
    else:
        flat, place = a, canonical_axis(axis, len(shape), function)
        axes = (place,)
    if get_aval(flat).shape[place] == 0:
        raise ValueError(f"{function}: a must not be empty along the axis, got {aval.str_short()}")
    return with_axes(find(flat, place, dtypes.default_int_dtype()), shape, axes, bool(keepdims))


@one_program("axis out keepdims")
def argmax(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array:
    """The position of the first of the largest elements along an axis; that of the first NaN if there is one.

    Args:
      a: an array or a number, real.
      axis: the axis; None for the position in the raveled array.
      out: None.
      keepdims: whether the axis stays, with length 1.

    Raises:
      TypeError: `a` is complex.
      ValueError: `axis` is out of range, or has length 0.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.argmax(pnp.array([[1, 3, 3], [0, 0, 0]]), axis=1)  # the first of equal ones
      Array([1, 0], dtype=int32)
      >>> pnp.argmax(pnp.array([1.0, np.nan, 2.0]))
      Array(1, dtype=int32)
    """
    if out is not None:
        refuse_out("argmax")
    return _position("argmax", primitives.argmax, a, axis, keepdims)


@one_program("axis out keepdims")
def argmin(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array:
    """The position of the first of the smallest elements along an axis. The arguments are those of `argmax`.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.argmin(pnp.array([[4, 1], [2, 3]]))  # the position among all elements
      Array(1, dtype=int32)
    """
    if out is not None:
        refuse_out("argmin")
    return _position("argmin", primitives.argmin, a, axis, keepdims)


@one_program("axis out keepdims")
def ptp(a: ArrayLike, axis: Axes | None = None, out: None = None, keepdims: bool = False) -> Array:
    """The difference of the largest and the smallest element along axes.

    Args:
      a: an array or a number, not boolean.
      axis: an axis, a sequence of axes, or None for all.
      out: None.
      keepdims: whether the axes stay, with length 1.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.ptp(pnp.array([[1, 5], [2, 9]]), axis=1)
      Array([4, 7], dtype=int32)
    """
    if out is not None:
        refuse_out("ptp")
    read_axes(axis, len(aval_of("ptp", a).shape), "ptp")
    return arithmetic.sub_p.bind(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))


@one_program("axis keepdims")
def count_nonzero(a: ArrayLike, axis: Axes | None = None, keepdims: bool = False) -> Array:
    """The number of nonzero elements along axes.

    Args:
      a: an array or a number.
      axis: an axis, a sequence of axes, or None for all.
      keepdims: whether the axes stay, with length 1.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.count_nonzero(pnp.array([[0, 2, 3], [0, 0, 4]]), axis=1, keepdims=True)
      Array([[2],
             [1]], dtype=int32)
    """
    read_axes(axis, len(aval_of("count_nonzero", a).shape), "count_nonzero")
    return sum(boolean(a), axis, keepdims=keepdims)
