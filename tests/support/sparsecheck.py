"""Sparse arrays made and read by NumPy alone, so that tests compile what they test and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.experimental import sparse

__all__ = ["agrees", "dense", "elements", "in_jax", "layouts", "made", "stored", "wild"]

# Elements twice at (0, 1), one that is out of range, one counted from the end, and one past the end of one dimension.
_WILD = [[0, 1], [0, 1], [9, 1], [-1, 2], [1, 9]]


def dense(shape: Sequence[int], seed: int = 0, dtype: str = "float32") -> Any:
    """An array of which most elements are 0."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(shape) < 0.4, rng.integers(-4, 5, shape), 0).astype(dtype)


def layouts(ndim: int) -> list[tuple[int, int]]:
    """All numbers of batch and dense dimensions."""
    return [(n, d) for n in range(ndim + 1) for d in range(ndim + 1 - n)]


def stored(x: Any, n_batch: int = 0, n_dense: int = 0, nse: int | None = None) -> tuple[Any, Any]:
    """The data and indices of an array: what is not 0 in order, and then zeros whose indices are the sizes."""
    batch, sizes, tail = np.split(np.array(x.shape, int), [n_batch, x.ndim - n_dense])
    mask = np.any(x != 0, axis=tuple(range(x.ndim - n_dense, x.ndim))) if n_dense else x != 0
    places = {i: np.argwhere(mask[i]) for i in np.ndindex(*batch)}
    count = max((len(rows) for rows in places.values()), default=0) if nse is None else nse
    data = np.zeros((*batch, count, *tail), x.dtype)
    indices = np.broadcast_to(sizes, (*batch, count, len(sizes))).astype(np.int32)
    for i, rows in places.items():
        for j, row in enumerate(rows[:count]):
            data[i][j] = x[i][tuple(row)]
            indices[i][j] = row
    return data, indices


def made(x: Any, n_batch: int = 0, n_dense: int = 0, nse: int | None = None) -> sparse.BCOO:
    """A BCOO array of an array of NumPy."""
    parts = stored(x, n_batch, n_dense, nse)
    return sparse.BCOO(parts, shape=x.shape, indices_sorted=True, unique_indices=True)


def wild() -> sparse.BCOO:
    """A BCOO array with all that is allowed in indices."""
    return sparse.BCOO((np.array([1.0, 2, 3, 4, 5], "f4"), np.array(_WILD)), shape=(3, 4))


def in_jax(mat: sparse.BCOO) -> Any:
    """The same array in jax."""
    import jax.numpy as jnp
    from jax.experimental import sparse as theirs

    parts = jnp.asarray(mat.data), jnp.asarray(mat.indices)
    return theirs.BCOO(parts, shape=mat.shape, indices_sorted=mat.indices_sorted, unique_indices=mat.unique_indices)


def elements(mat: Any) -> Any:
    """The dense array that a BCOO array, of primax or of jax, stands for, by a loop over its elements."""
    n, k = mat.n_batch, mat.n_sparse
    batch = mat.shape[:n]
    data, indices = (np.asarray(x) for x in (mat.data, mat.indices))
    data = np.broadcast_to(data, (*batch, *data.shape[n:]))
    indices = np.broadcast_to(indices, (*batch, *indices.shape[n:]))
    out = np.zeros(mat.shape, data.dtype)
    sizes = np.array(mat.shape[n : n + k], int)
    for i in np.ndindex(*batch):
        for block, row in zip(data[i], indices[i], strict=True):
            place = np.where(row < 0, row + sizes, row)
            if np.all((place >= 0) & (place < sizes)):
                where = (*i, *place)
                out[where] = out[where] | block if out.dtype == bool else out[where] + block
    return out


def agrees(mat: Any, wanted: Any, like: Any = None) -> None:
    """A sparse array stands for a dense one, and stores it as another does, of which only shapes are known.

    Args:
      mat: a BCOO array, or a dense one.
      wanted: a dense array.
      like: what jax makes of the same arguments, or `jax.eval_shape` of it.
    """
    if like is not None:
        assert mat.shape == like.shape
        assert mat.dtype == like.dtype
        assert isinstance(mat, sparse.BCOO) == hasattr(like, "n_batch")
    if isinstance(mat, sparse.BCOO):
        if like is not None:
            assert (mat.n_batch, mat.n_dense, mat.nse) == (like.n_batch, like.n_dense, like.nse)
        mat = elements(mat)
    np.testing.assert_allclose(mat, wanted, rtol=1e-6)
