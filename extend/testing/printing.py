"""The check of print rules: a printed parameter has its value, and different programs have different texts."""

from __future__ import annotations

from typing import Any

from primax.core import config
from primax.core.jaxpr import Jaxpr
from primax.core.rules import rule_tables
from primax.core.text.printer import PrintedCall, PrintedEquation
from primax.extend.testing.case import Case
from primax.extend.testing.report import Failed, NotRun
from primax.interpreters.staging import trace_to_jaxpr

__all__ = ["check_print"]


def check_print(case: Case) -> None:
    """The print rule returns parameters with their values, and samples with other parameters print another text."""
    if not case.has("print"):
        raise NotRun("there is no print rule, which is optional: all parameters are printed")
    params = dict(case.sample.params)
    shown = _shown(case, params)
    for name, value in shown.items():
        if not isinstance(name, str):
            raise Failed(f"expected names of parameters as keys, got {name!r}", "print")
        if name in params and not _same(value, params[name]):
            raise Failed(f"it prints {name}={value!r}, but the parameter is {params[name]!r}", "print")
    native = case.native
    with config.enable_x64(native.x64):
        avals = native.avals
        text = str(trace_to_jaxpr(native.bind, avals))
        for sibling in case.siblings:
            changed = _difference(params, dict(sibling.params))
            if sibling is case.sample or not changed:
                continue
            twin = Case(case.primitive, sibling, "", case.siblings).native
            if twin.avals == avals and str(trace_to_jaxpr(twin.bind, avals)) == text:
                values = ", ".join(f"{name}={params[name]!r} or {sibling.params[name]!r}" for name in changed)
                raise Failed(f"programs with {values} have the same text:\n{text}", "print")


def _shown(case: Case, params: dict[str, Any]) -> dict[str, Any]:
    before = dict(params)
    shown = rule_tables["print"][case.primitive](params)
    if params.keys() != before.keys() or any(params[name] is not before[name] for name in params):
        raise Failed("it must not change the parameters that it gets", "print")
    if isinstance(shown, PrintedCall):
        if not isinstance(shown.program, Jaxpr):
            raise Failed(f"expected a program in the PrintedCall, got {shown.program!r}", "print")
        shown = shown.params
    if isinstance(shown, PrintedEquation):  # its text is compared as part of the program's
        return {}
    if not isinstance(shown, dict):
        raise Failed(
            f"expected a dictionary of parameters to print, a PrintedCall or a PrintedEquation, got {shown!r}", "print"
        )
    return shown


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal; tuples and lists may stand for each other."""
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(map(_same, one, other))
    return one is other or bool(one == other)


def _difference(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """The names of different parameters; none if the programs among them differ, whose texts are compared elsewhere."""
    if one.keys() != other.keys():
        return []
    changed = [name for name in one if not _same(one[name], other[name])]
    return [] if any(isinstance(one[name], Jaxpr) or callable(one[name]) for name in changed) else changed
