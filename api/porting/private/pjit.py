"""What packages use of `jax._src.pjit`."""

from __future__ import annotations

from primax.extend.core.primitives import jit_p
from primax.sharding import auto_axes, explicit_axes, reshard

__all__ = ["auto_axes", "explicit_axes", "jit_p", "pjit_p", "reshard"]

pjit_p = jit_p
