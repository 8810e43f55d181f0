"""Meshes of devices and shardings of arrays."""

from primax.extend.lazy_names import explain_absent
from primax.extend.provisional.mesh_context import get_abstract_mesh, get_mesh, set_mesh, use_abstract_mesh
from primax.interpreters.runtime.sharding.mesh import AbstractMesh, AxisType, Mesh, PartitionSpec
from primax.interpreters.runtime.sharding.shardings import NamedSharding, Sharding, SingleDeviceSharding
from primax.plugins.resharding import auto_axes, explicit_axes, reshard

__all__ = [
    "AbstractMesh",
    "AxisType",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "auto_axes",
    "explicit_axes",
    "get_abstract_mesh",
    "get_mesh",
    "reshard",
    "set_mesh",
    "use_abstract_mesh",
]
__dir__ = __all__.copy
explain_absent(__name__)
