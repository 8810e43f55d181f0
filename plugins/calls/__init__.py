"""Calls: `jit` and the primitive behind it."""

from __future__ import annotations

from typing import Any

from primax.extend import hookimpl
from primax.plugins.calls.jit import clear_caches, eval_shape, jit
from primax.plugins.calls.primitive import jit_p, rules
from primax.plugins.calls.stages import Compiled, Lowered, Traced

__all__ = ["Compiled", "Lowered", "Traced", "clear_caches", "eval_shape", "jit", "jit_p"]


@hookimpl
def primax_register(registry: Any) -> None:
    registry.define(jit_p, **rules)
