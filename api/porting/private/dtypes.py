"""The names of `jax._src.dtypes` that packages use, besides the names of `primax.dtypes`."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from primax.extend.dtypes import ExtendedDType, dtype, supports_inf, to_complex_dtype, to_inexact_dtype
from primax.interpreters.runtime.extended_array import has_extended_dtype

__all__ = [
    "DType",
    "ExtendedDType",
    "dtype",
    "has_extended_dtype",
    "supports_inf",
    "to_complex_dtype",
    "to_inexact_dtype",
]

DType: TypeAlias = np.dtype[Any]
