"""Sharding rules: the correspondence of the dimensions of operands and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from primax.core import _jaxlib
from primax.core.derivation import DerivedRule, function_of
from primax.core.diagnostics import add_rule_note, rule_error, shorten
from primax.core.rules import sharding_rules as _rules

__all__ = [
    "Factors",
    "ShardingRule",
    "WHOLE",
    "apply_sharding_rule",
    "as_sharding_rule",
    "divided_by_rule",
    "divided_stack",
    "elementwise_rule",
    "implied_by_elementwise",
    "implied_rule",
    "shardy_rule",
]

WHOLE = "!"
_REDUCTIONS = ("sum", "max", "min")
_BATCH = "..."

Shape = Sequence[int]


class Factors(NamedTuple):
    """The dimensions of a primitive's operands and results, numbered, for given shapes.

    Attributes:
      names: the name of each in messages.
      sizes: the length of each.
      marks: the reduction of each, `sum`, `max` or `min`; `!` if it must not be divided; or empty.
      operands: for each operand the numbers of its dimensions.
      results: for each result the numbers of its dimensions.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    marks: tuple[str, ...]
    operands: tuple[tuple[int, ...], ...]
    results: tuple[tuple[int, ...], ...]

    def mark(self, factor: int) -> str:
        """The mark of a dimension; without one, a dimension only of operands or only of results must be whole."""
        if self.marks[factor]:
            return self.marks[factor]
        taken = any(factor in dims for dims in self.operands)
        returned = any(factor in dims for dims in self.results)
        return "" if taken and returned else WHOLE


class DimensionRule:
    """A rule as text: the names of the dimensions of each operand and each result, as in `i k:sum, k j -> i j`.

    Dimensions of the same name correspond: if one is divided, all are, and each device computes its part of the results
    from its parts of the operands. `...` stands for any number of dimensions, matched from the last one; dimensions of
    length 1 are repeated. `n!` must not be divided. A dimension that no result has must not be divided
    either, unless its mark names the reduction over devices: `k:sum`, `k:max`, `k:min`. `_` is an undivided dimension
    that corresponds to no other.

    Raises:
      ValueError: the text is not a valid rule.
    """

    __slots__ = ("_factors", "marks", "operands", "results", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        taken, arrow, returned = text.partition("->")
        if not arrow:
            raise self._wrong("must have '->' between operands and results")
        self.marks: dict[str, str] = {}
        self.operands = self._terms(taken)
        self.results = self._terms(returned)
        self._factors = lru_cache(64)(self._found)

    def _wrong(self, must: str) -> ValueError:
        return ValueError(f"sharding: a rule {must}, as in 'i k:sum, k j -> i j', got {self.text!r}")

    def _terms(self, text: str) -> tuple[tuple[str, ...], ...]:
        terms = tuple([tuple(map(self._name, term.split())) for term in text.split(",")])
        for term in terms:
            named = [name for name in term if name != "_"]
            if len(set(named)) < len(named):
                raise self._wrong("must name each dimension of a value once")
        return terms

    def _name(self, token: str) -> str:
        """The name of a dimension; its mark is recorded."""
        if token in (_BATCH, "_"):
            return token
        name, colon, mark = token.partition(":")
        if not colon and token.endswith(WHOLE):
            name, mark = token[:-1], WHOLE
        if not name.isidentifier():
            raise self._wrong(f"must name dimensions by identifiers, '...' or '_', not {token!r}")
        if (colon or mark) and mark not in (*_REDUCTIONS, WHOLE):
            raise self._wrong(f"must mark reductions as {', '.join(_REDUCTIONS)}, not {token!r}")
        if mark and self.marks.setdefault(name, mark) != mark:
            raise self._wrong(f"must mark the dimension {name!r} in one way")
        return name

    def __call__(self, /, *avals: Any, **params: Any) -> DimensionRule:
        """This rule: it is the same for all types."""
        return self

    @property
    def __name__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"DimensionRule({self.text!r})"

    def factors(self, primitive: Any, operands: Sequence[Shape], results: Sequence[Shape]) -> Factors:
        """The dimensions of operands and results of given shapes.

        Raises:
          ValueError: the shapes do not fit the rule.
        """
        try:
            return self._factors(tuple(map(tuple, operands)), tuple(map(tuple, results)))
        except ValueError as error:
            raise ValueError(f"the sharding rule {self.text!r} of {primitive} {error}") from None

    def _found(self, operands: tuple[tuple[int, ...], ...], results: tuple[tuple[int, ...], ...]) -> Factors:
        returned_terms = self.results
        if returned_terms == ((_BATCH,),):
            returned_terms *= len(results)  # one term stands for all results
        for kind, terms, shapes in (("operands", self.operands, operands), ("results", returned_terms, results)):
            if len(terms) != len(shapes):
                raise ValueError(f"is for {len(terms)} {kind}, got {len(shapes)}")
        pairs = [*zip(self.operands, operands, strict=True), *zip(returned_terms, results, strict=True)]
        lengths = self._batch_lengths(pairs)
        names: list[str] = []
        sizes: list[int] = []
        marks: list[str] = []
        numbers: dict[str, int] = {}

        def number(name: str, size: int, mark: str) -> int:
            key = name
            if name == "_" or (name.startswith(_BATCH) and size == 1 != lengths[name]):
                key = f"{name} {len(names)}"
                mark = WHOLE
            if key not in numbers:
                numbers[key] = len(names)
                names.append(name)
                sizes.append(size)
                marks.append(mark)
            number = numbers[key]
            if sizes[number] != size:
                raise ValueError(f"gives the dimension {name!r} the sizes {sizes[number]} and {size}")
            return number

        def dims(term: tuple[str, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(
                [
                    number(name, size, self.marks.get(name, ""))
                    for name, size in zip(_expanded(term, len(shape)), shape, strict=True)
                ]
            )

        taken = tuple([dims(term, shape) for term, shape in zip(self.operands, operands, strict=True)])
        returned = tuple([dims(term, shape) for term, shape in zip(returned_terms, results, strict=True)])
        return Factors(tuple(names), tuple(sizes), tuple(marks), taken, returned)

    def _batch_lengths(self, pairs: Sequence[tuple[tuple[str, ...], tuple[int, ...]]]) -> dict[str, int]:
        """The lengths of the dimensions that `...` stands for."""
        lengths: dict[str, int] = {}
        for term, shape in pairs:
            for name, size in zip(_expanded(term, len(shape)), shape, strict=True):
                if name.startswith(_BATCH):
                    lengths[name] = max(lengths.get(name, 1), size) if size else 0
        return lengths


def _expanded(term: tuple[str, ...], rank: int) -> tuple[str, ...]:
    """The names of the dimensions of a value of a given rank."""
    if _BATCH not in term:
        if len(term) != rank:
            raise ValueError(f"names {len(term)} dimensions, '{' '.join(term)}', of a value of rank {rank}")
        return term
    count = rank - len(term) + 1
    if count < 0:
        raise ValueError(f"names {len(term) - 1} dimensions, '{' '.join(term)}', of a value of rank {rank}")
    place = term.index(_BATCH)
    batch = tuple([f"{_BATCH}{i - count}" for i in range(count)])
    return (*term[:place], *batch, *term[place + 1 :])


class ShardingRule:
    """A sharding rule that is a function, with properties.

    Attributes:
      func: the function.
      types_only: whether it serves only for types, since parameters contain sizes, which would differ on parts.
      whole_shardings: whether it returns the whole shardings of the results, including pending sums.
      left_to_xla: whether XLA chooses the shardings of the results in a program, whatever their types record.
      replaces_xla: whether the rule divides operations that XLA could divide by itself, but does by gathering them.
    """

    __slots__ = ("func", "left_to_xla", "replaces_xla", "types_only", "whole_shardings")

    def __init__(
        self,
        func: Callable[..., Any],
        types_only: bool = False,
        whole_shardings: bool = False,
        left_to_xla: bool = False,
        replaces_xla: bool = False,
    ) -> None:
        self.func = func
        self.types_only = types_only
        self.whole_shardings = whole_shardings
        self.left_to_xla = left_to_xla
        self.replaces_xla = replaces_xla

    def __call__(self, /, *avals: Any, **params: Any) -> Any:
        return self.func(*avals, **params)


def as_sharding_rule(rule: Any) -> ShardingRule:
    """A rule of the table with its properties."""
    return rule if type(rule) is ShardingRule else ShardingRule(rule)


def divided_by_rule(rule: str | Callable[..., Any]) -> ShardingRule:
    """A sharding rule that divides every operation of its primitive, not only foreign calls.

    XLA divides operations of StableHLO by its own rules. It has none for some, such as Fourier transforms, and computes
    these on every device as a whole. On CPUs, this rule is used instead.

    Args:
      rule: a text such as `"... n! -> ... n!"`, or a function of types and parameters.

    Raises:
      ValueError: the text is not a valid rule.

    >>> divided_by_rule("... n! -> ... n!").replaces_xla
    True
    """
    if not (isinstance(rule, str) or callable(rule)):
        raise TypeError(f"divided_by_rule: rule must be a text or a function of types and parameters, got {rule!r}")
    return ShardingRule(dimension_rule(rule) if isinstance(rule, str) else rule, replaces_xla=True)


def elementwise_rule(*avals: Any, **params: Any) -> DimensionRule:
    """The rule of elementwise primitives: a result's element depends on the operands' elements at its position."""
    return dimension_rule(", ".join(["..."] * len(avals)) + " -> ...")


implied_by_elementwise = DerivedRule(elementwise_rule, "being elementwise")


def implied_rule(given: Mapping[str, Any]) -> Callable[..., Any] | None:
    """The sharding rule that a batch rule implies by its attribute `implies_sharding`; None if it has none."""
    return getattr(function_of(given.get("batch")), "implies_sharding", None)


@lru_cache(4096)
def dimension_rule(text: str) -> DimensionRule:
    """The rule of a text; equal texts give one object."""
    return DimensionRule(text)


_rules.of_value[str] = dimension_rule


def apply_sharding_rule(primitive: Any, avals: Sequence[Any], outs: Sequence[Any], params: dict[str, Any]) -> Any:
    """The result of a primitive's sharding rule for operands and results of these types.

    Returns:
      `Factors`; or the list of the shardings of the results, if the rule computes them; or None if there is no rule or
      it returns None.

    Raises:
      RuleError: the rule returns another type.
      ValueError: the types do not fit the rule.
    """
    rule = _rules.functions.get(primitive)
    if rule is None:
        return None
    try:
        result: Any = rule(*avals, **params)
    except Exception as error:
        add_rule_note(error, _rules, primitive)
        raise
    if isinstance(result, str):
        result = dimension_rule(result)
    if result is None:
        return None
    if not isinstance(result, DimensionRule):
        specs = list(result) if isinstance(result, list) else [result]
        if len(specs) != len(outs):
            must = f"must return the shardings of {len(outs)} results"
            raise rule_error(_rules, primitive, f"{must}, got {shorten(result)}")
        return specs
    if rule is elementwise_rule:  # implied by a batch rule, which may add axes
        rank = max((len(aval.shape) for aval in avals), default=0)
        if any(len(out.shape) != rank for out in outs):
            return None
    return result.factors(primitive, [aval.shape for aval in avals], [out.shape for out in outs])


def shardy_rule(factors: Factors) -> Any:
    """A rule in Shardy's notation, by which Shardy propagates shardings between operands and results."""
    sdy = _jaxlib.sdy

    def mapping(dims: Sequence[int]) -> Any:
        return sdy.TensorMappingAttr.get([sdy.DimMappingAttr.get([i]) for i in dims])

    marks = [factors.mark(i) for i in range(len(factors.names))]
    whole = [i for i, mark in enumerate(marks) if mark == WHOLE]
    return sdy.OpShardingRuleAttr.get(
        list(factors.sizes),
        list(map(mapping, factors.operands)),
        list(map(mapping, factors.results)),
        reduction_factors=[i for i, mark in enumerate(marks) if mark not in ("", WHOLE)],
        need_replication_factors=whole,
        blocked_propagation_factors=whole,
        is_custom=True,
    )


_stacking: set[str] = set()


def divided_stack(
    module: Any, target: str, count: int, operands: Sequence[Sequence[int]], results: Sequence[Sequence[int]]
) -> dict[str, Any]:
    """The attributes of a foreign call with which XLA can divide stacks of its operands.

    Args:
      module: the module.
      target: the name of the function.
      count: the number of leading axes of the stack, in all operands and results.
      operands: the shapes of the operands.
      results: the shapes of the results.
    """
    if count == 0 or module.spmd is None or module.spmd.partitions == 1:
        return {}
    if target not in _stacking:
        _stacking.add(target)
        _jaxlib.register_custom_call_as_batch_partitionable(target)
    ir = _jaxlib.ir
    batch = " ".join(f"b{i}" for i in range(count))
    texts = [", ".join(batch + " _" * (len(shape) - count) for shape in shapes) for shapes in (operands, results)]
    factors = dimension_rule(" -> ".join(texts)).factors(target, operands, results)
    attributes = ir.DictAttr.get({"num_batch_dims": ir.StringAttr.get(str(count))})
    return {"mhlo.frontend_attributes": attributes, "sdy.sharding_rule": shardy_rule(factors)}
