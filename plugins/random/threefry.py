"""Threefry-2x32: bits from a key of two words and a counter, by 20 rounds of adding, rotating and mixing.

J. Salmon, M. Moraes, R. Dror and D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC '11. Seeds, splits and
counters agree with jax's, with `jax_threefry_partitionable`, bit for bit. A key here is an array uint32[2].
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import Array, ShapedArray, config, get_aval
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.provisional.elementwise import Accepts, elementwise_abstract_eval
from primax.extend.random import define_prng_impl
from primax.extend.rule_types import Table
from primax.plugins.arithmetic import add, add_p
from primax.plugins.bitwise import bitwise_or, bitwise_xor, shift_left, shift_right_logical
from primax.plugins.control_flow import scan
from primax.plugins.structural import (
    broadcast_in_dim_p,
    concatenate_p,
    convert_element_type_p,
    iota_p,
    reshape_p,
    slice_p,
    split_p,
    squeeze_p,
)

threefry2x32_p = core.Primitive("threefry2x32", multiple_results=True)

_UINT32 = np.dtype(np.uint32)
_UINTS = {bits: np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)}
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)
_WORDS = Accepts("uint32", lambda dtype: dtype == _UINT32)


def threefry_seed(seed: Any) -> Array:
    """The key of an integer of rank 0: its upper and its lower 32 bits."""
    dtype = get_aval(seed).dtype
    low = convert_element_type_p.bind(seed, new_dtype=_UINT32, weak_type=False)
    if dtype.itemsize < 8:
        return _pair(np.uint32(0), low)
    high = shift_right_logical(seed, dtype.type(32))
    return _pair(convert_element_type_p.bind(high, new_dtype=_UINT32, weak_type=False), low)


def threefry_split(key: Any, shape: tuple[int, ...]) -> Array:
    """Keys of that shape, uint32[*shape, 2]: the bits at the counts 0, 1, ..."""
    if not config.threefry_partitionable.value:
        return reshape_p.bind(_in_halves(key, 2 * prod(shape)), new_sizes=(*shape, 2), dimensions=None)
    high, low = _mixed_by_loop(_words(key), iota_2x32(shape), shape)
    return concatenate_p.bind(_with_last_axis(high), _with_last_axis(low), dimension=len(shape))


def threefry_fold_in(key: Any, data: Any) -> Array:
    """The key at the count `data`, a uint32 of rank 0."""
    return _pair(*_mixed_by_loop(_words(key), (np.uint32(0), data), ()))


def threefry_random_bits(key: Any, bit_width: int, shape: tuple[int, ...]) -> Array:
    """Unsigned integers of 8, 16, 32 or 64 bits, at the counts 0, 1, ...; for fewer than 64 the two words are mixed."""
    if not config.threefry_partitionable.value:
        return _bits_in_halves(key, bit_width, shape)
    high, low = threefry2x32_p.bind(*_words(key), *iota_2x32(shape))
    if bit_width == 64:
        dtype = _UINTS[64]
        high, low = (convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False) for x in (high, low))
        return bitwise_or(shift_left(high, np.uint64(32)), low)
    mixed = bitwise_xor(high, low)
    if bit_width == 32:
        return mixed
    return convert_element_type_p.bind(mixed, new_dtype=_UINTS[bit_width], weak_type=False)


def _in_halves(key: Any, count: int) -> Array:
    """Words; the first half are the upper ones, as without `threefry_partitionable`."""
    if count >= 2**32:
        raise ValueError(
            f"random_bits: fewer than 2**32 words are drawn at once without threefry_partitionable, got {count}"
        )
    half = -(-count // 2)
    counts = iota_p.bind(dtype=_UINT32, shape=(2 * half,), dimension=0)
    if count % 2:
        last = broadcast_in_dim_p.bind(np.uint32(0), shape=(1,), broadcast_dimensions=())
        counts = concatenate_p.bind(iota_p.bind(dtype=_UINT32, shape=(count,), dimension=0), last, dimension=0)
    words = threefry2x32_p.bind(*_words(key), *split_p.bind(counts, sizes=(half, half), axis=0))
    return _first(concatenate_p.bind(*words, dimension=0), count)


def _first(x: Any, count: int) -> Array:
    if get_aval(x).shape == (count,):
        return x
    return slice_p.bind(x, start_indices=(0,), limit_indices=(count,), strides=None)


def _bits_in_halves(key: Any, bit_width: int, shape: tuple[int, ...]) -> Array:
    """Bits as without `threefry_partitionable`."""
    size, dtype = prod(shape), _UINTS[bit_width]
    count = -(-bit_width * size // 32)
    words = _in_halves(key, count)
    if bit_width == 64:
        halves = split_p.bind(words, sizes=(size, size), axis=0)
        high, low = (convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False) for x in halves)
        words = bitwise_or(shift_left(high, np.uint64(32)), low)
    elif bit_width < 32:
        parts = [shift_right_logical(words, np.uint32(shift)) for shift in range(0, 32, bit_width)]
        narrow = [convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False) for x in parts]
        wide = concatenate_p.bind(*map(_with_last_axis, narrow), dimension=1)
        words = _first(_reshape_flat(wide, count * 32 // bit_width), size)
    return reshape_p.bind(words, new_sizes=shape, dimensions=None)


def _reshape_flat(x: Any, count: int) -> Array:
    return reshape_p.bind(x, new_sizes=(count,), dimensions=None)


def iota_2x32(shape: tuple[int, ...]) -> tuple[Any, Any]:
    """The 64-bit numbers 0, 1, ... in an array of a shape, in row-major order: their upper and their lower words.

    The upper words are a scalar if all of them are 0.
    """
    size = prod(shape)
    if not shape:
        return np.uint32(0), np.uint32(0)
    if isinstance(size, int) and size <= 2**32:
        return np.uint32(0), _reshape(iota_p.bind(dtype=_UINT32, shape=(size,), dimension=0), shape)
    return wide_iota_2x32(shape)


def wide_iota_2x32(shape: tuple[int, ...]) -> tuple[Any, Any]:
    """`iota_2x32` for any number of elements, by 64-bit arithmetic."""
    with config.enable_x64(True):
        counts = _reshape(iota_p.bind(dtype=_UINTS[64], shape=(prod(shape),), dimension=0), shape)
        high = shift_right_logical(counts, np.uint64(32))
        words = [convert_element_type_p.bind(x, new_dtype=_UINT32, weak_type=False) for x in (high, counts)]
    return words[0], words[1]


def _reshape(x: Any, shape: tuple[int, ...]) -> Array:
    return x if len(shape) == 1 else reshape_p.bind(x, new_sizes=shape, dimensions=None)


def _words(key: Any) -> list[Any]:
    """The two words of a key."""
    halves = (slice_p.bind(key, start_indices=(i,), limit_indices=(i + 1,), strides=None) for i in (0, 1))
    return [squeeze_p.bind(half, dimensions=(0,)) for half in halves]


def _pair(high: Any, low: Any) -> Array:
    """The key of two words."""
    return concatenate_p.bind(_with_last_axis(high), _with_last_axis(low), dimension=0)


def _with_last_axis(x: Any) -> Array:
    shape = get_aval(x).shape
    return broadcast_in_dim_p.bind(x, shape=(*shape, 1), broadcast_dimensions=tuple(range(len(shape))))


_same_types = elementwise_abstract_eval("threefry2x32", [_WORDS] * 4, same_shape=True)


def _threefry2x32_abstract_eval(*avals: ShapedArray) -> list[ShapedArray]:
    return [_same_types(*avals)] * 2


def _threefry2x32_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    outs = threefry2x32_p.bind(*primals)
    return outs, [ad.Zero.from_primal_value(out) for out in outs]


def _threefry2x32_batch(args: Any, dims: Any) -> tuple[Any, Any]:
    outs, dim = batching.broadcasting(threefry2x32_p)(args, dims)
    return outs, [dim, dim]


def _rounds(key0: Any, key1: Any, x: Any, y: Any) -> list[Any]:
    """Two counts, mixed under the two words of a key."""
    schedule = (key0, key1, bitwise_xor(bitwise_xor(key0, key1), _PARITY))
    x, y = add(x, key0), add(y, key1)
    for i in range(5):
        for distance in _ROTATIONS[i % 2]:
            x, y = _mix(x, y, np.uint32(distance), np.uint32(32 - distance))
        x = add(x, schedule[(i + 1) % 3])
        y = add(y, add(schedule[(i + 2) % 3], np.uint32(i + 1)))
    return [x, y]


def _mix(x: Any, y: Any, left: Any, right: Any) -> tuple[Any, Any]:
    x = add(x, y)
    return x, bitwise_xor(bitwise_or(shift_left(y, left), shift_right_logical(y, right)), x)


_STEPS = np.array([[*_ROTATIONS[i % 2], *(32 - np.array(_ROTATIONS[i % 2])), i + 1] for i in range(5)], np.uint32)


def _mixed_by_loop(key: Sequence[Any], count: Sequence[Any], shape: tuple[int, ...]) -> tuple[Any, Any]:
    """`_rounds` for the words of new keys, of a shape.

    XLA would repeat the rounds in each kernel that uses a key, for every number. The results of a loop are read from
    memory instead, and kernels compile several times faster.
    """

    def step(carry: Any, row: Any) -> tuple[Any, None]:
        x, y, first, second, third = carry
        *distances, number = (
            squeeze_p.bind(part, dimensions=(0,)) for part in split_p.bind(row, sizes=(1,) * 9, axis=0)
        )
        for left, right in zip(distances[:4], distances[4:], strict=True):
            x, y = _mix(x, y, left, right)
        return (add(x, second), add(y, add(third, number)), second, third, first), None

    key0, key1 = key
    third = bitwise_xor(bitwise_xor(key0, key1), _PARITY)
    x, y = (_of_shape(add_p.bind(*pair), shape) for pair in zip(count, key, strict=True))
    (x, y, _, _, _), _ = scan(step, (x, y, key0, key1, third), _STEPS)
    return x, y


def _of_shape(x: Any, shape: tuple[int, ...]) -> Array:
    return x if get_aval(x).shape == shape else broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=())


@lru_cache(maxsize=64)
def _program(avals: tuple[ShapedArray, ...]) -> core.ClosedJaxpr:
    return core.trace_to_jaxpr(_rounds, avals, "threefry2x32")


def _threefry2x32_lowering(ctx: mlir.LoweringRuleContext, *args: Any) -> list[Any]:
    # One function of the module for each signature, however often a program uses it.
    return mlir.call_jaxpr(ctx, "threefry2x32", _program(tuple(ctx.avals_in)), args)


threefry_prng_impl = define_prng_impl(
    key_shape=(2,),
    seed=threefry_seed,
    split=threefry_split,
    random_bits=threefry_random_bits,
    fold_in=threefry_fold_in,
    name="threefry2x32",
    tag="fry",
)

RULES: Table = {
    threefry2x32_p: {
        "abstract_eval": _threefry2x32_abstract_eval,
        "jvp": _threefry2x32_jvp,
        "batch": _threefry2x32_batch,
        "lowering": _threefry2x32_lowering,
        "sharding": "..., ..., ..., ... -> ..., ...",
    },
}
