"""The names that packages use of `jax._src.dispatch`."""

from __future__ import annotations

from primax.extend.backend import effects_barrier as wait_for_tokens
from primax.extend.core import apply_primitive

__all__ = ["apply_primitive", "wait_for_tokens"]
