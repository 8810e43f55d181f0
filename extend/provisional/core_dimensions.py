"""Core dimensions: signatures such as `"(m,n),(n)->(m)"`, as in NumPy, and the rules that they imply."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from primax.core.avals import AbstractValue, ShapedArray, get_aval
from primax.core.derivation import Derivation, DerivedRule, function_of
from primax.core.diagnostics import rule_error, shorten
from primax.core.rules import abstract_eval_rules, effectful_abstract_eval_rules
from primax.extend import derive
from primax.extend.dtypes import canonicalize_dtype, dtype, result_type
from primax.extend.interpreters.batching import broadcast, moveaxis
from primax.extend.provisional.arguments import incompatible_shapes

__all__ = ["CoreSignature", "core_signature", "declare_core_dimensions", "parse_core_signature"]

Rule = Callable[..., Any]

_TERM = r"\(([^()]*)\)"
_TERMS = re.compile(rf"{_TERM}(?:,{_TERM})*")
_SHAPE = "as in '(m,n),(n)->(m)'"


class CoreSignature(NamedTuple):
    """The core dimensions of a primitive: the last axes of each operand and result, on which it acts.

    All axes before them are leading axes. The primitive does the same for each position along these.

    Attributes:
      text: the signature.
      operands: for each operand its core dimensions; an integer is a fixed size.
      results: for each result its core dimensions.
      equal: whether all operands have the same leading axes; otherwise they broadcast as in NumPy.
    """

    text: str
    operands: tuple[tuple[str | int, ...], ...]
    results: tuple[tuple[str | int, ...], ...]
    equal: bool

    def of_operands(self, primitive: Any, avals: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The leading shape of the results, and the sizes of the core dimensions.

        Raises:
          TypeError: the types of the operands do not fit the signature.
        """
        if len(avals) != len(self.operands):
            wanted = len(self.operands)
            raise TypeError(f"{primitive}: the number of arguments must be {wanted}, since {self}, got {len(avals)}")
        sizes: dict[str, Any] = {}
        leading: list[tuple[Any, ...]] = []
        for i, (aval, core) in enumerate(zip(avals, self.operands, strict=True)):
            shape = getattr(aval, "shape", None)
            if shape is None or len(shape) < len(core):
                raise TypeError(f"{primitive}: argument {i} must end with axes {_shown(core)}, got {aval.str_short()}")
            first = len(shape) - len(core)
            leading.append(tuple(shape[:first]))
            for name, size in zip(core, shape[first:], strict=True):
                want = name if isinstance(name, int) else sizes.setdefault(name, size)
                if size != want:
                    which = f"core dimension {name}" if isinstance(name, str) else "core dimension"
                    raise TypeError(
                        f"{primitive}: the {which} of argument {i} must be {want}, got {aval.str_short()}; {self}"
                    )
        return self._joint(primitive, leading), sizes

    def _joint(self, primitive: Any, leading: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
        """The leading shape of the results from those of the operands."""
        longest = max(leading, key=len, default=())
        if all(shape == longest for shape in leading):
            return longest
        if self.equal:
            shown = " and ".join(map(str, dict.fromkeys(leading)))
            raise TypeError(f"{primitive}: all arguments must have the same leading axes, got {shown}; {self}")
        joint: list[Any] = [1] * len(longest)
        for shape in leading:
            for axis, size in enumerate(shape, len(longest) - len(shape)):
                if joint[axis] == 1:
                    joint[axis] = size
                elif size != 1 and size != joint[axis]:
                    raise TypeError(f"{primitive}: leading axes have {incompatible_shapes(leading)}; {self}")
        return tuple(joint)

    @property
    def unbound(self) -> list[str]:
        """The core dimensions of results that no operand has."""
        bound = {name for core in self.operands for name in core}
        return [name for core in self.results for name in core if isinstance(name, str) and name not in bound]

    @property
    def sharding(self) -> str:
        """The sharding rule: leading axes may be divided, core dimensions are whole."""
        terms = [", ".join(" ".join(("...", *("_" for _ in core))) for core in cores) for cores in self[1:3]]
        return " -> ".join(terms)

    def __str__(self) -> str:
        return f"its signature is {self.text!r}"


def _shown(core: Sequence[str | int]) -> str:
    return f"({','.join(map(str, core))})"


def parse_core_signature(where: str, text: Any, leading: Any) -> CoreSignature:
    """The signature of a text.

    Args:
      where: the called function, for messages.
      text: core dimensions of operands and results, as in `"(m,n),(n)->(m)"`; names, or numbers for fixed sizes.
      leading: `"broadcast"` or `"equal"`.

    Raises:
      TypeError: `text` is not a signature, or `leading` is neither.

    >>> parse_core_signature("f", "(3), (n,3) -> (n), ()", "broadcast").sharding
    '... _, ... _ _ -> ... _, ...'
    """
    if not isinstance(text, str):
        raise TypeError(f"{where}: signature must be text {_SHAPE}, got {text!r}")
    if leading not in ("broadcast", "equal"):
        raise TypeError(f"{where}: leading must be 'broadcast' or 'equal', got {leading!r}")
    sides = "".join(text.split()).split("->")
    if len(sides) != 2 or not all(map(_TERMS.fullmatch, sides)):
        raise TypeError(
            f"{where}: signature must list the core dimensions of operands and results {_SHAPE}, got {text!r}"
        )

    def dimension(name: str) -> str | int:
        if name.isascii() and name.isdigit():
            return int(name)
        if not name.isidentifier():
            hint = "; optional dimensions of NumPy are not supported" if name.endswith("?") else ""
            raise TypeError(f"{where}: signature must name core dimensions by identifiers or sizes, got {name!r}{hint}")
        return name

    operands, results = (
        tuple([tuple(map(dimension, term.split(","))) if term else () for term in re.findall(_TERM, side)])
        for side in sides
    )
    return CoreSignature(text, operands, results, leading == "equal")


def core_signature(primitive: Any) -> CoreSignature | None:
    """The signature with which a primitive was defined; None if there is none."""
    signature: CoreSignature | None = vars(primitive).get("_core_signature")
    return signature


def declare_core_dimensions(
    where: str, rules: dict[str, Any], text: Any, leading: Any, several: bool, counts: tuple[int, int | None] | None
) -> None:
    """Add the type, batch and sharding rules that a signature implies; a given type rule is checked by it.

    Args:
      where: the called function, for messages.
      rules: the rules by kind.
      text, leading: the arguments `signature` and `leading` of `define_primitive`.
      several: whether the primitive has multiple results.
      counts: the least and the greatest number (None: any) of its operands; None if they are not known.

    Raises:
      TypeError: the signature is wrong, or does not fit the other arguments.
    """
    signature = parse_core_signature(where, text, leading)
    if not several and len(signature.results) > 1:
        raise TypeError(f"{where}: multiple_results must be True for signature {text!r} of several results")
    given = len(signature.operands)
    if counts is not None and (given < counts[0] or (counts[1] is not None and given > counts[1])):
        number = counts[0] if given < counts[0] else counts[1]
        raise TypeError(f"{where}: signature must be for the {number} arguments of the impl or type rule, got {text!r}")
    kind = "effectful_abstract_eval" if "effectful_abstract_eval" in rules else "abstract_eval"
    if kind not in rules and _runs_on_tracers(rules):
        rules[kind] = derive.from_impl
    if kind not in rules and signature.unbound:
        raise TypeError(
            f"{where}: signature gives no size for dimension {signature.unbound[0]!r} of a result, which no operand "
            "has; give an abstract_eval rule that returns types"
        )
    rules[kind] = _Types(rules.get(kind), signature)
    if "batch" not in rules and "axis_batch" not in rules:
        rules["batch"] = derive.by(_batch_rule, signature)
    rules.setdefault("sharding", signature.sharding)


def _runs_on_tracers(rules: Mapping[str, Any]) -> bool:
    """Whether the author says that the impl is written in primax operations, by deriving a rule from it."""
    lowering = rules.get("lowering")
    entries = [*rules.values(), *(lowering.values() if isinstance(lowering, Mapping) else ())]
    return callable(rules.get("impl")) and any(rule is derive.from_impl for rule in entries)


class _Types(Derivation):
    """The type rule of a primitive with a signature, from the author's rule or from promotion."""

    def __init__(self, rule: Any, signature: CoreSignature) -> None:
        self.rule = rule
        self.signature = signature

    def __repr__(self) -> str:
        return repr(self.rule)

    def rule_for(self, where: str, primitive: Any, kind: str, others: Mapping[str, Any]) -> Any:
        author = self.rule
        if isinstance(author, Derivation):
            author = author.rule_for(where, primitive, kind, others)
        types, signature = function_of(author), self.signature
        table = effectful_abstract_eval_rules if kind == effectful_abstract_eval_rules.kind else abstract_eval_rules

        def rule(*avals: Any, **params: Any) -> Any:
            shape, sizes = signature.of_operands(primitive, avals)
            if types is None:
                promoted, weak = result_type(*avals, return_weak_type=True)
                weak = weak and "impl" not in others  # NumPy returns no weak types
                outs = [ShapedArray((*shape, *_sizes(core, sizes)), promoted, weak) for core in signature.results]
                return outs if primitive.multiple_results else outs[0]
            returned = types(*avals, **params)
            effects: list[Any] = []
            if table is effectful_abstract_eval_rules:
                if not isinstance(returned, tuple) or len(returned) != 2:
                    raise rule_error(table, primitive, f"must return (avals, effects), got {shorten(returned)}")
                returned, *effects = returned
            outs = returned if primitive.multiple_results else [returned]
            if not isinstance(outs, list | tuple) or len(outs) != len(signature.results):
                must = f"must return a list of {len(signature.results)} types, as {signature}"
                raise rule_error(table, primitive, f"{must}, got {shorten(returned)}")
            outs = [_result(primitive, table, signature, i, out, shape, sizes) for i, out in enumerate(outs)]
            out = outs if primitive.multiple_results else outs[0]
            return (out, *effects) if effects else out

        rule.__name__ = f"{kind}({primitive})"
        if types is None:
            return DerivedRule(rule, "its signature")
        rule.func = types  # type: ignore[attr-defined]
        return DerivedRule(rule, author.origin, author.place) if isinstance(author, DerivedRule) else rule


def _sizes(core: Sequence[str | int], sizes: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple([sizes[name] if isinstance(name, str) else name for name in core])


def _result(
    primitive: Any,
    table: Any,
    signature: CoreSignature,
    i: int,
    returned: Any,
    shape: tuple[Any, ...],
    sizes: dict[str, Any],
) -> Any:
    """The type of one result: the author's, whose shape must fit the signature, or the signature's with a dtype."""
    core = signature.results[i]
    if isinstance(returned, AbstractValue):
        own = getattr(returned, "shape", ())
        if len(own) == len(shape) + len(core) and tuple(own[: len(shape)]) == shape:
            ends = zip(core, own[len(shape) :], strict=True)
            if all(size == (sizes.setdefault(name, size) if isinstance(name, str) else name) for name, size in ends):
                return returned
        known = [str(sizes.get(name, name)) if isinstance(name, str) else str(name) for name in core]
        want = ",".join([*map(str, shape), *known])
        text = f"returned {returned.str_short()} as result {i}, but {signature}, by which the shape is ({want})"
        raise rule_error(table, primitive, text)
    try:
        return ShapedArray((*shape, *_sizes(core, sizes)), canonicalize_dtype(dtype(returned)))
    except (TypeError, KeyError):
        must = (
            "must return a type or a dtype" if set(_names(core)) <= sizes.keys() else "must return a type with a shape"
        )
        raise rule_error(table, primitive, f"{must} for result {i}, got {shorten(returned)}; {signature}") from None


def _names(core: Sequence[str | int]) -> list[str]:
    return [name for name in core if isinstance(name, str)]


def _batch_rule(primitive: Any, signature: CoreSignature) -> DerivedRule:
    """The batch rule: the mapped axis becomes the first leading axis."""

    def batch(args: Any, dims: Any, /, **params: Any) -> Any:
        shapes = [get_aval(x).shape for x in args]
        ranks = [
            len(shape) - (d is not None) - len(core)
            for shape, d, core in zip(shapes, dims, signature.operands, strict=True)
        ]
        most = max(ranks)
        dim = dims[0]
        if dim is None or min(ranks) < max(most, dim) or any(d != dim for d in dims):
            dim = 0
            size = next(shape[d] for shape, d in zip(shapes, dims, strict=True) if d is not None)
            args = [
                _leading(x, d, size, most - rank, signature.equal) for x, d, rank in zip(args, dims, ranks, strict=True)
            ]
        out = primitive.bind(*args, **params)
        return (out, [dim] * len(out)) if primitive.multiple_results else (out, dim)

    batch.__name__ = f"batch({primitive})"
    return DerivedRule(batch, "its signature")


def _leading(x: Any, dim: int | None, size: Any, missing: int, equal: bool) -> Any:
    """An operand with the mapped axis in front of as many leading axes as the others have."""
    if dim is None:
        return broadcast(x, size, 0) if equal else x
    x = moveaxis(x, dim, 0)
    for _ in range(missing):
        x = broadcast(x, 1, 1)
    return x
