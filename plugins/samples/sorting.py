"""Samples of sorting, also by several keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.provisional.elementwise import ORDERED
from primax.extend.provisional.sampling import array_samples, numbers, samples
from primax.plugins.sorting import sort_p, top_k_p


def _sort_samples() -> list[core.Sample]:
    x = numbers((2, 3))
    twice, other = np.array([[2, 1, 2], [1, 2, 1]], np.int32), np.array([[5, 4, 3], [0, 1, 2]], np.int32)
    cases: list[tuple[list[Any], int, bool, int]] = [
        ([x], 0, True, 1),
        ([x], 1, False, 1),
        ([numbers((2, 3), np.complex64)], 1, True, 1),
        ([twice, x], 1, True, 1),
        ([twice, other, x], 1, True, 2),
    ]
    return [
        core.Sample(args, {"dimension": axis, "is_stable": stable, "num_keys": keys}, reference=_sorted)
        for args, axis, stable, keys in cases
    ]


def _sorted(*xs: Any, dimension: int, is_stable: bool, num_keys: int) -> list[Any]:
    order = np.lexsort(xs[:num_keys][::-1], dimension)
    return [np.take_along_axis(x, order, dimension) for x in xs]


def _greatest(x: Any, *, k: int, axis: int) -> list[Any]:
    positions = np.argsort(np.negative(x, dtype=np.float64), axis, kind="stable").take(range(k), axis)
    return [np.take_along_axis(x, positions, axis), positions]


SAMPLES = {
    sort_p: _sort_samples,
    top_k_p: [
        array_samples(ORDERED, _greatest, {"k": 2, "axis": 0}, {"k": 1, "axis": 1}),
        samples([(3, 4)], {"k": 3, "axis": 1}, reference=_greatest),
    ],
}
