"""Distributions of gamma variables, and of their quotients, sums and roots."""

from __future__ import annotations

from typing import Any

from primax.extend.core import Array, get_aval
from primax.extend.provisional.typing import ArrayLike, DTypeLike, KeyLike, ShapeLike, ShardingLike
from primax.numpy.conversion import read_shape
from primax.numpy.promotion import broadcast, broadcast_to_shape, cast
from primax.numpy.reductions import max as reduce_max
from primax.numpy.reductions import sum as reduce_sum
from primax.plugins.arithmetic import abs_p, max_p
from primax.plugins.exponential import exp_p, pow_p, sqrt_p
from primax.plugins.random.arguments import check_key
from primax.plugins.random.gamma import random_gamma_p
from primax.plugins.random.keys import random_split
from primax.plugins.random.numbers import exponential_numbers, normal_numbers, sampler
from primax.plugins.resharding import divided_call
from primax.plugins.structural import stop_gradient
from primax.random.approximate import check_method, gamma_numbers
from primax.random.integers import signs
from primax.random.parameters import broadcast_to, common_shape, float_dtype, parameter_shape

__all__ = ["ball", "beta", "chisquare", "dirichlet", "f", "gamma", "generalized_normal", "loggamma", "t"]


@sampler
def _gamma(key: Any, a: Any, shape: tuple[int, ...], dtype: Any, log_space: bool, approximate: bool = False) -> Array:
    if approximate:
        return gamma_numbers(key, a, shape, dtype, log_space)
    return random_gamma_p.bind(key, broadcast_to_shape(cast(a, dtype), shape), log_space=log_space)


def gamma(
    key: KeyLike,
    a: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: str = "exact",
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draw from the gamma distribution of scale 1; differentiable with respect to its parameter.

    Args:
      key: a random key.
      a: the shape parameter, a positive number or an array of positive numbers.
      shape: the shape of the result; that of `a` if None.
      dtype: a float dtype; the default one if None.
      method: "exact"; or "approximate" for a faster method without a loop, whose distribution is almost the same.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError: `key` is not a key, `shape` is not a shape, or `a` is not a real array or number.
      ValueError: `key` is an array of keys, `dtype` is not a float dtype, `a` does not broadcast to `shape`, or
        `method` is unknown.

    Examples:
      >>> import primax as px
      >>> draw = lambda a: px.random.gamma(px.random.key(0), a, (100,)).mean()
      >>> px.grad(draw)(3.0) > 0  # samples are differentiable with respect to a
      Array(True, dtype=bool, weak_type=True)
    """
    if out_sharding is not None:
        return divided_call(gamma, (key, a, shape, dtype), {"method": method}, out_sharding)
    key, dtype = check_key(key, "gamma"), float_dtype("gamma", dtype)
    return _gamma(key, a, common_shape("gamma", shape, a=a), dtype, False, check_method("gamma", method))


def loggamma(
    key: KeyLike,
    a: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: str = "exact",
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draw logarithms of gamma variables, which are accurate even where the variables underflow. See `gamma`.

    Examples:
      >>> import primax as px
      >>> import numpy as np
      >>> px.random.gamma(px.random.key(0), 1e-3), px.random.loggamma(px.random.key(0), 1e-3) > -np.inf
      (Array(0., dtype=float32), Array(True, dtype=bool))
    """
    if out_sharding is not None:
        return divided_call(loggamma, (key, a, shape, dtype), {"method": method}, out_sharding)
    key, dtype = check_key(key, "loggamma"), float_dtype("loggamma", dtype)
    return _gamma(key, a, common_shape("loggamma", shape, a=a), dtype, True, check_method("loggamma", method))


@sampler
def _beta(key: Any, a: Any, b: Any, shape: tuple[int, ...], dtype: Any, approximate: bool) -> Array:
    first, second = random_split(key, (2,))
    log_x = _gamma(first, a, shape, dtype, True, approximate)
    log_y = _gamma(second, b, shape, dtype, True, approximate)
    greater = max_p.bind(log_x, log_y)
    x, y = exp_p.bind(log_x - greater), exp_p.bind(log_y - greater)
    return x / (x + y)


def beta(
    key: KeyLike,
    a: ArrayLike,
    b: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: str = "exact",
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draw from the beta distribution; differentiable with respect to its parameters.

    Args:
      key: a random key.
      a, b: the parameters, positive numbers or arrays of positive numbers.
      shape: the shape of the result; that to which the parameters broadcast if None.
      dtype: a float dtype; the default one if None.
      method: "exact"; or "approximate" for a faster method without a loop, whose distribution is almost the same.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError, ValueError: as for `gamma`.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> x = px.random.beta(px.random.key(0), pnp.array([1.0, 50.0]), 1.0, (100, 2))
      >>> x.shape, x.min() >= 0, x.max() <= 1
      ((100, 2), Array(True, dtype=bool), Array(True, dtype=bool))
    """
    if out_sharding is not None:
        return divided_call(beta, (key, a, b, shape, dtype), {"method": method}, out_sharding)
    key, dtype = check_key(key, "beta"), float_dtype("beta", dtype)
    return _beta(key, a, b, common_shape("beta", shape, a=a, b=b), dtype, check_method("beta", method))


@sampler
def _dirichlet(key: Any, alpha: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    logs = _gamma(key, alpha, (*shape, get_aval(alpha).shape[-1]), dtype, True)
    if not logs.size:
        return logs
    shares = exp_p.bind(logs - stop_gradient(reduce_max(logs, -1, keepdims=True)))
    return shares / reduce_sum(shares, -1, keepdims=True)


def dirichlet(
    key: KeyLike,
    alpha: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draw vectors with sum 1 from the Dirichlet distribution; differentiable with respect to its parameters.

    Args:
      key: a random key.
      alpha: an array of positive numbers, with vectors along the last axis.
      shape: the shape of the result without its last axis; if None, that of `alpha` without its last axis.
      dtype: a float dtype; the default one if None.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError, ValueError: as for `gamma`.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> x = px.random.dirichlet(px.random.key(0), pnp.ones(3), (5,))
      >>> x.shape, abs(x.sum(-1) - 1).max() < 1e-5
      ((5, 3), Array(True, dtype=bool))
    """
    if out_sharding is not None:
        return divided_call(dirichlet, (key, alpha, shape, dtype), {}, out_sharding)
    key, dtype = check_key(key, "dirichlet"), float_dtype("dirichlet", dtype)
    alpha_shape = parameter_shape("dirichlet", alpha, "alpha")
    if not alpha_shape:
        raise ValueError("dirichlet: alpha must be of rank 1 or more, got a number")
    shape = None if shape is None else read_shape(shape, "dirichlet")
    return _dirichlet(key, alpha, broadcast_to("dirichlet", shape, {"alpha": alpha_shape[:-1]}), dtype)


@sampler
def _chisquare(key: Any, df: Any, shape: tuple[int, ...], dtype: Any, approximate: bool = False) -> Array:
    return exp_p.bind(_gamma(key, cast(df, dtype) / 2.0, shape, dtype, True, approximate)) * 2.0


def chisquare(
    key: KeyLike,
    df: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: str = "exact",
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draw from the chi-square distribution; differentiable with respect to its parameter.

    Args:
      key: a random key.
      df: the degrees of freedom, a positive number or an array of positive numbers.
      shape: the shape of the result; that of `df` if None.
      dtype: a float dtype; the default one if None.
      method: "exact"; or "approximate" for a faster method without a loop, whose distribution is almost the same.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError, ValueError: as for `gamma`.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.random.chisquare(px.random.key(0), pnp.array([1.0, 3.0, 9.0])).shape
      (3,)
    """
    if out_sharding is not None:
        return divided_call(chisquare, (key, df, shape, dtype), {"method": method}, out_sharding)
    key, dtype = check_key(key, "chisquare"), float_dtype("chisquare", dtype)
    return _chisquare(key, df, common_shape("chisquare", shape, df=df), dtype, check_method("chisquare", method))


@sampler
def _f(key: Any, dfnum: Any, dfden: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    second, first = random_split(key, (2,))
    dfnum, dfden = cast(dfnum, dtype), cast(dfden, dtype)
    return _chisquare(first, dfnum, shape, dtype) / dfnum / (_chisquare(second, dfden, shape, dtype) / dfden)


def f(
    key: KeyLike,
    dfnum: ArrayLike,
    dfden: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draw from the F distribution; differentiable with respect to its parameters.

    Args:
      key: a random key.
      dfnum: the degrees of freedom of the numerator, a positive number or an array of positive numbers.
      dfden: the degrees of freedom of the denominator, a positive number or an array of positive numbers.
      shape: the shape of the result; that to which the parameters broadcast if None.
      dtype: a float dtype; the default one if None.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError, ValueError: as for `gamma`.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.random.f(px.random.key(0), 4.0, pnp.array([5.0, 6.0])).shape
      (2,)
    """
    if out_sharding is not None:
        return divided_call(f, (key, dfnum, dfden, shape, dtype), {}, out_sharding)
    key, dtype = check_key(key, "f"), float_dtype("f", dtype)
    return _f(key, dfnum, dfden, common_shape("f", shape, dfnum=dfnum, dfden=dfden), dtype)


@sampler
def _t(key: Any, df: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    first, second = random_split(key, (2,))
    half = cast(df, dtype) / 2.0
    return normal_numbers(first, shape, dtype) * sqrt_p.bind(half / _gamma(second, half, shape, dtype, False))


def t(
    key: KeyLike,
    df: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draw from Student's t distribution; differentiable with respect to its parameter.

    Args:
      key: a random key.
      df: the degrees of freedom, a positive number or an array of positive numbers.
      shape: the shape of the result; that of `df` if None.
      dtype: a float dtype; the default one if None.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError, ValueError: as for `gamma`.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.random.t(px.random.key(0), pnp.array([[1.0], [2.0]]), (2, 3)).shape
      (2, 3)
    """
    if out_sharding is not None:
        return divided_call(t, (key, df, shape, dtype), {}, out_sharding)
    key, dtype = check_key(key, "t"), float_dtype("t", dtype)
    return _t(key, df, common_shape("t", shape, df=df), dtype)


@sampler
def _generalized_normal(key: Any, p: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    first, second = random_split(key, (2,))
    inverse = 1.0 / cast(p, dtype)
    numbers = _gamma(first, inverse, shape, dtype, False)
    return signs(second, shape, dtype) * pow_p.bind(*broadcast("generalized_normal", [numbers, inverse]))


def generalized_normal(
    key: KeyLike,
    p: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draw from the distribution whose density is proportional to exp(-abs(x)**p).

    Args:
      key: a random key.
      p: the exponent, a positive number or an array of positive numbers.
      shape: the shape of the result, to which `p` must broadcast.
      dtype: a float dtype; the default one if None.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError, ValueError: as for `gamma`.

    Examples:
      >>> import primax as px
      >>> px.random.generalized_normal(px.random.key(0), 2.0, (3,)).shape
      (3,)
    """
    if out_sharding is not None:
        return divided_call(generalized_normal, (key, p, shape, dtype), {}, out_sharding)
    key, dtype = check_key(key, "generalized_normal"), float_dtype("generalized_normal", dtype)
    return _generalized_normal(
        key, p, common_shape("generalized_normal", read_shape(shape, "generalized_normal"), p=p), dtype
    )


@sampler
def _ball(key: Any, p: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """By F. Barthe, O. Guedon, S. Mendelson and A. Naor, Annals of Probability 33 (2005), theorem 1."""
    first, second = random_split(key, (2,))
    p = cast(p, dtype)
    vectors = _generalized_normal(first, p, shape, dtype)
    powers = pow_p.bind(*broadcast("ball", [abs_p.bind(vectors), p]))
    total = reduce_sum(powers, -1) + exponential_numbers(second, shape[:-1], dtype)
    norms = pow_p.bind(*broadcast("ball", [total, 1.0 / p]))
    return vectors / norms[..., None]


def ball(
    key: KeyLike,
    d: int,
    p: ArrayLike = 2,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draw points uniformly from the unit ball of a p-norm.

    Args:
      key: a random key.
      d: the dimension of the ball.
      p: the exponent of the norm, a positive number.
      shape: the shape of the result without its last axis, which has length `d`.
      dtype: a float dtype; the default one if None.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError, ValueError: as for `gamma`.

    Examples:
      >>> import primax as px
      >>> points = px.random.ball(px.random.key(0), 3, p=1, shape=(100,))
      >>> points.shape, abs(points).sum(-1).max() <= 1
      ((100, 3), Array(True, dtype=bool))
    """
    if out_sharding is not None:
        return divided_call(ball, (key, d, p, shape, dtype), {}, out_sharding)
    key, dtype = check_key(key, "ball"), float_dtype("ball", dtype)
    if parameter_shape("ball", p, "p"):
        raise ValueError(f"ball: p must be a number, got {get_aval(p).str_short()}")
    return _ball(key, p, (*read_shape(shape, "ball"), *read_shape((d,), "ball")), dtype)
