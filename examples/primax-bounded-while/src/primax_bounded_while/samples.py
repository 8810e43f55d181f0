"""Samples: loops that stop by their condition and by their bound, with constants and carries of several dtypes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import primax as px
from primax.extend import core
from primax_bounded_while.loop import bounded_while

__all__ = ["samples"]


def samples() -> list[core.Sample]:
    """A loop whose number of steps is a constant, and one whose number depends on computed values or on the bound."""
    x, y = np.array([0.3, -1.2, 0.8]), np.array([0.7, 0.4, -0.6])

    def counted(n: Any, y: Any, i: Any, x: Any) -> Any:
        return bounded_while(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * (y - c[1])), (i, x), 5)

    def counted_slowly(n: Any, y: Any, i: Any, x: Any, *, max_steps: int, **params: Any) -> list[Any]:
        steps = min(n - i, max_steps)
        for _ in range(steps):
            x = x * (y - x)
        return [i + steps, x]

    def growing(x: Any) -> Any:
        return bounded_while(lambda x: x < 10.0, lambda x: x * x, x, 4)

    def grown_slowly(x: Any, *, max_steps: int, **params: Any) -> list[Any]:
        for _ in range(max_steps):
            x = x * x if x < 10.0 else x
        return [x]

    def other_counts(args: Sequence[Any], k: int) -> Sequence[Any]:
        return [np.int32(args[0] + 3 * k), *(np.roll(x, k) if np.ndim(x) else x for x in args[1:])]

    def other_numbers(args: Sequence[Any], k: int) -> Sequence[Any]:
        return [args[0] * (1 + k)]

    options: dict[str, Any] = {"reference": grown_slowly, "vary": other_numbers}
    grown = _sample(growing, np.array(1.5), name="until it is large", **options)
    return [
        _sample(counted, np.int32(3), y, np.int32(0), x, name="counted", reference=counted_slowly, vary=other_counts),
        grown,
        core.Sample(grown.args, {**grown.params, "max_steps": 1}, name="one step", **options),
    ]


def _sample(fun: Callable[..., Any], *args: Any, **options: Any) -> core.Sample:
    """The operands and parameters of the single equation of a function, in double precision."""
    with px.enable_x64(True):
        jaxpr = px.make_jaxpr(fun)(*args).jaxpr
    (eqn,) = jaxpr.eqns
    values = dict(zip(jaxpr.invars, args, strict=True))
    return core.Sample([values[v] for v in eqn.invars], eqn.params, **options)
