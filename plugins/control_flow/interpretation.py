"""The `interpret` rules of branches and loops, for the values of an interpreter."""

from __future__ import annotations

from typing import Any

from primax.extend import core
from primax.extend.held_programs import interpret_branches, interpret_loop

interpret_cond = interpret_branches("branches")
interpret_while = interpret_loop("cond_jaxpr", "body_jaxpr", "cond_nconsts", "body_nconsts")


def interpret_scan(interpreter: Any, eqn: core.JaxprEqn, *values: Any) -> list[Any]:
    params = eqn.params
    first, second = params["num_consts"], params["num_consts"] + params["num_carry"]

    def step(*xs: Any) -> list[Any]:
        return interpreter.interpret(params["jaxpr"], *values[:first], *xs)

    if params["length"] == 0 and interpreter.is_abstract:
        empty = [core.protocol_of(v.aval).zeros(v.aval) for v in eqn.outvars[second - first :]]
        return [*values[first:second], *map(interpreter.lift, empty)]
    options = {name: params[name] for name in ("reverse", "unroll")}
    last, results = interpreter.steps(step, values[first:second], values[second:], params["length"], **options)
    return [*last, *results]
