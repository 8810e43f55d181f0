"""`debug_nans` and `debug_infs`: errors for nan and inf results, at the operation that computes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.core import dtypes
from primax.core.avals import ShapedArray, get_aval
from primax.core.config import debug_infs, debug_nans
from primax.core.diagnostics import user_line
from primax.core.jaxpr import ClosedJaxpr
from primax.interpreters.runtime.array import Array

__all__ = ["OPTIONS", "found_in", "is_operation", "refuse", "watch_operation"]

OPTIONS = (debug_nans, debug_infs)


def found_in(values: Sequence[Any]) -> str:
    """The option that forbids some of the values, and their place; empty if no option does."""
    for x in values:
        aval = get_aval(x)
        if not isinstance(aval, ShapedArray) or not dtypes.is_inexact(aval.dtype):
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
    found = found_in(outs)
    if found:
        already = "; an argument has such values too" if found_in(args) else ""
        raise FloatingPointError(f"{name}: {found}, at {user_line()}{already}")


def is_operation(name: str, closed: ClosedJaxpr) -> bool:
    """Whether a program is the evaluation of one primitive, which has the primitive's name."""
    return any(eqn.primitive.name == name for eqn in closed.jaxpr.eqns)


def watch_operation(name: str, closed: ClosedJaxpr, args: Sequence[Any]) -> Callable[[Sequence[Any]], None] | None:
    """Watch the evaluation of one primitive; other programs are run again, one operation after the other."""
    return (lambda outs: refuse(name, outs, args)) if is_operation(name, closed) else None
