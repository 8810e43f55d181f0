"""Call primitives: `CallPrimitive`, `call_p` and `closed_call_p`, which packages bind to functions.

Outside of programs, binding such a primitive calls the function. While a program is traced, the function is traced
too, and its program becomes the parameter `call_jaxpr` of an equation of the primitive, with primax's rules for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from primax.core.closure_lifting import lifted
from primax.extend import core
from primax.extend.call_primitives import register_call_primitive_rules
from primax.extend.core.primitives import call_p, closed_call_p
from primax.extend.linear_util import WrappedFun, wrap_init

__all__ = ["CallPrimitive", "call", "call_impl", "call_p", "closed_call_p"]


class CallPrimitive(core.Primitive[list[Any]]):
    """A primitive that calls a function of arrays, which returns a list of arrays.

    It is bound to a function by `bind(*args, subfuns=(function,))`, as in JAX 0.10, or `bind(function, *args)`, or to
    its program by `bind(*args, call_jaxpr=program)`. It has rules of all kinds, which compute the program; rules that
    a package enters replace them. Calls of functions are passed to the trace's method
    `process_call(primitive, function, args, params)`, if it has one.
    """

    call_primitive = True
    multiple_results = True

    def __init__(self, name: str) -> None:
        super().__init__(name, multiple_results=True)
        register_call_primitive_rules(self)

    def bind(self, *args: Any, **params: Any) -> list[Any]:
        """Call a function, or compute a program.

        Args:
          args: the operands; the function may precede them.
          params: `subfuns`, a tuple of the function, or `call_jaxpr`, its program; further parameters of the equation.
        """
        if "subfuns" in params:
            (fun,) = params.pop("subfuns")
        elif args and isinstance(args[0], WrappedFun):
            fun, *args = args  # type: ignore[assignment]
        else:
            return super().bind(*args, **params)
        return _process(core.current_trace(), self, fun, args, params)

    def bind_with_trace(self, trace: Any, args: Any, *rest: Any) -> Any:
        """Apply the primitive under a given trace; see `bind`."""
        with core.set_current_trace(trace):
            return self.bind(*args, **rest[-1])

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters for binding an equation again: its program as a function."""
        rest = dict(params)
        program = rest.pop("call_jaxpr")
        consts = getattr(program, "consts", ())
        return {**rest, "subfuns": (wrap_init(partial(core.eval_jaxpr, getattr(program, "jaxpr", program), consts)),)}

    def def_impl(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Register a function of the called function, the operands and the parameters, for calls outside programs."""
        _impls[self] = rule
        return rule


def call_impl(f: WrappedFun, *args: Any, **params: Any) -> Any:
    """Call a wrapped function."""
    return f.call_wrapped(*args)


_impls: dict[Any, Callable[..., Any]] = {}


def _process(trace: Any, primitive: Any, fun: WrappedFun, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Call a function under a trace: by the method of the trace, at once, or as an equation of a program."""
    if hasattr(trace, "process_call"):
        with core.set_current_trace(core.eval_trace):
            return trace.process_call(primitive, fun, args, params)
    if not _records(trace):
        impl: Callable[..., Any] = _impls.get(primitive, call_impl)
        outs: Sequence[Any] = impl(fun, *args, **params)
        return list(outs)
    avals = [core.get_aval(x) for x in args]
    program, closed_over = lifted(core.trace_to_jaxpr(fun.call_wrapped, avals, fun.__name__, str(primitive)))
    return primitive.bind(*closed_over, *args, call_jaxpr=program, **params)


def _records(trace: Any) -> bool:
    """Whether a trace, or one around it, builds a program or has a method for calls."""
    while trace is not None:
        if trace.stages or hasattr(trace, "process_call"):
            return True
        trace = trace.parent
    return False


for _primitive in (call_p, closed_call_p):
    _primitive.__class__ = CallPrimitive
call = call_p.bind
