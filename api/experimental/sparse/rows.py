"""Rows of indices: which are in range, and the blocks of arrays that are at them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from primax import numpy as pnp
from primax.interpreters.vectorize import vmap

__all__ = ["cleared", "over_batch", "rows_of", "scattered", "taken", "within"]


def over_batch(function: Callable[..., Any], n_batch: int) -> Callable[..., Any]:
    """A function of one element of the batch as one of all."""
    for _ in range(n_batch):
        function = vmap(function)
    return function


def within(indices: Any, sizes: Sequence[int]) -> tuple[Any, Any]:
    """Indices counted from the front, and which of them are in range in all dimensions."""
    bounds = np.array(sizes, indices.dtype)
    positive = pnp.where(indices < 0, indices + bounds, indices) if len(sizes) else indices
    return positive, pnp.all((positive >= 0) & (positive < bounds), axis=-1)


def scattered(sizes: Sequence[int], rows: Any, data: Any) -> Any:
    """The array of blocks `data`, of shape (nse, *dense), added where `rows`, of shape (nse, len(sizes)), say."""
    zeros = pnp.zeros((*sizes, *data.shape[1:]), data.dtype)
    if not sizes:
        return pnp.any(data, axis=0) if data.dtype == np.bool_ else pnp.sum(data, axis=0, dtype=data.dtype)
    return zeros.at[tuple(rows[:, i] for i in range(len(sizes)))].add(data, mode="drop") if prod(sizes) else zeros


def taken(x: Any, rows: Any) -> Any:
    """The blocks of an array where `rows`, of shape (nse, count), say, and zeros for rows out of range."""
    count = rows.shape[1]
    if not (count and prod(x.shape[:count])):
        shape = (len(rows), *x.shape[count:])
        return pnp.zeros(shape, x.dtype) if count else pnp.broadcast_to(x, shape)
    return x.at[tuple(rows[:, i] for i in range(count))].get(mode="fill", fill_value=0)


def cleared(data: Any, mask: Any) -> Any:
    """The blocks of `data`, of shape (nse, *dense), with zeros where `mask`, of shape (nse,), is false."""
    return pnp.where(pnp.expand_dims(mask, tuple(range(1, data.ndim))), data, pnp.zeros((), data.dtype))


def rows_of(flat: Any, sizes: tuple[int, ...], dtype: Any) -> Any:
    """The indices, of shape (nse, len(sizes)), of elements of an array in order; past the end they are `sizes`."""
    inside = flat < prod(sizes)
    columns = []
    rest = flat
    for size in reversed(sizes):
        columns.append(pnp.where(inside, rest % max(size, 1), size).astype(dtype))
        rest = rest // max(size, 1)
    return pnp.stack(columns[::-1], axis=-1) if columns else pnp.zeros((*flat.shape, 0), dtype)
