"""Derivations: objects that are given in place of rules, and from which primax makes the rules.

`define_primitive`, `registry.define` and the rule tables accept them, as in `batch=derive.loop`. Evaluation compiles an
impl from which the lowering is derived as one program.

| | makes | from |
|---|---|---|
| `from_impl` | abstract_eval, jvp, transpose, batch, lowering, interpret | an impl written in primax operations |
| `from_lowering` | impl | a lowering, by compiling it for each signature |
| `linear` | jvp | the primitive, which is linear in all its arguments together |
| `loop` | batch | the primitive, which is bound once for each element |
| `by(factory, ...)` | any | the result of `factory(primitive, ...)` |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from primax.core.cache import epoch
from primax.core.caller import author, is_surface
from primax.core.derivation import Derivation, DerivedRule, function_of
from primax.core.errors import RuleError
from primax.core.rules import lowering_rules, rule_tables, written
from primax.extend.axis_names import for_unnamed_axes
from primax.extend.derive.batched import LOST, bind_batched
from primax.extend.derive.element_loop import loop_of, size_of
from primax.extend.derive.impl_program import ImplProgram
from primax.extend.interpreters.ad import is_undefined_primal, jvp_flat, linear_jvp
from primax.extend.interpreters.batching import AxisData
from primax.extend.provisional.aval_sharding import aval_sharding
from primax.extend.provisional.derivatives import linear_tape
from primax.extend.stablehlo.element_lowering import physical_lowering
from primax.extend.stablehlo.rules import lower_fun
from primax.interpreters.runtime.eval import apply_primitive
from primax.interpreters.staging import trace_to_jaxpr

__all__ = ["Derivation", "by", "from_impl", "from_lowering", "linear", "loop"]
__dir__ = __all__.copy

Rule = Callable[..., Any]
Maker = Callable[[Any, Any], Rule]


class _Recipe(Derivation):
    """A derivation of some kinds of rules.

    Args:
      spelling: the text that authors write.
      makers: by kind, `(primitive, source) -> rule`.
      source: the kind of the source rule; empty if it needs none.
      origin: the source of the rule, for the provenance.
    """

    def __init__(self, spelling: str, makers: Mapping[str, Maker], source: str, origin: str) -> None:
        self.spelling = spelling
        self.makers = makers
        self.source = source
        self.origin = origin

    def __repr__(self) -> str:
        return self.spelling

    def rule_for(self, where: str, primitive: Any, kind: str, others: Mapping[str, Any]) -> Rule:
        maker = self.makers.get(kind)
        if maker is None:
            raise TypeError(
                f"{where}: {kind} cannot be {self}, which derives only rules of kind {', '.join(self.makers)}"
            )
        source = others.get(self.source)
        if self.source and source is None:
            raise TypeError(f"{where}: {kind} can be {self} only together with the {self.source} rule, got none")
        if isinstance(source, Derivation):
            raise TypeError(f"{where}: {kind} cannot be {self}, since the {self.source} rule is derived itself")
        if self.source == "impl":
            _refuse_loss(f"{where}: {kind} cannot be {self}", kind, others)
        rule: Any = maker(primitive, source)
        rule.__name__ = f"{kind}({primitive})"
        if callable(source):
            rule.func = source  # where it was written
        return DerivedRule(rule, self.origin, _place_of(rule))


def _refuse_loss(refusal: str, kind: str, others: Mapping[str, Any]) -> None:
    """Raise an error for a derivation that would make a rule written by hand useless."""
    if kind == "jvp" and _is_by_hand(others.get("transpose")):
        raise TypeError(
            f"{refusal} if the transpose rule is written by hand: the tangent would consist of the operations of the "
            "impl, so grad would not call that rule. Give a jvp that binds the primitive on tangents, such as "
            "derive.linear"
        )
    if kind in ("batch", "axis_batch"):
        for other, rule in others.items():
            reason = LOST.get(other, "" if other in _KEPT else "only its author knows how to apply it to a batch")
            if reason and _is_by_hand(rule):
                raise TypeError(
                    f"{refusal} if the {other} rule is written by hand, because vmap would lose that rule: {reason}. "
                    "Write the batch rule by hand, or use derive.loop"
                )


_KEPT = frozenset(rule_tables)  # the kinds of primax; transformations of others add theirs


def _is_by_hand(rule: Any) -> bool:
    return rule is not None and not isinstance(rule, Derivation)


class _ByFactory(Derivation):
    """A rule that a factory makes for the primitive."""

    def __init__(self, factory: Rule, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        self.factory = factory
        self.args = args
        self.options = options

    def __repr__(self) -> str:
        return f"derive.by({getattr(self.factory, '__name__', self.factory)})"

    def rule_for(self, where: str, primitive: Any, kind: str, others: Mapping[str, Any]) -> Rule:
        rule = self.factory(primitive, *self.args, **self.options)
        function = function_of(rule)
        if not callable(function):
            raise TypeError(f"{where}: the factory of {kind}={self} must return a rule, got {rule!r}")
        return DerivedRule(function, rule.origin if isinstance(rule, DerivedRule) else "", _place_of(function))


def _place_of(rule: Any) -> tuple[str, int] | None:
    """The author's line that asked for a rule, if all of the rule's code is in primax."""
    if not isinstance(rule, FunctionType) or not is_surface(getattr(written(rule), "__module__", None) or ""):
        return None
    who = author()
    return who.file, who.line


def by(factory: Rule, *args: Any, **options: Any) -> Derivation:
    """The rule that a factory makes for the primitive, for use before the primitive exists.

    Args:
      factory: takes the primitive first, such as `batching.vectorized` or `ad.standard_jvp`.
      args: further arguments of the factory.
      options: its keyword arguments.

    Raises:
      TypeError: `factory` is not callable.

    >>> from primax.extend import derive
    >>> from primax.extend.interpreters import batching
    >>> derive.by(batching.vectorized)
    derive.by(vectorized)
    """
    if not callable(factory):
        raise TypeError(f"derive.by: factory must be a function, got {factory!r}")
    return _ByFactory(factory, args, options)


def _undivided(aval: Any) -> Any:
    """A type without its division; the sharding rule returns the divisions of results."""
    return aval if aval_sharding(aval) is None else aval.update(sharding=None)


def _abstract_eval_from(primitive: Any, impl: Rule) -> Rule:
    program = ImplProgram(primitive, impl)

    def rule(*avals: Any, **params: Any) -> Any:
        with program.explained("abstract_eval"):
            closed = trace_to_jaxpr(program.on(params), list(map(_undivided, avals)))
        if closed.effects:
            raise RuleError(
                f"the abstract_eval rule of {primitive} cannot be derived from its impl, which has effects "
                f"{sorted(map(str, closed.effects))}; derive effectful_abstract_eval instead"
            )
        return program.returned(closed.out_avals)

    return rule


def _effectful_abstract_eval_from(primitive: Any, impl: Rule) -> Rule:
    program = ImplProgram(primitive, impl)

    def rule(*avals: Any, **params: Any) -> Any:
        with program.explained("effectful_abstract_eval"):
            closed = trace_to_jaxpr(program.on(params), list(map(_undivided, avals)))
        return program.returned(closed.out_avals), closed.effects

    return rule


def _jvp_from(primitive: Any, impl: Rule) -> Rule:
    program = ImplProgram(primitive, impl)

    def rule(primals: Any, tangents: Any, /, **params: Any) -> Any:
        with program.explained("jvp"):
            outs, out_tangents = jvp_flat(program.on(params), primals, tangents)
        if _has_own_lowering(primitive, impl):
            return primitive.bind(*primals, **params), program.returned(out_tangents)
        return program.returned(outs), program.returned(out_tangents)

    return rule


def _has_own_lowering(primitive: Any, impl: Rule) -> bool:
    """Whether a primitive has a lowering, for any platform, that is not derived from its impl."""
    state = len(lowering_rules.functions), epoch.value
    known = vars(primitive).get("_own_lowering")
    if known is None or known[0] != state:
        answer = any(
            (key[0] if isinstance(key, tuple) else key) is primitive and getattr(rule, "func", None) is not impl
            for key, rule in list(lowering_rules.functions.items())
        )
        known = vars(primitive)["_own_lowering"] = state, answer
    return bool(known[1])


def _transpose_from(primitive: Any, impl: Rule) -> Rule:
    program = ImplProgram(primitive, impl)

    def rule(ct: Any, /, *args: Any, **params: Any) -> list[Any]:
        linear = [i for i, x in enumerate(args) if is_undefined_primal(x)]

        def run(*xs: Any) -> list[Any]:
            values = list(args)
            for i, x in zip(linear, xs, strict=True):
                values[i] = x
            return program.on(params)(*values)

        with program.explained("transpose", "be written in primax operations and linear"):
            tape = linear_tape(run, [args[i].aval for i in linear])
            cotangents = tape.transpose(ct if primitive.multiple_results else [ct])
        cts: list[Any] = [None] * len(args)
        for i, x in zip(linear, cotangents, strict=True):
            cts[i] = x
        return cts

    return rule


def _axis_batch_from(primitive: Any, impl: Rule) -> Rule:
    program = ImplProgram(primitive, impl)

    def rule(axis: AxisData, args: Any, dims: Any, /, **params: Any) -> Any:
        return bind_batched(program, axis, True, args, dims, params)

    return rule


def _batch_from(primitive: Any, impl: Rule) -> Rule:
    program = ImplProgram(primitive, impl)

    def rule(args: Any, dims: Any, /, **params: Any) -> Any:
        return bind_batched(program, AxisData(None, size_of(args, dims)), False, args, dims, params)

    return for_unnamed_axes(primitive, "derive.from_impl", rule, impl)


def _interpret_from(primitive: Any, impl: Rule) -> Rule:
    program = ImplProgram(primitive, impl)

    def rule(interpreter: Any, eqn: Any, *values: Any) -> Any:
        with program.explained("interpret"):
            closed = trace_to_jaxpr(program.on(eqn.params), [v.aval for v in eqn.invars])
        return program.returned(interpreter.interpret(closed, *values))

    return rule


def _lowering_from(primitive: Any, impl: Rule) -> Rule:
    program = ImplProgram(primitive, impl)

    def rule(ctx: Any, /, *args: Any, **params: Any) -> list[Any]:
        with program.explained("lowering"):
            return lower_fun(program.on(params))(ctx, *args)

    return physical_lowering(rule)  # keys in the impl are staged, like all values


def _compiled(primitive: Any, lowering: Any) -> Rule:
    def rule(*args: Any, **params: Any) -> Any:
        return apply_primitive(primitive, *args, **params)

    return rule


from_impl = _Recipe(
    "derive.from_impl",
    {
        "abstract_eval": _abstract_eval_from,
        "effectful_abstract_eval": _effectful_abstract_eval_from,
        "jvp": _jvp_from,
        "transpose": _transpose_from,
        "batch": _batch_from,
        "axis_batch": _axis_batch_from,
        "lowering": _lowering_from,
        "interpret": _interpret_from,
    },
    "impl",
    "impl",
)
from_lowering = _Recipe("derive.from_lowering", {"impl": _compiled}, "lowering", "lowering")
linear = _Recipe("derive.linear", {"jvp": lambda primitive, source: linear_jvp(primitive)}, "", "linearity")
loop = _Recipe("derive.loop", {"batch": lambda p, source: for_unnamed_axes(p, "derive.loop", loop_of(p))}, "", "a loop")
