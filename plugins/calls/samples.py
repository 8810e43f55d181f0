"""Samples of calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import core
from primax.plugins.arithmetic import add, mul
from primax.plugins.calls.jit import jit
from primax.plugins.calls.primitive import jit_p
from primax.plugins.sampling import bound_by, numbers

__all__ = ["jit_samples"]


def jit_samples() -> list[core.Sample]:
    """With results that are computed, constant or arguments; and a call in a call that does not use an argument."""
    x, y, n = numbers((2, 3), np.float64), numbers((2, 3), np.float64, 5), numbers((4,), np.int32)

    def several(x: Any, y: Any, n: Any) -> Any:
        return mul(x, mul(x, y)), add(n, np.int32(1)), y, np.arange(2)

    def one(x: Any, y: Any) -> Any:
        return mul(x, x)

    return [
        bound_by(jit_p, jit(several), x, y, n, name="several results"),
        bound_by(jit_p, jit(jit(one), keep_unused=True, inline=True), x, y, name="a call in a call"),
    ]
