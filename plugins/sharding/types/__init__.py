"""The placement of types: shardings along explicit mesh axes, and the mapped axes along which values vary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from primax.extend.core import ShardingTypeError
from primax.extend.interpreters import ad
from primax.extend.provisional.aval_sharding import (
    AvalSharding,
    TypePlacement,
    aval_sharding,
    axes_of_dims,
    changed,
    manual_axis_type,
    vma_of,
    whole,
)
from primax.extend.provisional.sharding import current_scope, install_placement_rules, meshes_exist
from primax.extend.provisional.sharding_rule import apply_sharding_rule
from primax.plugins.collectives import pmax, pmin, psum, pvary_p, recast
from primax.plugins.resharding import forgotten, with_aval_sharding, with_out_sharding
from primax.plugins.sharding.types.unreduced_lowering import convert_unreduced, enter_module, leave_module
from primax.plugins.sharding.types.vma import insert_pvary, match_placement, result_placements, vary

_NONE: frozenset[Any] = frozenset()


class _Rules:
    """The `PlacementRules` of the kernel, and the functions of this family that other families call."""

    pvary_p = pvary_p
    reductions: Mapping[str, Callable[..., Any]] = {"sum": psum, "max": pmax, "min": pmin}

    active = staticmethod(meshes_exist)
    apply_sharding_rule = staticmethod(apply_sharding_rule)
    changed = staticmethod(changed)
    convert_unreduced = staticmethod(convert_unreduced)
    enter_module = staticmethod(enter_module)
    leave_module = staticmethod(leave_module)
    manual_axis_type = staticmethod(manual_axis_type)
    like = staticmethod(match_placement)
    match_operands = staticmethod(insert_pvary)
    recast = staticmethod(recast)
    result_placements = staticmethod(result_placements)
    vary = staticmethod(vary)
    whole = staticmethod(whole)
    with_aval_sharding = staticmethod(with_aval_sharding)
    with_out_sharding = staticmethod(with_out_sharding)

    def converts_operands(self) -> bool:
        scope = current_scope()
        return scope is not None and scope.converts_operands

    def output_cotangent(self, ct: Any, aval: Any) -> Any:
        explicit = aval_sharding(aval)
        return with_aval_sharding(ct, explicit.of_cotangents) if explicit is not None and explicit.is_pending else ct

    def cotangent(self, ct: Any, ct_aval: Any, aval: Any) -> Any:
        placed, ct_placed = getattr(aval, "placement", None), getattr(ct_aval, "placement", None)
        dual = None if placed is None or placed.explicit is None else placed.explicit.of_cotangents
        return ct if (None if ct_placed is None else ct_placed.explicit) is dual else with_aval_sharding(ct, dual)

    def cotangent_like(self, ct: Any, aval: Any) -> Any:
        ct = self.output_cotangent(ct, aval)
        extra = vma_of(ct) - aval.vma
        if extra:
            ct = psum(ct, tuple(sorted(extra, key=str)))
        return vary(ct, aval.vma)

    def pull_back(self, rule: Callable[..., Any], ct: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
        try:
            return rule(ct, *args, **params)
        except ShardingTypeError:  # XLA decides what the types do not determine; the cotangents are checked again
            ct = list(map(_without_sharding, ct)) if isinstance(ct, list) else _without_sharding(ct)
            return rule(ct, *map(_without_sharding, args), **params)

    def mapped_axis(
        self, avals: Sequence[Any], dims: Sequence[int | None], argument: Callable[[int], str]
    ) -> TypePlacement | None:
        mapped = [(i, aval, dim) for i, (aval, dim) in enumerate(zip(avals, dims, strict=True)) if dim is not None]
        axes = {axes_of_dims(aval)[dim] for _, aval, dim in mapped}
        if len(axes) > 1:
            lines = [f"  {argument(i)} of type {aval.str_short()} along axis {dim}" for i, aval, dim in mapped]
            raise ShardingTypeError(
                "vmap: all mapped axes must be divided along the same mesh axes; change one with primax.reshard:\n"
                + "\n".join(lines)
            )
        (names,) = axes or {()}
        if not names:
            return None
        mesh = next(explicit.mesh for aval in avals if (explicit := aval_sharding(aval)) is not None)
        return TypePlacement(AvalSharding(mesh, (names,)), _NONE)


def _without_sharding(x: Any) -> Any:
    """An argument of a transpose rule, whose type records no sharding."""
    if type(x) is ad.UndefinedPrimal:
        return x if aval_sharding(x.aval) is None else ad.UndefinedPrimal(x.aval.update(sharding=None))
    return x if type(x) is ad.Zero else forgotten(x)


def install() -> None:
    """Give the rules of placements to the kernel."""
    install_placement_rules(_Rules())
