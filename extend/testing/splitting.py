"""Checks of the rules that take programs apart: dead-code elimination and partial evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from primax.core import config
from primax.core.check import check_jaxpr
from primax.core.dce import dce_jaxpr
from primax.core.jaxpr import ClosedJaxpr, eval_jaxpr
from primax.extend.testing.case import Case, is_array_type
from primax.extend.testing.evaluation import tolerance
from primax.extend.testing.invariants import difference_alone, require_same
from primax.extend.testing.programs import Parts
from primax.extend.testing.report import Failed, NotRun
from primax.interpreters.linearize import linear_tape
from primax.interpreters.partial_eval import partial_eval_jaxpr
from primax.interpreters.staging import trace_to_jaxpr

__all__ = ["check_dce", "check_partial_eval", "check_tape"]


def _program(case: Case, kind: str) -> ClosedJaxpr:
    """The primitive as a program.

    Raises:
      NotRun: there is no rule of the kind, which is optional.
    """
    if not case.has(kind):
        raise NotRun(f"there is no {kind} rule, which is optional")
    native = case.native
    with config.enable_x64(native.x64):
        return trace_to_jaxpr(native.bind, native.avals)


def check_dce(case: Case) -> None:
    """Dead-code elimination that keeps one result does not change that result."""
    closed = _program(case, "dce")
    native = case.native
    count = len(native.out_avals)

    def part(positions: Sequence[int]) -> Any:
        trimmed, used = dce_jaxpr(closed.jaxpr, [j in positions for j in range(count)])
        check_jaxpr(trimmed)
        return lambda *xs: eval_jaxpr(trimmed, closed.consts, *[x for x, u in zip(xs, used, strict=True) if u])

    with config.enable_x64(native.x64):
        functions: dict[Any, Any] = {i: part([i]) for i in range(min(count, 3))}
        if case.sample.invariants is not None:
            functions["all"] = part(range(count))
    parts = Parts(functions, native.args, compiled=case.compiles, x64=native.x64)
    wants = native.base(*native.args)
    for i in range(min(count, 3)):
        if not is_array_type(native.out_avals[i]):
            continue
        got, want = parts[i][0], np.asarray(wants[i])
        off = difference_alone(case, got, want, tolerance(case, want.dtype), partial(parts.rounding, i, 0))
        if off:
            raise Failed(f"result {i} differs if no other result is used: {off}", "dce")
    if "all" in functions:
        message = "{what} differs if all results are used"
        require_same(case, parts["all"], wants, native.args, partial(tolerance, case), message, "dce")


def check_partial_eval(case: Case) -> None:
    """Partial evaluation with one unknown argument does not change the results."""
    closed = _program(case, "partial_eval_jaxpr")
    native = case.native
    count = len(native.args)
    with config.enable_x64(native.x64):
        functions = {i: _in_two_parts(closed, [j == i for j in range(count)]) for i in range(min(count, 3))}
    parts = Parts(functions, native.args, compiled=case.compiles, x64=native.x64)
    wants = native.base(*native.args)
    for unknown in functions:
        message = f"{{what}} differs if argument {unknown} is unknown"
        require_same(case, parts[unknown], wants, native.args, partial(tolerance, case), message, "partial_eval_jaxpr")


def check_tape(case: Case) -> None:
    """A tape that the partial_eval rule records for some arguments gives the same results when it is replayed."""
    if not case.has("partial_eval"):
        raise NotRun("there is no partial_eval rule, which is optional")
    if case.sample.axes:
        raise NotRun("it needs the axes that its sample names")
    native = case.native
    count = len(native.args)
    chosen = [[i] for i in range(min(count, 3))] + [[*range(count)]] * (count > 1)

    def replayed(positions: Sequence[int], *xs: Any) -> list[Any]:
        def recorded(*tracers: Any) -> list[Any]:
            values = list(xs)
            for i, tracer in zip(positions, tracers, strict=True):
                values[i] = tracer
            return native.bind(*values)

        tape = linear_tape(recorded, [native.avals[i] for i in positions])
        return tape.replay(*[xs[i] for i in positions])

    functions: dict[Any, Any] = {tuple(positions): partial(replayed, positions) for positions in chosen}
    parts = Parts(functions, native.args, compiled=case.compiles, x64=native.x64)
    wants = native.base(*native.args)
    for positions in functions:
        try:
            outs = parts[positions]
        except Exception as error:
            text = f"for a tape of arguments {list(positions)}: {type(error).__name__}: {error}"
            raise Failed(text, "partial_eval") from error
        message = f"{{what}} of a tape of arguments {list(positions)} differs from that of the primitive"
        require_same(case, outs, wants, native.args, partial(tolerance, case), message, "partial_eval")


def _in_two_parts(closed: ClosedJaxpr, unknown_in: Sequence[bool]) -> Any:
    split = partial_eval_jaxpr(closed, unknown_in)
    check_jaxpr(split.known)
    check_jaxpr(split.unknown)

    def run(*xs: Any) -> list[Any]:
        known_in = [x for x, u in zip(xs, unknown_in, strict=True) if not u]
        known_out = eval_jaxpr(split.known.jaxpr, split.known.consts, *known_in)
        known = [*known_in, *known_out]
        residuals = [known[i] for i in split.residuals]
        rest = [x for x, u in zip(xs, unknown_in, strict=True) if u]
        unknown_out = iter(eval_jaxpr(split.unknown.jaxpr, split.unknown.consts, *residuals, *rest))
        known_values = iter(known_out)
        return [next(unknown_out) if u else next(known_values) for u in split.unknown_out]

    return run
