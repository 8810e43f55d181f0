"""Means, variances and standard deviations."""

from __future__ import annotations

import math
from typing import Any

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.elementwise import like
from primax.extend.provisional.typing import ArrayLike, Axes, DTypeLike
from primax.numpy.conversion import asarray, read_dtype
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, broadcast, broadcast_to_shape, cast, convert, promote, strong
from primax.numpy.reductions import (
    FLOAT32,
    in_single_precision,
    is_half,
    masked,
    read_axes,
    read_where,
    refuse_out,
    sum,
    with_axes,
)
from primax.numpy.selection import choose
from primax.numpy.shaping import permuted, reshaped
from primax.numpy.ufuncs import divide, multiply, to_inexact
from primax.plugins import arithmetic, comparison, exponential
from primax.plugins.structural import as_scalar, broadcast_in_dim_p, reduce_sum_p

__all__ = ["average", "mean", "std", "var"]


def _count(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    return math.prod([shape[i] for i in axes])


def _mean_dtypes(function: str, aval: Any, dtype: Any) -> tuple[Any, Any]:
    """The dtype of the result, and the dtype of the computation."""
    out = read_dtype(dtype, function) if dtype is not None else dtypes.to_inexact_dtype(aval.dtype)
    out = dtypes.canonicalize_dtype(out)
    return out, FLOAT32 if is_half(out) else out


@one_program("axis dtype out keepdims")
def mean(
    a: ArrayLike,
    axis: Axes | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """The mean of the elements along axes.

    Args:
      a: an array or a number.
      axis: an axis, a sequence of axes, or None for all.
      dtype: the dtype of the result; if None, that of `a`, or the default float dtype for integers.
      out: None.
      keepdims: whether the axes stay, with length 1.
      where: a boolean array that broadcasts with `a`; elements where it is false are ignored.

    Raises:
      ValueError: an axis is out of range or repeated.

    >>> import primax as px
    >>> px.numpy.mean(px.numpy.array([1, 2, 4, 6]))
    Array(3.25, dtype=float32)
    """
    if out is not None:
        refuse_out("mean")
    aval = aval_of("mean", a)
    axis = tuple(axis) if isinstance(axis, list) else axis
    return _mean(a, where, axis, *_mean_dtypes("mean", aval, dtype), keepdims)


def _mean(a: Any, where: Any, axis: Any, out_dtype: Any, computed: Any, keepdims: bool) -> Array:
    aval = get_aval(a)
    x = convert(a, aval, computed)
    shape = aval.shape
    if where is not None:
        keep = read_where("mean", where, shape)
        x = masked("mean", x, keep, like(x, 0))
        shape = get_aval(x).shape
    axes = read_axes(axis, len(shape), "mean")
    if where is None:
        count: Any = as_scalar(_count(shape, axes), computed)
    else:
        count = _sum_of(convert(broadcast_to_shape(keep, shape), get_aval(keep), computed), axes)
    total = _sum_of(x, axes)
    result = cast(arithmetic.div_p.bind(total, count), out_dtype)
    return asarray(strong(with_axes(result, shape, axes, keepdims)))


def _sum_of(x: Any, axes: tuple[int, ...]) -> Array:
    return reduce_sum_p.bind(x, axes=axes) if axes else x


@one_program("axis dtype out ddof keepdims correction")
def var(
    a: ArrayLike,
    axis: Axes | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: float | None = None,
) -> Array:
    """The variance of the elements along axes, which is real.

    Args:
      a: an array or a number.
      axis: an axis, a sequence of axes, or None for all.
      dtype: the dtype of the result; if None, that of the real part of `a`, or the default float dtype for integers.
      out: None.
      ddof: the divisor is the number of elements minus `ddof`.
      keepdims: whether the axes stay, with length 1.
      where: a boolean array that broadcasts with `a`; elements where it is false are ignored.
      mean: the mean, with `axis` kept as length 1; computed if None.
      correction: an alias of `ddof`.

    Raises:
      ValueError: an axis is out of range or repeated, or both `ddof` and `correction` are given.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.var(pnp.array([[1, 3], [2, 8]]), axis=1)
      Array([1., 9.], dtype=float32)
      >>> pnp.var(pnp.array([3j, -3j]))
      Array(9., dtype=float32)
    """
    if out is not None:
        refuse_out("var")
    return _variance("var", a, axis, dtype, _degrees("var", ddof, correction), keepdims, where, mean)


def _degrees(function: str, ddof: Any, correction: Any) -> float | int:
    if correction is None:
        return ddof
    if not isinstance(ddof, int) or ddof:
        raise ValueError(f"{function}: ddof and correction must not both be given, got {ddof} and {correction}")
    return correction


def _variance(function: str, a: Any, axis: Any, dtype: Any, ddof: Any, keepdims: bool, keep: Any, center: Any) -> Array:
    result_dtypes = _variance_dtypes(function, aval_of(function, a), dtype)
    axis = tuple(axis) if isinstance(axis, list) else axis
    if isinstance(ddof, int | float):
        return _variance_by(a, None, keep, center, function, axis, *result_dtypes, ddof, keepdims)
    return _variance_by(a, ddof, keep, center, function, axis, *result_dtypes, None, keepdims)


def _variance_by(
    a: Any,
    ddof: Any,
    keep: Any,
    center: Any,
    function: str,
    axis: Any,
    out_dtype: Any,
    computed: Any,
    known_ddof: Any,
    keepdims: bool,
) -> Array:
    x = convert(a, get_aval(a), computed)
    if keep is not None:
        keep = read_where(function, keep, get_aval(x).shape)
        x, keep = broadcast(function, [x, keep], scalars=False)
        x = choose(keep, x, computed.type(0))  # ignored elements must not reach derivatives
    shape = get_aval(x).shape
    axes = read_axes(axis, len(shape), function)
    whole: Any = _count(shape, axes) if keep is None else _sum_of(cast(keep, computed), axes)
    if center is not None:
        center = broadcast_to_shape(cast(center, computed), shape)
    else:
        size = as_scalar(whole, computed) if keep is None else arithmetic.max_p.bind(whole, computed.type(1))
        center = arithmetic.div_p.bind(_sum_of(x, axes), size)
        if axes and len(axes) < len(shape):
            kept = tuple([i for i in range(len(shape)) if i not in axes])
            center = broadcast_in_dim_p.bind(center, shape=shape, broadcast_dimensions=kept)
    centered = arithmetic.sub_p.bind(x, center)
    if keep is not None:
        centered = choose(keep, centered, computed.type(0))
    if dtypes.is_complex(computed):
        squares = arithmetic.real_p.bind(arithmetic.mul_p.bind(centered, arithmetic.conj_p.bind(centered)))
    else:
        squares = arithmetic.square_p.bind(centered)
    real = get_aval(squares).dtype
    divisor = _divisor(whole, ddof if known_ddof is None else known_ddof, real)
    result = _sum_of(squares, axes)
    if keep is None:
        result = arithmetic.div_p.bind(result, divisor)
    else:
        known = comparison.eq_p.bind(divisor, divisor)
        result = arithmetic.div_p.bind(result, choose(known, divisor, real.type(1)))
        result = choose(known, result, real.type(math.nan))
    return asarray(strong(with_axes(cast(result, out_dtype), shape, axes, keepdims)))


def _variance_dtypes(function: str, aval: Any, dtype: Any) -> tuple[Any, Any]:
    """The dtype of the result, real by default, and the dtype of the computation."""
    if dtype is None:
        out, computed = _mean_dtypes(function, aval, None)
        return dtypes.canonicalize_dtype(dtypes.to_floating_dtype(out)), computed
    out = read_dtype(dtype, function)
    if not dtypes.is_inexact(out):
        raise TypeError(f"{function}: dtype must be floating or complex, got {out}")
    if dtypes.is_complex(aval.dtype) and not dtypes.is_complex(out):
        raise ValueError(f"{function}: dtype must be complex for complex a, got {out} for {aval.str_short()}")
    return out, _mean_dtypes(function, aval, dtype)[1]


def _divisor(whole: Any, ddof: Any, dtype: Any) -> Any:
    """The number of elements minus `ddof`; NaN if it is not positive."""
    if isinstance(whole, int) and isinstance(ddof, int | float):
        return dtype.type(whole - ddof if whole > ddof else math.nan)
    if isinstance(whole, int):
        whole = dtype.type(whole)
    elif dtypes.is_complex(get_aval(whole).dtype):
        whole = arithmetic.real_p.bind(whole)
    whole = cast(whole, dtype)
    count = arithmetic.sub_p.bind(whole, cast(ddof, dtype))
    return choose(comparison.gt_p.bind(count, dtype.type(0)), count, dtype.type(math.nan))


@one_program("axis dtype out ddof keepdims correction")
def std(
    a: ArrayLike,
    axis: Axes | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: float | None = None,
) -> Array:
    """The standard deviation of the elements along axes: the square root of `var`, with its arguments.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.std(pnp.array([1.0, 3.0])), pnp.std(pnp.array([1.0, 2.0, 3.0]), ddof=1)
      (Array(1., dtype=float32), Array(1., dtype=float32))
    """
    if out is not None:
        refuse_out("std")
    variance = _variance("std", a, axis, dtype, _degrees("std", ddof, correction), keepdims, where, mean)
    return exponential.sqrt_p.bind(variance)


@one_program("axis returned keepdims")
def average(
    a: ArrayLike,
    axis: Axes | None = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    keepdims: bool = False,
) -> tuple[Array, Array] | Array:
    """The weighted mean of the elements along axes.

    Args:
      a: an array or a number.
      axis: an axis, a sequence of axes, or None for all.
      weights: an array of the shape of `a`, or of the lengths of `axis`; equal weights if None.
      returned: whether to return the sum of the weights too.
      keepdims: whether the axes stay, with length 1.

    Returns:
      The mean; if `returned`, a pair of the mean and the sum of the weights.

    Raises:
      TypeError: `axis` is None and `weights` does not have the shape of `a`.
      ValueError: `weights` has another shape.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.average(pnp.array([[1.0, 2.0], [3.0, 6.0]]), axis=0, weights=np.array([3, 1]))
      Array([1.5, 3. ], dtype=float32)
      >>> pnp.average(pnp.array([1.0, 2.0]), weights=np.array([1, 3]), returned=True)
      (Array(1.75, dtype=float32), Array(4., dtype=float32))
    """
    aval = aval_of("average", a)
    axes = read_axes(axis, len(aval.shape), "average")
    if weights is None:
        out = mean(a, axis, keepdims=keepdims)
        total: Any = asarray(as_scalar(_count(aval.shape, axes), out.dtype))
    else:
        shape = aval_of("average", weights, "weights").shape
        a, weights = promote("average", a, weights, to=to_inexact)
        if shape != aval.shape:
            weights = _aligned(weights, shape, aval.shape, axis)
        out, total = _weighted(a, weights, axis, keepdims)
    if not returned:
        return out
    return out, asarray(broadcast_to_shape(total, out.shape))


@in_single_precision
def _weighted(a: Any, weights: Any, axis: Any, keepdims: bool) -> tuple[Array, Array]:
    """The weighted mean, and the sum of the weights."""
    total = sum(weights, axis, keepdims=keepdims)
    return divide(sum(multiply(a, weights), axis, keepdims=keepdims), total), total


def _aligned(weights: Any, own: tuple[int, ...], shape: tuple[int, ...], axis: Any) -> Array:
    """Reshape weights to broadcast with the array, with length 1 for other axes."""
    if axis is None:
        raise TypeError(f"average: axis must be given where weights is not of the shape of a, {shape}, got {own}")
    axes = read_axes(axis, len(shape), "average")
    if own != tuple(shape[i] for i in axes):
        raise ValueError(f"average: weights must be of the shape of a, {shape}, or of its axes {axes}, got {own}")
    order = tuple(sorted(range(len(axes)), key=axes.__getitem__))
    sizes = tuple(size if i in axes else 1 for i, size in enumerate(shape))
    return broadcast_to_shape(reshaped(permuted(weights, order), sizes), shape)
