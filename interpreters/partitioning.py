"""Shardings in modules: meshes and divisions as the partitioner of XLA, Shardy, reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from primax.core import _jaxlib
from primax.core.mesh import AbstractMesh, Mesh, PartitionSpec

__all__ = ["Spread", "constrained", "mesh_symbol", "on_first_device", "sharding_attribute", "sharding_attributes"]


class Spread(NamedTuple):
    """How what a program takes and returns lies on the devices of a mesh.

    Attributes:
      mesh: the mesh.
      consts: the shardings of its constants.
      ins: those of its inputs.
      outs: those of its results, None for XLA's choice.
    """

    mesh: Mesh
    consts: Sequence[Any]
    ins: Sequence[Any]
    outs: Sequence[Any]


def mesh_symbol(module: Any, mesh: Any) -> str:
    """The name of a mesh in a module, which it enters on first use."""
    abstract: AbstractMesh = mesh.abstract_mesh
    key = abstract.shape_tuple
    found: str | None = module.mesh_symbols.get(key)
    if found is None:
        sdy = _jaxlib.sdy
        axes = [sdy.MeshAxisAttr.get(str(name), size) for name, size in key]
        name = f"mesh_{len(module.mesh_symbols)}" if module.mesh_symbols else "mesh"
        with module.top:
            sdy.MeshOp(name, sdy.MeshAttr.get(axes))
        found = module.mesh_symbols[key] = name
    return found


def sharding_attribute(module: Any, mesh: Any, spec: PartitionSpec, ndim: int, open_axes: bool = False) -> Any:
    """The attribute that tells Shardy how a value of that many axes lies.

    Args:
      module: the module.
      mesh: the mesh.
      spec: for each axis the mesh axes that divide it; `UNCONSTRAINED` leaves it to Shardy.
      ndim: the number of axes.
      open_axes: whether Shardy may divide all axes further.
    """
    sdy = _jaxlib.sdy
    dims = []
    for i in range(ndim):
        free = open_axes or (i < len(spec) and spec[i] is PartitionSpec.UNCONSTRAINED)
        refs = [sdy.AxisRefAttr.get(str(name)) for name in spec.along(i)]
        dims.append(sdy.DimensionShardingAttr.get(refs, is_closed=not free))
    return sdy.TensorShardingAttr.get(mesh_symbol(module, mesh), dims)


def sharding_attributes(module: Any, shardings: Sequence[Any], ranks: Sequence[int]) -> list[dict[str, Any]]:
    """For each value the attributes of an argument or a result; none where the sharding is None."""
    found: list[dict[str, Any]] = []
    for sharding, ndim in zip(shardings, ranks, strict=True):
        if sharding is None:
            found.append({})
        else:
            found.append({"sdy.sharding": sharding_attribute(module, sharding.mesh, sharding.spec, ndim)})
    return found


def on_first_device(module: Any, count: int) -> Any:
    """The attribute of an operation of so many results that runs on the first device alone, on whole values."""
    sdy = _jaxlib.sdy
    found = module.mesh_symbols.get("first device")
    if found is None:
        with module.top:
            sdy.MeshOp("first_device", sdy.MeshAttr.get([], device_ids=[0]))
        found = module.mesh_symbols["first device"] = "first_device"
    return sdy.TensorShardingPerValueAttr.get([sdy.TensorShardingAttr.get(found, [])] * count)


def constrained(module: Any, x: Any, mesh: Any, spec: PartitionSpec, ndim: int) -> Any:
    """An IR value that lies as told."""
    return _jaxlib.sdy.sharding_constraint(x, sharding_attribute(module, mesh, spec, ndim))
