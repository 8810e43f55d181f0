"""Samples of operations that keep values in programs."""

from __future__ import annotations

import numpy as np

from primax.extend import core
from primax.plugins.tokens import dce_sink_p


def _samples() -> list[core.Sample]:
    x = np.array([0.5, -1.25], np.float32)
    return [core.Sample([x], {"prevent_mlir_dce": False}, reference=lambda x, **_: [])]


SAMPLES = {dce_sink_p: _samples}
