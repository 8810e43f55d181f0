"""The shardings of results along explicit mesh axes, from those of operands, by the sharding rules of primitives.

With axes of type `Explicit`, the type of an array records its sharding: `f32[8@x,4]`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from primax.extend.core import ShardingTypeError, rule_tables
from primax.extend.provisional.aval_sharding import AvalSharding, Axes, aval_sharding, axes_of_dims, size_text
from primax.extend.provisional.sharding_rule import WHOLE, Factors, apply_sharding_rule, as_sharding_rule
from primax.extend.sharding import AbstractMesh, PartitionSpec
from primax.plugins.sharding.types.unreduced import unreduced_axes_of_sum, unreduced_results

_NONE: frozenset[Any] = frozenset()
_rules = rule_tables["sharding"]


def propagate_shardings(primitive: Any, avals: Sequence[Any], outs: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """The types of results with their shardings, by the sharding rule of a primitive. An operand must have a sharding.

    Raises:
      ShardingTypeError: the primitive has no rule, or the shardings of operands conflict, or do not determine those of
        the results.
    """
    common = _common(primitive, avals)
    pending = [explicit for aval in avals if (explicit := aval_sharding(aval)) is not None and explicit.is_pending]
    if pending and not any(any(axes_of_dims(aval)) for aval in avals) and not _returns_whole_shardings(primitive):
        undivided: list[Axes] = [((),) * len(out.shape) for out in outs]
        return _with_pending(primitive, avals, outs, params, None, undivided, common, _NONE)
    result = apply_sharding_rule(primitive, avals, outs, params)
    if result is None:
        raise ShardingTypeError(
            f"{primitive}: there is no sharding rule for divided operands of types {_shown(avals)}; replicate them "
            "with primax.reshard(x, primax.P()), let XLA decide with primax.sharding.auto_axes, or define a rule: "
            "registry.define(..., sharding='...')"
        )
    if _returns_whole_shardings(primitive):
        return [_with(out, explicit) for out, explicit in zip(outs, result, strict=True)]
    if len(result) == 1 and isinstance(result[0], AvalSharding):
        return [_with(outs[0], result[0] if any(result[0].axes) else None)]
    unreduced_axes = params.get("unreduced_axes", _NONE)
    if unreduced_axes:
        unreduced_axes = unreduced_axes_of_sum(result, avals, frozenset(unreduced_axes))
    if isinstance(result, Factors):
        axes = _of_factors(primitive, result, avals, unreduced_axes)
    else:
        axes = [_axes_of(spec, len(out.shape)) for spec, out in zip(result, outs, strict=True)]
    for out, names in zip(outs, axes, strict=True):
        _check(primitive, avals, out, names, common.mesh)
    if pending or unreduced_axes:
        return _with_pending(primitive, avals, outs, params, result, axes, common, unreduced_axes)
    return [_with(out, common.with_axes(names)) for out, names in zip(outs, axes, strict=True)]


def _returns_whole_shardings(primitive: Any) -> bool:
    """Whether the sharding rule of a primitive returns whole shardings of its results, including pending sums."""
    return as_sharding_rule(_rules.functions.get(primitive)).whole_shardings


def _with_pending(
    primitive: Any,
    avals: Sequence[Any],
    outs: Sequence[Any],
    params: dict[str, Any],
    result: Any,
    axes: Sequence[Axes],
    common: AvalSharding,
    unreduced_axes: frozenset[Any],
) -> list[Any]:
    """The types of results with their pending sums."""
    unreduced, reduced = unreduced_results(primitive, avals, outs, params, result, axes, unreduced_axes)
    if not (unreduced or reduced):
        return [_with(out, AvalSharding(common.mesh, a) if any(a) else None) for out, a in zip(outs, axes, strict=True)]
    return [_with(out, AvalSharding(common.mesh, a, unreduced, reduced)) for out, a in zip(outs, axes, strict=True)]


def _with(aval: Any, explicit: AvalSharding | None) -> Any:
    """A type with a given sharding."""
    return aval if aval_sharding(aval) is explicit else aval.update(sharding=explicit)


def _shown(avals: Sequence[Any]) -> str:
    return " and ".join(aval.str_short() for aval in avals)


def _axes_of(spec: Any, rank: int) -> Axes:
    """For each dimension, the axes that a sharding rule returned: as a sharding, a specification or a sequence."""
    if isinstance(spec, AvalSharding):
        return spec.axes
    if isinstance(spec, PartitionSpec):
        return tuple(map(spec.along, range(rank)))
    return tuple(spec)


def _common(primitive: Any, avals: Sequence[Any]) -> AvalSharding:
    """The sharding of the first operand that has one; all must be on the same mesh.

    Raises:
      ShardingTypeError: the operands are on different meshes.
    """
    first, *others = [explicit for aval in avals if (explicit := aval_sharding(aval)) is not None]
    for other in others:
        if other.mesh is not first.mesh and other.mesh != first.mesh:
            raise ShardingTypeError(
                f"{primitive}: all operands must be on the same mesh, got {_shown(avals)} on {first.mesh!r} and "
                f"{other.mesh!r}"
            )
    return first


def _of_factors(
    primitive: Any, factors: Factors, avals: Sequence[Any], unreduced_axes: frozenset[Any] = _NONE
) -> list[Axes]:
    """For each result, the axes that divide its dimensions: those that divide the same dimensions in operands."""
    axes_of_factors: dict[int, tuple[Any, ...]] = {}
    holders: dict[int, int] = {}
    for dims, aval in zip(factors.operands, avals, strict=True):
        for factor, names in zip(dims, axes_of_dims(aval), strict=True):
            if not names:
                continue
            if axes_of_factors.setdefault(factor, names) != names:
                raise ShardingTypeError(
                    f"{primitive}: a dimension must be divided along the same mesh axes in all operands, got "
                    f"{_shown(avals)}, divided along {_named(axes_of_factors[factor])} in one and along "
                    f"{_named(names)} in another; change one with primax.reshard"
                )
            holders[factor] = holders.get(factor, 0) + 1
    for factor, names in list(axes_of_factors.items()):
        mark = factors.mark(factor)
        if mark == WHOLE and factors.sizes[factor] == 1:
            del axes_of_factors[factor]  # the axes are of size 1, so the operand is whole anyway
            continue
        if mark == WHOLE:
            raise ShardingTypeError(
                f"{primitive}: the dimension {factors.names[factor]!r} of size {factors.sizes[factor]} must not be "
                f"divided, got {_shown(avals)}, where {_named(names)} divides it; replicate the operand along it with "
                "primax.reshard"
            )
        if unreduced_axes.issuperset(names):
            continue
        if mark and holders[factor] > 1 and not any(factor in dims for dims in factors.results):
            raise ShardingTypeError(
                f"{primitive}: the sharding of the result is ambiguous: the contracted dimension of operands of types "
                f"{_shown(avals)} is divided along {_named(names)}; give out_sharding=, such as "
                f"out_sharding=primax.P(), or {PartitionSpec(unreduced=frozenset(names))} to sum later, or replicate "
                "one operand with primax.reshard"
            )
    return [tuple([axes_of_factors.get(factor, ()) for factor in dims]) for dims in factors.results]


def _named(names: Sequence[Any]) -> str:
    return " and ".join(map(repr, names))


def _check(primitive: Any, avals: Sequence[Any], out: Any, axes: Axes, mesh: AbstractMesh) -> None:
    """Raise an error for an invalid sharding of a result.

    Raises:
      ShardingTypeError: an axis divides two dimensions, or a dimension is not a multiple of its parts.
    """
    used = [name for names in axes for name in names]
    twice = [name for i, name in enumerate(used) if name in used[:i]]
    if twice:
        shown = "[" + ",".join(map(size_text, out.shape, axes)) + "]"
        raise ShardingTypeError(
            f"{primitive}: a mesh axis must divide only one dimension of the result, got {twice[0]!r} for two "
            f"dimensions of the result {shown} of operands {_shown(avals)}; change one operand with primax.reshard"
        )
    sizes = mesh.shape
    for size, names in zip(out.shape, axes, strict=True):
        parts = prod(sizes[name] for name in names)
        if size % parts:
            raise ShardingTypeError(
                f"{primitive}: operands of types {_shown(avals)} have a result with a dimension of size {size}, which "
                f"{_named(names)} cannot divide in {parts} parts; replicate the operands along it with primax.reshard"
            )
