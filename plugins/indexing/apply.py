"""Scatter with a function: elements of an array replaced by its values, at positions in arrays of integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.provisional.arguments import canonical_shape, check_function, inserted
from primax.extend.provisional.computations import Interpreted, elementwise, require_pure
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table
from primax.plugins.indexing.dimensions import (
    GatherScatterMode,
    ScatterDimensionNumbers,
    as_gather,
    canonical_numbers,
    mapped_numbers,
    window_sizes,
)
from primax.plugins.indexing.positions import cast_indices
from primax.plugins.indexing.primitives import gather_p, scatter_apply_p, scatter_p
from primax.plugins.indexing.scatter_rules import clipped, is_unique, scatter_region
from primax.plugins.indexing.sequence import one_by_one


def scatter_apply(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    func: Callable[[Any], Any],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """An array with a function applied to the elements of windows at computed positions.

    Args:
      operand: an array.
      scatter_indices: see `scatter`.
      func: a function of one element that returns one. Where several windows overlap, it is applied once for each.
      dimension_numbers: see `scatter`.
      update_shape: the shape that updates would have.
      indices_are_sorted, unique_indices, mode: see `scatter`.

    Raises:
      TypeError: the dimension numbers or shapes do not fit, or the function returns another type.
      ValueError: there is no such mode.

    >>> import primax as px
    >>> numbers = px.lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> twice = px.numpy.array([[1], [1]])
    >>> px.lax.scatter_apply(px.numpy.array([2., 3.]), twice, lambda x: x * x, numbers, update_shape=(2,))
    Array([ 2., 81.], dtype=float32)
    """
    check_function("scatter_apply", "func", func)
    aval = get_aval(operand)
    indices = cast_indices("scatter_apply", "scatter_indices", scatter_indices)
    params: dict[str, Any] = {
        "dimension_numbers": canonical_numbers("scatter_apply", dimension_numbers, ScatterDimensionNumbers),
        "indices_are_sorted": bool(indices_are_sorted),
        "unique_indices": bool(unique_indices),
        "mode": GatherScatterMode.from_any(mode),
    }
    updates = ShapedArray(canonical_shape(update_shape, "scatter_apply", "update_shape"), aval.dtype)
    scatter_p.result_types((aval, get_aval(indices), updates), params)
    params["slice_sizes"] = window_sizes(params["dimension_numbers"], aval.shape, updates.shape)
    program = _stage(func, ShapedArray((), aval.dtype, aval.weak_type))
    if any(isinstance(x, core.Tracer) for x in program.consts):
        # XLA applies no function that depends on other values, so each window is read, changed and written.
        return _in_turn(operand, indices, update_jaxpr=program, **params)
    return scatter_apply_p.bind(operand, indices, update_jaxpr=program, **params)


def _stage(func: Callable[[Any], Any], scalar: ShapedArray) -> core.ClosedJaxpr:
    """A function of an element as a program of an element and an update, which it ignores."""
    program = core.trace_to_jaxpr(lambda x, _: [func(x)], [scalar, scalar], "scatter_apply")
    (out,) = program.out_avals
    if out.shape or out.dtype != scalar.dtype:
        raise TypeError(
            f"scatter_apply: func must return an element of the dtype it is given, got {out.str_short()} "
            f"for {scalar.str_short()}"
        )
    return program


def _in_turn(
    operand: Any,
    indices: Any,
    *,
    dimension_numbers: Any,
    slice_sizes: Any,
    update_jaxpr: core.ClosedJaxpr,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: GatherScatterMode,
) -> Array:
    """The function applied to the elements of one window after the other."""
    change = elementwise(update_jaxpr)
    params = {"indices_are_sorted": indices_are_sorted, "unique_indices": True, "mode": mode}

    def step(x: Any, rows: Any, _: Any, numbers: Any) -> Array:
        before = gather_p.bind(
            x,
            rows,
            dimension_numbers=as_gather(numbers),
            slice_sizes=slice_sizes,
            fill_value=None,
            **(params | {"mode": GatherScatterMode.CLIP}),
        )
        (after,) = change([before], [before])
        return scatter_p.bind(x, rows, after, dimension_numbers=numbers, **params)

    if is_unique(indices, dimension_numbers, unique_indices):
        return step(operand, indices, None, dimension_numbers)
    return one_by_one(step, operand, indices, None, dimension_numbers)


def _abstract_eval(
    operand: ShapedArray, indices: ShapedArray, *, dimension_numbers: Any, update_jaxpr: Any, **params: Any
) -> ShapedArray:
    gather_p.result_types((operand, indices), _gather_params(dimension_numbers, params))
    require_pure("scatter_apply", update_jaxpr)
    return ShapedArray(operand.shape, operand.dtype, operand.weak_type)


def _gather_params(dimension_numbers: Any, params: Any) -> dict[str, Any]:
    return {**params, "dimension_numbers": as_gather(dimension_numbers), "fill_value": None}


def _jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    operand, indices = primals
    if type(tangents[0]) is ad.Zero:
        out = scatter_apply_p.bind(operand, indices, **params)
        return out, ad.Zero.from_primal_value(out)
    (out,), (tangent,) = ad.jvp_flat(lambda x: [_in_turn(x, indices, **params)], [operand], tangents[:1])
    return out, tangent


def _batch(args: Any, dims: Any, *, dimension_numbers: Any, slice_sizes: Any, **params: Any) -> tuple[Any, Any]:
    (operand, indices), (dim, indices_dim) = args, dims
    if dim is None:
        operand, dim = batching.broadcast(operand, get_aval(indices).shape[indices_dim], 0), 0
    indices_rank = len(get_aval(indices).shape)
    if indices_dim == indices_rank - 1:
        indices, indices_dim = batching.moveaxis(indices, indices_dim, 0), 0
    shape = get_aval(operand).shape
    mapped = indices_dim is not None
    numbers, _ = mapped_numbers(dimension_numbers, len(shape) - 1, indices_rank - mapped, dim, indices_dim)
    sizes = inserted(slice_sizes, dim, min(1, shape[dim]) if mapped else shape[dim])
    return scatter_apply_p.bind(operand, indices, dimension_numbers=numbers, slice_sizes=sizes, **params), dim


def _lowering(
    ctx: mlir.LoweringRuleContext,
    operand: Any,
    indices: Any,
    *,
    dimension_numbers: Any,
    slice_sizes: Any,
    update_jaxpr: core.ClosedJaxpr,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: GatherScatterMode,
) -> Sequence[mlir.ir.Value]:
    params = {
        "slice_sizes": slice_sizes,
        "indices_are_sorted": indices_are_sorted,
        "unique_indices": unique_indices,
        "mode": mode,
    }
    if dtypes.is_extended(ctx.avals_in[0].dtype):
        params |= {"dimension_numbers": dimension_numbers, "update_jaxpr": update_jaxpr}
        return mlir.lower_fun(lambda *xs: [_in_turn(*xs, **params)])(ctx, operand, indices)
    if mode is GatherScatterMode.CLIP:
        return _clip(ctx, operand, indices, dimension_numbers=dimension_numbers, update_jaxpr=update_jaxpr, **params)
    (windows,), _ = gather_p.result_types(tuple(ctx.avals_in), _gather_params(dimension_numbers, params))
    zero = mlir.ir_constant(np.zeros((), windows.dtype))
    return scatter_region(
        ctx,
        (operand, indices, mlir.broadcast_scalar(zero, windows)),
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        update_jaxpr,
    )


def _clipped(operand: Any, indices: Any, **params: Any) -> Array:
    shape, numbers = get_aval(operand).shape, params["dimension_numbers"]
    indices = clipped(indices, shape, params["slice_sizes"], numbers)
    return scatter_apply_p.bind(operand, indices, **(params | {"mode": GatherScatterMode.PROMISE_IN_BOUNDS}))


_clip = mlir.lower_fun(_clipped, multiple_results=False)

RULES: Table = {
    scatter_apply_p: {
        "abstract_eval": _abstract_eval,
        "jvp": _jvp,
        "batch": _batch,
        "lowering": _lowering,
        "interpret": Interpreted(lambda values, **params: [_in_turn(*values, **params)]),
    }
}
