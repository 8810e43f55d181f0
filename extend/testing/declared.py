"""The check of arguments that are declared to have no derivative."""

from __future__ import annotations

import numpy as np

from primax.extend import dtypes
from primax.extend.testing.case import Case, is_array_type
from primax.extend.testing.report import Failed, NotRun
from primax.extend.testing.values import direction, double

__all__ = ["check_nondiff"]

_STEP = 2.0**-10


def check_nondiff(case: Case) -> None:
    """Not all arguments with which the results change smoothly are declared to have no derivative."""
    declared = [i for i in case.constant if i not in case.sample.constant]
    if not declared:
        raise NotRun("no argument is declared nondiff")
    setting = case.double
    avals = setting.avals
    inexact = [i for i in declared if is_array_type(avals[i]) and dtypes.is_inexact(avals[i].dtype)]
    if not inexact or not setting.smooth or case.sample.invariants is not None:
        raise NotRun("the arguments that are declared nondiff, or the results, are not inexact")
    smooth = [i for i in inexact if _changes_smoothly(case, i)]
    if not smooth:
        return
    which = f"argument {smooth[0]}" if len(smooth) == 1 else f"arguments {', '.join(map(str, smooth))}"
    changes = f"the results change smoothly with {which}, which nondiff declares to have no derivative"
    if setting.active:
        raise NotRun(f"{changes}; they have derivatives with respect to others, so this may be meant")
    raise Failed(
        f"{changes}, and no derivative is left: is another position meant? A primitive without derivatives declares "
        "unsupported={'jvp': reason}",
        "jvp",
    )


def _changes_smoothly(case: Case, i: int) -> bool:
    """Whether the results have a derivative other than zero along a direction of one argument, by differences."""
    setting = case.double
    along = direction(setting.args[i], ("nondiff", i))

    def slope(step: float) -> np.ndarray:
        ahead, behind = (setting.base(*setting.moved([along], s, [i])) for s in (step, -step))
        changes = [(double(ahead[k]) - double(behind[k])) / (2 * step) for k in setting.smooth]
        return np.concatenate([np.ravel(change) for change in changes])

    with np.errstate(all="ignore"):
        coarse, fine = slope(_STEP), slope(_STEP / 2)
    size = np.abs(fine).max(initial=0.0)
    return bool(np.isfinite(size) and size > 1e-6 and np.abs(coarse - fine).max() < 1e-3 * size)
