"""Reductions of the windows that slide over an array."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.provisional.computations import Interpreted, elementwise, read_operands, require_pure, stage
from primax.extend.rule_types import Rules, Table
from primax.plugins.arithmetic import add, max, min
from primax.plugins.bitwise import bitwise_and, bitwise_or
from primax.plugins.comparison import ge_p, le_p
from primax.plugins.reductions import ADD, MAX, MIN, Combine, Monoid, fold_along, reduce_max, reduce_min
from primax.plugins.structural import broadcast_in_dim_p, concatenate_p, reshape, select_n_p, zero_of
from primax.plugins.windows.geometry import (
    DILATED,
    Params,
    batched,
    check_window,
    inside,
    padded,
    read_window,
    shape_of_windows,
    views,
)
from primax.plugins.windows.region import empty, window_region
from primax.plugins.windows.selection import select_and_gather_add_p

reduce_window_max_p = core.Primitive("reduce_window_max")
reduce_window_min_p = core.Primitive("reduce_window_min")
reduce_window_p = core.Primitive("reduce_window", multiple_results=True)
reduce_window_sum_p = core.Primitive("reduce_window_sum")

_MONOIDS: dict[core.Primitive, Monoid] = {
    reduce_window_sum_p: ADD,
    reduce_window_max_p: MAX,
    reduce_window_min_p: MIN,
}
_BY_FUNCTION: dict[Any, core.Primitive] = {add: reduce_window_sum_p, max: reduce_window_max_p, min: reduce_window_min_p}
_EXTREMA = {reduce_window_max_p: reduce_max, reduce_window_min_p: reduce_min}
_BY_PRIMITIVE = {monoid.combine: primitive for primitive, monoid in _MONOIDS.items()}


def reduce_window(
    operand: object,
    init_value: object,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Reduces each sliding window of arrays by a function of two elements.

    Args:
      operand: an array, or a tree of arrays of the same shape, reduced together.
      init_value: for each array a scalar, with which every window starts; it is the result for windows in the margins.
        A known scalar may have another dtype if that of the array holds its value; an infinity stands for the limit of
        integers in `lax.max` and `lax.min`.
      computation: `(x, y) -> z` on scalars, or on trees of scalars like `operand`. It must be associative. Sums, maxima
        and minima that start with their identity are recognized, and compiled as such.
      window_dimensions: for each axis the length of a window.
      window_strides: for each axis the distance between windows; 1 by default.
      padding: for each axis a pair of the numbers of elements before and after, which crop if negative; or the name
        of a kind of padding, "VALID", "SAME" or "SAME_LOWER", see `padtype_to_pads`.
      base_dilation: for each axis the distance of elements after dilation; 1 by default.
      window_dilation: for each axis the distance of the elements of a window; 1 by default.

    Returns:
      A tree like `operand` of arrays, with one element per window.

    Raises:
      TypeError: the trees, shapes or dtypes do not match; the length of an argument is not the rank, or a size, stride
        or dilation is not positive; `computation` closes over traced values.
      ValueError: there is no such kind of padding.

    >>> import primax as px
    >>> px.lax.reduce_window(px.numpy.array([1., 2., 4., 8.]), 0., px.lax.add, (2,), (1,), "VALID")
    Array([ 3.,  6., 12.], dtype=float32)
    """
    leaves, inits, tree = read_operands("reduce_window", operand, init_value, computation is max or computation is min)
    aval = get_aval(leaves[0])
    params = read_window(
        "reduce_window", aval.shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    )
    known = _BY_FUNCTION.get(computation) if len(leaves) == 1 and isinstance(computation, Hashable) else None
    jaxpr = None
    if known is None:
        jaxpr, tree = stage("reduce_window", computation, leaves, inits, tree)
        known = _only_primitive(jaxpr.jaxpr)
    if known is not None and _is_identity(known, inits[0], aval.dtype):
        return core.tree.tree_unflatten(tree, [known.bind(leaves[0], **params)])
    if jaxpr is None:
        jaxpr, tree = stage("reduce_window", computation, leaves, inits, tree)
    return core.tree.tree_unflatten(tree, reduce_window_p.bind(*leaves, *inits, jaxpr=jaxpr, **params))


def _is_identity(primitive: core.Primitive, init: Any, dtype: Any) -> bool:
    if isinstance(init, core.Tracer) or dtype not in _MONOIDS[primitive].accepts:
        return False
    return bool(np.asarray(init) == _MONOIDS[primitive].start(dtype))


def _only_primitive(jaxpr: Any) -> core.Primitive | None:
    """The primitive, if a program is only one known operation of its two inputs."""
    if len(jaxpr.eqns) != 1:
        return None
    (eqn,) = jaxpr.eqns
    if set(eqn.invars) != set(jaxpr.invars) or eqn.outvars != jaxpr.outvars:
        return None
    return _BY_PRIMITIVE.get(eqn.primitive)


def _abstract_eval(primitive: core.Primitive, monoid: Monoid) -> Callable[..., ShapedArray]:
    name, accepts = primitive.name, monoid.accepts

    def abstract_eval(operand: ShapedArray, **params: Any) -> ShapedArray:
        if operand.dtype not in accepts:
            raise TypeError(f"{name}: operand must be {accepts.name}, got {operand.str_short()}")
        return ShapedArray(check_window(name, operand, params), operand.dtype, operand.weak_type)

    abstract_eval.__name__ = f"abstract_eval({name})"
    return abstract_eval


def _batch(primitive: core.Primitive) -> Callable[..., Any]:
    def batch(args: Any, dims: Any, **params: Any) -> tuple[Any, Any]:
        return primitive.bind(*args, **batched(params, dims[0])), dims[0]

    batch.__name__ = f"batch({primitive})"
    return batch


def _lowering(primitive: core.Primitive, monoid: Monoid, by_axis: bool) -> Callable[..., Any]:
    def lowering(ctx: mlir.LoweringRuleContext, x: Any, **params: Any) -> list[Any]:
        (out,) = ctx.avals_out
        start = monoid.ir_start(out.dtype)
        if empty(ctx):
            return [mlir.broadcast_scalar(start, out)]
        shape = ctx.avals_in[0].shape
        whole = _whole_axes(shape, params) if by_axis and primitive in _EXTREMA else ()
        if whole:  # XLA makes a reduction of it, which has a guard for NaN
            reduction = partial(_EXTREMA[primitive], axes=whole)
            return mlir.lower_fun(lambda x: reshape(reduction(x), out.shape), multiple_results=False)(ctx, x)
        program = monoid.program(out.dtype)
        for part in _parts(params) if by_axis else [params]:
            before, shape = shape, shape_of_windows(shape, **part)
            (x,) = window_region(ctx, [out.update(shape=shape)], [x], [start], program, part, before)
        return [x]

    lowering.__name__ = f"lower({primitive})"
    return lowering


def _whole_axes(shape: Sequence[Any], params: Params) -> tuple[int, ...]:
    """The axes along which the only window is the whole array; none if there are several windows along another one."""
    axes = []
    for d, size in enumerate(shape):
        along = {name: value[d] for name, value in params.items()}
        if along != DILATED:
            if along != {**DILATED, "window_dimensions": size, "window_strides": along["window_strides"]}:
                return ()
            axes.append(d)
    return tuple(axes)


def _parts(params: Params) -> list[Params]:
    """Windows along one axis after the other if they overlap along several, which is less work on CPUs."""
    axes = [d for d, along in enumerate(zip(*params.values(), strict=True)) if along != tuple(DILATED.values())]
    sizes = zip(params["window_dimensions"], params["window_strides"], params["base_dilation"], strict=True)
    if sum(length > stride * base for length, stride, base in sizes) < 2:
        return [params]
    return [
        {
            name: tuple([along if d == axis else DILATED[name] for d, along in enumerate(value)])
            for name, value in params.items()
        }
        for axis in axes
    ]


def _sum_transpose(ct: Any, operand: Any, **params: Any) -> list[Any]:
    """The transpose is a sum over windows: strides become gaps, gaps become strides, and the windows are reversed."""
    padding = []
    for size, count, length, stride, (low, _), base, step in zip(
        operand.aval.shape,
        get_aval(ct).shape,
        params["window_dimensions"],
        params["window_strides"],
        params["padding"],
        params["base_dilation"],
        params["window_dilation"],
        strict=True,
    ):
        reach = (length - 1) * step
        before = reach - low
        room = (size - 1) * base + 1 + reach if size else reach
        padding.append((before, room - before - ((count - 1) * stride + 1 if count else 0)))
    turned = {
        **params,
        "padding": tuple(padding),
        "window_strides": params["base_dilation"],
        "base_dilation": params["window_strides"],
    }
    return [reduce_window_sum_p.bind(ct, **turned)]


def _extremum_jvp(primitive: core.Primitive, select_prim: Any) -> Callable[..., Any]:
    """The tangent of the selected element: the first, if several are equal."""

    def jvp(t: Any, operand: Any, **params: Any) -> Array:
        return select_and_gather_add_p.bind(t, operand, select_prim=select_prim, **params)

    return ad.standard_jvp(primitive, jvp)


def _general_abstract_eval(*avals: ShapedArray, jaxpr: core.ClosedJaxpr, **params: Any) -> list[ShapedArray]:
    operands = avals[: len(avals) // 2]
    shape = check_window("reduce_window", operands[0], params)
    require_pure("reduce_window", jaxpr)
    return [ShapedArray(shape, aval.dtype, out.weak_type) for aval, out in zip(operands, jaxpr.out_avals, strict=True)]


def _folded(values: Any, *, jaxpr: core.ClosedJaxpr, **params: Any) -> list[Any]:
    """The reduction as a tree of elementwise operations on arrays, each with one place of all windows."""
    count = len(values) // 2
    operands, inits = values[:count], values[count:]
    shape = check_window("reduce_window", get_aval(operands[0]), params)
    starts = [broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=()) for x in inits]
    if 0 in shape:
        return starts
    stacks = [_stack(views(padded(x, zero_of(get_aval(x).dtype), **params), shape, params)) for x in operands]
    combine = elementwise(jaxpr)
    masks = inside(get_aval(operands[0]).shape, shape, params)
    if np.all(masks):
        return combine(starts, fold_along(combine, stacks, (0,)))
    # Elements outside are omitted, so the initial value counts once in each window.
    (_, *outs) = fold_along(_where_present(combine), [np.stack(masks), *stacks], (0,))
    present = np.any(masks, axis=0)
    joined = combine(starts, outs)
    return [select_n_p.bind(present, x, y) for x, y in zip(starts, joined, strict=True)]


def _stack(xs: Sequence[Any]) -> Array:
    shape = get_aval(xs[0]).shape
    dims = tuple(range(1, len(shape) + 1))
    parts = [broadcast_in_dim_p.bind(x, shape=(1, *shape), broadcast_dimensions=dims) for x in xs]
    return concatenate_p.bind(*parts, dimension=0)


def _where_present(combine: Combine) -> Combine:
    """The function on lists that begin with masks of the valid elements of the other arrays."""

    def joined(xs: Sequence[Any], ys: Sequence[Any]) -> list[Any]:
        (p, *a), (q, *b) = xs, ys
        both = bitwise_and(p, q)
        alone = [select_n_p.bind(p, y, x) for x, y in zip(a, b, strict=True)]
        outs = [select_n_p.bind(both, x, c) for x, c in zip(alone, combine(a, b), strict=True)]
        return [bitwise_or(p, q), *outs]

    return joined


def _general_jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    if all(type(t) is ad.Zero for t in tangents):
        outs = reduce_window_p.bind(*primals, **params)
        return outs, [ad.Zero.from_primal_value(out) for out in outs]
    return ad.jvp_flat(lambda *xs: _folded(xs, **params), primals, tangents)


def _general_batch(
    axis: batching.AxisData, args: Any, dims: Any, *, jaxpr: core.ClosedJaxpr, **params: Any
) -> tuple[Any, Any]:
    count = len(args) // 2
    if any(dim is not None for dim in dims[count:]):
        return batching.batch_flat(lambda *xs: _folded(xs, jaxpr=jaxpr, **params), axis, args, dims)
    where = next((dim for dim in dims if dim is not None), None)
    if where is None:
        return reduce_window_p.bind(*args, jaxpr=jaxpr, **params), [None] * count
    operands = [batching.to_dim(x, axis.size, dim, where) for x, dim in zip(args[:count], dims, strict=False)]
    outs = reduce_window_p.bind(*operands, *args[count:], jaxpr=jaxpr, **batched(params, where))
    return outs, [where] * count


def _general_lowering(
    ctx: mlir.LoweringRuleContext, *args: Any, jaxpr: core.ClosedJaxpr, **params: Any
) -> list[Any] | Array:
    count = len(args) // 2
    operands, inits = args[:count], args[count:]
    if empty(ctx):
        return [mlir.broadcast_scalar(init, aval) for init, aval in zip(inits, ctx.avals_out, strict=True)]
    if any(dtypes.is_extended(aval.dtype) for aval in ctx.avals_in):
        return mlir.lower_fun(lambda *xs: _folded(xs, jaxpr=jaxpr, **params))(ctx, *args)
    return window_region(ctx, ctx.avals_out, operands, inits, jaxpr, params, ctx.avals_in[0].shape)


def _rules(primitive: core.Primitive, derivatives: Rules) -> Rules:
    monoid = _MONOIDS[primitive]
    return {
        "abstract_eval": _abstract_eval(primitive, monoid),
        "batch": _batch(primitive),
        "lowering": {None: _lowering(primitive, monoid, False), "cpu": _lowering(primitive, monoid, True)},
        **derivatives,
    }


RULES: Table = {
    reduce_window_sum_p: _rules(
        reduce_window_sum_p,
        {
            "jvp": ad.linear_jvp(reduce_window_sum_p),
            "transpose": ad.linear_transpose2(reduce_window_sum_p, _sum_transpose),
            "makes_nan": True,
        },
    ),
    reduce_window_max_p: _rules(reduce_window_max_p, {"jvp": _extremum_jvp(reduce_window_max_p, ge_p)}),
    reduce_window_min_p: _rules(reduce_window_min_p, {"jvp": _extremum_jvp(reduce_window_min_p, le_p)}),
    reduce_window_p: {
        "abstract_eval": _general_abstract_eval,
        "jvp": _general_jvp,
        "axis_batch": _general_batch,
        "lowering": _general_lowering,
        "interpret": Interpreted(_folded),
        "makes_nan": True,
    },
}
