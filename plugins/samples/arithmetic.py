"""Samples of integer powers."""

from __future__ import annotations

import numpy as np

from primax.extend import core
from primax.extend.provisional.sampling import samples
from primax.plugins.arithmetic import integer_pow_p


def _integer_pow_samples() -> list[core.Sample]:
    powers = [{"y": y} for y in (3, -2, 0, 1)]
    return [*samples([(3,)], *powers)(), *samples([(3,)], {"y": 6}, dtype=np.int32)()]


SAMPLES = {
    integer_pow_p: _integer_pow_samples,
}
