"""What programs with references mean, on arrays of NumPy that change in place: no program is staged or compiled."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

__all__ = ["MODULES"]


class Ref:
    """A reference: an array of NumPy, or a part of one."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> Any:
        return self.array[_index(index)].copy()

    def __setitem__(self, index: Any, value: Any) -> None:
        self.array[_index(index)] = value

    @property
    def at(self) -> Any:
        return _At(self.array)


class _At:
    def __init__(self, array: Any) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> Ref:
        index = index if isinstance(index, tuple) else (index,)
        return Ref(self.array[index if ... in index else (*index, ...)])  # a part of the array, of rank 0 too


def _index(index: Any) -> Any:
    if isinstance(index, tuple):
        return tuple(map(_index, index))
    return np.asarray(index) if isinstance(index, list) else index


def _new_ref(x: Any) -> Ref:
    return Ref(np.array(x, float))


def _swap(ref: Ref, index: Any, value: Any) -> Any:
    before = ref[index]
    ref[index] = value
    return before


def _addupdate(ref: Ref, index: Any, value: Any) -> None:
    np.add.at(ref.array, _index(index), value)


def _rows(x: Any) -> Any:
    return [Ref(row) for row in x.array] if isinstance(x, Ref) else list(x)


def _vmap(fun: Any) -> Any:
    return lambda *args: np.stack([fun(*row) for row in zip(*map(_rows, args), strict=True)])


def _scan(fun: Any, carry: Any, xs: Any, reverse: bool = False, unroll: int = 1) -> Any:
    rows, ys = _rows(xs), []
    for row in reversed(rows) if reverse else rows:
        carry, y = fun(carry, row)
        ys.append(y)
    return carry, np.stack(ys[::-1] if reverse else ys)


def _while_loop(test: Any, body: Any, carry: Any) -> Any:
    while test(carry):
        carry = body(carry)
    return carry


def _fori_loop(start: int, stop: int, body: Any, carry: Any) -> Any:
    for i in range(start, stop):
        carry = body(i, carry)
    return carry


def _same(fun: Any) -> Any:
    return fun


_lax = SimpleNamespace(
    scan=_scan,
    while_loop=_while_loop,
    fori_loop=_fori_loop,
    cond=lambda pred, f, g: f() if pred else g(),
    stop_gradient=lambda x: x,
)
_px = SimpleNamespace(
    new_ref=_new_ref,
    freeze=lambda ref: ref.array.copy(),
    ref=SimpleNamespace(swap=_swap, addupdate=_addupdate),
    ds=lambda start, size: slice(start, start + size),
    jit=_same,
    checkpoint=_same,
    vmap=_vmap,
    lax=_lax,
)
MODULES = (_px, np)
