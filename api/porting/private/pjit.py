"""What packages use of `jax._src.pjit`."""

from __future__ import annotations

from primax.extend.core.primitives import jit_p

__all__ = ["jit_p", "pjit_p"]

pjit_p = jit_p
