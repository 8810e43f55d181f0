"""Samples of collectives, along axes that are in scope."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.provisional.sampling import numbers
from primax.plugins.collectives import (
    all_gather_p,
    all_to_all_p,
    axis_index_p,
    pbroadcast_p,
    pmax_p,
    pmin_p,
    ppermute_p,
    psum_p,
    ragged_all_to_all_p,
    reduce_scatter_p,
)

_ONE = {"i": 2}
_TWO = {"i": 2, "j": 2}
_GROUPS = ((0, 3), (2, 1))


def _sample(shape: Any, scope: dict[str, int], name: str, **params: Any) -> core.Sample:
    return core.Sample([numbers((*scope.values(), *shape))], params, name=name, axes=scope)


def _reductions(numpy_function: Any, groups: bool = True) -> Callable[..., Any]:
    def samples() -> Iterator[core.Sample]:
        def reference(x: Any, **params: Any) -> np.ndarray:
            return np.broadcast_to(numpy_function(x, 0, keepdims=True), x.shape)

        x = numbers((2, 3))
        yield core.Sample([x], {"axes": ("i",), "axis_index_groups": None}, axes=_ONE, reference=reference)
        if groups:
            yield _sample((2,), _TWO, "two axes", axes=("j", "i"), axis_index_groups=None)
            yield _sample((2,), _TWO, "groups", axes=("i", "j"), axis_index_groups=_GROUPS)

    return samples


def _ways(shape: Any, untiled: dict[str, Any], tiled: dict[str, Any]) -> Callable[..., Any]:
    def samples() -> Iterator[core.Sample]:
        own: dict[str, Any] = {"axis_name": ("i",), "axis_index_groups": None, "axis_size": 2}
        yield _sample(shape, _ONE, "stacked", **untiled, **own, tiled=False)
        yield _sample(shape, _ONE, "tiled", **tiled, **own, tiled=True)
        own = {"axis_name": ("j", "i"), "axis_index_groups": _GROUPS, "axis_size": 2}
        yield _sample(shape, _TWO, "groups", **untiled, **own, tiled=False)

    return samples


def _permutations() -> Iterator[core.Sample]:
    yield _sample((2,), {"i": 3}, "shift", axis_name=("i",), perm=((0, 1), (1, 2)))
    yield _sample((2,), _TWO, "two axes", axis_name=("j", "i"), perm=((0, 3), (1, 0), (3, 1)))


def _positions() -> Iterator[core.Sample]:
    yield core.Sample([], {"axis_name": "i"}, axes=_TWO, reference=lambda axis_name: [[0, 0], [1, 1]])


def _broadcasts() -> Iterator[core.Sample]:
    yield _sample((2,), {"i": 3}, "one", axis_name=("i",), source=1)
    yield _sample((2,), _TWO, "two axes", axis_name=("j", "i"), source=2)


def _ragged() -> Iterator[core.Sample]:
    """Chunks, some of which are empty, and rows that receive nothing."""
    counts = [np.array(x, np.int32) for x in ([[0, 1], [0, 1]], [[1, 2], [0, 1]], [[0, 1], [2, 0]], [[1, 0], [2, 1]])]
    params = {"axis_name": ("i",), "axis_index_groups": None, "axis_size": 2}
    skip = {"inputs_unchanged": "it calls rules with the values of all, stacked, whose counts are no vectors"}
    for name, rest in (("numbers", ()), ("rows", (2,))):
        args = [numbers((2, 3, *rest)), numbers((2, 4, *rest)), *counts]
        yield core.Sample(args, params, name=name, axes=_ONE, vary=_vary, skip=skip)


def _vary(args: Any, k: int) -> list[Any]:
    operand, output, *counts = args
    return [operand * (1 + k / 4), output - k, *counts]


SAMPLES = {
    psum_p: _reductions(np.sum),
    pmax_p: _reductions(np.max),
    pmin_p: _reductions(np.min, groups=False),
    all_gather_p: _ways((2,), {"all_gather_dimension": 1}, {"all_gather_dimension": 0}),
    reduce_scatter_p: _ways((2, 3), {"scatter_dimension": 0}, {"scatter_dimension": 0}),
    all_to_all_p: _ways((2, 3), {"split_axis": 0, "concat_axis": 1}, {"split_axis": 0, "concat_axis": 1}),
    ppermute_p: _permutations,
    axis_index_p: _positions,
    pbroadcast_p: _broadcasts,
    ragged_all_to_all_p: _ragged,
}
