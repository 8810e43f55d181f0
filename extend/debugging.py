"""Rerun of programs with nan or inf results, one operation after the other, to find the first such operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primax.core.jaxpr import ClosedJaxpr, JaxprEqn
from primax.extend.interpreter import Interpreter, replay
from primax.extend.options import disable_jit
from primax.interpreters.runtime.debug.nonfinite import found_in, is_operation, refuse

__all__ = ["watch_program"]


class OneByOne(Interpreter):
    """Evaluates a program one operation at a time, including the operations of inner programs."""

    def default(self, eqn: JaxprEqn, *values: Any) -> Any:
        outs = replay(eqn, values)
        refuse(eqn.primitive.name, outs, values)
        return outs if eqn.primitive.multiple_results else outs[0]

    default_higher_order = default

    def _say_where(self, error: Exception, eqn: JaxprEqn) -> None:
        """Add no note: the errors that this class raises name the line themselves."""


def watch_program(name: str, closed: ClosedJaxpr, args: Sequence[Any]) -> Callable[[Sequence[Any]], None] | None:
    """Watch a program for nan or inf results, as `debug_nans` and `debug_infs` require.

    A program with such a result is run again step by step, with loops and branches in Python. The first step with such
    a result raises an error that names its line. Effects of the program happen again.

    Args:
      name: the name of the program.
      closed: the program.
      args: its arguments.
    """

    def check(outs: Sequence[Any]) -> None:
        found, label = found_in(outs), name.removeprefix("jit_")
        if not found:
            return
        try:
            with disable_jit(True):
                OneByOne().interpret(closed, *args)
        except FloatingPointError:
            raise
        except Exception as error:
            raise FloatingPointError(
                f"{label}: {found}; the program cannot be run step by step to find the operation"
            ) from error
        raise FloatingPointError(f"{label}: {found}; run one by one, none of its operations gave such a result")

    return None if is_operation(name, closed) else check
