"""Divisions in types: the explicit mesh axes that divide the dimensions of arrays, and the types of results.

With axes of type `Explicit`, the type of an array contains its division: `f32[8@x,4]`. This module derives the
divisions of results from the sharding rules of primitives, and raises an error if a rule does not determine them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from math import prod
from typing import Any

from primax.core.dimension_rules import WHOLE, Factors
from primax.core.division import Axes, Division, divided_size, explicit_part
from primax.core.divisions import division_of
from primax.core.errors import ShardingTypeError
from primax.core.mesh import AbstractMesh, PartitionSpec
from primax.core.rules import sharding_rules

__all__ = ["axes_of_dims", "divide", "divided_results", "explicit_part"]

_NONE: frozenset[Any] = frozenset()


def axes_of_dims(aval: Any) -> Axes:
    """For each dimension of a type, the explicit axes that divide it."""
    division = getattr(aval, "division", None)
    return ((),) * len(aval.shape) if division is None else division.axes


def divide(aval: Any, division: Division | None) -> Any:
    """A type with a given division."""
    return aval if getattr(aval, "division", None) is division else aval.update(division=division)


def divided_results(primitive: Any, avals: Sequence[Any], outs: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """The types of results with their divisions, by the sharding rule of a primitive. An operand must be divided.

    Raises:
      ShardingTypeError: the primitive has no rule, or the divisions of operands conflict, or do not determine those of
        the results.
    """
    division = _common(primitive, avals)
    pending = [a.division for a in avals if getattr(a, "division", None) is not None and a.division.is_pending]
    if pending and not any(any(axes_of_dims(a)) for a in avals) and not _tells_division(primitive):
        return _with_pending(
            primitive, avals, outs, params, None, [((),) * len(out.shape) for out in outs], division, _NONE
        )
    told = division_of(primitive, avals, outs, params)
    if told is None:
        raise ShardingTypeError(
            f"{primitive}: there is no sharding rule for divided operands of types {_shown(avals)}; replicate them "
            "with primax.reshard(x, primax.P()), let XLA decide with primax.sharding.auto_axes, or define a rule: "
            "registry.define(..., sharding='...')"
        )
    if _tells_division(primitive):
        return [divide(out, each) for out, each in zip(outs, told, strict=True)]
    if len(told) == 1 and isinstance(told[0], Division):
        return [divide(outs[0], told[0] if any(told[0].axes) else None)]
    opened = params.get("open_axes", _NONE)
    if opened:
        opened = _open_sums().left_open(told, avals, frozenset(opened))
    if isinstance(told, Factors):
        axes = _of_factors(primitive, told, avals, opened)
    else:
        axes = [_axes_of(spec, len(out.shape)) for spec, out in zip(told, outs, strict=True)]
    for out, found in zip(outs, axes, strict=True):
        _check(primitive, avals, out, found, division.mesh)
    if pending or opened:
        return _with_pending(primitive, avals, outs, params, told, axes, division, opened)
    return [divide(out, division.with_axes(found)) for out, found in zip(outs, axes, strict=True)]


def _tells_division(primitive: Any) -> bool:
    """Whether the sharding rule of a primitive returns whole divisions of its results, including pending sums."""
    return getattr(sharding_rules.functions.get(primitive), "tells_division", False)


def _open_sums() -> Any:
    return import_module("primax.core.open_sums")


def _with_pending(
    primitive: Any,
    avals: Sequence[Any],
    outs: Sequence[Any],
    params: dict[str, Any],
    told: Any,
    axes: Sequence[Axes],
    division: Division,
    opened: frozenset[Any],
) -> list[Any]:
    """The types of results with their pending sums."""
    unreduced, reduced = _open_sums().pending_results(primitive, avals, outs, params, told, axes, opened)
    if not (unreduced or reduced):
        return [divide(out, Division(division.mesh, a) if any(a) else None) for out, a in zip(outs, axes, strict=True)]
    return [
        divide(out, Division(division.mesh, found, unreduced, reduced)) for out, found in zip(outs, axes, strict=True)
    ]


def _shown(avals: Sequence[Any]) -> str:
    return " and ".join(aval.str_short() for aval in avals)


def _axes_of(spec: Any, rank: int) -> Axes:
    """For each dimension, the axes that a sharding rule returned: as a division, a specification or a sequence."""
    if isinstance(spec, Division):
        return spec.axes
    if isinstance(spec, PartitionSpec):
        return tuple(map(spec.along, range(rank)))
    return tuple(spec)


def _common(primitive: Any, avals: Sequence[Any]) -> Division:
    """The division of the first divided operand; all divided operands must be on one mesh.

    Raises:
      ShardingTypeError: the operands are on different meshes.
    """
    found: list[Division] = [a.division for a in avals if getattr(a, "division", None) is not None]
    for other in found[1:]:
        if other.mesh is not found[0].mesh and other.mesh != found[0].mesh:
            raise ShardingTypeError(
                f"{primitive}: operands must be divided along one mesh, got {_shown(avals)} over {found[0].mesh!r} and "
                f"{other.mesh!r}"
            )
    return found[0]


def _of_factors(primitive: Any, factors: Factors, avals: Sequence[Any], opened: frozenset[Any] = _NONE) -> list[Axes]:
    """For each result, the axes that divide its dimensions: those that divide the same dimensions in operands."""
    found: dict[int, tuple[Any, ...]] = {}
    holders: dict[int, int] = {}
    for dims, aval in zip(factors.operands, avals, strict=True):
        for factor, names in zip(dims, axes_of_dims(aval), strict=True):
            if not names:
                continue
            if found.setdefault(factor, names) != names:
                raise ShardingTypeError(
                    f"{primitive}: a dimension must be divided along the same mesh axes in all operands, got "
                    f"{_shown(avals)}, divided along {_named(found[factor])} in one and along {_named(names)} in "
                    "another; change one with primax.reshard"
                )
            holders[factor] = holders.get(factor, 0) + 1
    for factor, names in list(found.items()):
        mark = factors.mark(factor)
        if mark == WHOLE and factors.sizes[factor] == 1:
            del found[factor]  # the axes are of size 1, so the operand is whole anyway
            continue
        if mark == WHOLE:
            raise ShardingTypeError(
                f"{primitive}: the dimension {factors.names[factor]!r} of size {factors.sizes[factor]} must not be "
                f"divided, got {_shown(avals)}, where {_named(names)} divides it; replicate the operand along it with "
                "primax.reshard"
            )
        if opened.issuperset(names):
            continue
        if mark and holders[factor] > 1 and not any(factor in dims for dims in factors.results):
            raise ShardingTypeError(
                f"{primitive}: the sharding of the result is ambiguous: the contracted dimension of operands of types "
                f"{_shown(avals)} is divided along {_named(names)}; give out_sharding=, such as "
                f"out_sharding=primax.P(), or {PartitionSpec(unreduced=frozenset(names))} to sum later, or replicate "
                "one operand with primax.reshard"
            )
    return [tuple([found.get(factor, ()) for factor in dims]) for dims in factors.results]


def _named(names: Sequence[Any]) -> str:
    return " and ".join(map(repr, names))


def _check(primitive: Any, avals: Sequence[Any], out: Any, axes: Axes, mesh: AbstractMesh) -> None:
    """Raise an error for an invalid division of a result.

    Raises:
      ShardingTypeError: an axis divides two dimensions, or a dimension is not a multiple of its parts.
    """
    used = [name for names in axes for name in names]
    twice = [name for i, name in enumerate(used) if name in used[:i]]
    if twice:
        shown = "[" + ",".join(map(divided_size, out.shape, axes)) + "]"
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
