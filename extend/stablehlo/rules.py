"""Lowering rules that are made of a function or of the name of an operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from primax.core import _jaxlib
from primax.core.arguments import name_of
from primax.core.avals import ShapedArray
from primax.core.config import enable_x64
from primax.core.diagnostics import shorten
from primax.core.dtypes import canonicalize_dtype
from primax.core.errors import RuleError
from primax.core.placement import without_placement
from primax.core.rules import impl_rules, lowering_rules
from primax.core.trace_state import thread
from primax.extend.stablehlo.shape_ops import broadcast_in_dim
from primax.interpreters.runtime.extended_array import physical_aval
from primax.interpreters.runtime.ir_types import cached_ir_type
from primax.interpreters.runtime.lowering import LoweringRuleContext, inline_jaxpr, rule_of
from primax.interpreters.staging import trace_to_jaxpr

__all__ = ["broadcast_scalar", "lower_fun", "nary", "operations_of"]


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> Callable[..., list[Any]]:
    """A lowering rule from a function written in primax operations.

    Args:
      fun: `(*arrays, **params)`, returns an array, or a list of them if `multiple_results`. With the decorator
        `physical_lowering`, and in rules that have it, it takes and returns the arrays of the elements of extended
        dtypes; otherwise it takes and returns arrays of extended dtypes.
      multiple_results: whether the primitive has multiple results.

    Examples:
      >>> import primax as px
      >>> from primax.extend import define_primitive
      >>> from primax.extend.interpreters import mlir
      >>> rule = mlir.lower_fun(lambda x: x * x * x, multiple_results=False)
      >>> cube_p = define_primitive("the_cube", abstract_eval=lambda x: x, lowering=rule)
      >>> px.jit(cube_p.bind)(3.0)
      Array(27., dtype=float32, weak_type=True)
    """

    def rule(ctx: LoweringRuleContext, /, *args: Any, **params: Any) -> list[Any]:
        def run(*xs: Any) -> Any:
            out = fun(*xs, **params)
            if isinstance(out, list | tuple) != multiple_results:
                must = "a list of arrays" if multiple_results else "one array"
                raise RuleError(
                    f"lower_fun: {name_of(fun)} must return {must}, since multiple_results is {multiple_results}, got "
                    f"{shorten(out)}"
                )
            return out if multiple_results else [out]

        ins, outs = list(map(without_placement, ctx.avals_in)), ctx.avals_out
        if getattr(rule_of(ctx)[1], "physical", False):
            ins, outs = list(map(physical_aval, ins)), list(map(physical_aval, outs))
        # A program may be lowered outside of the `enable_x64` block in which it was traced.
        wide = enable_x64.value or any(canonicalize_dtype(aval.dtype) != aval.dtype for aval in (*ins, *outs))
        with enable_x64(wide), _mesh_axes(ctx.module_context):
            closed = trace_to_jaxpr(run, ins, name_of(fun))
        return inline_jaxpr(ctx, closed, args)

    rule.__name__ = f"lower_fun({getattr(fun, '__name__', 'fun')})"
    rule.func = fun  # type: ignore[attr-defined]
    rule.by_tracing = True  # type: ignore[attr-defined]
    return rule


def operations_of(primitive: Any) -> Any:
    """The function of a primitive, in primax operations on arrays, from its lowering; None if it is unknown.

    An impl is such a function only if the lowering is derived from it, since it may compute with NumPy.
    """
    lowering: Any = lowering_rules.functions.get(primitive)
    impl = impl_rules.functions.get(primitive)
    if impl is not None and getattr(lowering, "func", None) is impl:
        return impl
    by_tracing = getattr(lowering, "by_tracing", False) and not getattr(lowering, "physical", False)
    return lowering.func if by_tracing else None


@contextmanager
def _mesh_axes(module: Any) -> Iterator[None]:
    """A `with` block with the names of mesh axes; along these, the lowered program is that of one device."""
    manual = None if module.spmd is None else module.spmd.manual
    before = thread.axes
    if manual is not None:
        mesh, names = manual
        thread.axes = {**before, **{name: mesh.shape[name] for name in names}}
    try:
        yield
    finally:
        thread.axes = before


def nary(op_name: str, **attributes: Callable[[], Any]) -> Callable[..., Any]:
    """The lowering rule of an elementwise operation; scalars and axes of length 1 are broadcast.

    Args:
      op_name: the name of the operation, such as `stablehlo.add`.
      attributes: for each attribute a function that makes it.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> from primax.extend import define_primitive
      >>> from primax.extend.interpreters import mlir
      >>> plus_p = define_primitive("a_plus", abstract_eval=lambda x, y: x, lowering=mlir.nary("stablehlo.add"))
      >>> px.jit(plus_p.bind)(pnp.arange(3), 10)
      Array([10, 11, 12], dtype=int32)
    """

    def rule(ctx: LoweringRuleContext, /, *args: Any, **params: Any) -> Any:
        aval = ctx.avals_out[0]
        operands = list(args)
        for i, a in enumerate(ctx.avals_in):
            if a.shape != aval.shape:
                operands[i] = broadcast_in_dim(
                    ctx, args[i], ShapedArray(aval.shape, a.dtype), broadcast_dimensions=range(len(a.shape))
                )
        result = cached_ir_type(ctx.module_context.shared, aval)
        mlir_attributes = {name: make() for name, make in attributes.items()} if attributes else None
        return _jaxlib.ir.Operation.create(op_name, [result], operands, mlir_attributes).results

    rule.__name__ = f"lower_to({op_name})"
    return rule


def broadcast_scalar(x: Any, aval: Any) -> Any:
    """A rank-0 IR value, broadcast to a shape.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> from primax.extend import define_primitive
      >>> from primax.extend.interpreters import mlir
      >>> ones_p = define_primitive(
      ...     "ones_like_this",
      ...     abstract_eval=lambda x: x,
      ...     lowering=lambda ctx, x: [mlir.broadcast_scalar(mlir.ir_constant(np.float32(1)), ctx.avals_out[0])],
      ... )
      >>> px.jit(ones_p.bind)(pnp.zeros(2))
      Array([1., 1.], dtype=float32)
    """
    return broadcast_in_dim(None, x, aval, broadcast_dimensions=())
