"""Arrays of devices, to build meshes from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.extend.backend import devices as all_devices
from primax.extend.lazy_names import explain_absent
from primax.extend.provisional.arguments import integer, sequence

__all__ = ["create_device_mesh", "create_hybrid_device_mesh"]
__dir__ = __all__.copy
explain_absent(__name__)


def _shape(function: str, argument: str, sizes: Any) -> tuple[int, ...]:
    return tuple(integer(function, argument, size) for size in sequence(function, argument, sizes))


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray[Any, Any]:
    """An array of devices in their order, for `px.sharding.Mesh`.

    Args:
      mesh_shape: the shape of the array.
      devices: as many devices as the array has elements; all devices if None.
      contiguous_submeshes: ignored; it concerns the wiring of TPUs.
      allow_split_physical_axes: ignored; it concerns the wiring of TPUs.

    Raises:
      ValueError: the number of devices is not the number of elements.

    >>> import primax as px
    >>> from primax.experimental import mesh_utils
    >>> mesh_utils.create_device_mesh((1, 1), px.devices()[:1]).shape
    (1, 1)
    """
    shape = _shape("create_device_mesh", "mesh_shape", mesh_shape)
    devices = all_devices() if devices is None else sequence("create_device_mesh", "devices", devices)
    mesh = np.empty(len(devices), object)
    if math.prod(shape) != mesh.size:
        raise ValueError(
            f"create_device_mesh: mesh_shape must have as many elements as there are devices, {mesh.size}, got {shape}"
        )
    mesh[:] = devices
    return mesh.reshape(shape)


def create_hybrid_device_mesh(
    mesh_shape: Sequence[int],
    dcn_mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    process_is_granule: bool = False,
    should_sort_granules_by_key: bool = True,
    allow_split_physical_axes: bool = False,
) -> np.ndarray[Any, Any]:
    """An array of the devices of several groups: each axis runs over groups first, then over devices of a group.

    Args:
      mesh_shape: the shape of each group's part.
      dcn_mesh_shape: the number of groups along each axis.
      devices: the devices; all devices if None.
      process_is_granule: whether the devices of one process form a group; if False, the devices of one slice do, where
        devices have a `slice_index`.
      should_sort_granules_by_key: whether groups are sorted by their number; if False they keep the order of `devices`.
      allow_split_physical_axes: ignored; it concerns the wiring of TPUs.

    Raises:
      ValueError: the shapes differ in rank, or the number of groups or of devices in a group does not match them.
    """
    function = "create_hybrid_device_mesh"
    inner, outer = _shape(function, "mesh_shape", mesh_shape), _shape(function, "dcn_mesh_shape", dcn_mesh_shape)
    if len(inner) != len(outer):
        raise ValueError(
            f"{function}: mesh_shape and dcn_mesh_shape must be of the same length, got {inner} and {outer}"
        )
    devices = list(all_devices() if devices is None else devices)
    attribute = "process_index" if process_is_granule or not hasattr(devices[0], "slice_index") else "slice_index"
    groups: dict[int, list[Any]] = {}
    for device in devices:
        groups.setdefault(getattr(device, attribute), []).append(device)
    if len(groups) != math.prod(outer):
        raise ValueError(
            f"{function}: dcn_mesh_shape must have as many elements as there are groups of devices, {len(groups)}, "
            f"got {outer}"
        )
    keys = sorted(groups) if should_sort_granules_by_key else list(groups)
    parts = np.empty(len(keys), object)
    parts[:] = [create_device_mesh(inner, groups[key]) for key in keys]
    return np.asarray(np.block(parts.reshape(outer).tolist()))
