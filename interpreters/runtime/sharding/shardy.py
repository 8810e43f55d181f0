"""Shardings in modules, in the form of XLA's partitioner, Shardy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from primax.core import _jaxlib
from primax.core.avals import ShapedArray
from primax.core.rules import sharding_rules
from primax.interpreters.runtime.ir_types import array_in_module
from primax.interpreters.runtime.sharding.mesh import AbstractMesh, Mesh, PartitionSpec
from primax.interpreters.runtime.sharding.spmd import spmd_of


class Explicit(NamedTuple):
    """The sharding in the type of a result, along a mesh's explicit axes; XLA chooses along the others.

    Attributes:
      mesh: a mesh with axes of both kinds.
      spec: for each axis the explicit axes that divide it.
    """

    mesh: Mesh
    spec: PartitionSpec


class SpmdShardings(NamedTuple):
    """The distribution of a program's arguments and results over the devices of a mesh.

    Attributes:
      mesh: the mesh.
      consts: the shardings of its constants.
      ins: the shardings of its inputs.
      outs: the shardings of its results, None for XLA's choice, an `Explicit` for its choice along other axes.
    """

    mesh: Mesh
    consts: Sequence[Any]
    ins: Sequence[Any]
    outs: Sequence[Any]


def mesh_symbol(module: Any, mesh: Any) -> str:
    """The name of a mesh in a module, to which the mesh is added at its first use."""
    abstract: AbstractMesh = mesh.abstract_mesh
    key = abstract.shape_tuple
    symbols = spmd_of(module).symbols
    symbol: str | None = symbols.get(key)
    if symbol is None:
        sdy = _jaxlib.sdy
        axes = [sdy.MeshAxisAttr.get(str(name), size) for name, size in key]
        name = f"mesh_{len(symbols)}" if symbols else "mesh"
        with module.top:
            sdy.MeshOp(name, sdy.MeshAttr.get(axes))
        symbol = symbols[key] = name
    return symbol


def sharding_attribute(
    module: Any, mesh: Any, spec: PartitionSpec, ndim: int, open_axes: bool = False, whole: Sequence[Any] = ()
) -> Any:
    """The Shardy attribute for the sharding of a value with a given number of axes.

    The value is whole along axes of pending sums: since jaxlib 0.12, Shardy passes no summands to per-device programs.

    Args:
      module: the module.
      mesh: the mesh.
      spec: for each axis the mesh axes that divide it; `UNCONSTRAINED` leaves it to Shardy.
      ndim: the number of axes.
      open_axes: whether Shardy may divide all axes further.
      whole: mesh axes along which it may not.
    """
    sdy = _jaxlib.sdy
    dims = []
    for i in range(ndim):
        free = open_axes or (i < len(spec) and spec[i] is PartitionSpec.UNCONSTRAINED)
        refs = [sdy.AxisRefAttr.get(str(name)) for name in spec.along(i)]
        dims.append(sdy.DimensionShardingAttr.get(refs, is_closed=not free))
    kept = [sdy.AxisRefAttr.get(str(name)) for name in whole]
    return sdy.TensorShardingAttr.get(mesh_symbol(module, mesh), dims, kept)


def sharding_attributes(module: Any, shardings: Sequence[Any], ranks: Sequence[int]) -> list[dict[str, Any]]:
    """For each value the attributes of an argument or a result; empty if the sharding is None."""
    attributes: list[dict[str, Any]] = []
    for sharding, ndim in zip(shardings, ranks, strict=True):
        if sharding is None:
            attributes.append({})
        elif isinstance(sharding, Explicit):
            mesh, spec = sharding
            whole = [name for name in mesh.explicit_axes if name not in spec.axes]
            attribute = sharding_attribute(module, mesh, spec, ndim, open_axes=True, whole=whole)
            attributes.append({"sdy.sharding": attribute})
        else:
            attributes.append({"sdy.sharding": sharding_attribute(module, sharding.mesh, sharding.spec, ndim)})
    return attributes


def on_first_device(module: Any, count: int) -> Any:
    """The attribute of an operation with `count` results that runs only on the first device, on whole values."""
    sdy = _jaxlib.sdy
    symbols = spmd_of(module).symbols
    symbol = symbols.get("first device")
    if symbol is None:
        with module.top:
            sdy.MeshOp("first_device", sdy.MeshAttr.get([], device_ids=[0]))
        symbol = symbols["first device"] = "first_device"
    return sdy.TensorShardingPerValueAttr.get([sdy.TensorShardingAttr.get(symbol, [])] * count)


def constrain_to_types(ctx: Any, outs: list[Any]) -> list[Any]:
    """The results of an equation, divided as their types record; XLA may choose if no operand or result is divided."""
    module = ctx.module_context
    if module.spmd.manual is not None:
        return outs
    placements = [aval.placement for aval in (*ctx.avals_in, *ctx.avals_out) if isinstance(aval, ShapedArray)]
    shardings = [placed.sharding for placed in placements if placed is not None and placed.sharding is not None]
    if not shardings or getattr(sharding_rules.functions.get(ctx.primitive), "left_to_xla", False):
        return outs
    constrained = []
    mesh = shardings[0].mesh
    free = not mesh.are_all_axes_explicit
    for x, result in zip(outs, ctx.avals_out, strict=True):
        aval = array_in_module(result)
        if not isinstance(aval, ShapedArray):
            constrained.append(x)
            continue
        recorded = None if aval.placement is None else aval.placement.sharding
        along, spec = (mesh, PartitionSpec()) if recorded is None else (recorded.mesh, recorded.spec)
        attribute = sharding_attribute(module, along, spec, len(aval.shape), open_axes=free)
        constrained.append(_jaxlib.sdy.sharding_constraint(x, attribute))
    return constrained


def inspect_sharding(module: Any, x: Any, handler: Callable[[Any], None]) -> None:
    """Call a function with XLA's `HloSharding` of an IR value while the module is compiled.

    Args:
      module: the module being built.
      x: the value.
      handler: the function. It must not raise.
    """
    ir = _jaxlib.ir
    module.keepalives.append(handler)
    attributes = {
        "call_target_name": ir.StringAttr.get("InspectSharding"),
        "has_side_effect": ir.BoolAttr.get(True),
        "api_version": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1),
        "backend_config": ir.StringAttr.get(_jaxlib.xla_client.encode_inspect_sharding_callback(handler)),
    }
    ir.Operation.create("stablehlo.custom_call", [x.type], [x], attributes)


def constrained(module: Any, x: Any, mesh: Any, spec: PartitionSpec, ndim: int) -> Any:
    """An IR value with a given sharding."""
    return _jaxlib.sdy.sharding_constraint(x, sharding_attribute(module, mesh, spec, ndim))
