"""Staging: running a Python function on tracers to record its program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from primax.core import check, config, rules
from primax.core._jaxlib import Traceback, TracebackScope
from primax.core.arguments import name_of
from primax.core.avals import get_aval, unwrap
from primax.core.cache_keys import params_key
from primax.core.effects import effects_of, no_effects
from primax.core.errors import RuleError
from primax.core.gc_pause import gc_paused
from primax.core.host_values import array_of
from primax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, no_params
from primax.core.recursion import raised_recursion_limit
from primax.core.source_info import scoped, summarize, use
from primax.core.trace import Trace, Tracer, enter, escaped, leakless, thread
from primax.core.trace_state import shared
from primax.interpreters.events import timed_trace
from primax.interpreters.rule_calls import apply_rule

_get_traceback = Traceback.get_traceback
_new = object.__new__
_staging_functions = rules.staging_rules.functions


class StagingTracer(Tracer):
    """Stands for a variable of the program being built."""

    __slots__ = ("_var", "aval")

    def __init__(self, trace: StagingTrace, var: Var) -> None:
        self._trace = trace
        self.aval = var.aval
        self._var = var


def remember_memory(array: Any, memory: np.ndarray[Any, Any] | None) -> None:
    """Record the NumPy array from which an array was made, if a program is being staged.

    The program then holds the NumPy array itself, so that each call reads its current contents. An array of rank 0
    that was made from a number has no such memory, and is a literal of the program.
    """
    trace = _staging(thread.trace)
    if trace is not None and (trace.hoists or memory is not None):
        trace.memory[id(array)] = array, memory


def _staging(trace: Any) -> StagingTrace | None:
    """The innermost trace that stages a program."""
    while trace is not None and not trace.stages:
        trace = trace.parent
    return trace if isinstance(trace, StagingTrace) else None


class StagingTrace(Trace):
    """Records every bind as an equation, even if its arguments are concrete.

    Attributes:
      hoists: whether arrays of rank 0 that the function closes over are constants of the program, like arrays of other
        ranks; otherwise they are literals. True under `make_jaxpr`, so that a program has as many constants for arrays
        as for tracers.
    """

    __slots__ = ("constants", "effects", "eqns", "here", "hoists", "invars", "memory", "name", "sources", "what", "x64")

    stages = True

    def __init__(self, parent: Any, name: str, what: str = "the tracing") -> None:
        super().__init__(parent)
        self.name = name
        self.what = what
        outer = _staging(parent)
        self.hoists: bool = what == "make_jaxpr" or (what != "jit" and outer is not None and outer.hoists)
        self.eqns: list[JaxprEqn] = []
        self.invars: list[Var] = []
        self.constants: dict[int, tuple[Var, Any]] = {}
        self.memory: dict[int, tuple[Any, Any]] = {}  # the NumPy arrays from which arrays were made during this trace
        self.effects = no_effects
        self.x64 = config.enable_x64.value
        self.here = thread.here
        self.sources: dict[Any, Any] = {}  # equations of one line, for example in a loop, share their source

    @property
    def transformation(self) -> str:  # type: ignore[override]
        return f"{self.what} of {self.name}"

    def new_arg(self, aval: Any, source_info: Any = None) -> StagingTracer:
        """A tracer for a new argument of the program; its source is not kept."""
        var = Var(aval)
        self.invars.append(var)
        return StagingTracer(self, var)

    def process(self, primitive: Any, args: Any, params: dict[str, Any]) -> Any:
        if primitive in _staging_functions:
            return apply_rule(rules.staging_rules, primitive, self, args, params)
        invars: list[Any]
        key: Any
        here = self.here
        settings = here.config or shared.config
        # Special cases for one operand and two, since a loop takes a tenth of the time of this method.
        if len(args) == 1:
            (x,) = args
            atom = x._var if type(x) is StagingTracer and x._trace is self else self.atom(x)
            invars = [atom]
            key = (atom.aval, settings)
        elif len(args) == 2:
            x, y = args
            atom = x._var if type(x) is StagingTracer and x._trace is self else self.atom(x)
            other = y._var if type(y) is StagingTracer and y._trace is self else self.atom(y)
            invars = [atom, other]
            key = (atom.aval, other.aval, settings)
        else:
            invars = []
            for x in args:
                invars.append(x._var if type(x) is StagingTracer and x._trace is self else self.atom(x))
            invars = invars[:]  # a list without spare capacity
            key = (*[atom.aval for atom in invars], settings)
        if params:
            key = (key, params_key(params))
        else:
            params = no_params
        try:
            types = primitive.types.get(key)
        except TypeError:
            types = None
        out_avals, effects = types or primitive.result_types(tuple([atom.aval for atom in invars]), params)
        source = here.source
        if source is None:
            source = _get_traceback()
            source = self.sources.setdefault(source, source)
        if use.begun:
            source = scoped(source)
        if effects:
            self.effects = self.effects | effects
        if primitive.multiple_results:
            outvars = [Var(aval) for aval in out_avals]
            self.eqns.append(JaxprEqn(primitive, invars, outvars, params, effects, source))
            return [StagingTracer(self, var) for var in outvars]
        # Without calls of the `__init__` of `Var`, `JaxprEqn` and `StagingTracer`, which take an eighth of the time.
        var = _new(Var)
        var.aval = aval = out_avals[0]
        eqn = _new(JaxprEqn)
        eqn.primitive = primitive
        eqn.invars = invars
        eqn.outvars = [var]
        eqn.params = params
        eqn.effects = effects
        eqn.source_info = source
        self.eqns.append(eqn)
        tracer = _new(StagingTracer)
        tracer._trace = self
        tracer.aval = aval
        tracer._var = var
        return tracer

    def add_eqn(
        self, primitive: Any, args: Sequence[Any], out_avals: Sequence[Any], params: dict[str, Any], effects: Any
    ) -> list[StagingTracer]:
        """Record an equation with known types of its results; for staging rules."""
        invars = [self.atom(x) for x in args]
        outvars = [Var(aval) for aval in out_avals]
        source = self.here.source or _get_traceback()
        if use.begun:
            source = scoped(source)
        self.effects = self.effects | effects
        self.eqns.append(JaxprEqn(primitive, invars, outvars, params, effects, source))
        return [StagingTracer(self, var) for var in outvars]

    def atom(self, x: Any) -> Any:
        """The variable or literal of a value; each constant object is hoisted once."""
        if isinstance(x, Tracer):
            if x._trace is self:
                return x._var  # type: ignore[attr-defined]
            if not x._trace.alive:
                raise escaped(x)
        else:
            literal = _literal(x, self)
            if literal is not None:
                if self.x64 is config.enable_x64.value:
                    return literal
                x = array_of(literal.val, literal.aval)  # the program is read with a different `enable_x64`
        constant = self.constants.get(id(x))
        if constant is None:
            array = unwrap(x)
            if array is not x:
                return self.atom(array)
            constant = self.constants[id(x)] = (Var(get_aval(x)), x)
        return constant[0]

    def provenance(self, tracer: Any) -> str:
        names = getattr(self.name, "arg_names", None) or range(len(self.invars))
        makers: list[JaxprEqn] = []
        needed = {tracer._var}
        for eqn in reversed(self.eqns):
            if not needed.isdisjoint(eqn.outvars):
                makers.append(eqn)
                needed.update([x for x in eqn.invars if isinstance(x, Var)])
        arguments = [f"argument {name}" for name, var in zip(names, self.invars, strict=False) if var in needed]
        if not makers:
            return f"It is {arguments[0]} of {self.name}." if arguments else ""
        origin = f", from {', '.join(arguments)}" if 0 < len(arguments) < 4 else ""
        return f"It was made by {makers[0].primitive} at {summarize(makers[0].source_info)}{origin}."

    def source(self, x: Any) -> Any:
        """The NumPy array of a constant, if the constant has not changed; otherwise the constant."""
        if id(x) not in self.memory:
            return x
        array, memory = self.memory[id(x)]
        return x if memory is None or array._host().tobytes() != memory.tobytes() else memory

    def close(self, outs: Sequence[Any]) -> ClosedJaxpr:
        """The program from the arguments to `outs`."""
        outvars = [self.atom(x) for x in outs]
        constvars = [var for var, _ in self.constants.values()]
        consts: list[Any] = []
        if self.constants:
            with config.enable_x64(self.x64):
                consts = [_of_type(self.source(value), var.aval) for var, value in self.constants.values()]
        effects = self.effects
        if effects:
            effects = effects_of(self.eqns, [*constvars, *self.invars])
        return ClosedJaxpr(Jaxpr(constvars, self.invars, outvars, self.eqns, effects, self.name, self.x64), consts)


def _of_type(x: Any, aval: Any) -> Any:
    """A constant with its staged type: NumPy arrays may be wider, or staged with a different `enable_x64`."""
    if type(x) is not np.ndarray:
        return x
    if x.dtype != aval.dtype:
        x = x.astype(aval.dtype)
    return x if get_aval(x) == aval else array_of(x, aval)


# By the type of arrays: the value of an array of rank 0 as a scalar of NumPy. Such arrays are literals of programs.
host_scalars: dict[type, Callable[[Any], Any]] = {}
literal_kinds: set[type] = {bool, int, float, complex}  # classes whose values are literals of programs


def _literal(x: Any, trace: StagingTrace) -> Literal | None:
    kind = type(x)
    if kind in literal_kinds:
        return Literal(x, get_aval(x))
    if isinstance(x, np.generic) or (kind is np.ndarray and x.ndim == 0):
        aval = get_aval(x)
        same = kind is not np.ndarray and x.dtype == aval.dtype
        return Literal(x if same else np.asarray(x, aval.dtype)[()], aval)
    if kind in host_scalars and not x.aval.shape and isinstance(x.aval.dtype, np.dtype) and x.aval.placement is None:
        if trace.hoists and not _is_made_in(trace, x):
            return None
        value = host_scalars[kind](x)
        if x.aval.weak_type:
            value = value.item()
        if get_aval(value) != x.aval:
            return None  # no scalar of Python or NumPy has this type, or `enable_x64` differs
        return Literal(value, x.aval)
    return None


def _is_made_in(trace: Any, x: Any) -> bool:
    """Whether an array was made from a number while a program or one around it was traced."""
    while trace is not None:
        if type(trace) is StagingTrace and id(x) in trace.memory:
            return True
        trace = trace.parent
    return False


_untimed = nullcontext()


@leakless
def trace_to_jaxpr(
    fun: Callable[..., Sequence[Any]], in_avals: Sequence[Any], name: str | None = None, what: str = "the tracing"
) -> ClosedJaxpr:
    """Stage a function of flat arguments.

    Args:
      fun: takes one value per aval, and returns a list of values.
      in_avals: the types of the arguments.
      name: the name of the function, for messages.
      what: the transformation that stages it, for messages.

    Returns:
      A closed jaxpr. Its constants are the values that the function closed over, including tracers of enclosing traces.

    Raises:
      RuntimeError: the option `no_tracing` is on.
    """
    if config.no_tracing.value:
        raise RuntimeError(f"{what} of {name or fun}: no_tracing is on, and this call would trace the function")
    trace = StagingTrace(thread.trace, name or name_of(fun, "a function"), what)
    tracers = [trace.new_arg(aval) for aval in in_avals]
    before = enter(trace)
    here = thread.here
    source, here.source = here.source, None
    scope, thread.scope = thread.scope, ""
    try:
        timing = timed_trace(trace.name) if what in ("jit", "make_jaxpr") else _untimed
        with timing, raised_recursion_limit(), gc_paused(), TracebackScope():
            outs = fun(*tracers)
            if not isinstance(outs, list | tuple):
                raise RuleError(f"{trace.name}: a staged function must return a list of values, got {outs!r}")
            closed = trace.close(outs)
        if config.enable_checks.value:
            check.check_jaxpr(closed)
        return closed
    finally:
        here.source = source
        thread.scope = scope
        enter(before)
        trace.end()
