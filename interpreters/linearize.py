"""Linearization: what is known runs at once, what is linear is recorded on a tape to be replayed or transposed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.core import config, dtypes, rules
from primax.core._jaxlib import Traceback
from primax.core.arguments import sequence
from primax.core.array import array_of
from primax.core.avals import ALL_BUT_SHAPE_AND_DTYPE, NO_VALUE, get_aval, same_type
from primax.core.diagnostics import blame, shorten, wrong
from primax.core.errors import RuleError
from primax.core.exact import params_key
from primax.core.jaxpr import ClosedJaxpr, JaxprEqn, Literal, cached, eval_jaxpr
from primax.core.scopes import scoped, transposed, use
from primax.core.trace import Trace, Tracer, enter, escaped, thread
from primax.interpreters.backend import put_value
from primax.interpreters.jvp import jvp_flat
from primax.interpreters.nonfinite import refuses_nonfinite
from primax.interpreters.partial_eval import split_call
from primax.interpreters.returned import ExternalRules, apply_rule, not_array, stale
from primax.interpreters.staging import StagingTrace, trace_to_jaxpr
from primax.interpreters.tangents import UndefinedPrimal, Zero, add_tangents, instantiate_zeros
from primax.interpreters.transposes import check_transpose

__all__ = ["LinearTrace", "LinearTracer", "Tape", "backward", "linear_tape", "linearize_flat", "transpose_jaxpr"]

_get_traceback = Traceback.get_traceback
_partial_eval_functions = rules.partial_eval_rules.functions
_split_functions = rules.partial_eval_jaxpr_rules.functions
_transpose_rules = rules.transpose_rules
_transpose_functions = _transpose_rules.functions
_has_external_rule = ExternalRules(_transpose_rules)


class LinearTracer(Tracer):
    """Stands for a value that depends linearly on the inputs of the tape it is on."""

    __slots__ = ("aval", "index")

    def __init__(self, trace: LinearTrace, aval: Any, index: int) -> None:
        self._trace = trace
        self.aval = aval
        self.index = index


class TapeEqn:
    """One linear operation. Among `args`, tracers of the tape are linear; anything else is a residual."""

    __slots__ = ("args", "outs", "params", "primitive", "source_info")

    def __init__(self, primitive: Any, args: Any, outs: list[LinearTracer], params: Any, source_info: Any) -> None:
        self.primitive = primitive
        self.args = args
        self.outs = outs
        self.params = params
        self.source_info = source_info


class _Place:
    """Where a residual belongs on a tape that was taken apart."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


class LinearTrace(Trace):
    """Runs what does not depend on the tape's inputs under the parent, and records the rest."""

    __slots__ = ("count", "eqns", "inputs", "lines", "settings", "x64")

    transformation = "linearization"
    lasting = True

    def __init__(self, parent: Any) -> None:
        super().__init__(parent)
        self.eqns: list[TapeEqn] = []
        self.inputs: list[LinearTracer] = []
        self.count = 0
        self.lines = is_staged(parent) or refuses_nonfinite()
        self.settings = thread.config
        self.x64 = config.enable_x64.value  # the scalars on the tape are typed by it

    def new_input(self, aval: Any) -> LinearTracer:
        """One more input of the tape."""
        tracer = self.new_value(aval)
        self.inputs.append(tracer)
        return tracer

    def new_value(self, aval: Any) -> LinearTracer:
        """A value on the tape, to be bound by an equation the caller records."""
        tracer = LinearTracer(self, aval, self.count)
        self.count += 1
        return tracer

    def is_linear(self, x: Any) -> bool:
        """Whether `x` is on this tape."""
        return type(x) is LinearTracer and x._trace is self

    def process(self, primitive: Any, args: Any, params: dict[str, Any]) -> Any:
        for x in args:
            if type(x) is LinearTracer and x._trace is self:
                break
        else:
            return self.parent.process(primitive, args, params)
        if primitive in _partial_eval_functions:
            return apply_rule(rules.partial_eval_rules, primitive, self, args, params)
        if primitive in _split_functions:
            return self.split(primitive, args, params)
        return self.record(primitive, args, params)

    def split(self, primitive: Any, args: Any, params: dict[str, Any]) -> Any:
        """Compute what is known of an operation under the parent, and put the rest on the tape."""
        avals = [x.aval if type(x) is LinearTracer else get_aval(x) for x in args]
        parts = split_call(primitive, avals, params, tuple(map(self.is_linear, args)))
        values: dict[Any, Any] = dict(zip(parts.whole.invars, args, strict=True))
        for eqn in parts.known:
            self._apply(self.parent.process, eqn, values)
        if parts.unknown is not None:
            self._apply(self.record, parts.unknown, values)
        outs = [values[v] for v in parts.whole.outvars]
        return outs if primitive.multiple_results else outs[0]

    @staticmethod
    def _apply(process: Callable[..., Any], eqn: JaxprEqn, values: dict[Any, Any]) -> None:
        """Carry out an equation of a split operation, on the values of variables."""
        args = [v.val if type(v) is Literal else values[v] for v in eqn.invars]
        outs = process(eqn.primitive, args, eqn.params)
        for v, x in zip(eqn.outvars, outs if eqn.primitive.multiple_results else (outs,), strict=True):
            values[v] = x

    def record(self, primitive: Any, args: Any, params: dict[str, Any]) -> Any:
        """Put one operation on the tape."""
        avals = [x.aval if type(x) is LinearTracer else get_aval(x) for x in args]
        settings = thread.config
        if settings is not self.settings and self.x64 is not config.enable_x64.value:
            # The tape is read in another word size than these scalars have been written in.
            args = [
                array_of(x, aval) if isinstance(x, _HOST_VALUES) else x for x, aval in zip(args, avals, strict=True)
            ]
        key: Any = (*avals, settings)
        if params:
            key = (key, params_key(params))
        try:
            found = primitive.types.get(key)
        except TypeError:
            found = None
        out_avals, _ = found or primitive.abstract_eval(tuple(avals), params)
        index = self.count
        outs = []
        for aval in out_avals:
            outs.append(LinearTracer(self, aval, index))
            index += 1
        self.count = index
        source = thread.source
        if source is None and (self.lines or _has_external_rule[primitive]):
            source = _get_traceback()  # not always: an eager tape would take a tenth of its time for it
            if use.begun:
                source = scoped(source)
        self.eqns.append(TapeEqn(primitive, args, outs, params, source))
        return outs if primitive.multiple_results else outs[0]


def is_staged(trace: Any) -> bool:
    """Whether what runs under `trace` ends up in a program, whose equations have source lines."""
    while trace is not None and not isinstance(trace, StagingTrace):
        trace = trace.parent
    return trace is not None


class Tape:
    """A recorded linear function.

    Attributes:
      in_avals: types of its inputs, float0 inputs left out.
      outs: for each output a value on the tape or a `Zero`.
    """

    __slots__ = ("outs", "trace")

    def __init__(self, trace: LinearTrace, outs: Sequence[Any]) -> None:
        self.trace = trace
        self.outs = list(outs)

    @property
    def in_avals(self) -> list[Any]:
        return [tracer.aval for tracer in self.trace.inputs]

    def replay(self, *args: Any) -> list[Any]:
        """Apply the linear function, under the current trace; zeros stay symbolic."""
        trace = self.trace
        if trace.x64 is not config.enable_x64.value:
            with config.enable_x64(trace.x64):
                return self.replay(*args)
        env: list[Any] = [None] * trace.count
        for tracer, x in zip(trace.inputs, args, strict=True):
            env[tracer.index] = x
        process = thread.trace.process
        before = thread.source
        try:
            for eqn in trace.eqns:
                values = [env[x.index] if type(x) is LinearTracer and x._trace is trace else x for x in eqn.args]
                if eqn.source_info is not None:
                    thread.source = eqn.source_info
                out = process(eqn.primitive, values, eqn.params)
                for tracer, x in zip(eqn.outs, out if eqn.primitive.multiple_results else (out,), strict=True):
                    env[tracer.index] = x
        finally:
            thread.source = before
        return [env[x.index] if trace.is_linear(x) else x for x in self.outs]

    def transpose(self, cotangents: Sequence[Any]) -> list[Any]:
        """Apply the transposed function, under the current trace: one cotangent or `Zero` per input."""
        return backward(self.trace, self.outs, cotangents)

    def residuals(self) -> tuple[list[Any], Tape]:
        """The values on the tape that do not depend on its inputs, each once, and the tape with places for them."""
        found: dict[int, _Place] = {}
        values: list[Any] = []

        def take(x: Any) -> Any:
            if type(x) is Zero:
                return x
            if id(x) not in found:
                found[id(x)] = _Place(len(values))
                values.append(x)
            return found[id(x)]

        return values, self._with(take)

    def with_residuals(self, values: Sequence[Any]) -> Tape:
        """The tape with values in the places that `residuals` left."""
        return self._with(lambda x: values[x.index] if type(x) is _Place else x)

    def _with(self, change: Callable[[Any], Any]) -> Tape:
        """A copy with what does not depend on the inputs changed."""
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

        new.inputs = [renewed(x) for x in old.inputs]
        new.eqns = [
            TapeEqn(
                eqn.primitive,
                [renewed(x) for x in eqn.args],
                [renewed(x) for x in eqn.outs],
                eqn.params,
                eqn.source_info,
            )
            for eqn in old.eqns
        ]
        return Tape(new, [renewed(x) for x in self.outs])


def backward(trace: LinearTrace, outs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    """Pull cotangents back along a tape.

    Args:
      trace: the tape.
      outs: its outputs.
      cotangents: one per output, possibly `Zero`.

    Returns:
      One cotangent or `Zero` per input of the tape.

    Raises:
      MissingRuleError: an operation on the way has no transpose rule.
      RuleError: a rule returned cotangents of the wrong number, shape or dtype.
    """
    if trace.x64 is not config.enable_x64.value:
        with config.enable_x64(trace.x64):
            return backward(trace, outs, cotangents)
    cts: list[Any] = [None] * trace.count
    ct: Any
    for out, ct in zip(outs, cotangents, strict=True):
        if type(out) is LinearTracer and out._trace is trace and type(ct) is not Zero:
            have = cts[out.index]
            cts[out.index] = ct if have is None else add_tangents(have, ct)
    source = before = thread.source
    checking = config.check_rules.value
    try:
        for eqn in reversed(trace.eqns):
            primitive = eqn.primitive
            eqn_outs = eqn.outs
            if primitive.multiple_results:
                ct = []
                live = False
                for out in eqn_outs:
                    c = cts[out.index]
                    if c is None:
                        c = Zero(out.aval)
                    else:
                        live = True
                        cts[out.index] = None
                    ct.append(c)
                if not live:
                    continue
            else:
                index = eqn_outs[0].index
                ct = cts[index]
                if ct is None:
                    continue
                cts[index] = None
            rule = _transpose_functions.get(primitive)
            if rule is None:
                thread.source = eqn.source_info
                rule = _transpose_rules.find(primitive, "transposition (grad, vjp, linear_transpose)")
            args = [UndefinedPrimal(x.aval) if type(x) is LinearTracer and x._trace is trace else x for x in eqn.args]
            if eqn.source_info is not source:
                source = eqn.source_info
                thread.source = transposed(source) if use.begun else source
            try:
                returned = rule(ct, *args, **eqn.params)
            except Exception as error:
                blame(error, _transpose_rules, primitive)
                raise
            if not isinstance(returned, list | tuple) or len(returned) != len(args):
                got = len(returned) if isinstance(returned, list | tuple) else shorten(returned)
                must = "must return a list of one cotangent or None per argument"
                raise wrong(_transpose_rules, primitive, f"{must}, got {got} for {len(args)} arguments")
            if checking:
                check_transpose(rule, eqn, ct, args, returned)
            for x, c in zip(eqn.args, returned, strict=True):
                if c is None or type(c) is Zero:
                    continue
                if type(x) is LinearTracer and x._trace is trace:
                    try:
                        have = get_aval(c)
                    except NO_VALUE as error:
                        raise not_array(_transpose_rules, primitive, c) from error
                    if _has_external_rule[primitive] and isinstance(c, Tracer) and not c._trace.alive:
                        raise stale(_transpose_rules, primitive, c)
                    if not same_type(have, x.aval, ALL_BUT_SHAPE_AND_DTYPE):
                        raise _misfit(eqn, x, have)
                    have = cts[x.index]
                    cts[x.index] = c if have is None else add_tangents(have, c)
    finally:
        thread.source = before
    results = []
    for tracer in trace.inputs:
        ct = cts[tracer.index]
        results.append(Zero(tracer.aval) if ct is None else ct)
    return results


def _misfit(eqn: TapeEqn, x: LinearTracer, have: Any) -> RuleError:
    """The error for a cotangent of another type than its argument."""
    position = next(i for i, arg in enumerate(eqn.args) if arg is x)
    text = f"returned a cotangent of type {have.str_short()} for its argument {position}, of type {x.aval.str_short()}"
    return wrong(_transpose_rules, eqn.primitive, text)


def linearize_flat(
    fun: Callable[..., Sequence[Any]], primals: Sequence[Any], active: Sequence[bool] | None = None
) -> tuple[list[Any], Tape]:
    """Evaluate a function of flat arguments and record its derivative there.

    Args:
      fun: takes one value per primal, returns a list of values.
      primals: where to linearize.
      active: for each primal whether the derivative with respect to it is wanted; by default, all that have
        non-trivial tangents.

    Returns:
      The outputs, and a tape whose inputs are tangents of the active primals.
    """
    if active is not None:
        active = sequence("linearize_flat", "active", active)
    outer = thread.trace
    trace = LinearTrace(outer)
    tangents: list[Any] = []
    if not outer.tracing:
        primals = [_on_device(x) for x in primals]
    for i, primal in enumerate(primals):
        aval = get_aval(primal).to_tangent_aval()
        if aval.dtype == dtypes.float0 or (active is not None and not active[i]):
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


_HOST_VALUES = (float, int, complex, np.ndarray)


def _on_device(x: Any) -> Any:
    """A host value that is about to be used many times, as an array."""
    if type(x) in _HOST_VALUES or isinstance(x, np.generic):
        aval = get_aval(x)
        if aval.dtype != dtypes.float0:
            return put_value(x, aval.weak_type)
    return x


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
    """An output that does not depend on the inputs: it transposes to nothing."""
    return instantiate_zeros(x) if type(x) is Zero else x


def transpose_jaxpr(
    closed: ClosedJaxpr,
    linear: Sequence[bool],
    nonzero: Sequence[bool],
    instantiate: bool | Sequence[bool] = False,
) -> tuple[ClosedJaxpr, list[bool]]:
    """The program from the other inputs and the nonzero cotangents to the cotangents of the linear inputs.

    Args:
      closed: a program.
      linear: for each input whether the program is transposed with respect to it, in which it must be linear.
      nonzero: for each output whether its cotangent is an input of the result; the others are zero.
      instantiate: for each linear input (or for all) whether its cotangent is wanted even if it is zero.

    Returns:
      The program, and for each linear input whether it returns a cotangent.
    """
    count = sum(linear)
    wanted = (instantiate,) * count if isinstance(instantiate, bool) else tuple(instantiate)

    def make() -> tuple[ClosedJaxpr, list[bool]]:
        in_avals, out_avals = closed.in_avals, closed.out_avals
        rest = [a for a, is_linear in zip(in_avals, linear, strict=True) if not is_linear]
        linear_avals = [a for a, is_linear in zip(in_avals, linear, strict=True) if is_linear]
        given = [a.to_tangent_aval() for a, nz in zip(out_avals, nonzero, strict=True) if nz]
        flags: list[bool] = []

        def run(*values: Any) -> list[Any]:
            def linear_part(*tangents: Any) -> list[Any]:
                others, inputs = iter(values[: len(rest)]), iter(tangents)
                mixed = [next(inputs) if is_linear else next(others) for is_linear in linear]
                return eval_jaxpr(closed.jaxpr, closed.consts, *mixed)

            tape = linear_tape(linear_part, linear_avals)
            found = iter(values[len(rest) :])
            cts = [next(found) if nz else Zero(a.to_tangent_aval()) for a, nz in zip(out_avals, nonzero, strict=True)]
            kept = []
            for ct, want in zip(tape.transpose(cts), wanted, strict=True):
                flags.append(want or type(ct) is not Zero)
                if flags[-1]:
                    kept.append(instantiate_zeros(ct))
            return kept

        return trace_to_jaxpr(run, [*rest, *given], closed.jaxpr.debug_info), flags

    key = ("transpose", tuple(linear), tuple(nonzero), wanted)
    return cached(closed, key, make)  # type: ignore[no-any-return]
