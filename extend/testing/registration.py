"""Checks of the declarations of a primitive: its rules, its parameters and its effects."""

from __future__ import annotations

from typing import Any

from primax.core import _jaxlib
from primax.core.cache_keys import params_key
from primax.core.check import check_jaxpr
from primax.core.effects import Effect, Effects, kind_of, register_effect
from primax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, eval_jaxpr, jaxprs_in_params
from primax.core.primitive import Primitive
from primax.core.rules import rule_tables
from primax.extend.testing.case import Case
from primax.extend.testing.programs import on_arrays
from primax.extend.testing.report import Failed
from primax.interpreters.runtime.pipeline import Target, lower
from primax.interpreters.runtime.sharding.device_assignment import choose_devices
from primax.interpreters.staging import trace_to_jaxpr

__all__ = ["check_effects", "check_program", "check_registration"]


def check_registration(case: Case) -> None:
    """Every rule that this sample needs exists or is declared unsupported.

    A type rule and a lowering are always needed, a JVP rule if an argument is inexact, and a batch rule if there are
    arguments. A transpose rule is needed only if the derivatives use it. With references among the operands, a rule
    `discharge` is needed in place of all but the type rule.
    """
    required = [("abstract_eval", "effectful_abstract_eval"), ("lowering",)]
    if case.has_refs:
        required[1] = ("discharge",)
    elif case.sample.args:
        required.append(("batch", "axis_batch"))
    if case.native.active and not case.has_refs:
        required.append(("jvp",))
    missing = []
    for kinds in required:
        there = case.has_lowering if kinds == ("lowering",) else case.has(*kinds)
        declared = any(case.primitive in rule_tables[kind].unsupported for kind in kinds)
        if not there and not declared:
            missing.append(kinds[0])
    if missing:
        raise Failed(
            f"there is no {' rule and no '.join(missing)} rule; define {'it' if len(missing) == 1 else 'them'}, or "
            f"declare why there can be none: registry.define({case.primitive.name}_p, ..., "
            f"unsupported={{{missing[0]!r}: reason}})"
        )


def check_program(case: Case) -> None:
    """The parameters are hashable, and a program with the primitive is well-typed, can be printed and runs again."""
    params = dict(case.sample.params)
    try:
        hash(params_key(params))
    except TypeError as error:
        culprit = next((name for name, value in params.items() if not _hashable(value)), "")
        raise Failed(
            f"expected hashable parameters, got {culprit}={params.get(culprit)!r} ({error}); "
            "unhashable ones are compiled anew at each call"
        ) from None
    native = case.native
    closed = trace_to_jaxpr(native.bind, native.avals)
    check_jaxpr(closed)
    again = trace_to_jaxpr(lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), native.avals)
    check_jaxpr(again)
    if str(again) != str(closed):
        raise Failed(
            f"its program must stage itself again when it is evaluated: expected\n{closed}\ngot\n{again}",
            "abstract_eval",
            "staging",
        )


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def check_effects(case: Case) -> None:
    """The effects of the primitive are declared, and are of registered classes."""
    native = case.native
    kind = "effectful_abstract_eval" if case.has("effectful_abstract_eval") else "abstract_eval"
    outs, effects = case.abstract_eval(native.avals)
    for effect in effects:
        if not isinstance(effect, Effect):
            raise Failed(f"expected effects to be instances of Effect, got {effect!r}", kind)
        kind_of(effect)
    if not outs and not effects:
        raise Failed(
            "it has no results and declares no effects, so every program drops it; "
            "give an effectful_abstract_eval rule that returns (avals, effects)",
            kind,
        )
    _require_effects_of_programs(case, kind)
    culprit = _operation_with_side_effects(case)
    if culprit and not effects:
        raise Failed(
            f"its lowering contains {culprit}, which has side effects, but it declares no effects", kind, "lowering"
        )


class _Held(Effect):
    """An effect that the check adds to the inner programs of a sample, to see whether the primitive has it then."""


register_effect(_Held, control_flow=True, custom_derivatives=True)


class _HeldPrimitive(Primitive):
    """A primitive with this effect and nothing else, without an entry in any rule table."""

    __slots__ = ()

    def _abstract_eval(self, avals: tuple[Any, ...], params: dict[str, Any]) -> tuple[list[Any], Effects]:
        return [], frozenset({_Held()})


_held_p = _HeldPrimitive("held", multiple_results=True)


def _require_effects_of_programs(case: Case, kind: str) -> None:
    """The primitive has the effects of its inner programs."""
    if not case.programs or case.has("check"):
        return
    params = {name: _with_effect(value) for name, value in case.sample.params.items()}
    try:
        _, effects = case.primitive.result_types(tuple(map(case.element, case.native.avals)), params)
    except Exception:  # it accepts no program with such an effect
        return
    if not any(isinstance(effect, _Held) for effect in effects):
        raise Failed(
            "it must have the effects of its inner program, but has none for a program with an effect; give an "
            "effectful_abstract_eval rule that returns (avals, the program's effects)",
            kind,
        )


def _with_effect(value: Any) -> Any:
    """A parameter whose programs have one more effect."""
    if isinstance(value, tuple | list) and any(jaxprs_in_params({"": value})):
        return type(value)(map(_with_effect, value))
    if isinstance(value, ClosedJaxpr):
        return ClosedJaxpr(_with_effect(value.jaxpr), value.consts)
    if not isinstance(value, Jaxpr):
        return value
    effects = frozenset({_Held()})
    return value.replace(eqns=[*value.eqns, JaxprEqn(_held_p, [], [], {}, effects)], effects=value.effects | effects)


def _operation_with_side_effects(case: Case) -> str:
    """The first operation of the lowering that has side effects; empty if none has."""
    if not case.has_lowering:
        return ""
    native = case.native
    closed = on_arrays(trace_to_jaxpr(native.bind, native.avals))
    module = lower(closed, Target("conformance", choose_devices(closed, native.args))).module
    culprit = ""

    def visit(operation: Any) -> Any:
        nonlocal culprit
        marked = "has_side_effect" in operation.attributes and str(operation.attributes["has_side_effect"]) == "true"
        if marked or operation.name in _IMPURE:
            culprit = operation.name
            return _jaxlib.ir.WalkResult.INTERRUPT
        return _jaxlib.ir.WalkResult.ADVANCE

    with module.shared:
        module.module.operation.walk(visit, _jaxlib.ir.WalkOrder.PRE_ORDER)
    return culprit


_IMPURE = frozenset(("stablehlo.infeed", "stablehlo.outfeed", "stablehlo.send", "stablehlo.recv"))
