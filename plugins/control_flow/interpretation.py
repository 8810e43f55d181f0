"""The `interpret` rules of branches and loops, which build branches and loops over the interpreter's values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primax.extend import core
from primax.extend.core import Array
from primax.plugins.control_flow.cond import switch
from primax.plugins.control_flow.scan import scan
from primax.plugins.control_flow.while_loop import while_loop


def interpret_cond(interpreter: Any, eqn: core.JaxprEqn, index: Any, *values: Any) -> Any:
    def branch_of(program: core.ClosedJaxpr) -> Callable[..., Any]:
        return lambda *operands: list(map(interpreter.uniform, interpreter.interpret(program, *operands)))

    return switch(interpreter.primal(index), list(map(branch_of, eqn.params["branches"])), *values)


def interpret_while(interpreter: Any, eqn: core.JaxprEqn, *values: Any) -> Any:
    params = eqn.params
    first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]

    def goes_on(carry: Any) -> Array:
        (out,) = interpreter.interpret(params["cond_jaxpr"], *values[:first], *carry)
        return interpreter.primal(out)

    def body(carry: Any) -> list[Any]:
        return list(
            map(interpreter.uniform, interpreter.interpret(params["body_jaxpr"], *values[first:second], *carry))
        )

    return while_loop(goes_on, body, list(map(interpreter.uniform, values[second:])))


def interpret_scan(interpreter: Any, eqn: core.JaxprEqn, *values: Any) -> list[Any]:
    params = eqn.params
    first, second = params["num_consts"], params["num_consts"] + params["num_carry"]

    def step(carry: Any, elements: Any) -> tuple[Any, Any]:
        outs = interpreter.interpret(params["jaxpr"], *values[:first], *carry, *elements)
        outs = list(map(interpreter.uniform, outs))
        return outs[: params["num_carry"]], outs[params["num_carry"] :]

    carry = list(map(interpreter.uniform, values[first:second]))
    elements = list(map(interpreter.unstack, values[second:]))
    options = {name: params[name] for name in ("length", "reverse", "unroll")}
    last, results = scan(step, carry, elements, **options)
    return [*last, *map(interpreter.stack, results)]
