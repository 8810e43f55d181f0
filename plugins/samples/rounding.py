"""Samples of rounding by each method."""

from __future__ import annotations

import numpy as np

from primax.extend import core
from primax.plugins.rounding import RoundingMethod, reduce_precision_p, round_p


def _round_samples() -> list[core.Sample]:
    halves = np.array([0.5, -2.5, 3.5], np.float32)
    return [
        core.Sample([np.array([0.3, -1.2, 2.6], np.float32)], {"rounding_method": RoundingMethod.AWAY_FROM_ZERO}),
        *(core.Sample([halves], {"rounding_method": method}, constant=[0]) for method in RoundingMethod),
    ]


def _reduce_precision_samples() -> list[core.Sample]:
    x = np.array([1 / 3, -7.7, 1e-6], np.float32)
    narrow = ({"exponent_bits": 5, "mantissa_bits": 2}, {"exponent_bits": 8, "mantissa_bits": 2})
    return [
        core.Sample([x], {"exponent_bits": 11, "mantissa_bits": 52}),
        *(core.Sample([x], params, constant=[0]) for params in narrow),
    ]


SAMPLES = {
    round_p: _round_samples,
    reduce_precision_p: _reduce_precision_samples,
}
