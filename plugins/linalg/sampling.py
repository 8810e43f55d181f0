"""Samples of matrices for the conformance kit: well conditioned, and with eigenvalues far apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.extend.sampling import numbers

__all__ = ["dominant", "positive", "vary_diagonal", "vary_scale"]


def dominant(shape: Sequence[int], dtype: Any = np.float32, start: int = 0) -> Any:
    """Matrices with a diagonal of different large numbers."""
    rows, columns = shape[-2:]
    steps = 4 + 3 * np.arange(min(rows, columns))
    spread = np.zeros((rows, columns))
    np.fill_diagonal(spread, steps)
    return (numbers(shape, dtype, start) / 2 + spread).astype(dtype)


def positive(shape: Sequence[int], dtype: Any = np.float32) -> Any:
    """Hermitian matrices with positive eigenvalues that are far apart."""
    x = dominant(shape, dtype)
    return ((x + x.swapaxes(-1, -2).conj()) / 2).astype(dtype)


def vary_diagonal(args: Sequence[Any], k: int) -> list[Any]:
    """The first argument with other diagonals, and the others scaled."""
    matrix, *others = args
    rows, columns = matrix.shape[-2:]
    return [
        (matrix + k * np.eye(rows, columns) * np.arange(1, columns + 1)).astype(matrix.dtype),
        *vary_scale(others, k),
    ]


def vary_scale(args: Sequence[Any], k: int) -> list[Any]:
    """Arguments a little larger."""
    return [(x * (1 + k / 16)).astype(x.dtype) for x in args]
