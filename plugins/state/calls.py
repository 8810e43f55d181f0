"""Binds of primitives with references, and calls of compiled programs, which take the buffers of written references."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Sequence
from typing import Any

from primax.extend import core
from primax.extend.backend import Target
from primax.extend.core import Array, ClosedJaxpr, ShapedArray, Tracer, UnsupportedError
from primax.extend.provisional import runtime
from primax.extend.provisional.avals import array_of
from primax.extend.provisional.references import discharge_rules
from primax.extend.provisional.tracing import thread
from primax.plugins.calls import jit_p
from primax.plugins.custom_derivatives import custom_jvp_call_p, custom_lin_p, custom_vjp_call_p
from primax.plugins.state.discharge import CustomRule, discharge, without_refs
from primax.plugins.state.ref import Ref, contents, is_final, is_ref, owner_of, replace, stages
from primax.plugins.state.types import AbstractRef, NewRefEffect


def run_with_refs(closed: ClosedJaxpr, name: str, args: Sequence[Any], keep_unused: bool = False) -> list[Any]:
    """Run a program that takes references.

    The buffers of written references are donated, so that a program which changes a part of the contents does not copy
    the rest. A value that the caller has read from such a reference stays valid: its contents are then copied first.
    """
    program, written = discharge(closed, True)
    values = list(args)
    for i, x in enumerate(args):
        if type(x) is Ref:
            was_shared = x._shared
            values[i] = contents(x, None)
            x._shared = was_shared
    donates = all(type(values[i]) is Array for i in written)
    if donates:
        for i in written:
            if args[i]._shared:
                values[i] = values[i].copy()
    call = core.cached(
        program,
        ("with references", donates, keep_unused),
        lambda: _compiled(program, name, written if donates else (), keep_unused),
    )
    outs = call(*values)
    count = len(outs) - len(written)
    for i, value in zip(written, outs[count:], strict=True):
        args[i]._value = value
        args[i]._shared = False
    return list(outs[:count])


def lowerable(closed: ClosedJaxpr, target: Target) -> tuple[ClosedJaxpr, Target]:
    """The program that XLA runs: it returns the new contents of written references, and takes their buffers."""
    program, written = discharge(closed, True)
    donated = target.donated or (False,) * len(closed.jaxpr.invars)
    return program, target._replace(donated=tuple([d or i in written for i, d in enumerate(donated)]))


def _compiled(program: ClosedJaxpr, name: str, donated: Sequence[int], keep_unused: bool) -> Any:
    """A function that runs a program, which must outlive it, and donates some of its arguments."""
    reference = weakref.ref(program)
    flags = tuple([i in donated for i in range(len(program.jaxpr.invars))])

    def miss(*args: Any) -> tuple[Any, ...]:
        closed = reference()
        assert closed is not None
        outcome = runtime.compile_and_run(
            closed, f"jit_{name}", args, runtime.leaves_tree, donated=flags, keep_unused=keep_unused
        )
        return *outcome, False

    return runtime.fast_function(name, None, miss, key=(name, tuple(donated), keep_unused))


def bind_with_refs(primitive: Any, /, *args: Any, **params: Any) -> Any:
    """Apply a primitive that holds programs, some of whose operands may be references, or whose programs make some."""
    bind = type(primitive).bind
    if stages(thread.trace):
        return bind(primitive, *args, **params)
    params = {name: _discharged_param(value) for name, value in params.items()}
    refs = [i for i, x in enumerate(args) if is_ref(x)]
    if not refs:
        return bind(primitive, *args, **params)
    if primitive is jit_p and not thread.trace.tracing:
        return run_with_refs(params["jaxpr"], params["name"], args, params["keep_unused"])
    rule = discharge_rules.find(primitive, "a call with a reference")
    owners = {i: owner_of(args[i]) for i in refs}
    avals = tuple(map(core.get_aval, args))
    if not any(map(_holds_program, params.values())):  # those of primax have no wrong operands
        primitive.result_types(avals, params)
    values = [contents(x, owners[i]) if i in owners else _array(x, avals[i]) for i, x in enumerate(args)]
    first: dict[int, int] = {}
    same = tuple(first.setdefault(id(x), i) if i in owners else None for i, x in enumerate(args))
    try:
        discharged = rule(same, *values, **params)
    except CustomRule:
        if primitive is not jit_p:
            raise UnsupportedError(
                f"{primitive}: a function with custom derivatives must not take a reference inside of loops and "
                "branches that are differentiated; call it outside, or use a Python loop"
            ) from None
        program = params["jaxpr"]
        return core.eval_jaxpr(program.jaxpr, program.consts, *args)
    outs, new = _checked(primitive, discharged, {i: args[i].aval.inner_aval for i in refs})
    for i, value in new.items():
        replace(args[i], owners[i], value, str(primitive))
    return outs


def _checked(primitive: Any, discharged: Any, types: dict[int, Any]) -> tuple[Any, dict[int, Any]]:
    """What a discharge rule returned, which its author may have got wrong.

    Raises:
      TypeError: it is no pair of results and new contents, or these are not of the references' types.
    """
    if not (isinstance(discharged, tuple) and len(discharged) == 2 and isinstance(discharged[1], dict)):
        raise TypeError(
            f"{primitive}: the discharge rule must return a tuple of the results and of a dictionary with the new "
            f"contents of references by position, got {discharged!r}"
        )
    for i, value in discharged[1].items():
        if i not in types:
            raise TypeError(
                f"{primitive}: the discharge rule must return new contents of references only, which are the operands "
                f"{sorted(types)}, got contents of operand {i}"
            )
        new = core.get_aval(value)
        if (new.shape, new.dtype) != (types[i].shape, types[i].dtype):
            raise TypeError(
                f"{primitive}: the discharge rule must return new contents of operand {i} of type "
                f"{types[i].str_short()}, got {new.str_short()}"
            )
    return discharged


def _array(x: Any, aval: Any) -> Any:
    return x if isinstance(x, Array | Tracer) or not isinstance(aval, ShapedArray) else array_of(x, aval)


def _holds_program(value: Any) -> bool:
    return isinstance(value, ClosedJaxpr) or (type(value) is tuple and bool(value) and _holds_program(value[0]))


def _discharged_param(value: Any) -> Any:
    """A parameter, without references in the programs that it is or holds, except those that programs take."""
    if isinstance(value, ClosedJaxpr):
        makes = any(isinstance(e, NewRefEffect) for e in value.effects)
        takes = any(type(v.aval) is AbstractRef for v in value.jaxpr.invars)
        return without_refs(value) if makes and not takes else value
    if type(value) is tuple and value and isinstance(value[0], ClosedJaxpr):
        return tuple(map(_discharged_param, value))
    return value


def _bind_custom_call(primitive: Any, *args: Any, **params: Any) -> Any:
    """Call a function with custom derivatives; its rules take the references themselves."""
    trace = thread.trace
    bind = type(primitive).bind
    call = params.get("call_jaxpr")
    if not isinstance(call, ClosedJaxpr) or stages(trace) or not any(map(is_ref, args)):
        return bind(primitive, *args, **params)
    if is_final(trace):
        return core.eval_jaxpr(call.jaxpr, call.consts, *args)
    if trace.stages:
        raise CustomRule
    return bind(primitive, *args, **params)


for _primitive in (custom_jvp_call_p, custom_vjp_call_p):
    _primitive.bind = functools.partial(_bind_custom_call, _primitive)  # type: ignore[method-assign]
    _primitive.mutable_operands = True
custom_lin_p.mutable_operands = True
discharge_rules.install(bind_with_refs)
discharge_rules.lowerable = lowerable
