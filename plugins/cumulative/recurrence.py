"""Linear recurrences, from which the derivatives of cumulative operations are computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.provisional.arguments import canonical_axis
from primax.extend.provisional.elementwise import INEXACT
from primax.extend.rule_types import Table
from primax.plugins.arithmetic import add, mul
from primax.plugins.cumulative.sequential import accumulator_dtype, in_float32, lower_to_loop
from primax.plugins.reductions import scan_along
from primax.plugins.structural import convert_element_type_p, pad_p

linear_recurrence_p = core.Primitive("linear_recurrence")


def linear_recurrence(a: Any, b: Any, axis: int = 0, reverse: bool = False) -> Array:
    """The solution of `h[i] = a[i] * h[i - 1] + b[i]` along an axis, beginning with `h[0] = b[0]`.

    Args:
      a: the factors, an array of floating or complex dtype.
      b: the terms, an array of the shape and dtype of `a`.
      axis: an axis.
      reverse: whether the recurrence runs from the end: `h[i] = a[i] * h[i + 1] + b[i]`.

    Returns:
      An array of the shape and dtype of `b`.

    Raises:
      TypeError: shapes or dtypes differ, or are not floating or complex.
      ValueError: `axis` is out of range.

    >>> import primax.numpy as pnp
    >>> from primax.plugins.cumulative.recurrence import linear_recurrence
    >>> linear_recurrence(pnp.array([2., 2., 2.]), pnp.array([1., 1., 1.]))
    Array([1., 3., 7.], dtype=float32)
    """
    axis = canonical_axis(axis, len(get_aval(b).shape), "linear_recurrence")
    return linear_recurrence_p.bind(a, b, axis=axis, reverse=bool(reverse))


def shifted(x: Any, fill: Any, axis: int, reverse: bool) -> Array:
    """For each position the element of `x` before it, in the direction of a loop; `fill` at the first position."""
    config = [(0, 0, 0)] * len(get_aval(x).shape)
    config[axis] = (-1, 1, 0) if reverse else (1, -1, 0)
    return pad_p.bind(x, np.asarray(fill, get_aval(x).dtype)[()], padding_config=tuple(config))


def _abstract_eval(a: ShapedArray, b: ShapedArray, *, axis: int, reverse: bool) -> ShapedArray:
    if a.shape != b.shape or a.dtype != b.dtype or a.dtype not in INEXACT:
        raise TypeError(
            "linear_recurrence: a and b must have the same shape and the same floating or complex dtype, "
            f"got {a.str_short()} and {b.str_short()}"
        )
    if not 0 <= axis < b.ndim:
        raise ValueError(f"linear_recurrence: axis must be an axis of b, got {axis} for {b.str_short()}")
    return ShapedArray(b.shape, b.dtype)


def _jvp(primals: Any, tangents: Any, *, axis: int, reverse: bool) -> tuple[Any, Any]:
    (a, b), (ta, tb) = primals, tangents
    out = linear_recurrence_p.bind(a, b, axis=axis, reverse=reverse)
    if type(ta) is not ad.Zero and get_aval(b).shape[axis]:
        term = mul(ta, shifted(out, 0, axis, reverse))
        tb = ad.add_tangents(term, tb)
    if type(tb) is ad.Zero:
        return out, ad.Zero.from_primal_value(out)
    return out, linear_recurrence_p.bind(a, tb, axis=axis, reverse=reverse)


def _transpose(ct: Any, a: Any, b: Any, *, axis: int, reverse: bool) -> tuple[Any, Any]:
    if type(a) is ad.UndefinedPrimal:
        raise TypeError("linear_recurrence is linear in its terms, but not in its factors")
    if type(ct) is ad.Zero:
        return None, ad.Zero(b.aval)
    if not b.aval.shape[axis]:
        return None, ct
    factors = shifted(a, 0, axis, not reverse)
    return None, linear_recurrence_p.bind(factors, ct, axis=axis, reverse=not reverse)


def _batch(args: Any, dims: Any, *, axis: int, reverse: bool) -> tuple[Any, Any]:
    (a, b), (da, db) = args, dims
    if da is None:
        a, da = batching.broadcast(a, get_aval(b).shape[db], db), db
    elif db is None:
        b = batching.broadcast(b, get_aval(a).shape[da], da)
    else:
        b = batching.moveaxis(b, db, da)
    return linear_recurrence_p.bind(a, b, axis=axis + (axis >= da), reverse=reverse), da


def _loop_lowering(ctx: mlir.LoweringRuleContext, a: Any, b: Any, *, axis: int, reverse: bool) -> list[Any]:
    aval = ctx.avals_out[0]
    if 0 in aval.shape:
        return [b]
    dtype = accumulator_dtype(aval.dtype)

    def step(h: Any, a: Any, b: Any) -> list[Any]:
        wide = [convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False) for x in (a, b)]
        h = add(mul(wide[0], h), wide[1])
        return [h, convert_element_type_p.bind(h, new_dtype=aval.dtype, weak_type=False)]

    return lower_to_loop(ctx, step, np.zeros((), dtype)[()], [a, b], axis, reverse)


def _tree(a: Any, b: Any, *, axis: int, reverse: bool) -> Any:
    if 0 in b.aval.shape:
        return b
    return scan_along(_compose, [a, b], (axis, axis), reverse)[1]


def _compose(earlier: Sequence[Any], later: Sequence[Any]) -> list[Any]:
    (a, b), (c, d) = earlier, later
    return [mul(c, a), add(mul(c, b), d)]


RULES: Table = {
    linear_recurrence_p: {
        "abstract_eval": _abstract_eval,
        "jvp": _jvp,
        "transpose": _transpose,
        "batch": _batch,
        "lowering": {None: mlir.lower_fun(_tree, multiple_results=False), "cpu": in_float32(_loop_lowering)},
    },
}
