"""Arrays of devices, from which meshes are made."""

from __future__ import annotations

import pytest

import primax as px
from primax.experimental import mesh_utils


def test_devices_keep_their_order():
    found = mesh_utils.create_device_mesh((2, 2), px.devices()[:4])
    assert found.tolist() == [px.devices()[:2], px.devices()[2:4]]
    assert mesh_utils.create_device_mesh([len(px.devices())]).tolist() == px.devices()
    assert px.sharding.Mesh(found, ("x", "y")).shape == {"x": 2, "y": 2}


def test_another_number_of_devices_is_refused():
    with pytest.raises(ValueError, match=r"mesh_shape must have as many elements as there are devices, 2, got \(3,\)"):
        mesh_utils.create_device_mesh((3,), px.devices()[:2])


class Device:
    def __init__(self, number, group):
        self.number = number
        self.slice_index = group
        self.process_index = 0


def test_groups_of_devices_are_blocks():
    devices = [Device(i, 1 - i // 4) for i in range(8)]
    found = mesh_utils.create_hybrid_device_mesh((2, 2), (2, 1), devices)
    assert [[d.number for d in row] for row in found] == [[4, 5], [6, 7], [0, 1], [2, 3]]
    as_they_come = mesh_utils.create_hybrid_device_mesh((4,), (2,), devices, should_sort_granules_by_key=False)
    assert [d.number for d in as_they_come] == list(range(8))
    assert mesh_utils.create_hybrid_device_mesh((8,), (1,), devices, process_is_granule=True).shape == (8,)
    with pytest.raises(ValueError, match="as many elements as there are groups of devices, 2"):
        mesh_utils.create_hybrid_device_mesh((4,), (3,), devices)
    with pytest.raises(ValueError, match="must be of the same length"):
        mesh_utils.create_hybrid_device_mesh((4,), (2, 1), devices)
