"""Distributions drawn by inversion of their distribution functions."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import among
from primax.extend.provisional.typing import ArrayLike, DTypeLike, KeyLike, ShapeLike, ShardingLike
from primax.numpy.promotion import broadcast, cast
from primax.numpy.selection import where
from primax.plugins.arithmetic import abs_p, max_p, neg_p, sign_p
from primax.plugins.bitwise import bitwise_or, clz_p, shift_left, shift_right_logical
from primax.plugins.exponential import exp_p, log_p, pow_p, sqrt_p
from primax.plugins.random.arguments import check_key
from primax.plugins.random.keys import random_bits
from primax.plugins.random.numbers import exponential_numbers, log1p, sampler, unit
from primax.plugins.resharding import divided_call
from primax.plugins.rounding import floor_p
from primax.plugins.structural import bitcast_convert_type_p, convert_element_type_p
from primax.plugins.trigonometry import tan_p
from primax.random.interval import between
from primax.random.parameters import common_shape, drawn, float_dtype, integer_dtype

__all__ = [
    "cauchy",
    "exponential",
    "geometric",
    "gumbel",
    "laplace",
    "logistic",
    "pareto",
    "rayleigh",
    "triangular",
    "weibull_min",
]


def exponential(
    key: KeyLike, shape: ShapeLike = (), dtype: DTypeLike | None = None, *, out_sharding: ShardingLike | None = None
) -> Array:
    """Draw from the exponential distribution of mean 1.

    Args:
      key: a random key.
      shape: the shape of the result.
      dtype: a float dtype; the default one if None.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError: `key` is not a key, or `shape` is not a shape.
      ValueError: `key` is an array of keys, or `dtype` is not a float dtype.

    Examples:
      >>> import primax as px
      >>> x = px.random.exponential(px.random.key(0), (1000,))
      >>> x.min() >= 0, abs(x.mean() - 1) < 0.1
      (Array(True, dtype=bool), Array(True, dtype=bool))
    """
    if out_sharding is not None:
        return divided_call(exponential, (key, shape, dtype), {}, out_sharding)
    return exponential_numbers(*drawn("exponential", key, shape, dtype))


@sampler
def _laplace(key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    one = dtype.type(1)
    u = between(key, np.nextafter(-one, one), one, shape, dtype)
    return sign_p.bind(u) * log1p(neg_p.bind(abs_p.bind(u)))


def laplace(
    key: KeyLike, shape: ShapeLike = (), dtype: DTypeLike | None = None, *, out_sharding: ShardingLike | None = None
) -> Array:
    """Draw from the Laplace distribution of mean 0 and scale 1. The arguments are those of `exponential`.

    Examples:
      >>> import primax as px
      >>> x = px.random.laplace(px.random.key(0), (1000,))
      >>> abs(abs(x).mean() - 1) < 0.1
      Array(True, dtype=bool)
    """
    if out_sharding is not None:
        return divided_call(laplace, (key, shape, dtype), {}, out_sharding)
    return _laplace(*drawn("laplace", key, shape, dtype))


@sampler
def _logistic(key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    u = between(key, dtypes.finfo(dtype).tiny, dtype.type(1), shape, dtype)
    return log_p.bind(u) - log1p(neg_p.bind(u))


def logistic(
    key: KeyLike, shape: ShapeLike = (), dtype: DTypeLike | None = None, *, out_sharding: ShardingLike | None = None
) -> Array:
    """Draw from the logistic distribution of mean 0 and scale 1. The arguments are those of `exponential`.

    Examples:
      >>> import primax as px
      >>> import numpy as np
      >>> px.random.logistic(px.random.key(0), (2,), np.float16).dtype
      dtype('float16')
    """
    if out_sharding is not None:
        return divided_call(logistic, (key, shape, dtype), {}, out_sharding)
    return _logistic(*drawn("logistic", key, shape, dtype))


@sampler
def _cauchy(key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    u = between(key, dtypes.finfo(dtype).eps, dtype.type(1), shape, dtype)
    return tan_p.bind((u - 0.5) * pi)


def cauchy(
    key: KeyLike, shape: ShapeLike = (), dtype: DTypeLike | None = None, *, out_sharding: ShardingLike | None = None
) -> Array:
    """Draw from the Cauchy distribution around 0 of scale 1. The arguments are those of `exponential`.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> x = px.random.cauchy(px.random.key(0), (1000,))
      >>> abs(pnp.median(x)) < 0.2  # there is no mean
      Array(True, dtype=bool)
    """
    if out_sharding is not None:
        return divided_call(cauchy, (key, shape, dtype), {}, out_sharding)
    return _cauchy(*drawn("cauchy", key, shape, dtype))


@sampler
def gumbel_numbers(key: Any, shape: tuple[int, ...], dtype: Any, mode: str) -> Array:
    """-log(-log(u)) for uniform numbers u, with the bits of one draw or of two."""
    if mode == "highest" and dtype == np.float32:
        return _gumbel_of_64_bits(key, shape)
    info = dtypes.finfo(dtype)
    if mode == "low":
        u = between(key, info.tiny, dtype.type(1), shape, dtype)
        return neg_p.bind(log_p.bind(neg_p.bind(log_p.bind(u))))
    # Use 1 - u instead of u: its bits resolve the large results.
    upper, lower = unit(key, (2, *shape), dtype)
    u = where(upper >= 0.5, upper, upper + lower * 2.0**-info.nmant + max(info.tiny, info.eps**2 / 2))
    return neg_p.bind(log_p.bind(neg_p.bind(log1p(neg_p.bind(u)))))


def _gumbel_of_64_bits(key: Any, shape: tuple[int, ...]) -> Array:
    """-log(-log(u)) for u of 64 bits: the smaller of u and 1 - u becomes a float, which keeps all relevant bits."""
    bits = random_bits(key, 32, (2, *shape))
    upper, lower = bits[0], bits[1]
    small = upper < np.uint32(1 << 31)
    negated = neg_p.bind(lower)
    borrow = convert_element_type_p.bind(lower != np.uint32(0), new_dtype=np.dtype(np.uint32), weak_type=False)
    u = _fraction(where(small, upper, neg_p.bind(upper) - borrow), where(small, lower, negated))
    minus_log = where(small, neg_p.bind(log1p(neg_p.bind(u))), neg_p.bind(log_p.bind(u)))
    return neg_p.bind(log_p.bind(minus_log))


def _fraction(upper: Any, lower: Any) -> Array:
    """The fraction with these 64 bits as a float32, truncated; 0 becomes 2**-65, half of the last bit."""
    empty = upper == np.uint32(0)
    zeros = where(empty, np.uint32(32) + clz_p.bind(lower), clz_p.bind(upper))
    # Shifts by 32 or more give 0.
    leading = where(
        empty,
        shift_left(lower, clz_p.bind(lower)),
        bitwise_or(shift_left(upper, zeros), shift_right_logical(lower, np.uint32(32) - zeros)),
    )
    digits = shift_right_logical(leading, np.uint32(8))
    unit_of_digits = bitcast_convert_type_p.bind(
        shift_left(np.uint32(127 - 24) - zeros, np.uint32(23)), new_dtype=np.dtype(np.float32)
    )
    number = convert_element_type_p.bind(digits, new_dtype=np.dtype(np.float32), weak_type=False) * unit_of_digits
    return max_p.bind(*broadcast("gumbel", [number, np.float32(2.0**-65)]))


def gumbel(
    key: KeyLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    mode: str | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draw from the Gumbel distribution around 0 of scale 1.

    Args:
      key: a random key.
      shape: the shape of the result.
      dtype: a float dtype; the default one if None.
      mode: "low", the default, or "high" to draw twice as many bits, so that large numbers are precise; "highest" to
        use all these bits for small numbers too, in float32, and otherwise the same as "high".
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError: `key` is not a key, or `shape` is not a shape.
      ValueError: `key` is an array of keys, `dtype` is not a float dtype, or `mode` is unknown.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> logits = pnp.log(pnp.array([0.25, 0.75]))
      >>> picks = pnp.argmax(logits + px.random.gumbel(px.random.key(0), (1000, 2)), axis=-1)
      >>> abs(picks.mean() - 0.75) < 0.05  # the larger sum is drawn with these probabilities
      Array(True, dtype=bool)
    """
    if out_sharding is not None:
        return divided_call(gumbel, (key, shape, dtype, mode), {}, out_sharding)
    key, shape, dtype = drawn("gumbel", key, shape, dtype)
    return gumbel_numbers(key, shape, dtype, read_mode("gumbel", mode))


def read_mode(function: str, mode: Any) -> str:
    """The mode, with the default in place of None.

    Raises:
      ValueError: the mode is unknown.
    """
    if not among(mode, (None, "highest", "high", "low")):
        raise ValueError(f"{function}: mode must be 'highest', 'high', 'low' or None, got {mode!r}")
    return "low" if mode is None else str(mode)


@sampler
def _rayleigh(key: Any, scale: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    return sqrt_p.bind(log_p.bind(unit(key, shape, dtype)) * -2.0) * cast(scale, dtype)


def rayleigh(
    key: KeyLike,
    scale: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draw from the Rayleigh distribution.

    Args:
      key: a random key.
      scale: the mode, a positive number or an array of positive numbers.
      shape: the shape of the result; that of `scale` if None.
      dtype: a float dtype; the default one if None.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError: `key` is not a key, `shape` is not a shape, or `scale` is not a real array or number.
      ValueError: `key` is an array of keys, `dtype` is not a float dtype, or `scale` does not broadcast to `shape`.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.random.rayleigh(px.random.key(0), pnp.array([1.0, 10.0]), (5, 2)).shape
      (5, 2)
    """
    if out_sharding is not None:
        return divided_call(rayleigh, (key, scale, shape, dtype), {}, out_sharding)
    key, dtype = check_key(key, "rayleigh"), float_dtype("rayleigh", dtype)
    return _rayleigh(key, scale, common_shape("rayleigh", shape, scale=scale), dtype)


@sampler
def _pareto(key: Any, b: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    return exp_p.bind(exponential_numbers(key, shape, dtype) / cast(b, dtype))


def pareto(
    key: KeyLike,
    b: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draw from the Pareto distribution on [1, inf).

    Args:
      key: a random key.
      b: the exponent, a positive number or an array of positive numbers.
      shape: the shape of the result; that of `b` if None.
      dtype: a float dtype; the default one if None.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError, ValueError: as for `rayleigh`.

    Examples:
      >>> import primax as px
      >>> px.random.pareto(px.random.key(0), 2.0, (100,)).min() >= 1
      Array(True, dtype=bool)
    """
    if out_sharding is not None:
        return divided_call(pareto, (key, b, shape, dtype), {}, out_sharding)
    key, dtype = check_key(key, "pareto"), float_dtype("pareto", dtype)
    return _pareto(key, b, common_shape("pareto", shape, b=b), dtype)


@sampler
def _weibull_min(key: Any, scale: Any, concentration: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    power = cast(1.0 / cast(concentration, dtype), dtype)
    numbers = exponential_numbers(key, shape, dtype)
    return pow_p.bind(*broadcast("weibull_min", [numbers, power])) * cast(scale, dtype)


def weibull_min(
    key: KeyLike, scale: ArrayLike, concentration: ArrayLike, shape: ShapeLike = (), dtype: DTypeLike | None = None
) -> Array:
    """Draw from the Weibull distribution.

    Args:
      key: a random key.
      scale: a positive number or an array of them.
      concentration: the exponent, a positive number or an array of them.
      shape: the shape of the result; if it is empty, that to which the parameters broadcast.
      dtype: a float dtype; the default one if None.

    Raises:
      TypeError, ValueError: as for `rayleigh`.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.random.weibull_min(px.random.key(0), 1.0, pnp.array([1.0, 5.0]), (3, 2)).shape
      (3, 2)
    """
    key, dtype = check_key(key, "weibull_min"), float_dtype("weibull_min", dtype)
    shape = common_shape("weibull_min", shape or None, scale=scale, concentration=concentration)
    return _weibull_min(key, scale, concentration, shape, dtype)


@sampler
def _triangular(key: Any, left: Any, mode: Any, right: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    left, mode, right = (cast(x, dtype) for x in (left, mode, right))
    u = unit(key, shape, dtype)
    rising = left + sqrt_p.bind(u * (right - left) * (mode - left))
    falling = right - sqrt_p.bind((1.0 - u) * (right - left) * (right - mode))
    return where(u < (mode - left) / (right - left), rising, falling)


def triangular(
    key: KeyLike,
    left: ArrayLike,
    mode: str | None,
    right: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draw from the triangular distribution.

    Args:
      key: a random key.
      left: the lower end of the support.
      mode: the position of the density's maximum.
      right: the upper end of the support.
      shape: the shape of the result; that to which the parameters broadcast if None.
      dtype: a float dtype; the default one if None.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError, ValueError: as for `rayleigh`.

    Examples:
      >>> import primax as px
      >>> x = px.random.triangular(px.random.key(0), 1.0, 1.0, 3.0, (100,))
      >>> x.min() >= 1, x.max() <= 3
      (Array(True, dtype=bool), Array(True, dtype=bool))
    """
    if out_sharding is not None:
        return divided_call(triangular, (key, left, mode, right, shape, dtype), {}, out_sharding)
    key, dtype = check_key(key, "triangular"), float_dtype("triangular", dtype)
    return _triangular(
        key, left, mode, right, common_shape("triangular", shape, left=left, mode=mode, right=right), dtype
    )


@sampler
def _geometric(key: Any, p: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    working = get_aval(p).dtype
    if not dtypes.is_floating(working):
        working = dtypes.default_float_dtype()
    u = unit(key, shape, working)
    log_u = log_p.bind(where(u == 0.0, working.type(1), u))
    return cast(floor_p.bind(log_u / log1p(neg_p.bind(cast(p, working)))) + 1.0, dtype)


def geometric(
    key: KeyLike,
    p: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draw the number of trials up to the first success.

    Args:
      key: a random key.
      p: the probability of success.
      shape: the shape of the result; that of `p` if None.
      dtype: an integer dtype; the default one if None.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError: `key` is not a key, `shape` is not a shape, or `p` is not a real array or number.
      ValueError: `key` is an array of keys, `dtype` is not an integer dtype, or `p` does not broadcast to `shape`.

    Examples:
      >>> import primax as px
      >>> px.random.geometric(px.random.key(0), 1.0, (3,)), px.random.geometric(px.random.key(0), 0.1, (100,)).min()
      (Array([1, 1, 1], dtype=int32), Array(1, dtype=int32))
    """
    if out_sharding is not None:
        return divided_call(geometric, (key, p, shape, dtype), {}, out_sharding)
    key, dtype = check_key(key, "geometric"), integer_dtype("geometric", dtype)
    return _geometric(key, p, common_shape("geometric", shape, p=p), dtype)
