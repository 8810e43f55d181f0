"""Arrays of keys with their dtypes: how keys are made, split and used, for any generator.

A function of the generator, `PRNGImpl`, computes each primitive here from the words of one key; its lowering maps the
function over arrays of keys.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import Array, ShapedArray, config, get_aval
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.provisional import runtime
from primax.extend.provisional.avals import ExtendedArray, physical_aval
from primax.extend.provisional.sharding import axes_of_dims
from primax.extend.random import KeyDType, PRNGImpl
from primax.extend.rule_types import Table

random_bits_p = core.Primitive("random_bits")
random_clone_p = core.Primitive("random_clone")
random_fold_in_p = core.Primitive("random_fold_in")
random_seed_p = core.Primitive("random_seed")
random_split_p = core.Primitive("random_split")
random_unwrap_p = core.Primitive("random_unwrap")
random_wrap_p = core.Primitive("random_wrap")


def random_bits(key: Any, bit_width: int, shape: tuple[int, ...]) -> Array:
    """Unsigned integers of random bits.

    Args:
      key: a key, or an array of keys, whose axes come first in the result.
      bit_width: 8, 16, 32 or 64.
      shape: the shape of the numbers from one key.
    """
    return random_bits_p.bind(key, bit_width=bit_width, shape=shape)


def random_split(key: Any, shape: tuple[int, ...]) -> Array:
    """New keys.

    Args:
      key: a key, or an array of keys, whose axes come first in the result.
      shape: the shape of the keys from one key.
    """
    return random_split_p.bind(key, shape=shape)


def _impl_of(aval: ShapedArray, name: str) -> PRNGImpl:
    """The generator of an array of keys."""
    dtype: Any = aval.dtype
    if not isinstance(dtype, KeyDType):
        raise TypeError(f"{name}: its argument must be an array of keys, got {aval.str_short()}")
    return dtype.impl


@lru_cache(maxsize=512)
def _program(
    step: str, impl: PRNGImpl, avals: tuple[ShapedArray, ...], params: Any, options: tuple[bool, bool]
) -> core.ClosedJaxpr:
    """The program of a generator's function on the words of keys, mapped over the axes of arrays of keys."""
    mapped = [bool(aval.shape) for aval in avals]
    function = getattr(impl, step)

    def one(*xs: Any) -> Sequence[Any]:
        return [function(*xs, *params)]

    fun: Callable[..., Sequence[Any]] = one
    for size in reversed(max((aval.shape for aval in avals), key=len)):
        fun = _over(fun, size, mapped)
    closed = core.trace_to_jaxpr(fun, [physical_aval(aval) for aval in avals], f"{step} of generator {impl.name}")
    return closed


def _over(fun: Callable[..., Sequence[Any]], size: int, mapped: Sequence[bool]) -> Callable[..., Sequence[Any]]:
    """A function of arguments with a new leading axis, except for those that are not mapped."""
    axis = batching.AxisData(None, size)

    def over(*xs: Any) -> Sequence[Any]:
        outs, dims = batching.batch_flat(fun, axis, xs, [0 if flag else None for flag in mapped])
        return [batching.to_dim(x, size, dim, 0) for x, dim in zip(outs, dims, strict=True)]

    return over


def _by_generator(step: str, *names: str) -> Callable[..., Any]:
    """The lowering to a function of the generator.

    Args:
      step: the name of the function.
      names: the parameters that it takes after its arguments.
    """

    def lowering(ctx: mlir.LoweringRuleContext, *args: Any, **params: Any) -> list[Any]:
        (out,) = ctx.avals_out
        keys = ctx.avals_in[0] if isinstance(ctx.avals_in[0].dtype, KeyDType) else out
        values = tuple(params[name] for name in names)
        options = config.enable_x64.value, config.threefry_partitionable.value
        avals = tuple(aval.update(vma=frozenset()) for aval in ctx.avals_in)  # the lowering is that of one device
        closed = _program(step, keys.dtype.impl, avals, values, options)
        (actual,) = closed.out_avals
        expected = physical_aval(out)
        if (actual.shape, actual.dtype) != (expected.shape, expected.dtype):
            raise TypeError(
                f"{step} of generator {keys.dtype.impl.name!r} must return {expected.str_short()} "
                f"for {', '.join(aval.str_short() for aval in ctx.avals_in)}, got {actual.str_short()}"
            )
        return mlir.call_jaxpr(ctx, f"{keys.dtype.impl.tag}_{step}", closed, args)

    lowering.__name__ = f"lower_to({step})"
    return mlir.physical_lowering(lowering)


@mlir.physical_lowering
def _same(ctx: mlir.LoweringRuleContext, x: Any, **params: Any) -> list[Any]:
    return [x]


def _random_seed_abstract_eval(seeds: ShapedArray, *, impl: PRNGImpl) -> ShapedArray:
    if not dtypes.is_integer(seeds.dtype):
        raise TypeError(f"random_seed: seeds must be integers, got {seeds.str_short()}")
    return ShapedArray(seeds.shape, impl.dtype)


def _random_split_abstract_eval(keys: ShapedArray, *, shape: tuple[int, ...]) -> ShapedArray:
    _impl_of(keys, "random_split")
    return ShapedArray((*keys.shape, *shape), keys.dtype)


def _random_fold_in_abstract_eval(keys: ShapedArray, data: ShapedArray) -> ShapedArray:
    _impl_of(keys, "random_fold_in")
    if data.dtype != np.uint32:
        raise TypeError(f"random_fold_in: data must be uint32, got {data.str_short()}")
    if keys.shape and data.shape and keys.shape != data.shape:
        raise TypeError(
            f"random_fold_in: keys and data must have the same shape, or rank 0, got {keys.str_short()} and "
            f"{data.str_short()}"
        )
    return ShapedArray(keys.shape or data.shape, keys.dtype)


def _random_bits_abstract_eval(keys: ShapedArray, *, bit_width: int, shape: tuple[int, ...]) -> ShapedArray:
    _impl_of(keys, "random_bits")
    if bit_width not in (8, 16, 32, 64):
        raise TypeError(f"random_bits: bit_width must be 8, 16, 32 or 64, got {bit_width}")
    if isinstance(count := prod(shape), int) and count > 2**64:
        raise ValueError(f"random_bits: shape must have at most 2**64 elements, got {shape}")
    return ShapedArray((*keys.shape, *shape), np.dtype(f"uint{bit_width}"))


def _random_wrap_abstract_eval(base: ShapedArray, *, impl: PRNGImpl) -> ShapedArray:
    rank = base.ndim - len(impl.key_shape)
    if base.dtype != np.uint32 or base.shape[max(rank, 0) :] != impl.key_shape:
        raise TypeError(
            f"random_wrap: the words of keys of generator {impl.name!r} must be uint32 in a shape that ends with "
            f"{impl.key_shape}, got {base.str_short()}"
        )
    return ShapedArray(base.shape[:rank], impl.dtype)


def _random_unwrap_abstract_eval(keys: ShapedArray) -> ShapedArray:
    _impl_of(keys, "random_unwrap")
    return physical_aval(keys)


def _random_clone_abstract_eval(keys: ShapedArray) -> ShapedArray:
    _impl_of(keys, "random_clone")
    return keys


def _random_wrap_impl(base: Any, *, impl: PRNGImpl) -> ExtendedArray:
    _random_wrap_abstract_eval(get_aval(base), impl=impl)
    return ExtendedArray(runtime.shared(runtime.put_value(base)), impl.dtype)


def _random_unwrap_impl(keys: Any) -> Array:
    _impl_of(get_aval(keys), "random_unwrap")
    return runtime.shared(keys.base)


def _random_clone_impl(keys: Any) -> ExtendedArray:
    _impl_of(get_aval(keys), "random_clone")
    return ExtendedArray(runtime.shared(keys.base), keys.dtype)


def _random_wrap_batch(axis: batching.AxisData, args: Any, dims: Any, *, impl: PRNGImpl) -> tuple[Any, Any]:
    (base,), (dim,) = args, dims
    if dim is None:
        return random_wrap_p.bind(base, impl=impl), None
    return random_wrap_p.bind(batching.moveaxis(base, dim, 0), impl=impl), 0


def _keys_in_front(keys: ShapedArray, *, shape: tuple[int, ...], **params: Any) -> list[Any]:
    """The sharding rule for arrays of a given shape from each key."""
    return [(*axes_of_dims(keys), *[()] * len(shape))]


# Results have the axes of the array of keys first, so a mapped axis keeps its position.
RULES: Table = {
    random_seed_p: {
        "abstract_eval": _random_seed_abstract_eval,
        "batch": batching.vectorized(random_seed_p),
        "lowering": _by_generator("seed"),
    },
    random_split_p: {
        "abstract_eval": _random_split_abstract_eval,
        "batch": batching.vectorized(random_split_p),
        "lowering": _by_generator("split", "shape"),
        "sharding": _keys_in_front,
        "key_use": lambda uses, eqn, walk: walk.consumed(),
    },
    random_fold_in_p: {
        "abstract_eval": _random_fold_in_abstract_eval,
        "batch": batching.broadcasting(random_fold_in_p),
        "lowering": _by_generator("fold_in"),
        "key_use": lambda uses, eqn, walk: walk.new(),
    },
    random_bits_p: {
        "abstract_eval": _random_bits_abstract_eval,
        "batch": batching.vectorized(random_bits_p),
        "lowering": _by_generator("random_bits", "bit_width", "shape"),
        "sharding": _keys_in_front,
        "key_use": lambda uses, eqn, walk: walk.consumed(),
    },
    random_wrap_p: {
        "impl": _random_wrap_impl,
        "abstract_eval": _random_wrap_abstract_eval,
        "axis_batch": _random_wrap_batch,
        "lowering": _same,
        "sharding": "... _ -> ...",
    },
    random_unwrap_p: {
        "impl": _random_unwrap_impl,
        "abstract_eval": _random_unwrap_abstract_eval,
        "batch": batching.vectorized(random_unwrap_p),
        "lowering": _same,
        "sharding": "... -> ... _",
        "key_use": lambda uses, eqn, walk: walk.new(),
    },
    random_clone_p: {
        "impl": _random_clone_impl,
        "abstract_eval": _random_clone_abstract_eval,
        "batch": batching.vectorized(random_clone_p),
        "lowering": _same,
        "key_use": lambda uses, eqn, walk: walk.new(),
    },
}
for _primitive, _rules in RULES.items():
    _rules["jvp"] = ad.zero_jvp(_primitive)
