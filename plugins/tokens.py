"""Tokens, which order operations, and operations of XLA on other values than arrays, under JAX's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.extend import core, hookimpl
from primax.extend.core import Array, ShapedArray, Token, abstract_token, register_aval, tree
from primax.extend.effects import Effect, register_effect
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.provisional.arguments import canonical_shape
from primax.extend.provisional.typing import ArrayLike

__all__ = [
    "after_all",
    "after_all_p",
    "create_token",
    "create_token_p",
    "dce_sink",
    "dce_sink_p",
    "rng_uniform",
    "rng_uniform_p",
]

create_token_p = core.Primitive("create_token")
after_all_p = core.Primitive("after_all")
dce_sink_p = core.Primitive("dce_sink", multiple_results=True)
rng_uniform_p = core.Primitive("rng_uniform")


class KeptEffect(Effect):
    """The effect of an operation that stays in a program although nothing uses its results."""

    def __repr__(self) -> str:
        return "Kept"


_KEPT = KeptEffect()
register_effect(KeptEffect, control_flow=True, custom_derivatives=True)
register_aval(Token, lambda token: abstract_token)


def create_token(_: object = None) -> Array:
    """A new token that waits for nothing.

    Args:
      _: ignored; JAX once took a value to wait for.

    >>> import primax as px
    >>> px.lax.create_token()
    Token()
    """
    return create_token_p.bind()


def after_all(*operands: object) -> Array:
    """A token that waits for all the given tokens.

    Args:
      operands: tokens.

    Raises:
      TypeError: an operand is not a token.

    >>> import primax as px
    >>> px.lax.after_all(px.lax.create_token(), px.lax.create_token())
    Token()
    """
    return after_all_p.bind(*operands)


def dce_sink(val: ArrayLike, *, prevent_mlir_dce: bool = False) -> None:
    """Keeps unused values in a program.

    Args:
      val: arrays in any containers.
      prevent_mlir_dce: whether to keep them in the lowered program, too, by a call that only compilers with support for
        it can compile.

    >>> import primax as px
    >>> print(px.make_jaxpr(px.lax.dce_sink)(1.0))
    { lambda ; a:f32[]. let dce_sink[prevent_mlir_dce=False] a in () }
    """
    for x in tree.flatten(val)[0]:
        dce_sink_p.bind(x, prevent_mlir_dce=bool(prevent_mlir_dce))


def rng_uniform(a: ArrayLike, b: ArrayLike, shape: Sequence[int]) -> Array:
    """Uniform random numbers from the device's own generator, different at each call.

    Use `primax.random.uniform` if the numbers must be reproducible.

    Args:
      a: the lower bound, a scalar.
      b: the upper bound, which is excluded; a scalar of the same dtype.
      shape: the shape of the result.

    Returns:
      An array of the shape and that dtype.

    Raises:
      TypeError: the dtype of `a` and `b` is not a float of 16 bits or more, or an integer of 32 bits or more;
        `shape` is not a sequence of integers.
      ValueError: `a` and `b` are not scalars, or their dtypes differ.

    >>> import primax as px
    >>> px.lax.rng_uniform(0.0, 1.0, (3,)).shape
    (3,)
    """
    return rng_uniform_p.bind(a, b, shape=canonical_shape(shape, "rng_uniform"))


def _token_types(*avals: Any) -> Any:
    for i, aval in enumerate(avals):
        if not isinstance(aval, core.AbstractToken):
            raise TypeError(f"after_all: operands must be tokens, got {aval.str_short()} for operand {i}")
    return abstract_token


def _create_token_lowering(ctx: mlir.LoweringRuleContext) -> list[Any]:
    return [mlir.hlo.create_token()]


def _after_all_lowering(ctx: mlir.LoweringRuleContext, *tokens: Any) -> list[Any]:
    return [mlir.hlo.after_all(tokens)]


def _after_all_impl(*tokens: Any) -> Token:
    _token_types(*map(core.get_aval, tokens))
    return Token()


def _after_all_jvp(primals: Any, tangents: Any) -> Any:
    token = after_all_p.bind(*primals)
    return token, ad.Zero.from_primal_value(token)


def _after_all_batch(args: Any, dims: Any) -> tuple[Array, None]:
    return after_all_p.bind(*args), batching.not_mapped


def _sink_impl(x: Any, **params: Any) -> list[Any]:
    return []


def _sink_types(x: Any, *, prevent_mlir_dce: bool) -> Any:
    return [], {_KEPT}


def _sink_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    return dce_sink_p.bind(*primals, **params), []


def _sink_batch(args: Any, dims: Any, **params: Any) -> Any:
    return dce_sink_p.bind(*args, **params), []


def _sink_lowering(ctx: Any, x: Any, *, prevent_mlir_dce: bool) -> Sequence[mlir.ir.Value]:
    if prevent_mlir_dce:
        mlir.custom_call(call_target_name="dce_sink", result_types=[], operands=[x], has_side_effect=True)
    return []


# XLA aborts the process for other dtypes.
_DRAWN = ("int32", "int64", "uint32", "uint64", "bfloat16", "float16", "float32", "float64")


def _uniform_types(a: Any, b: Any, *, shape: Any) -> ShapedArray:
    if a.dtype != b.dtype:
        raise ValueError(f"rng_uniform: a and b must have the same dtype, got {a.dtype} and {b.dtype}")
    if a.shape or b.shape:
        raise ValueError(f"rng_uniform: a and b must be scalars, got {a.str_short()} and {b.str_short()}")
    if a.dtype.name not in _DRAWN:
        raise TypeError(f"rng_uniform: the dtype of a and b must be one of {', '.join(_DRAWN)}, got {a.dtype}")
    return ShapedArray(shape, a.dtype)


def _uniform_lowering(ctx: Any, a: Any, b: Any, *, shape: Any) -> list[Any]:
    hlo = mlir.hlo
    lengths = mlir.ir_constant(np.asarray(shape, np.int64))
    return [hlo.rng(a, b, lengths, hlo.RngDistributionAttr.get("UNIFORM"))]


_NO_ARRAY = "tokens are not arrays"
_NOT_PURE = "its results differ between calls"


RULES: dict[core.Primitive, dict[str, Any]] = {
    create_token_p: {
        "impl": Token,
        "abstract_eval": _token_types,
        "lowering": _create_token_lowering,
        "unsupported": dict.fromkeys(("jvp", "batch", "transpose"), _NO_ARRAY),
        "samples": ["primax.plugins.samples.tokens:SAMPLES"],
    },
    after_all_p: {
        "impl": _after_all_impl,
        "abstract_eval": _token_types,
        "jvp": _after_all_jvp,
        "batch": _after_all_batch,
        "lowering": _after_all_lowering,
        "unsupported": {"transpose": _NO_ARRAY},
        "samples": ["primax.plugins.samples.tokens:SAMPLES"],
    },
    dce_sink_p: {
        "impl": _sink_impl,
        "effectful_abstract_eval": _sink_types,
        "jvp": _sink_jvp,
        "batch": _sink_batch,
        "lowering": _sink_lowering,
        "unsupported": {"transpose": "it has no results"},
        "samples": ["primax.plugins.samples.tokens:SAMPLES"],
    },
    rng_uniform_p: {
        "abstract_eval": _uniform_types,
        "lowering": _uniform_lowering,
        "unsupported": dict.fromkeys(("jvp", "batch", "transpose"), _NOT_PURE),
        "samples": ["primax.plugins.samples.tokens:SAMPLES"],
    },
}


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, **rules)
