"""The primitive of foreign functions, and the functions that were registered."""

from __future__ import annotations

from primax.extend.core import Primitive

__all__ = ["ffi_call_p", "ffi_targets", "vmap_methods"]

# The methods of `vmap` for a call of foreign code.
vmap_methods = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized")

# The modules that registered foreign functions, by the names of these functions.
ffi_targets: dict[str, str] = {}

# The family of callbacks enters its rules, together with the rules of other foreign code.
ffi_call_p = Primitive("ffi_call", multiple_results=True)
