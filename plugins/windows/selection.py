"""Elements that windows select: the corresponding elements of other arrays, and values added at their positions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.provisional.arguments import among
from primax.extend.provisional.computations import Interpreted, elementwise, require_pure
from primax.extend.provisional.lowering import cached_ir_type
from primax.extend.rule_types import Table
from primax.plugins.arithmetic import add_any, max_p, min_p
from primax.plugins.comparison import eq, ge_p, le_p
from primax.plugins.reductions import ADD, MAX, MIN
from primax.plugins.structural import broadcast_in_dim_p, select_n_p, zero_of, zeros_of
from primax.plugins.windows.geometry import (
    PLAIN,
    batched,
    check_window,
    inside,
    padded,
    placed,
    places,
    unpadded,
    views,
)
from primax.plugins.windows.region import empty, window_region

# For each window of operand, the element of tangents at the position of the selected one.
select_and_gather_add_p = core.Primitive("select_and_gather_add")
# The transpose: each element of source is added at the position that its window of operand has selected.
select_and_scatter_add_p = core.Primitive("select_and_scatter_add")
# The same with any two functions: one selects, and one combines.
select_and_scatter_p = core.Primitive("select_and_scatter")

_EXTREMA = {ge_p: MAX, le_p: MIN}
_JOIN = {ge_p: max_p, le_p: min_p}


def _prefers(select_prim: Any, x: Any, y: Any) -> Array:
    """Whether `x` is selected from two elements, as the first of them."""
    if dtypes.is_complex(get_aval(x).dtype):
        return eq(_JOIN[select_prim].bind(x, y), x)
    return select_prim.bind(x, y)


def _selected(prefers: Callable[..., Any], operand: Any, params: Any) -> tuple[Any, list[Any]]:
    """For each window the place of the selected element, and all places, numbered in order.

    Margins and gaps are selected only by windows that are entirely in them.
    """
    aval = get_aval(operand)
    name = "select"
    out_shape = check_window(name, aval, params)
    seen, *masks = inside(aval.shape, out_shape, params)
    best, *others = views(padded(operand, zero_of(aval.dtype), **params), out_shape, params)
    place = broadcast_in_dim_p.bind(np.int32(0), shape=out_shape, broadcast_dimensions=())
    for k, (other, mask) in enumerate(zip(others, masks, strict=True), 1):
        stays = prefers(best, other)
        if not mask.all():
            stays = select_n_p.bind(mask, np.ones(out_shape, np.bool_), stays)
        if not seen.all():
            stays = select_n_p.bind(seen, ~mask, stays)
        best = select_n_p.bind(stays, other, best)
        index = broadcast_in_dim_p.bind(np.int32(k), shape=out_shape, broadcast_dimensions=())
        place = select_n_p.bind(stays, index, place)
        seen = seen | mask
    return place, list(places(**params))


def _at(place: Any, k: int) -> Array:
    index = broadcast_in_dim_p.bind(np.int32(k), shape=get_aval(place).shape, broadcast_dimensions=())
    return eq(place, index)


def _scatter_add(source: Any, operand: Any, *, select_prim: Any, **params: Any) -> Array:
    """`select_and_scatter_add`, also for windows with dilations, place by place."""
    shape = get_aval(operand).shape
    zero = zero_of(get_aval(source).dtype)
    zeros = zeros_of(get_aval(source))
    if 0 in shape or 0 in zeros.shape:
        return zeros_of(get_aval(operand).update(dtype=zero.dtype, weak_type=False))
    around = get_aval(padded(operand, zero_of(get_aval(operand).dtype), **params)).shape
    at, all_places = _selected(lambda x, y: _prefers(select_prim, x, y), operand, params)
    total: Any = None
    for k, place in enumerate(all_places):
        term = placed(select_n_p.bind(_at(at, k), zeros, source), zero, place, around, params)
        total = term if total is None else add_any(total, term)
    return unpadded(total, zero, shape, **params)


def _gather_add(tangents: Any, operand: Any, *, select_prim: Any, **params: Any) -> Array:
    """`select_and_gather_add`, place by place."""
    at, _ = _selected(lambda x, y: _prefers(select_prim, x, y), operand, params)
    zero = zero_of(get_aval(tangents).dtype)
    out, *others = views(padded(tangents, zero, **params), get_aval(at).shape, params)
    for k, other in enumerate(others, 1):
        out = select_n_p.bind(_at(at, k), out, other)
    return out


def _gather_add_abstract_eval(
    tangents: ShapedArray, operand: ShapedArray, *, select_prim: Any, **params: Any
) -> ShapedArray:
    name = "select_and_gather_add"
    _check_select(name, select_prim)
    if tangents.shape != operand.shape:
        raise TypeError(
            f"{name}: tangents must have the shape of operand, got {tangents.str_short()} for {operand.str_short()}"
        )
    return ShapedArray(check_window(name, operand, params), tangents.dtype, tangents.weak_type)


def _check_select(name: str, select_prim: Any) -> None:
    if not among(select_prim, _EXTREMA):
        raise ValueError(f"{name}: select_prim must be ge or le, got {select_prim}")


def _gather_add_transpose(ct: Any, tangents: Any, operand: Any, *, select_prim: Any, **params: Any) -> tuple[Any, Any]:
    if type(ct) is ad.Zero:
        return ad.Zero(tangents.aval), None
    if all(step == 1 for name in ("base_dilation", "window_dilation") for step in params[name]):
        plain = {name: params[name] for name in PLAIN}
        return select_and_scatter_add_p.bind(ct, operand, select_prim=select_prim, **plain), None
    return _scatter_add(ct, operand, select_prim=select_prim, **params), None


def _scatter_add_transpose(ct: Any, source: Any, operand: Any, *, select_prim: Any, **params: Any) -> tuple[Any, Any]:
    if type(ct) is ad.Zero:
        return ad.Zero(source.aval), None
    ones = (1,) * get_aval(operand).ndim
    params = {**params, "base_dilation": ones, "window_dilation": ones}
    return select_and_gather_add_p.bind(ct, operand, select_prim=select_prim, **params), None


def _linear_in_first(primitive: core.Primitive) -> Callable[..., Any]:
    return ad.standard_jvp(primitive, lambda t, x, operand, **params: primitive.bind(t, operand, **params), None)


def _batch(primitive: core.Primitive) -> Callable[..., Any]:
    def batch(axis: batching.AxisData, args: Any, dims: Any, *, select_prim: Any, **params: Any) -> tuple[Any, Any]:
        dim = next((d for d in dims if d is not None), None)
        if dim is None:
            return primitive.bind(*args, select_prim=select_prim, **params), None
        args = [batching.to_dim(x, axis.size, d, dim) for x, d in zip(args, dims, strict=True)]
        return primitive.bind(*args, select_prim=select_prim, **batched(params, dim)), dim

    batch.__name__ = f"batch({primitive})"
    return batch


def _pair_program(select_prim: Any, key: Any, value: Any) -> core.ClosedJaxpr:
    """The selection of one of two elements, each paired with another value."""

    def select(x: Any, t: Any, y: Any, s: Any) -> list[Any]:
        first = _prefers(select_prim, x, y)
        return [select_n_p.bind(first, y, x), select_n_p.bind(first, s, t)]

    scalars = [ShapedArray((), key), ShapedArray((), value)]
    return core.trace_to_jaxpr(select, scalars * 2, "select_and_gather_add")


def _gather_add_lowering(
    ctx: mlir.LoweringRuleContext, tangents: Any, operand: Any, *, select_prim: Any, **params: Any
) -> list[Any] | Array:
    out, key = ctx.avals_out[0], ctx.avals_in[1].dtype
    if empty(ctx):
        return [mlir.ir_constant(np.zeros(out.shape, out.dtype))]
    inits = [_EXTREMA[select_prim].ir_start(key), ADD.ir_start(out.dtype)]
    program = _pair_program(select_prim, key, out.dtype)
    avals = [out.update(dtype=key), out]
    return window_region(ctx, avals, [operand, tangents], inits, program, params, ctx.avals_in[0].shape)[1:]


def _scatter_add_abstract_eval(
    source: ShapedArray, operand: ShapedArray, *, select_prim: Any, **params: Any
) -> ShapedArray:
    name = "select_and_scatter_add"
    _check_select(name, select_prim)
    _check_source(name, source, operand, params)
    return ShapedArray(operand.shape, source.dtype, source.weak_type)


def _check_source(name: str, source: ShapedArray, operand: ShapedArray, params: Any) -> None:
    if source.dtype != operand.dtype:
        raise TypeError(
            f"{name}: source must have the dtype of operand, got {source.str_short()} for {operand.str_short()}"
        )
    shape = check_window(name, operand, params)
    if source.shape != shape:
        raise TypeError(
            f"{name}: source must have one element per window, {shape}, "
            f"got {source.str_short()} for {operand.str_short()}"
        )


def _scatter_add_padded(source: Any, operand: Any, *, select_prim: Any, padding: Any, **params: Any) -> Array:
    """`select_and_scatter_add` of a padded operand, since XLA leaves the result undefined for windows in margins."""
    aval = get_aval(operand)
    around = padded(operand, _EXTREMA[select_prim].start(aval.dtype), padding)
    plain = ((0, 0),) * aval.ndim
    out = select_and_scatter_add_p.bind(source, around, select_prim=select_prim, padding=plain, **params)
    return unpadded(out, zero_of(get_aval(source).dtype), aval.shape, padding)


_scatter_add_padded_lowering = mlir.lower_fun(_scatter_add_padded, multiple_results=False)


def _scatter_add_lowering(
    ctx: mlir.LoweringRuleContext, source: Any, operand: Any, *, select_prim: Any, padding: Any, **params: Any
) -> list[Any] | Array:
    out, key = ctx.avals_out[0], ctx.avals_in[1].dtype
    if empty(ctx):
        return [mlir.broadcast_scalar(ADD.ir_start(out.dtype), out)]
    if any(map(any, padding)):
        return _scatter_add_padded_lowering(ctx, source, operand, select_prim=select_prim, padding=padding, **params)
    scalars = [ShapedArray((), key)] * 2
    select = core.trace_to_jaxpr(lambda x, y: [_prefers(select_prim, x, y)], scalars, "select")
    zero = ADD.ir_start(out.dtype)
    return _scatter_operation(ctx, operand, source, zero, select, ADD.program(key), {"padding": padding, **params})


# CPUs process windows one after the other, which takes several times as long as processing the places of all windows.
_MANY_PLACES = 64


def _by_place(function: Callable[..., Any], otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """A lowering for CPUs by a function that goes place by place, unless there are many places."""
    few = mlir.lower_fun(function, multiple_results=False)

    def lowering(ctx: mlir.LoweringRuleContext, x: Any, operand: Any, **params: Any) -> Sequence[mlir.ir.Value]:
        many = math.prod(params["window_dimensions"]) > _MANY_PLACES
        return (otherwise if many or empty(ctx) else few)(ctx, x, operand, **params)

    lowering.__name__ = f"by_place({function.__name__})"
    return lowering


def _scatter_operation(
    ctx: mlir.LoweringRuleContext, operand: Any, source: Any, init: Any, select: Any, scatter: Any, params: Any
) -> Any:
    ir, hlo = mlir.ir, mlir.hlo
    operation = hlo.SelectAndScatterOp(
        cached_ir_type(ctx.module_context.shared, ctx.avals_out[0]),
        operand,
        source,
        init,
        window_dimensions=ir.DenseI64ArrayAttr.get(params["window_dimensions"]),
        window_strides=ir.DenseI64ArrayAttr.get(params["window_strides"]),
        padding=ir.DenseIntElementsAttr.get(np.array(params["padding"], np.int64).reshape(-1, 2)),
    )
    for region, program in ((operation.select, select), (operation.scatter, scatter)):
        block = region.blocks.append(init.type, init.type)
        with ir.InsertionPoint(block):
            hlo.return_(mlir.inline_jaxpr(ctx, program, list(block.arguments)))
    return operation.results


def _scatter_abstract_eval(
    operand: ShapedArray,
    source: ShapedArray,
    init_value: ShapedArray,
    *,
    select_jaxpr: Any,
    scatter_jaxpr: Any,
    **params: Any,
) -> ShapedArray:
    name = "select_and_scatter"
    if dtypes.is_extended(operand.dtype):
        hint = dtypes.instead_of_arithmetic(operand.dtype)
        raise TypeError(f"{name}: operand must be an array of numbers or booleans, got {operand.str_short()}{hint}")
    _check_source(name, source, operand, params)
    if init_value.shape or init_value.dtype != operand.dtype:
        raise TypeError(
            f"{name}: init_value must be a scalar of the dtype of operand, got {init_value.str_short()} "
            f"for {operand.str_short()}"
        )
    for program in (select_jaxpr, scatter_jaxpr):
        require_pure(name, program)
    return ShapedArray(operand.shape, operand.dtype)


def _scattered(values: Any, *, select_jaxpr: Any, scatter_jaxpr: Any, **params: Any) -> Array:
    """`select_and_scatter`, place by place of the window, by operations that have all rules."""
    operand, source, init = values
    aval = get_aval(operand)
    zero = zero_of(aval.dtype)
    if 0 in aval.shape or 0 in get_aval(source).shape:
        return broadcast_in_dim_p.bind(init, shape=aval.shape, broadcast_dimensions=())
    select, scatter = elementwise(select_jaxpr), elementwise(scatter_jaxpr)
    around = get_aval(padded(operand, zero, **params)).shape
    at, all_places = _selected(lambda x, y: select([x], [y])[0], operand, params)
    total = broadcast_in_dim_p.bind(init, shape=around, broadcast_dimensions=())
    for k, place in enumerate(all_places):
        is_selected = placed(_at(at, k), np.False_, place, around, params)
        (joined,) = scatter([total], [placed(source, zero, place, around, params)])
        total = select_n_p.bind(is_selected, total, joined)
    return unpadded(total, init, aval.shape, **params)


def _scatter_jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    if all(type(t) is ad.Zero for t in tangents):
        out = select_and_scatter_p.bind(*primals, **params)
        return out, ad.Zero.from_primal_value(out)
    (out,), (tangent,) = ad.jvp_flat(lambda *xs: [_scattered(xs, **params)], primals, tangents)
    return out, tangent


def _scatter_batch(
    axis: batching.AxisData, args: Any, dims: Any, *, select_jaxpr: Any, scatter_jaxpr: Any, **params: Any
) -> tuple[Any, Any]:
    programs = {"select_jaxpr": select_jaxpr, "scatter_jaxpr": scatter_jaxpr}
    operand_dim, source_dim, init_dim = dims
    if init_dim is not None:
        outs, out_dims = batching.batch_flat(lambda *xs: [_scattered(xs, **programs, **params)], axis, args, dims)
        return outs[0], out_dims[0]
    dim = source_dim if operand_dim is None else operand_dim
    if dim is None:
        return select_and_scatter_p.bind(*args, **programs, **params), None
    operand, source = (batching.to_dim(x, axis.size, d, dim) for x, d in zip(args[:2], dims[:2], strict=True))
    return select_and_scatter_p.bind(operand, source, args[2], **programs, **batched(params, dim)), dim


def _scattered_alone(*values: Any, **params: Any) -> Array:
    return _scattered(values, **params)


_scattered_lowering = mlir.lower_fun(_scattered_alone, multiple_results=False)


def _scatter_lowering(
    ctx: mlir.LoweringRuleContext,
    operand: Any,
    source: Any,
    init: Any,
    *,
    select_jaxpr: Any,
    scatter_jaxpr: Any,
    **params: Any,
) -> list[Any] | Array:
    shapes = ctx.avals_in[0].shape, ctx.avals_in[1].shape
    if empty(ctx):
        return [mlir.broadcast_scalar(init, ctx.avals_out[0])]
    if not np.any(inside(*shapes, params), axis=0).all():
        # A window is in the margins, for which XLA's result is undefined.
        return _scattered_lowering(
            ctx, operand, source, init, select_jaxpr=select_jaxpr, scatter_jaxpr=scatter_jaxpr, **params
        )
    return _scatter_operation(ctx, operand, source, init, select_jaxpr, scatter_jaxpr, params)


RULES: Table = {
    select_and_gather_add_p: {
        "abstract_eval": _gather_add_abstract_eval,
        "jvp": _linear_in_first(select_and_gather_add_p),
        "transpose": _gather_add_transpose,
        "axis_batch": _batch(select_and_gather_add_p),
        "lowering": {None: _gather_add_lowering, "cpu": _by_place(_gather_add, _gather_add_lowering)},
    },
    select_and_scatter_add_p: {
        "abstract_eval": _scatter_add_abstract_eval,
        "jvp": _linear_in_first(select_and_scatter_add_p),
        "transpose": _scatter_add_transpose,
        "axis_batch": _batch(select_and_scatter_add_p),
        "lowering": {None: _scatter_add_lowering, "cpu": _by_place(_scatter_add, _scatter_add_lowering)},
    },
    select_and_scatter_p: {
        "abstract_eval": _scatter_abstract_eval,
        "jvp": _scatter_jvp,
        "axis_batch": _scatter_batch,
        "lowering": _scatter_lowering,
        "interpret": Interpreted(lambda values, **params: [_scattered(values, **params)]),
    },
}
