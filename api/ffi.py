"""Foreign functions in programs; see `primax.extend.ffi`."""

from __future__ import annotations

from primax.extend.core import abstract_token
from primax.extend.ffi import (
    build_ffi_lowering_function,
    ffi_call,
    ffi_lowering,
    include_dir,
    pycapsule,
    register_ffi_target,
    register_ffi_type,
)
from primax.extend.ffi import register_ffi_type as register_ffi_type_id

__all__ = [
    "abstract_token",
    "build_ffi_lowering_function",
    "ffi_call",
    "ffi_lowering",
    "include_dir",
    "pycapsule",
    "register_ffi_target",
    "register_ffi_type",
    "register_ffi_type_id",
]
__dir__ = __all__.copy
