"""Samples of control flow: constants, carries of several dtypes, and choices that differ along a mapped axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.provisional.sampling import bound_by, numbers
from primax.plugins.arithmetic import add, mul, sub
from primax.plugins.comparison import lt
from primax.plugins.control_flow.cond import cond, switch
from primax.plugins.control_flow.cond_rules import cond_p
from primax.plugins.control_flow.platforms import platform_index_p
from primax.plugins.control_flow.scan import scan
from primax.plugins.control_flow.scan_rules import scan_p
from primax.plugins.control_flow.while_loop import while_loop
from primax.plugins.control_flow.while_rules import while_p


def _cond_samples() -> list[core.Sample]:
    """Three branches, one of which is constant; two branches, one of which returns its operand."""
    x, y, n = numbers((3,), np.float64), numbers((3,), np.float64, 4), numbers((2,), np.int32)

    def choose(i: Any, x: Any, y: Any, n: Any) -> Any:
        branches = (
            lambda x, n: (mul(x, mul(x, y)), n),
            lambda x, n: (mul(x, y), add(n, n)),
            lambda x, n: (np.array([1, 2, 3], np.float64), n),
        )
        return switch(i, branches, x, n)

    def either(p: Any, x: Any) -> Any:
        return cond(p, lambda x: mul(x, x), lambda x: x, x)

    def other_branch(args: Sequence[Any], k: int) -> Sequence[Any]:
        return [np.int32((args[0] + k) % 3), *(np.roll(x, k) for x in args[1:])]

    return [
        bound_by(cond_p, choose, np.int32(1), x, y, n, vary=other_branch, name="three branches"),
        bound_by(cond_p, either, np.bool_(True), x, name="two branches"),
    ]


def _scan_samples() -> list[core.Sample]:
    """Forward and backward, with a constant, and carries and elements of several dtypes; and without elements."""
    a, x, n = numbers((2,), np.float64), numbers((3, 2), np.float64, 4), numbers((3,), np.int32)

    def step(a: Any) -> Callable[..., Any]:
        def run(carry: Any, element: Any) -> tuple[Any, Any]:
            (h, i), (x, n) = carry, element
            h = add(mul(a, h), mul(x, x))
            return (h, add(i, n)), (mul(h, x), i)

        return run

    def along(a: Any, h: Any, i: Any, x: Any, n: Any, **options: Any) -> tuple[Any, Any]:
        return scan(step(a), (h, i), (x, n), **options)

    def repeated(a: Any, h: Any) -> Any:
        return scan(lambda h, _: (mul(a, h), None), h, length=3)[0]

    args = a, np.flip(a), np.int32(2), x, n
    return [
        bound_by(scan_p, along, *args, name="forward"),
        bound_by(scan_p, lambda *xs: along(*xs, reverse=True, unroll=2), *args, name="backward, two steps a turn"),
        bound_by(scan_p, repeated, a, np.flip(a), name="without elements"),
    ]


def _while_samples() -> list[core.Sample]:
    """A number of steps that the condition closes over, and a condition on a computed value."""
    y, x = numbers((2,), np.float64), numbers((2,), np.float64, 4)

    def count(n: Any, y: Any, x: Any) -> Any:
        def body(carry: Any) -> tuple[Any, Any]:
            i, x = carry
            return add(i, np.int32(1)), mul(x, sub(y, x))

        return while_loop(lambda carry: lt(carry[0], n), body, (np.int32(0), x))

    def other_count(args: Sequence[Any], k: int) -> Sequence[Any]:
        return [np.int32(args[0] + k), *(np.roll(x, k) if np.ndim(x) else x for x in args[1:])]

    def grow(x: Any) -> Any:
        return while_loop(lambda x: lt(x, np.float64(10)), lambda x: mul(x, x), x)

    skip = {"transpose": "the number of steps, and so of values to keep, is not known beforehand"}
    return [
        bound_by(while_p, count, np.int32(2), y, x, vary=other_count, skip=skip, name="counted"),
        bound_by(while_p, grow, np.float64(1.5), skip=skip, name="until it is large"),
    ]


def _platform_samples() -> list[core.Sample]:
    return [
        core.Sample([], {"platforms": platforms}, reference=lambda *, platforms: np.int32(len(platforms) - 1))
        for platforms in ((("nowhere",), None), (None,))
    ]


SAMPLES = {
    cond_p: _cond_samples,
    while_p: _while_samples,
    scan_p: _scan_samples,
    platform_index_p: _platform_samples,
}
