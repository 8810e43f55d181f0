"""The platform's own generator of bits, and the generators of keys based on it; fast, but changed by `vmap`.

The bits of a key are the same only on one platform and in one release of XLA. Under `vmap` all bits come from
the first key. `rbg` splits keys by threefry2x32, `unsafe_rbg` draws new keys from XLA's generator.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.provisional.arguments import canonical_shape
from primax.extend.provisional.dimensions import is_symbolic
from primax.extend.provisional.typing import DTypeLike, KeyLike, ShardingLike
from primax.extend.random import define_prng_impl
from primax.extend.rule_types import Table
from primax.plugins.bitwise import bitwise_xor
from primax.plugins.random.threefry import threefry_fold_in, threefry_seed, threefry_split
from primax.plugins.resharding import resharded
from primax.plugins.structural import concatenate_p, reshape_p, slice_p, squeeze, squeeze_p

rng_bit_generator_p = core.Primitive("rng_bit_generator", multiple_results=True)

_STATES = {((4,), np.dtype(np.uint32)), ((2,), np.dtype(np.uint64))}


class RandomAlgorithm(enum.IntEnum):
    """The algorithms of `rng_bit_generator`."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2

    def __str__(self) -> str:
        return self.name


def rng_bit_generator(
    key: KeyLike,
    shape: Sequence[int],
    dtype: DTypeLike = np.uint32,
    algorithm: RandomAlgorithm = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: ShardingLike | None = None,
) -> tuple[Any, Any]:
    """The new state of XLA's generator, and random bits from it.

    Args:
      key: the state, uint32[4] or uint64[2].
      shape: the shape of the bits.
      dtype: their dtype: uint8, uint16, uint32 or uint64.
      algorithm: the algorithm of the generator.
      out_sharding: their sharding along explicit axes of the mesh in scope; by default as types determine.

    Raises:
      TypeError: an argument has another type.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> state = np.zeros(4, np.uint32)
      >>> new_state, bits = lax.rng_bit_generator(state, (2, 3), np.uint8)
      >>> bits.shape, bits.dtype, new_state.shape
      ((2, 3), dtype('uint8'), (4,))
    """
    state, bits = rng_bit_generator_p.bind(
        key,
        shape=canonical_shape(shape, "rng_bit_generator"),
        dtype=dtypes.check_user_dtype(dtype, "dtype", "rng_bit_generator"),
        algorithm=_algorithm(algorithm),
    )
    return state, bits if out_sharding is None else resharded("rng_bit_generator", bits, out_sharding)


def _algorithm(value: Any) -> RandomAlgorithm:
    try:
        return RandomAlgorithm(value)
    except ValueError:
        raise ValueError(
            f"rng_bit_generator: algorithm must be one of {', '.join(map(repr, RandomAlgorithm))}, got {value!r}"
        ) from None


def _rng_bit_generator_abstract_eval(
    key: ShapedArray, *, shape: tuple[int, ...], dtype: Any, algorithm: RandomAlgorithm
) -> list[ShapedArray]:
    if (key.shape, key.dtype) not in _STATES:
        raise TypeError(f"rng_bit_generator: key must be uint32[4] or uint64[2], got {key.str_short()}")
    if not dtypes.is_unsigned_integer(dtype) or dtypes.itemsize_bits(dtype) < 8:
        raise TypeError(f"rng_bit_generator: dtype must be uint8, uint16, uint32 or uint64, got {dtype}")
    return [key, ShapedArray(shape, dtype)]


def _rng_bit_generator_jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    outs = rng_bit_generator_p.bind(*primals, **params)
    return outs, [ad.Zero.from_primal_value(out) for out in outs]


def _rng_bit_generator_batch(args: Any, dims: Any, *, shape: tuple[int, ...], **params: Any) -> tuple[Any, Any]:
    """The bits of all elements from the first key, which alone advances."""
    keys = batching.moveaxis(args[0], dims[0], 0)
    size, *words = get_aval(keys).shape
    if not size:
        state, bits = rng_bit_generator_p.bind(np.zeros(words, get_aval(keys).dtype), shape=(0, *shape), **params)
        return [keys, bits], [0, 0]
    first = slice_p.bind(keys, start_indices=(0, 0), limit_indices=(1, *words), strides=None)
    others = slice_p.bind(keys, start_indices=(1, 0), limit_indices=(size, *words), strides=None)
    state, bits = rng_bit_generator_p.bind(squeeze(first, (0,)), shape=(size, *shape), **params)
    state = reshape_p.bind(state, new_sizes=(1, *words), dimensions=None)
    return [concatenate_p.bind(state, others, dimension=0), bits], [0, 0]


_ALGORITHMS = ("DEFAULT", "THREE_FRY", "PHILOX")


def _rng_bit_generator_lowering(
    ctx: mlir.LoweringRuleContext, key: Any, *, algorithm: RandomAlgorithm, **params: Any
) -> list[Any]:
    hlo = mlir.hlo
    state_aval, bits_aval = ctx.avals_out
    wide = mlir.aval_to_ir_type(ShapedArray((2,), np.dtype(np.uint64)))
    words = state_aval.dtype == np.uint32
    if words:
        pairs = mlir.aval_to_ir_type(ShapedArray((2, 2), np.dtype(np.uint32)))
        key = hlo.bitcast_convert(wide, hlo.reshape(pairs, key))
    kind, kinds = hlo.RngAlgorithmAttr.get(_ALGORITHMS[algorithm]), (wide, mlir.aval_to_ir_type(bits_aval))
    if is_symbolic(bits_aval.shape):
        sizes = mlir.shape_tensor(bits_aval.shape)
        operation = mlir.custom_call(
            "stablehlo.dynamic_rng_bit_generator",
            result_types=kinds,
            operands=[key, sizes],
            extra_attributes={"rng_algorithm": kind},
            result_shapes=[mlir.shape_tensor((2,)), sizes],
        )
    else:
        operation = hlo.RngBitGeneratorOp(*kinds, kind, key)
    state, bits = operation.results
    if words:
        state = hlo.reshape(mlir.aval_to_ir_type(state_aval), hlo.bitcast_convert(pairs, state))
    return [state, bits]


def _bits(key: Any, shape: tuple[int, ...], bit_width: int = 32) -> Array:
    dtype = np.dtype(f"uint{bit_width}")
    return rng_bit_generator_p.bind(key, shape=shape, dtype=dtype, algorithm=RandomAlgorithm.RNG_DEFAULT)[1]


def _part(x: Any, start: int, limit: int, step: int = 1) -> Any:
    """Every `step`-th element of an array along its first axis."""
    rest = get_aval(x).shape[1:]
    return slice_p.bind(
        x,
        start_indices=(start, *(0 for _ in rest)),
        limit_indices=(limit, *rest),
        strides=None if step == 1 else (step, *(1 for _ in rest)),
    )


def _rbg_seed(seed: Any) -> Array:
    half = threefry_seed(seed)
    return concatenate_p.bind(half, half, dimension=0)


def _rbg_split(key: Any, shape: tuple[int, ...]) -> Array:
    halves = [threefry_split(_part(key, i, i + 2), shape) for i in (0, 2)]
    return concatenate_p.bind(*halves, dimension=len(shape))


def _rbg_fold_in(key: Any, data: Any) -> Array:
    halves = [threefry_fold_in(_part(key, i, i + 2), data) for i in (0, 2)]
    return concatenate_p.bind(*halves, dimension=0)


def _rbg_random_bits(key: Any, bit_width: int, shape: tuple[int, ...]) -> Array:
    return _bits(key, shape, bit_width)


_APART = 10  # the distance between the draws for new keys of unsafe_rbg


def _unsafe_rbg_split(key: Any, shape: tuple[int, ...]) -> Array:
    count = _APART * prod(shape)
    drawn = _part(_bits(key, (count, 4)), 0, count, _APART)
    return reshape_p.bind(drawn, new_sizes=(*shape, 4), dimensions=None)


def _unsafe_rbg_fold_in(key: Any, data: Any) -> Array:
    drawn = _part(_bits(_rbg_seed(data), (_APART, 4)), _APART - 1, _APART)
    return bitwise_xor(key, squeeze_p.bind(drawn, dimensions=(0,)))


rbg_prng_impl = define_prng_impl(
    key_shape=(4,),
    seed=_rbg_seed,
    split=_rbg_split,
    random_bits=_rbg_random_bits,
    fold_in=_rbg_fold_in,
    name="rbg",
    tag="rbg",
)

unsafe_rbg_prng_impl = define_prng_impl(
    key_shape=(4,),
    seed=_rbg_seed,
    split=_unsafe_rbg_split,
    random_bits=_rbg_random_bits,
    fold_in=_unsafe_rbg_fold_in,
    name="unsafe_rbg",
    tag="urbg",
)

RULES: Table = {
    rng_bit_generator_p: {
        "abstract_eval": _rng_bit_generator_abstract_eval,
        "jvp": _rng_bit_generator_jvp,
        "batch": _rng_bit_generator_batch,
        "lowering": _rng_bit_generator_lowering,
    },
}
