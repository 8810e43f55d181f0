"""Samples of windows, with reference values by NumPy, element by element."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.provisional.sampling import Maker, bound_by, numbers
from primax.plugins.arithmetic import add, mul
from primax.plugins.comparison import ge, ge_p, le, le_p
from primax.plugins.reductions import ADD, MAX, MIN, Monoid
from primax.plugins.windows import (
    reduce_window,
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_p,
    reduce_window_sum_p,
    select_and_gather_add_p,
    select_and_scatter_add_p,
    select_and_scatter_p,
)
from primax.plugins.windows.geometry import places, shape_of_windows

_PLAIN: dict[str, Any] = {"window_dimensions": (2, 2), "window_strides": (1, 2), "padding": ((0, 1), (1, 0))}
_DILATED = {**_PLAIN, "base_dilation": (2, 1), "window_dilation": (1, 2)}
_UNDILATED = {**_PLAIN, "base_dilation": (1, 1), "window_dilation": (1, 1)}
_WAYS = (_UNDILATED, {**_DILATED, "padding": ((1, 0), (-1, 2))})


def _held(shape: Any, params: Any) -> Iterator[tuple[Any, list[Any]]]:
    """The index of each window, with the indices of the elements in it."""
    ones = (1,) * len(shape)
    base, step = params.get("base_dilation", ones), params.get("window_dilation", ones)
    low = [before for before, _ in params["padding"]]
    for window in np.ndindex(shape_of_windows(shape, **params)):
        at = np.multiply(window, params["window_strides"]) - low
        spots = [np.divmod(at + np.multiply(place, step), base) for place in places(**params)]
        yield window, [tuple(i) for i, gap in spots if not gap.any() and (i >= 0).all() and (i < shape).all()]


def _reduced(ufunc: Any, start: Any) -> Callable[..., Any]:
    """Windows reduced by a function of NumPy."""

    def reference(x: Any, **params: Any) -> np.ndarray:
        out = np.empty(shape_of_windows(x.shape, **params), x.dtype)
        for window, spots in _held(x.shape, params):
            out[window] = ufunc.reduce([x[i] for i in spots], initial=start(x.dtype), dtype=x.dtype)
        return out

    return reference


def _best(select_prim: Any, operand: Any, spots: Any) -> Any:
    values = [operand[i] for i in spots]
    return spots[np.argmax(values) if select_prim is ge_p else np.argmin(values)]


def _gathered(tangents: Any, operand: Any, *, select_prim: Any, **params: Any) -> np.ndarray:
    out = np.zeros(shape_of_windows(operand.shape, **params), tangents.dtype)
    for window, spots in _held(operand.shape, params):
        if spots:
            out[window] = tangents[_best(select_prim, operand, spots)]
    return out


def _scattered(source: Any, operand: Any, *, select_prim: Any, **params: Any) -> Any:
    out = np.zeros_like(operand)
    for window, spots in _held(operand.shape, params):
        if spots:
            out[_best(select_prim, operand, spots)] += source[window]
    return out


def _window_samples(monoid: Monoid, ufunc: np.ufunc) -> Maker:
    """Samples of a reduction of windows, with different options for each kind of dtype."""
    reference = _reduced(ufunc, monoid.start)

    def make() -> list[core.Sample]:
        dtypes = [
            dtype for dtype in (np.float32, np.complex64, np.int32, np.bool_) if np.dtype(dtype) in monoid.accepts
        ]
        ways = [_WAYS[i % 2] for i in range(len(dtypes))]
        return [
            core.Sample([numbers((3, 4), dtype)], way, reference=reference)
            for dtype, way in zip(dtypes, ways, strict=True)
        ]

    return make


def _gather_samples() -> list[core.Sample]:
    x, t = numbers((3, 4)), numbers((3, 4), start=5)
    return [
        core.Sample([t, x], {"select_prim": select, **way}, constant=(1,), reference=_gathered)
        for select, way in zip((ge_p, le_p), _WAYS, strict=True)
    ]


def _scatter_add_samples() -> list[core.Sample]:
    x = numbers((3, 4))
    whole: dict[str, Any] = {**_PLAIN, "padding": ((0, 0), (0, 0))}
    return [
        core.Sample(
            [numbers(shape_of_windows(x.shape, **way), start=5), x],
            {"select_prim": select, **way},
            constant=(1,),
            reference=_scattered,
        )
        for select, way in ((ge_p, _PLAIN), (le_p, whole))
    ]


def _scatter_samples() -> list[core.Sample]:
    """Windows that select the greatest or smallest element, with sums or a polynomial of sources."""
    x = numbers((3, 4), np.float64)

    def bind(select: Any, scatter: Any, way: Any) -> core.Sample:
        def fun(x: Any, source: Any, init: Any) -> Any:
            scalars = [core.ShapedArray((), np.dtype(np.float64))] * 2
            programs = {
                "select_jaxpr": core.trace_to_jaxpr(lambda x, y: [select(x, y)], scalars, "select"),
                "scatter_jaxpr": core.trace_to_jaxpr(lambda x, y: [scatter(x, y)], scalars, "scatter"),
            }
            return select_and_scatter_p.bind(x, source, init, **programs, **way)

        source = numbers(shape_of_windows(x.shape, **way), np.float64, 5)
        return bound_by(select_and_scatter_p, fun, x, source, np.float64(0.7), constant=(0,))

    return [
        bind(ge, add, {**_PLAIN, "padding": ((0, 0), (1, 0))}),
        bind(le, lambda x, y: add(mul(x, y), y), {**_PLAIN, "window_strides": (2, 2), "padding": ((2, 0), (0, 0))}),
    ]


def _general_samples() -> list[core.Sample]:
    """A function of one array, and one of two that does not commute."""
    x, y = numbers((3, 4), np.float64), numbers((3, 4), np.float64, 5)

    def compose(f: Any, g: Any) -> tuple[Any, Any]:
        return f[0] * g[0], f[1] * g[0] + g[1]

    def join(x: Any, y: Any) -> Any:
        return x + y + x * y

    return [
        bound_by(reduce_window_p, lambda x: reduce_window(x, 0.0, join, (2, 2), (1, 2), "SAME"), x),
        bound_by(
            reduce_window_p,
            lambda x, y: reduce_window((x, y), (1.0, 0.0), compose, (1, 3), None, ((0, 0), (1, -1)), (1, 2), (1, 2)),
            x,
            y,
        ),
    ]


SAMPLES = {
    reduce_window_sum_p: _window_samples(ADD, np.add),
    reduce_window_max_p: _window_samples(MAX, np.maximum),
    reduce_window_min_p: _window_samples(MIN, np.minimum),
    reduce_window_p: _general_samples,
    select_and_gather_add_p: _gather_samples,
    select_and_scatter_add_p: _scatter_add_samples,
    select_and_scatter_p: _scatter_samples,
}
