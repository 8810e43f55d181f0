"""The names of `jax._src.random.threefry2x32` that packages use: the generator, on keys as plain integers."""

from __future__ import annotations

from primax.extend.random import threefry_2x32, threefry_prng_impl

__all__ = [
    "threefry_2x32",
    "threefry_fold_in",
    "threefry_prng_impl",
    "threefry_random_bits",
    "threefry_seed",
    "threefry_split",
]

threefry_seed = threefry_prng_impl.seed
threefry_split = threefry_prng_impl.split
threefry_fold_in = threefry_prng_impl.fold_in
threefry_random_bits = threefry_prng_impl.random_bits
