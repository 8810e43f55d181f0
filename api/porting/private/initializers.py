"""The names of `jax._src.nn.initializers` that packages use, besides the names of `primax.nn.initializers`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from primax import Array
from primax.extend.dtypes import to_complex_dtype
from primax.nn.initializers import _in_disk, _normal_in_disk

__all__: list[str] = []


def _complex_truncated_normal(key: Any, upper: float, shape: Sequence[int], dtype: Any) -> Array:
    """Complex normal numbers with absolute values up to `upper`; without the bound, their variance is 1."""
    return _normal_in_disk(key, upper, tuple(shape), to_complex_dtype(dtype))


def _complex_uniform(key: Any, shape: Sequence[int], dtype: Any) -> Array:
    """Complex numbers drawn uniformly from a disk; their variance is 1."""
    return _in_disk(key, tuple(shape), to_complex_dtype(dtype)) * math.sqrt(2)
