"""`debug_nans` and `debug_infs`: errors for nan and inf results, at the operation that computes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.core import dtypes
from primax.core.avals import ShapedArray, get_aval
from primax.core.config import debug_infs, debug_nans
from primax.core.diagnostics import user_line
from primax.core.jaxpr import ClosedJaxpr, JaxprEqn
from primax.extend.interpreter import Interpreter, replay
from primax.interpreters.runtime.array import Array
from primax.interpreters.runtime.extended_array import physical, physical_aval
from primax.interpreters.runtime.options import disable_jit

__all__ = ["watch_program"]


def found_in(values: Sequence[Any]) -> str:
    """The option that forbids some of the numbers in values, and their place; empty if no option does."""
    for value in values:
        x, aval = physical(value), get_aval(value)
        if not isinstance(aval, ShapedArray) or not dtypes.is_inexact(physical_aval(aval).dtype):
            continue
        host = x._host() if type(x) is Array else np.asarray(x)
        for option, kind, test in ((debug_nans, "nan", np.isnan), (debug_infs, "inf", np.isinf)):
            count = int(np.count_nonzero(test(host))) if option.value else 0
            if count:
                return f"with {option.short_name} results must not be {kind}, got {count} in {aval.str_short()}"
    return ""


def refuse(name: str, outs: Sequence[Any], args: Sequence[Any]) -> None:
    """Raise an error if results are nan or inf.

    Args:
      name: the name of the operation.
      outs: its results.
      args: its arguments.

    Raises:
      FloatingPointError: a result has a nan or inf; the message names the line.
    """
    problem = found_in(outs)
    if problem:
        already = "; an argument has such values too" if found_in(args) else ""
        raise FloatingPointError(f"{name}: {problem}, at {user_line()}{already}")


def is_operation(name: str, closed: ClosedJaxpr) -> bool:
    """Whether a program is the evaluation of one primitive, which has the primitive's name."""
    return any(eqn.primitive.name == name for eqn in closed.jaxpr.eqns)


class OneByOne(Interpreter):
    """Evaluates a program one operation at a time, including the operations of inner programs."""

    def default(self, eqn: JaxprEqn, *values: Any) -> Any:
        outs = replay(eqn, values)
        refuse(eqn.primitive.name, outs, values)
        return outs if eqn.primitive.multiple_results else outs[0]

    default_higher_order = default

    def _say_where(self, error: Exception, eqn: JaxprEqn) -> None:
        """Add no note: the errors that this class raises name the line themselves."""


def watch_program(name: str, closed: ClosedJaxpr, args: Sequence[Any]) -> Callable[[Sequence[Any]], None]:
    """Watch a program for nan or inf results, as `debug_nans` and `debug_infs` require.

    If the program is the evaluation of one operation, its result raises an error. Another program with such a result is
    run again step by step, with loops and branches in Python; the first step with such a result raises an error that
    names its line. Effects of the program happen again.

    Args:
      name: the name of the program.
      closed: the program.
      args: its arguments.
    """

    def check(outs: Sequence[Any]) -> None:
        problem, label = found_in(outs), name.removeprefix("jit_")
        if not problem:
            return
        try:
            with disable_jit(True):
                OneByOne().interpret(closed, *args)
        except FloatingPointError:
            raise
        except Exception as error:
            raise FloatingPointError(
                f"{label}: {problem}; the program cannot be run step by step to find the operation"
            ) from error
        raise FloatingPointError(f"{label}: {problem}; run one by one, none of its operations gave such a result")

    return (lambda outs: refuse(name, outs, args)) if is_operation(name, closed) else check
