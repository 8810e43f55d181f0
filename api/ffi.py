"""Foreign functions in programs; see `primax.extend.ffi`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from primax.extend import ffi as _ffi
from primax.extend.core import abstract_token as abstract_token
from primax.extend.ffi import *
from primax.extend.ffi import register_ffi_type as register_ffi_type
from primax.extend.lazy_names import supplied

register_ffi_type_id = register_ffi_type

if not TYPE_CHECKING:  # type checkers see what is imported with `*` or with `as`
    __all__ = ["abstract_token", "register_ffi_type_id"]
    __dir__ = __all__.copy
    __all__ += _ffi.__all__

    def __getattr__(name):
        """Names of `jax.ffi` for packages written for JAX."""
        return supplied("primax.extend.ffi", name)
