"""The lowering of structural primitives for arrays of extended dtypes, whose elements are small arrays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import repeat
from typing import Any

from primax.core.array_protocol import protocol_of
from primax.core.avals import ALL_BUT_SHAPE_AND_DTYPE, get_aval, same_type
from primax.core.jaxpr import ClosedJaxpr, Jaxpr, jaxprs_in_params
from primax.core.placement import without_placement
from primax.interpreters.batching import AxisData, batch_flat, to_dim
from primax.interpreters.runtime.extended_array import has_extended_dtype, physical_aval
from primax.interpreters.runtime.lowering import (
    Lower,
    LoweringRuleContext,
    ModuleContext,
    inline_jaxpr,
    register_lowering_layer,
    rule_of,
)
from primax.interpreters.staging import trace_to_jaxpr

__all__ = ["physical_lowering"]


def physical_lowering(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a lowering rule that takes arrays of extended dtypes as arrays of their elements.

    Other rules that are made of a function (`lower_fun`) get such arrays as they are. Other primitives, except those
    that hold programs, are lowered for such arrays by their batch rules.

    Examples:
      >>> from primax.extend.interpreters import mlir
      >>> @mlir.physical_lowering
      ... def lower(ctx, keys):
      ...     return [keys]  # of random keys, their words
      >>> lower.physical
      True
    """
    rule.physical = True  # type: ignore[attr-defined]
    return rule


def _holds_extended(module: ModuleContext, jaxpr: Jaxpr, types: Collection[Any]) -> bool:
    return any(map(has_extended_dtype, types))


def _lower_by_elements(
    ctx: LoweringRuleContext, values: Sequence[Any], params: dict[str, Any], lower: Lower
) -> list[Any]:
    """Lower a primitive for arrays of extended dtypes by its batch rule, unless its lowering rule supports them."""
    if not any(map(has_extended_dtype, (*ctx.avals_in, *ctx.avals_out))) or next(jaxprs_in_params(params), None):
        return lower(ctx, values, params)
    rule = rule_of(ctx)[1]
    if getattr(rule, "physical", False) or getattr(rule, "by_tracing", False):
        return lower(ctx, values, params)
    try:
        closed = _over_elements(ctx.primitive, params, ctx.avals_in, ctx.avals_out)
    except Exception as error:
        error.add_note(_explanation(ctx))
        raise
    expected = map(physical_aval, ctx.avals_out)
    if not all(map(same_type, closed.out_avals, expected, repeat(ALL_BUT_SHAPE_AND_DTYPE))):
        raise TypeError(_explanation(ctx))
    return inline_jaxpr(ctx, closed, values)


def _explanation(ctx: LoweringRuleContext) -> str:
    """The remedy for a primitive that cannot be lowered by its batch rule for arrays of extended dtypes."""
    dtypes = dict.fromkeys(str(aval.dtype) for aval in (*ctx.avals_in, *ctx.avals_out) if has_extended_dtype(aval))
    return (
        f"primitive {ctx.primitive} was lowered for dtype {', '.join(dtypes)} by its batch rule, for each number in an "
        "element. A primitive that reads or makes elements needs a lowering rule with the decorator "
        "mlir.physical_lowering, which takes and returns the arrays of the elements."
    )


register_lowering_layer(_holds_extended, _lower_by_elements, order=30)


def _over_elements(
    primitive: Any, params: dict[str, Any], in_avals: Sequence[Any], out_avals: Sequence[Any]
) -> ClosedJaxpr:
    """The program that computes a primitive on the arrays of the elements of extended dtypes.

    An array of such a dtype is a batch of arrays, one for each number in an element; the mapped axes are the last ones.

    Args:
      primitive: a primitive that moves or selects elements without reading their contents.
      params: its parameters.
      in_avals: the types of its arguments.
      out_avals: the types of its results.
    """
    shapes = {aval.dtype.element_shape for aval in (*in_avals, *out_avals) if has_extended_dtype(aval)}
    if len(shapes) > 1:
        raise TypeError(f"{primitive}: arrays of dtypes with elements of several shapes must be converted to one dtype")
    (sizes,) = shapes

    def bind(*xs: Any) -> Sequence[Any]:
        out = primitive.bind(*xs, **params)
        return out if primitive.multiple_results else [out]

    fun: Callable[..., Sequence[Any]] = bind
    for size in reversed(sizes):
        fun = _mapped(fun, AxisData(None, size), in_avals, out_avals)
    return trace_to_jaxpr(fun, [without_placement(physical_aval(aval)) for aval in in_avals], primitive.name)


def _mapped(
    fun: Callable[..., Sequence[Any]], axis: AxisData, in_avals: Sequence[Any], out_avals: Sequence[Any]
) -> Callable[..., Sequence[Any]]:
    """A function mapped over the first axis of the elements, from a function without that axis."""
    dims = list(map(_axis_of_elements, in_avals))
    axes = list(map(_axis_of_elements, out_avals))

    def over(*xs: Any) -> list[Any]:
        outs, dims_out = batch_flat(fun, axis, xs, dims)
        if None not in dims and any(dim is not None and to is None for dim, to in zip(dims_out, axes, strict=True)):
            raise TypeError("the result depends on the numbers in the elements of an extended dtype")
        return [_with_axis(x, axis.size, dim, to) for x, dim, to in zip(outs, dims_out, axes, strict=True)]

    return over


def _with_axis(x: Any, size: int, dim: int | None, to: int | None) -> Any:
    """A value with the axis of elements at `to`, repeated if it has none; its first element if `to` is None."""
    if to is None and dim is not None:
        return protocol_of(get_aval(x)).index(x, 0, dim)
    return to_dim(x, size, dim, to)


def _axis_of_elements(aval: Any) -> int | None:
    return len(aval.shape) if has_extended_dtype(aval) else None
