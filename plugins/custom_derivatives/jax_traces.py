"""`custom_jvp_call` in the form for traces and interpreters written for JAX: with two functions of flat arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from primax.extend import core, linear_util
from primax.extend.interpreters import ad


class _Functions(tuple[Any, ...]):
    """The pair of functions of an equation, with the parameters of the equation."""

    params: dict[str, Any]


class CustomJvpCall(core.Primitive):
    """A primitive that is bound with a function and its rule.

    A trace for JAX may have a method `process_custom_jvp_call(primitive, fun, jvp, operands, symbolic_zeros=)`. `fun`
    and `jvp` have the form of results of `linear_util.wrap_init`; `jvp` takes primals and then tangents. The trace
    binds its own versions by `primitive.bind_with_trace(trace, operands, types, params)`, where the parameters are
    `subfuns`, the pair, and `symbolic_zeros`. An interpreter gets the same parameters from `get_bind_params`, and may
    replace the functions.
    """

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters for binding an equation again: `subfuns`, the function and its rule, and `symbolic_zeros`."""
        params = super().get_bind_params(params)
        functions = _Functions(_functions(params["num_consts"], params["call_jaxpr"], params))
        functions.params = params
        return {"subfuns": functions, "symbolic_zeros": params["symbolic_zeros"]}

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply the primitive under the current trace, with its own parameters or those of `get_bind_params`."""
        return super().bind(*args, **(_own(params) if "subfuns" in params else params))

    def process_for_jax_trace(self, trace: Any, args: Any, params: dict[str, Any]) -> Any:
        """Pass the two functions to a trace that has a method for them."""
        method = getattr(trace, "process_custom_jvp_call", None)
        if method is None:
            return trace.process_primitive(self, args, params)
        count = params["num_consts"]
        constants, symbolic = tuple(args[:count]), params["symbolic_zeros"]
        functions = _functions(0, partial(_as_function(params["call_jaxpr"]), *constants), params)
        return method(self, *functions, tuple(args[count:]), symbolic_zeros=symbolic)

    def bind_with_trace(self, trace: Any, args: Any, *rest: Any) -> Any:
        """Apply the primitive under a given trace; the functions may be those of a trace for JAX."""
        params = rest[-1]
        if "subfuns" not in params:
            return super().bind_with_trace(trace, args, *rest)
        return trace.process(self, tuple(args), _own(params))


def _functions(count: int, call: Any, params: dict[str, Any]) -> tuple[Any, Any]:
    """The function of a call and its rule, as results of `wrap_init`; the first `count` arguments are constants."""

    def jvp(*both: Any) -> list[Any]:
        half = len(both) // 2
        outs, tangents = params["jvp"](both[count:half], both[half + count :])
        return [*outs, *(tangents if params["symbolic_zeros"] else map(ad.instantiate_zeros, tangents))]

    return linear_util.wrap_init(_as_function(call)), linear_util.wrap_init(jvp)


def _own(params: dict[str, Any]) -> dict[str, Any]:
    """The primitive's own parameters for the pair of functions; those of the equation if the pair is unchanged."""
    functions, symbolic = params["subfuns"], params["symbolic_zeros"]
    if type(functions) is _Functions:
        return functions.params
    fun, jvp = functions

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        if not symbolic:
            tangents = [ad.instantiate_zeros(t) for t in tangents]
        both = list(jvp.call_wrapped(*primals, *tangents))
        half = len(both) // 2
        return both[:half], both[half:]

    own = {"call_jaxpr": fun.call_wrapped, "jvp": rule, "num_consts": 0, "symbolic_zeros": symbolic}
    return {**own, "name": getattr(fun, "__name__", "custom_jvp")}


def _as_function(call: Any) -> Callable[..., Any]:
    return core.jaxpr_as_fun(call) if isinstance(call, core.ClosedJaxpr) else call
