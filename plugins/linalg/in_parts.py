"""Primitives that JAX does not have, and their form for traces written for JAX."""

from __future__ import annotations

from typing import Any

from primax.extend import core
from primax.extend.interpreters import mlir


class InParts(core.Primitive):
    """A primitive that is lowered by `mlir.lower_fun`; a trace written for JAX gets the operations of that function.

    Such a trace has rules only for primitives of JAX.
    """

    def process_for_jax_trace(self, trace: Any, args: Any, params: dict[str, Any]) -> Any:
        """Apply the function under the trace."""
        parts: Any = mlir.lowering_rules[self]
        with core.set_current_trace(trace):
            return parts.func(*args, **params)
