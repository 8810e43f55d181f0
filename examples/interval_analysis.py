"""Bounds of all values that a function may compute, by an interpreter whose values are intervals.

Branches give the bounds of all branches that are possible, and loops bounds that hold after any number of rounds.

Run it by `python examples/interval_analysis.py`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import primax as px
import primax.numpy as pnp
from primax.extend import Interpreter, core, replay


class Interval(NamedTuple):
    """Bounds of each element of an array: two arrays of its shape and dtype."""

    low: Any
    high: Any


class Intervals(Interpreter):
    """Computes an interval for each variable."""

    def lift(self, constant):
        return Interval(constant, constant)

    def join(self, x, y):
        return Interval(np.minimum(x.low, y.low), np.maximum(x.high, y.high))

    def widen(self, x, y):
        least, most = _limits(np.asarray(y.low).dtype)
        return Interval(
            np.where(np.less(y.low, x.low), least, y.low).astype(least.dtype),
            np.where(np.greater(y.high, x.high), most, y.high).astype(most.dtype),
        )

    def possible(self, value, choices):
        return range(min(max(int(value.low), 0), choices - 1), min(max(int(value.high), 0), choices - 1) + 1)


def _limits(dtype):
    """The least and the greatest number of a dtype."""
    if dtype.kind in "bf":
        return (np.False_, np.True_) if dtype.kind == "b" else (dtype.type(-np.inf), dtype.type(np.inf))
    return dtype.type(np.iinfo(dtype).min), dtype.type(np.iinfo(dtype).max)


def primitives(names):
    return [getattr(core.primitives, f"{name}_p") for name in names.split()]


STRUCTURE = "broadcast_in_dim concatenate convert_element_type copy reshape rev slice squeeze transpose"


@Intervals.rule(*primitives(f"add exp log tanh max min clamp and or reduce_sum reduce_max cumsum {STRUCTURE}"))
def increasing(self, eqn, *xs):
    return Interval(*(replay(eqn, ends)[0] for ends in zip(*xs, strict=True)))


@Intervals.rule(*primitives("neg not"))
def decreasing(self, eqn, x):
    return Interval(replay(eqn, [x.high])[0], replay(eqn, [x.low])[0])


@Intervals.rule(*primitives("sub lt le gt ge"))
def difference(self, eqn, x, y):
    ends = [replay(eqn, [x.low, y.high])[0], replay(eqn, [x.high, y.low])[0]]
    return Interval(*(ends if eqn.primitive.name not in ("lt", "le") else ends[::-1]))


@Intervals.rule(*primitives("mul"))
def product(self, eqn, x, y):
    ends = np.stack([replay(eqn, [a, b])[0] for a in x for b in y])
    return Interval(np.min(ends, 0), np.max(ends, 0))


@Intervals.rule(*primitives("sin cos"))
def wave(self, eqn, x):
    return Interval(-pnp.ones_like(x.low), pnp.ones_like(x.low))


@Intervals.rule(*primitives("select_n"))
def choice(self, eqn, which, *cases):
    low = np.where(which.low, cases[1].low, np.where(which.high, np.minimum(*(c.low for c in cases)), cases[0].low))
    high = np.where(which.low, cases[1].high, np.where(which.high, np.maximum(*(c.high for c in cases)), cases[0].high))
    return Interval(low, high)


def bounds(function, *intervals):
    """The interval of the result of a function of arrays, for arguments in some intervals."""
    closed = px.make_jaxpr(function)(*(x.low for x in intervals))
    (out,) = Intervals().interpret(closed, *intervals)
    return out


def damped(x):
    """Halves a number until it is small; the number of rounds depends on the number."""
    return px.lax.while_loop(lambda x: x > 1.0, lambda x: 0.5 * x, x)


def main():
    unit = Interval(np.float32(-1), np.float32(2))
    print("cond: ", bounds(lambda x: px.lax.cond(x > 0, lambda x: x + 10.0, lambda x: -x, x), unit))
    print("while:", bounds(damped, Interval(np.float32(0), np.float32(1000))))
    print("scan: ", bounds(lambda x: px.lax.scan(lambda c, _: (pnp.tanh(c + x), None), x, length=1000)[0], unit))


if __name__ == "__main__":
    main()
