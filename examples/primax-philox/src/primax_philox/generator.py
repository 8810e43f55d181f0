"""The functions of a generator: keys from seeds, new keys from keys, and bits.

A key consists of the two words of a Philox key. The third word of the counter is 0 for bits, 1 for the keys of `split`
and 2 for the keys of `fold_in`, so they never share a counter. The first word counts.
"""

from __future__ import annotations

import math
from typing import Any

import primax as px
import primax.numpy as pnp
from primax.extend import hookimpl
from primax.extend.random import define_prng_impl, register_prng_impl
from primax_philox.rounds import philox4x32

__all__ = ["philox", "primax_register"]

_BITS, _SPLIT, _FOLD_IN = range(3)


def _words(key: Any, counts: Any, purpose: int) -> tuple[Any, ...]:
    """Four words for each count."""
    zero = pnp.zeros_like(counts)
    return philox4x32((counts, zero, zero + pnp.uint32(purpose), zero), (key[0], key[1]))


def _counts(size: int) -> Any:
    if size > 2**32:
        raise ValueError(f"philox: at most 2**32 blocks can be drawn from a key at once, got {size}")
    return px.lax.iota("uint32", size)


def _seed(seed: Any) -> Any:
    high = px.lax.shift_right_logical(seed, seed.dtype.type(32)) if seed.dtype.itemsize == 8 else pnp.zeros_like(seed)
    return pnp.stack([seed.astype("uint32"), high.astype("uint32")])


def _split(key: Any, shape: tuple[int, ...]) -> Any:
    first, second, *_ = _words(key, _counts(math.prod(shape)), _SPLIT)
    return pnp.stack([first, second], axis=-1).reshape(*shape, 2)


def _fold_in(key: Any, data: Any) -> Any:
    return pnp.stack(_words(key, data, _FOLD_IN)[:2])


def _random_bits(key: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    size = math.prod(shape)
    blocks = -(-size * bit_width // 128)
    words = pnp.stack(_words(key, _counts(blocks), _BITS), axis=-1)
    dtype = pnp.dtype(f"uint{bit_width}")
    if bit_width == 64:
        words = words.reshape(-1, 2)
    bits = px.lax.bitcast_convert_type(words, dtype)
    return bits.ravel()[:size].reshape(shape)


philox = define_prng_impl(
    key_shape=(2,),
    seed=_seed,
    split=_split,
    random_bits=_random_bits,
    fold_in=_fold_in,
    name="philox",
    tag="phi",
)


@hookimpl
def primax_register(registry: Any) -> None:
    """Register the generator. primax calls this when a program first needs a rule or an unknown generator."""
    register_prng_impl(philox, registry)
