"""The names of `jax._src.pjit` that packages use, and of the shardings behind it."""

from __future__ import annotations

from primax.extend.core.primitives import jit_p
from primax.extend.provisional.sharding import AvalSharding
from primax.sharding import NamedSharding, PartitionSpec, auto_axes, explicit_axes, get_abstract_mesh, reshard

__all__ = [
    "UNSPECIFIED",
    "UnspecifiedValue",
    "auto_axes",
    "canonicalize_sharding",
    "explicit_axes",
    "jit_p",
    "pjit_p",
    "reshard",
]

UNSPECIFIED = None  # the value that `jit` uses
UnspecifiedValue = type(None)


pjit_p = jit_p


def canonicalize_sharding(
    sharding: NamedSharding | AvalSharding | PartitionSpec | None, api_name: str, check_mesh_consistency: bool = True
) -> NamedSharding | AvalSharding | None:
    """Add a mesh to a sharding: the mesh in scope, if the sharding has none. None if there is no mesh.

    Args:
      sharding: the sharding, a specification, or the `sharding` of a type.
      api_name: the name of the calling function in messages.
      check_mesh_consistency: ignored: a mesh is compared with the mesh in scope when the sharding is used.

    Raises:
      TypeError: `sharding` has another type.
    """
    if isinstance(sharding, PartitionSpec):
        sharding = NamedSharding(get_abstract_mesh(), sharding)
    if not isinstance(sharding, NamedSharding | AvalSharding | None):
        raise TypeError(f"{api_name}: sharding must be a NamedSharding, a PartitionSpec or None, got {sharding!r}")
    return None if sharding is None or sharding.mesh.empty else sharding
