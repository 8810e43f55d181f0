"""Samples of calls to compiled functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import core
from primax.plugins.calls import call_params, jit_p


def _samples() -> list[core.Sample]:
    """Results that are computed, constants or arguments; and a nested call with an unused argument."""
    x, y, n = np.array([0.3, -1.2, 2.6]), np.array([1.7, 0.8, -0.6]), np.array([7, -3], np.int32)
    mul, add = core.primitives.mul_p.bind, core.primitives.add_p.bind

    def staged(fun: Any, *args: Any) -> core.ClosedJaxpr:
        return core.trace_to_jaxpr(fun, [core.get_aval(x) for x in args])

    with core.config.enable_x64(True):
        several = staged(lambda x, y, n: [mul(x, mul(x, y)), add(n, n), y, np.arange(2)], x, y, n)
        inner = call_params(staged(lambda x, y: [mul(x, x)], x, y), "inner", inline=True)
        outer = staged(lambda x, y: jit_p.bind(x, y, **inner), x, y)
    return [
        core.Sample([x, y, n], call_params(several, "several"), "several results"),
        core.Sample([x, y], {**call_params(outer, "outer"), "keep_unused": True}, "a call in a call"),
    ]


SAMPLES = {
    jit_p: _samples,
}
