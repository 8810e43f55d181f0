"""Loops outside of programs: compiled as programs of one equation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primax.extend import core
from primax.extend.core import get_aval
from primax.plugins.calls import run_program


def run_compiled(
    primitive: core.Primitive, program: core.ClosedJaxpr, args: Sequence[Any], params: dict[str, Any]
) -> list[Any]:
    """Apply a primitive by compiling a program of one equation, cached on a program that it holds."""
    avals = tuple([get_aval(x) for x in args])

    def make() -> core.ClosedJaxpr:
        # The equation has a copy, so that the program does not keep itself alive.
        copy = core.ClosedJaxpr(program.jaxpr, program.consts)
        copies = {name: copy if value is program else value for name, value in params.items()}
        return core.trace_to_jaxpr(lambda *xs: primitive.bind(*xs, **copies), avals, primitive.name)

    key = ("compiled", avals, tuple([(name, value) for name, value in params.items() if value is not program]))
    return run_program(core.cached(program, key, make), primitive.name, args)
