"""The lowering of programs over the devices of a mesh: layers around the rules, and the boundary of the module."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from primax.core import _jaxlib
from primax.core.errors import UnsupportedError
from primax.core.jaxpr import Jaxpr
from primax.core.lazy_tables import Table
from primax.interpreters.runtime.extended_array import physical_aval
from primax.interpreters.runtime.ir_types import stack_axes
from primax.interpreters.runtime.lowering import Lower, LoweringRuleContext, ModuleContext, register_lowering_layer
from primax.interpreters.runtime.sharding.shardy import SpmdShardings, constrain_to_types, sharding_attributes

__all__ = ["Boundary", "UnreducedLowering", "boundary_of", "convert_unreduced", "spmd_lowerings"]


class UnreducedLowering(NamedTuple):
    """The lowering of unreduced values, of which each device has a summand.

    Attributes:
      lower: the layer, which lowers an operation for each device's summand.
      enter: `(module, x, aval, sharding) -> x`, an argument of the module in the form that it has inside.
      leave: `(module, x, aval, sharding) -> x`, a result of the module in the form that it has outside.
      convert: `(ctx, x) -> x`, the operand of an equation with the pending sums of the result.
    """

    lower: Callable[..., list[Any]]
    enter: Callable[[ModuleContext, Any, Any, Any], Any]
    leave: Callable[[ModuleContext, Any, Any, Any], Any]
    convert: Callable[[LoweringRuleContext, Any], Any]


# What plugins enter: "unreduced" is an `UnreducedLowering`; "partitioning" is a layer that lowers operations by their
# sharding rules.
spmd_lowerings = Table("spmd", __name__)


def _unreduced() -> UnreducedLowering:
    lowering: UnreducedLowering | None = spmd_lowerings.get("unreduced")
    if lowering is None:
        raise UnsupportedError("no active plugin lowers unreduced values; the plugin sharding of primax does")
    return lowering


def convert_unreduced(ctx: LoweringRuleContext, x: Any) -> Any:
    """The IR of the operand of an equation, with the pending sums of the result."""
    return _unreduced().convert(ctx, x)


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
        """The types outside, where each device has its summand of an unreduced value, an array of the whole shape."""
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
        return _crossing(module, values, self.in_avals, self.ins, lambda: _unreduced().enter)

    def leave(self, module: ModuleContext, values: Sequence[Any]) -> list[Any]:
        """The results, in the form that they have outside of the module."""
        return _crossing(module, values, self.out_avals, self.outs, lambda: _unreduced().leave)


def _crossing(
    module: ModuleContext,
    values: Sequence[Any],
    avals: Sequence[Any],
    shardings: Sequence[Any],
    crossing: Callable[[], Callable[..., Any]],
) -> list[Any]:
    return [
        crossing()(module, x, aval, sharding) if stack_axes(aval) else x
        for x, aval, sharding in zip(values, avals, shardings, strict=True)
    ]


def boundary_of(
    spread: SpmdShardings | None, kept: Sequence[bool], in_avals: Sequence[Any], out_avals: Sequence[Any]
) -> Boundary | None:
    """The boundary of a module; None for one device, unless a type is unreduced."""
    if spread is None and not any(map(stack_axes, {*in_avals, *out_avals})):
        return None
    return Boundary(spread, kept, in_avals, out_avals)


def _on_several_devices(module: ModuleContext, jaxpr: Jaxpr, types: Collection[Any]) -> bool:
    return module.spmd is not None and module.spmd.partitions > 1


def _constrain(ctx: LoweringRuleContext, values: Sequence[Any], params: dict[str, Any], lower: Lower) -> list[Any]:
    return constrain_to_types(ctx, lower(ctx, values, params))


def _holds_unreduced(module: ModuleContext, jaxpr: Jaxpr, types: Collection[Any]) -> bool:
    return any(map(stack_axes, types))


def _lower_unreduced(
    ctx: LoweringRuleContext, values: Sequence[Any], params: dict[str, Any], lower: Lower
) -> list[Any]:
    return _unreduced().lower(ctx, values, params, lower)


def _may_divide(module: ModuleContext, jaxpr: Jaxpr, types: Collection[Any]) -> bool:
    return module.spmd is not None and module.spmd.divides and "partitioning" in spmd_lowerings


def _divide(ctx: LoweringRuleContext, values: Sequence[Any], params: dict[str, Any], lower: Lower) -> list[Any]:
    return spmd_lowerings["partitioning"](ctx, values, params, lower)  # type: ignore[no-any-return]


register_lowering_layer(_on_several_devices, _constrain, order=10)
register_lowering_layer(_holds_unreduced, _lower_unreduced, order=40)
register_lowering_layer(_may_divide, _divide, order=50)
