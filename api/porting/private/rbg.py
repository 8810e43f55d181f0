"""The functions of `jax._src.random.rbg`, which pickles of JAX name: those of XLA's generator."""

from __future__ import annotations

from primax.extend.random import find_prng_impl

__all__: list[str] = []

_rbg = find_prng_impl("rbg")
_unsafe_rbg = find_prng_impl("unsafe_rbg")

_rbg_seed, _rbg_split, _rbg_fold_in, _rbg_random_bits = _rbg.seed, _rbg.split, _rbg.fold_in, _rbg.random_bits
_unsafe_rbg_split, _unsafe_rbg_fold_in = _unsafe_rbg.split, _unsafe_rbg.fold_in
