"""Types of values: parts that `same_type` may leave out, and values whose dtype belongs to a plugin."""

from __future__ import annotations

from primax.core.avals import ALL_BUT_SHAPE_AND_DTYPE, WEAKNESS, WEAKNESS_AND_VMA, is_void, same_type, unwrap
from primax.core.host_values import array_of, arrays_of
from primax.interpreters.runtime.extended_array import ExtendedArray, has_extended_dtype, logical, physical_aval

__all__ = [
    "ALL_BUT_SHAPE_AND_DTYPE",
    "ExtendedArray",
    "WEAKNESS",
    "WEAKNESS_AND_VMA",
    "array_of",
    "arrays_of",
    "has_extended_dtype",
    "is_void",
    "logical",
    "physical_aval",
    "same_type",
    "unwrap",
]
