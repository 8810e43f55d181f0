"""The names that packages use of `jax._src.dispatch`."""

from __future__ import annotations

from primax.extend.backend import effects_barrier as wait_for_tokens
from primax.extend.core import apply_primitive
from primax.extend.core.primitives import device_put_p

__all__ = ["apply_primitive", "device_put_p", "wait_for_tokens"]
