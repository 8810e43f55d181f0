"""The check of interpret rules: an interpreter that changes nothing computes what the primitive computes."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from primax.core import config
from primax.core.jaxpr import JaxprEqn
from primax.extend.interpreter import Interpreter, replay
from primax.extend.testing.case import Case
from primax.extend.testing.evaluation import tolerance
from primax.extend.testing.invariants import require_same
from primax.extend.testing.programs import Parts
from primax.extend.testing.report import Failed, NotRun
from primax.interpreters.staging import trace_to_jaxpr

__all__ = ["check_interpret"]


class _Boxed(NamedTuple):
    """A value of the interpreter, which is not an array, so that a rule cannot compute with it."""

    array: Any


class _InPlace(Interpreter):
    """Computes what the program computes."""

    def lift(self, constant: Any) -> Any:
        return _Boxed(constant)

    def primal(self, value: Any) -> Any:
        return value.array

    def default(self, eqn: JaxprEqn, *values: Any) -> Any:
        outs = [_Boxed(x) for x in replay(eqn, [value.array for value in values])]
        return outs if eqn.primitive.multiple_results else outs[0]

    default_higher_order = default


class _AsCalls(_InPlace):
    """The same, with calls of transformed programs."""

    inline = False


def check_interpret(case: Case) -> None:
    """An interpreter that changes nothing, and uses the interpret rule for inner programs, gets the same results."""
    if not case.has("interpret"):
        if case.programs:
            raise NotRun(
                "there is no interpret rule, so interpreters such as checkify cannot look into its programs; "
                f"registry.define({case.primitive.name}_p, interpret=rule) adds one"
            )
        raise NotRun("there is no interpret rule, which is optional")
    if case.sample.axes:
        raise NotRun("it needs the axes that its sample names")
    native = case.native
    with config.enable_x64(native.x64):
        closed = trace_to_jaxpr(native.bind, native.avals)

    def run(interpreter: Interpreter, *xs: Any) -> list[Any]:
        return [value.array for value in interpreter.interpret(closed, *map(_Boxed, xs))]

    ways: dict[Any, Any] = {"in place": partial(run, _InPlace()), "as calls": partial(run, _AsCalls())}
    parts = Parts(ways, native.args, compiled=case.compiles, x64=native.x64)
    wants = native.base(*native.args)
    for way in ways:
        try:
            outs = parts[way]
        except Exception as error:
            text = f"an interpreter that treats inner programs {way}: {type(error).__name__}: {error}"
            raise Failed(text, "interpret") from error
        if len(outs) != len(wants):
            raise Failed(f"an interpreter gets {len(outs)} results of {len(wants)}", "interpret")
        message = f"{{what}} differs if an interpreter that changes nothing treats inner programs {way}"
        require_same(case, outs, wants, native.args, partial(tolerance, case), message, "interpret")
