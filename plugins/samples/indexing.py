"""Samples of indexing: rows, elements and windows, some of which are partly outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.provisional.sampling import bound_by, numbers
from primax.plugins.indexing.apply import scatter_apply
from primax.plugins.indexing.dimensions import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers
from primax.plugins.indexing.primitives import (
    dynamic_slice_p,
    dynamic_update_slice_p,
    gather_p,
    scatter_add_p,
    scatter_apply_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
    scatter_sub_p,
)
from primax.plugins.trigonometry import sin

_CLIP, _FILL, _PROMISE = (
    GatherScatterMode.CLIP,
    GatherScatterMode.FILL_OR_DROP,
    GatherScatterMode.PROMISE_IN_BOUNDS,
)
# Rows 2 and 0 of an array; windows of two rows, one of them partly outside; for each row one element.
_ROWS = (((1,), (0,), (0,)), np.array([[2], [0]], np.int32))
_WINDOWS = (((0, 1), (), (0, 1)), np.array([[1, 1], [2, 1]], np.int32))
_ELEMENTS = (((), (1,), (1,), (0,), (0,)), np.array([[2], [0], [1]], np.int32))


def _flags(mode: GatherScatterMode, unique: bool = False) -> dict[str, Any]:
    return {"indices_are_sorted": False, "unique_indices": unique, "mode": mode}


def _gathers() -> list[core.Sample]:
    x = numbers((3, 3))
    cases = (
        (_ROWS, (1, 3), _PROMISE, None, lambda x, i, **_: x[i[:, 0]]),
        (_ELEMENTS, (1, 1), _PROMISE, None, lambda x, i, **_: np.take_along_axis(x, i, 1)[:, 0]),
        ((_WINDOWS[0], _WINDOWS[1].T), (2, 2), _CLIP, None, None),
        ((_WINDOWS[0], _WINDOWS[1].T), (2, 2), _FILL, -1.0, None),
    )
    return [
        core.Sample(
            [x, indices],
            {
                "dimension_numbers": GatherDimensionNumbers(*dims),
                "slice_sizes": sizes,
                "fill_value": fill,
                **_flags(mode),
            },
            reference=reference,
        )
        for (dims, indices), sizes, mode, fill, reference in cases
    ]


def _scatters(at: Callable[[Any, Any, Any], Any]) -> Callable[[], list[core.Sample]]:
    """Samples of a scatter.

    Args:
      at: changes elements of an array in NumPy: `(x, index, updates) -> None`.
    """

    def by_rows(x: Any, i: Any, updates: Any, **_: Any) -> Any:
        out = x.copy()
        at(out, i[:, 0], updates)
        return out

    def by_elements(x: Any, i: Any, updates: Any, **_: Any) -> Any:
        out = x.copy()
        at(out, (np.arange(len(x)), i[:, 0]), updates)
        return out

    def make() -> list[core.Sample]:
        x, updates = numbers((3, 3)), numbers((2, 3), start=5) + np.float32(0.07)
        windows = numbers((2, 2, 2), start=4) + np.float32(0.07)
        cases = (
            (*_ROWS, updates, _FILL, True, by_rows),
            (*_ELEMENTS, updates[0], _PROMISE, False, by_elements),
            (((0, 1), (), (0, 1)), _WINDOWS[1], windows, _CLIP, False, None),
        )
        return [
            core.Sample(
                [x, indices, values],
                {"dimension_numbers": ScatterDimensionNumbers(*dims), **_flags(mode, unique)},
                reference=reference,
            )
            for dims, indices, values, mode, unique, reference in cases
        ]

    return make


def _assign(x: Any, index: Any, updates: Any) -> None:
    x[index] = updates


def _applications() -> list[core.Sample]:
    x = numbers((3, 3), np.float64)
    numbers_of_rows = ScatterDimensionNumbers(*_ROWS[0])
    return [
        bound_by(
            scatter_apply_p,
            lambda x, i, mode=mode: scatter_apply(x, i, sin, numbers_of_rows, update_shape=(2, 3), mode=mode),
            x,
            indices,
        )
        for indices, mode in ((_ROWS[1], "clip"), (np.array([[1], [1]], np.int32), "drop"))
    ]


def _slices() -> list[core.Sample]:
    def reference(x: Any, i: Any, j: Any, *, slice_sizes: Any) -> Any:
        return x[i : i + slice_sizes[0], j : j + slice_sizes[1]]

    starts = [np.int32(1), np.int32(0)]
    return [core.Sample([numbers((4, 3)), *starts], {"slice_sizes": sizes}, reference=reference) for sizes in _SIZES]


_SIZES = ((2, 2), (1, 3))


def _updates() -> list[core.Sample]:
    def reference(x: Any, update: Any, i: Any, j: Any) -> Any:
        out = x.copy()
        out[i : i + update.shape[0], j : j + update.shape[1]] = update
        return out

    starts, first = [np.int32(1), np.int32(0)], [np.int32(0), np.int32(0)]
    parts = [core.Sample([numbers((4, 3)), numbers(sizes, start=5), *starts], reference=reference) for sizes in _SIZES]
    return [*parts, core.Sample([numbers((2, 3)), numbers((2, 3), start=5), *first], reference=reference, name="all")]


SAMPLES = {
    gather_p: _gathers,
    scatter_p: _scatters(_assign),
    scatter_add_p: _scatters(np.add.at),
    scatter_sub_p: _scatters(np.subtract.at),
    scatter_mul_p: _scatters(np.multiply.at),
    scatter_min_p: _scatters(np.minimum.at),
    scatter_max_p: _scatters(np.maximum.at),
    scatter_apply_p: _applications,
    dynamic_slice_p: _slices,
    dynamic_update_slice_p: _updates,
}
