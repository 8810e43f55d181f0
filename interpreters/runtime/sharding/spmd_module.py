"""The lowering of programs over the devices of a mesh: layers around the rules, and the boundary of the module."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from primax.core import _jaxlib, placement
from primax.core.jaxpr import Jaxpr
from primax.core.lazy_tables import Table
from primax.interpreters.runtime.extended_array import physical_aval
from primax.interpreters.runtime.ir_types import stack_axes
from primax.interpreters.runtime.lowering import Lower, LoweringRuleContext, ModuleContext, register_lowering_layer
from primax.interpreters.runtime.sharding.shardy import SpmdShardings, constrain_to_types, sharding_attributes

# Entries of plugins: "partitioning" is a layer that lowers operations by their sharding rules.
spmd_lowerings = Table("spmd", __name__)


class Boundary:
    """The arguments and results of a module that may be divided among devices.

    Args:
      spread: their distribution over several devices; None for one device.
      kept: for each input of the program whether the module takes it.
      in_avals: the types of the arguments.
      out_avals: the types of the results.
    """

    def __init__(
        self, spread: SpmdShardings | None, kept: Sequence[bool], in_avals: Sequence[Any], out_avals: Sequence[Any]
    ) -> None:
        self.ins: Sequence[Any] = (None,) * len(in_avals)
        self.outs: Sequence[Any] = (None,) * len(out_avals)
        if spread is not None:
            self.ins = [*spread.consts, *(s for s, k in zip(spread.ins, kept, strict=True) if k)]
            self.outs = spread.outs
        self.in_avals = in_avals
        self.out_avals = out_avals

    def outer_avals(self) -> tuple[list[Any], list[Any]]:
        """The types outside, where each device has its summand of an unreduced value: an array of the whole shape."""
        ins, outs = (
            [aval.update(sharding=None) if stack_axes(aval) else aval for aval in avals]
            for avals in (self.in_avals, self.out_avals)
        )
        return ins, outs

    def set_shardings(self, module: ModuleContext, main: Any, tokens: int) -> None:
        """Set the shardings of the arguments and results of `main`, which follow a number of tokens."""
        ir = _jaxlib.ir
        for shardings, avals, name in (
            (self.ins, self.in_avals, "arg_attrs"),
            (self.outs, self.out_avals, "res_attrs"),
        ):
            ranks = [len(physical_aval(aval).shape) for aval in avals]
            new = [dict[str, Any]()] * tokens + sharding_attributes(module, shardings, ranks)
            before = main.attributes[name] if name in main.attributes else [{}] * len(new)
            both = [{**{a.name: a.attr for a in old}, **more} for old, more in zip(before, new, strict=True)]
            main.attributes[name] = ir.ArrayAttr.get([ir.DictAttr.get(attributes) for attributes in both])

    def enter(self, module: ModuleContext, values: Sequence[Any]) -> list[Any]:
        """The arguments, in the form that they have inside the module."""
        return [
            placement.rules.enter_module(module, x, aval, sharding) if stack_axes(aval) else x
            for x, aval, sharding in zip(values, self.in_avals, self.ins, strict=True)
        ]

    def leave(self, module: ModuleContext, values: Sequence[Any]) -> list[Any]:
        """The results, in the form that they have outside of the module."""
        return [
            placement.rules.leave_module(module, x, aval, sharding) if stack_axes(aval) else x
            for x, aval, sharding in zip(values, self.out_avals, self.outs, strict=True)
        ]


def boundary_of(
    spread: SpmdShardings | None, kept: Sequence[bool], in_avals: Sequence[Any], out_avals: Sequence[Any]
) -> Boundary | None:
    """The boundary of a module; None for one device, unless a type is unreduced."""
    if spread is None and not any(map(stack_axes, {*in_avals, *out_avals})):
        return None
    return Boundary(spread, kept, in_avals, out_avals)


def _records_shardings(module: ModuleContext, jaxpr: Jaxpr, types: Collection[Any]) -> bool:
    if module.spmd is None or module.spmd.partitions == 1:
        return False
    return any(getattr(aval, "placement", None) is not None for aval in types)


def _constrain(ctx: LoweringRuleContext, values: Sequence[Any], params: dict[str, Any], lower: Lower) -> list[Any]:
    return constrain_to_types(ctx, lower(ctx, values, params))


def _may_divide(module: ModuleContext, jaxpr: Jaxpr, types: Collection[Any]) -> bool:
    return module.spmd is not None and module.spmd.divides and "partitioning" in spmd_lowerings


def _divide(ctx: LoweringRuleContext, values: Sequence[Any], params: dict[str, Any], lower: Lower) -> list[Any]:
    return spmd_lowerings["partitioning"](ctx, values, params, lower)  # type: ignore[no-any-return]


register_lowering_layer(_records_shardings, _constrain, order=10)
register_lowering_layer(_may_divide, _divide, order=50)
