"""Cumulative operations: for each position along an axis, the reduction of all elements up to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primax.extend import core, dtypes, hookimpl
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.interpreters import ad, mlir
from primax.extend.provisional.arguments import canonical_axis
from primax.extend.provisional.dividing import along_axis
from primax.extend.provisional.elementwise import INEXACT, NUMERIC, SUMMABLE, Accepts
from primax.extend.provisional.lowering import cached_ir_type
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Rules, Table
from primax.plugins.arithmetic import add, add_p, complex_p, imag, mul, mul_p, real, sub
from primax.plugins.comparison import eq, ne
from primax.plugins.cumulative.blocks import fits_blocks, in_blocks
from primax.plugins.cumulative.recurrence import RULES as _RECURRENCE_RULES
from primax.plugins.cumulative.recurrence import linear_recurrence_p, shifted
from primax.plugins.cumulative.sequential import accumulator_dtype, in_float32, lower_to_loop
from primax.plugins.exponential import exp, log
from primax.plugins.reductions import ADD, MAX, MIN, MUL, Monoid
from primax.plugins.structural import (
    convert_element_type,
    convert_element_type_p,
    select_n_p,
    stop_gradient,
    zeros_like,
)

__all__ = [
    "cumlogsumexp",
    "cumlogsumexp_p",
    "cummax",
    "cummax_p",
    "cummin",
    "cummin_p",
    "cumprod",
    "cumprod_p",
    "cumsum",
    "cumsum_p",
]

cumlogsumexp_p = core.Primitive("cumlogsumexp")
cummax_p = core.Primitive("cummax")
cummin_p = core.Primitive("cummin")
cumprod_p = core.Primitive("cumprod")
cumsum_p = core.Primitive("cumsum")


def cumsum(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """The cumulative sum along an axis.

    Args:
      operand: an array of numbers.
      axis: an axis.
      reverse: whether to begin at the end.

    Returns:
      An array of the shape and dtype of `operand`.

    Raises:
      TypeError: `operand` is boolean.
      ValueError: `axis` is out of range.

    >>> import primax as px
    >>> px.lax.cumsum(px.numpy.array([1, 2, 3]))
    Array([1, 3, 6], dtype=int32)
    """
    return _cumulate(cumsum_p, operand, axis, reverse)


def cumprod(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """The cumulative product along an axis; see `cumsum`.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.cumprod(np.array([1, 2, 3]), reverse=True)
      Array([6, 6, 3], dtype=int32)
    """
    return _cumulate(cumprod_p, operand, axis, reverse)


def cummax(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """The cumulative maximum along an axis, NaN from the first NaN on; see `cumsum`.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.cummax(np.array([1, 5, 2, 7])), lax.cummax(np.array([1, 5, 2, 7]), reverse=True)
      (Array([1, 5, 5, 7], dtype=int32), Array([7, 7, 7, 7], dtype=int32))
    """
    return _cumulate(cummax_p, operand, axis, reverse)


def cummin(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """The cumulative minimum along an axis, NaN from the first NaN on; see `cumsum`.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.cummin(np.array([[3, 1], [2, 5]]), axis=1)
      Array([[3, 1],
             [2, 2]], dtype=int32)
    """
    return _cumulate(cummin_p, operand, axis, reverse)


def cumlogsumexp(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """The cumulative log-sum-exp along an axis.

    Args, results and errors are those of `cumsum`, except for the dtype, which must be floating or complex.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.cumlogsumexp(np.float32([0, 0, 0, 0]))[-1] == np.float32(np.log(4))
      Array(True, dtype=bool)
      >>> lax.cumlogsumexp(np.float32([1000, -np.inf]))
      Array([1000., 1000.], dtype=float32)
    """
    return _cumulate(cumlogsumexp_p, operand, axis, reverse)


def _cumulate(primitive: core.Primitive, operand: Any, axis: int, reverse: bool) -> Array:
    axis = canonical_axis(axis, len(get_aval(operand).shape), primitive.name)
    return primitive.bind(operand, axis=axis, reverse=bool(reverse))


def _abstract_eval(name: str, accepts: Accepts) -> Callable[..., ShapedArray]:
    def abstract_eval(operand: ShapedArray, *, axis: int, reverse: bool) -> ShapedArray:
        if operand.dtype not in accepts:
            raise TypeError(f"{name}: operand must be {accepts.name}, got {operand.str_short()}")
        if not 0 <= axis < len(operand.shape):
            raise ValueError(f"{name}: axis must be an axis of operand, got {axis} for {operand.str_short()}")
        return operand

    abstract_eval.__name__ = f"abstract_eval({name})"
    return abstract_eval


def _batch(primitive: core.Primitive) -> Callable[..., Any]:
    def batch(args: Any, dims: Any, *, axis: int, reverse: bool) -> tuple[Any, Any]:
        (dim,) = dims
        return primitive.bind(*args, axis=axis + (axis >= dim), reverse=reverse), dim

    batch.__name__ = f"batch({primitive})"
    return batch


def _loop_lowering(monoid: Monoid) -> Callable[..., Any]:
    combine = monoid.combine

    def lowering(ctx: mlir.LoweringRuleContext, x: Any, *, axis: int, reverse: bool) -> list[Any]:
        aval = ctx.avals_out[0]
        if 0 in aval.shape:
            return [x]
        dtype = accumulator_dtype(aval.dtype) if combine in (add_p, mul_p) else aval.dtype
        start = monoid.start(dtype)
        if combine is add_p and dtypes.is_inexact(dtype):
            start = -start  # a sum of -0 is -0
        if fits_blocks(combine, aval, dtype, axis):
            program = core.trace_to_jaxpr(lambda x: [in_blocks(combine, start, x, reverse)], [aval], "blocks")
            return mlir.inline_jaxpr(ctx, program, [x])

        def step(total: Any, x: Any) -> list[Any]:
            if dtype == aval.dtype:
                total = combine.bind(total, x)
                return [total, total]
            x = convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)
            total = combine.bind(total, x)
            return [total, convert_element_type_p.bind(total, new_dtype=aval.dtype, weak_type=False)]

        return lower_to_loop(ctx, step, start, [x], axis, reverse)

    lowering.__name__ = f"loop({combine})"
    return lowering


def _window_lowering(monoid: Monoid) -> Callable[..., Any]:
    """A window over all previous elements, which compilers for accelerators convert to a parallel scan."""

    def lowering(ctx: mlir.LoweringRuleContext, x: Any, *, axis: int, reverse: bool) -> list[Any] | Array:
        aval = ctx.avals_out[0]
        shape = aval.shape
        if 0 in shape:
            return [x]
        ir, hlo = mlir.ir, mlir.hlo
        window, padding = [1] * len(shape), np.zeros((len(shape), 2), np.int64)
        window[axis] = shape[axis]
        padding[axis, int(reverse)] = shape[axis] - 1
        start = monoid.ir_start(aval.dtype)
        operation = hlo.ReduceWindowOp(
            [cached_ir_type(ctx.module_context.shared, aval)],
            [x],
            [start],
            ir.DenseI64ArrayAttr.get(window),
            padding=ir.DenseIntElementsAttr.get(padding),
        )
        block = operation.regions[0].blocks.append(start.type, start.type)
        with ir.InsertionPoint(block):
            hlo.return_(mlir.inline_jaxpr(ctx, monoid.program(aval.dtype), list(block.arguments)))
        return operation.results

    lowering.__name__ = f"window({monoid.combine})"
    return lowering


def _prod_jvp(t: Any, out: Any, x: Any, *, axis: int, reverse: bool) -> Array:
    """By p[i] = x[i] p[i - 1], without division by elements, which may be zero."""
    if 0 in get_aval(x).shape:
        return t
    terms = mul(t, shifted(out, 1, axis, reverse))
    return linear_recurrence_p.bind(x, terms, axis=axis, reverse=reverse)


def _extremum_jvp(t: Any, out: Any, x: Any, *, axis: int, reverse: bool) -> Array:
    """The tangent of the extremum so far, or of the new element, or the mean of both if they are equal."""
    if 0 in get_aval(x).shape:
        return t
    dtype = get_aval(t).dtype
    stays, takes = (
        convert_element_type_p.bind(eq(y, out), new_dtype=dtype, weak_type=False)
        for y in (shifted(out, np.nan, axis, reverse), x)
    )
    half, one = (np.asarray(value, dtype)[()] for value in (0.5, 1))
    keep = mul(stays, sub(one, mul(half, takes)))
    terms = mul(t, sub(one, keep))
    return linear_recurrence_p.bind(keep, terms, axis=axis, reverse=reverse)


def _same(x: Any) -> Array:
    return x


def _as_complex(x: Any) -> Array:
    return complex_p.bind(x, zeros_like(x))


def _logsumexp(x: Any, *, axis: int, reverse: bool) -> Array:
    """The greatest element so far, and the logarithm of a sum relative to it.

    The result does not depend on the shift by the greatest element, so its derivatives do not either.
    """
    aval = get_aval(x)
    if 0 in aval.shape:
        return x
    dtype = np.dtype(np.float32) if aval.dtype.itemsize < 4 else aval.dtype
    x = convert_element_type(x, dtype)
    if dtype.kind != "c":
        size, of_top = x, _same
    else:  # the real part determines the size; angles stay in the sum, which gives the principal value of the logarithm
        size, of_top = real(x), _as_complex
    top = stop_gradient(cummax_p.bind(size, axis=axis, reverse=reverse))
    decay = exp(of_top(_difference(shifted(top, -np.inf, axis, reverse), top)))
    relative = _difference(size, top)
    terms = exp(relative if dtype.kind != "c" else complex_p.bind(relative, imag(x)))
    total = linear_recurrence_p.bind(decay, terms, axis=axis, reverse=reverse)
    return convert_element_type(add(of_top(top), log(total)), aval.dtype)


def _difference(x: Any, y: Any) -> Array:
    """x - y, and 0 where that is NaN: where both are the same infinity, so that the derivative there is 0."""
    difference = sub(x, y)
    return select_n_p.bind(ne(difference, difference), difference, zeros_like(difference))


def _logsumexp_jvp(primals: Any, tangents: Any, *, axis: int, reverse: bool) -> tuple[Any, Any]:
    if type(tangents[0]) is ad.Zero:
        out = cumlogsumexp_p.bind(*primals, axis=axis, reverse=reverse)
        return out, ad.Zero.from_primal_value(out)
    (out,), (tangent,) = ad.jvp_flat(lambda x: [_logsumexp(x, axis=axis, reverse=reverse)], primals, tangents)
    return out, tangent


def _rules(primitive: core.Primitive, monoid: Monoid) -> Rules:
    return {
        "abstract_eval": _abstract_eval(primitive.name, SUMMABLE if monoid is ADD else NUMERIC),
        "batch": _batch(primitive),
        "sharding": along_axis("axis"),
        "lowering": {None: _window_lowering(monoid), "cpu": in_float32(_loop_lowering(monoid))},
    }


def _cumsum_transpose(ct: Any, operand: Any, *, axis: int, reverse: bool) -> list[Any]:
    return [cumsum_p.bind(ct, axis=axis, reverse=not reverse)]


RULES: Table = {
    linear_recurrence_p: {**_RECURRENCE_RULES[linear_recurrence_p], "sharding": along_axis("axis", results=1)},
    cumsum_p: {
        **_rules(cumsum_p, ADD),
        "jvp": ad.linear_jvp(cumsum_p),
        "transpose": ad.linear_transpose2(cumsum_p, _cumsum_transpose),
        "makes_nan": True,
    },
    cumprod_p: {**_rules(cumprod_p, MUL), "jvp": ad.standard_jvp2(cumprod_p, _prod_jvp), "makes_nan": True},
    cummax_p: {**_rules(cummax_p, MAX), "jvp": ad.standard_jvp2(cummax_p, _extremum_jvp), "makes_nan": True},
    cummin_p: {**_rules(cummin_p, MIN), "jvp": ad.standard_jvp2(cummin_p, _extremum_jvp), "makes_nan": True},
    cumlogsumexp_p: {
        "abstract_eval": _abstract_eval("cumlogsumexp", INEXACT),
        "jvp": _logsumexp_jvp,
        "batch": _batch(cumlogsumexp_p),
        "sharding": along_axis("axis"),
        "lowering": mlir.lower_fun(_logsumexp, multiple_results=False),
        "makes_nan": True,
    },
}


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, samples=["primax.plugins.samples.cumulative:SAMPLES"], **rules)
