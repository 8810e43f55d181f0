"""The generators of random bits by name, the scalar type of their keys, and the error for keys that are used twice."""

from __future__ import annotations

from primax.extend.errors import KeyReuseError
from primax.extend.random import find_prng_impl, prng_key

__all__ = ["KeyReuseError", "find_prng_impl", "prng_key"]
