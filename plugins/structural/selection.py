"""Choosing between arrays, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.interpreters.ad import linear_together
from primax.extend.provisional.lowering import cached_ir_type
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table
from primax.plugins.structural.creation import zeros_of
from primax.plugins.structural.shapes import broadcast_in_dim_p

select_n_p = core.Primitive("select_n")


def select(pred: ArrayLike, on_true: ArrayLike, on_false: ArrayLike) -> Array:
    """Elements of `on_true` where `pred` is true, of `on_false` elsewhere.

    Args:
      pred: a boolean array of the shape of the others, or a scalar.
      on_true: an array.
      on_false: an array of the same shape and dtype.

    Raises:
      TypeError: shapes or dtypes differ, or `pred` is not boolean.

    >>> import primax as px
    >>> px.lax.select(px.numpy.array([True, False]), px.numpy.array([1, 2]), px.numpy.array([3, 4]))
    Array([1, 4], dtype=int32)
    """
    return select_n_p.bind(pred, on_false, on_true)


def select_n(which: ArrayLike, *cases: ArrayLike) -> Array:
    """For each element, the element of the case that `which` selects.

    Args:
      which: integers of any dtype in an array of the shape of the cases, or a scalar. For at most two cases it may be
        boolean; False selects the first. A negative number selects the first case, one beyond the last the last.
      cases: arrays of the same shape and dtype.

    Raises:
      TypeError: there are no cases, shapes or dtypes differ, or `which` is neither boolean nor an integer.

    >>> import primax as px
    >>> px.lax.select_n(2, 10.0, 11.0, 12.0)
    Array(12., dtype=float32, weak_type=True)
    """
    if not cases:
        raise TypeError("select_n: cases must be one array or more, got none")
    return select_n_p.bind(which, *cases)


def _abstract_eval(which: ShapedArray, *cases: ShapedArray) -> ShapedArray:
    first = cases[0]
    weak = True
    for i, case in enumerate(cases):
        if case.shape != first.shape:
            raise TypeError(
                f"select_n: cases must have the same shape, got {first.str_short()} for case 0 and "
                f"{case.str_short()} for case {i}"
            )
        if case.dtype != first.dtype:
            raise TypeError(
                f"select_n: cases must have the same dtype, got {first.str_short()} for case 0 and "
                f"{case.str_short()} for case {i}"
            )
        weak = weak and case.weak_type
    if which.shape and which.shape != first.shape:
        raise TypeError(
            f"select_n: which must be a scalar or have the shape of the cases, {first.shape}, "
            f"got {which.shape} for {which.str_short()}"
        )
    if dtypes.is_bool(which.dtype):
        if len(cases) > 2:
            raise TypeError(
                f"select_n: which must be integers where there are more than 2 cases, "
                f"got {which.str_short()} for {len(cases)} cases"
            )
    elif not dtypes.is_integer(which.dtype):
        raise TypeError(f"select_n: which must be boolean or integers, got {which.str_short()}")
    return ShapedArray(first.shape, first.dtype, weak)


def _jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    which, *_ = primals
    out = select_n_p.bind(*primals)
    moving = tangents[1:]
    if all(type(t) is ad.Zero for t in moving):
        return out, ad.Zero.from_primal_value(out)
    return out, select_n_p.bind(which, *map(ad.instantiate_zeros, moving))


linear_together(_jvp, besides=(0,))


def _transpose(ct: Any, which: Any, *cases: Any) -> list[Any]:
    undefined = [type(case) is ad.UndefinedPrimal for case in cases]
    if type(ct) is ad.Zero:
        return [None, *[ad.Zero(x.aval) if u else None for x, u in zip(cases, undefined, strict=True)]]
    zeros = zeros_of(get_aval(ct)) if len(cases) > 1 else None
    count = range(len(cases))
    return [
        None,
        *[select_n_p.bind(which, *[ct if i == j else zeros for j in count]) if undefined[i] else None for i in count],
    ]


def _batch(args: Any, dims: Any) -> tuple[Any, Any]:
    which, *cases = args
    which_dim, *case_dims = dims
    which_shape = get_aval(which).shape
    size = next(get_aval(x).shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
    rank = len(get_aval(cases[0]).shape) - (case_dims[0] is not None)
    scalar = len(which_shape) == (which_dim is not None)
    if not scalar and not rank and case_dims.count(None) == len(cases):
        # JAX takes `select(which, 0, 1)` under `vmap` also where one example has several predicates.
        numbers = [broadcast_in_dim_p.bind(x, shape=which_shape, broadcast_dimensions=()) for x in cases]
        return select_n_p.bind(which, *numbers), which_dim
    if which_dim is None and scalar:
        dim = next(d for d in case_dims if d is not None)
    else:
        # If `which` has one number per element of the batch, it is repeated along the axes of the cases.
        dim = which_dim if which_dim is not None and not scalar else next((d for d in case_dims if d is not None), 0)
    moved = [batching.to_dim(x, size, d, dim) for x, d in zip(cases, case_dims, strict=True)]
    if scalar:
        if which_dim is not None and rank:
            shape = get_aval(moved[0]).shape
            which = broadcast_in_dim_p.bind(which, shape=shape, broadcast_dimensions=(dim,))
    else:
        which = batching.to_dim(which, size, which_dim, dim)
    return select_n_p.bind(which, *moved), dim


def _lowering(ctx: Any, which: Any, *cases: Any) -> list[Any]:
    if len(cases) == 1:
        return [cases[0]]
    (aval,) = ctx.avals_out
    result = cached_ir_type(ctx.module_context.shared, aval)
    which_aval = ctx.avals_in[0]

    def choose(predicate: Any, on_true: Any, on_false: Any) -> mlir.ir.Value:
        return mlir.ir.Operation.create("stablehlo.select", [result], [predicate, on_true, on_false]).result

    if dtypes.is_bool(which_aval.dtype):
        return [choose(which, cases[1], cases[0])]
    hlo = mlir.hlo
    dtype = which_aval.dtype
    sign = "UNSIGNED" if dtypes.is_unsigned_integer(dtype) else "SIGNED"
    less, order = hlo.ComparisonDirectionAttr.get("LT"), hlo.ComparisonTypeAttr.get(sign)
    cases = cases[: int(dtypes.iinfo(dtype).max) + 1]  # `which` cannot select others

    def among(offset: int, some: Any) -> mlir.ir.Value:
        if len(some) == 1:
            return some[0]
        half = len(some) // 2
        bound = mlir.ir_constant(np.broadcast_to(dtype.type(offset + half), which_aval.shape))
        first = hlo.compare(which, bound, less, compare_type=order)
        return choose(first, among(offset, some[:half]), among(offset + half, some[half:]))

    return [among(0, cases)]


RULES: Table = {
    select_n_p: {
        "abstract_eval": _abstract_eval,
        "jvp": _jvp,
        "transpose": _transpose,
        "batch": _batch,
        "lowering": _lowering,
    }
}
