"""jaxlib's MLIR, and programs in StableHLO's portable form.

`ir` and `passmanager` are jaxlib's modules, and so are the dialects in `primax.extend.mlir.dialects`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from primax.core import _jaxlib
from primax.extend.lazy_names import supplied
from primax.extend.mlir import dialects
from primax.interpreters.runtime.mlir_context import shared_context

__all__ = [
    "deserialize_portable_artifact",
    "dialects",
    "hlo_to_stablehlo",
    "refine_polymorphic_shapes",
    "serialize_portable_artifact",
]
__dir__ = __all__.copy


def deserialize_portable_artifact(artifact: bytes, context: Any = None) -> Any:
    """The module of an artifact.

    Args:
      artifact: the result of `serialize_portable_artifact`.
      context: the MLIR context that the module belongs to; by default one of this thread's.

    Raises:
      TypeError: `artifact` or `context` is of another type.
      ValueError: `artifact` is not an artifact.

    Examples:
      >>> import primax as px
      >>> from primax.extend import mlir
      >>> module = px.jit(lambda x: 2 * x).lower(1.0).compiler_ir("stablehlo")
      >>> again = mlir.deserialize_portable_artifact(mlir.serialize_portable_artifact(module, "1.9.0"))
      >>> "stablehlo.multiply" in str(again)
      True
    """
    if not isinstance(artifact, bytes):
        raise TypeError(f"deserialize_portable_artifact: artifact must be bytes, got {artifact!r}")
    if context is None:
        with shared_context() as shared:
            return _jaxlib.hlo_ext.deserialize_portable_artifact(shared.context, artifact)
    if not isinstance(context, _jaxlib.ir.Context):
        raise TypeError(f"deserialize_portable_artifact: context must be an MLIR context or None, got {context!r}")
    return _jaxlib.hlo_ext.deserialize_portable_artifact(context, artifact)  # see `CHANGES` in core/_jaxlib.py


def serialize_portable_artifact(module: Any, version: str, *, mixed: bool = False) -> bytes:
    """A module as an artifact of a version of StableHLO.

    Args:
      module: a module of MLIR, or its text.
      version: the version, such as "1.9.0".
      mixed: whether operations of other dialects stay unchanged.

    Raises:
      TypeError: `module` or `version` is of another type.

    Examples:
      >>> import primax as px
      >>> from primax.extend import mlir
      >>> module = px.jit(lambda x: 2 * x).lower(1.0).compiler_ir("stablehlo")
      >>> b"StableHLO_v1.9.0" in mlir.serialize_portable_artifact(module, "1.9.0")
      True
    """
    if not isinstance(module, _jaxlib.ir.Module | str):
        raise TypeError(f"serialize_portable_artifact: module must be a module of MLIR, got {module!r}")
    if not isinstance(version, str):
        raise TypeError(f"serialize_portable_artifact: version must be a string, got {version!r}")
    return _jaxlib.portable_artifact(module, version, mixed)


hlo_to_stablehlo = _jaxlib.mlir.hlo_to_stablehlo
refine_polymorphic_shapes = _jaxlib.mlir.refine_polymorphic_shapes


if TYPE_CHECKING:
    from primax.core._jaxlib import ir as ir
    from primax.core._jaxlib import passmanager as passmanager
else:

    def __getattr__(name: str) -> Any:
        """Load `ir` or `passmanager` when it is first used."""
        if name in ("ir", "passmanager"):
            return getattr(_jaxlib, name)
        return supplied(__name__, name)
