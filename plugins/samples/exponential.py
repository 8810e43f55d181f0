"""Samples of powers."""

from __future__ import annotations

import numpy as np

from primax.extend import core
from primax.extend.provisional.elementwise import INEXACT
from primax.extend.provisional.sampling import elementwise_samples
from primax.plugins.exponential import pow_p


def _pow_samples() -> list[core.Sample]:
    x, y, n = np.array([0.3, 1.7, 2.6], np.float32), (1.5, -0.5, 2.2), np.array([3, -2, 1], np.int32)
    of_integers = [core.Sample(args) for args in ([-x, n], [x, n[0]], [x[0], n])]
    return [*elementwise_samples((INEXACT, INEXACT), at=(x.tolist(), y))(), *of_integers]


SAMPLES = {
    pow_p: _pow_samples,
}
