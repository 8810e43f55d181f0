"""The names of `jax._src.dispatch` that packages use."""

from __future__ import annotations

from primax.extend.core import Primitive
from primax.extend.core.primitives import device_put_p
from primax.extend.interpreters.xla import apply_primitive
from primax.extend.provisional.runtime import effects_barrier as wait_for_tokens

__all__ = ["apply_primitive", "device_put_p", "prim_requires_devices_during_lowering", "wait_for_tokens"]

# Packages enter primitives here. Every lowering rule is told of the devices, so nothing reads the set.
prim_requires_devices_during_lowering: set[Primitive] = set()
