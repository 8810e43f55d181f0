"""The generators of random bits by name, and the scalar type of their keys."""

from __future__ import annotations

from primax.extend.random import find_prng_impl, prng_key

__all__ = ["find_prng_impl", "prng_key"]
