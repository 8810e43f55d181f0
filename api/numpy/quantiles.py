"""Medians and quantiles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, Tracer, get_aval
from primax.extend.dimensions import max_dim
from primax.extend.provisional.arguments import among
from primax.extend.provisional.typing import ArrayLike, Axes, ShardingLike
from primax.numpy.indexing import take_slice
from primax.numpy.joining import stack
from primax.numpy.predicates import isnan
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, broadcast_to_shape, cast, convert, promote, strong
from primax.numpy.reductions import any as any_
from primax.numpy.reductions import max as max_
from primax.numpy.reductions import read_axes, refuse_out
from primax.numpy.reductions import sum as sum_
from primax.numpy.selection import choose
from primax.numpy.shaping import moveaxis, reshaped
from primax.numpy.sorting import sort
from primax.numpy.ufuncs import minimum, to_inexact
from primax.plugins import arithmetic, bitwise, comparison, rounding
from primax.plugins.calls import jit
from primax.plugins.cumulative import cumsum_p
from primax.plugins.indexing.taking import take_along
from primax.plugins.resharding import divided_call
from primax.plugins.sorting import sort_p
from primax.plugins.structural import as_scalar, iota_p, reduce_sum_p, squeeze_p

__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]

_METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")


@one_program("axis out overwrite_input method keepdims")
def quantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes | None = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """The quantiles of the elements along axes; NaN where an element is NaN.

    Args:
      a: an array or a number, real.
      q: the probabilities, between 0 and 1: a number, or an array of rank 1.
      axis: an axis, a sequence of axes, or None for all.
      out: None.
      overwrite_input: False.
      method: the result between two elements: "linear", "lower", "higher", "midpoint" or "nearest"; or "inverted_cdf"
        for the smallest element whose cumulative probability is at least q.
      keepdims: whether the axes stay, with length 1.
      weights: for "inverted_cdf", the weight of each element: an array of the shape of `a`, or of the length of one
        axis.

    Returns:
      An array; if `q` has rank 1, its axis comes first.

    Raises:
      ValueError: `method` is unknown, an axis is out of range, `a` is complex, `q` is of rank 2 or more, or `weights`
        has another shape or is given for another method.

    >>> import primax as px
    >>> px.numpy.quantile(px.numpy.array([1.0, 2.0, 4.0]), 0.75)
    Array(3., dtype=float32)
    """
    return _quantile("quantile", a, q, axis, out, overwrite_input, method, keepdims, weights, False)


@one_program("axis out overwrite_input method keepdims out_sharding")
def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes | None = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """`quantile` with probabilities in percent.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.percentile(pnp.array([1, 2, 3, 4]), np.array([0, 50, 100]))
      Array([1. , 2.5, 4. ], dtype=float32)
      >>> pnp.percentile(pnp.array([1, 2, 3, 4]), 50, method="lower")
      Array(2., dtype=float32)
    """
    if out_sharding is not None:
        return divided_call(
            percentile, (a, q, axis, out, overwrite_input, method, keepdims), {"weights": weights}, out_sharding
        )
    q = _hundredth("percentile", q)
    return _quantile("percentile", a, q, axis, out, overwrite_input, method, keepdims, weights, False)


@one_program("axis out overwrite_input method keepdims")
def nanquantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes | None = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """`quantile`, ignoring NaN.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.nanquantile(pnp.array([[3.0, np.nan, 1.0], [np.nan, np.nan, np.nan]]), 0.25, axis=1)
      Array([1.5, nan], dtype=float32)
    """
    return _quantile("nanquantile", a, q, axis, out, overwrite_input, method, keepdims, weights, True)


@one_program("axis out overwrite_input method keepdims")
def nanpercentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes | None = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """`percentile`, ignoring NaN.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.nanpercentile(pnp.array([3.0, np.nan, 1.0]), 25)
      Array(1.5, dtype=float32)
    """
    q = _hundredth("nanpercentile", q)
    return _quantile("nanpercentile", a, q, axis, out, overwrite_input, method, keepdims, weights, True)


@one_program("axis out overwrite_input keepdims")
def median(
    a: ArrayLike, axis: Axes | None = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False
) -> Array:
    """The median of the elements along axes. The arguments are those of `quantile`.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.median(pnp.array([[3, 1], [2, 4]])), pnp.median(pnp.array([1.0, np.nan]))
      (Array(2.5, dtype=float32), Array(nan, dtype=float32))
    """
    return _quantile("median", a, 0.5, axis, out, overwrite_input, "midpoint", keepdims, None, False)


@one_program("axis out overwrite_input keepdims")
def nanmedian(
    a: ArrayLike, axis: Axes | None = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False
) -> Array:
    """`median`, ignoring NaN.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.nanmedian(pnp.array([3.0, np.nan, 1.0]))
      Array(2., dtype=float32)
    """
    return _quantile("nanmedian", a, 0.5, axis, out, overwrite_input, "midpoint", keepdims, None, True)


def _hundredth(function: str, q: Any) -> np.ndarray | Array:
    if isinstance(q, Array | Tracer):
        _check_real(function, q)
        (q,) = promote(function, q, to=to_inexact)
        return arithmetic.div_p.bind(q, get_aval(q).dtype.type(100))
    return _host_numbers(function, q) / 100


def _check_real(function: str, q: Any) -> None:
    if dtypes.is_complex(get_aval(q).dtype):
        raise TypeError(f"{function}: q must consist of real numbers, got {get_aval(q).str_short()}")


def _host_numbers(function: str, q: Any) -> np.ndarray:
    try:
        numbers = np.asarray(q)
        if numbers.dtype.kind in "cmMSU":
            raise TypeError
        return numbers.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{function}: q must consist of real numbers, got {q!r}") from None


def _quantile(
    function: str,
    a: Any,
    q: Any,
    axis: Any,
    out: Any,
    overwrite_input: bool,
    method: str,
    keepdims: bool,
    weights: Any,
    without_nan: bool,
) -> Array:
    if out is not None or overwrite_input:
        refuse_out(function)
    if not among(method, _METHODS):
        raise ValueError(f"{function}: method must be one of {', '.join(_METHODS)}, got {method!r}")
    if weights is not None and method != "inverted_cdf":
        raise ValueError(f"{function}: method must be 'inverted_cdf' where there are weights, got {method!r}")
    aval = aval_of(function, a)
    if dtypes.is_complex(aval.dtype):
        raise ValueError(f"{function}: a must be real, got {aval.str_short()}")
    if isinstance(q, Tracer) and q.is_concrete:
        q = q.concrete()
    if not isinstance(q, Tracer):
        q = _host_numbers(function, q)
    else:
        _check_real(function, q)
    if len(q.shape) > 1:
        raise ValueError(f"{function}: q must be of rank 1 or 0, got shape {tuple(q.shape)}")
    axes = read_axes(axis, len(aval.shape), function)
    if method == "inverted_cdf":
        weights = None if weights is None else _spread_weights(function, weights, aval.shape, axes)
        return _compiled_weighted(a, q, weights, axes, bool(keepdims), without_nan)
    options = (axes, method, keepdims, without_nan)
    if isinstance(q, np.ndarray) and not without_nan and q.size and not np.isnan(q).any():
        return _compiled_quantile(a, None, tuple(q.ravel().tolist()), q.shape, *options)
    return _compiled_quantile(a, q, None, tuple(q.shape), *options)


def _quantile_of(
    a: Any,
    q: Any,
    known: tuple[float, ...] | None,
    parts: tuple[int, ...],
    axes: tuple[int, ...],
    method: str,
    keepdims: bool,
    without_nan: bool,
) -> Array:
    """Quantiles at positions that are known on the host, or are computed from q of shape `parts`."""
    shape = get_aval(a).shape
    (a,) = promote("quantile", a, to=to_inexact)
    dtype = get_aval(a).dtype
    rest = tuple([size for i, size in enumerate(shape) if i not in axes])
    size = math.prod([shape[i] for i in axes])
    a = reshaped(moveaxis(a, axes, range(len(rest), len(shape))), (*rest, size))
    wide = convert(a, get_aval(a), np.dtype(np.float32)) if dtypes.itemsize_bits(dtype) < 32 else a
    if known is not None and type(size) is int:
        values = _at_known_places(wide, size, known, parts, method)
    else:
        places = np.reshape(np.asarray(known), parts) if q is None else q
        values = _at_computed_places(wide, size, places, method, without_nan)
    if not without_nan:
        bad = any_(isnan(wide), axis=-1)
        values = choose(broadcast_to_shape(bad, (*parts, *rest)), get_aval(values).dtype.type(math.nan), values)
    values = strong(cast(values, dtype))
    if not keepdims:
        return values
    kept = tuple([1 if i in axes else length for i, length in enumerate(shape)])
    return reshaped(values, (*parts, *kept))


# One call in programs, and one program outside of them, in place of a dozen operations.
_compiled_quantile = jit(_quantile_of, static_argnums=tuple(range(2, 8)))


def _spread_weights(function: str, weights: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Array:
    """Broadcast weights to the shape of the array."""
    own = aval_of(function, weights, "weights").shape
    if own == shape:
        return weights
    if len(axes) != 1 or own != (shape[axes[0]],):
        raise ValueError(f"{function}: weights must have the shape of a, {shape}, or the length of one axis, got {own}")
    (axis,) = axes
    return broadcast_to_shape(reshaped(weights, (*own, *[1] * (len(shape) - axis - 1))), shape)


def _weighted(a: Any, q: Any, weights: Any, axes: tuple[int, ...], keepdims: bool, without_nan: bool) -> Array:
    """The smallest elements at which the cumulative weight is at least the fraction q of the total."""
    shape = get_aval(a).shape
    (a,) = promote("quantile", a, to=to_inexact)
    rest = tuple([size for i, size in enumerate(shape) if i not in axes])
    size = math.prod([shape[i] for i in axes])
    weights = np.ones(shape, np.float32) if weights is None else weights
    a, weights = (reshaped(moveaxis(x, axes, range(len(rest), len(shape))), (*rest, size)) for x in (a, weights))
    (weights,) = promote("quantile", weights, to=to_inexact)
    a, weights = sort_p.bind(a, weights, dimension=len(rest), is_stable=True, num_keys=1)
    missing = isnan(a)
    if without_nan:
        weights = choose(missing, np.asarray(0, get_aval(weights).dtype)[()], weights)
    up_to = cumsum_p.bind(weights, axis=len(rest), reverse=False)
    parts = get_aval(q).shape
    wide = (*rest, math.prod(parts), size)
    q = reshaped(cast(q, get_aval(up_to).dtype), (*[1] * len(rest), math.prod(parts), 1))
    total = max_(up_to, axis=-1, keepdims=True)
    threshold = broadcast_to_shape(q * reshaped(total, (*rest, 1, 1)), wide)
    up_to = broadcast_to_shape(reshaped(up_to, (*rest, 1, size)), wide)
    before = bitwise.or_p.bind(up_to < threshold, up_to <= 0)
    count = reduce_sum_p.bind(convert(before, get_aval(before), np.dtype(np.int32)), axes=(len(rest) + 1,))
    # If all weights are 0, the last element is the result.
    place = minimum(count, np.int32(max(size - 1, 0)))
    quantiles = take_along(a, place, len(rest))
    if not without_nan:
        bad = broadcast_to_shape(any_(missing, axis=-1, keepdims=True), get_aval(quantiles).shape)
        quantiles = choose(bad, get_aval(a).dtype.type(math.nan), quantiles)
    quantiles = moveaxis(quantiles, -1, 0)
    kept = tuple([1 if i in axes else length for i, length in enumerate(shape)]) if keepdims else rest
    return reshaped(quantiles, (*parts, *kept))


_compiled_weighted = jit(_weighted, static_argnums=(3, 4, 5))


def _at_known_places(a: Any, size: int, q: tuple[float, ...], parts: tuple[int, ...], method: str) -> Array:
    """Quantiles at positions known on the host, read from the sorted array."""
    a = sort(a, -1)
    axis = len(get_aval(a).shape) - 1
    dtype = get_aval(a).dtype
    quantiles = []
    for part in q:
        place = min(max(part * (size - 1), 0.0), float(max(size - 1, 0)))
        low, high = math.floor(place), math.ceil(place)
        if method == "nearest":
            low = high = low if place - low <= 0.5 else high
        elif method == "lower":
            high = low
        elif method == "higher":
            low = high
        below = _element(a, low, axis)
        if low == high or not size:
            quantiles.append(below)
            continue
        weight = 0.5 if method == "midpoint" else place - low
        quantiles.append(_between(below, _element(a, high, axis), dtype.type(1 - weight), dtype.type(weight)))
    return stack(quantiles) if parts else quantiles[0]


def _element(a: Any, place: int, axis: int) -> Array:
    if not get_aval(a).shape[axis]:
        return sum_(a, axis=axis) * math.nan
    return squeeze_p.bind(take_slice(a, place, place + 1, axis), dimensions=(axis,))


def _between(low: Any, high: Any, of_low: Any, of_high: Any) -> Array:
    """Interpolate between low and high; equal infinities do not become NaN."""
    return arithmetic.add_p.bind(arithmetic.mul_p.bind(low, of_low), arithmetic.mul_p.bind(high, of_high))


def _at_computed_places(a: Any, size: int, q: Any, method: str, without_nan: bool) -> Array:
    """Quantiles at computed positions, whose elements are selected by comparison of positions."""
    a = sort(a, -1)
    rest = get_aval(a).shape[:-1]
    dtype = get_aval(a).dtype
    q = cast(q, dtype)
    parts = get_aval(q).shape
    shape = (*parts, *rest)
    if without_nan:
        present = bitwise.not_p.bind(isnan(a))
        count = reduce_sum_p.bind(convert(present, get_aval(present), dtype), axes=(len(rest),))
        last = arithmetic.max_p.bind(arithmetic.sub_p.bind(count, dtype.type(1)), dtype.type(0))
        last = broadcast_to_shape(last, shape)
    else:
        last = as_scalar(max_dim(size - 1, 0), dtype)
    spread = broadcast_to_shape(reshaped(q, (*parts, *[1] * len(rest))), shape)
    place = arithmetic.mul_p.bind(spread, last)
    place = arithmetic.max_p.bind(arithmetic.min_p.bind(place, last), dtype.type(0))
    low, high = rounding.floor_p.bind(place), rounding.ceil_p.bind(place)
    if method == "lower":
        return _picked(a, low, rest)
    if method == "higher":
        return _picked(a, high, rest)
    if method == "nearest":
        return _picked(a, rounding.ceil_p.bind(arithmetic.sub_p.bind(place, dtype.type(0.5))), rest)
    weight = dtype.type(0.5) if method == "midpoint" else arithmetic.sub_p.bind(place, low)
    below, above = _picked(a, low, rest), _picked(a, high, rest)
    exact = comparison.eq_p.bind(low, high)
    return choose(exact, below, _between(below, above, arithmetic.sub_p.bind(dtype.type(1), weight), weight))


def _picked(a: Any, place: Any, rest: tuple[int, ...]) -> Array:
    size = get_aval(a).shape[-1]
    place_shape = get_aval(place).shape
    nowhere = get_aval(a).dtype.type(math.nan)
    if not size:
        return broadcast_to_shape(nowhere, place_shape)
    shape = (*place_shape, size)
    positions = iota_p.bind(dtype=get_aval(a).dtype, shape=shape, dimension=len(place_shape))
    hit = comparison.eq_p.bind(positions, broadcast_to_shape(reshaped(place, (*place_shape, 1)), shape))
    values = choose(hit, broadcast_to_shape(a, shape), get_aval(a).dtype.type(0))
    return choose(comparison.eq_p.bind(place, place), reduce_sum_p.bind(values, axes=(len(place_shape),)), nowhere)
