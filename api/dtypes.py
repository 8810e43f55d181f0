"""Dtypes and their promotion."""

from __future__ import annotations

from primax.core.dtypes import (
    bfloat16,
    canonicalize_dtype,
    extended,
    float0,
    iinfo,
    issubdtype,
    promote_types,
    result_type,
)
from primax.extend.random import prng_key
from primax.plugins.numpy.limits import finfo

__all__ = [
    "bfloat16",
    "canonicalize_dtype",
    "extended",
    "finfo",
    "float0",
    "iinfo",
    "issubdtype",
    "prng_key",
    "promote_types",
    "result_type",
]
