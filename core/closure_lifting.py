"""Inner programs that use values of transformations around them.

A user's rule may use a value of an enclosing transformation. If the rule is applied inside an inner program, such as
the body of a loop, the value becomes a constant of the program that is derived from it. There no transformation finds
it, so before the primitive is bound with the derived program, the value becomes an operand.
"""

from __future__ import annotations

from typing import Any
from weakref import ref

from primax.core.jaxpr import ClosedJaxpr
from primax.core.rules import close_over_rules
from primax.core.trace import Tracer

# Weak references to derived programs with tracers among their constants, by identity. It is empty most of the time.
using: dict[int, Any] = {}


def note_derived(program: ClosedJaxpr) -> ClosedJaxpr:
    """The program, recorded in `using` if some of its constants are tracers."""
    if any(isinstance(x, Tracer) for x in program.consts):
        key = id(program)
        using[key] = ref(program, lambda _: using.pop(key, None))
    return program


def lifted(program: ClosedJaxpr) -> tuple[ClosedJaxpr, list[Any]]:
    """A program whose first inputs are the constants that are tracers, and these tracers.

    >>> import primax as px
    >>> lifted(px.make_jaxpr(lambda x: x + 1.0)(2.0))[1]
    []
    """
    tracers = [isinstance(x, Tracer) for x in program.consts]
    if not any(tracers):
        return program, []
    pairs = list(zip(program.constvars, program.consts, tracers, strict=True))
    jaxpr = program.jaxpr.replace(
        constvars=[v for v, _, traced in pairs if not traced],
        invars=[*(v for v, _, traced in pairs if traced), *program.invars],
    )
    values = [x for _, x, traced in pairs if traced]
    return ClosedJaxpr(jaxpr, [x for _, x, traced in pairs if not traced]), values


def with_operands(primitive: Any, args: Any, params: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The operands and parameters of a bind, with the tracers among the constants of inner programs as operands."""
    if not any(map(_uses_tracers, params.values())):
        return args, params
    rule = close_over_rules.get_or_load(primitive)
    return (args, params) if rule is None else rule(args, params)


def _uses_tracers(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return any(map(_uses_tracers, value))
    return isinstance(value, ClosedJaxpr) and any(isinstance(x, Tracer) for x in value.consts)
