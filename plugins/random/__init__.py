"""Random numbers: keys, bits, and what is drawn from them.

- `threefry`: the generator threefry2x32, on its raw keys uint32[2].
- `keys`: `check_key` makes a key of what a user passes; `random_bits` and `random_split` are what programs draw and
  derive from it.

A public function checks its arguments and calls a program that is compiled for their shapes, once:

    @partial(jit, static_argnames=("shape", "dtype"))
    def _uniform(key, minval, maxval, *, shape, dtype): ...

    def uniform(key, shape=(), ...):
        key = check_key(key, "uniform")
        ...
        return _uniform(key, minval, maxval, shape=shape, dtype=dtype)
"""

from __future__ import annotations

from typing import Any

from primax.extend import hookimpl
from primax.plugins.random import threefry as _threefry
from primax.plugins.random.threefry import threefry2x32_p

__all__ = ["threefry2x32_p"]


@hookimpl
def primax_register(registry: Any) -> None:
    for primitive, rules in _threefry.RULES.items():
        registry.define(primitive, **rules)
