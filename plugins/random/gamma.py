"""Gamma variables: a primitive, since they have derivatives with respect to their parameter.

If the parameter a is 1 or more, they are drawn by the rejection method of G. Marsaglia and W. Tsang, "A simple method
for generating gamma variables", ACM TOMS 26 (2000); for a smaller a, that of a + 1 times u**(1/a). Each number has its
own key, so it does not depend on rejections of others.
"""

from __future__ import annotations

from math import prod
from typing import Any

from primax.extend import core, dtypes
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.rule_types import Table
from primax.plugins.arithmetic import add, div, mul, sub
from primax.plugins.comparison import lt
from primax.plugins.control_flow import while_loop
from primax.plugins.exponential import exp, log, pow_p, sqrt
from primax.plugins.random.keys import random_split
from primax.plugins.random.numbers import exponential_numbers, normal_numbers, unit
from primax.plugins.reductions import reduce_or_p
from primax.plugins.special import digamma, random_gamma_grad
from primax.plugins.structural import broadcast_in_dim_p, reshape_p, select_n_p

random_gamma_p = core.Primitive("random_gamma")


def _random_gamma(keys: Any, alpha: Any, *, log_space: bool) -> Array:
    """Gamma variables, or their logarithms, each drawn with a key split from its own."""
    aval = get_aval(alpha)
    count = prod(aval.shape[len(keys.shape) :])
    own_keys = reshape_p.bind(random_split(keys, (count,)), new_sizes=(aval.size,), dimensions=None)
    numbers = _draw(own_keys, reshape_p.bind(alpha, new_sizes=(aval.size,), dimensions=None), log_space)
    return reshape_p.bind(numbers, new_sizes=aval.shape, dimensions=None)


def _draw(keys: Any, alpha: Any, log_space: bool) -> Array:
    dtype = alpha.dtype
    boosted = alpha < 1.0
    d = select_n_p.bind(boosted, alpha, alpha + 1.0) - 1 / 3
    c = dtype.type(1 / 3) / sqrt(d)
    keys, boosts = _parts(keys, 2)

    def rejected(state: Any) -> Array:
        _, square, cube, u = state
        return (u >= 1.0 - 0.0331 * (square * square)) & (log(u) >= square * 0.5 + d * (1.0 - cube + log(cube)))

    def propose(state: Any) -> tuple[Any, ...]:
        again = rejected(state)
        following, for_x, for_u = _parts(state[0], 3)
        x, v = _positive(for_x, c)
        proposed = (following, x * x, v * v * v, unit(for_u, (), dtype))
        return tuple(select_n_p.bind(again, old, new) for old, new in zip(state, proposed, strict=True))

    start = (keys, *(_repeated(dtype.type(x), alpha.shape) for x in (0, 1, 2)))
    _, _, cube, _ = while_loop(lambda state: _any(rejected(state)), propose, start)
    if log_space:
        log_u = -exponential_numbers(boosts, (), dtype)
        boost = select_n_p.bind(boosted & (log_u != 0.0), _repeated(dtype.type(0), alpha.shape), log_u * (1.0 / alpha))
        return log(d) + log(cube) + boost
    u = 1.0 - unit(boosts, (), dtype)
    power = pow_p.bind(u, 1.0 / alpha)
    return d * cube * select_n_p.bind(boosted, _repeated(dtype.type(1), alpha.shape), power)


def _positive(keys: Any, c: Any) -> tuple[Any, Any]:
    """Normal numbers x, drawn until v = 1 + c x is positive, and v."""

    def propose(state: Any) -> tuple[Any, ...]:
        again = state[2] <= 0.0
        following, now = _parts(state[0], 2)
        x = normal_numbers(now, (), c.dtype)
        proposed = (following, x, 1.0 + x * c)
        return tuple(select_n_p.bind(again, old, new) for old, new in zip(state, proposed, strict=True))

    start = (keys, *(_repeated(c.dtype.type(x), c.shape) for x in (0, -1)))
    _, x, v = while_loop(lambda state: _any(state[2] <= 0.0), propose, start)
    return x, v


def _repeated(number: Any, shape: tuple[int, ...]) -> Any:
    return broadcast_in_dim_p.bind(number, shape=shape, broadcast_dimensions=()) if shape else number


def _any(truths: Any) -> Array:
    return reduce_or_p.bind(truths, axes=(0,))


def _parts(keys: Any, count: int) -> list[Any]:
    """For each of several new keys an array of them, one for each key."""
    split = random_split(keys, (count,))
    return [split[:, i] for i in range(count)]


def _abstract_eval(keys: ShapedArray, alpha: ShapedArray, *, log_space: bool) -> ShapedArray:
    if not dtypes.is_floating(alpha.dtype):
        raise TypeError(f"random_gamma: alpha must be of a float dtype, got {alpha.str_short()}")
    if alpha.shape[: len(keys.shape)] != keys.shape:
        raise TypeError(
            "random_gamma: the first axes of alpha must be those of the keys, "
            f"got {alpha.str_short()} for {keys.str_short()}"
        )
    return alpha.strip_weak_type()


def _sharding_rule(keys: ShapedArray, alpha: ShapedArray, *, log_space: bool) -> str:
    """The axes of keys are the leading axes of alpha."""
    first, rest = ([f"{name}{i}" for i in range(n)] for name, n in (("k", keys.ndim), ("a", alpha.ndim - keys.ndim)))
    return f"{' '.join(first)}, {' '.join(first + rest)} -> {' '.join(first + rest)}"


def _jvp(primals: Any, tangents: Any, *, log_space: bool) -> tuple[Any, Any]:
    """By implicit differentiation of the distribution function, whose value stays constant as alpha changes."""
    out = random_gamma_p.bind(*primals, log_space=log_space)
    alpha, t = primals[1], tangents[1]
    if type(t) is ad.Zero:
        return out, ad.Zero.from_primal_value(out)
    if not log_space:
        return out, mul(t, random_gamma_grad(alpha, out))
    number = exp(out)
    tiny = number.dtype.type(dtypes.finfo(number.dtype).tiny)
    underflows = lt(number, tiny)
    number = select_n_p.bind(underflows, number, _repeated(tiny, number.shape))
    slope = div(random_gamma_grad(alpha, number), number)
    # The distribution function for such a small x is x**alpha / gamma(alpha + 1).
    limit = div(sub(digamma(add(alpha, number.dtype.type(1))), out), alpha)
    return out, mul(t, select_n_p.bind(underflows, slope, limit))


def _batch(axis: batching.AxisData, args: Any, dims: Any, *, log_space: bool) -> tuple[Any, Any]:
    if dims[0] is None and dims[1] is None:
        return random_gamma_p.bind(*args, log_space=log_space), None
    keys, alpha = (batching.to_dim(x, axis.size, dim, 0) for x, dim in zip(args, dims, strict=True))
    return random_gamma_p.bind(keys, alpha, log_space=log_space), 0


RULES: Table = {
    random_gamma_p: {
        "abstract_eval": _abstract_eval,
        "jvp": _jvp,
        "axis_batch": _batch,
        "lowering": mlir.lower_fun(_random_gamma, multiple_results=False),
        "sharding": _sharding_rule,
        "key_use": lambda uses, eqn, walk: walk.consumed(),
    },
}
