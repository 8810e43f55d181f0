"""Random keys and bits, and the basic distributions. The other distributions are library functions, in `primax.random`.

- `threefry`: the generator threefry2x32.
- `rbg`: the generators rbg and unsafe_rbg, and XLA's generator, on which they are based.
- `keys`: arrays of keys and the primitives that make, split and use them, for any generator; programs draw bits by
  `random_bits` and derive keys by `random_split`.
- `arguments`: `check_key` converts a user's argument to a key.
- `functions`: the public functions that make, split and read keys, and draw bits.
- `numbers`: uniform, exponential and normal numbers, from which distributions are computed; `sampler` compiles them.
- `gamma`: gamma variables, which have their own derivatives.
- `key_reuse`: the option `debug_key_reuse`, and the functions for the `key_use` rules of primitives.
"""

from __future__ import annotations

from primax.extend import core, hookimpl
from primax.extend.provisional.runtime import register_watch
from primax.extend.random import register_prng_impl
from primax.extend.rule_types import Table
from primax.plugins.random import gamma as _gamma
from primax.plugins.random import keys as _keys
from primax.plugins.random import rbg as _rbg
from primax.plugins.random import threefry as _threefry
from primax.plugins.random.functions import (
    PRNGKey,
    bits,
    clone,
    fold_in,
    key,
    key_data,
    key_dtype,
    key_impl,
    split,
    wrap_key_data,
)
from primax.plugins.random.gamma import random_gamma_p
from primax.plugins.random.key_reuse import watch_keys
from primax.plugins.random.keys import (
    random_bits_p,
    random_clone_p,
    random_fold_in_p,
    random_seed_p,
    random_split_p,
    random_unwrap_p,
    random_wrap_p,
)
from primax.plugins.random.rbg import (
    RandomAlgorithm,
    rbg_prng_impl,
    rng_bit_generator,
    rng_bit_generator_p,
    unsafe_rbg_prng_impl,
)
from primax.plugins.random.threefry import threefry2x32_p, threefry_prng_impl

__all__ = [
    "PRNGKey",
    "RandomAlgorithm",
    "bits",
    "clone",
    "fold_in",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "random_bits_p",
    "random_clone_p",
    "random_fold_in_p",
    "random_gamma_p",
    "random_seed_p",
    "random_split_p",
    "random_unwrap_p",
    "random_wrap_p",
    "rbg_prng_impl",
    "rng_bit_generator",
    "rng_bit_generator_p",
    "split",
    "threefry2x32_p",
    "threefry_prng_impl",
    "unsafe_rbg_prng_impl",
    "wrap_key_data",
]

RULES: Table = _threefry.RULES | _rbg.RULES | _keys.RULES | _gamma.RULES


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, samples=["primax.plugins.samples.random:SAMPLES"], **rules)
    register_watch(core.config.debug_key_reuse, watch_keys)
    for impl in (threefry_prng_impl, rbg_prng_impl, unsafe_rbg_prng_impl):
        register_prng_impl(impl, registry)
