"""Collectives along axes of a mesh: communication between its devices, in StableHLO."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from primax.extend.core import Array
from primax.extend.interpreters import mlir
from primax.extend.provisional.lowering import sharding_attribute, spmd_of
from primax.extend.sharding import PartitionSpec
from primax.plugins.collectives.names import Groups
from primax.plugins.structural import expand_dims, squeeze


def mesh_of(ctx: mlir.LoweringRuleContext, axes: Sequence[Any]) -> Any:
    """The mesh with these axes.

    Raises:
      ValueError: this is not inside a per-device program along them.
    """
    return _manual(ctx, axes)[0]


def _manual(ctx: mlir.LoweringRuleContext, axes: Sequence[Any]) -> tuple[Any, frozenset[Any]]:
    """The mesh with these axes, and its axes along which the program is per-device.

    Raises:
      ValueError: this is not inside a per-device program along them.
    """
    manual = spmd_of(ctx.module_context).manual
    if manual is None or not set(axes) <= manual[1]:
        raise ValueError(
            f"{ctx.primitive}: {', '.join(map(repr, axes))} must be a mapped axis in scope, got no axis with this "
            "name; "
            "primax.vmap and primax.shard_map bring one into scope"
        )
    return manual


def _groups(ctx: mlir.LoweringRuleContext, axes: Sequence[Any], groups: Groups = None) -> list[list[int]]:
    """The groups of devices that communicate, as numbers in the order of the mesh."""
    mesh = mesh_of(ctx, axes)
    places = [mesh.axis_names.index(name) for name in axes]
    others = [i for i in range(len(mesh.axis_names)) if i not in places]
    numbers = np.arange(mesh.size).reshape(mesh.axis_sizes).transpose([*others, *places])
    rows = numbers.reshape(-1, prod(mesh.axis_sizes[i] for i in places)).tolist()
    if groups is None:
        return rows
    return [[row[i] for i in group] for row in rows for group in groups]


def _attribute(rows: Sequence[Sequence[int]]) -> mlir.ir.Attribute:
    longest = max(map(len, rows))
    table = np.array([[*row, *[-1] * (longest - len(row))] for row in rows], np.int64)
    return mlir.ir.DenseIntElementsAttr.get(table)


def _channel(ctx: mlir.LoweringRuleContext) -> mlir.ir.Attribute:
    return mlir.hlo.ChannelHandle.get(ctx.module_context.new_channel(), 1)


def _i64(number: int) -> mlir.ir.Attribute:
    return mlir.ir.IntegerAttr.get(mlir.ir.IntegerType.get_signless(64), number)


def _add_reducer(region: Any, aval: Any, name: str) -> None:
    scalar = mlir.aval_to_ir_type(aval.update(shape=()))
    block = region.blocks.append(scalar, scalar)
    with mlir.ir.InsertionPoint(block):
        mlir.hlo.return_(mlir.ir.Operation.create(name, [scalar], list(block.arguments)).results)


def lower_reduction(operation: str) -> Callable[..., Any]:
    """The lowering of a reduction by a StableHLO operation such as `stablehlo.add`."""

    def lower(
        ctx: mlir.LoweringRuleContext, x: Any, *, axes: Any, axis_index_groups: Groups = None
    ) -> list[Any] | Array:
        rows = _groups(ctx, axes, axis_index_groups)
        if all(len(row) == 1 for row in rows):
            return [x]
        op = mlir.hlo.AllReduceOp(
            [x.type],
            [x],
            replica_groups=_attribute(rows),
            channel_handle=_channel(ctx),
            use_global_device_ids=mlir.ir.BoolAttr.get(True),
        )
        _add_reducer(op.regions[0], ctx.avals_in[0], operation)
        return op.results

    return lower


def _moved(x: Any, axis: int) -> mlir.ir.Value:
    """A value with a new axis of length 1 before `axis`."""
    return expand_dims(x, (axis,))


def lower_all_gather(
    ctx: mlir.LoweringRuleContext,
    x: Any,
    *,
    all_gather_dimension: int,
    axis_name: Any,
    tiled: bool,
    axis_index_groups: Groups = None,
    **params: Any,
) -> list[Any] | Array:
    aval = ctx.avals_in[0]
    rows = _groups(ctx, axis_name, axis_index_groups)
    if not tiled:
        (x,) = _by_operations(ctx, lambda x: _moved(x, all_gather_dimension), x, aval)
    if len(rows[0]) == 1:
        return [x]
    op = mlir.hlo.AllGatherOp(
        [mlir.aval_to_ir_type(ctx.avals_out[0])],
        [x],
        all_gather_dim=_i64(all_gather_dimension),
        replica_groups=_attribute(rows),
        channel_handle=_channel(ctx),
        use_global_device_ids=mlir.ir.BoolAttr.get(True),
    )
    return op.results


def lower_reduce_scatter(
    ctx: mlir.LoweringRuleContext,
    x: Any,
    *,
    scatter_dimension: int,
    axis_name: Any,
    axis_index_groups: Groups,
    tiled: bool,
    **params: Any,
) -> list[Any]:
    aval, out = ctx.avals_in[0], ctx.avals_out[0]
    rows = _groups(ctx, axis_name, axis_index_groups)
    shape = list(aval.shape)
    shape[scatter_dimension] //= len(rows[0])
    part = aval.update(shape=tuple(shape))
    if len(rows[0]) > 1:
        op = mlir.hlo.ReduceScatterOp(
            mlir.aval_to_ir_type(part),
            x,
            scatter_dimension=_i64(scatter_dimension),
            replica_groups=_attribute(rows),
            channel_handle=_channel(ctx),
            use_global_device_ids=mlir.ir.BoolAttr.get(True),
        )
        _add_reducer(op.regions[0], aval, "stablehlo.add")
        x = op.result
    return [x] if part.shape == out.shape else _by_operations(ctx, lambda x: squeeze(x, (scatter_dimension,)), x, part)


def lower_all_to_all(
    ctx: mlir.LoweringRuleContext,
    x: Any,
    *,
    split_axis: int,
    concat_axis: int,
    axis_name: Any,
    axis_index_groups: Groups,
    tiled: bool,
    **params: Any,
) -> list[Any] | Array:
    aval = ctx.avals_in[0]
    rows = _groups(ctx, axis_name, axis_index_groups)
    count = len(rows[0])
    if not tiled:  # the split axis remains with length 1, beside a new axis
        if concat_axis > split_axis:
            concat_axis += 1
        new = concat_axis
        (x,) = _by_operations(ctx, lambda x: _moved(x, new), x, aval)
        aval = aval.update(shape=(*aval.shape[:new], 1, *aval.shape[new:]))
        split_axis += new <= split_axis
    if count > 1:
        op = mlir.hlo.AllToAllOp(
            [x],
            split_dimension=_i64(split_axis),
            concat_dimension=_i64(concat_axis),
            split_count=_i64(count),
            replica_groups=_attribute(rows),
            channel_handle=_channel(ctx),
        )
        (x,) = op.results
    if tiled:
        return [x]
    shape = list(aval.shape)
    shape[split_axis] //= count
    shape[concat_axis] *= count
    return _by_operations(ctx, lambda x: squeeze(x, (split_axis,)), x, aval.update(shape=tuple(shape)))


def lower_permutation(ctx: mlir.LoweringRuleContext, x: Any, *, axis_name: Any, perm: Any) -> list[Any] | Array:
    rows = _groups(ctx, axis_name)
    pairs = [(row[source], row[target]) for row in rows for source, target in perm]
    if not pairs:
        return _by_operations(ctx, lambda x: x - x, x, ctx.avals_in[0])
    table = mlir.ir.DenseIntElementsAttr.get(np.array(pairs, np.int64))
    return [mlir.hlo.CollectivePermuteOp(x, source_target_pairs=table, channel_handle=_channel(ctx)).result]


def lower_broadcast(ctx: mlir.LoweringRuleContext, x: Any, *, axis_name: Any, source: int) -> Sequence[mlir.ir.Value]:
    rows = [[row[source], *row[:source], *row[source + 1 :]] for row in _groups(ctx, axis_name)]
    attributes = {"replica_groups": _attribute(rows), "channel_handle": _channel(ctx)}
    return mlir.ir.Operation.create("stablehlo.collective_broadcast", [x.type], [x], attributes).results


def lower_ragged_exchange(
    ctx: mlir.LoweringRuleContext, *args: Any, axis_name: Any, axis_index_groups: Groups, **params: Any
) -> Sequence[mlir.ir.Value]:
    config = {
        "replica_groups": _attribute(_groups(ctx, axis_name, axis_index_groups)),
        "channel_id": np.int64(ctx.module_context.new_channel()),
    }
    results = [mlir.aval_to_ir_type(ctx.avals_out[0])]
    return mlir.custom_call(
        "ragged_all_to_all", result_types=results, operands=args, backend_config=config, api_version=4
    ).results


def _by_operations(ctx: mlir.LoweringRuleContext, fun: Callable[..., Any], x: Any, aval: Any) -> list[Any]:
    """The IR of a function of one array."""
    inner = ctx.replace(avals_in=[aval], avals_out=[])
    return mlir.lower_fun(fun, multiple_results=False)(inner, x)


def lower_axis_index(ctx: mlir.LoweringRuleContext, *, axis_name: Any) -> list[Any]:
    mesh, manual = _manual(ctx, (axis_name,))
    rest = [name for name in mesh.axis_names if name not in manual and mesh.shape[name] > 1]
    if not rest:
        return [_own_index(mesh, axis_name)]
    # If XLA divides the computation along other axes, it lacks the number of the device: this part is a per-device
    # program along all of them.
    ir, sdy = mlir.ir, mlir.sdy
    aval = ctx.avals_out[0]
    everywhere = sharding_attribute(ctx.module_context, mesh, PartitionSpec(), 0)
    op = sdy.ManualComputationOp(
        [mlir.aval_to_ir_type(aval)],
        [],
        sdy.TensorShardingPerValueAttr.get([]),
        sdy.TensorShardingPerValueAttr.get([everywhere]),
        sdy.ManualAxesAttr.get([ir.StringAttr.get(str(name)) for name in rest]),
    )
    with ir.InsertionPoint(op.body.blocks.append()):
        sdy.return_([_own_index(mesh, axis_name)])
    return list(op.results)


def _own_index(mesh: Any, axis_name: Any) -> mlir.ir.Value:
    """The index of the device along an axis, computed from its number."""
    ir, hlo = mlir.ir, mlir.hlo
    place = mesh.axis_names.index(axis_name)
    stride, size = prod(mesh.axis_sizes[place + 1 :]), mesh.axis_sizes[place]
    number = hlo.partition_id()

    def constant(value: int) -> mlir.ir.Value:
        return mlir.ir_constant(np.uint32(value))

    index = hlo.remainder(hlo.divide(number, constant(stride)), constant(size))
    return hlo.convert(ir.RankedTensorType.get([], ir.IntegerType.get_signless(32)), index)
