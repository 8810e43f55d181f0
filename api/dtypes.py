"""Dtypes and their promotion."""

from __future__ import annotations

from primax.core.dtypes import (
    bfloat16,
    canonicalize_dtype,
    finfo,
    float0,
    iinfo,
    issubdtype,
    promote_types,
    result_type,
)

__all__ = [
    "bfloat16",
    "canonicalize_dtype",
    "finfo",
    "float0",
    "iinfo",
    "issubdtype",
    "promote_types",
    "result_type",
]
