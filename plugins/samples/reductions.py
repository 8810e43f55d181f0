"""Samples of reductions along axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.provisional.elementwise import ORDERED
from primax.extend.provisional.sampling import Maker, array_samples, bound_by, numbers
from primax.plugins.arithmetic import add, max, mul
from primax.plugins.comparison import lt
from primax.plugins.reductions import (
    argmax_p,
    argmin_p,
    reduce,
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_p,
    reduce_prod_p,
    reduce_xor_p,
)
from primax.plugins.reductions.monoids import AND, MAX, MIN, MUL, OR, XOR, Monoid
from primax.plugins.structural import select_n_p


def _reduced(monoid: Monoid, ufunc: np.ufunc) -> Maker:
    return array_samples(monoid.accepts, lambda x, *, axes: ufunc.reduce(x, axis=axes), *_AXES, shape=_SHAPE)


def _arg_reduced(function: Any) -> Callable[..., Any]:
    return lambda x, *, axes, index_dtype: function(x, *axes).astype(index_dtype)


def _reduce_samples() -> list[core.Sample]:
    """A commutative function of one array, and one of an array and the positions of its elements."""
    x = numbers((2, 3), np.float64)
    places = np.int32(np.arange(6).reshape(2, 3))

    def join(x: Any, y: Any) -> Any:
        return add(add(x, y), mul(x, y))

    def greater(one: Any, other: Any) -> tuple[Any, Any]:
        (x, i), (y, j) = one, other
        return max(x, y), select_n_p.bind(lt(x, y), i, j)

    return [
        bound_by(reduce_p, lambda x: reduce(x, 0.0, join, (1,)), x),
        bound_by(reduce_p, lambda x: reduce(x, 0.0, join, (0, 1)), x),
        bound_by(reduce_p, lambda x, i: reduce((x, i), (-9.0, -1), greater, (0,)), x, places),
    ]


_SHAPE = (2, 3, 2)

_AXES = ({"axes": (1,)}, {"axes": (0, 2)})

_ARG_AXES = ({"axes": (1,), "index_dtype": np.dtype(np.int32)}, {"axes": (2,), "index_dtype": np.dtype(np.int8)})


SAMPLES = {
    reduce_p: _reduce_samples,
    argmax_p: array_samples(ORDERED, _arg_reduced(np.argmax), *_ARG_AXES, shape=_SHAPE),
    argmin_p: array_samples(ORDERED, _arg_reduced(np.argmin), *_ARG_AXES, shape=_SHAPE),
    reduce_prod_p: _reduced(MUL, np.multiply),
    reduce_max_p: _reduced(MAX, np.maximum),
    reduce_min_p: _reduced(MIN, np.minimum),
    reduce_and_p: _reduced(AND, np.bitwise_and),
    reduce_or_p: _reduced(OR, np.bitwise_or),
    reduce_xor_p: _reduced(XOR, np.bitwise_xor),
}
