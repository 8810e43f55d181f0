"""Checks of values: those of the impl rule, the lowering and the reference agree, and repeat."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from primax.core import config
from primax.core.avals import get_aval
from primax.core.diagnostics import shorten
from primax.core.effects import Mutates
from primax.core.rules import rule_tables
from primax.core.trace import set_current_trace
from primax.extend.testing.case import Case, Setting, is_array_type
from primax.extend.testing.invariants import eager, require_same
from primax.extend.testing.programs import Program
from primax.extend.testing.report import Failed, NotRun
from primax.extend.testing.user_types import arrays_of
from primax.extend.testing.values import default_rtol, difference
from primax.interpreters.rule_checks import needs_rule_checks
from primax.interpreters.runtime.array import Array
from primax.interpreters.runtime.eval import eval_trace
from primax.interpreters.runtime.extended_array import physical
from primax.interpreters.staging import trace_to_jaxpr
from primax.interpreters.tangents import Zero

__all__ = [
    "check_determinism",
    "check_impl",
    "check_inputs_unchanged",
    "check_lowering",
    "check_parameters",
    "check_reference",
    "eager",
    "require_lowering",
    "require_types",
    "tolerance",
]

Values = Sequence[Any]


def tolerance(case: Case, dtype: Any) -> float:
    """The tolerance for values of a dtype at a sample."""
    return max(default_rtol(dtype), case.sample.rtol or 0.0)


def require_types(outs: Values, avals: Values, who: str, kind: str) -> None:
    """Check that values have the types that abstract_eval returned.

    Raises:
      Failed: a value has another type.
    """
    if len(outs) != len(avals):
        raise Failed(
            f"abstract_eval returns {len(avals)} results, but {who} returns {len(outs)}", kind, "abstract_eval"
        )
    for i, (x, aval) in enumerate(zip(outs, avals, strict=True)):
        if not is_array_type(aval):
            continue
        if not isinstance(x, Array | np.ndarray | np.generic):
            raise Failed(f"result {i} of {who}: expected an array, got {x!r} of type {type(x).__name__}", kind)
        if x.shape != aval.shape or x.dtype != aval.dtype:
            have = f"{x.dtype}{list(x.shape)}"
            raise Failed(
                f"result {i} of {who}: by abstract_eval it must be {aval.dtype}{list(aval.shape)}, got {have}",
                kind,
                "abstract_eval",
            )


def check_impl(case: Case) -> None:
    """The impl rule returns arrays of the types that abstract_eval returns."""
    _require_impl(case)
    require_types(eager(case.native), case.native.out_avals, "the impl rule", "impl")


def _require_impl(case: Case) -> None:
    if not case.has("impl"):
        raise NotRun("there is no impl rule: evaluation compiles the lowering")


def require_lowering(case: Case) -> None:
    """Continue only if there is a lowering.

    Raises:
      NotRun: there is none.
    """
    case.refuse_unsupported("lowering")
    if not case.has_lowering:
        raise NotRun("there is no lowering rule; see the check 'registration'")


def check_lowering(case: Case) -> None:
    """The lowering compiles, and its results have the types of abstract_eval and the values of the impl rule."""
    require_lowering(case)
    native = case.native
    outs = _compiled(native)
    require_types(outs, native.out_avals, "the lowering", "lowering")
    if case.has("impl"):
        _compare(native, eager(native), outs, "the impl rule", "the lowering")


def _compiled(setting: Setting) -> list[Any]:
    if setting.case.compiles:
        return setting.base(*setting.args)
    return Program(setting.bind, setting.args, x64=setting.x64)(*setting.args)  # raises the compiler's error


def _compare(setting: Setting, wants: Values, gots: Values, expected: str, who: str) -> None:
    """Two ways of computing the results agree."""
    case = setting.case
    message = f"{{what}} of {who} differs from that of {expected}"
    require_same(case, gots, wants, setting.args, partial(tolerance, case), message, "lowering", "impl")


def check_reference(case: Case) -> None:
    """The results agree with the sample's reference."""
    reference = case.sample.reference
    if reference is None:
        _require_something_to_compare_with(case)
        raise NotRun("the sample gives no reference")
    native = case.native
    wants = reference(*native.args, **case.sample.params)
    wants = list(wants) if case.primitive.multiple_results or case.refs else [wants]
    wants = [np.asarray(want) if isinstance(want, list | tuple) else want for want in wants]
    wants = wants if any(want is None for want in wants) else arrays_of(wants)
    if len(wants) != len(native.out_avals) or any(want is None for want in wants):
        raise Failed(f"the sample's reference must return {len(native.out_avals)} results, got {shorten(wants)}")
    wants = [np.asarray(x, aval.dtype) for x, aval in zip(wants, native.out_avals, strict=True)]
    _compare(native, wants, native.base(*native.args), "the reference", "the primitive")


def _require_something_to_compare_with(case: Case) -> None:
    """Something besides the lowering tells the values of the primitive: an impl or interpret rule, or a reference.

    The families of primax are compared with NumPy, mpmath and jax by the tests of primax.
    """
    if case.sample is not case.siblings[0] or case.has("impl", "interpret") or not needs_rule_checks[case.primitive]:
        return
    if not case.has_lowering or any("reference" in s.skip or s.reference is not None for s in case.siblings):
        return
    if case.has_values:
        raise Failed(
            "nothing to compare with: programs on values of users' types are computed by the impl rule. Give "
            "Sample(..., reference=function) with the function in NumPy, which gets and returns such values; or "
            "say why there is none: Sample(..., skip={'reference': reason})",
            "impl",
        )
    raise Failed(
        "nothing to compare with: there is no impl rule, and no sample has a reference, so a lowering of another "
        "function would pass. Give Sample(..., reference=function) with the function in NumPy, or an impl rule; or "
        "say why there is none: Sample(..., skip={'reference': reason})",
        "lowering",
    )


def check_determinism(case: Case) -> None:
    """Two calls with the same arguments return the same results, bit by bit."""
    native = case.native
    computed_by = "lowering" if case.has_lowering else "impl"
    _require_same([native.base(*native.args) for _ in range(2)], "the program", computed_by)
    if case.has("impl"):
        _require_same([eager(native) for _ in range(2)], "the impl rule", "impl")


def _require_same(results: list[list[Any]], who: str, kind: str) -> None:
    for i, (first, second) in enumerate(zip(*results, strict=True)):
        off = difference(physical(second), physical(first), 0.0)
        if off:
            raise Failed(f"result {i} of {who} differs in a second call: {off}", kind)


def check_parameters(case: Case) -> None:
    """Samples that differ only in parameters have different results; otherwise a rule ignores a parameter."""
    mine = case.native
    others = [sibling for sibling in case.siblings if sibling is not case.sample and _same_args(sibling, case.sample)]
    if not others:
        undeclared = case.sample.params and case.primitive._parameters is None
        remedy = "; with define_primitive(..., parameters=) the kit draws some" if undeclared else ""
        raise NotRun(f"no other sample differs from this one only in parameters{remedy if undeclared else ''}")
    place = [sibling is case.sample for sibling in case.siblings].index(True)
    later = [other for other in others if any(other is sibling for sibling in case.siblings[place:])]
    if not later:  # the checks of earlier samples compare them with this one
        return
    outs = mine.base(*mine.args)
    for other in later:
        twin = Case(case.primitive, other, "", case.siblings).native
        changed = [name for name, value in other.params.items() if case.sample.params.get(name) != value]
        results = twin.base(*twin.args)
        if changed and all(not difference(a, b, 0.0) for a, b in zip(outs, results, strict=False)):
            values = ", ".join(f"{name}={case.sample.params.get(name)!r} or {other.params[name]!r}" for name in changed)
            raise Failed(
                f"expected results that depend on the parameters, got the same for {values}", "lowering", "impl"
            )


def _same_args(one: Any, other: Any) -> bool:
    if len(one.args) != len(other.args) or one.params.keys() != other.params.keys():
        return False
    return all(get_aval(x) == get_aval(y) and np.array_equal(x, y) for x, y in zip(one.args, other.args, strict=True))


def check_inputs_unchanged(case: Case) -> None:
    """Rules do not change the arrays and lists that are their arguments."""
    native = case.native
    if case.has("impl"):
        args = [np.array(x) if is_array_type(a) else x for x, a in zip(native.args, native.avals, strict=True)]
        with config.enable_x64(native.x64), set_current_trace(eval_trace):
            rule_tables["impl"][case.primitive](*args, **case.sample.params)
        _, effects = case.abstract_eval(native.avals)
        for i, (after, before) in enumerate(zip(args, native.args, strict=True)):
            may = Mutates(i) in effects
            off = difference(after, before, 0.0) if isinstance(after, np.ndarray) and not may else ""
            if off:
                raise Failed(f"the impl rule must not change its arguments, but changed argument {i}: {off}", "impl")
    if case.has_refs or case.has_values:
        return
    if case.has("jvp") and native.active:
        _require_lists_unchanged(case, "jvp", _jvp_lists)
    if case.has("batch") and any(map(is_array_type, native.avals)):
        _require_lists_unchanged(case, "batch", _batch_lists)


def _jvp_lists(case: Case, *xs: Any) -> list[list[Any]]:
    active = case.native.active
    return [list(xs), [x if i in active else Zero(get_aval(x).to_tangent_aval()) for i, x in enumerate(xs)]]


def _batch_lists(case: Case, *xs: Any) -> list[list[Any]]:
    return [list(xs), [0 if is_array_type(get_aval(x)) else None for x in xs]]


def _require_lists_unchanged(case: Case, kind: str, make: Any) -> None:
    """The rule, called while a program is staged, leaves its argument lists as they were."""
    native = case.native
    avals = native.avals
    if kind == "batch":
        avals = [a.unmapped(2, 0) if is_array_type(a) else a for a in avals]

    def run(*xs: Any) -> list[Any]:
        lists = make(case, *xs)
        before = [list(values) for values in lists]
        rule_tables[kind][case.primitive](*lists, **case.sample.params)
        for n, (now, then) in enumerate(zip(lists, before, strict=True)):
            if len(now) != len(then) or any(a is not b for a, b in zip(now, then, strict=True)):
                names = ("primals", "tangents") if kind == "jvp" else ("args", "dims")
                raise Failed(f"the {kind} rule must not change its arguments, but changed the list {names[n]}", kind)
        return []

    with config.enable_x64(native.x64):
        trace_to_jaxpr(run, avals)
