"""The classes of `jax._src.literals`, Python numbers with a dtype. No value of primax is an instance."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

__all__ = ["TypedComplex", "TypedFloat", "TypedInt", "TypedNdArray"]


class _Typed:
    dtype: Any

    def __new__(cls, value: Any, dtype: Any) -> Self:
        self = super().__new__(cls, value)  # type: ignore[call-arg]
        self.dtype = np.dtype(dtype)
        return self


class TypedInt(_Typed, int):
    """An integer with a dtype."""


class TypedFloat(_Typed, float):
    """A real number with a dtype."""


class TypedComplex(_Typed, complex):
    """A complex number with a dtype."""


class TypedNdArray(np.ndarray):
    """An array of NumPy that keeps its dtype."""
