"""Full checks of the results of transpose rules, for `check_rules`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.core import dtypes, rules
from primax.core.avals import NO_VALUE, get_aval
from primax.core.diagnostics import rule_error, shorten
from primax.core.trace import thread
from primax.interpreters.rule_calls import not_array
from primax.interpreters.tangents import UndefinedPrimal, Zero, instantiate_zeros

__all__ = ["check_transpose"]


def check_transpose(rule: Callable[..., Any], eqn: Any, ct: Any, args: Sequence[Any], returned: Sequence[Any]) -> None:
    """Check the results of a transpose rule against its requirements.

    Args:
      rule: the rule.
      eqn: the equation, with its `primitive` and `params`.
      ct: the cotangents in the call.
      args: the arguments in the call, with placeholders for the unknown ones.
      returned: the results of the call.

    Raises:
      RuleError: a cotangent, or a symbolic zero, has another type than its argument; the cotangent of an unknown
        argument is missing, or a known argument has one; or the cotangents for zeros are not zero.
    """
    table, primitive = rules.transpose_rules, eqn.primitive
    for i, (x, c) in enumerate(zip(args, returned, strict=True)):
        if type(x) is not UndefinedPrimal:
            if c is not None and type(c) is not Zero:
                must = f"must return None for its argument {i}, which is known"
                raise rule_error(table, primitive, f"{must}, got {shorten(c)}")
            continue
        if c is None:
            text = f"returned None for its argument {i}, which needs a cotangent"
            raise rule_error(table, primitive, f"{text}; return ad.Zero(x.aval) if the cotangent is zero")
        try:
            have = c.aval if type(c) is Zero else get_aval(c)
        except NO_VALUE as error:
            raise not_array(table, primitive, c) from error
        if have.shape != x.aval.shape or have.dtype != x.aval.dtype:
            text = f"returned a cotangent of type {have.str_short()} for its argument {i}"
            raise rule_error(table, primitive, f"{text}, of type {x.aval.str_short()}")
    if not thread.trace.tracing:
        _check_zero(rule, eqn, ct, args)


def _check_zero(rule: Callable[..., Any], eqn: Any, ct: Any, args: Sequence[Any]) -> None:
    """Check that the rule maps zeros to zeros, as linear functions do; NaNs may come from infinite known values."""
    several = eqn.primitive.multiple_results
    zeros = [instantiate_zeros(Zero(c.aval if type(c) is Zero else get_aval(c))) for c in (ct if several else [ct])]
    found = rule(zeros if several else zeros[0], *args, **eqn.params)
    for i, (x, c) in enumerate(zip(args, found, strict=True)):
        if type(x) is not UndefinedPrimal or c is None or type(c) is Zero or not dtypes.is_inexact(x.aval.dtype):
            continue
        value = np.asarray(c)
        bad = (value != 0) & ~np.isnan(value)
        if np.any(bad):
            raise rule_error(
                rules.transpose_rules,
                eqn.primitive,
                f"is not linear: for zero cotangents it returns {value[bad].flat[0]} for its argument {i}",
            )
