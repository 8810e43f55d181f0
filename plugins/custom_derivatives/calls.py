"""The common parts of calls of functions with custom derivatives.

A parameter `call_jaxpr` is a function of flat arguments in Python evaluation, where it may read values, and a closed
jaxpr in equations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primax.extend import core
from primax.extend.core import named_axes
from primax.extend.held_programs import cotangents, given, lifted, linear_flags, nonzero_flags
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.interpreters.partial_eval import convert_constvars_jaxpr
from primax.extend.provisional.avals import array_of
from primax.extend.provisional.derivatives import LinearTrace
from primax.extend.provisional.tracing import encloses, thread


def evaluate(call: Any, args: Sequence[Any]) -> list[Any]:
    """The results of a call under the current trace."""
    if isinstance(call, core.ClosedJaxpr):
        return core.eval_jaxpr(call.jaxpr, call.consts, *args)
    return call(*args)


def call_impl(*args: Any, call_jaxpr: Any, **params: Any) -> list[Any]:
    """The impl rule: run the function. It ignores the custom derivatives."""
    return evaluate(call_jaxpr, args)


def as_operands(args: Sequence[Any]) -> list[Any]:
    """Arguments for a user's rule: numbers in programs become arrays, which have shapes.

    If no program is evaluated, the arguments come from the user's own call, and are unchanged.
    """
    if thread.source is None:
        return list(args)
    return [array_of(x, core.get_aval(x)) if type(x) in _NUMBERS else x for x in args]


_NUMBERS = frozenset((bool, int, float, complex))


def is_forwarded(x: Any) -> bool:
    """Whether a result is a value of an inner transformation, which the function closed over and returned unchanged.

    Such a value keeps its own derivative, and the rule does not apply to it.
    """
    return isinstance(x, core.Tracer) and x._trace.alive and not encloses(x._trace, thread.trace)


def closed_over(name: str, x: Any) -> Exception:
    """The error for a function that closes over a value of an enclosing transformation."""
    return core.UnexpectedTracerError(
        f"{name} has custom derivatives, and must not close over {x.describe()} inside {x._trace.transformation}: its "
        "rule has no derivative with respect to that value. Pass it as an argument, or use closure_convert."
    )


def refuse_closed_over(name: str, consts: Sequence[Any], tangents: Sequence[Any]) -> None:
    """Raise an error for derivatives with respect to closed-over values."""
    for x, t in zip(consts, tangents, strict=True):
        if type(t) is not ad.Zero:
            raise core.UnexpectedTracerError(
                f"{name} has custom derivatives, and closes over a differentiated value of type "
                f"{core.get_aval(x).str_short()}, with respect to which its rule has no derivative. Pass it as an "
                "argument, or use closure_convert."
            )


def staging_rule(primitive: core.Primitive, narrowed: Callable[..., dict[str, Any]]) -> Callable[..., list[Any]]:
    """The staging rule of a call: the function becomes a program with its closed-over values as arguments.

    Args:
      primitive: the call.
      narrowed: `(params, kept, out_avals) -> params`, with rules for the results that are kept.
    """

    def stage_call(trace: Any, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        call, name = params["call_jaxpr"], params["name"]
        consts: list[Any] = []
        forwarded: dict[int, Any] = {}
        if not isinstance(call, core.ClosedJaxpr):
            closed = core.trace_to_jaxpr(call, [core.get_aval(x) for x in args], name, "the tracing")
            for effect in closed.effects:
                if not core.kind_of(effect).custom_derivatives:
                    raise NotImplementedError(
                        f"{name} has custom derivatives, and must not have the effect {effect!r}; "
                        "primax.extend.effects.custom_derivatives_allowed_effects.add_type("
                        f"{type(effect).__name__}) allows it"
                    )
            closed, forwarded = _without_forwarded(_without_unused(closed))
            if forwarded:
                count = len(forwarded) + len(closed.jaxpr.outvars)
                aval_of = iter(closed.out_avals)
                kept = [i not in forwarded for i in range(count)]
                avals = [next(aval_of) if k else core.get_aval(forwarded[i]) for i, k in enumerate(kept)]
                params = narrowed(params, kept, avals)
            consts = closed.consts
            for x in consts:
                if isinstance(x, core.Tracer) and not encloses(x._trace, trace):
                    raise closed_over(name, x)
            call = core.ClosedJaxpr(convert_constvars_jaxpr(closed.jaxpr))
        params = {**params, "call_jaxpr": call, "num_consts": params["num_consts"] + len(consts)}
        outs = iter(trace.add_eqn(primitive, [*consts, *args], call.out_avals, params, call.effects))
        return [forwarded[i] if i in forwarded else next(outs) for i in range(len(forwarded) + len(call.out_avals))]

    return stage_call


def _without_unused(closed: core.ClosedJaxpr) -> core.ClosedJaxpr:
    """A program without constants that no result needs, if it closes over tracers: their derivatives do not matter."""
    if not any(isinstance(x, core.Tracer) for x in closed.consts):
        return closed
    jaxpr, _ = core.dce_jaxpr(closed.jaxpr, [True] * len(closed.outvars), True)
    needed = {v for eqn in jaxpr.eqns for v in eqn.invars if not isinstance(v, core.Literal)}
    needed.update(v for v in jaxpr.outvars if not isinstance(v, core.Literal))
    pairs = [(v, x) for v, x in zip(closed.constvars, closed.consts, strict=True) if v in needed]
    return core.ClosedJaxpr(jaxpr.replace(constvars=[v for v, _ in pairs]), [x for _, x in pairs])


def _without_forwarded(closed: core.ClosedJaxpr) -> tuple[core.ClosedJaxpr, dict[int, Any]]:
    """A program without results that are closed-over tracers, and these tracers by position."""
    jaxpr = closed.jaxpr
    tracers = {v: x for v, x in zip(jaxpr.constvars, closed.consts, strict=True) if isinstance(x, core.Tracer)}
    forwarded = {i: tracers[v] for i, v in enumerate(jaxpr.outvars) if not isinstance(v, core.Literal) and v in tracers}
    if not forwarded:
        return closed, forwarded
    outvars = [v for i, v in enumerate(jaxpr.outvars) if i not in forwarded]
    needed = {v for eqn in jaxpr.eqns for v in eqn.invars if not isinstance(v, core.Literal)}
    needed.update(v for v in outvars if not isinstance(v, core.Literal))
    pairs = [(v, x) for v, x in zip(jaxpr.constvars, closed.consts, strict=True) if v in needed]
    narrow = jaxpr.replace(constvars=[v for v, _ in pairs], outvars=outvars)
    return core.ClosedJaxpr(narrow, [x for _, x in pairs]), forwarded


def call_close_over(args: Any, params: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The `close_over` rule: rules of the user do not get these operands."""
    program, values = lifted(params["call_jaxpr"])
    return [*values, *args], {**params, "call_jaxpr": program, "num_consts": params["num_consts"] + len(values)}


def call_abstract_eval(*avals: Any, call_jaxpr: Any, name: str, **params: Any) -> tuple[Any, Any]:
    if not isinstance(call_jaxpr, core.ClosedJaxpr):
        call_jaxpr = core.trace_to_jaxpr(call_jaxpr, avals, name, "the tracing")
    return call_jaxpr.out_avals, call_jaxpr.effects


def call_transpose(cts: Any, *args: Any, call_jaxpr: Any, **params: Any) -> list[Any]:
    """The transpose of a program that is linear in its undefined arguments; its custom rule is ignored."""
    program, flags = ad.transpose_jaxpr(call_jaxpr, linear_flags(args), nonzero_flags(cts))
    in_cts = core.eval_jaxpr(program.jaxpr, program.consts, *given(args), *given(cts))
    return cotangents(args, flags, in_cts)


def call_lowering(
    ctx: mlir.LoweringRuleContext, *args: Any, call_jaxpr: core.ClosedJaxpr, name: str, **_: Any
) -> list[Any]:
    return mlir.call_jaxpr(ctx, name, call_jaxpr, args)


def in_place(trace: LinearTrace, args: Any, params: Any) -> list[Any]:
    """The partial evaluation rule: a function of linear values is linear itself, so its operations are recorded."""
    with core.set_current_trace(trace):
        return evaluate(params["call_jaxpr"], args)


class Batch:
    """The mapping of a call: the axis, the batch axes of its operands, and whether its results are batched.

    All results are batched at axis 0, or none. They are batched if an operand is. A Python function may also close over
    mapped values; then the first evaluation of the function or its rule determines it. Results that are closed-over
    values are never batched.
    """

    def __init__(self, axis: batching.AxisData, call: Any, dims: Sequence[Any]) -> None:
        self.axis = axis
        self.call = call
        self.dims = list(dims)
        self.batched: bool | None = True if any(d is not None for d in dims) else None
        self.forwarded: list[bool] = []

    @property
    def is_needed(self) -> bool:
        """Whether the call must be mapped."""
        if self.batched or not isinstance(self.call, core.ClosedJaxpr):
            return True
        return self.axis.name in named_axes(self.call)

    @property
    def out_dim(self) -> int | None:
        return 0 if self.batched else None

    def out_dims(self, outs: Sequence[Any]) -> list[int | None]:
        """The batch axes of the results of the whole batch."""
        return [None if is_forwarded(x) else self.out_dim for x in outs]

    def ct_dims(self, cts: Sequence[Any]) -> list[int | None]:
        """The batch axes of the cotangents of these results."""
        return [None if forwarded else self.out_dim for forwarded in self.forwarded or [False] * len(cts)]

    def function(self, *values: Any) -> list[Any]:
        """The call for the whole batch."""
        outs, dims = self.run(lambda *xs: evaluate(self.call, xs), values, self.dims)
        self.forwarded = list(map(is_forwarded, outs))
        return self.placed(outs, dims)

    def run(self, fun: Any, values: Sequence[Any], dims: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Map a Python function that may close over values mapped along the same axis."""
        return batching.batch_flat(fun, self.axis, values, dims, resume=True)

    def placed(self, values: Sequence[Any], dims: Sequence[Any], related: Sequence[Any] = ()) -> list[Any]:
        """Results with their batch axes as declared; `related` are the batch axes of related values."""
        batched = any(d is not None for d in (*dims, *related))
        if self.batched is None:
            self.batched = batched
        elif batched and not self.batched:
            raise core.UnexpectedTracerError(
                "a rule of a function with custom derivatives closes over a mapped value (vmap), but the function "
                "itself does not depend on it; pass the value as an argument of the function"
            )
        pairs = zip(values, dims, strict=True)
        return [x if is_forwarded(x) else batching.stacked(self.axis, x, d, self.out_dim) for x, d in pairs]


def interpret_call(interpreter: Any, eqn: core.JaxprEqn, *values: Any) -> Any:
    """Interpreters evaluate the function; its custom derivatives are lost."""
    return interpreter.interpret(eqn.params["call_jaxpr"], *values)
