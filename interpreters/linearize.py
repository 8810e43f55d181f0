"""Linearization: a function's value, and its derivative as a tape that can be replayed or transposed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

from primax.core import config
from primax.core.arguments import sequence
from primax.core.avals import get_aval, is_void
from primax.core.closure_lifting import note_derived
from primax.core.host_values import from_host
from primax.core.jaxpr import ClosedJaxpr, cached_by_interface, eval_jaxpr
from primax.core.list_utils import merge, partition
from primax.core.placement import cotangent_aval
from primax.core.trace import enter, escaped, thread
from primax.interpreters.jvp import jvp_flat
from primax.interpreters.linear_trace import LinearEqn, LinearTrace, LinearTracer
from primax.interpreters.staging import trace_to_jaxpr
from primax.interpreters.tangents import Zero, instantiate_zeros
from primax.interpreters.transpose import backward


class ResidualRef:
    """A placeholder for a residual on a tape."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


class Tape:
    """A recorded linear function.

    It takes the operations from their trace, to which their tracers refer. So there is no cycle, and the residuals are
    freed with the tape, not by the garbage collector.

    Attributes:
      in_avals: the types of its inputs, without float0 inputs.
      inputs: their tracers.
      eqns: the operations.
      outs: for each output a value on the tape or a `Zero`.
    """

    __slots__ = ("eqns", "inputs", "outs", "trace")

    def __init__(self, trace: LinearTrace, outs: Sequence[Any]) -> None:
        self.trace = trace
        self.eqns, self.inputs = trace.eqns, trace.inputs
        trace.eqns, trace.inputs = [], []
        self.outs = list(outs)

    @property
    def in_avals(self) -> list[Any]:
        return [tracer.aval for tracer in self.inputs]

    def replay(self, *args: Any) -> list[Any]:
        """Apply the linear function, under the current trace; zeros stay symbolic."""
        trace = self.trace
        if trace.x64 is not config.enable_x64.value:
            with config.enable_x64(trace.x64):
                return self.replay(*args)
        env: list[Any] = [None] * trace.count
        for tracer, x in zip(self.inputs, args, strict=True):
            env[tracer.index] = x
        process = thread.trace.process
        here = thread.here
        before = here.source
        try:
            for eqn in self.eqns:
                values = [env[x.index] if type(x) is LinearTracer and x._trace is trace else x for x in eqn.args]
                if eqn.source_info is not None:
                    here.source = eqn.source_info
                out = process(eqn.primitive, values, eqn.params)
                for tracer, x in zip(eqn.outs, out if eqn.primitive.multiple_results else (out,), strict=True):
                    env[tracer.index] = x
        finally:
            here.source = before
        return [env[x.index] if trace.is_linear(x) else x for x in self.outs]

    def transpose(self, cotangents: Sequence[Any]) -> list[Any]:
        """Apply the transposed function, under the current trace: one cotangent or `Zero` per input."""
        return backward(self, self.outs, cotangents)

    def residuals(self) -> tuple[list[Any], Tape]:
        """The distinct residuals of the tape, and the tape with placeholders for them."""
        references: dict[int, ResidualRef] = {}
        values: list[Any] = []

        def take(x: Any) -> Any:
            if type(x) is Zero:
                return x
            if id(x) not in references:
                references[id(x)] = ResidualRef(len(values))
                values.append(x)
            return references[id(x)]

        return values, self._with(take)

    def with_residuals(self, values: Sequence[Any]) -> Tape:
        """The tape with values for the placeholders of `residuals`."""
        return self._with(lambda x: values[x.index] if type(x) is ResidualRef else x)

    def _with(self, change: Callable[[Any], Any]) -> Tape:
        """A copy with changes to the values that do not depend on the inputs."""
        old, new = self.trace, LinearTrace(None)
        new.x64, new.count = old.x64, old.count
        new.end()
        linear: dict[int, LinearTracer] = {}

        def renewed(x: Any) -> Any:
            if not old.is_linear(x):
                return change(x)
            if x.index not in linear:
                linear[x.index] = LinearTracer(new, x.aval, x.index)
            return linear[x.index]

        new.inputs = [renewed(x) for x in self.inputs]
        new.eqns = [
            LinearEqn(
                eqn.primitive,
                [renewed(x) for x in eqn.args],
                [renewed(x) for x in eqn.outs],
                eqn.params,
                eqn.source_info,
            )
            for eqn in self.eqns
        ]
        return Tape(new, [renewed(x) for x in self.outs])


def linearize_flat(
    fun: Callable[..., Sequence[Any]], primals: Sequence[Any], active: Sequence[bool] | None = None
) -> tuple[list[Any], Tape]:
    """Evaluate a function of flat arguments and record its derivative there.

    Args:
      fun: takes one value per primal, returns a list of values.
      primals: the point of linearization.
      active: for each primal whether to differentiate with respect to it; by default all primals with non-trivial
        tangents.

    Returns:
      The outputs, and a tape whose inputs are tangents of the active primals.
    """
    if active is not None:
        active = sequence("linearize_flat", "active", active)
    outer = thread.trace
    trace = LinearTrace(outer)
    tangents: list[Any] = []
    if not outer.tracing:
        primals = [from_host(x) for x in primals]
    for i, primal in enumerate(primals):
        aval = get_aval(primal).to_tangent_aval()
        if is_void(aval) or (active is not None and not active[i]):
            tangents.append(Zero(aval))
        else:
            tangents.append(trace.new_input(aval))
    before = enter(trace)
    try:
        outs, out_tangents = jvp_flat(fun, primals, tangents, trace)
    finally:
        enter(before)
        trace.end()
    for x in outs:
        if trace.is_linear(x):
            raise escaped(x)
    return outs, Tape(trace, out_tangents)


def drop_unused(tape: Tape) -> None:
    """Remove the operations of the tape that no output needs. Operations with effects stay.

    `Tape.transpose` does not need this, since it skips unused operations.
    """
    trace = tape.trace
    needed = {x.index for x in tape.outs if trace.is_linear(x)}
    kept: list[LinearEqn] = []
    for eqn in reversed(tape.eqns):
        if any(x.index in needed for x in eqn.outs) or eqn.effects():
            needed.update(x.index for x in eqn.args if type(x) is LinearTracer and x._trace is trace)
            kept.append(eqn)
    tape.eqns = kept[::-1]


def linear_tape(fun: Callable[..., Sequence[Any]], in_avals: Sequence[Any]) -> Tape:
    """Record a function that is linear in all its arguments."""
    trace = LinearTrace(thread.trace)
    inputs = [trace.new_input(aval) for aval in in_avals]
    before = enter(trace)
    try:
        outs = fun(*inputs)
    finally:
        enter(before)
        trace.end()
    return Tape(trace, [x if trace.is_linear(x) else _constant(x) for x in outs])


def _constant(x: Any) -> Any:
    """An output that does not depend on the inputs; its transpose is zero."""
    return instantiate_zeros(x) if type(x) is Zero else x


def transpose_jaxpr(
    closed: ClosedJaxpr, linear: Sequence[bool], nonzero: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[ClosedJaxpr, list[bool]]:
    """The transposed program: from the other inputs and the nonzero cotangents to the cotangents of the linear inputs.

    Args:
      closed: a program.
      linear: for each input whether to transpose with respect to it; the program must be linear in these inputs.
      nonzero: for each output whether its cotangent is an input of the result; the others are zero.
      instantiate: for each linear input (or for all) whether to return its cotangent even if it is zero.

    Returns:
      The program, and for each linear input whether it returns a cotangent.

    Raises:
      ValueError: the length of `linear` is not the number of inputs, or that of `nonzero` the number of outputs.
    """
    for name, flags, avals in (("linear", linear, closed.in_avals), ("nonzero", nonzero, closed.out_avals)):
        if len(flags) != len(avals):
            raise ValueError(f"transpose_jaxpr: {name} must have {len(avals)} entries, got {len(flags)}")
    count = sum(linear)
    required = (instantiate,) * count if isinstance(instantiate, bool) else tuple(instantiate)

    def make() -> tuple[ClosedJaxpr, list[bool]]:
        in_avals, out_avals = closed.in_avals, closed.out_avals
        rest, linear_avals = partition(in_avals, linear)
        ct_avals = [cotangent_aval(aval.to_tangent_aval()) for aval in compress(out_avals, nonzero)]
        flags: list[bool] = []

        def run(*values: Any) -> list[Any]:
            def linear_part(*tangents: Any) -> list[Any]:
                mixed = merge(linear, values[: len(rest)], tangents)
                return eval_jaxpr(closed.jaxpr, closed.consts, *mixed)

            tape = linear_tape(linear_part, linear_avals)
            nonzero_cts = iter(values[len(rest) :])
            cts = [
                next(nonzero_cts) if nz else Zero(aval.to_tangent_aval())
                for aval, nz in zip(out_avals, nonzero, strict=True)
            ]
            kept = []
            for ct, want in zip(tape.transpose(cts), required, strict=True):
                flags.append(want or type(ct) is not Zero)
                if flags[-1]:
                    kept.append(instantiate_zeros(ct))
            return kept

        return note_derived(trace_to_jaxpr(run, [*rest, *ct_avals], closed.jaxpr.debug_info)), flags

    return cached_by_interface(closed, ("transpose", tuple(linear), tuple(nonzero)), required, make)
