"""The classes of `jax._src.literals`: numbers of Python with a dtype. Nothing is an instance of one here."""

from __future__ import annotations

import numpy as np

__all__ = ["TypedComplex", "TypedFloat", "TypedInt", "TypedNdArray"]


class TypedInt(int):
    """An integer with a dtype."""


class TypedFloat(float):
    """A real number with a dtype."""


class TypedComplex(complex):
    """A complex number with a dtype."""


class TypedNdArray(np.ndarray):
    """An array of NumPy that keeps its dtype."""
