"""Forward-mode differentiation: each value is paired with its tangent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakSet

import numpy as np

from primax.core import dtypes, rules
from primax.core._jaxlib import Traceback
from primax.core.avals import NO_VALUE, aval_handlers, get_aval, unwrap
from primax.core.cache import epoch
from primax.core.closure_lifting import note_derived
from primax.core.config import check_rules
from primax.core.diagnostics import rule_error, shorten
from primax.core.errors import RuleError
from primax.core.jaxpr import ClosedJaxpr, cached_by_interface, eval_jaxpr
from primax.core.source_info import use
from primax.core.trace import CURRENT, Trace, Tracer, encloses, enter, escaped, leakless, thread
from primax.interpreters.linear_trace import is_staged
from primax.interpreters.rule_calls import ExternalRules, call_rule, escaped_tracer_error, not_array, type_of
from primax.interpreters.rule_checks import check_results, needs_rule_checks, require_operands
from primax.interpreters.staging import trace_to_jaxpr
from primax.interpreters.tangents import Zero, instantiate_zeros, of_number, zeros_like_aval

_new = object.__new__
_table = rules.jvp_rules
_functions = _table.functions
_real = frozenset([np.dtype(np.float32), np.dtype(np.float64)])  # dtypes equal to their tangent dtypes
_has_external_rule = ExternalRules(_table)
_get_traceback = Traceback.get_traceback


# JVP rules that only bind primitives, and call no function of a user.
binds_only: WeakSet[Callable[..., Any]] = WeakSet()


class OnePlace(dict[Any, bool]):
    """For each primitive whether all equations that its rule binds may share the traceback of its application.

    They may if the rule is one of primax and calls no function of the user; collecting tracebacks takes time.
    """

    def __init__(self) -> None:
        super().__init__()
        epoch.listeners.append(self.clear)

    def __missing__(self, primitive: Any) -> bool:
        rule = _functions.get(primitive)
        self[primitive] = plain = not _has_external_rule[primitive] and rule in binds_only
        return plain


_one_place = OnePlace()


class JVPTracer(Tracer):
    """A value with its tangent."""

    __slots__ = ("aval", "primal", "tangent")

    def __init__(self, trace: JVPTrace, primal: Any, tangent: Any, aval: Any = None) -> None:
        self._trace = trace
        self.primal = primal
        self.tangent = tangent
        self.aval = get_aval(primal) if aval is None else aval

    @property
    def is_concrete(self) -> bool:  # type: ignore[override]
        primal = self.primal
        return not isinstance(primal, Tracer) or primal.is_concrete

    def concrete(self) -> Any:
        if not self._trace.alive:
            raise escaped(self)
        primal = self.primal
        return primal.concrete() if isinstance(primal, Tracer) else primal

    def describe(self) -> str:
        primal = self.primal
        return primal.describe() if isinstance(primal, Tracer) else super().describe()

    def __repr__(self) -> str:
        return f"JVPTracer(primal={self.primal!r}, tangent={self.tangent!r})"


class JVPTrace(Trace):
    """Applies JVP rules; the rules run under the parent trace."""

    __slots__ = ("_here", "_lines", "_sources")

    transformation = "differentiation"
    short_name = "jvp"

    def __init__(self, parent: Any = CURRENT) -> None:
        super().__init__(parent)
        self._here = thread.here
        self._lines = is_staged(self.parent)
        self._sources: dict[Any, Any] = {}  # equal tracebacks are kept once

    def provenance(self, tracer: Any) -> str:
        primal = tracer.primal
        return primal._trace.provenance(primal) if isinstance(primal, Tracer) else super().provenance(tracer)

    def process(self, primitive: Any, args: Any, params: dict[str, Any]) -> Any:
        primals = []
        tangents: list[Any] = []
        active = False
        for x in args:
            if type(x) is JVPTracer and x._trace is self:
                primals.append(x.primal)
                tangents.append(x.tangent)
                active = True
            else:
                if type(x) not in aval_handlers and unwrap(x) is not x:  # it may stand for a tracer
                    return self.process(primitive, [unwrap(x) for x in args], params)
                primals.append(x)
                tangents.append(Zero.from_primal_value(x))
        if not active:
            return self.parent.process(primitive, primals, params)
        check = require_operands(primitive, args, params, 1) if needs_rule_checks[primitive] else None
        rule = _functions.get(primitive) or _table.find(primitive, "differentiation (jvp, grad, linearize)")
        here: Any = self._here
        if self._lines and here.source is None and _one_place[primitive] and not use.begun:
            source = _get_traceback()
            here.source = self._sources.setdefault(source, source)
        else:  # with scopes, each equation may have another source
            here = None
        returned = call_rule(
            self.parent, _table, primitive, rule, tuple(primals), tuple(tangents), params=params, here=here
        )
        if type(returned) is tuple and len(returned) == 2 and not primitive.multiple_results:
            results = self.tracer(primitive, *returned)  # avoids a call of `results`
        else:
            results = self.results(primitive, returned)
        if check is not None:
            check.compare(_table, results)
        return results

    def results(self, primitive: Any, returned: Any) -> Any:
        """The results of a rule as tracers; results with zero tangents as plain values.

        Raises:
          RuleError: the rule did not return primals and tangents, or their types do not fit.
        """
        try:
            out, tangent_out = returned
        except (TypeError, ValueError):
            raise _refused(primitive, "(primal_out, tangent_out)", returned) from None
        if primitive.multiple_results:
            if not isinstance(out, list | tuple) or not isinstance(tangent_out, list | tuple):
                raise _refused(primitive, "a list of primals and one of tangents", returned)
            if len(out) != len(tangent_out):
                raise rule_error(_table, primitive, f"returned {len(out)} primals but {len(tangent_out)} tangents")
            return [
                self.tracer(primitive, p, _zero_for(primitive, p, tangent_out) if t is None else t)
                for p, t in zip(out, tangent_out, strict=True)
            ]
        return self.tracer(primitive, out, tangent_out)

    def tracer(self, primitive: Any, primal: Any, tangent: Any) -> Any:
        """One result of a rule as a tracer; a plain value if its tangent is zero."""
        if type(tangent) is not Zero:
            tracer = _new(JVPTracer)  # avoids a call of `__init__`
            tracer._trace = self
            tracer.primal = primal
            tracer.tangent = tangent
            tracer.aval = _checked(primitive, tracer)
            return tracer
        if _has_external_rule[primitive]:
            _require_zero(primitive, primal, tangent)
        return primal


class CheckedJVPTrace(JVPTrace):
    """Checks the type of every primal that a rule returns against the type that the primitive promises."""

    __slots__ = ()

    def process(self, primitive: Any, args: Any, params: dict[str, Any]) -> Any:
        out = super().process(primitive, args, params)
        check_results(_table, primitive, args, params, out)
        return out


class PrimalTrace(Trace):
    """Removes the tangents of closed-over values; for the traced function such values are constants."""

    __slots__ = ()

    transformation = "a function that is not differentiated"

    def process(self, primitive: Any, args: Any, params: dict[str, Any]) -> Any:
        return self.parent.process(primitive, [self.primal(x) for x in args], params)

    def primal(self, x: Any) -> Any:
        """A value without the tangents of transformations that do not enclose this trace."""
        while type(x) is JVPTracer and not encloses(x._trace, self.parent):
            x = x.primal
        return x


def primals_only(fun: Callable[..., Sequence[Any]], *args: Any) -> list[Any]:
    """The outputs of a function without tangents, even if it closes over values that are being differentiated."""
    trace = PrimalTrace(thread.trace)
    before = enter(trace)
    try:
        return [trace.primal(x) for x in fun(*args)]
    finally:
        enter(before)
        trace.end()


def _zero_for(primitive: Any, primal: Any, tangents: Sequence[Any]) -> Zero:
    """The zero that a tangent `None` stands for, as in JAX; an error if all tangents of the rule are None."""
    if all(t is None for t in tangents):
        raise _no_tangent(primitive)
    return Zero(type_of(_table, primitive, primal).to_tangent_aval())


def _no_tangent(primitive: Any) -> RuleError:
    return rule_error(_table, primitive, "returned None as a tangent; a zero is Zero(aval)")


def _require_zero(primitive: Any, primal: Any, tangent: Zero) -> None:
    """Check that the primal is an array, and that the symbolic zero for it has its shape.

    Axes may be missing: `vmap` does not add its axis to a zero that a rule returns.
    """
    aval = type_of(_table, primitive, primal)
    axes = iter(getattr(aval, "shape", ()))
    if tangent._aval is not None and not all(size in axes for size in getattr(tangent.aval, "shape", ())):
        text = f"returned {tangent!r} as the tangent of a primal of type {aval.str_short()}"
        raise rule_error(_table, primitive, f"{text}; that is Zero.from_primal_value(primal_out)")


def _checked(primitive: Any, tracer: JVPTracer) -> Any:
    """The type of the primal, after a check that the tangent's type fits it. A Python number gets the other's type."""
    primal, tangent = tracer.primal, tracer.tangent
    try:
        p = primal.aval if isinstance(primal, Tracer) else get_aval(primal)
        t = tangent.aval if isinstance(tangent, Tracer) else get_aval(tangent)
    except NO_VALUE as error:
        if tangent is None:
            raise _no_tangent(primitive) from None
        raise not_array(_table, primitive, (primal, tangent)) from error
    if _has_external_rule[primitive]:
        for x in (primal, tangent):
            if isinstance(x, Tracer) and not x._trace.alive:
                raise escaped_tracer_error(_table, primitive, x)
    if p.composite or t.composite:
        if p.to_tangent_aval().strip_weak_type() == t.strip_weak_type():
            return p
        text = f"returned a tangent of type {t.str_short()} for a result of type {p.str_short()}, whose tangents are "
        raise rule_error(_table, primitive, text + p.to_tangent_aval().str_short())
    # The types need not be equal: tangents of integers have another type.
    if (p is t and p.dtype in _real) or (p.shape == t.shape and dtypes.tangent_dtype(p.dtype) == t.dtype):
        return p
    number = of_number(tangent, p.to_tangent_aval())
    if number is not None:
        tracer.tangent = number
        return p
    number = of_number(primal, t)
    if number is not None:
        tracer.primal = number
        return get_aval(number)
    raise rule_error(
        _table,
        primitive,
        f"returned a tangent of type {t.str_short()} for a primal of type {p.str_short()}; "
        f"it must be of type {p.to_tangent_aval().str_short()}",
    )


def _refused(primitive: Any, expected: str, returned: Any) -> RuleError:
    return rule_error(_table, primitive, f"must return {expected}, got {shorten(returned)}")


@leakless
def jvp_flat(
    fun: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any], parent: Any = None
) -> tuple[list[Any], list[Any]]:
    """The outputs of a function of flat arguments, and their tangents.

    Args:
      fun: takes one value per primal, returns a list of values.
      primals: the point of differentiation.
      tangents: one for each primal, possibly `Zero`.
      parent: the trace under which rules run; by default the current one.
    """
    if not isinstance(parent, Trace | None):
        raise TypeError(f"jvp_flat: parent must be a trace or None, got {parent!r}")
    kind = CheckedJVPTrace if check_rules.value else JVPTrace
    trace = kind(thread.trace if parent is None else parent)
    args = [p if type(t) is Zero else JVPTracer(trace, p, t) for p, t in zip(primals, tangents, strict=True)]
    mutable: list[tuple[int, JVPTracer]] = []
    for i, x in enumerate(args):
        if type(x) is JVPTracer and x.aval.mutable:
            first = JVPTracer(trace, x.aval.read(x.primal), x.aval.read(x.tangent))
            mutable.append((i, first))
            args[i] = x.aval.cell(trace, first)
    before = enter(trace)
    try:
        outs = fun(*args)
    finally:
        enter(before)
        trace.end()
    for i, first in mutable:
        new = args[i].aval.last(args[i], first)
        if new is not None:
            is_own = type(new) is JVPTracer and new._trace is trace
            args[i].aval.write(primals[i], new.primal if is_own else new)
            args[i].aval.write(tangents[i], new.tangent if is_own else zeros_like_aval(tangents[i].aval.inner_aval))
    out_primals: list[Any] = []
    out_tangents: list[Any] = []
    for out in outs:
        if type(out) is JVPTracer and out._trace is trace:
            out_primals.append(out.primal)
            out_tangents.append(out.tangent)
        else:
            if isinstance(out, Tracer) and not out._trace.alive:
                raise escaped(out)
            out_primals.append(out)
            out_tangents.append(Zero.from_primal_value(out))
    return out_primals, out_tangents


def jvp_jaxpr(
    closed: ClosedJaxpr, nonzeros: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[ClosedJaxpr, list[bool]]:
    """The JVP program: it computes the results and their tangents.

    Args:
      closed: a program from x to y.
      nonzeros: for each input whether its tangent is an input of the result.
      instantiate: for each output (or for all) whether to return its tangent even if it is zero.

    Returns:
      The program from (x, the nonzero tangents) to (y, the nonzero tangents), and a mask of the nonzero output
      tangents.
    """
    nonzeros = tuple(nonzeros)
    required = (instantiate,) * len(closed.jaxpr.outvars) if isinstance(instantiate, bool) else tuple(instantiate)

    def make() -> tuple[ClosedJaxpr, list[bool]]:
        avals = closed.in_avals
        nonzero_out: list[bool] = []

        def run(*args: Any) -> list[Any]:
            primals = args[: len(avals)]
            nonzero_tangents = iter(args[len(avals) :])
            tangents = [
                next(nonzero_tangents) if nz else Zero(aval.to_tangent_aval())
                for nz, aval in zip(nonzeros, avals, strict=True)
            ]
            outs, out_tangents = jvp_flat(lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), primals, tangents)
            kept = []
            for tangent, want in zip(out_tangents, required, strict=True):
                nonzero_out.append(want or type(tangent) is not Zero)
                if nonzero_out[-1]:
                    kept.append(instantiate_zeros(tangent))
            return [*outs, *kept]

        tangent_avals = [aval.to_tangent_aval() for nz, aval in zip(nonzeros, avals, strict=True) if nz]
        return note_derived(trace_to_jaxpr(run, [*avals, *tangent_avals], closed.jaxpr.debug_info)), nonzero_out

    return cached_by_interface(closed, ("jvp", nonzeros), required, make)
