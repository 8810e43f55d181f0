"""MLIR, as jaxlib has it, and programs in StableHLO's portable form.

`ir` and `passmanager` are jaxlib's modules, and so are the dialects in `primax.extend.mlir.dialects`.
"""

from __future__ import annotations

from typing import Any

from primax.core import _jaxlib
from primax.extend.mlir import dialects
from primax.interpreters.contexts import shared_context

__all__ = [
    "deserialize_portable_artifact",
    "dialects",
    "hlo_to_stablehlo",
    "refine_polymorphic_shapes",
    "serialize_portable_artifact",
]


def deserialize_portable_artifact(artifact: bytes, context: Any = None) -> Any:
    """The module of an artifact.

    Args:
      artifact: what `serialize_portable_artifact` returned.
      context: the MLIR context that the module belongs to; by default one of this thread's.

    Raises:
      ValueError: it is no such artifact.
    """
    if context is not None:
        return _jaxlib.mlir.deserialize_portable_artifact(artifact, context)
    with shared_context() as shared:
        return _jaxlib.mlir.deserialize_portable_artifact(artifact, shared.context)


hlo_to_stablehlo = _jaxlib.mlir.hlo_to_stablehlo
refine_polymorphic_shapes = _jaxlib.mlir.refine_polymorphic_shapes
serialize_portable_artifact = _jaxlib.portable_artifact


def __getattr__(name: str) -> Any:
    """Load `ir` or `passmanager` when it is first used."""
    if name in ("ir", "passmanager"):
        return getattr(_jaxlib, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
