"""Samples of functions with custom batch rules that agree with a loop."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.provisional.sampling import bound_by, numbers
from primax.plugins.arithmetic import add, mul
from primax.plugins.custom_batching.custom_vmap import custom_vmap
from primax.plugins.custom_batching.rules import custom_vmap_call_p
from primax.plugins.structural import broadcast_in_dim
from primax.plugins.trigonometry import sin


def _vmap_samples() -> list[core.Sample]:
    """Two results, each of which is mapped only if some of the arguments are."""
    x, y, n = numbers((3,), np.float64), numbers((3,), np.float64, 4), numbers((2,), np.int32)

    @custom_vmap
    def wave(x: Any, y: Any, n: Any) -> tuple[Any, Any]:
        return mul(sin(x), y), add(n, n)

    @wave.def_vmap
    def wave_vmap(axis_size: int, in_batched: Any, x: Any, y: Any, n: Any) -> tuple[Any, Any]:
        *floats, counted = in_batched
        rows = [a if b else broadcast_in_dim(a, (axis_size, 3), (1,)) for a, b in zip((x, y), floats, strict=True)]
        return (mul(sin(rows[0]), rows[1]), add(n, n)), (True, counted)

    return [bound_by(custom_vmap_call_p, wave, x, y, n, name="two results")]


SAMPLES = {custom_vmap_call_p: _vmap_samples}
