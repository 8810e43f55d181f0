"""The classes of `jax._src.literals`, Python numbers with a dtype. No value of primax is an instance."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

__all__ = ["TypedComplex", "TypedFloat", "TypedInt", "TypedNdArray"]


class TypedInt(int):
    """An integer with a dtype."""

    dtype: Any

    def __new__(cls, value: Any, dtype: Any) -> Self:
        self = super().__new__(cls, value)
        self.dtype = np.dtype(dtype)
        return self


class TypedFloat(float):
    """A real number with a dtype."""

    dtype: Any

    def __new__(cls, value: Any, dtype: Any) -> Self:
        self = super().__new__(cls, value)
        self.dtype = np.dtype(dtype)
        return self


class TypedComplex(complex):
    """A complex number with a dtype."""

    dtype: Any

    def __new__(cls, value: Any, dtype: Any) -> Self:
        self = super().__new__(cls, value)
        self.dtype = np.dtype(dtype)
        return self


class TypedNdArray(np.ndarray):
    """An array of NumPy that keeps its dtype."""
