"""`io_callback`: a Python function with side effects as an operation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from primax.extend import core
from primax.extend.core import Array, tree
from primax.extend.interpreters import mlir
from primax.extend.provisional import runtime
from primax.extend.provisional.arguments import avals_of
from primax.extend.provisional.typing import ShardingLike
from primax.extend.provisional.user_types import has_user_types, unpacked
from primax.extend.rule_types import Table
from primax.plugins.callbacks.flat import FlatCallback, one_by_one, require_callable, result_types, run_eagerly
from primax.plugins.callbacks.mapping import check_sharding, results_are_whole

io_callback_p = core.Primitive("io_callback", multiple_results=True)


@dataclass(frozen=True, slots=True, repr=False)
class IOEffect(core.Effect):
    """A program calls Python functions with side effects."""

    def __repr__(self) -> str:
        return "IO"


@dataclass(frozen=True, slots=True, repr=False)
class OrderedIOEffect(core.Effect):
    """A program calls such functions in program order."""

    def __repr__(self) -> str:
        return "OrderedIO"


def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: object,
    *args: object,
    sharding: ShardingLike | None = None,
    ordered: bool = False,
    **kwargs: object,
) -> Any:
    """Call a Python function with side effects, also inside compiled programs.

    It is called each time the program reaches the call, even if the result is not used.

    Args:
      callback: receives arrays in the structure of `args` and `kwargs`; returns arrays, or values that NumPy converts
        to arrays, with the structure and types of `result_shape_dtypes`.
      result_shape_dtypes: a pytree of objects with a shape and a dtype; None if there is no result.
      args: arrays in any containers.
      sharding: None, or the sharding of one device.
      ordered: whether these calls happen in the order of the program, one after the other.
      kwargs: like `args`.

    Returns:
      Arrays in the structure of `result_shape_dtypes`.

    Raises:
      TypeError: `callback` is not callable, an argument is not an array, or a result type has no shape or dtype.
      ValueError: a result type has 64 bits without `enable_x64`.
      XlaError: the callback failed, or its result has another shape or dtype than declared. If nothing uses the result,
        `effects_barrier` may raise it.

    >>> import numpy as np
    >>> import primax as px
    >>> written = []
    >>> @px.jit
    ... def f(x):
    ...     px.io_callback(lambda x: written.append(float(x)), None, x, ordered=True)
    ...     return x + 1
    >>> f(f(1.0)).block_until_ready()
    Array(3., dtype=float32, weak_type=True)
    >>> px.effects_barrier()
    >>> written
    [1.0, 2.0]
    """
    require_callable("io_callback", callback)
    check_sharding("io_callback", sharding)
    avals, out_tree = result_types("io_callback", result_shape_dtypes)
    if has_user_types():
        args, kwargs = unpacked((args, kwargs))
    leaves, in_tree = tree.flatten((args, kwargs))
    avals_of(leaves, (args, kwargs), "io_callback", call=True)
    flat = FlatCallback(callback, "io_callback", in_tree, out_tree)
    outs = io_callback_p.bind(*leaves, callback=flat, result_avals=avals, ordered=bool(ordered))
    return tree.unflatten(out_tree, outs)


def effect_of(ordered: bool) -> core.Effect:
    return OrderedIOEffect() if ordered else IOEffect()


def _io_callback_impl(*args: Any, callback: Any, result_avals: Any, ordered: bool) -> list[Array]:
    if ordered:
        runtime.wait_for_effect(OrderedIOEffect())
    return run_eagerly(callback, args, result_avals)


def _io_callback_abstract_eval(*avals: Any, callback: Any, result_avals: Any, ordered: bool) -> tuple[Any, Any]:
    return list(result_avals), {effect_of(ordered)}


def _io_callback_batch(args: Any, dims: Any, *, callback: Any, result_avals: Any, ordered: bool) -> tuple[Any, Any]:
    if ordered:
        raise ValueError("io_callback: ordered must be False under vmap, since its elements have no order, got True")
    callback, moved, avals = one_by_one(callback, args, dims, result_avals)
    outs = io_callback_p.bind(*moved, callback=callback, result_avals=avals, ordered=False)
    return outs, [0] * len(outs)


@mlir.physical_lowering
def _io_callback_lowering(
    ctx: mlir.LoweringRuleContext, *args: Any, callback: Any, result_avals: Any, ordered: bool
) -> list[Any]:
    token = ctx.tokens_in[OrderedIOEffect()] if ordered and ctx.tokens_in else None
    results, after, _ = mlir.emit_python_callback(
        ctx, callback, token, args, ctx.avals_in, ctx.avals_out, has_side_effect=True, label=callback.label
    )
    if ordered:
        ctx.set_tokens_out({OrderedIOEffect(): after})
    return results


_REASON = (
    "the derivative of a Python function is unknown; call it in a function with custom derivatives, "
    "primax.custom_jvp or primax.custom_vjp, or with arguments that do not depend on what is differentiated"
)


RULES: Table = {
    io_callback_p: {
        "impl": _io_callback_impl,
        "effectful_abstract_eval": _io_callback_abstract_eval,
        "batch": _io_callback_batch,
        "lowering": _io_callback_lowering,
        "sharding": results_are_whole,
        "unsupported": {"jvp": _REASON, "transpose": _REASON},
    },
}
