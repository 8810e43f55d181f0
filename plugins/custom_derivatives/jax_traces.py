"""`custom_jvp_call` in the form for traces written for JAX: with two functions of flat arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primax.extend import core, linear_util
from primax.extend.interpreters import ad


class CustomJvpCall(core.Primitive):
    """A primitive that is bound with a function and its rule.

    A trace for JAX may have a method `process_custom_jvp_call(primitive, fun, jvp, operands, symbolic_zeros=)`. `fun`
    and `jvp` have the form of results of `linear_util.wrap_init`; `jvp` takes primals and then tangents. The trace
    binds its own versions by `primitive.bind_with_trace(trace, operands, types, params)`, where the parameters are
    `subfuns`, the pair, and `symbolic_zeros`.
    """

    def process_for_jax_trace(self, trace: Any, args: Any, params: dict[str, Any]) -> Any:
        """Pass the two functions to a trace that has a method for them."""
        method = getattr(trace, "process_custom_jvp_call", None)
        if method is None:
            return trace.process_primitive(self, args, params)
        count, call, rule = params["num_consts"], params["call_jaxpr"], params["jvp"]
        constants, symbolic = tuple(args[:count]), params["symbolic_zeros"]

        def function(*operands: Any) -> list[Any]:
            return list(_as_function(call)(*constants, *operands))

        def jvp(*both: Any) -> list[Any]:
            half = len(both) // 2
            outs, tangents = rule(both[:half], both[half:])
            return [*outs, *(tangents if symbolic else map(ad.instantiate_zeros, tangents))]

        functions = linear_util.wrap_init(function), linear_util.wrap_init(jvp)
        return method(self, *functions, tuple(args[count:]), symbolic_zeros=symbolic)

    def bind_with_trace(self, trace: Any, args: Any, *rest: Any) -> Any:
        """Apply the primitive under a given trace; the functions may be those of a trace for JAX."""
        params = rest[-1]
        if "subfuns" not in params:
            return super().bind_with_trace(trace, args, *rest)
        fun, jvp = params["subfuns"]
        symbolic = params["symbolic_zeros"]

        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            if not symbolic:
                tangents = [ad.instantiate_zeros(t) for t in tangents]
            both = list(jvp.call_wrapped(*primals, *tangents))
            half = len(both) // 2
            return both[:half], both[half:]

        own = {"call_jaxpr": fun.call_wrapped, "jvp": rule, "num_consts": 0, "symbolic_zeros": symbolic}
        return trace.process(self, tuple(args), {**own, "name": getattr(fun, "__name__", "custom_jvp")})


def _as_function(call: Any) -> Callable[..., Any]:
    return core.jaxpr_as_fun(call) if isinstance(call, core.ClosedJaxpr) else call
