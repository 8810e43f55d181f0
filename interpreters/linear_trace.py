"""Recording: known operations run at once; operations that depend linearly on some inputs are recorded on a tape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primax.core import config, rules
from primax.core._jaxlib import Traceback
from primax.core.avals import get_aval
from primax.core.cache_keys import params_key
from primax.core.effects import Effects
from primax.core.host_values import HOST_VALUES, array_of
from primax.core.jaxpr import JaxprEqn, Literal
from primax.core.source_info import scoped, use
from primax.core.trace import Trace, Tracer, thread
from primax.core.trace_state import shared
from primax.interpreters.partial_eval import split_call
from primax.interpreters.rule_calls import ExternalRules, apply_rule
from primax.interpreters.staging import StagingTrace
from primax.interpreters.tangents import Zero

_get_traceback = Traceback.get_traceback
_new = object.__new__
_partial_eval_functions = rules.partial_eval_rules.functions
_split_functions = rules.partial_eval_jaxpr_rules.functions
has_external_transpose = ExternalRules(rules.transpose_rules)


class LinearTracer(Tracer):
    """Stands for a value that depends linearly on the inputs of the tape it is on."""

    __slots__ = ("aval", "index")

    def __init__(self, trace: LinearTrace, aval: Any, index: int) -> None:
        self._trace = trace
        self.aval = aval
        self.index = index


class LinearEqn:
    """One linear operation. Among `args`, tracers of the tape are linear; other values are residuals."""

    __slots__ = ("args", "outs", "params", "primitive", "source_info")

    def __init__(self, primitive: Any, args: Any, outs: list[LinearTracer], params: Any, source_info: Any) -> None:
        self.primitive = primitive
        self.args = args
        self.outs = outs
        self.params = params
        self.source_info = source_info

    def effects(self) -> Effects:
        """The effects of the operation."""
        avals = tuple([x.aval if isinstance(x, Tracer | Zero) else get_aval(x) for x in self.args])
        return self.primitive.result_types(avals, self.params)[1]  # type: ignore[no-any-return]


class LinearTrace(Trace):
    """Runs operations that do not depend on the tape's inputs under the parent, and records the others."""

    __slots__ = ("count", "eqns", "here", "inputs", "lines", "settings", "x64")

    transformation = "linearization"
    lasting = True

    def __init__(self, parent: Any) -> None:
        super().__init__(parent)
        self.eqns: list[LinearEqn] = []
        self.inputs: list[LinearTracer] = []
        self.count = 0
        self.lines = config.debug_nans.value or config.debug_infs.value or is_staged(parent)
        self.here = thread.here
        self.settings = thread.config
        self.x64 = config.enable_x64.value  # determines the types of the scalars on the tape

    def new_input(self, aval: Any) -> LinearTracer:
        """Add an input to the tape."""
        tracer = self.new_value(aval)
        self.inputs.append(tracer)
        return tracer

    def new_value(self, aval: Any) -> LinearTracer:
        """A new value on the tape, for an equation that the caller records."""
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
        """Compute the known part of an operation under the parent, and put the rest on the tape."""
        avals = [x.aval if type(x) is LinearTracer else get_aval(x) for x in args]
        parts = split_call(primitive, avals, params, tuple(map(self.is_linear, args)))
        if parts is None:
            return self.record(primitive, args, params)
        values: dict[Any, Any] = dict(zip(parts.invars, args, strict=True))
        for eqn in parts.known:
            self._apply(self.parent.process, eqn, values)
        if parts.unknown is not None:
            self._apply(self.record, parts.unknown, values)
        outs = [values[v] for v in parts.outvars]
        return outs if primitive.multiple_results else outs[0]

    @staticmethod
    def _apply(process: Callable[..., Any], eqn: JaxprEqn, values: dict[Any, Any]) -> None:
        """Run an equation of a split operation on the values of variables."""
        args = [v.val if type(v) is Literal else values[v] for v in eqn.invars]
        outs = process(eqn.primitive, args, eqn.params)
        for v, x in zip(eqn.outvars, outs if eqn.primitive.multiple_results else (outs,), strict=True):
            values[v] = x

    def record(self, primitive: Any, args: Any, params: dict[str, Any]) -> Any:
        """Record an operation on the tape."""
        avals = []
        for x in args:
            avals.append(x.aval if type(x) is LinearTracer or isinstance(x, Tracer) else get_aval(x))
        here = self.here
        settings = here.config or shared.config
        if settings is not self.settings and self.x64 is not config.enable_x64.value:
            # The tape is replayed with a different `enable_x64` from that of these scalars.
            args = [array_of(x, aval) if isinstance(x, HOST_VALUES) else x for x, aval in zip(args, avals, strict=True)]
        key: Any = (*avals, settings)
        if params:
            key = (key, params_key(params))
        try:
            types = primitive.types.get(key)
        except TypeError:
            types = None
        out_avals, _ = types or primitive.result_types(tuple(avals), params)
        # Without calls of `LinearTracer.__init__` and `TapeEqn.__init__`, which would take a tenth of the time.
        outs: list[LinearTracer] = []
        count = self.count
        for aval in out_avals:
            tracer = _new(LinearTracer)
            tracer._trace = self
            tracer.aval = aval
            tracer.index = count
            count += 1
            outs.append(tracer)
        self.count = count
        source = here.source
        if source is None and (self.lines or has_external_transpose[primitive]):
            source = _get_traceback()  # only here: on an eager tape this would take a tenth of the time
            if use.begun:
                source = scoped(source)
        eqn = _new(LinearEqn)
        eqn.primitive = primitive
        eqn.args = args
        eqn.outs = outs
        eqn.params = params
        eqn.source_info = source
        self.eqns.append(eqn)
        return outs if primitive.multiple_results else outs[0]


def is_staged(trace: Any) -> bool:
    """Whether operations under `trace` become equations of a program."""
    while trace is not None and not isinstance(trace, StagingTrace):
        trace = trace.parent
    return trace is not None
