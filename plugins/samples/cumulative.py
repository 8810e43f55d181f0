"""Samples of cumulative reductions, from either end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.provisional.elementwise import INEXACT, NUMERIC
from primax.extend.provisional.sampling import array_samples, numbers
from primax.plugins.cumulative import cumlogsumexp_p, cummax_p, cummin_p, cumprod_p, cumsum_p
from primax.plugins.cumulative.recurrence import linear_recurrence_p


def _cumulated(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy from the start, extended to begin at either end."""

    def reference(x: Any, *, axis: int, reverse: bool) -> Any:
        return np.flip(function(np.flip(x, axis), axis), axis) if reverse else function(x, axis)

    return reference


_WAYS = ({"axis": 0, "reverse": False}, {"axis": 1, "reverse": True})


def _samples() -> list[core.Sample]:
    a, b = numbers((2, 3)), numbers((2, 3), start=6)
    return [
        core.Sample([a, b], _WAYS[0], reference=_solution),
        core.Sample([a, b], _WAYS[1], reference=_solution),
        core.Sample([a + 1j * b, b - 1j * a], _WAYS[1], reference=_solution),
    ]


def _solution(a: Any, b: Any, *, axis: int, reverse: bool) -> np.ndarray:
    step = -1 if reverse else 1
    a, h = (np.moveaxis(np.array(x), axis, 0)[::step] for x in (a, b))
    for i in range(1, len(h)):
        h[i] += a[i] * h[i - 1]
    return np.moveaxis(h[::step], 0, axis)


SAMPLES = {
    cumsum_p: array_samples(NUMERIC, _cumulated(np.add.accumulate), *_WAYS),
    cumprod_p: array_samples(NUMERIC, _cumulated(np.multiply.accumulate), *_WAYS),
    cummax_p: array_samples(NUMERIC, _cumulated(np.maximum.accumulate), *_WAYS),
    cummin_p: array_samples(NUMERIC, _cumulated(np.minimum.accumulate), *_WAYS),
    cumlogsumexp_p: array_samples(INEXACT, _cumulated(lambda x, axis: np.log(np.cumsum(np.exp(x), axis))), *_WAYS),
    linear_recurrence_p: _samples,
}
