"""Samples of operations with their own program, and of calls."""

from __future__ import annotations

import numpy as np

from primax.extend import core
from primax.plugins.composite import call_p, closed_call_p, composite_p


def _call_samples() -> list[core.Sample]:
    x = np.array([0.3, -1.2, 2.6], np.float32)
    closed = core.trace_to_jaxpr(lambda x: [core.primitives.mul_p.bind(x, x)], [core.get_aval(x)], "square")
    return [core.Sample([x], {"call_jaxpr": closed}, reference=lambda x, **_: [x * x])]


def _samples() -> list[core.Sample]:
    x = np.array([0.3, -1.2, 2.6], np.float32)
    closed = core.trace_to_jaxpr(lambda x: [core.primitives.mul_p.bind(x, x)], [core.get_aval(x)], "square")
    params = {"jaxpr": closed, "name": "primax.square", "version": 1, "attributes": (("axis", 0),)}
    return [core.Sample([x], params, reference=lambda x, **_: [x * x])]


SAMPLES = {
    composite_p: _samples,
    call_p: _call_samples,
    closed_call_p: _call_samples,
}
