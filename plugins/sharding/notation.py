"""The correspondence of the dimensions of operands and results, in the notation of Shardy's documentation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from primax.extend.interpreters import mlir
from primax.extend.provisional.arguments import integer

BATCHING = "\u2026"
"""Stands for leading dimensions, first in a mapping; with a number after it, for others than those without."""

_TOKEN = re.compile(rf"\s*(\.\.\.\d*|{BATCHING}\d*|[A-Za-z_]\w*|\(|\)|\S)")


class CompoundFactor(tuple[str, ...]):
    """Several factors of one dimension, the slowest-varying first.

    Raises:
      ValueError: there are fewer than two, or one is not a name.
    """

    __slots__ = ()

    def __new__(cls, *factors: str) -> CompoundFactor:
        if len(factors) < 2 or not all(isinstance(factor, str) and factor.isidentifier() for factor in factors):
            raise ValueError(f"CompoundFactor: factors must be two or more names, got {factors}")
        return super().__new__(cls, factors)


class ArrayMapping(tuple[Any, ...]):
    """The dimensions of one operand or result: names of factors, and `CompoundFactor`s; the first may be `BATCHING`.

    Raises:
      ValueError: a dimension has another type.
    """

    __slots__ = ()

    def __new__(cls, *dim_mappings: Any) -> ArrayMapping:
        for i, entry in enumerate(dim_mappings):
            named = isinstance(entry, str) and (entry.isidentifier() or (i == 0 and entry.startswith(BATCHING)))
            if not named and not isinstance(entry, CompoundFactor):
                raise ValueError(
                    f"ArrayMapping: entries must be names or CompoundFactors, or BATCHING as the first, got {entry!r}"
                )
        return super().__new__(cls, dim_mappings)


def _all_of(argument: str, value: Any, kind: type) -> tuple[Any, ...]:
    """The elements of an argument of `SdyShardingRule`, which must all have the same type."""
    if not isinstance(value, tuple | list) or not all(isinstance(element, kind) for element in value):
        raise TypeError(f"SdyShardingRule: {argument} must be a sequence of {kind.__name__}, got {value!r}")
    return tuple(value)


class SdyShardingRule:
    """The correspondence of dimensions: factors of the same name are divided in the same way.

    Attributes:
      operand_mappings: an `ArrayMapping` for each operand.
      result_mappings: one for each result.
      reduction_factors: names in operands over which the operation reduces.
      need_replication_factors: names that must not be divided.
      permutation_factors: names along which devices exchange values.
      factor_sizes: the lengths of the factors in `CompoundFactor`s.

    Raises:
      TypeError: an argument has another type.
      ValueError: a name is in no mapping, or a name in a `CompoundFactor` has no size.
    """

    def __init__(
        self,
        operand_mappings: Sequence[ArrayMapping],
        result_mappings: Sequence[ArrayMapping],
        *,
        reduction_factors: Sequence[str] = (),
        need_replication_factors: Sequence[str] = (),
        permutation_factors: Sequence[str] = (),
        **factor_sizes: int,
    ) -> None:
        self.operand_mappings = _all_of("operand_mappings", operand_mappings, ArrayMapping)
        self.result_mappings = _all_of("result_mappings", result_mappings, ArrayMapping)
        self.reduction_factors = _all_of("reduction_factors", reduction_factors, str)
        self.need_replication_factors = _all_of("need_replication_factors", need_replication_factors, str)
        self.permutation_factors = _all_of("permutation_factors", permutation_factors, str)
        self.factor_sizes = {name: integer("SdyShardingRule", name, size) for name, size in factor_sizes.items()}
        dims = [dim for mapping in (*self.operand_mappings, *self.result_mappings) for dim in mapping]
        whole = {dim for dim in dims if isinstance(dim, str)}
        inner = {name for dim in dims if isinstance(dim, CompoundFactor) for name in dim}
        special = {*self.reduction_factors, *self.need_replication_factors, *self.permutation_factors}
        unknown = sorted((special | set(factor_sizes)) - whole - inner)
        if unknown:
            raise ValueError(f"SdyShardingRule: factors must be in a mapping, got {', '.join(unknown)}")
        unsized = sorted(inner - whole - set(factor_sizes))
        if unsized:
            raise ValueError(f"SdyShardingRule: factor_sizes must have a size for {', '.join(unsized)}")

    def _parts(self) -> tuple[Any, ...]:
        special = self.reduction_factors, self.need_replication_factors, self.permutation_factors
        return self.operand_mappings, self.result_mappings, *special, tuple(sorted(self.factor_sizes.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SdyShardingRule) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __repr__(self) -> str:
        return f"SdyShardingRule({self.operand_mappings}, {self.result_mappings}, {self.factor_sizes})"


def parse_rule(text: str, **options: Any) -> SdyShardingRule:
    """A rule from text such as `... (a b) k, k j -> ... a b j`.

    Args:
      text: the names of the dimensions of each operand and result, separated by commas.
      options: as for `SdyShardingRule`.

    Raises:
      ValueError: the text is not a rule.
    """
    taken, arrow, returned = text.partition("->")
    if not arrow or "->" in returned:
        raise ValueError(f"sharding_rule must have one '->' between operands and results, got {text!r}")
    sides = [[_mapping(term, text) for term in side.split(",")] if side.strip() else [] for side in (taken, returned)]
    return SdyShardingRule(*sides, **options)


def _mapping(term: str, text: str) -> ArrayMapping:
    dims: list[Any] = []
    compound: list[str] | None = None
    for token in _TOKEN.findall(term):
        if token == "(" and compound is None:
            compound = []
        elif token == ")" and compound is not None:
            dims.append(CompoundFactor(*compound))
            compound = None
        elif token.isidentifier():
            (dims if compound is None else compound).append(token)
        elif compound is None and not dims and token.startswith(("...", BATCHING)):
            dims.append(BATCHING + token.removeprefix("...").removeprefix(BATCHING))
        else:
            raise ValueError(
                f"sharding_rule must name dimensions as in 'i (j k) -> i j k', not {token!r}, got {text!r}"
            )
    if compound is not None:
        raise ValueError(f"sharding_rule must close each parenthesis, got {text!r}")
    return ArrayMapping(*dims)


def rule_attribute(rule: SdyShardingRule, operands: Sequence[Any], results: Sequence[Any]) -> mlir.ir.Attribute:
    """Shardy's form of a rule, for operands and results with these shapes.

    Raises:
      ValueError: the shapes do not fit the rule.
    """
    terms = rule.operand_mappings, rule.result_mappings
    for what, mappings, shapes in zip(("operands", "results"), terms, (operands, results), strict=True):
        if len(mappings) != len(shapes):
            raise ValueError(f"sharding_rule must have a mapping for each of {len(shapes)} {what}, got {len(mappings)}")
    sizes: dict[str, int] = {}
    numbers: dict[str, int] = {}

    def factor(name: str, size: int) -> int:
        if sizes.setdefault(name, size) != size:
            raise ValueError(
                f"sharding_rule: dimensions with the same name must have the same size, got {name} with "
                f"{sizes[name]} and {size}"
            )
        return numbers.setdefault(name, len(numbers))

    sdy = mlir.sdy

    def tensor(mapping: ArrayMapping, shape: Sequence[int]) -> mlir.ir.Attribute:
        dims = list(mapping)
        if dims and isinstance(dims[0], str) and dims[0].startswith(BATCHING):
            count = len(shape) - len(dims) + 1
            dims = [f"{dims[0]}#{count - i}" for i in range(max(count, 0))] + dims[1:]
        if len(dims) != len(shape):
            raise ValueError(f"sharding_rule must name {len(shape)} dimensions of shape {tuple(shape)}, got {mapping}")
        axes = []
        for dim, size in zip(dims, shape, strict=True):
            if isinstance(dim, CompoundFactor):
                axes.append([factor(name, rule.factor_sizes.get(name, sizes.get(name, 1))) for name in dim])
            else:
                axes.append([factor(dim, size)])
        return sdy.TensorMappingAttr.get([sdy.DimMappingAttr.get(factors) for factors in axes])

    tensors = [
        [tensor(m, s) for m, s in zip(*pair, strict=True)] for pair in zip(terms, (operands, results), strict=True)
    ]
    return sdy.OpShardingRuleAttr.get(
        list(sizes.values()),
        *tensors,
        reduction_factors=sorted(numbers[name] for name in rule.reduction_factors),
        need_replication_factors=sorted(numbers[name] for name in rule.need_replication_factors),
        permutation_factors=sorted(numbers[name] for name in rule.permutation_factors),
        is_custom=True,
    )
