"""Transposition: transpose rules pull cotangents back along a tape, from its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primax.core import config, placement, rules
from primax.core.avals import ALL_BUT_SHAPE_AND_DTYPE, NO_VALUE, get_aval, same_type
from primax.core.diagnostics import add_rule_note, rule_error, shorten
from primax.core.errors import RuleError
from primax.core.placement import cotangent_aval
from primax.core.source_info import transposed, use
from primax.core.trace import Tracer, thread
from primax.interpreters.linear_trace import LinearEqn, LinearTrace, LinearTracer, has_external_transpose
from primax.interpreters.rule_calls import escaped_tracer_error, not_array
from primax.interpreters.rule_checks import check_transpose
from primax.interpreters.tangents import UndefinedPrimal, Zero, add_tangents, of_number

_new = object.__new__
_transpose_rules = rules.transpose_rules
_transpose_functions = _transpose_rules.functions


def backward(trace: Any, outs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    """Pull cotangents back along a tape.

    Args:
      trace: the tape, or a `LinearTrace` that has recorded no tape.
      outs: the outputs of the tape.
      cotangents: one for each output, possibly `Zero`.

    Returns:
      One cotangent or `Zero` for each input of the tape.

    Raises:
      MissingRuleError: an operation on the tape has no transpose rule.
      RuleError: a rule returned cotangents of the wrong number, shape or dtype.
    """
    eqns, inputs = trace.eqns, trace.inputs
    trace = trace if type(trace) is LinearTrace else trace.trace
    if trace.x64 is not config.enable_x64.value:
        with config.enable_x64(trace.x64):
            return _backward(trace, eqns, inputs, outs, cotangents)
    return _backward(trace, eqns, inputs, outs, cotangents)


def _backward(
    trace: LinearTrace,
    eqns: Sequence[LinearEqn],
    inputs: Sequence[LinearTracer],
    outs: Sequence[Any],
    cotangents: Sequence[Any],
) -> list[Any]:
    placements = placement.rules if placement.rules is not None and placement.rules.active() else None
    cts = _seeds(trace, outs, cotangents, placements)
    here = thread.here
    source = before = here.source
    checking = config.check_rules.value
    ct: Any
    try:
        for eqn in reversed(eqns):
            primitive = eqn.primitive
            if primitive.multiple_results:
                ct = _take(eqn.outs, cts)
            else:
                index = eqn.outs[0].index
                ct = cts[index]
                cts[index] = None
            if ct is None:
                continue
            rule = _transpose_functions.get(primitive)
            if rule is None:
                here.source = eqn.source_info
                rule = _transpose_rules.find(primitive, "transposition (grad, vjp, linear_transpose)")
            args = _with_placeholders(trace, eqn.args, placements)
            if eqn.source_info is not source:
                source = eqn.source_info
                here.source = transposed(source) if use.begun else source
            try:
                if placements is None:
                    returned = rule(ct, *args, **eqn.params)
                else:
                    returned = placements.pull_back(rule, ct, args, eqn.params)
            except Exception as error:
                add_rule_note(error, _transpose_rules, primitive)
                raise
            if not isinstance(returned, list | tuple) or len(returned) != len(args):
                raise _miscounted(primitive, returned, len(args))
            if checking:
                check_transpose(rule, eqn, ct, args, returned)
            _accumulate(trace, eqn, returned, cts, placements)
    finally:
        here.source = before
    results = []
    for tracer in inputs:
        ct = cts[tracer.index]
        results.append(Zero(cotangent_aval(tracer.aval)) if ct is None else ct)
    return results


def _seeds(trace: LinearTrace, outs: Sequence[Any], cotangents: Sequence[Any], placements: Any) -> list[Any]:
    """For each value on the tape its cotangent so far, None for zero: at first, only outputs have one."""
    cts: list[Any] = [None] * trace.count
    for out, ct in zip(outs, cotangents, strict=True):
        if type(out) is LinearTracer and out._trace is trace and type(ct) is not Zero:
            if placements is not None:
                ct = placements.output_cotangent(ct, out.aval)
            sum_so_far = cts[out.index]
            cts[out.index] = ct if sum_so_far is None else add_tangents(sum_so_far, ct)
    return cts


def _with_placeholders(trace: LinearTrace, args: Sequence[Any], placements: Any) -> list[Any]:
    """The arguments of an operation for its transpose rule, with placeholders for values on the tape."""
    operands: list[Any] = []
    for x in args:
        if type(x) is LinearTracer and x._trace is trace:
            unknown = _new(UndefinedPrimal)  # avoids a call of `__init__`
            unknown.aval = x.aval if placements is None else cotangent_aval(x.aval)
            operands.append(unknown)
        else:
            operands.append(x)
    return operands


def _accumulate(trace: LinearTrace, eqn: LinearEqn, returned: Sequence[Any], cts: list[Any], placements: Any) -> None:
    """Add the cotangents that a rule returned to those of the operation's arguments.

    Raises:
      RuleError: a cotangent has another type than its argument.
    """
    for x, ct in zip(eqn.args, returned, strict=True):
        if type(x) is not LinearTracer or x._trace is not trace or ct is None or type(ct) is Zero:
            continue
        traced = isinstance(ct, Tracer)
        try:
            aval = ct.aval if traced else get_aval(ct)
        except NO_VALUE as error:
            raise not_array(_transpose_rules, eqn.primitive, ct) from error
        if traced and not ct._trace.alive and has_external_transpose[eqn.primitive]:
            raise escaped_tracer_error(_transpose_rules, eqn.primitive, ct)
        if aval is not x.aval and not same_type(aval, x.aval, ALL_BUT_SHAPE_AND_DTYPE):
            ct = of_number(ct, x.aval)
            if ct is None:
                raise _misfit(eqn, x, aval)
            aval = x.aval
        if placements is not None:
            ct = placements.cotangent(ct, aval, x.aval)
        sum_so_far = cts[x.index]
        cts[x.index] = ct if sum_so_far is None else add_tangents(sum_so_far, ct)


def _misfit(eqn: LinearEqn, x: LinearTracer, have: Any) -> RuleError:
    """The error for a cotangent whose type differs from that of its argument."""
    position = next(i for i, arg in enumerate(eqn.args) if arg is x)
    text = f"returned a cotangent of type {have.str_short()} for its argument {position}, of type {x.aval.str_short()}"
    return rule_error(_transpose_rules, eqn.primitive, text)


def _take(outs: Sequence[LinearTracer], cts: list[Any]) -> list[Any] | None:
    """The cotangents of several values, removed from `cts`; None if all are zero."""
    taken = [cts[out.index] for out in outs]
    if all(ct is None for ct in taken):
        return None
    for out in outs:
        cts[out.index] = None
    return [Zero(cotangent_aval(out.aval)) if ct is None else ct for out, ct in zip(outs, taken, strict=True)]


def _miscounted(primitive: Any, returned: Any, count: int) -> RuleError:
    """The error for a rule that does not return one cotangent per argument."""
    got = len(returned) if isinstance(returned, list | tuple) else shorten(returned)
    must = "must return a list of one cotangent or None per argument"
    return rule_error(_transpose_rules, primitive, f"{must}, got {got} for {count} arguments")
