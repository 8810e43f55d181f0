"""The rules of scatters: the common ones, and those for each way to combine the operand and updates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from primax.extend import core, dtypes
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.interpreters.ad import linear_together
from primax.extend.provisional.arguments import index_dtype
from primax.extend.provisional.elementwise import ANY, NUMERIC, SUMMABLE, Accepts
from primax.extend.provisional.lowering import spmd_of
from primax.extend.rule_types import Rules, Table
from primax.plugins.arithmetic import add, add_p, clamp_p, div, max_p, min_p, mul, mul_p, neg, sub_p
from primax.plugins.comparison import eq
from primax.plugins.indexing.dimensions import (
    GatherScatterMode,
    as_gather,
    check_numbers,
    mapped_numbers,
    scatter_axes,
    window_axes,
    window_sizes,
)
from primax.plugins.indexing.positions import bounds, in_words
from primax.plugins.indexing.primitives import (
    gather_p,
    scatter_add_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
    scatter_sub_p,
)
from primax.plugins.indexing.sequence import one_by_one
from primax.plugins.structural import (
    broadcast_in_dim_p,
    convert_element_type_p,
    iota_p,
    reshape_p,
    select_n_p,
    zero_of,
    zeros_of,
)


def read_back(
    operand: Any, indices: Any, updates_shape: Any, dimension_numbers: Any, mode: Any, **params: Any
) -> Array:
    """The elements of an operand that a scatter overwrites, and zeros for windows that it does not write."""
    if mode is GatherScatterMode.ONE_HOT:
        mode = GatherScatterMode.FILL_OR_DROP
    aval = get_aval(operand)
    if 0 in aval.shape:  # there are no elements, and a gather cannot read windows of them
        return zeros_of(ShapedArray(updates_shape, aval.dtype))
    return gather_p.bind(
        operand,
        indices,
        dimension_numbers=as_gather(dimension_numbers),
        slice_sizes=window_sizes(dimension_numbers, aval.shape, updates_shape),
        mode=mode,
        fill_value=0,
        **params,
    )


def is_unique(indices: Any, dimension_numbers: Any, unique_indices: bool) -> bool:
    """Whether no two windows overlap; index vectors of different batches never collide."""
    if unique_indices:
        return True
    shape = get_aval(indices).shape
    return bool(
        prod([size for d, size in enumerate(shape[:-1]) if d not in dimension_numbers.scatter_indices_batching_dims])
        <= 1
    )


def _abstract_eval(primitive: core.Primitive, accepts: Accepts) -> Callable[..., ShapedArray]:
    name = primitive.name

    def abstract_eval(
        operand: ShapedArray, indices: ShapedArray, updates: ShapedArray, *, dimension_numbers: Any, **params: Any
    ) -> ShapedArray:
        if operand.dtype != updates.dtype:
            raise TypeError(
                f"{name}: updates must have the dtype of operand, got {updates.str_short()} for {operand.str_short()}"
            )
        if operand.dtype not in accepts and not (primitive is scatter_p and dtypes.is_extended(operand.dtype)):
            hint = accepts.instead(operand.dtype)
            raise TypeError(f"{name}: operand must be {accepts.name}, got {operand.str_short()}{hint}")
        windows, vectors = len(dimension_numbers.update_window_dims), len(indices.shape) - 1
        rank = windows + vectors
        if len(updates.shape) != rank:
            raise TypeError(
                f"{name}: updates must have {rank} axes, {windows} of windows and {vectors} of index vectors, "
                f"got {updates.str_short()}"
            )
        check_numbers(name, dimension_numbers, operand, indices, rank, f"updates {updates.str_short()}")
        for place, size in zip(scatter_axes(dimension_numbers, rank), indices.shape, strict=False):
            if updates.shape[place] != size:
                raise TypeError(
                    f"{name}: updates must have the lengths of indices along the axes of index vectors, got "
                    f"{updates.shape[place]} for axis {place} of {updates.str_short()} and {size} in "
                    f"{indices.str_short()}"
                )
        for place, d in zip(
            dimension_numbers.update_window_dims, window_axes(dimension_numbers, len(operand.shape)), strict=True
        ):
            if updates.shape[place] > operand.shape[d]:
                raise TypeError(
                    f"{name}: windows of updates must not be longer than operand, got {updates.shape[place]} for axis "
                    f"{place} of {updates.str_short()} and {operand.shape[d]} for axis {d} of {operand.str_short()}"
                )
        return ShapedArray(operand.shape, operand.dtype, operand.weak_type)

    abstract_eval.__name__ = f"abstract_eval({name})"
    return abstract_eval


def _linear_jvp(primitive: core.Primitive) -> Callable[..., Any]:
    def jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
        operand, indices, updates = primals
        t, _, t_updates = tangents
        out = primitive.bind(operand, indices, updates, **params)
        if type(t_updates) is ad.Zero:
            return out, ad.Zero.from_primal_value(out) if type(t) is ad.Zero else t
        return out, primitive.bind(ad.instantiate_zeros(t), indices, t_updates, **params)

    jvp.__name__ = f"jvp({primitive})"
    return linear_together(jvp, 0, 2)


def _zeros(operand: Any, updates: Any) -> list[Any]:
    """The cotangents of a scatter whose result has cotangent zero."""
    return [ad.Zero(x.aval) if type(x) is ad.UndefinedPrimal else None for x in (operand, None, updates)]


def _linear_transpose(negated: bool) -> Callable[..., Any]:
    def transpose(ct: Any, operand: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
        if type(ct) is ad.Zero:
            return _zeros(operand, updates)
        bar = None
        if type(updates) is ad.UndefinedPrimal:
            bar = read_back(ct, indices, updates.aval.shape, **params)
            bar = neg(bar) if negated else bar
        return [ct if type(operand) is ad.UndefinedPrimal else None, None, bar]

    return transpose


def _set_jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    operand, indices, updates = primals
    t, _, t_updates = tangents
    if type(t) is ad.Zero and type(t_updates) is ad.Zero:
        out = scatter_p.bind(operand, indices, updates, **params)
        return out, ad.Zero.from_primal_value(out)
    t, t_updates = ad.instantiate_zeros(t), ad.instantiate_zeros(t_updates)
    if is_unique(indices, params["dimension_numbers"], params["unique_indices"]):
        params["unique_indices"] = True
        out = scatter_p.bind(operand, indices, updates, **params)
        return out, scatter_p.bind(t, indices, t_updates, **params)
    kept, written = _remaining(get_aval(operand).shape, indices, get_aval(updates).shape, params)

    def put(x: Any, y: Any) -> Array:
        zero = zero_of(get_aval(x).dtype)
        return scatter_add_p.bind(_where(kept, x, zero), indices, _where(written, y, zero), **params)

    return put(operand, updates), put(t, t_updates)


def _where(condition: Any, x: Any, other: Any) -> Array:
    other = broadcast_in_dim_p.bind(other, shape=get_aval(x).shape, broadcast_dimensions=())
    return select_n_p.bind(condition, other, x)


def _remaining(shape: Any, indices: Any, updates_shape: Any, params: Any) -> tuple[Any, Any]:
    """The elements of the operand, and of the updates, that remain after windows have been set in some order.

    The windows are numbered, and the numbers are scattered.
    """
    vectors = get_aval(indices).shape[:-1]
    count = prod(vectors)
    numbers = iota_p.bind(dtype=index_dtype(count + 1), shape=(count,), dimension=0)
    one = get_aval(numbers).dtype.type(1)
    numbers = reshape_p.bind(add(numbers, one), new_sizes=vectors, dimensions=None)
    along = tuple(scatter_axes(params["dimension_numbers"], len(updates_shape)))
    numbers = broadcast_in_dim_p.bind(numbers, shape=updates_shape, broadcast_dimensions=along)
    nobody = zeros_of(ShapedArray(shape, get_aval(numbers).dtype))
    last = scatter_p.bind(nobody, indices, numbers, **params)
    kept = eq(last, zero_of(get_aval(numbers).dtype))
    return kept, eq(read_back(last, indices, updates_shape, **params), numbers)


def _set_transpose(ct: Any, operand: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
    if type(ct) is ad.Zero:
        return _zeros(operand, updates)
    aval = updates.aval if type(updates) is ad.UndefinedPrimal else get_aval(updates)
    bar = bar_updates = None
    written: Any = None
    if is_unique(indices, params["dimension_numbers"], params["unique_indices"]):
        if type(operand) is ad.UndefinedPrimal:
            bar = scatter_p.bind(ct, indices, zeros_of(ShapedArray(aval.shape, get_aval(ct).dtype)), **params)
    else:
        kept, written = _remaining(get_aval(ct).shape, indices, aval.shape, params)
        if type(operand) is ad.UndefinedPrimal:
            bar = _where(kept, ct, zero_of(get_aval(ct).dtype))
    if type(updates) is ad.UndefinedPrimal:
        bar_updates = read_back(ct, indices, aval.shape, **params)
        if written is not None:
            bar_updates = _where(written, bar_updates, zero_of(get_aval(ct).dtype))
    return [bar, None, bar_updates]


def _mul_jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    operand, indices, updates = primals
    t, _, t_updates = tangents
    numbers = params["dimension_numbers"]
    if type(t_updates) is not ad.Zero and not is_unique(indices, numbers, params["unique_indices"]):
        return _mul_jvp_in_turn(primals, tangents, params)
    out = scatter_mul_p.bind(operand, indices, updates, **params)
    total: Any = ad.Zero.from_primal_value(out)
    if type(t) is not ad.Zero:
        total = scatter_mul_p.bind(t, indices, updates, **params)
    if type(t_updates) is not ad.Zero:
        params["unique_indices"] = True
        before = read_back(operand, indices, get_aval(updates).shape, **params)
        zeros = zeros_of(get_aval(t_updates).update(shape=get_aval(operand).shape, weak_type=False))
        term = scatter_add_p.bind(zeros, indices, mul(before, t_updates), **params)
        total = ad.add_tangents(total, term)
    return out, total


def _mul_jvp_in_turn(primals: Any, tangents: Any, params: Any) -> tuple[Any, Any]:
    """Where several windows overlap, each is multiplied by the result of those before it."""
    operand, indices, updates = primals
    t, _, t_updates = tangents
    numbers = params.pop("dimension_numbers")
    params["unique_indices"] = True

    def step(x: Any, rows: Any, factors: Any, single: Any) -> Array:
        return scatter_mul_p.bind(x, rows, factors, dimension_numbers=single, **params)

    def run(x: Any, factors: Any) -> list[Any]:
        return [one_by_one(step, x, indices, factors, numbers)]

    (out,), (tangent,) = ad.jvp_flat(run, [operand, updates], [t, t_updates])
    return out, tangent


def _mul_transpose(ct: Any, operand: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
    if type(ct) is ad.Zero:
        return _zeros(operand, updates)
    if type(operand) is not ad.UndefinedPrimal or type(updates) is ad.UndefinedPrimal:
        raise TypeError("scatter-mul is linear in operand alone")
    return [scatter_mul_p.bind(ct, indices, updates, **params), None, None]


def _extremum_jvp(primitive: core.Primitive) -> Callable[..., Any]:
    """Elements that are equal to the extremum have equal shares of its derivative."""

    def jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
        operand, indices, updates = primals
        t, _, t_updates = tangents
        out = primitive.bind(operand, indices, updates, **params)
        if type(t) is ad.Zero and type(t_updates) is ad.Zero:
            return out, ad.Zero.from_primal_value(out)
        shape = get_aval(updates).shape
        hits = eq(operand, out), eq(updates, read_back(out, indices, shape, **params))
        t, t_updates = ad.instantiate_zeros(t), ad.instantiate_zeros(t_updates)
        dtype = get_aval(t).dtype
        counts = [convert_element_type_p.bind(hit, new_dtype=dtype, weak_type=False) for hit in hits]
        parts = [_where(hit, x, zero_of(dtype)) for hit, x in zip(hits, (t, t_updates), strict=True)]
        total = scatter_add_p.bind(parts[0], indices, parts[1], **params)
        return out, div(total, scatter_add_p.bind(counts[0], indices, counts[1], **params))

    jvp.__name__ = f"jvp({primitive})"
    return jvp


def _batch(primitive: core.Primitive) -> Callable[..., Any]:
    def batch(args: Any, dims: Any, *, dimension_numbers: Any, **params: Any) -> tuple[Any, Any]:
        operand, indices, updates = args
        dim, indices_dim, updates_dim = dims
        size = next(get_aval(x).shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
        if dim is None:
            operand, dim = batching.broadcast(operand, size, 0), 0
        indices_rank = len(get_aval(indices).shape)
        if indices_dim == indices_rank - 1:
            indices, indices_dim = batching.moveaxis(indices, indices_dim, 0), 0
        rank = len(get_aval(operand).shape) - 1
        numbers, place = mapped_numbers(
            dimension_numbers, rank, indices_rank - (indices_dim is not None), dim, indices_dim
        )
        updates = batching.to_dim(updates, size, updates_dim, place)
        return primitive.bind(operand, indices, updates, dimension_numbers=numbers, **params), dim

    batch.__name__ = f"batch({primitive})"
    return batch


def clipped(indices: Any, shape: Any, sizes: Any, numbers: Any) -> Array:
    """Index vectors moved such that all windows are inside."""
    aval = get_aval(indices)
    limits = bounds(shape, sizes, numbers, aval.dtype)
    if not limits.size:
        return indices
    last = broadcast_in_dim_p.bind(limits, shape=aval.shape, broadcast_dimensions=(len(aval.shape) - 1,))
    return clamp_p.bind(zero_of(aval.dtype), indices, last)


def _clipping(primitive: core.Primitive) -> Callable[..., Any]:
    def clip(operand: Any, indices: Any, updates: Any, *, dimension_numbers: Any, **params: Any) -> Array:
        shape = get_aval(operand).shape
        sizes = window_sizes(dimension_numbers, shape, get_aval(updates).shape)
        indices = clipped(indices, shape, sizes, dimension_numbers)
        params["mode"] = GatherScatterMode.PROMISE_IN_BOUNDS
        return primitive.bind(operand, indices, updates, dimension_numbers=dimension_numbers, **params)

    return mlir.lower_fun(clip, multiple_results=False)


def scatter_region(
    ctx: mlir.LoweringRuleContext,
    values: Any,
    numbers: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
    program: core.ClosedJaxpr | None,
) -> Sequence[mlir.ir.Value]:
    """A `stablehlo.scatter` whose region is a program on two scalars, or returns the second one."""
    hlo, ir = mlir.hlo, mlir.ir
    operand, indices, updates = values
    window, inserted, index_map, batch, indices_batch = map(list, numbers)
    last = len(ctx.avals_in[1].shape) - 1
    if spmd_of(ctx.module_context).partitions > 1:
        # XLA turns the scatter of one window into a slice that is updated, and merges this with the slice that is a
        # device's part of a replicated operand; then a device without the window writes another element.
        (operand,) = hlo.OptimizationBarrierOp([operand]).results
    operation = hlo.ScatterOp(
        [operand.type],
        [operand],
        in_words(ctx.avals_in[1], indices),
        [updates],
        hlo.ScatterDimensionNumbers.get(window, inserted, batch, indices_batch, index_map, last),
        indices_are_sorted=ir.BoolAttr.get(indices_are_sorted),
        unique_indices=ir.BoolAttr.get(unique_indices),
    )
    scalar = mlir.aval_to_ir_type(ctx.avals_in[0].update(shape=()))
    block = operation.update_computation.blocks.append(scalar, scalar)
    with ir.InsertionPoint(block):
        arguments = list(block.arguments)
        hlo.return_(arguments[1:] if program is None else mlir.inline_jaxpr(ctx, program, arguments))
    return operation.results


def _lowering(primitive: core.Primitive, combine: core.Primitive | None) -> Callable[..., Any]:
    clip = _clipping(primitive)

    def lower(
        ctx: mlir.LoweringRuleContext,
        *values: Any,
        dimension_numbers: Any,
        indices_are_sorted: bool,
        mode: GatherScatterMode,
        unique_indices: bool,
    ) -> Sequence[mlir.ir.Value] | list[Any]:
        if mode is GatherScatterMode.CLIP:
            params = {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices}
            return clip(ctx, *values, dimension_numbers=dimension_numbers, **params)
        program = None
        if combine is not None:
            scalar = ShapedArray((), ctx.avals_in[0].dtype)
            program = core.trace_to_jaxpr(lambda x, y: [combine.bind(x, y)], [scalar, scalar], primitive.name)
        return scatter_region(ctx, values, dimension_numbers, indices_are_sorted, unique_indices, program)

    lower.__name__ = f"lowering({primitive})"
    return lower


def _rules(
    primitive: core.Primitive, accepts: Accepts, combine: core.Primitive | None, jvp: Any, transpose: Any = None
) -> Rules:
    rules: Rules = {
        "abstract_eval": _abstract_eval(primitive, accepts),
        "jvp": jvp,
        "batch": _batch(primitive),
        "lowering": _lowering(primitive, combine),
    }
    return rules if transpose is None else {**rules, "transpose": transpose}


RULES: Table = {
    scatter_p: _rules(scatter_p, ANY, None, _set_jvp, _set_transpose),
    scatter_add_p: _rules(scatter_add_p, SUMMABLE, add_p, _linear_jvp(scatter_add_p), _linear_transpose(False)),
    scatter_sub_p: _rules(scatter_sub_p, SUMMABLE, sub_p, _linear_jvp(scatter_sub_p), _linear_transpose(True)),
    scatter_mul_p: _rules(scatter_mul_p, NUMERIC, mul_p, _mul_jvp, _mul_transpose),
    scatter_min_p: _rules(scatter_min_p, ANY, min_p, _extremum_jvp(scatter_min_p)),
    scatter_max_p: _rules(scatter_max_p, ANY, max_p, _extremum_jvp(scatter_max_p)),
}
