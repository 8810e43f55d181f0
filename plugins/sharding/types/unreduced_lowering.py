"""Unreduced values, which are sums over devices, in modules.

In a module such a value has an additional last axis for each mesh axis of its sum. The mesh axis divides it, so each
device has one summand. For XLA it is an ordinary array: XLA's partitioner need not support pending sums, some of which
it propagates incorrectly through loops and broadcasts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from primax.extend.core import Jaxpr, ShapedArray, jaxprs_in_params
from primax.extend.interpreters import mlir
from primax.extend.interpreters.mlir import LoweringRuleContext, ModuleContext, aval_to_ir_type, ir_constant
from primax.extend.provisional.derivatives import linearity_of
from primax.extend.provisional.lowering import sharding_attribute, spmd_of, stack_axes
from primax.extend.provisional.partitioning import Lower
from primax.extend.provisional.sharding import AvalSharding, aval_sharding
from primax.extend.sharding import PartitionSpec
from primax.plugins.resharding import reshard_p

Axes = tuple[tuple[Any, ...], ...]  # for each dimension the mesh axes that divide it


def _reshaped(x: Any, shape: Sequence[int]) -> Any:
    kind = mlir.ir.RankedTensorType.get(list(shape), x.type.element_type)
    return x if x.type == kind else mlir.hlo.reshape(kind, x)


def _divided(shape: Sequence[int], axes: Axes, mesh: Any, names: Any) -> list[int]:
    """The shape of one device's part along some axes of a mesh."""
    return [
        size // mesh.size_along([name for name in along if name in names])
        for size, along in zip(shape, axes, strict=True)
    ]


def _explicit(aval: Any) -> AvalSharding:
    """The sharding of an unreduced type."""
    explicit = aval_sharding(aval)
    assert explicit is not None
    return explicit


def _axes(aval: Any) -> Axes:
    explicit = aval_sharding(aval)
    return ((),) * len(aval.shape) if explicit is None else explicit.axes


def holds_unreduced(module: ModuleContext, jaxpr: Jaxpr, types: Collection[Any]) -> bool:
    """Whether a program has unreduced values."""
    return any(map(stack_axes, types))


def lower_on_local_terms(
    ctx: LoweringRuleContext, args: Sequence[Any], params: dict[str, Any], lower: Lower
) -> list[Any]:
    """Lower a primitive that is linear in unreduced values on each device's summand, unless its rule supports them."""
    module = ctx.module_context
    avals = (*ctx.avals_in, *ctx.avals_out)
    if (
        not any(map(stack_axes, avals))
        or next(jaxprs_in_params(params), None)
        or ctx.primitive is reshard_p  # its rule converts them
    ):
        return lower(ctx, args, params)
    rule = linearity_of(ctx.primitive, params)
    mesh = next(explicit.mesh for a in avals if (explicit := aval_sharding(a)) is not None and explicit.unreduced)
    names = tuple([name for name in mesh.axis_names if any(name in stack_axes(a) for a in avals)])
    parts = [_part(aval, mesh, names) for aval in ctx.avals_in]
    results = [_part(aval, mesh, names) for aval in ctx.avals_out]
    first = [
        rule is not None and rule.together and rule.holds(i) and not stack_axes(aval)
        for i, aval in enumerate(ctx.avals_in)
    ]
    masked = any(first) and any(map(stack_axes, ctx.avals_in))

    def run(operands: Sequence[Any], places: Sequence[Any]) -> list[Any]:
        own = [_reshaped(x, part.shape) for x, part in zip(operands, parts, strict=True)]
        if masked:
            own = [_on_first(x, places) if alone else x for x, alone in zip(own, first, strict=True)]
        outs = lower(ctx.replace(avals_in=parts, avals_out=results), own, params)
        return [
            _reshaped(x, (*part.shape, *(1 for _ in stack_axes(aval))))
            for x, part, aval in zip(outs, results, ctx.avals_out, strict=True)
        ]

    if spmd_of(module).partitions == 1:
        return run(args, [ir_constant(np.int32(0))] * len(names))
    numbers = [ir_constant(np.arange(mesh.shape[name], dtype=np.int32)) for name in names] if masked else []
    taken = [_outer_sharding(module, aval, names) for aval in ctx.avals_in]
    taken += [_spec_attribute(module, PartitionSpec(name), 1) for name in names] if masked else []
    returned = [_outer_sharding(module, aval, names) for aval in ctx.avals_out]
    local_ins = [_local_type(aval, mesh, names) for aval in ctx.avals_in]
    i32 = mlir.ir.RankedTensorType.get([1], mlir.ir.IntegerType.get_signless(32))
    local_ins += [i32] * len(numbers)
    count = len(args)
    types = [aval_to_ir_type(aval) for aval in ctx.avals_out]
    return _region(
        module,
        names,
        [*args, *numbers],
        taken,
        local_ins,
        types,
        returned,
        lambda values: run(values[:count], [_reshaped(x, ()) for x in values[count:]]),
    )


def _region(
    module: Any,
    names: Sequence[Any],
    operands: Sequence[Any],
    taken: Sequence[Any],
    local_types: Sequence[Any],
    types: Sequence[Any],
    returned: Sequence[Any],
    body: Callable[[Sequence[Any]], Sequence[Any]],
) -> list[Any]:
    """The IR of a per-device program along some axes of the mesh."""
    ir, sdy = mlir.ir, mlir.sdy
    op = sdy.ManualComputationOp(
        list(types),
        list(operands),
        sdy.TensorShardingPerValueAttr.get(list(taken)),
        sdy.TensorShardingPerValueAttr.get(list(returned)),
        sdy.ManualAxesAttr.get([ir.StringAttr.get(str(name)) for name in names]),
    )
    block = op.body.blocks.append(*local_types)
    spmd = spmd_of(module)
    before = spmd.manual
    already = frozenset() if before is None else before[1]
    spmd.manual = spmd.mesh if before is None else before[0], already | frozenset(names)
    try:
        with ir.InsertionPoint(block):
            sdy.return_(list(body(list(block.arguments))))
    finally:
        spmd.manual = before
    return list(op.results)


def _part(aval: Any, mesh: Any, names: Sequence[Any]) -> Any:
    """The type of one device's part along some axes of a mesh; XLA determines the sharding along the others."""
    if not isinstance(aval, ShapedArray):
        return aval
    return ShapedArray(_divided(aval.shape, _axes(aval), mesh, names), aval.dtype, aval.weak_type)


def _local_type(aval: Any, mesh: Any, names: Sequence[Any]) -> Any:
    part = _part(aval, mesh, names)
    return aval_to_ir_type(part.update(shape=(*part.shape, *(1 for _ in stack_axes(aval)))))


def _outer_sharding(module: Any, aval: Any, names: Sequence[Any]) -> Any:
    """The sharding of a value outside a per-device program along some axes, which divide it most coarsely."""
    axes = [(*(n for n in along if n in names), *(n for n in along if n not in names)) for along in _axes(aval)]
    return _spec_attribute(module, PartitionSpec(*axes, *stack_axes(aval)), len(axes) + len(stack_axes(aval)))


def _spec_attribute(module: Any, spec: PartitionSpec, ndim: int) -> Any:
    spmd = spmd_of(module)
    mesh, already = (spmd.mesh, frozenset()) if spmd.manual is None else spmd.manual
    free = not spmd.mesh.are_all_axes_explicit
    spec = PartitionSpec(*[tuple([n for n in spec.along(i) if n not in already]) for i in range(ndim)])
    return sharding_attribute(module, mesh, spec, ndim, open_axes=free)


def _on_first(x: Any, places: Sequence[Any]) -> Any:
    """A scalar on the first device along all axes, and zero on the others."""
    hlo = mlir.hlo
    total = places[0]
    for place in places[1:]:
        total = hlo.add(total, place)
    is_first = _compare(total, ir_constant(np.int32(0)))
    return hlo.select(is_first, x, _zeros_like(x))


def _zeros_like(x: Any) -> Any:
    ir = mlir.ir
    element = x.type.element_type
    if isinstance(element, ir.ComplexType):
        part = ir.ComplexType(element).element_type
        real = ir.RankedTensorType.get(x.type.shape, part)
        zeros = mlir.hlo.constant(ir.DenseElementsAttr.get_splat(real, ir.FloatAttr.get(part, 0.0)))
        return mlir.hlo.complex(zeros, zeros)
    zero = ir.IntegerAttr.get(element, 0) if isinstance(element, ir.IntegerType) else ir.FloatAttr.get(element, 0.0)
    return mlir.hlo.constant(ir.DenseElementsAttr.get_splat(x.type, zero))


def _compare(x: Any, y: Any) -> Any:
    hlo = mlir.hlo
    return hlo.compare(x, y, hlo.ComparisonDirectionAttr.get("EQ"))


def convert_unreduced(ctx: Any, x: Any) -> Any:
    """The IR of a value with other pending sums than before, divided as XLA chooses.

    Sums that are no longer pending are computed here. For new pending sums, the first device along an axis keeps the
    value, or each device keeps the part that it has, and the others have zero.
    """
    module = ctx.module_context
    (before,), (after,) = ctx.avals_in, ctx.avals_out
    old, new = stack_axes(before), stack_axes(after)
    rank = len(before.shape)
    summed = [rank + i for i, name in enumerate(old) if name not in new]
    if summed:
        x = _summed(x, summed)
    kept = [name for name in old if name in new]
    added = [name for name in new if name not in old]
    if not added:
        return x
    dividing = {name for along in _axes(before) for name in along}
    if spmd_of(module).partitions > 1 and dividing.issuperset(added) and _come_first(_axes(before), added):
        return _placed(module, x, before, after, kept, added)
    return _spread(module, x, before, after, kept, added)


def _come_first(axes: Axes, names: Sequence[Any]) -> bool:
    """Whether the named axes come first among the axes that divide a dimension."""
    return all([n in names for n in along] == sorted((n in names for n in along), reverse=True) for along in axes)


def _placed(module: Any, x: Any, before: Any, after: Any, kept: Sequence[Any], added: Sequence[Any]) -> Any:
    """A value that is divided along the axes of its new sums: each device has its part, and zero elsewhere."""
    hlo = mlir.hlo
    mesh = _explicit(after).mesh
    new = stack_axes(after)
    axes = _axes(before)
    sizes = [mesh.shape[name] for name in kept]
    own = _divided(before.shape, axes, mesh, added)
    element = x.type.element_type
    held = len(own)
    ranked = mlir.ir.RankedTensorType.get
    i32 = mlir.ir.IntegerType.get_signless(32)

    def run(operands: Sequence[Any]) -> list[Any]:
        part, numbers = operands[0], dict(zip(added, [_reshaped(n, ()) for n in operands[1:]], strict=True))
        starts = []
        for size, along in zip(own, axes, strict=True):
            start = ir_constant(np.int32(0))
            for name in along:
                if name in numbers:
                    start = hlo.add(hlo.multiply(start, ir_constant(np.int32(mesh.shape[name]))), numbers[name])
            starts.append(hlo.multiply(start, ir_constant(np.int32(size))))
        starts += [ir_constant(np.int32(0))] * len(kept)
        zeros = _zeros_like(_Typed(ranked([*before.shape, *sizes], element)))
        whole = hlo.dynamic_update_slice(zeros, part, starts)
        shape = [*before.shape, *(1 if name in added else mesh.shape[name] for name in new)]
        order = [*range(held), *(held + new.index(name) for name in kept)]
        return [hlo.broadcast_in_dim(ranked(shape, element), whole, mlir.ir.DenseI64ArrayAttr.get(order))]

    dims = [tuple(along) for along in axes]
    inside = _spec_attribute(module, PartitionSpec(*dims, *kept), held + len(kept))
    rest = [tuple([n for n in along if n not in added]) for along in axes]
    outside = _spec_attribute(module, PartitionSpec(*rest, *new), held + len(new))
    numbers = [ir_constant(np.arange(mesh.shape[name], dtype=np.int32)) for name in added]
    (out,) = _region(
        module,
        added,
        [x, *numbers],
        [inside, *(_spec_attribute(module, PartitionSpec(name), 1) for name in added)],
        [ranked([*own, *sizes], element), *[ranked([1], i32)] * len(added)],
        [aval_to_ir_type(after)],
        [outside],
        run,
    )
    return out


def _summed(x: Any, dims: Sequence[int]) -> Any:
    ir, hlo = mlir.ir, mlir.hlo
    element = x.type.element_type
    scalar = ir.RankedTensorType.get([], element)
    shape = [size for i, size in enumerate(x.type.shape) if i not in dims]
    zero = _zeros_like(_Typed(scalar))
    reduce = hlo.ReduceOp([ir.RankedTensorType.get(shape, element)], [x], [zero], ir.DenseI64ArrayAttr.get(list(dims)))
    block = reduce.regions[0].blocks.append(scalar, scalar)
    with ir.InsertionPoint(block):
        hlo.return_([hlo.add(*block.arguments)])
    return reduce.results[0]


class _Typed:
    """A placeholder for a value whose type alone is used."""

    def __init__(self, kind: Any) -> None:
        self.type = kind


def _spread(module: Any, x: Any, before: Any, after: Any, kept: Sequence[Any], added: Sequence[Any]) -> Any:
    """A value with axes for its summands; along each new axis a part is at the index of the device that has it."""
    ir, hlo = mlir.ir, mlir.hlo
    mesh = _explicit(after).mesh
    rank, new = len(before.shape), stack_axes(after)
    shape = [*before.shape, *(mesh.shape[name] for name in new)]
    where = [*range(rank), *(rank + new.index(name) for name in kept)]
    kind = ir.RankedTensorType.get(shape, x.type.element_type)
    counts = ir.RankedTensorType.get(shape, ir.IntegerType.get_signless(32))
    out = hlo.broadcast_in_dim(kind, x, ir.DenseI64ArrayAttr.get(where))
    for name in added:
        place = hlo.iota(counts, rank + new.index(name))
        dim = next((i for i, along in enumerate(_axes(before)) if name in along), None)
        if dim is None:
            expected = _full(counts, 0)
        else:
            finer = mesh.size_along(_axes(before)[dim][: _axes(before)[dim].index(name) + 1])
            block = hlo.divide(hlo.iota(counts, dim), _full(counts, before.shape[dim] // finer))
            expected = hlo.remainder(block, _full(counts, mesh.shape[name]))
        out = hlo.select(_compare(place, expected), out, _zeros_like(out))
    return out


def _full(kind: Any, value: int) -> Any:
    ir = mlir.ir
    return mlir.hlo.constant(ir.DenseElementsAttr.get_splat(kind, ir.IntegerAttr.get(kind.element_type, value)))


def enter_module(module: Any, x: Any, aval: Any, sharding: Any) -> Any:
    """An unreduced argument of a module, in the form that it has inside; each device has its summand."""
    return _converted_at_boundary(module, x, aval, sharding, True)


def leave_module(module: Any, x: Any, aval: Any, sharding: Any) -> Any:
    """An unreduced result of a module, in the form that it has outside; each device has its summand."""
    return _converted_at_boundary(module, x, aval, sharding, False)


def _converted_at_boundary(module: Any, x: Any, aval: Any, sharding: Any, inwards: bool) -> Any:
    """A value at the entry or exit of a module, converted by a per-device program."""
    names = stack_axes(aval)
    explicit = _explicit(aval)
    mesh = explicit.mesh
    outer_type = aval_to_ir_type(ShapedArray(aval.shape, aval.dtype))
    inner_type = aval_to_ir_type(aval)
    if spmd_of(module).partitions == 1:
        return _reshaped(x, (inner_type if inwards else outer_type).shape)
    spec = explicit.spec if sharding is None else sharding.spec
    axes = tuple([spec.along(i) for i in range(len(aval.shape))])
    outside = sharding_attribute(module, spmd_of(module).mesh, spec, len(axes))
    inside = sharding_attribute(module, spmd_of(module).mesh, PartitionSpec(*axes, *names), len(axes) + len(names))
    own = _divided(aval.shape, axes, mesh, mesh.axis_names)
    shapes = own, [*own, *(1 for _ in names)]
    types = [mlir.ir.RankedTensorType.get(shape, outer_type.element_type) for shape in shapes]
    source, target = (outside, inside) if inwards else (inside, outside)
    (out,) = _region(
        module,
        mesh.axis_names,
        [x],
        [source],
        [types[0] if inwards else types[1]],
        [inner_type if inwards else outer_type],
        [target],
        lambda xs: [_reshaped(xs[0], shapes[1] if inwards else shapes[0])],
    )
    return out
