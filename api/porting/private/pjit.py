"""What packages use of `jax._src.pjit`, and of the shardings behind it."""

from __future__ import annotations

from primax.core.division import Division
from primax.extend.core.primitives import jit_p
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

UNSPECIFIED = None  # as `jit` spells it
UnspecifiedValue = type(None)


pjit_p = jit_p


def canonicalize_sharding(
    sharding: NamedSharding | Division | PartitionSpec | None, api_name: str, check_mesh_consistency: bool = True
) -> NamedSharding | Division | None:
    """A sharding with its mesh: that in scope, if it has none of its own. None where there is none.

    Args:
      sharding: the sharding, a specification, or the `sharding` of a type.
      api_name: what messages call the function that was given it.
      check_mesh_consistency: as in JAX; a mesh is compared with the one in scope where the sharding is used.

    Raises:
      TypeError: it is something else.
    """
    if isinstance(sharding, PartitionSpec):
        sharding = NamedSharding(get_abstract_mesh(), sharding)
    if not isinstance(sharding, NamedSharding | Division | None):
        raise TypeError(f"{api_name}: sharding must be a NamedSharding, a PartitionSpec or None, got {sharding!r}")
    return None if sharding is None or sharding.mesh.empty else sharding
