"""`jax.extend.lowering`: the MLIR contexts of JAX, besides the names of `primax.extend.lowering`."""

from __future__ import annotations

from typing import Any

from primax.core import _jaxlib
from primax.extend.interpreters.mlir import make_ir_context

__all__ = ["JaxIrContext", "upstream_dialects"]

upstream_dialects: Any = _jaxlib.ir.DialectRegistry()
_jaxlib.mlir_ext.register_dialects(upstream_dialects)


class JaxIrContext(type(make_ir_context())):  # type: ignore[misc]
    """An MLIR context without dialects; `append_dialect_registry(upstream_dialects)` adds some.

    `primax.extend.interpreters.mlir.make_ir_context` returns one with the dialects of programs.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
