"""`pure_callback`: a Python function as an operation without effects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primax.extend import core
from primax.extend.core import Array, tree
from primax.extend.interpreters import mlir
from primax.extend.provisional.arguments import avals_of
from primax.extend.provisional.typing import ShardingLike
from primax.extend.provisional.user_types import has_user_types, unpacked
from primax.extend.rule_types import Table
from primax.plugins.callbacks.flat import FlatCallback, one_by_one, require_callable, result_types, run_eagerly
from primax.plugins.callbacks.mapping import check_sharding, check_vmap_method, results_are_whole, vmap_at_once

pure_callback_p = core.Primitive("pure_callback", multiple_results=True)


def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: object,
    *args: object,
    sharding: ShardingLike | None = None,
    vmap_method: str | None = None,
    **kwargs: object,
) -> Array:
    """Call a Python function without side effects, also inside compiled programs.

    It may be called once, several times, or not at all if nothing uses the result.

    Args:
      callback: receives arrays in the structure of `args` and `kwargs`; returns arrays, or values that NumPy converts
        to arrays, with the structure and types of `result_shape_dtypes`.
      result_shape_dtypes: a pytree of objects with a shape and a dtype.
      args: arrays in any containers.
      sharding: None, or the sharding of one device.
      vmap_method: the behavior of `vmap`. `"sequential"` and `"sequential_unrolled"` call once for each element;
        `"expand_dims"` calls once, with a leading axis on all arguments, of length 1 on those that are not mapped;
        `"broadcast_all"` repeats these; `"legacy_vectorized"` passes them as they are. With None, `vmap` fails.
      kwargs: like `args`.

    Returns:
      Arrays in the structure of `result_shape_dtypes`.

    Raises:
      TypeError: `callback` is not callable, an argument is not an array, or a result type has no shape or dtype.
      ValueError: a result type has 64 bits without `enable_x64`, or there is no such `vmap_method`.
      XlaError: the callback failed, or its result has another shape or dtype than declared.

    >>> import numpy as np
    >>> import primax as px
    >>> @px.jit
    ... def f(x):
    ...     return 2 * px.pure_callback(np.sinc, px.ShapeDtypeStruct(x.shape, x.dtype), x)
    >>> f(np.zeros(2, np.float32))
    Array([2., 2.], dtype=float32)
    """
    require_callable("pure_callback", callback)
    check_vmap_method("pure_callback", vmap_method)
    check_sharding("pure_callback", sharding)
    avals, out_tree = result_types("pure_callback", result_shape_dtypes)
    if has_user_types():
        args, kwargs = unpacked((args, kwargs))
    leaves, in_tree = tree.flatten((args, kwargs))
    avals_of(leaves, (args, kwargs), "pure_callback", call=True)
    flat = FlatCallback(callback, "pure_callback", in_tree, out_tree)
    outs = pure_callback_p.bind(*leaves, callback=flat, result_avals=avals, vmap_method=vmap_method)
    return tree.unflatten(out_tree, outs)


def _pure_callback_impl(*args: Any, callback: Any, result_avals: Any, vmap_method: Any) -> list[Array]:
    return run_eagerly(callback, args, result_avals)


def _pure_callback_abstract_eval(*avals: Any, callback: Any, result_avals: Any, vmap_method: Any) -> list[Any]:
    return list(result_avals)


def _pure_callback_batch(
    args: Any, dims: Any, *, callback: Any, result_avals: Any, vmap_method: Any
) -> tuple[Any, Any]:
    if vmap_method in ("sequential", "sequential_unrolled"):
        callback, moved, avals = one_by_one(callback, args, dims, result_avals)
    else:
        moved, avals = vmap_at_once("pure_callback", vmap_method, args, dims, result_avals)
    outs = pure_callback_p.bind(*moved, callback=callback, result_avals=avals, vmap_method=vmap_method)
    return outs, [0] * len(outs)


@mlir.physical_lowering
def _pure_callback_lowering(ctx: mlir.LoweringRuleContext, *args: Any, callback: Any, **params: Any) -> list[Any]:
    results, _, _ = mlir.emit_python_callback(
        ctx, callback, None, args, ctx.avals_in, ctx.avals_out, has_side_effect=False, label=callback.label
    )
    return results


_REASON = (
    "the derivative of a Python function is unknown; call it in a function with custom derivatives, "
    "primax.custom_jvp or primax.custom_vjp, or as the lowering of a primitive that has a jvp rule"
)


RULES: Table = {
    pure_callback_p: {
        "impl": _pure_callback_impl,
        "abstract_eval": _pure_callback_abstract_eval,
        "batch": _pure_callback_batch,
        "lowering": _pure_callback_lowering,
        "sharding": results_are_whole,
        "unsupported": {"jvp": _REASON, "transpose": _REASON},
    },
}
