"""Comparison of results: by their values, or by the invariants that a sample declares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from primax.core import config
from primax.core.rules import rule_tables
from primax.core.trace import set_current_trace
from primax.extend.testing.case import Case, Setting, is_array_type, refusal
from primax.extend.testing.programs import rounding as rounding_near
from primax.extend.testing.report import Failed
from primax.extend.testing.values import difference, double, epsilon, is_inexact, type_difference
from primax.interpreters.runtime import device_put
from primax.interpreters.runtime.array import Array
from primax.interpreters.runtime.eval import eval_trace
from primax.interpreters.runtime.extended_array import physical

__all__ = [
    "STEP",
    "change_of_invariants",
    "difference_alone",
    "differences",
    "eager",
    "invariants",
    "require_same",
    "rounding",
    "rounding_of",
    "second_change_of_invariants",
]

Values = Sequence[Any]

STEP = 2.0**-10  # the step of the differences that give rates of change
_ARRAYS = (Array, np.ndarray, np.generic)


def invariants(case: Case, results: Values, args: Values) -> list[Any]:
    """The sample's invariants of results, in double precision.

    Raises:
      Failed: the sample's function raises, or does not return a list.
    """
    assert case.sample.invariants is not None
    try:
        with np.errstate(all="ignore"):
            values = case.sample.invariants(_widened(results), _widened(args))
    except Exception as error:
        raise Failed(f"the sample's invariants cannot be computed: {type(error).__name__}: {error}") from error
    if not isinstance(values, list | tuple):
        raise Failed(f"the sample's invariants must be a list of arrays, got {type(values).__name__}")
    return [double(x) if is_inexact(x) else np.asarray(x, np.float64) for x in values]


def _widened(values: Values) -> list[Any]:
    return [double(x) if isinstance(x, _ARRAYS) else x for x in values]


def differences(
    case: Case, gots: Values, wants: Values, args: Values, rtol: Callable[[Any], float]
) -> Iterator[tuple[str, str]]:
    """The differences of two lists of results, or else of their types and invariants: which one, and how, in words.

    Args:
      case: the sample.
      gots, wants: the results, computed in two ways.
      args: the arguments.
      rtol: a function from a dtype to the relative tolerance, to which the errors of the primitive by rounding add.
    """
    if case.sample.invariants is None:
        for i, (got, want) in enumerate(zip(gots, wants, strict=True)):
            if isinstance(physical(want), _ARRAYS):
                want = np.asarray(physical(want))
                off = difference(physical(got), want, rtol(want.dtype), partial(rounding_of, case, args, i))
                if off:
                    yield f"result {i}", off
        return
    gots, wants = ([np.asarray(x) for x in values] for values in (gots, wants))
    for i, (got, want) in enumerate(zip(gots, wants, strict=True)):
        off = type_difference(got, want)
        if off:
            yield f"result {i}", off
            return
    coarsest = max([x for x in wants if is_inexact(x)], key=epsilon, default=None)
    slack = 0.0 if coarsest is None else rtol(coarsest.dtype)
    pairs = zip(invariants(case, gots, args), invariants(case, wants, args), strict=True)
    for i, (got, want) in enumerate(pairs):
        off = difference(got, want, slack)
        if off:
            yield f"invariant {i}", off


def eager(setting: Setting, args: Values | None = None, *, as_arrays: bool = True) -> list[Any]:
    """The results of the impl rule for arrays, or for the arguments as they are, as a list."""
    case = setting.case
    args = setting.args if args is None else args
    with config.enable_x64(setting.x64), set_current_trace(eval_trace):
        arrays = [_array(x, aval) for x, aval in zip(args, setting.avals, strict=True)] if as_arrays else args
        out = rule_tables["impl"][case.primitive](*arrays, **case.sample.params)
        if not case.primitive.multiple_results:
            return [out]
        if not isinstance(out, list | tuple):
            raise Failed(f"expected a list, since multiple_results is True, got {type(out).__name__}", "impl")
        return list(out)


def _array(x: Any, aval: Any) -> Any:
    return device_put.put_value(np.asarray(x), aval.weak_type) if is_array_type(aval) else x


def rounding_of(case: Case, args: Values, n: int, least: float = 0.0) -> Any:
    """The errors by rounding in a result of the primitive, compiled or evaluated; numbers in place of integers."""
    wide = any(str(getattr(x, "dtype", "")) in ("float64", "complex128") for x in args)
    setting = Setting(case, args, case.native.x64 or wide)
    if not any(map(is_inexact, args)):
        floats = Setting(case, [x.astype(np.float32) if isinstance(x, np.ndarray) else x for x in args], setting.x64)
        setting = floats if refusal(floats) is None else setting
    programs: list[Any] = [setting.base, lambda *xs: [np.asarray(physical(x)) for x in eager(setting, xs)]]
    return least + np.max([rounding_near(program, setting.args)[n] for program in programs[: 1 + case.has("impl")]], 0)


def difference_alone(case: Case, got: Any, want: Any, rtol: float, noise: Any) -> str:
    """How a result differs from the expected one, in words; only types are compared if the sample has invariants."""
    return difference(got, want, rtol, noise) if case.sample.invariants is None else type_difference(got, want)


def require_same(
    case: Case, gots: Values, wants: Values, args: Values, rtol: Callable[[Any], float], message: str, *kinds: str
) -> None:
    """Check that two ways of computing the results agree.

    Args:
      case, gots, wants, args, rtol: as for `differences`.
      message: the text of the failure; `{what}` in it is the result or invariant.
      kinds: the kinds of rules to look at.

    Raises:
      Failed: they do not agree.
    """
    for what, off in differences(case, gots, wants, args, rtol):
        raise Failed(f"{message.format(what=what)}: {off}", *kinds)


def rounding(setting: Setting) -> float:
    """The tolerance of invariants for rounding, by the largest of them, since some are zero by cancellation."""
    sizes = [np.abs(x).max() for x in invariants(setting.case, setting.base(*setting.args), setting.args) if x.size]
    return 100 * epsilon(1.0) * float(max(sizes, default=0.0))


def change_of_invariants(
    setting: Setting, results: Values, tangents: Values, args: Values, directions: Values, active: Sequence[int]
) -> list[Any]:
    """The derivatives of the invariants along the tangents of the results and the directions of the arguments.

    Tangents of undetermined results depend on the choice of these results; these derivatives do not.
    """

    def at(step: float) -> list[Any]:
        moved = _moved(results, [step * double(t) for t in tangents], setting.smooth)
        return invariants(setting.case, moved, _moved(args, [step * double(t) for t in directions], active))

    return _derivative(at)


def second_change_of_invariants(setting: Setting, seconds: Values, directions: Values, again: Values) -> list[Any]:
    """The second derivative of invariants at the arguments along two directions.

    Args:
      setting: the primitive at its arguments.
      seconds: the second derivatives of those results that have tangents.
      directions, again: for each active argument, the directions.
    """
    count = len(setting.out_avals)
    derivatives = setting.forward(*setting.args, *directions)
    results, one = derivatives[:count], derivatives[count:]
    two = setting.forward_tangents(setting.args, again)

    def at(s: float, t: float) -> list[Any]:
        changes = [s * double(a) + t * double(b) + s * t * double(c) for a, b, c in zip(one, two, seconds, strict=True)]
        moves = [s * double(a) + t * double(b) for a, b in zip(directions, again, strict=True)]
        moved = _moved(setting.args, moves, setting.active)
        return invariants(setting.case, _moved(results, changes, setting.smooth), moved)

    return _derivative(lambda t: _derivative(lambda s: at(s, t)))


def _moved(values: Values, changes: Values, positions: Sequence[int]) -> list[Any]:
    moved = list(values)
    for i, change in zip(positions, changes, strict=True):
        moved[i] = double(moved[i]) + change
    return moved


def _derivative(at: Callable[[float], list[Any]]) -> list[Any]:
    """The derivative of arrays at 0 by differences, which are exact for polynomials of degree 4."""
    h = STEP
    values = zip(at(h), at(-h), at(2 * h), at(-2 * h), strict=True)
    return [(8 * (a - b) - (c - d)) / (12 * h) for a, b, c, d in values]
