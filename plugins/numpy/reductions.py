"""Sums, products, extrema, means and the like over axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primax.extend.core import Array, dtypes, get_aval
from primax.plugins import arithmetic, bitwise, comparison, exponential
from primax.plugins import reductions as primitives
from primax.plugins.elementwise import like
from primax.plugins.numpy.creation import asarray, read_dtype
from primax.plugins.numpy.promotion import (
    aval_of,
    boolean,
    broadcast_to_shape,
    cast,
    convert,
)
from primax.plugins.numpy.ufuncs import where
from primax.plugins.structural import broadcast_in_dim_p, convert_element_type_p, reduce_sum_p
from primax.plugins.structural.arguments import canonical_axes, canonical_axis

__all__ = [
    "all",
    "any",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]

_BOOL = np.dtype(np.bool_)
_FLOAT32 = np.dtype(np.float32)


def read_axes(axis: Any, rank: int, function: str) -> tuple[int, ...]:
    """Axes counted from the front, given as None for all, one axis, or a sequence."""
    if axis is None:
        return tuple(range(rank))
    if type(axis) is int or hasattr(axis, "__index__"):
        return (canonical_axis(axis, rank, function),)
    return canonical_axes(axis, rank, function, "axis")


def with_axes(out: Any, shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> Any:
    """A reduced array; with its axes as axes of length 1 if they are to be kept."""
    if not keepdims or not axes:
        return out
    kept = tuple([i for i in range(len(shape)) if i not in axes])
    sizes = tuple([1 if i in axes else size for i, size in enumerate(shape)])
    return broadcast_in_dim_p.bind(out, shape=sizes, broadcast_dimensions=kept)


def strong(x: Any) -> Any:
    """An array that is not weakly typed."""
    aval = get_aval(x)
    if aval.weak_type:
        return convert_element_type_p.bind(x, new_dtype=aval.dtype, weak_type=False)
    return x if hasattr(x, "aval") else asarray(x)


def _wide_integer(dtype: Any) -> Any:
    """The dtype in which numbers are summed: integers narrower than the default are widened."""
    if dtypes.is_bool(dtype):
        return dtypes.default_int_dtype()
    if dtypes.is_integer(dtype):
        wide = (
            dtypes.default_uint_dtype() if dtypes.is_unsigned_integer(dtype) else dtypes.default_int_dtype()
        )
        return wide if dtypes.itemsize_bits(dtype) < dtypes.itemsize_bits(wide) else dtype
    return dtype


def _is_half(dtype: Any) -> bool:
    return dtypes.is_floating(dtype) and dtypes.itemsize_bits(dtype) < 32


def _masked(function: str, x: Any, keep: Any, value: Any) -> Any:
    """x where the mask holds, elsewhere a neutral value."""
    aval_of(function, keep, "where")
    return where(boolean(keep), x, value)


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
) -> Any:
    aval = aval_of(function, a)
    out_dtype = read_dtype(dtype, function) if dtype is not None else aval.dtype
    if dtype is None and promote_integers:
        out_dtype = _wide_integer(out_dtype)
    elif dtypes.is_bool(out_dtype) and dtype is None:
        out_dtype = dtypes.default_int_dtype()
    if dtypes.is_bool(out_dtype):
        return _as_bool(primitive, a, aval, axis, keepdims, initial, keep, function)
    axes = read_axes(axis, len(aval.shape), function)
    computed = _FLOAT32 if _is_half(out_dtype) and axes else out_dtype
    x = convert(a, aval, computed)
    if keep is not None:
        x = _masked(function, x, keep, computed.type(neutral))
        axes = read_axes(axis, len(get_aval(x).shape), function)
    shape = get_aval(x).shape
    out = primitive.bind(x, axes=axes) if axes else x
    if initial is not None:
        start = cast(initial, computed)
        out = combine.bind(start, out)
    out = cast(out, out_dtype)
    return strong(with_axes(out, shape, axes, keepdims))


def _as_bool(
    primitive: Any, a: Any, aval: Any, axis: Any, keepdims: bool, initial: Any, keep: Any, function: str
) -> Any:
    """Sums and products of dtype bool: whether any, or all, are true."""
    reduce = any if primitive is reduce_sum_p else all
    out = reduce(a, axis, keepdims=keepdims, where=keep)
    if initial is None:
        return out
    return (bitwise.or_p if reduce is any else bitwise.and_p).bind(out, boolean(initial))


def sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    """The sum of the elements along axes.

    Args:
      a: an array or a number.
      axis: an axis, a sequence of axes, or None for all.
      dtype: the dtype of the result; that of `a` if None, but at least of the default width for integers and booleans.
      out: None.
      keepdims: whether the axes stay, with length 1.
      initial: a number to begin with.
      where: a boolean array that broadcasts with `a`; elements where it is false do not count.
      promote_integers: whether narrow integers are widened.

    Raises:
      TypeError: an argument is no array and no number.
      ValueError: an axis is out of range or repeated.

    >>> import primax as px
    >>> px.numpy.sum(px.numpy.array([[1, 2], [3, 4]]), axis=0)
    Array([4, 6], dtype=int32)
    """
    if out is not None:
        _refuse_out("sum")
    if (
        axis is None
        and dtype is None
        and initial is None
        and where is None
        and not keepdims
        and type(a) is Array
    ):
        aval = a._b.aval
        if not aval.weak_type and (aval.dtype is _FLOAT32 or aval.dtype == _FLOAT32):
            return reduce_sum_p.bind(a, axes=tuple(range(len(aval.shape)))) if aval.shape else a
    return _accumulate(
        "sum", reduce_sum_p, arithmetic.add_p, 0, a, axis, dtype, keepdims, initial, where, promote_integers
    )


def _refuse_out(function: str) -> None:
    raise NotImplementedError(f"{function}: out must be None: arrays are immutable")


def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    """The product of the elements along axes. The arguments are those of `sum`.

    >>> import primax as px
    >>> px.numpy.prod(px.numpy.array([2, 3, 4]))
    Array(24, dtype=int32)
    """
    if out is not None:
        _refuse_out("prod")
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
) -> Any:
    aval = aval_of(function, a)
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
        x = _masked(function, x, keep, _limit(aval.dtype, lowest))
        axes = read_axes(axis, len(get_aval(x).shape), function)
    shape = get_aval(x).shape
    out = primitive.bind(x, axes=axes) if axes else x
    if initial is not None:
        out = combine.bind(convert(initial, get_aval(initial), aval.dtype), out)
    return strong(with_axes(out, shape, axes, keepdims))


def _limit(dtype: Any, lowest: bool) -> Any:
    """The least or the greatest value of a dtype."""
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


def max(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """The largest of the elements along axes; NaN if one is.

    Args:
      a: an array or a number.
      axis: an axis, a sequence of axes, or None for all.
      out: None.
      keepdims: whether the axes stay, with length 1.
      initial: a number that the result is at least.
      where: a boolean array that broadcasts with `a`; elements where it is false do not count.

    Raises:
      ValueError: an axis is out of range, repeated or empty; `where` is given without `initial`.

    >>> import primax as px
    >>> px.numpy.max(px.numpy.array([[1, 2], [3, 4]]), axis=1)
    Array([2, 4], dtype=int32)
    """
    if out is not None:
        _refuse_out("max")
    return _extremum(
        "max", primitives.reduce_max_p, arithmetic.max_p, True, a, axis, keepdims, initial, where
    )


def min(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """The smallest of the elements along axes; NaN if one is. The arguments are those of `max`."""
    if out is not None:
        _refuse_out("min")
    return _extremum(
        "min", primitives.reduce_min_p, arithmetic.min_p, False, a, axis, keepdims, initial, where
    )


def _truth(function: str, primitive: Any, neutral: bool, a: Any, axis: Any, keepdims: bool, keep: Any) -> Any:
    aval_of(function, a)
    x = boolean(a)
    if keep is not None:
        x = _masked(function, x, keep, neutral)
    shape = get_aval(x).shape
    axes = read_axes(axis, len(shape), function)
    out = primitive.bind(x, axes=axes) if axes else asarray(x)
    return with_axes(out, shape, axes, keepdims)


def all(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None) -> Any:
    """Whether all elements along axes are true, that is, not zero.

    Args:
      a: an array or a number.
      axis: an axis, a sequence of axes, or None for all.
      out: None.
      keepdims: whether the axes stay, with length 1.
      where: a boolean array that broadcasts with `a`; elements where it is false do not count.

    Raises:
      ValueError: an axis is out of range or repeated.
    """
    if out is not None:
        _refuse_out("all")
    return _truth("all", primitives.reduce_and_p, True, a, axis, keepdims, where)


def any(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None) -> Any:
    """Whether any element along axes is true, that is, not zero. The arguments are those of `all`."""
    if out is not None:
        _refuse_out("any")
    return _truth("any", primitives.reduce_or_p, False, a, axis, keepdims, where)


def _count(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    return math.prod([shape[i] for i in axes])


def _mean_dtypes(function: str, aval: Any, dtype: Any) -> tuple[Any, Any]:
    """The dtype of the result, and the one to compute it in."""
    out = read_dtype(dtype, function) if dtype is not None else dtypes.to_inexact_dtype(aval.dtype)
    out = dtypes.canonicalize_dtype(out)
    return out, _FLOAT32 if _is_half(out) else out


def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: Any = None,
) -> Any:
    """The mean of the elements along axes.

    Args:
      a: an array or a number.
      axis: an axis, a sequence of axes, or None for all.
      dtype: the dtype of the result; that of `a` if None, but floating for integers.
      out: None.
      keepdims: whether the axes stay, with length 1.
      where: a boolean array that broadcasts with `a`; elements where it is false do not count.

    Raises:
      ValueError: an axis is out of range or repeated.

    >>> import primax as px
    >>> px.numpy.mean(px.numpy.array([1, 2, 4]))
    Array(2.3333333, dtype=float32)
    """
    if out is not None:
        _refuse_out("mean")
    aval = aval_of("mean", a)
    out_dtype, computed = _mean_dtypes("mean", aval, dtype)
    x = convert(a, aval, computed)
    shape = aval.shape
    if where is not None:
        keep = boolean(where)
        x = _masked("mean", x, keep, like(x, 0))
        shape = get_aval(x).shape
    axes = read_axes(axis, len(shape), "mean")
    if where is None:
        count: Any = computed.type(_count(shape, axes))
    else:
        count = _sum_of(convert(broadcast_to_shape(keep, shape), get_aval(keep), computed), axes)
    total = _sum_of(x, axes)
    result = cast(arithmetic.div_p.bind(total, count), out_dtype)
    return strong(with_axes(result, shape, axes, keepdims))


def _sum_of(x: Any, axes: tuple[int, ...]) -> Any:
    return reduce_sum_p.bind(x, axes=axes) if axes else x


def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    """The variance of the elements along axes, which is real.

    Args:
      a: an array or a number.
      axis: an axis, a sequence of axes, or None for all.
      dtype: the dtype of the result; that of the real part of `a` if None, but floating for integers.
      out: None.
      ddof: what is subtracted from the number of elements to get the divisor.
      keepdims: whether the axes stay, with length 1.
      where: a boolean array that broadcasts with `a`; elements where it is false do not count.
      mean: the mean, with the axes kept, if it is known already.
      correction: another name for `ddof`.

    Raises:
      ValueError: an axis is out of range or repeated; `ddof` and `correction` are both given.
    """
    if out is not None:
        _refuse_out("var")
    return _variance("var", a, axis, dtype, _degrees("var", ddof, correction), keepdims, where, mean)


def _degrees(function: str, ddof: Any, correction: Any) -> Any:
    if correction is None:
        return ddof
    if not isinstance(ddof, int) or ddof:
        raise ValueError(
            f"{function}: ddof and correction must not both be given, got {ddof} and {correction}"
        )
    return correction


def _variance(
    function: str, a: Any, axis: Any, dtype: Any, ddof: Any, keepdims: bool, keep: Any, center: Any
) -> Any:
    aval = aval_of(function, a)
    if (
        dtype is not None
        and dtypes.is_complex(aval.dtype)
        and not dtypes.is_complex(read_dtype(dtype, function))
    ):
        raise ValueError(
            f"{function}: dtype must be complex for complex a, got {dtype} for {aval.str_short()}"
        )
    out_dtype, computed = _mean_dtypes(function, aval, dtype)
    computed = dtypes.result_type(computed, aval.dtype) if dtype is not None else computed
    x = convert(a, aval, computed)
    if center is None:
        center = globals()["mean"](x, axis, keepdims=True, where=keep)
    centered = _subtracted(function, x, cast(center, computed))
    if dtypes.is_complex(computed):
        squares = arithmetic.real_p.bind(arithmetic.mul_p.bind(centered, arithmetic.conj_p.bind(centered)))
        out_dtype = dtypes.canonicalize_dtype(dtypes.to_floating_dtype(out_dtype))
    else:
        squares = arithmetic.square_p.bind(centered)
    real_dtype = get_aval(squares).dtype
    if keep is not None:
        squares = _masked(function, squares, keep, real_dtype.type(0))
    shape = get_aval(squares).shape
    axes = read_axes(axis, len(shape), function)
    if keep is None and isinstance(ddof, int | float):
        divisor = _count(shape, axes) - ddof
        count: Any = real_dtype.type(divisor if divisor > 0 else math.nan)
    else:
        whole = (
            real_dtype.type(_count(shape, axes))
            if keep is None
            else _sum_of(cast(broadcast_to_shape(boolean(keep), shape), real_dtype), axes)
        )
        count = arithmetic.sub_p.bind(whole, cast(ddof, real_dtype))
        count = where(comparison.gt_p.bind(count, real_dtype.type(0)), count, real_dtype.type(math.nan))
    result = cast(arithmetic.div_p.bind(_sum_of(squares, axes), count), out_dtype)
    return strong(with_axes(result, shape, axes, keepdims))


def _subtracted(function: str, x: Any, center: Any) -> Any:
    shape = get_aval(x).shape
    own = get_aval(center).shape
    if own == shape:
        return arithmetic.sub_p.bind(x, center)
    return arithmetic.sub_p.bind(x, broadcast_to_shape(center, shape, own) if own else center)


def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    """The standard deviation of the elements along axes: the root of `var`, whose arguments it takes."""
    if out is not None:
        _refuse_out("std")
    found = _variance("std", a, axis, dtype, _degrees("std", ddof, correction), keepdims, where, mean)
    return exponential.sqrt_p.bind(found)
