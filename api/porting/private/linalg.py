"""The helpers that packages for linear algebra use of `jax._src.lax`."""

from __future__ import annotations

from typing import Any

import numpy as np

import primax.numpy as pnp
from primax.extend.core import Array

__all__ = ["adjoint", "complex_basetype", "symmetrize", "transpose"]


def complex_basetype(dtype: Any) -> np.dtype[Any]:
    """The dtype of the absolute values of numbers of a dtype: float32 for complex64, int32 for int32."""
    return np.abs(np.zeros((), dtype)).dtype


def transpose(x: Any) -> Array:
    """The transposes of matrices of shape (..., m, n)."""
    return pnp.matrix_transpose(x)


def adjoint(x: Any) -> Array:
    """The conjugates of the transposes of matrices of shape (..., m, n)."""
    return pnp.conj(transpose(x))


def symmetrize(x: Any) -> Array:
    """The Hermitian parts of matrices of shape (..., n, n)."""
    return (x + adjoint(x)) / 2
