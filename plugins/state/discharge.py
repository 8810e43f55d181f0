"""Discharge: programs with references become programs that take and return their contents."""

from __future__ import annotations

from typing import Any

from primax.extend import core
from primax.extend.core import ClosedJaxpr
from primax.extend.provisional.references import Discharged, discharge_rules, register_program_pass
from primax.extend.provisional.tracing import thread
from primax.plugins.state.indices import put, take
from primax.plugins.state.primitives import (
    addupdate_p,
    empty2_p,
    free_p,
    freeze_p,
    get_p,
    ref_p,
    require_elements,
    swap_p,
)
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
      final: whether no derivative of it is taken later; by default as the current trace determines.

    Raises:
      CustomRule: `final` is False, and a function with custom derivatives inside takes a reference.
      ValueError: the program ends a reference that it takes.
    """
    if final is None:
        final = is_final(thread.trace)
    program = closed
    return core.cached(closed, ("discharged", final), lambda: _discharge(program, final))


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
                if type(arg) is Ref and arg._why:
                    raise ValueError(
                        f"{arg._why}: a reference must be ended where it was made, not inside a function that takes "
                        f"it; read it there by ref[...]"
                    )
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


# The equations of references, as operations on cells.
def _binding(primitive: Any, function: Any) -> Any:
    def bind(*args: Any, **params: Any) -> Any:
        if stages(thread.trace):
            return thread.trace.process(primitive, args, params)
        if primitive not in (ref_p, empty2_p):
            if not args:
                primitive.result_types((), params)  # raises an error
            if not is_ref(args[0]):
                raise TypeError(
                    f"{primitive}: the first operand must be a reference, got {args[0]!r}; px.new_ref makes one"
                )
        return function(*args, **params)

    return bind


def _get(ref: Any, *operands: Any, indices: Any) -> Any:
    return take(contents(ref, owner_of(ref)), indices, operands)


def _swap(ref: Any, value: Any, *operands: Any, indices: Any) -> Any:
    require_elements("swap", ref.aval.inner_aval, indices, operands, core.get_aval(value))
    owner = owner_of(ref)
    before = contents(ref, owner)
    replace(ref, owner, put(before, indices, operands, value))
    return take(before, indices, operands)


def _addupdate(ref: Any, value: Any, *operands: Any, indices: Any) -> list[Any]:
    require_elements("addupdate", ref.aval.inner_aval, indices, operands, core.get_aval(value))
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


discharge_rules.discharge = discharge
register_program_pass(
    "discharge", lambda closed: any(isinstance(e, NewRefEffect) for e in closed.effects), without_refs
)
