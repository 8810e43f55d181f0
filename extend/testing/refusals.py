"""The check that evaluation, derivatives and vmap refuse wrong arguments with the same error as a program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from primax.core import config
from primax.core.avals import get_aval
from primax.core.errors import JaxprTypeError, RuleError
from primax.core.trace import set_current_trace
from primax.extend.testing.case import Case, Setting, is_array_type, over_axis
from primax.extend.testing.report import Failed, NotRun
from primax.extend.testing.types import bad_variants, is_refusal
from primax.extend.testing.values import direction
from primax.interpreters.batching import AxisData
from primax.interpreters.jvp import jvp_flat
from primax.interpreters.rule_checks import needs_rule_checks
from primax.interpreters.runtime.eval import eval_trace
from primax.interpreters.tangents import Zero

__all__ = ["check_refusals"]


def check_refusals(case: Case) -> None:
    """Evaluation, derivatives and vmap refuse the arguments that abstract_eval refuses, with the same error."""
    strict = needs_rule_checks[
        case.primitive
    ]  # the functions of primax check arguments before they bind the primitives of primax
    if case.sample.axes:
        raise NotRun("it needs the axes that its sample names")
    for name, args in bad_variants(case):
        setting = Setting(case, args, case.native.x64)
        try:
            _ = setting.out_avals
        except (RuleError, JaxprTypeError):
            continue  # the check 'bad_input' reports it
        except Exception as error:
            if not is_refusal(error):
                continue  # 'bad_input' reports this, too
            for way, kind, call in _ways(case, setting):
                if strict or way == "evaluation":
                    with np.errstate(all="ignore"), config.enable_x64(setting.x64), set_current_trace(eval_trace):
                        _require_same(name, error, way, kind, call, strict)


def _ways(case: Case, setting: Setting) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """The ways to bind a primitive apart from staging, each with the kind of rule that it uses."""
    args = setting.args
    if case.has("impl") or case.has_lowering:
        yield "evaluation", "impl", lambda: case.bind(*args)
    if case.has("jvp") and "jvp" not in case.sample.skip and setting.active:
        yield "differentiation", "jvp", lambda: _differentiated(case, setting)
    arrays = args and all(is_array_type(aval) for aval in setting.avals)
    if arrays and case.has("batch", "axis_batch") and "batch" not in case.sample.skip:
        stacks = [np.stack([x, x]) for x in map(np.asarray, args)]
        yield "vmap", "batch", lambda: over_axis(case.bind_element, AxisData(None, 2))(*stacks)


def _differentiated(case: Case, setting: Setting) -> Sequence[Any]:
    tangents = [
        direction(x, i) if i in setting.active else Zero(get_aval(x).to_tangent_aval())
        for i, x in enumerate(setting.args)
    ]
    return jvp_flat(case.bind_element, setting.args, tangents)


def _require_same(name: str, want: Exception, way: str, kind: str, call: Callable[[], Any], strict: bool) -> None:
    """Check that a call raises the same error as abstract_eval.

    Raises:
      Failed: it does not.
    """
    refusal = f"for {name}: abstract_eval refuses it by {type(want).__name__}: {want}"
    try:
        call()
    except Exception as error:
        if type(error) is type(want) and (str(error) == str(want) or not strict):
            return
        got = f"{type(error).__name__}: {error}"
        raise Failed(f"{refusal}\nbut {way} refuses it by {got}", kind, "abstract_eval") from error
    raise Failed(f"{refusal}\nbut {way} accepts it", kind, "abstract_eval")
