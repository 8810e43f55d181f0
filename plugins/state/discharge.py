"""Discharge: programs with references become programs that take and return their contents."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from primax.core.errors import UnsupportedError
from primax.extend import core
from primax.extend.core import ClosedJaxpr
from primax.extend.provisional.references import Discharged, discharge_rules, register_program_pass
from primax.extend.provisional.tracing import thread
from primax.plugins.calls import jit_p
from primax.plugins.custom_derivatives import custom_jvp_call_p, custom_lin_p, custom_vjp_call_p
from primax.plugins.state.indices import put, take
from primax.plugins.state.primitives import addupdate_p, empty2_p, free_p, freeze_p, get_p, ref_p, swap_p
from primax.plugins.state.ref import (
    Ref,
    contents,
    discharging,
    empty_ref,
    free_ref,
    freeze,
    is_final,
    is_ref,
    new_ref,
    owner_of,
    replace,
    stages,
)
from primax.plugins.state.types import AbstractRef, NewRefEffect


def has_refs(closed: ClosedJaxpr) -> bool:
    """Whether a program takes or makes references."""
    return any(isinstance(e, NewRefEffect) for e in closed.effects) or any(
        type(v.aval) is AbstractRef for v in (*closed.jaxpr.constvars, *closed.jaxpr.invars)
    )


def discharge(closed: ClosedJaxpr, final: bool | None = None) -> Discharged:
    """The program without references, kept with it.

    Args:
      closed: the program; its constants are not references.
      final: whether no derivative of it is taken later; by default what the current trace says.

    Raises:
      CustomRule: `final` is False, and a function with custom derivatives inside takes a reference.
    """
    if final is None:
        final = is_final(thread.trace)
    program = closed
    return core.cached(closed, ("discharged", final), lambda: _discharge(program, final))  # type: ignore[no-any-return]


class CustomRule(Exception):
    """A program calls a function with custom derivatives on references; these rules would be lost."""


def _discharge(closed: ClosedJaxpr, final: bool) -> Discharged:
    avals = [v.aval for v in closed.jaxpr.invars]
    written: list[int] = []

    def run(*values: Any) -> list[Any]:
        with discharging(final):
            args = [
                Ref(x, aval, thread.trace) if type(aval) is AbstractRef else x
                for x, aval in zip(values, avals, strict=True)
            ]
            outs = core.eval_jaxpr(closed.jaxpr, closed.consts, *args)
            for i, (arg, value) in enumerate(zip(args, values, strict=True)):
                if type(arg) is Ref and arg._value is not value:
                    written.append(i)
            return [*outs, *(args[i]._value for i in written)]

    taken = [aval.inner_aval if type(aval) is AbstractRef else aval for aval in avals]
    program = core.trace_to_jaxpr(run, taken, closed.jaxpr.debug_info)
    jaxpr, _ = core.dce_jaxpr(program.jaxpr, True, True)  # without reads whose results are not used
    return Discharged(ClosedJaxpr(jaxpr, program.consts), tuple(written))


def without_refs(closed: ClosedJaxpr) -> ClosedJaxpr:
    """A program that makes references, but takes none, as one without."""
    return discharge(closed, True).program


def bind_with_refs(primitive: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Apply a primitive that holds programs, some of whose operands may be references, or whose programs make some."""
    bind = functools.partial(type(primitive).bind, primitive)
    if stages(thread.trace):
        return bind(*args, **params)
    params = {name: _discharged_param(value) for name, value in params.items()}
    refs = [i for i, x in enumerate(args) if is_ref(x)]
    if not refs:
        return bind(*args, **params)
    if primitive is jit_p and not thread.trace.tracing:
        run_with_refs = import_module("primax.plugins.state.calls").run_with_refs  # it imports this module
        return run_with_refs(params["jaxpr"], params["name"], args, params["keep_unused"])
    rule = discharge_rules.find(primitive, "a call with a reference")
    owners = {i: owner_of(args[i]) for i in refs}
    values = [contents(x, owners[i]) if i in owners else x for i, x in enumerate(args)]
    first: dict[int, int] = {}
    same = tuple(first.setdefault(id(x), i) if i in owners else None for i, x in enumerate(args))
    try:
        outs, new = rule(same, *values, **params)
    except CustomRule:
        program = params.get("jaxpr")
        if primitive is not jit_p:
            raise UnsupportedError(
                f"{primitive}: a function with custom derivatives must not take a reference inside of loops and "
                "branches that are differentiated; call it outside, or use a Python loop"
            ) from None
        return core.eval_jaxpr(program.jaxpr, program.consts, *args)
    for i, value in new.items():
        replace(args[i], owners[i], value, str(primitive))
    return outs


def _discharged_param(value: Any) -> Any:
    """A parameter, without references in the programs that it is or holds, but for those that programs take."""
    if isinstance(value, ClosedJaxpr):
        makes = any(isinstance(e, NewRefEffect) for e in value.effects)
        takes = any(type(v.aval) is AbstractRef for v in value.jaxpr.invars)
        return without_refs(value) if makes and not takes else value
    if type(value) is tuple and value and isinstance(value[0], ClosedJaxpr):
        return tuple(map(_discharged_param, value))
    return value


# What the equations of references do where these are cells.
def _binding(primitive: Any, function: Any) -> Any:
    def bind(*args: Any, **params: Any) -> Any:
        if stages(thread.trace):
            return thread.trace.process(primitive, args, params)
        return function(*args, **params)

    return bind


def _get(ref: Any, *operands: Any, indices: Any) -> Any:
    return take(contents(ref, owner_of(ref)), indices, operands)


def _swap(ref: Any, value: Any, *operands: Any, indices: Any) -> Any:
    owner = owner_of(ref)
    before = contents(ref, owner)
    replace(ref, owner, put(before, indices, operands, value))
    return take(before, indices, operands)


def _addupdate(ref: Any, value: Any, *operands: Any, indices: Any) -> list[Any]:
    owner = owner_of(ref)
    replace(ref, owner, put(contents(ref, owner), indices, operands, value, True))
    return []


def _free(ref: Any) -> list[Any]:
    free_ref(ref)
    return []


CELLS = {
    ref_p: new_ref,
    empty2_p: empty_ref,
    freeze_p: freeze,
    free_p: _free,
    get_p: _get,
    swap_p: _swap,
    addupdate_p: _addupdate,
}

for _primitive, _function in CELLS.items():
    _primitive.bind = _binding(_primitive, _function)  # type: ignore[method-assign]
    _primitive.mutable_operands = True


def _bind_custom_call(primitive: Any, *args: Any, **params: Any) -> Any:
    """Call a function with custom derivatives; its rules take the references themselves."""
    trace = thread.trace
    bind = functools.partial(type(primitive).bind, primitive)
    call = params["call_jaxpr"]
    if not isinstance(call, ClosedJaxpr) or stages(trace) or not any(map(is_ref, args)):
        return bind(*args, **params)
    if is_final(trace):
        return core.eval_jaxpr(call.jaxpr, call.consts, *args)
    if trace.stages:
        raise CustomRule
    return bind(*args, **params)


for _primitive in (custom_jvp_call_p, custom_vjp_call_p):
    _primitive.bind = functools.partial(_bind_custom_call, _primitive)  # type: ignore[method-assign]
    _primitive.mutable_operands = True
custom_lin_p.mutable_operands = True

discharge_rules.bind_mutable = bind_with_refs
discharge_rules.discharge = discharge
register_program_pass(
    "discharge", lambda closed: any(isinstance(e, NewRefEffect) for e in closed.effects), without_refs
)
