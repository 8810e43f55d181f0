"""A few primitives with rules for tests of the kernel, and programs with them."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from heap import freeze_heap

import primax.interpreters.runtime.eval  # noqa: F401 - the trace that computes
from primax.core.avals import ShapedArray
from primax.core.effects import Effect, register_effect
from primax.core.jaxpr import ClosedJaxpr, Jaxpr, Literal, Var, eval_jaxpr, new_jaxpr_eqn
from primax.core.primitive import Primitive
from primax.interpreters.staging import trace_to_jaxpr

F32 = ShapedArray((), np.float32)
TWO = np.float32(2)

mul_p = Primitive("mul")
mul_p.def_impl(lambda x, y: np.multiply(x, y))


@mul_p.def_abstract_eval
def _mul_abstract_eval(x: Any, y: Any) -> Any:
    if x.shape != y.shape and x.shape and y.shape:
        raise TypeError(f"mul: shapes must agree, got {x.shape} and {y.shape}")
    if x.dtype != y.dtype:
        raise TypeError(f"mul: dtypes must agree, got {x.dtype} and {y.dtype}")
    return ShapedArray(x.shape or y.shape, x.dtype)


sin_p = Primitive("sin")
sin_p.def_impl(np.sin)
sin_p.def_abstract_eval(lambda x: x)

sincos_p = Primitive("sincos", multiple_results=True)
sincos_p.def_impl(lambda x: [np.sin(x), np.cos(x)])
sincos_p.def_abstract_eval(lambda x: [x, x])

call_p = Primitive("call", multiple_results=True)
call_p.def_impl(lambda *args, jaxpr, **params: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args))
call_p.def_effectful_abstract_eval(lambda *avals, jaxpr, **params: (jaxpr.out_avals, jaxpr.effects))


@dataclass(frozen=True)
class Shout(Effect):
    """An effect of toys."""


register_effect(Shout)
shout_p = Primitive("shout", multiple_results=True)
shout_p.def_effectful_abstract_eval(lambda *avals: ([], {Shout()}))
shout_p.def_impl(lambda *args: [])


def powers(n: int) -> Callable[[Any], list[Any]]:
    """A function of `n` successive equations."""

    def fun(x: Any) -> list[Any]:
        for _ in range(n):
            x = mul_p.bind(x, TWO)
        return [x]

    return fun


def chain(n: int) -> ClosedJaxpr:
    """The program of `powers(n)`, made without staging."""
    xs = [Var(F32) for _ in range(n + 1)]
    eqns = [new_jaxpr_eqn([xs[i], Literal(TWO)], [xs[i + 1]], mul_p, {}) for i in range(n)]
    return ClosedJaxpr(Jaxpr([], [xs[0]], [xs[n]], eqns))


def two_results() -> Jaxpr:
    """sin(2 a) and b^2, with an unread product."""
    a, b, c, s, d, unread = (Var(F32) for _ in range(6))
    eqns = [
        new_jaxpr_eqn([Literal(TWO), a], [c], mul_p, {}),
        new_jaxpr_eqn([c], [s], sin_p, {}),
        new_jaxpr_eqn([b, b], [d], mul_p, {}),
        new_jaxpr_eqn([a, b], [unread], mul_p, {}),
    ]
    return Jaxpr([], [a, b], [s, d], eqns)


def nested(depth: int) -> ClosedJaxpr:
    """A program that calls a program that calls a program, and so on, down to a sine."""
    closed = trace_to_jaxpr(lambda x: [sin_p.bind(x)], [F32])
    for _ in range(depth):
        closed = trace_to_jaxpr(lambda x, inner=closed: call_p.bind(x, jaxpr=inner), [F32])
    return closed


def grows_linearly(prepare: Callable[[int], Any], run: Callable[[Any], Any]) -> bool:
    """Whether `run` costs less than 4 times as much on a program of 30,000 equations as on 10 programs of 3,000.

    Quadratic cost would be 10 times as much. What else the processor does changes the cost, so the two are measured one
    after the other, until they fit.
    """

    def cost(n: int, programs: int) -> float:
        prepared = [prepare(n) for _ in range(programs)]
        gc.collect()
        gc.disable()
        start = time.process_time()
        try:
            for each in prepared:
                run(each)
            return time.process_time() - start
        finally:
            gc.enable()

    freeze_heap()
    cost(1000, 1)
    return any(cost(30_000, 1) < 4 * cost(3_000, 10) for _ in range(8))
