"""The check of close_over rules: a value that inner programs have captured becomes an operand, and nothing else."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from primax.core import config
from primax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, jaxprs_in_params
from primax.core.rules import rule_tables
from primax.core.trace import Tracer
from primax.extend.testing.case import Case
from primax.extend.testing.evaluation import tolerance
from primax.extend.testing.invariants import require_same
from primax.extend.testing.programs import Parts
from primax.extend.testing.report import Failed, NotRun

__all__ = ["check_close_over"]


def check_close_over(case: Case) -> None:
    """The close_over rule turns values that inner programs have captured into operands without another effect."""
    if not case.has("close_over"):
        if any(isinstance(x, ClosedJaxpr) for x in _leaves(dict(case.sample.params))):
            raise NotRun(
                "there is no close_over rule, so rules of users inside of its programs cannot use values of "
                f"transformations around them; registry.define({case.primitive.name}_p, close_over=rule) adds one"
            )
        raise NotRun("there is no close_over rule, which is optional")
    if case.sample.axes:
        raise NotRun("it needs the axes that its sample names")
    if not case.programs:
        raise NotRun("the sample holds no program; one that does shows it")
    native = case.native
    numbers = _numbers(case)
    captured: list[Any] = [np.asarray(x.val, x.aval.dtype) for x in numbers] or [np.float32(0.0)]
    position = len(native.args)

    def run(*xs: Any) -> list[Any]:
        args, values = list(xs[:position]), list(xs[position:])
        params = {name: _capturing(x, numbers, values) for name, x in case.sample.params.items()}
        try:
            new_args, new_params = rule_tables["close_over"][case.primitive](args, params)
        except Exception as error:
            raise Failed(f"{type(error).__name__}: {error}", "close_over") from error
        left = [x for x in _leaves(new_params) if isinstance(x, ClosedJaxpr) and any(_traced(c) for c in x.consts)]
        if left:
            raise Failed("a program among the parameters that it returns still has captured the value", "close_over")
        out = case.primitive.bind(*new_args, **new_params)
        return list(out) if case.primitive.multiple_results else [out]

    with config.enable_x64(native.x64):
        parts = Parts({"run": run}, [*native.args, *captured], compiled=case.compiles, x64=native.x64)
    wants = native.base(*native.args)
    try:
        outs = parts["run"]
    except Failed:
        raise
    except Exception as error:
        text = f"with a captured value as an operand: {type(error).__name__}: {error}"
        raise Failed(text, "close_over") from error
    if len(outs) != len(wants):
        raise Failed(f"with a captured value as an operand there are {len(outs)} results of {len(wants)}", "close_over")
    message = "{what} differs if a value that an inner program has captured becomes an operand"
    require_same(case, outs, wants, native.args, partial(tolerance, case), message, "close_over")


def _traced(x: Any) -> bool:
    return isinstance(x, Tracer)


def _leaves(value: Any) -> list[Any]:
    """The values in nested dictionaries, tuples and lists."""
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in _leaves(item)]
    if isinstance(value, tuple | list):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def _numbers(case: Case) -> list[Literal]:
    """One inexact literal of each inner program that has some: numbers that a user may have captured instead."""
    chosen: list[Literal] = []
    for value in _leaves(dict(case.sample.params)):
        if isinstance(value, ClosedJaxpr):
            chosen += _literals(value.jaxpr)[:1]
    return chosen


def _literals(jaxpr: Jaxpr) -> list[Literal]:
    return [
        x
        for eqn in jaxpr.eqns
        if not any(True for _ in jaxprs_in_params(eqn.params))
        for x in eqn.invars
        if type(x) is Literal and np.issubdtype(np.asarray(x.val).dtype, np.inexact)
    ]


def _capturing(value: Any, numbers: list[Literal], values: list[Any]) -> Any:
    """A parameter whose programs have captured values instead of some literals."""
    if isinstance(value, tuple | list) and any(jaxprs_in_params({"": value})):
        return type(value)([_capturing(x, numbers, values) for x in value])
    if not isinstance(value, ClosedJaxpr):
        return value
    mine = {id(x) for x in _literals(value.jaxpr)[:1]}
    pairs = [(x, v) for x, v in zip(numbers, values, strict=False) if id(x) in mine]
    if not pairs:  # it captures a value without using it
        pairs = [(Literal(np.float32(0.0)), values[0])]
    jaxpr = value.jaxpr
    variables = {id(literal): Var(literal.aval) for literal, _ in pairs}

    def replaced(eqn: JaxprEqn) -> JaxprEqn:
        if not any(id(x) in variables for x in eqn.invars):
            return eqn
        return eqn.replace(invars=[variables.get(id(x), x) for x in eqn.invars])

    consts = [*value.consts, *(v for _, v in pairs)]
    constvars = [*jaxpr.constvars, *variables.values()]
    return ClosedJaxpr(jaxpr.replace(constvars=constvars, eqns=list(map(replaced, jaxpr.eqns))), consts)
