"""Counts of random events, drawn by rejection.

W. Hormann, "The transformed rejection method for generating Poisson random variables", Insurance: Mathematics and
Economics 12 (1993), algorithm PTRS, and "The generation of binomial random variates", Journal of Statistical
Computation and Simulation 46 (1993), algorithm BTRS. For small means, waiting times or numbers of trials between
events are added up.
"""

from __future__ import annotations

from math import lgamma, log, pi
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import numpy_dtype
from primax.extend.provisional.sharding import match_placement
from primax.extend.provisional.typing import ArrayLike, DTypeLike, KeyLike, ShapeLike, ShardingLike
from primax.numpy.conversion import asarray, read_shape
from primax.numpy.predicates import isinf, isnan
from primax.numpy.promotion import broadcast_to_shape, cast
from primax.numpy.reductions import any as any_of
from primax.numpy.selection import where
from primax.numpy.shaping import moveaxis
from primax.plugins.arithmetic import clamp_p
from primax.plugins.control_flow import scan, while_loop
from primax.plugins.cumulative import cumsum_p
from primax.plugins.exponential import log_p, sqrt_p
from primax.plugins.random.arguments import check_key
from primax.plugins.random.keys import random_clone_p, random_split
from primax.plugins.random.numbers import log1p, sampler, unit
from primax.plugins.resharding import divided_call
from primax.plugins.rounding import ceil_p, floor_p
from primax.plugins.special import lgamma_p
from primax.random.approximate import check_method, poisson_numbers
from primax.random.parameters import broadcast_to, common_shape, float_dtype, integer_dtype, parameter_shape

__all__ = ["binomial", "multinomial", "poisson"]

_FLOAT32 = np.dtype(np.float32)


def _full(value: Any, like: Any, dtype: Any) -> Any:
    """A constant of a dtype, with the shape and the sharding of an array."""
    aval = get_aval(like)
    return match_placement(broadcast_to_shape(dtype.type(value), aval.shape), aval)


@sampler
def _poisson(key: Any, mean: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    mean = broadcast_to_shape(cast(mean, _FLOAT32), shape)
    small, endless = isnan(mean) | (mean < 10.0), isinf(mean)
    few = _by_waiting(key, where(small, mean, 0.0), shape, dtype)
    again = random_clone_p.bind(key)  # intended reuse: only one of the two draws is used
    many = _by_transformed_rejection(again, where(small | endless, 1e5, mean), shape, dtype)
    counts = where(small, few, where(endless, dtype.type(dtypes.iinfo(dtype).max), many))
    return where(mean == 0.0, dtype.type(0), counts)


def _by_waiting(key: Any, mean: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """The number of exponentially distributed times whose sum is below `mean`."""

    def step(state: Any) -> tuple[Any, Any, Any]:
        key, count, passed = state
        key, now = random_split(key, (2,))
        count = where(passed > -mean, count + 1, count)
        return key, count, passed + log_p.bind(unit(now, shape, _FLOAT32))

    start = (key, _full(0, mean, dtype), _full(0, mean, _FLOAT32))
    return while_loop(lambda state: any_of(state[2] > -mean), step, start)[1] - 1


def _by_transformed_rejection(key: Any, mean: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    log_mean = log_p.bind(mean)
    b = 0.931 + 2.53 * sqrt_p.bind(mean)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2.0)

    def propose(key: Any) -> tuple[Any, Any, Any]:
        key, for_u, for_v = random_split(key, (3,))
        u = unit(for_u, shape, _FLOAT32) - 0.5
        v = unit(for_v, shape, _FLOAT32)
        u_shifted = 0.5 - abs(u)
        k = floor_p.bind((2.0 * a / u_shifted + b) * u + mean + 0.43)
        s = log_p.bind(v * inverse_alpha / (a / (u_shifted * u_shifted) + b))
        t = -mean + k * log_mean - lgamma_p.bind(k + 1.0)
        inside = (u_shifted >= 0.07) & (v <= v_r)
        outside = (k < 0.0) | ((u_shifted < 0.013) & (v > u_shifted))
        return key, k, inside | (~outside & (s <= t))

    return cast(_until_accepted(key, propose, mean, _FLOAT32), dtype)


def _until_accepted(key: Any, propose: Any, like: Any, dtype: Any) -> Array:
    """The first accepted number of each element; a function proposes numbers from keys."""

    def step(state: Any) -> tuple[Any, Any, Any]:
        key, numbers, done = state
        key, proposed, accepted = propose(key)
        return key, where(accepted, proposed, numbers), done | accepted

    start = (key, _full(-1, like, dtype), _full(False, like, np.dtype(np.bool_)))
    return while_loop(lambda state: any_of(~state[2]), step, start)[1]


def poisson(
    key: KeyLike,
    lam: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: str = "exact",
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draw from the Poisson distribution; -1 if the mean is negative or NaN.

    Args:
      key: a random key.
      lam: the mean, a number or an array; computations use float32.
      shape: the shape of the result; that of `lam` if None.
      dtype: an integer dtype; the default one if None.
      method: "exact"; or "approximate" for a faster method without a loop, whose distribution is almost the same, and
        whose result is undefined if the mean is negative or NaN.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError: `key` is not a key, `shape` is not a shape, or `lam` is not a real array or number.
      ValueError: `key` is an array of keys, `dtype` is not an integer dtype, `lam` does not broadcast to `shape`, or
        `method` is unknown.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> px.random.poisson(px.random.key(0), pnp.array([0.0, -1.0, np.nan]))
      Array([ 0, -1, -1], dtype=int32)
      >>> px.random.poisson(px.random.key(0), 1e6).dtype
      dtype('int32')
    """
    if out_sharding is not None:
        return divided_call(poisson, (key, lam, shape, dtype), {"method": method}, out_sharding)
    key, dtype = check_key(key, "poisson"), integer_dtype("poisson", dtype)
    draw = poisson_numbers if check_method("poisson", method) else _poisson
    return draw(key, lam, common_shape("poisson", shape, lam=lam), dtype)


@sampler
def _binomial(key: Any, n: Any, p: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """The number of successes in n trials of probability p."""
    result, dtype = dtype, _working_dtype(n, p)
    n, p = (broadcast_to_shape(cast(x, dtype), shape) for x in (n, p))
    rare = p < 0.5
    q = where(rare, p, 1.0 - p)
    unknown, wrong = isnan(q), isnan(n) | (n < 0.0)
    invalid = unknown | (q < 0.0)
    q = where(invalid, 0.01, q)
    few, endless = wrong | (n * q <= 10.0), isinf(n)
    whole = floor_p.bind(n)
    other = few | endless
    again = random_clone_p.bind(key)  # intended reuse: only one of the two draws is used
    counts = where(
        few,
        _by_trials(key, where(few, whole, 0.0), q, shape, dtype),
        _by_binomial_rejection(again, where(other, 1e4, whole), where(other, 0.5, q), shape, dtype),
    )
    counts = where(invalid | wrong, np.nan, counts)
    counts = where(endless & ~(invalid | wrong), np.inf, counts)
    return cast(where(rare | wrong | unknown | endless, counts, whole - counts), result)


def _working_dtype(n: Any, p: Any) -> np.dtype[Any]:
    """The dtype of computations: the common dtype of the parameters, or a wider one that can hold counts."""
    dtype = dtypes.to_inexact_dtype(dtypes.result_type(n, p))
    return dtype if dtype.itemsize > 1 else np.dtype(np.float32)


def _by_trials(key: Any, n: Any, q: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """The number of geometrically distributed numbers of trials whose sum is at most n."""
    log_failure = log1p(-abs(q))  # not -(-0.0)

    def step(state: Any) -> tuple[Any, Any, Any]:
        key, count, trials = state
        now, key = random_split(key, (2,))
        count = where(trials <= n, count + 1.0, count)
        return key, count, trials + ceil_p.bind(log_p.bind(unit(now, shape, dtype)) / log_failure)

    start = (key, _full(0, n * q, dtype), _full(0, n * q, dtype))
    return while_loop(lambda state: any_of(state[2] <= n), step, start)[1] - 1.0


def _by_binomial_rejection(key: Any, n: Any, p: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    deviation = sqrt_p.bind(n * p * (1.0 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = n * p + 0.5
    v_r = 0.92 - 4.2 / b
    r = p / (1.0 - p)
    alpha = (2.83 + 5.1 / b) * deviation
    m = floor_p.bind((n + 1.0) * p)

    def propose(key: Any) -> tuple[Any, Any, Any]:
        key, for_u, for_v = random_split(key, (3,))
        u = unit(for_u, shape, dtype)
        v = unit(for_v, shape, dtype)
        u = u - 0.5
        u_shifted = 0.5 - abs(u)
        k = floor_p.bind((2.0 * a / u_shifted + b) * u + c)
        inside = (u_shifted >= 0.07) & (v <= v_r)
        outside = (k < 0.0) | (k > n)
        v = log_p.bind(v * alpha / (a / (u_shifted * u_shifted) + b))
        bound = (
            (m + 0.5) * log_p.bind((m + 1.0) / (r * (n - m + 1.0)))
            + (n + 1.0) * log_p.bind((n - m + 1.0) / (n - k + 1.0))
            + (k + 0.5) * log_p.bind(r * (n - k + 1.0) / (k + 1.0))
            + _stirling_rest(m)
            + _stirling_rest(n - m)
            - _stirling_rest(k)
            - _stirling_rest(n - k)
        )
        return key, k, inside | (~outside & (v <= bound))

    return _until_accepted(key, propose, m, dtype)


_RESTS = tuple(lgamma(k + 1) - (k + 0.5) * log(k + 1) + (k + 1) - 0.5 * log(2 * pi) for k in range(10))


def _stirling_rest(k: Any) -> Array:
    """The error of Stirling's formula for log(k!).

    For k above 9 the error at 9 is used, as in JAX; the difference is below 0.009 and affects few draws.
    """
    dtype = get_aval(k).dtype
    small = clamp_p.bind(dtype.type(0), k, dtype.type(9))
    square = (small + 1.0) * (small + 1.0)
    series = (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (small + 1.0)
    table = asarray(np.array(_RESTS, dtype))
    return where(k <= 9.0, table[cast(small, np.dtype(np.int32))], series)


def binomial(
    key: KeyLike, n: ArrayLike, p: ArrayLike, shape: ShapeLike | None = None, dtype: DTypeLike | None = None
) -> Array:
    """Draw from the binomial distribution; NaN if a parameter is invalid.

    Args:
      key: a random key.
      n: the number of trials, a number or an array.
      p: the probability of success.
      shape: the shape of the result; that to which the parameters broadcast if None.
      dtype: a float dtype; the default one if None.

    Raises:
      TypeError: `key` is not a key, `shape` is not a shape, or a parameter is not a real array or number.
      ValueError: `key` is an array of keys, `dtype` is not a float dtype, or the parameters do not broadcast to
        `shape`.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.random.binomial(px.random.key(0), 10, pnp.array([0.0, 1.0, -1.0]))
      Array([ 0., 10., nan], dtype=float32)
    """
    key, dtype = check_key(key, "binomial"), float_dtype("binomial", dtype)
    return _binomial(key, n, p, common_shape("binomial", shape, n=n, p=p), dtype)


@sampler
def _multinomial(key: Any, n: Any, p: Any, shape: tuple[int, ...], dtype: Any, unroll: int | bool) -> Array:
    """Draw the count of one category after another, from the binomial distribution of the remaining trials."""
    working = _working_dtype(n, p)
    p = moveaxis(broadcast_to_shape(cast(p, working), shape), -1, 0)
    left = cumsum_p.bind(p, axis=0, reverse=True)
    shares = p / where(left == 0.0, 1.0, left)

    def step(trials: Any, category: Any) -> tuple[Any, Any]:
        share, key = category
        count = _binomial(key, trials, clamp_p.bind(working.type(0), share, working.type(1)), shape[:-1], working)
        return trials - count, count

    n = broadcast_to_shape(cast(n, working), shape[:-1])
    _, counts = scan(step, n, (shares, random_split(key, (shape[-1],))), unroll=unroll)
    return cast(moveaxis(counts, 0, -1), dtype)


def multinomial(
    key: KeyLike,
    n: ArrayLike,
    p: ArrayLike,
    *,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    unroll: int | bool = 1,
) -> Array:
    """Draw the counts of each outcome in n trials.

    Args:
      key: a random key.
      n: the number of trials, a number or an array.
      p: the probabilities of the outcomes, along the last axis.
      shape: the shape of the result without its last axis, that of outcomes; if None, the shape to which `n` and `p`,
        without its last axis, broadcast.
      dtype: a float or integer dtype; the default float dtype if None.
      unroll: the number of unrolled steps of the loop over outcomes, as in `scan`.

    Raises:
      TypeError: `key` is not a key, `shape` is not a shape, or a parameter is not a real array or number.
      ValueError: `key` is an array of keys, `dtype` is neither of these, or the parameters do not broadcast to `shape`.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> counts = px.random.multinomial(px.random.key(0), 10, pnp.array([0.2, 0.8, 0.0]))
      >>> counts.sum(), counts[2]
      (Array(10., dtype=float32), Array(0., dtype=float32))
    """
    key = check_key(key, "multinomial")
    trials, outcomes = parameter_shape("multinomial", n, "n"), parameter_shape("multinomial", p, "p")
    if not outcomes:
        raise ValueError("multinomial: p must be of rank 1 or more, got a number")
    shape = None if shape is None else (*read_shape(shape, "multinomial"), outcomes[-1])
    shape = broadcast_to("multinomial", shape, {"n, an axis appended,": (*trials, 1), "p": outcomes})
    is_counting = dtype is not None and dtypes.is_integer(numpy_dtype("multinomial", "dtype", dtype))
    dtype = (integer_dtype if is_counting else float_dtype)("multinomial", dtype)
    return _multinomial(key, n, p, shape, dtype, unroll)
