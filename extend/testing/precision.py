"""Checks of derivatives in narrow dtypes, and of the arguments that the transpose rule accepts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from primax.extend.testing.case import Case, Setting, is_array_type, refusal
from primax.extend.testing.derivatives import dot_products, require_derivatives, rounding_of_terms, where
from primax.extend.testing.evaluation import tolerance
from primax.extend.testing.programs import Parts
from primax.extend.testing.report import Failed, NotRun
from primax.extend.testing.values import difference, double, epsilon, is_inexact
from primax.interpreters.linearize import linear_tape
from primax.interpreters.tangents import Zero, instantiate_zeros

__all__ = ["check_linear_arguments", "check_own_dtype"]

_NARROW = {"float64": np.float32, "complex128": np.complex64}


def check_own_dtype(case: Case) -> None:
    """Derivatives in the sample's dtype, at most float32, have that dtype and agree with those in double precision.

    A primitive that holds programs has their dtypes. If these are at most float32, its derivatives must have them, and
    the same values, also with 64-bit types enabled.
    """
    require_derivatives(case)
    if case.sample.invariants is not None:
        raise NotRun("the arguments do not determine the results")
    wide, narrow = case.double, _narrow(case)
    if narrow is None:
        raise NotRun("its program takes double precision" if case.programs else "it accepts only double precision")
    types_of_args = [[getattr(x, "dtype", None) for x in setting.args] for setting in (wide, narrow)]
    if not case.programs and types_of_args[0] == types_of_args[1]:
        raise NotRun("it accepts only the precision of the sample")
    ways = [] if case.reverse_only else ["forward"]
    if narrow.smooth and not case.has_unsupported_transpose:
        ways.append("backward")
    derivatives = _derivatives(narrow, ways)
    for way in ways:
        what, positions = (
            ("tangent of result", narrow.smooth) if way == "forward" else ("cotangent of argument", narrow.active)
        )
        _compare(narrow, what, positions, derivatives, way, _in_double(narrow, wide, way))


def _narrow(case: Case) -> Setting | None:
    """The sample in its own dtype, but at most single precision, with 64-bit types enabled to reveal wide constants."""
    if case.holds_wide_program:
        return None
    args = [
        x.astype(_NARROW.get(x.dtype.name, x.dtype)) if is_array_type(a) and is_inexact(x) else x
        for x, a in zip(case.native.args, case.native.avals, strict=True)
    ]
    setting = Setting(case, args, True)
    return setting if refusal(setting) is None else None


def _derivatives(narrow: Setting, ways: Sequence[str]) -> Parts:
    """Results and tangents ("forward") and cotangents ("backward"), in one program."""
    n, m = len(narrow.args), len(narrow.args) + len(narrow.tangents)
    functions = {
        "forward": lambda *values: narrow.run_forward(*values[:m])[len(narrow.out_avals) :],
        "backward": lambda *values: narrow.run_backward(*values[:n], *values[m:]),
    }
    inputs = [*narrow.args, *narrow.tangents, *narrow.cotangents]
    return Parts({way: functions[way] for way in ways}, inputs, compiled=narrow.case.compiles, x64=narrow.x64)


def _in_double(narrow: Setting, wide: Setting, way: str) -> list[Any]:
    """Tangents or cotangents in double precision, at the point and along the direction of the narrow setting."""
    along = "tangents" if way == "forward" else "cotangents"
    exact = narrow.args
    if not narrow.case.programs:
        exact = [double(x) if is_array_type(a) else x for x, a in zip(narrow.args, narrow.avals, strict=True)]
    pairs = zip(getattr(narrow, along), getattr(wide, along), strict=True)
    results: list[Any] = getattr(wide, way)(*exact, *(t.astype(like.dtype) for t, like in pairs))
    return results[len(narrow.out_avals) :] if way == "forward" else results


def _compare(
    narrow: Setting, what: str, positions: Sequence[int], derivatives: Parts, way: str, wants: list[Any]
) -> None:
    for n, (i, got, want) in enumerate(zip(positions, derivatives[way], wants, strict=True)):
        noise = partial(_noise, narrow, derivatives, way, n)
        off = difference(got, want.astype(got.dtype), 30 * tolerance(narrow.case, got.dtype), noise)
        if off:
            kinds = ("jvp",) if what.startswith("tangent") else ("jvp", "transpose")
            raise Failed(f"the {what} {i}, in {got.dtype}, differs from that in double precision: {off}", *kinds)


def _noise(narrow: Setting, derivatives: Parts, way: str, n: int) -> Any:
    return derivatives.rounding(way, n) + rounding_of_terms(narrow, derivatives[way])


def check_linear_arguments(case: Case) -> None:
    """The transpose rule returns cotangents of arguments in which the primitive is linear, and refuses all others."""
    case.refuse_unsupported("transpose")
    if not case.has("transpose"):
        raise NotRun("there is no transpose rule")
    setting = case.double
    if case.sample.axes:
        raise NotRun("with named axes each element has its own cotangent, but a collective may assume a common one")
    if not setting.active or not setting.smooth:
        raise NotRun("no argument, or no result, has an inexact type")
    if case.sample.invariants is not None:
        raise NotRun("the arguments do not determine the results")
    for i in setting.active:
        pulled = _pulled(setting, i)
        if pulled is None:
            continue
        at = setting.args[i]
        zero, one, two = (setting.base(*_with(setting.args, i, at * np.asarray(k, at.dtype))) for k in (0, 1, 2))
        constant, slope = _parts(setting, zero), _parts(setting, one)
        for a, b, c in zip(constant, slope, _parts(setting, two), strict=True):
            if difference(c, 2 * b - a, 1e3 * epsilon(b), 1e3 * epsilon(b) * (np.abs(a) + np.abs(b))):
                raise Failed(
                    f"the transpose rule gives a cotangent of argument {i}, {where(setting)}, in which the primitive "
                    "is not linear; it must raise instead",
                    "transpose",
                )
        tangents = [b - a for a, b in zip(constant, slope, strict=True)]
        forward, backward, size = dot_products(tangents, [pulled], setting.cotangents, [at])
        if not abs(forward - backward) <= 1e4 * max(map(epsilon, [at, pulled, *setting.cotangents])) * size:
            raise Failed(
                f"the cotangent of argument {i} alone, {where(setting)}: expected <f'ct, x> = <ct, f(x)> = "
                f"{forward:.8g}, got {backward:.8g}",
                "transpose",
            )


def _with(args: Sequence[Any], i: int, x: Any) -> list[Any]:
    return [x if j == i else y for j, y in enumerate(args)]


def _parts(setting: Setting, outs: Sequence[Any]) -> list[Any]:
    return [double(outs[i]) for i in setting.smooth]


def _pulled(setting: Setting, i: int) -> Any:
    """The cotangent of one argument by the transpose rule, with the others known; None if the rule refuses."""
    case, count = setting.case, len(setting.args)

    def run(*values: Any) -> list[Any]:
        def pulled(*xs: Any) -> list[Any]:
            cotangents: list[Any] = [Zero(case.element(aval).to_tangent_aval()) for aval in setting.out_avals]
            for k, ct in zip(setting.smooth, xs[count:], strict=True):
                cotangents[k] = ct
            tape = linear_tape(lambda x: case.bind_element(*_with(xs[:count], i, x)), [case.element(setting.avals[i])])
            return [instantiate_zeros(ct) for ct in tape.transpose(cotangents)]

        return case.mapped(pulled)(*values)  # type: ignore[no-any-return]

    values = [*setting.args, *setting.cotangents]
    try:
        return setting.program(run, *values)(*values)[0]
    except Exception:  # rules raise errors of any type
        return None
