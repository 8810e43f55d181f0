"""Minimization of functions under scipy.optimize's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from primax import lax, value_and_grad
from primax import numpy as pnp
from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import check_function, integer
from primax.extend.provisional.typing import ArrayLike

__all__ = ["OptimizeResults", "minimize"]
__dir__ = __all__.copy

_L_BFGS = "l-bfgs-experimental-do-not-rely-on-this"
_C1, _C2 = 1e-4, 0.9  # the constants of the Wolfe conditions


class OptimizeResults(NamedTuple):
    """The result of a minimization.

    `x` is the solution, `fun` and `jac` are its value and gradient, and `hess_inv` is an estimate of the inverse
    Hessian or None. `nfev`, `njev` and `nit` count values, gradients and steps. `success` is whether the gradient is
    small enough. `status` is 0 for success, 1 after `maxiter` steps, 3 if rounding errors prevent a better step, 5 if
    the line search ended without a good step, and 4 if a value is not finite.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> found = px.scipy.optimize.minimize(lambda x: pnp.sum((x - 1) ** 2), pnp.zeros(2), method="BFGS")
      >>> found.x.round(), found.success, found.status
      (Array([1., 1.], dtype=float32), Array(True, dtype=bool), Array(0, dtype=int32))
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


class _Search(NamedTuple):
    """A line search: the trial step, brackets as triples (step, value, slope), the accepted step, and counts."""

    step: Any
    low: tuple[Any, Any, Any]
    high: tuple[Any, Any, Any]
    zooming: Any
    done: Any
    stuck: Any
    best: tuple[Any, Any, Any]
    count: Any


def _between(low: Any, high: Any) -> Array:
    """The minimum of the cubic through the values and slopes at both ends; the midpoint if that is not well inside."""
    (a, fa, da), (b, fb, db) = low, high
    width = b - a
    safe = pnp.where(width == 0, 1, width)
    d1 = da + db - 3 * (fb - fa) / safe
    inner = d1 * d1 - da * db
    d2 = pnp.sign(width) * pnp.sqrt(pnp.maximum(inner, 0))
    divisor = db - da + 2 * d2
    cubic = b - width * (db + d2 - d1) / pnp.where(divisor == 0, 1, divisor)
    part = (cubic - a) / safe
    good = (inner >= 0) & (divisor != 0) & (part > 0.1) & (part < 0.9)
    return pnp.where(good, cubic, a + width / 2)


def _line_search(function: Any, x: Any, direction: Any, value: Any, grad: Any, first: Any, most: int) -> _Search:
    """A step that satisfies the strong Wolfe conditions.

    Source: J. Nocedal and S. J. Wright, "Numerical optimization" (2006), algorithms 3.5 and 3.6.
    """
    slope = grad @ direction
    slack = 4 * float(dtypes.finfo(value.dtype).eps) * pnp.abs(value)

    def evaluated(step: Any) -> tuple[Any, Any, Any]:
        new_value, new_grad = function(x + step * direction)
        return new_value, new_grad, new_grad @ direction

    def condition(search: _Search) -> Array:
        return ~search.done & ~search.stuck & (search.count < most)

    def attempt(search: _Search) -> _Search:
        step, low, high = search.step, search.low, search.high
        new_value, new_grad, new_slope = evaluated(step)
        here = step, new_value, new_slope
        finite = pnp.isfinite(new_value) & pnp.isfinite(new_slope)
        too_high = ~finite | (new_value > value + _C1 * step * slope + slack)
        too_high = too_high | ((new_value >= low[1] + slack) & (search.zooming | (search.count > 0)))
        flat = pnp.abs(new_slope) <= -_C2 * slope
        done = ~too_high & flat
        uphill = pnp.where(search.zooming, new_slope * (high[0] - low[0]) >= 0, new_slope >= 0)
        keep_low = too_high
        swap = ~too_high & uphill
        new_high = _choose(too_high, here, _choose(swap, low, high))
        new_low = _choose(keep_low, low, here)
        zooming = search.zooming | too_high | uphill
        # If the far end is not finite there is no cubic; use the midpoint.
        usable = pnp.isfinite(new_high[1]) & pnp.isfinite(new_high[2])
        ends = _choose(usable, new_high, (new_high[0], new_low[1], -new_low[2]))
        after = pnp.where(zooming, _between(new_low, ends), 2 * step)
        width = pnp.abs(new_high[0] - new_low[0])
        eps = float(dtypes.finfo(value.dtype).eps)
        stuck = zooming & ~done & (width <= eps * pnp.maximum(pnp.abs(new_low[0]), eps))
        lower = finite & (new_value <= search.best[1])
        best = _choose(done | (~search.done & lower & ~too_high), (step, new_value, new_grad), search.best)
        return _Search(after, new_low, new_high, zooming, done, stuck, best, search.count + 1)

    zero = pnp.zeros_like(value)
    start = zero, value, slope
    no = pnp.asarray(False)
    search = _Search(first, start, start, no, no, no, (zero, value, grad), pnp.asarray(0, np.int32))
    return lax.while_loop(condition, attempt, search)


def _choose(condition: Any, one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(pnp.where(condition, a, b) for a, b in zip(one, other, strict=True))


class _State(NamedTuple):
    """The state of a minimization."""

    x: Any
    value: Any
    grad: Any
    memory: Any
    evaluations: Any
    steps: Any
    status: Any  # -1 while the minimization runs


def _status(small: Any, search: _Search, moved: Any, value: Any) -> Array:
    ended = pnp.where(search.stuck | search.done, 3, 5)
    status = pnp.where(small, 0, pnp.where(~pnp.isfinite(value), 4, pnp.where(moved, -1, ended)))
    return status.astype(np.int32)


def _minimize(
    function: Any,
    x0: Any,
    memory: Any,
    direction_of: Any,
    update: Any,
    gtol: float,
    norm: Any,
    maxiter: int,
    maxls: int,
) -> _State:
    """Steps along quasi-Newton directions until the gradient is small enough."""

    def size(grad: Any) -> Array:
        return pnp.linalg.norm(grad, ord=norm)

    def condition(state: _State) -> Array:
        return (state.status == -1) & (state.steps < maxiter)

    def step(state: _State) -> _State:
        direction = direction_of(state.memory, state.grad)
        down = (state.grad @ direction < 0) & pnp.all(pnp.isfinite(direction))
        direction = pnp.where(down, direction, -state.grad)
        length = pnp.sqrt(state.grad @ state.grad)
        first = pnp.where((state.steps == 0) & (length > 1), 1 / length, 1).astype(x0.dtype)
        search = _line_search(function, state.x, direction, state.value, state.grad, first, maxls)
        length, value, grad = search.best
        # A step that reduces neither the value nor the gradient is due to rounding errors.
        moved = (length > 0) & ((value < state.value) | (size(grad) < size(state.grad)))
        x = state.x + length * direction
        memory = update(state.memory, x - state.x, grad - state.grad, state.steps)
        status = _status(size(grad) < gtol, search, moved, value)
        return _State(x, value, grad, memory, state.evaluations + search.count, state.steps + 1, status)

    value, grad = function(x0)
    status = pnp.where(size(grad) < gtol, 0, pnp.where(pnp.isfinite(value), -1, 4)).astype(np.int32)
    one, zero = pnp.asarray(1, np.int32), pnp.asarray(0, np.int32)
    state: _State = lax.while_loop(condition, step, _State(x0, value, grad, memory, one, zero, status))
    return state._replace(status=pnp.where(state.status == -1, 1, state.status))


def _bfgs_direction(inverse: Any, grad: Any) -> Array:
    return -(inverse @ grad)


def _bfgs_update(inverse: Any, s: Any, y: Any, steps: Any) -> Array:
    """The inverse Hessian by equation 6.17 of Nocedal and Wright; unchanged if the curvature is not positive.

    It is unchanged, too, if the new one would not be finite, as happens with 16 bits.
    """
    curvature = s @ y
    positive = curvature > 0
    rho = 1 / pnp.where(positive, curvature, 1)
    Hy = inverse @ y
    outer = pnp.outer(Hy, s)
    new = inverse - rho * (outer + outer.T) + rho * (1 + rho * (y @ Hy)) * pnp.outer(s, s)
    return pnp.where(positive & pnp.all(pnp.isfinite(new)), new, inverse)


def _limited_direction(memory: Any, grad: Any) -> Array:
    """The two-loop recursion, algorithm 7.4 of Nocedal and Wright; the newest pair is the last one."""
    S, Y, rho, scale = memory
    count = S.shape[0]
    q = grad
    alphas = []
    for i in range(count - 1, -1, -1):
        alpha = rho[i] * (S[i] @ q)
        alphas.append(alpha)
        q = q - alpha * Y[i]
    r = scale * q
    for i, alpha in zip(range(count), reversed(alphas), strict=True):
        r = r + S[i] * (alpha - rho[i] * (Y[i] @ r))
    return -r


def _limited_update(memory: Any, s: Any, y: Any, steps: Any) -> tuple[Any, ...]:
    S, Y, rho, _ = memory
    curvature = s @ y
    usable = curvature > 0
    inverse = 1 / pnp.where(usable, curvature, 1)
    shifted = (
        pnp.roll(S, -1, 0).at[-1].set(s),
        pnp.roll(Y, -1, 0).at[-1].set(y),
        pnp.roll(rho, -1).at[-1].set(inverse),
        curvature / pnp.where(usable, y @ y, 1),
    )
    return _choose(usable, shifted, memory)


_OPTIONS = {
    "bfgs": {"gtol": 1e-5, "norm": np.inf, "maxiter": None, "line_search_maxiter": 10},
    _L_BFGS: {"gtol": 1e-5, "norm": np.inf, "maxiter": None, "maxls": 20, "maxcor": 10},
}


def minimize(
    fun: Callable[..., Any],
    x0: ArrayLike,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """Minimize a function, using its gradient.

    Args:
      fun: a differentiable function `(x, *args) -> number` of a vector x of shape (n,).
      x0: the initial vector, a floating array of shape (n,).
      args: further arguments of `fun`, a tuple.
      method: "BFGS", or "l-bfgs-experimental-do-not-rely-on-this" for L-BFGS.
      tol: the gradient tolerance if `options` has no "gtol".
      options: "gtol", the tolerance of the gradient's norm, 1e-5 by default; "norm", the order of this norm, infinity;
        "maxiter", the maximal number of steps, 200 n; "line_search_maxiter" ("maxls" for L-BFGS), the maximal number of
        evaluations per line search; "maxcor", the number of steps that L-BFGS stores, 10.

    Returns:
      An `OptimizeResults`. Reverse mode does not differentiate through the steps.

    Raises:
      TypeError: `fun` is not callable, `x0` is not a floating array, `args` is not a tuple, or an option is unknown.
      ValueError: `method` is unknown, `x0` is not a vector, or `fun` does not return a number.

    Source: J. Nocedal and S. J. Wright, "Numerical optimization" (2006), algorithms 6.1 and 7.5.

    >>> import primax as px
    >>> found = px.scipy.optimize.minimize(lambda x: ((x - 3.0) ** 2).sum(), px.numpy.zeros(2), method="BFGS")
    >>> bool(found.success), [round(float(x), 3) for x in found.x]
    (True, [3.0, 3.0])
    """
    check_function("minimize", "fun", fun)
    if not isinstance(args, tuple):
        raise TypeError(f"minimize: args must be a tuple, got {args!r}")
    if not isinstance(method, str) or method.lower() not in _OPTIONS:
        raise ValueError(f'minimize: method must be "BFGS" or "{_L_BFGS}", got {method!r}')
    chosen: dict[str, Any] = dict(_OPTIONS[method.lower()])
    if tol is not None:
        chosen["gtol"] = tol
    for name, value in (options or {}).items():
        if name not in chosen:
            raise TypeError(f"minimize: options must be among {', '.join(chosen)} for {method}, got {name!r}")
        chosen[name] = value
    aval = get_aval(x0)
    if not dtypes.is_floating(aval.dtype):
        raise TypeError(f"minimize: x0 must be floating, got {aval.str_short()}")
    if len(aval.shape) != 1:
        raise ValueError(f"minimize: x0 must be a vector, got {aval.str_short()}; use ravel_pytree for other arrays")
    x0 = pnp.asarray(x0, aval.dtype)
    n = aval.shape[0]
    maxiter = 200 * n if chosen["maxiter"] is None else integer("minimize", "maxiter", chosen["maxiter"])
    limited = method.lower() == _L_BFGS
    most = integer("minimize", "line searches", chosen["maxls" if limited else "line_search_maxiter"])

    def objective(x: Any) -> Array:
        out = fun(x, *args)
        if get_aval(out).shape:
            raise ValueError(f"minimize: fun must return a number, got {get_aval(out).str_short()}")
        return pnp.asarray(out).astype(x0.dtype)

    if limited:
        size = integer("minimize", "maxcor", chosen["maxcor"])
        zeros = pnp.zeros((size, n), x0.dtype)
        memory: Any = zeros, zeros, pnp.zeros(size, x0.dtype), pnp.ones((), x0.dtype)
        rules: tuple[Any, Any] = _limited_direction, _limited_update
    else:
        memory, rules = pnp.eye(n, dtype=x0.dtype), (_bfgs_direction, _bfgs_update)
    gradient = value_and_grad(objective)
    state = _minimize(gradient, x0, memory, *rules, chosen["gtol"], chosen["norm"], maxiter, most)
    status, evaluations, steps = (
        pnp.asarray(x, dtypes.default_int_dtype()) for x in (state.status, state.evaluations, state.steps)
    )
    return OptimizeResults(
        x=state.x,
        success=status == 0,
        status=status,
        fun=state.value,
        jac=state.grad,
        hess_inv=None if limited else state.memory,
        nfev=evaluations,
        njev=evaluations,
        nit=steps,
    )
