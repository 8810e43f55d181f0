"""Binds of primitives with references, and calls of compiled programs, which take the buffers of written references."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from primax.extend import core
from primax.extend.backend import Target
from primax.extend.core import Array, ClosedJaxpr, ShapedArray, Tracer
from primax.extend.provisional import runtime
from primax.extend.provisional.avals import array_of
from primax.extend.provisional.references import discharge_rules, refuse_aliases
from primax.extend.provisional.tracing import thread
from primax.plugins.calls import jit_p
from primax.plugins.custom_derivatives import custom_jvp_call_p, custom_lin_p, custom_vjp_call_p
from primax.plugins.state.discharge import CustomRule, discharge, without_refs
from primax.plugins.state.ref import Ref, contents, is_final, is_ref, owner_of, replace, stages
from primax.plugins.state.types import AbstractRef, NewRefEffect
from primax.plugins.state.unrolled import step_by_step


def run_with_refs(closed: ClosedJaxpr, name: str, args: Sequence[Any], keep_unused: bool = False) -> list[Any]:
    """Run a program that takes references.

    The buffers of written references are donated, so that a program which changes a part of the contents does not copy
    the rest. A value that the caller has read from such a reference stays valid: its contents are then copied first.
    """

    def call(program: ClosedJaxpr, written: Sequence[int], donates: bool) -> Any:
        return core.cached(
            program,
            ("with references", donates, keep_unused),
            lambda: _compiled(program, name, written if donates else (), keep_unused),
        )

    return _on_contents(closed, args, call)


def run_compiled(name: str, closed: ClosedJaxpr, args: Sequence[Any], run: Callable[..., Any]) -> list[Any]:
    """Run an executable of a program that takes references; it takes the buffers of those that it writes to.

    Args:
      name: the name of the function.
      closed: the program.
      args: its arguments.
      run: takes the discharged program and its arguments, and runs the executable.
    """
    opened, held = _with_held_as_arguments(closed)
    refuse_aliases(name, held, args)
    return _on_contents(opened, [*held, *args], lambda program, *_: lambda *values: run(program, list(values)))


def _with_held_as_arguments(closed: ClosedJaxpr) -> tuple[ClosedJaxpr, list[Any]]:
    """A program with the references that it holds as its first arguments, and these references."""
    held = [x for v, x in zip(closed.jaxpr.constvars, closed.consts, strict=True) if v.aval.mutable]
    return (core.cached(closed, "references as arguments", lambda: _opened(closed)), held) if held else (closed, held)


def _opened(closed: ClosedJaxpr) -> ClosedJaxpr:
    jaxpr = closed.jaxpr
    pairs = [(v, x) for v, x in zip(jaxpr.constvars, closed.consts, strict=True) if not v.aval.mutable]
    held = [v for v in jaxpr.constvars if v.aval.mutable]
    opened = jaxpr.replace(constvars=[v for v, _ in pairs], invars=[*held, *jaxpr.invars])
    return ClosedJaxpr(opened, [x for _, x in pairs])


def _on_contents(closed: ClosedJaxpr, args: Sequence[Any], call_of: Callable[..., Any]) -> list[Any]:
    """The results of a program that takes references, which then have the new contents."""
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
    outs = call_of(program, written, donates)(*values)
    count = len(outs) - len(written)
    for i, value in zip(written, outs[count:], strict=True):
        args[i]._value = value
        args[i]._shared = False
    return list(outs[:count])


def lowerable(closed: ClosedJaxpr, target: Target) -> tuple[ClosedJaxpr, Target]:
    """The program that XLA runs: it returns the new contents of written references, and takes their buffers."""
    closed, held = _with_held_as_arguments(closed)
    program, written = discharge(closed, True)
    count = len(closed.jaxpr.invars)
    donated = (False,) * len(held) + (target.donated or (False,) * (count - len(held)))
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
        return step_by_step(primitive, args, params)
    outs, new = _checked(primitive, discharged, {i: args[i].aval.inner_aval for i in refs})
    for i, value in new.items():
        replace(args[i], owners[i], value, str(primitive))
    return outs


def _checked(primitive: Any, discharged: Any, types: dict[int, Any]) -> tuple[Any, dict[int, Any]]:
    """The result of a discharge rule, checked.

    Raises:
      TypeError: it is not a pair of results and new contents, or these are not of the references' types.
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
AbstractRef.run = staticmethod(run_compiled)
