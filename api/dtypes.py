"""Dtypes and their promotion."""

from __future__ import annotations

from primax.extend.dtypes import (
    TypePromotionError,
    bfloat16,
    canonicalize_dtype,
    extended,
    float0,
    iinfo,
    issubdtype,
    itemsize_bits,
    promote_types,
    result_type,
    scalar_type_of,
)
from primax.extend.provisional.random import prng_key
from primax.numpy.limits import finfo

__all__ = [
    "TypePromotionError",
    "bfloat16",
    "canonicalize_dtype",
    "extended",
    "finfo",
    "float0",
    "iinfo",
    "issubdtype",
    "itemsize_bits",
    "prng_key",
    "promote_types",
    "result_type",
    "scalar_type_of",
]
__dir__ = __all__.copy
