"""`jax.CompilerEffortLevel`, the levels of two options of XLA."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["CompilerEffortLevel"]


class CompilerEffortLevel(IntEnum):
    """A value of `optimization_level` and `memory_fitting_level` in `compiler_options`: the number that XLA uses."""

    UNKNOWN = 0
    O0 = 9
    O1 = 19
    O2 = 29
    O3 = 39
