"""Samples of the primitives of references."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from primax.extend import core
from primax.plugins.state.indices import WHOLE, split
from primax.plugins.state.primitives import addupdate_p, empty2_p, free_p, freeze_p, get_p, ref_p, swap_p
from primax.plugins.state.ref import new_ref

_X = np.array([[0.5, -1.25, 2.0], [3.5, -0.75, 1.5]], np.float32)
_ROW = np.array([1.75, -2.25, 0.25], np.float32)
_I = np.array([1, 0, 1], np.int32)
_MADE = {"memory_space": None, "kind": None}


def _placed(*index: Any) -> tuple[Any, list[Any]]:
    """The parameter `indices` and the operands of an index."""
    indices, operands = split(((index[0] if len(index) == 1 else index),))
    return indices, operands


def _get(*index: Any) -> core.Sample:
    indices, operands = _placed(*index)
    return core.Sample([new_ref(_X), *operands], {"indices": indices}, reference=lambda x, *_, indices: x[index])


def _update(add: bool, value: Any, *index: Any) -> core.Sample:
    indices, operands = _placed(*index)

    def reference(x: Any, value: Any, *_: Any, indices: Any) -> Any:
        before = x[index].copy()
        if add:
            np.add.at(x, index, value)
            return []
        x[index] = value
        return before

    vary = _other_values if operands else None  # indices stay within the reference
    return core.Sample([new_ref(_X), value, *operands], {"indices": indices}, reference=reference, vary=vary)


def _other_values(args: Any, k: int) -> list[Any]:
    x, value, *operands = args
    return [np.asarray(x) * (1 + k), np.asarray(value) - k, *operands]


def _gets() -> Iterable[core.Sample]:
    yield core.Sample([new_ref(_X)], {"indices": WHOLE}, reference=lambda x, **_: x)
    yield _get(1)
    yield _get(slice(0, 2), slice(0, 3, 2))


def _updates(add: bool) -> Callable[[], Iterable[core.Sample]]:
    def samples() -> Iterable[core.Sample]:
        yield _update(add, _ROW, 1)
        yield _update(add, _X[:, ::2] * 3, slice(0, 2), slice(0, 3, 2))
        if add:
            yield _update(add, _ROW, _I, np.array([2, 0, 2], np.int32))

    return samples


def _new_refs() -> list[core.Sample]:
    return [core.Sample([_X], _MADE, reference=lambda x, **_: x)]


def _empty_refs() -> list[core.Sample]:
    params = {"shape": (2, 3), "dtype": np.dtype("float32"), **_MADE}
    return [core.Sample([], params, reference=lambda shape, dtype, **_: np.zeros(shape, dtype))]


def _freezes() -> list[core.Sample]:
    return [core.Sample([new_ref(_X)], reference=lambda x: x)]


def _frees() -> list[core.Sample]:
    return [core.Sample([new_ref(_X)], reference=lambda x: [])]


SAMPLES = {
    ref_p: _new_refs,
    empty2_p: _empty_refs,
    freeze_p: _freezes,
    free_p: _frees,
    get_p: _gets,
    swap_p: _updates(False),
    addupdate_p: _updates(True),
}
