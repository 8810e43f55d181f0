"""Declarations about a primitive, and the rules that are made from them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

from primax.core import tree
from primax.core.avals import ALL_BUT_SHAPE_AND_DTYPE, NO_VALUE, ShapedArray, get_aval, is_void, same_type
from primax.core.caller import is_surface
from primax.core.derivation import Derivation, DerivedRule, function_of
from primax.core.diagnostics import rule_error, shorten, user_line
from primax.core.dtypes import ExtendedDType
from primax.core.effects import Effect, Mutates, OperandEffect
from primax.core.errors import MissingRuleError, RuleError
from primax.core.rules import location, transpose_rules
from primax.extend import derive
from primax.extend.host.plugin_host import host
from primax.extend.interpreters.ad import UndefinedPrimal, Zero, add_tangents, instantiate_zeros
from primax.extend.interpreters.batching import broadcasting
from primax.extend.linearity import linear_alone
from primax.extend.provisional.core_dimensions import declare_core_dimensions
from primax.extend.provisional.derivatives import linear_tape
from primax.extend.provisional.sharding_rule import implied_by_elementwise

__all__ = ["check_signatures", "with_declared", "with_effects"]

Rule = Callable[..., Any]


def with_declared(
    where: str,
    authored: Mapping[str, Any],
    *,
    linear: Sequence[int] = (),
    nondiff: Sequence[int] = (),
    vjp: Any = None,
    elementwise: bool = False,
    out_like: int | None = None,
    signature: str | None = None,
    leading: str = "broadcast",
    multiple_results: bool = False,
    unsupported: Container[str] = (),
) -> dict[str, Any]:
    """Rules by kind, including those derived from declarations.

    Args:
      where: the called function, for messages.
      authored: the author's rules.
      linear, nondiff, vjp, elementwise, out_like, signature, leading, multiple_results: as for `define_primitive`.
      unsupported: kinds of rules that are not derived, since the author says that there are none.

    Raises:
      TypeError: a declaration is wrong, or contradicts a rule or another declaration.
    """
    rules = {kind: rule for kind, rule in authored.items() if rule is not None}
    linear, nondiff = (
        _positions(where, name, value, rules) for name, value in (("linear", linear), ("nondiff", nondiff))
    )
    if set(linear) & set(nondiff):
        raise TypeError(f"{where}: an argument must not be both linear and nondiff, got {min({*linear} & {*nondiff})}")
    if not isinstance(elementwise, bool):
        raise TypeError(f"{where}: elementwise must be True or False, got {elementwise!r}")
    if out_like is not None:
        (out_like,) = _positions(where, "out_like", (out_like,), rules)
    if signature is not None:
        if elementwise or out_like is not None:
            other = "elementwise" if elementwise else "out_like"
            raise TypeError(f"{where}: signature must not be given together with {other}, which says less")
        declare_core_dimensions(where, rules, signature, leading, multiple_results, _counts_of_arguments(rules))
    elif leading != "broadcast":
        raise TypeError(f"{where}: leading must be given together with signature, got leading={leading!r} alone")
    _declare_types(where, rules, elementwise, out_like)
    if vjp is not None:
        _declare_vjp(where, rules, vjp, linear)
    if linear:
        _declare_linear(where, rules, linear)
    if nondiff and "jvp" in rules:
        rules["jvp"] = _Wrapped(rules["jvp"], lambda rule, primitive: _without_nondiff(rule, primitive, nondiff))
    derived = {kind for kind, rule in rules.items() if authored.get(kind) is None and kind in unsupported}
    return {**dict.fromkeys(authored), **{kind: rule for kind, rule in rules.items() if kind not in derived}}


def with_effects(where: str, declared: Mapping[str, Any], effects: Any, mutates: Any) -> dict[str, Any]:
    """Rules by kind, with a type rule that also returns the effects.

    Args:
      where: the called function, for messages.
      declared: the rules, including those derived from other declarations.
      effects, mutates: as for `define_primitive`.

    Raises:
      TypeError: a declaration is wrong, or there is no type rule, or the type rule returns effects already.
    """
    rules = {kind: rule for kind, rule in declared.items() if rule is not None}
    mutates = _positions(where, "mutates", mutates, rules)
    if isinstance(effects, str) or not isinstance(effects, Sequence | frozenset | set):
        raise TypeError(f"{where}: effects must be a sequence of instances of Effect, got {effects!r}")
    for effect in effects:
        if not isinstance(effect, Effect):
            hint = ", which is a class: make an instance" if isinstance(effect, type) else ""
            raise TypeError(f"{where}: effects must be instances of Effect, got {effect!r}{hint}")
        if isinstance(effect, OperandEffect):
            _positions(where, "effects", (effect.operand,), rules)
    all_effects = frozenset((*effects, *map(Mutates, mutates)))
    if not all_effects:
        return dict(declared)
    name = "effects" if effects else "mutates"
    if "effectful_abstract_eval" in rules:
        raise TypeError(
            f"{where}: {name} must not be given together with effectful_abstract_eval, which returns effects already"
        )
    if "abstract_eval" not in rules:
        raise TypeError(f"{where}: {name} must be given together with an abstract_eval rule, for the types")
    if rules.get("interpret") is derive.from_impl:
        raise TypeError(f"{where}: interpret must not be derive.from_impl if {name} is given, since the impl lacks it")
    if rules.get("jvp") is derive.from_impl:
        rules["jvp"] = _Wrapped(derive.from_impl, _with_primal_bound)
    rules["effectful_abstract_eval"] = _WithEffects(rules.pop("abstract_eval"), all_effects)
    if mutates and callable(rules.get("impl")) and not isinstance(rules["impl"], Derivation):
        rules["impl"] = _refusing_arrays(where.removeprefix("define_primitive"), rules["impl"], mutates)
    return {**dict.fromkeys(declared), **rules}


def _with_primal_bound(jvp: Rule, primitive: Any) -> Rule:
    """A JVP rule that computes the primal result by the primitive, for effects that the impl lacks."""

    def rule(primals: Any, tangents: Any, /, **params: Any) -> Any:
        return primitive.bind(*primals, **params), jvp(primals, tangents, **params)[1]

    return rule


def _require_mutable(primitive: Any, avals: Sequence[Any], mutates: Sequence[int]) -> None:
    for i in mutates:
        if i < len(avals) and isinstance(avals[i], ShapedArray) and not isinstance(avals[i].dtype, ExtendedDType):
            raise TypeError(
                f"{primitive}: argument {i}, which is declared in mutates, must have a mutable type, got an array of "
                f"type {avals[i].str_short()}; arrays are not written to: return the new array instead"
            )


def _refusing_arrays(name: str, impl: Rule, mutates: Sequence[int]) -> Rule:
    """An impl that refuses arrays as arguments that it would write to."""

    @functools.wraps(impl)
    def rule(*args: Any, **params: Any) -> Any:
        _require_mutable(name.strip("()"), [_type_or_none(x) for x in args], mutates)
        return impl(*args, **params)

    return rule


class _WithEffects(Derivation):
    """A type rule that also returns effects, derived from one that returns only types."""

    def __init__(self, rule: Any, effects: frozenset[Effect]) -> None:
        self.rule = rule
        self.effects = effects

    def __repr__(self) -> str:
        return repr(self.rule)

    def rule_for(self, where: str, primitive: Any, kind: str, others: Mapping[str, Any]) -> Rule:
        types = self.rule
        if isinstance(types, Derivation):
            types = function_of(types.rule_for(where, primitive, "abstract_eval", others))

        mutates = [effect.operand for effect in self.effects if isinstance(effect, Mutates)]

        def rule(*avals: Any, **params: Any) -> Any:
            _require_mutable(primitive, avals, mutates)
            return types(*avals, **params), self.effects

        rule.__name__ = f"types_and_effects({primitive})"
        rule.func = types  # type: ignore[attr-defined]
        return rule


def _positions(where: str, name: str, value: Any, rules: Mapping[str, Any]) -> tuple[int, ...]:
    if isinstance(value, int | str) or not isinstance(value, Sequence):
        raise TypeError(f"{where}: {name} must be a tuple of positions of arguments, got {value!r}")
    count = _count_of_arguments(rules)
    for i in value:
        if isinstance(i, bool) or not isinstance(i, int) or i < 0 or (count is not None and i >= count):
            of = "" if count is None else f" below {count}"
            raise TypeError(f"{where}: {name} must be positions of arguments{of}, got {i!r}")
    return tuple(value)


def _count_of_arguments(rules: Mapping[str, Any]) -> int | None:
    """The greatest number of arguments of the impl or the type rule; None if it cannot be determined."""
    counts = _counts_of_arguments(rules)
    return None if counts is None else counts[1]


def _counts_of_arguments(rules: Mapping[str, Any]) -> tuple[int, int | None] | None:
    """The least and the greatest number (None: any) of arguments; None if they cannot be determined."""
    names = _parameter_names(rules)
    for kind in ("impl", "abstract_eval", "effectful_abstract_eval"):
        counts = None if isinstance(rules.get(kind), Derivation) else _positional(rules.get(kind), names)
        if counts is not None:
            return counts
    return None


def _signature(rule: Any) -> list[inspect.Parameter] | None:
    """The parameters of a function; None if they cannot be determined, or the value is not a function."""
    if not callable(rule) or isinstance(rule, Derivation):
        return None
    try:
        return list(inspect.signature(rule).parameters.values())
    except (TypeError, ValueError):
        return None


def _parameter_names(rules: Mapping[str, Any]) -> set[str]:
    """The parameters of a primitive that its rules name, whether keyword-only or not."""
    signatures = {kind: _signature(rule) or [] for kind, rule in rules.items()}
    names = {p.name for parameters in signatures.values() for p in parameters if p.kind is p.KEYWORD_ONLY}
    operands_and_parameters = {p.name for kind in ("impl", "abstract_eval") for p in signatures.get(kind, ())}
    for kind, (count, _) in _TAKES.items():
        names |= {p.name for p in signatures.get(kind, ())[count:]} & operands_and_parameters
    return names


def _positional(rule: Any, names: Container[str] = ()) -> tuple[int, int | None] | None:
    """The least and the greatest number (None: any) of positional arguments of a function; None if they are unknown.

    Args:
      rule: the function.
      names: the names of parameters, which are passed by name.
    """
    parameters = _signature(rule)
    if parameters is None:
        return None
    plain = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    plain = [p for p in plain if p.kind is p.POSITIONAL_ONLY or p.name not in names]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return sum(p.default is p.empty for p in plain), None
    return sum(p.default is p.empty for p in plain), len(plain)


_TAKES = {
    "jvp": (2, "(primals, tangents, **params)"),
    "batch": (2, "(args, dims, **params)"),
    "axis_batch": (3, "(axis_data, args, dims, **params)"),
}


def check_signatures(where: str, rules: Mapping[str, Any]) -> None:
    """Refuse rules whose signatures do not fit their calls.

    Raises:
      TypeError: a rule takes another number of arguments by position, usually because it is a factory.
    """
    names = _parameter_names(rules)
    for kind, (count, signature) in _TAKES.items():
        rule = rules.get(kind)
        counts = _positional(rule, names)
        if counts is None:
            continue
        least, most = counts
        if least > count or (most is not None and most < count):
            name = getattr(rule, "__name__", "factory")
            factory = least == 1 or is_surface(getattr(rule, "__module__", None) or "")
            hint = f"; a factory of rules is given by derive.by({name})" if factory else ""
            takes = f"{most} arguments" if most == least else f"{least} or more"
            raise TypeError(f"{where}: the {kind} rule must be {signature}, got {name}, which takes {takes}{hint}")
    impl, types = (_positional(rules.get(kind), names) for kind in ("impl", "abstract_eval"))
    _check_counts(where, rules, impl or types, names)
    _check_parameters(where, rules)
    if impl is not None and types is not None and not (_fits(impl, types) and _fits(types, impl)):
        raise TypeError(
            f"{where}: the abstract_eval rule must take as many arguments as the impl, {impl[0]}, got {types[0]}"
        )


def _check_counts(
    where: str, rules: Mapping[str, Any], operands: tuple[int, int | None] | None, names: Container[str]
) -> None:
    """Check that transpose and lowering rules take one argument more than the impl: a cotangent, or a context."""
    for kind, first in (("transpose", "the cotangent"), ("lowering", "a context")):
        entry = rules.get(kind)
        for rule in entry.values() if isinstance(entry, Mapping) else (entry,):
            counts = _positional(rule, names)
            if counts is None or operands is None:
                continue
            least, most = operands[0] + 1, None if operands[1] is None else operands[1] + 1
            if not (_fits((least, most), counts) and _fits(counts, (least, most))):
                raise TypeError(
                    f"{where}: the {kind} rule must take {least} arguments, {first} and the {operands[0]} of the impl, "
                    f"got {counts[0]}"
                )


_OF_PARAMETERS = ("impl", "abstract_eval", "effectful_abstract_eval", "jvp", "transpose", "batch", "axis_batch")


def _check_parameters(where: str, rules: Mapping[str, Any]) -> None:
    """Check that all rules accept a parameter that one of them needs: all are called with the parameters of a bind."""
    named = [(kind, rules[kind]) for kind in _OF_PARAMETERS if kind in rules]
    lowering = rules.get("lowering")
    named += [("lowering", rule) for rule in (lowering.values() if isinstance(lowering, Mapping) else (lowering,))]
    keywords = {(kind, i): own for i, (kind, rule) in enumerate(named) if (own := _keywords(rule)) is not None}
    for (needing, _), (needed, _) in keywords.items():
        for (kind, _), (_, taken) in keywords.items():
            missing = sorted(needed - taken) if taken is not None else []
            if missing:
                raise TypeError(
                    f"{where}: the {kind} rule must take parameter {missing[0]}, which the {needing} rule needs: rules "
                    "are called with all parameters by name"
                )


def _keywords(rule: Any) -> tuple[set[str], set[str] | None] | None:
    """The parameters that a rule needs by name, and those that it accepts (None: any); None if they are unknown."""
    parameters = _signature(rule)
    if parameters is None:
        return None
    by_name = [p for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = {p.name for p in by_name if p.kind is p.KEYWORD_ONLY and p.default is p.empty}
    any_name = any(p.kind is p.VAR_KEYWORD for p in parameters)
    return needed, None if any_name else {p.name for p in by_name}


def _fits(one: tuple[int, int | None], other: tuple[int, int | None]) -> bool:
    """Whether one function's least number of arguments is at most another's greatest."""
    return other[1] is None or one[0] <= other[1]


class _Wrapped(Derivation):
    """A rule, or the result of a derivation, wrapped in a function."""

    def __init__(self, rule: Any, wrap: Callable[[Rule, Any], Rule]) -> None:
        self.rule = rule
        self.wrap = wrap

    def __repr__(self) -> str:
        return repr(self.rule)

    def rule_for(self, where: str, primitive: Any, kind: str, others: Mapping[str, Any]) -> Rule:
        rule = self.rule
        if isinstance(rule, Derivation):
            rule = rule.rule_for(where, primitive, kind, others)
        wrapped: Any = self.wrap(function_of(rule), primitive)
        wrapped.__name__ = f"{kind}({primitive})"
        wrapped.func = function_of(rule)  # the function that messages locate
        return DerivedRule(wrapped, rule.origin, rule.place) if isinstance(rule, DerivedRule) else wrapped


def _declare_types(where: str, rules: dict[str, Any], elementwise: bool, out_like: int | None) -> None:
    """Add the type and batch rules of an elementwise primitive, or of one with a result like an argument."""
    typed = "abstract_eval" in rules or "effectful_abstract_eval" in rules
    if out_like is not None and typed:
        raise TypeError(f"{where}: out_like must not be given together with a type rule, which says the same")
    if out_like is None and elementwise and not typed:
        if "impl" in rules and not isinstance(rules["impl"], Derivation):
            rules["abstract_eval"] = derive.from_impl
        else:
            out_like = 0
    if out_like is not None:
        counts = _counts_of_arguments(rules) or (out_like + 1, None)
        rules["abstract_eval"] = derive.by(_types_like, out_like, elementwise, counts)
    if elementwise:
        rules.setdefault("sharding", implied_by_elementwise)
    if elementwise and "batch" not in rules and "axis_batch" not in rules:
        rules["batch"] = derive.by(lambda primitive: DerivedRule(broadcasting(primitive), "being elementwise"))


def _types_like(primitive: Any, position: int, elementwise: bool, counts: tuple[int, int | None]) -> Rule:
    least, most = counts

    def rule(*avals: Any, **params: Any) -> Any:
        if len(avals) < max(least, position + 1) or (most is not None and len(avals) > most):
            wanted = f"{least} or more" if most is None else f"{least}" if most == least else f"{least} to {most}"
            raise TypeError(f"{primitive}: the number of arguments must be {wanted}, got {len(avals)}")
        like = avals[position]
        if elementwise:
            for i, aval in enumerate(avals):
                if aval.shape not in ((), like.shape):
                    raise TypeError(
                        f"{primitive}: arguments must be of the shape of argument {position}, {like.str_short()}, "
                        f"or scalars, got {aval.str_short()} as argument {i}"
                    )
        return ShapedArray(like.shape, like.dtype, all(getattr(a, "weak_type", False) for a in avals))

    rule.__name__ = f"like_argument_{position}({primitive})"
    return DerivedRule(rule, "out_like")


def _declare_linear(where: str, rules: dict[str, Any], linear: tuple[int, ...]) -> None:
    by_hand = rules.get("jvp")
    if by_hand is None:
        rules["jvp"] = derive.by(_multilinear_jvp, linear)
    transpose = rules.get("transpose")
    if transpose is None and by_hand is not None and not isinstance(by_hand, Derivation):
        transpose = derive.by(_transpose_of_jvp, by_hand)
    elif transpose is None:
        transpose = derive.from_impl
        if rules.get("impl") is None:
            raise TypeError(f"{where}: linear needs an impl, a jvp or a transpose rule to derive the other rules from")
    rules["transpose"] = _Wrapped(transpose, lambda rule, primitive: _kept(rule, primitive, linear))


def _multilinear_jvp(primitive: Any, linear: tuple[int, ...]) -> DerivedRule:
    """The JVP rule of a primitive that is linear in each of some arguments: a sum over these."""

    def jvp(primals: Any, tangents: Any, /, **params: Any) -> Any:
        out = primitive.bind(*primals, **params)
        several = primitive.multiple_results
        totals = [Zero.from_primal_value(x) for x in (out if several else [out])]
        for i, t in enumerate(tangents):
            if type(t) is Zero:
                continue
            if i not in linear:
                raise MissingRuleError(
                    f"no jvp rule for primitive {primitive.name!r} with respect to argument {i}: it is declared linear "
                    f"only in {list(linear)}.\n"
                    f"  Give a jvp rule, or declare nondiff=({i},)."
                )
            terms = primitive.bind(*(t if j == i else x for j, x in enumerate(primals)), **params)
            totals = [add_tangents(a, b) for a, b in zip(totals, terms if several else [terms], strict=True)]
        return (out, totals) if several else (out, totals[0])

    jvp.__name__ = f"multilinear_jvp({primitive})"
    return DerivedRule(linear_alone(jvp, *linear), "linearity")


def _transpose_of_jvp(primitive: Any, jvp: Rule) -> DerivedRule:
    """The transpose rule of a primitive that is linear in its unknown arguments: the transpose of its JVP."""

    def rule(ct: Any, /, *args: Any, **params: Any) -> list[Any]:
        unknown = [i for i, x in enumerate(args) if type(x) is UndefinedPrimal]

        def tangents_of(*ts: Any) -> list[Any]:
            remaining = iter(ts)
            primals = [instantiate_zeros(Zero(x.aval)) if type(x) is UndefinedPrimal else x for x in args]
            tangents = [
                next(remaining) if type(x) is UndefinedPrimal else Zero(get_aval(x).to_tangent_aval()) for x in args
            ]
            _, out = jvp(primals, tangents, **params)
            return list(out) if primitive.multiple_results else [out]

        tape = linear_tape(tangents_of, [args[i].aval for i in unknown])
        if any(eqn.primitive is primitive for eqn in tape.eqns):
            raise RuleError(
                f"the transpose rule of {primitive} cannot be derived from its jvp rule, which binds {primitive} on a "
                "tangent; give a transpose rule, or transpose=derive.from_impl"
            )
        cts = dict(zip(unknown, tape.transpose(list(ct) if primitive.multiple_results else [ct]), strict=True))
        return [cts.get(i) for i in range(len(args))]

    rule.__name__ = f"transpose({primitive})"
    return DerivedRule(rule, "jvp")


def _kept(transpose: Rule, primitive: Any, linear: tuple[int, ...]) -> Rule:
    """A transpose rule, with checks that it is for the arguments declared linear and returns their cotangents."""

    def rule(ct: Any, /, *args: Any, **params: Any) -> Any:
        for i, x in enumerate(args):
            if type(x) is UndefinedPrimal and i not in linear:
                raise TypeError(f"{primitive}: it is declared linear in {list(linear)}, not in argument {i}")
        cts = transpose(ct, *args, **params)
        if isinstance(cts, list | tuple) and len(cts) == len(args):
            for i, (x, c) in enumerate(zip(args, cts, strict=True)):
                if type(x) is UndefinedPrimal and c is None:
                    text = f"returned None for its argument {i}, in which it is declared linear"
                    raise rule_error(transpose_rules, primitive, f"{text}; where that is zero, return ad.Zero(x.aval)")
        return cts

    return rule


def _without_nondiff(jvp: Rule, primitive: Any, nondiff: tuple[int, ...]) -> Rule:
    """A JVP rule that raises an error for tangents of some arguments."""

    def rule(primals: Any, tangents: Any, /, **params: Any) -> Any:
        for i in nondiff:
            if i < len(tangents) and type(tangents[i]) is not Zero:
                raise TypeError(
                    f"{primitive}: it has no derivative with respect to argument {i}, which is declared nondiff; "
                    "differentiate with respect to other arguments, or use lax.stop_gradient on this one"
                )
        return jvp(primals, tangents, **params)

    vars(rule).update(getattr(jvp, "__dict__", {}), nondiff=nondiff)  # keeps marks, such as that of reverse mode only
    return rule


def _declare_vjp(where: str, rules: dict[str, Any], vjp: Any, linear: tuple[int, ...]) -> None:
    if not (isinstance(vjp, tuple | list) and len(vjp) == 2 and all(map(callable, vjp))):
        raise TypeError(
            f"{where}: vjp must be a pair of functions, fwd(*args, **params) -> (out, residuals) and "
            f"bwd(residuals, cotangent, **params) -> cotangents, got {vjp!r}"
        )
    for kind in ("jvp", "transpose"):
        if kind in rules or linear:
            other = f"a {kind} rule" if kind in rules else "linear"
            raise TypeError(f"{where}: vjp must not be given together with {other}, which defines derivatives already")
    rules["jvp"] = derive.by(_reverse_only, *vjp)


def _wrong_vjp(primitive: Any, function: Rule, text: str) -> RuleError:
    """The error for one of the two functions of a vjp that returned an invalid value."""
    file, line = location(function)
    return RuleError(
        f"the vjp rule of {primitive}: {text}.\n  The rule is at {file}:{line}.\n  Bound at {user_line()}."
    )


def _type_or_none(x: Any) -> Any:
    """The type of an array; None for other values."""
    try:
        return get_aval(x)
    except NO_VALUE:
        return None


def _reverse_only(primitive: Any, fwd: Rule, bwd: Rule) -> Rule:
    """A JVP rule whose tangent can only be transposed, by `bwd`."""

    def jvp(primals: Any, tangents: Any, /, **params: Any) -> Any:
        several = primitive.multiple_results
        returned = fwd(*primals, **params)
        if not isinstance(returned, tuple | list) or len(returned) != 2:
            raise _wrong_vjp(primitive, fwd, f"fwd must return (out, residuals), got {shorten(returned)}")
        out, residuals = returned
        outs = list(out) if several else [out]
        leaves, structure = tree.flatten(residuals)
        for leaf in leaves:
            if _type_or_none(leaf) is None:
                must = "fwd must return residuals that are arrays or pytrees of arrays"
                raise _wrong_vjp(primitive, fwd, f"{must}, got {shorten(leaf)}; bwd is given parameters by name")
        out_avals = tuple(map(get_aval, outs))

        def backward(values: Any, cts: Any) -> list[Any]:
            cts = [instantiate_zeros(ct) for ct in cts]
            pulled = bwd(tree.unflatten(structure, values), cts if several else cts[0], **params)
            if not isinstance(pulled, tuple | list) or len(pulled) != len(primals):
                must = f"bwd must return {len(primals)} cotangents, one for each argument"
                raise _wrong_vjp(primitive, bwd, f"{must}, got {shorten(pulled)}")
            for i, (ct, aval) in enumerate(zip(pulled, tangent_avals, strict=True)):
                if ct is None or is_void(aval):
                    continue
                returned = ct.aval if type(ct) is Zero else _type_or_none(ct)
                if returned is None or not same_type(returned, aval, ALL_BUT_SHAPE_AND_DTYPE):
                    what = f"of type {returned.str_short()}" if returned is not None else shorten(ct)
                    text = f"bwd returned a cotangent {what} for argument {i}, of type {aval.str_short()}"
                    raise _wrong_vjp(primitive, bwd, text)
            return [Zero(a) if ct is None else ct for a, ct in zip(tangent_avals, pulled, strict=True)]

        tangent_avals = [get_aval(x).to_tangent_aval() for x in primals]
        nonzero = tuple([type(t) is not Zero for t in tangents])
        host.activate_plugin("custom_derivatives")
        remaining = iter(
            host.primitives["custom_lin"].bind(
                *leaves,
                *(t for t in tangents if type(t) is not Zero),
                name=primitive.name,
                num_residuals=len(leaves),
                nonzero=nonzero,
                bwd=backward,
                out_avals=tuple([aval.to_tangent_aval() for aval in out_avals]),
            )
        )
        moved = [
            Zero.from_primal_value(x) if is_void(aval.to_tangent_aval()) else next(remaining)
            for x, aval in zip(outs, out_avals, strict=True)
        ]
        return (outs, moved) if several else (outs[0], moved[0])

    jvp.__name__ = f"reverse_only_jvp({primitive})"
    jvp.reverse_only = True  # type: ignore[attr-defined]
    jvp.func = fwd  # type: ignore[attr-defined]
    return jvp
