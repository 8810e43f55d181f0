"""Ordinary differential equations: `odeint`, with gradients by the adjoint equation."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval, tree
from primax.extend.held_programs import partition
from primax.extend.lazy_names import explain_absent
from primax.extend.provisional.arguments import real_number, rename
from primax.extend.provisional.transformations import vjp
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.conversion import asarray
from primax.numpy.creation import zeros_like
from primax.numpy.joining import concatenate, stack
from primax.numpy.reductions import sum as sum_of
from primax.numpy.rounding import clip
from primax.numpy.selection import where
from primax.numpy.ufuncs import absolute, maximum, minimum, real, sqrt, square
from primax.plugins.control_flow import scan, while_loop
from primax.plugins.custom_derivatives import closure_convert, custom_vjp

__all__ = ["odeint"]
__dir__ = __all__.copy
explain_absent(__name__)

# J. R. Dormand and P. J. Prince, "A family of embedded Runge-Kutta formulae" (1980): nodes, stages, the solution of
# fifth order, and its difference from the solution of fourth order. The last stage is the next step's first.
_NODES = (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_STAGES = (
    (),
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_ERROR = (
    35 / 384 - 5179 / 57600,
    0.0,
    500 / 1113 - 7571 / 16695,
    125 / 192 - 393 / 640,
    -2187 / 6784 + 92097 / 339200,
    11 / 84 - 187 / 2100,
    -1 / 40,
)
# The solution in the middle of a step: L. F. Shampine, "Some practical Runge-Kutta formulas" (1986).
_MIDDLE = (
    6025192743 / 30085553152 / 2,
    0.0,
    51252292925 / 65400821598 / 2,
    -2691868925 / 45128329728 / 2,
    187940372067 / 1594534317056 / 2,
    -1776094331 / 19743644256 / 2,
    11237099 / 235043384 / 2,
)


def odeint(
    func: Callable[..., Any],
    y0: object,
    t: ArrayLike,
    *args: object,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = np.inf,
    hmax: float = np.inf,
) -> Any:
    """Solve dy/dt = func(y, t, *args) by Dormand and Prince's adaptive method of order 5.

    Gradients with respect to `y0`, `t` and `args` come from the adjoint equation, solved backwards in time, so that
    memory does not grow with the number of steps. `func` may close over differentiated values.

    Args:
      func: a function `(y, t, *args) -> dy/dt`; the result has the structure, shapes and dtypes of y.
      y0: the value at `t[0]`, a pytree of floating or complex arrays.
      t: the times, a floating array of rank 1, ascending or descending; times may be repeated.
      args: further arguments of `func`, pytrees of arrays.
      rtol: the error tolerance per step, relative to y.
      atol: the absolute error tolerance per step.
      mxstep: the maximal number of steps between two times.
      hmax: the maximal length of a step.

    Returns:
      y at the times `t`, stacked along a new axis 0; NaN if `mxstep` steps do not suffice, or if `t` is not monotonic.

    Raises:
      TypeError: `y0` is neither floating nor complex, `t` is not floating, or an argument is not an array.
      ValueError: `t` is not of rank 1, or a tolerance is not positive.

    Source: R. T. Q. Chen et al., "Neural ordinary differential equations" (2018), for the adjoint.

    >>> import primax as px
    >>> t = px.numpy.linspace(0.0, 1.0, 3)
    >>> ys = px.ode.odeint(lambda y, t: -y, 1.0, t)
    >>> [round(float(y), 4) for y in ys]
    [1.0, 0.6065, 0.3679]
    """
    if not callable(func):
        raise TypeError(f"odeint: func must be a function (y, t, *args), got {func!r}")
    for name, value in (("rtol", rtol), ("atol", atol), ("mxstep", mxstep), ("hmax", hmax)):
        if not real_number("odeint", name, value) > 0:
            raise ValueError(f"odeint: {name} must be positive, got {value}")
    times = get_aval(t)
    if len(times.shape) != 1 or not times.shape[0]:
        raise ValueError(f"odeint: t must be of rank 1, with one time or more, got {times.str_short()}")
    for path, leaf in tree.tree_leaves_with_path(y0):
        aval = get_aval(leaf)
        if not dtypes.is_inexact(aval.dtype):
            raise TypeError(f"odeint: y0{tree.keystr(path)} must be floating or complex, got {aval.str_short()}")
    if not dtypes.is_floating(times.dtype):
        raise TypeError(f"odeint: t must be floating, got {times.str_short()}")
    y0, t = tree.tree_map(_strongly_typed, (y0, t))
    converted, consts = closure_convert(func, y0, asarray(t)[0], *args)
    return _solve(converted, (rtol, atol, mxstep, hmax), y0, t, (*args, *consts))


def _strongly_typed(x: Any) -> Any:
    """Convert to an array whose dtype does not depend on that of the times."""
    return asarray(x, get_aval(x).dtype)


def _flat(func: Callable[..., Any], structure: Any) -> Callable[..., list[Any]]:
    """The right-hand side as a function of lists of leaves."""

    def flat(ys: Sequence[Any], t: Any, args: Any) -> list[Any]:
        return tree.flatten(func(tree.unflatten(structure, ys), t, *args))[0]

    return flat


def _norm(parts: Sequence[Any]) -> Array:
    """The root mean square of all elements."""
    count = max(sum(x.size for x in parts), 1)
    return sqrt(sum(sum_of(_squares(x)) for x in parts) / count)


def _squares(x: Any) -> Array:
    """The squares of absolute values."""
    return square(absolute(x) if dtypes.is_complex(x.dtype) else x)


def _combined(ks: Sequence[Sequence[Any]], weights: Sequence[float], dt: Any) -> list[Any]:
    """For each leaf, `dt` times the weighted sum of slopes."""
    sums = [sum(w * k for w, k in zip(weights, leaf_ks, strict=False) if w) for leaf_ks in zip(*ks, strict=True)]
    return [_moved(k, dt) for k in sums]


def _moved(slope: Any, dt: Any) -> Array:
    """`slope` times `dt`, in the dtype of the slope, which may be narrower than that of the times."""
    return (dt * slope).astype(slope.dtype)


def _step(flat: Any, ys: Any, fs: Any, t: Any, dt: Any, args: Any) -> tuple[Any, Any, Any, Any]:
    """One step: the new values and slopes, the error estimate, and all slopes."""
    ks = [fs]
    for node, weights in zip(_NODES[1:], _STAGES[1:], strict=True):
        now = [y + d for y, d in zip(ys, _combined(ks, weights, dt), strict=True)]
        ks.append(flat(now, t + node * dt, args))
    return now, ks[-1], _combined(ks, _ERROR, dt), ks


def _error_ratio(error: Any, old: Any, new: Any, rtol: float, atol: float) -> Array:
    scaled = [e / (atol + rtol * maximum(absolute(a), absolute(b))) for e, a, b in zip(error, old, new, strict=True)]
    return _norm(scaled)


def _first_step(flat: Any, ys: Any, fs: Any, t: Any, args: Any, rtol: float, atol: float) -> Array:
    """The initial step size; E. Hairer, S. P. Norsett, G. Wanner, "Solving ODEs I", II.4."""
    scale = [atol + rtol * absolute(y) for y in ys]
    d0 = _norm([y / s for y, s in zip(ys, scale, strict=True)])
    d1 = _norm([f / s for f, s in zip(fs, scale, strict=True)])
    h0 = where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / where(d1 == 0, 1.0, d1))
    later = flat([y + _moved(f, h0) for y, f in zip(ys, fs, strict=True)], t + h0, args)
    d2 = _norm([(g - f) / s for g, f, s in zip(later, fs, scale, strict=True)]) / h0
    steepest = maximum(d1, d2)
    h1 = where(steepest <= 1e-15, maximum(1e-6, h0 * 1e-3), (0.01 / where(steepest == 0, 1.0, steepest)) ** 0.2)
    return minimum(100.0 * h0, h1)


def _next_step(dt: Any, ratio: Any) -> Array:
    """The next step size: 0.9 times the optimal one for an error of `ratio` times the tolerance, within limits."""
    least = where(ratio < 1, 1.0, 0.2)
    factor = minimum(10.0, maximum(0.9 * where(ratio == 0, 1e-10, ratio) ** -0.2, least))
    return where(ratio == 0, dt * 10.0, dt * factor)


def _quartics(ys: Any, new: Any, ks: Any, dt: Any) -> list[tuple[Any, ...]]:
    """For each leaf, the polynomial of degree 4 that interpolates a step; highest power first."""
    middles = [y + d for y, d in zip(ys, _combined(ks, _MIDDLE, dt), strict=True)]
    quartics = []
    for y0, y1, ym, k0, k1 in zip(ys, new, middles, ks[0], ks[-1], strict=True):
        d0, d1 = _moved(k0, dt), _moved(k1, dt)
        a = -2 * d0 + 2 * d1 - 8 * y0 - 8 * y1 + 16 * ym
        b = 5 * d0 - 3 * d1 + 18 * y0 + 14 * y1 - 32 * ym
        c = -4 * d0 + d1 - 11 * y0 - 5 * y1 + 16 * ym
        quartics.append((a, b, c, d0, y0))
    return quartics


def _integrate(
    forwards: Any, ys: list[Any], times: Any, args: Any, rtol: float, atol: float, mxstep: float, hmax: float
) -> list[Any]:
    """The leaves of the solution, stacked over times, which ascend or descend."""
    # Descending times are ascending ones of the function that runs backwards.
    direction = where(times[-1] < times[0], -1, 1).astype(times.dtype)
    times = times * direction

    def flat(ys: Sequence[Any], t: Any, args: Any) -> list[Any]:
        return [_moved(slope, direction) for slope in forwards(ys, t * direction, args)]

    start = times[0]
    fs = flat(ys, start, args)
    dt = clip(_first_step(flat, ys, fs, start, args, rtol, atol), 0.0, hmax).astype(times.dtype)
    constant = [(*(zeros_like(y) for _ in range(4)), y) for y in ys]

    def until(carry: Any, target: Any) -> tuple[Any, Any]:
        def condition(state: Any) -> Array:
            i, (_, _, t, dt, _, _) = state
            return (t < target) & (i < mxstep) & (dt > 0)

        def attempt(state: Any) -> tuple[Any, Any]:
            i, (ys, fs, t, dt, before, quartics) = state
            new, new_fs, error, ks = _step(flat, ys, fs, t, dt, args)
            ratio = _error_ratio(error, ys, new, rtol, atol)
            accept = ratio <= 1
            fresh = (new, new_fs, t + dt, t, _quartics(ys, new, ks, dt))
            kept = (ys, fs, t, before, quartics)
            ys, fs, t, before, quartics = tree.tree_map(lambda a, b: where(accept, a, b), fresh, kept)
            dt = clip(_next_step(dt, ratio), 0.0, hmax).astype(times.dtype)
            return i + 1, (ys, fs, t, dt, before, quartics)

        _, carry = while_loop(condition, attempt, (0.0, carry))
        _, _, t, _, before, quartics = carry
        part = (target - before) / where(t == before, 1.0, t - before)
        values = [functools.reduce(lambda total, c: _moved(total, part) + c, quartic) for quartic in quartics]
        arrived = (t >= target) & (target >= before)  # times must be monotonic
        return carry, [where(arrived, y, np.nan) for y in values]

    _, later = scan(until, (ys, fs, start, dt, start, constant), times[1:])
    return [concatenate([y[None], rest]) for y, rest in zip(ys, later, strict=True)]


@functools.partial(custom_vjp, nondiff_argnums=(0, 1))
def _solve(func: Any, how: tuple[float, ...], y0: Any, t: Any, args: Any) -> Any:
    ys, structure = tree.flatten(y0)
    return tree.unflatten(structure, _integrate(_flat(func, structure), ys, t, args, *how))


def _solve_fwd(func: Any, how: tuple[float, ...], y0: Any, t: Any, args: Any) -> tuple[Any, Any]:
    ys = _solve(func, how, y0, t, args)
    return ys, (ys, t, args)


def _solve_bwd(func: Any, how: tuple[float, ...], residuals: Any, cts: Any) -> tuple[Any, Any, Any]:
    """Solve backwards from each time to the one before for the solution, its adjoint, and the gradient of `args`."""
    ys, times, args = residuals
    arg_leaves, arg_tree = tree.flatten(args)
    moving = [dtypes.issubdtype(get_aval(x).dtype, np.inexact) for x in arg_leaves]

    fixed, own = partition(arg_leaves, moving)

    def whole(own: Sequence[Any], fixed: Sequence[Any]) -> Any:
        inexact, others = iter(own), iter(fixed)
        return tree.unflatten(arg_tree, [next(inexact) if m else next(others) for m in moving])

    def backwards(state: Any, negative_t: Any, own: Any, fixed: Any) -> tuple[Any, Any, Any]:
        y, adjoint, _ = state
        dy, pull = vjp(lambda y, own: func(y, -negative_t, *whole(own, fixed)), y, own)
        y_bar, leaves_bar = pull(adjoint)
        return tree.tree_map(lambda x: -x, dy), y_bar, leaves_bar

    def slope_along(y: Any, t: Any, bar: Any) -> Any:
        """The derivative of a result along the solution, for cotangents of the solution."""
        pairs = zip(tree.tree_leaves(func(y, t, *args)), tree.tree_leaves(bar), strict=True)
        return sum((real(sum_of(a * b)) for a, b in pairs), zeros_like(times[0])).astype(times.dtype)

    def interval(carry: Any, element: Any) -> tuple[Any, Any]:
        adjoint, sums = carry
        y, ct, t, before = element
        t_bar = slope_along(y, t, ct)
        adjoint = tree.tree_map(lambda a, b: a + b, adjoint, ct)
        span = stack([-t, -before])
        _, adjoint, sums = tree.tree_map(lambda x: x[1], _solve(backwards, how, (y, adjoint, sums), span, (own, fixed)))
        return (adjoint, sums), t_bar

    start = tree.tree_map(lambda x: zeros_like(x[0]), ys), [zeros_like(x) for x in own]
    later = (*(tree.tree_map(lambda x: x[1:], values) for values in (ys, cts)), times[1:], times[:-1])
    (adjoint, sums), t_bars = scan(interval, start, later, reverse=True)
    # If the first time is later and the first value the same, all later values lack the first part of the change.
    first_t = -slope_along(tree.tree_map(lambda x: x[0], ys), times[0], adjoint)
    adjoint = tree.tree_map(lambda a, ct: a + ct[0], adjoint, cts)
    t_bar = concatenate([first_t[None], t_bars])
    cotangents = iter(sums)
    args_bar = tree.unflatten(arg_tree, [next(cotangents) if m else None for m in moving])
    return adjoint, t_bar, args_bar


_solve.defvjp(_solve_fwd, _solve_bwd)
rename(_solve.fun, "odeint")
